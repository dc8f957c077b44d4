//! `epitome policy new`: a policy that runs at once and says where to go on.
//!
//! Invariant: no file that is there is replaced. Only the new folder is recorded as the user's own.

use epitome::{Config, ExtensionOrigin, PolicyRef, policy_stubs};

use super::place::{self, LIBRARY, POLICIES, TYPES};
use crate::fault::{self, CliError};
use crate::files;
use crate::settings::ConfigFlags;

/// What a new policy is made of: path and text, in which `NAME` and `BASE` are filled in.
const FILES: [(&str, &str); 5] = [
    ("policy.lua", include_str!("template/policy.lua")),
    ("README.md", include_str!("template/README.md")),
    ("tests/budgets.lua", include_str!("template/budgets.lua")),
    ("tests/conversations.lua", include_str!("template/conversations.lua")),
    (".luarc.json", include_str!("template/luarc.json")),
];

/// The types of policies, for editors.
pub(super) const STUBS: &str = "epitome.d.lua";

/// Makes a policy of your own in `.epitome/policies` of the project
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy new team --from ollm")]
pub(crate) struct Args {
    /// Its name, which is also the name of a profile: letters, digits, `-` and `_`
    name: String,
    /// The policy that answers wherever the new one has no opinion
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    from: String,
    #[command(flatten)]
    config: ConfigFlags,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.config.load(|sources| sources)?;
    args.check(&config)?;
    let shelf = place::project(POLICIES)?;
    let folder = shelf.join(&args.name);
    if folder.symlink_metadata().is_ok() {
        let folder = place::shown(&folder);
        return Err(CliError::usage(format!("{folder}: is there already; choose another name")));
    }
    for (path, text) in FILES {
        let path = folder.join(path);
        files::make_folder(path.parent().unwrap_or(&folder))?;
        let text = text.replace("NAME", &args.name).replace("BASE", &args.from);
        files::write(&path, text.as_bytes())?;
    }
    let types = shelf.join(TYPES);
    files::make_folder(&types)?;
    files::write(&types.join(STUBS), policy_stubs().as_bytes())?;
    match config.trust().map(|trust| trust.own(&folder)) {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            return Err(CliError::usage(format!("what is trusted cannot be recorded: {error}")));
        }
        None => {
            fault::warn("no home folder to record in that the policy is yours; it will not run")
        }
    }
    if args.quiet { Ok(()) } else { args.tell(&place::shown(&folder)) }
}

impl Args {
    /// Whether a policy may be made.
    fn check(&self, config: &Config) -> Result<(), CliError> {
        let Self { name, from, .. } = self;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(CliError::usage(format!(
                "`{name}` is no name of a policy; expected letters, digits, `-` and `_`"
            )));
        }
        if [LIBRARY, TYPES].contains(&name.as_str()) {
            let line = format!("`{name}` is a folder beside policies; choose another name");
            return Err(CliError::usage(line));
        }
        let known = config.policies();
        if known.iter().any(|one| one.name() == name && one.origin() == ExtensionOrigin::Shipped) {
            return Err(CliError::usage(format!(
                "`{name}` is a shipped policy, which one of yours would hide; choose another name, \
                 and extend it with `--from {name}`"
            )));
        }
        let is_hidden =
            |one: &&PolicyRef| one.name() == name && one.origin() != ExtensionOrigin::Project;
        if let Some(hidden) = known.iter().find(is_hidden).filter(|_| !self.quiet) {
            let folder = hidden.folder().map(place::shown).unwrap_or_default();
            fault::note(&format!("{folder} is hidden by the new policy in this project"));
        }
        if from == name {
            return Err(CliError::usage(format!(
                "`{name}` cannot extend itself; name another policy"
            )));
        }
        if known.iter().any(|one| one.name() == from) {
            return Ok(());
        }
        if config.profiles().contains(from) {
            return Err(CliError::usage(format!(
                "the profile `{from}` has no policy of its name to extend; \
                 `epitome policy list` shows those there are"
            )));
        }
        super::choice::one(config, from).map(drop)
    }

    /// What was made, and how to go on.
    fn tell(&self, folder: &str) -> Result<(), CliError> {
        let Self { name, from, .. } = self;
        files::to_stdout(|out| {
            writeln!(out, "{folder}/policy.lua   what it decides: change a number")?;
            writeln!(
                out,
                "{folder}/tests        what it is tested by, whole conversations among it"
            )?;
            writeln!(out, "{folder}/README.md    how to go on")?;
            writeln!(out, "\nIt extends `{from}`, and is a profile of its own. Then:")?;
            writeln!(out, "  epitome policy dev {name}")?;
            writeln!(out, "  epitome policy test {name}")?;
            writeln!(out, "  epitome replay --profile {name} --context-size 8192 session.jsonl")?;
            writeln!(out, "  epitome ab --profiles {from},{name} --context-size 8192 session.jsonl")
        })
    }
}
