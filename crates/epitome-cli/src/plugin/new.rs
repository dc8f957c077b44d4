//! `epitome plugin new`: a plugin that passes its check at once and says where to go on.
//!
//! Invariant: no file that is there is replaced. Only the new folder is recorded as the user's own.

use std::path::Path;

use clap::ValueEnum;
use epitome::plugin::conformance::is_name;
use epitome::{Config, ExtensionOrigin};

use super::PLUGINS;
use crate::fault::{self, CliError};
use crate::files;
use crate::policy::{project, shown};
use crate::settings::ConfigFlags;

/// A file of a new plugin: path and text, in which `NAME` and `TOOL` are filled in.
type Template = (&'static str, &'static str);

/// A text that the new plugin digests; its name is the tool's.
const SAMPLE: Template = ("samples/TOOL.txt", include_str!("template/sample.txt"));

const PYTHON: [Template; 3] = [
    ("plugin.toml", include_str!("template/python/plugin.toml")),
    ("plugin.py", include_str!("template/python/plugin.py")),
    SAMPLE,
];

const RUST: [Template; 6] = [
    ("plugin.toml", include_str!("template/rust/plugin.toml")),
    ("Cargo.toml", include_str!("template/rust/manifest.toml")),
    ("src/main.rs", include_str!("template/rust/main.rs")),
    OWN,
    IGNORED,
    SAMPLE,
];

const RUST_WASM: [Template; 6] = [
    ("plugin.toml", include_str!("template/rust-wasm/plugin.toml")),
    ("Cargo.toml", include_str!("template/rust-wasm/manifest.toml")),
    ("src/lib.rs", include_str!("template/rust-wasm/lib.rs")),
    OWN,
    IGNORED,
    SAMPLE,
];

const WAT: [Template; 3] = [
    ("plugin.toml", include_str!("template/wat/plugin.toml")),
    ("plugin.wat", include_str!("template/wat/plugin.wat")),
    SAMPLE,
];

/// What a plugin in Rust does, whichever form it takes.
const OWN: Template = ("src/own.rs", include_str!("template/rust/own.rs"));

const IGNORED: Template = (".gitignore", "/target\n");

/// What cargo compiles a module for.
const TARGET: &str = "wasm32-unknown-unknown";

/// Where what plugins in Rust are written with stands, on the machine that built the program. It is
/// said to cargo, and never written into a plugin, which goes to other machines.
const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../epitome-plugin");

/// Makes a plugin of your own in `.epitome/plugins` of the project
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome plugin new tickets --tool list_tickets")]
pub(crate) struct Args {
    /// Its name, by which profiles ask it: small letters, digits and `-`
    name: String,
    /// The tool whose results it digests [default: its name]
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    lang: Lang,
    #[command(flatten)]
    config: ConfigFlags,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// The languages that there is a beginning for; any other speaks the protocol as well.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Lang {
    Python,
    Rust,
    /// Rust, as a module of WebAssembly
    RustWasm,
    /// The text format of WebAssembly, which needs no compiler
    Wat,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.config.load(|sources| sources)?;
    args.check(&config)?;
    let folder = project(PLUGINS)?.join(&args.name);
    if folder.symlink_metadata().is_ok() {
        let folder = shown(&folder);
        return Err(CliError::usage(format!("{folder}: is there already; choose another name")));
    }
    let filled = |text: &str| text.replace("NAME", &args.name).replace("TOOL", args.tool());
    for (path, text) in args.files() {
        let path = folder.join(filled(path));
        files::make_folder(path.parent().unwrap_or(&folder))?;
        files::write(&path, filled(text).replace("VERSION", env!("CARGO_PKG_VERSION")).as_bytes())?;
    }
    match config.trust().map(|trust| trust.own(&folder)) {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            return Err(CliError::usage(format!("what is trusted cannot be recorded: {error}")));
        }
        None => {
            fault::warn("no home folder to record in that the plugin is yours; it will not run")
        }
    }
    if args.quiet { Ok(()) } else { args.tell(&shown(&folder)) }
}

impl Args {
    /// The tool whose results it digests.
    fn tool(&self) -> &str {
        self.tool.as_deref().unwrap_or(&self.name)
    }

    fn files(&self) -> &'static [Template] {
        match self.lang {
            Lang::Python => &PYTHON,
            Lang::Rust => &RUST,
            Lang::RustWasm => &RUST_WASM,
            Lang::Wat => &WAT,
        }
    }

    /// Whether a plugin may be made.
    fn check(&self, config: &Config) -> Result<(), CliError> {
        let name = &self.name;
        if !is_name(name) {
            return Err(CliError::usage(format!(
                "`{name}` is no name of a plugin; expected small letters, digits and `-`, a letter \
                 first"
            )));
        }
        let tool = self.tool();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if tool.is_empty() || !tool.chars().all(plain) {
            return Err(CliError::usage(format!(
                "`{tool}` is no name of a tool; expected letters, digits, `-` and `_`"
            )));
        }
        let known = config.plugins().into_iter().find(|(known, _)| known == name);
        if known.is_some_and(|(_, it)| it.is_ok_and(|it| it.origin() == ExtensionOrigin::Shipped)) {
            return Err(CliError::usage(format!(
                "`{name}` is a shipped plugin, which one of yours would hide; choose another name"
            )));
        }
        if config.policies().iter().any(|policy| policy.name() == name) {
            return Err(CliError::usage(format!(
                "`{name}` is a policy, whose options have the same key; choose another name"
            )));
        }
        Ok(())
    }

    /// What was made, and how to go on.
    fn tell(&self, folder: &str) -> Result<(), CliError> {
        let (Self { name, lang, .. }, tool) = (self, self.tool());
        let program = match lang {
            Lang::Python => "plugin.py  ",
            Lang::Rust | Lang::RustWasm => "src/own.rs ",
            Lang::Wat => "plugin.wat ",
        };
        files::to_stdout(|out| {
            writeln!(out, "{folder}/plugin.toml   what it is and what it provides")?;
            writeln!(out, "{folder}/{program}   what it does: change a line")?;
            writeln!(out, "{folder}/samples/{tool}.txt   what it is checked by")?;
            writeln!(out, "\nIt digests what the tool `{tool}` gives. Then:")?;
            let build = "cargo build --release";
            match lang {
                Lang::Python | Lang::Wat => {}
                Lang::Rust => {
                    writeln!(out, "  {build} --manifest-path {folder}/Cargo.toml{}", sdk())?
                }
                Lang::RustWasm => {
                    writeln!(
                        out,
                        "  {build} --target {TARGET} --manifest-path {folder}/Cargo.toml{}",
                        sdk()
                    )?;
                    writeln!(out, "  cp {folder}/target/{TARGET}/release/plugin.wasm {folder}")?;
                }
            }
            writeln!(out, "  epitome plugin check {name}")?;
            writeln!(out, "\nA profile asks it where an epitome.toml says so:")?;
            writeln!(out, "  profile.default.digests_by_tool.{tool} = [\"{name}\"]")
        })
    }
}

/// What cargo is told of a clone of ours that the program was built in, so that it takes what
/// plugins are written with from there.
fn sdk() -> String {
    match Path::new(SDK).canonicalize() {
        Ok(folder) if folder.is_dir() => format!(
            " \\\n    --config \"patch.crates-io.epitome-plugin.path='{}'\"",
            folder.display()
        ),
        _ => String::new(),
    }
}
