//! `epitome config show`: every value that is in force, and where it is from.
//!
//! Invariant: nothing is left out; what is not listed is not set by anybody.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use epitome::{Config, Effective, Format, KnownLimit, Link, Origin, PluginRef, Profile, Taught};
use serde::Serialize;

use crate::fault::Fault;
use crate::files;
use crate::flags::WindowFlags;
use crate::journal::{self, store_path};
use crate::settings::{self, ProfileFlags};
use crate::table::{Column, Table, left};
use crate::text::{grouped, plain};

const COLUMNS: [Column; 3] = [left("key"), left("value").least(12), left("source").least(10)];

/// Shows every value that is in force for a profile, and where it is from
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome config show --profile default")]
pub(crate) struct Args {
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    window: WindowFlags,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    profile: &'a str,
    /// What it inherits from, the nearest first.
    inherits: Vec<String>,
    /// Who is asked, in this order, before what is built in; plugins that answer hooks too.
    policies: Vec<Asked<'a>>,
    /// The plugins that it names, for digests or hooks.
    plugins: Vec<Asked<'a>>,
    /// The hash of the profile's options and policies.
    config: String,
    /// The files that were read, the earlier ones overridden by the later.
    files: &'a [PathBuf],
    /// How large a prompt may be, by format, where nobody knows the model.
    limits: Vec<Limited>,
    /// What refusals and answers taught of models, in their place.
    learned: Vec<Taught>,
    values: Vec<Effective>,
}

#[derive(Serialize)]
struct Limited {
    format: &'static str,
    #[serde(flatten)]
    known: KnownLimit,
}

/// The limits of a profile; one where they are the same for every format.
fn limits(profile: &Profile) -> Vec<Limited> {
    let of = |format: Format| Limited {
        format: format.name(),
        known: profile.window().known(profile, format, None),
    };
    [Format::Anthropic, Format::OpenAi, Format::Ollama].map(of).into()
}

#[derive(Serialize)]
struct Asked<'a> {
    name: Cow<'a, str>,
    origin: Origin,
    folder: Option<&'a Path>,
}

impl<'a> From<&'a PluginRef> for Asked<'a> {
    fn from(plugin: &'a PluginRef) -> Self {
        Self { name: plugin.name().into(), origin: plugin.origin(), folder: plugin.folder() }
    }
}

/// A link of the profile's chain.
fn asked<'a>(profile: &'a Profile, link: &'a Link) -> Option<Asked<'a>> {
    let (origin, folder) = match link {
        Link::Policy(policy) => (policy.origin(), policy.folder()),
        Link::Plugin { name, .. } => {
            let plugin = profile.plugins().iter().find(|plugin| plugin.name() == name)?;
            (plugin.origin(), plugin.folder())
        }
    };
    Some(Asked { name: link.name(), origin, folder })
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let config = args.profile.load(|sources| {
        let sources = settings::path(sources, "--store", "store", args.store.as_deref());
        let sources = settings::text(sources, "--model", "model", args.model.as_deref());
        args.window.set(sources)
    })?;
    let profile = config.chosen()?;
    let store = store_path(args.store.as_deref(), &config).ok();
    let shown = Shown {
        profile: profile.name(),
        inherits: config.inherited(profile.name())?,
        policies: profile.chain().iter().filter_map(|link| asked(&profile, link)).collect(),
        plugins: profile.plugins().iter().map(Asked::from).collect(),
        config: profile.config(),
        files: config.files(),
        limits: limits(&profile),
        learned: store.map(|path| journal::lessons(&path, &profile)).unwrap_or_default(),
        values: config.values(profile.name())?,
    };
    if args.json { journal::json(&shown) } else { words(&config, &shown) }
}

fn words(config: &Config, shown: &Shown<'_>) -> Result<(), Fault> {
    let row =
        |one: &Effective| vec![one.key.clone(), plain(&one.value.to_string()), plain(&one.source)];
    let rows: Vec<_> = shown.values.iter().map(row).collect();
    files::to_stdout(|out| {
        let inherits = shown.inherits.iter().map(|name| format!(" → {name}"));
        writeln!(out, "profile  {}{}", shown.profile, inherits.collect::<String>())?;
        // The shipped plugins stand among the values.
        let own = shown.plugins.iter().filter(|plugin| plugin.origin != Origin::Shipped);
        let asked = [("policies", shown.policies.iter().collect()), ("plugins ", own.collect())];
        for (what, asked) in asked {
            let asked: Vec<&Asked<'_>> = asked;
            let asked: Vec<_> =
                asked.iter().map(|one| format!("{} ({})", one.name, one.origin)).collect();
            if !asked.is_empty() {
                writeln!(out, "{what} {}", asked.join(" → "))?;
            }
        }
        let limit = |one: &Limited| format!("{} for {}", grouped(one.known.limit), one.format);
        let limits = match &shown.limits[..] {
            [one, ..] if one.known.source.is_stated() => grouped(one.known.limit),
            all => all.iter().map(limit).collect::<Vec<_>>().join(", "),
        };
        let source = shown.limits.first().map(|one| one.known.source.to_string());
        writeln!(out, "limit    {limits} tokens, {}", source.unwrap_or_default())?;
        for taught in &shown.learned {
            let Some((limit, source)) = journal::said(taught) else { continue };
            let model = plain(taught.model.as_deref().unwrap_or("any model"));
            let what = format!("{} tokens, {source} ({})", grouped(limit), taught.format);
            writeln!(out, "         {model}: {what}")?;
        }
        let files: Vec<_> = config.files().iter().map(|path| path.display().to_string()).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        writeln!(out, "files    {files}\n")?;
        Table::new(&COLUMNS).print(out, &rows)
    })
}
