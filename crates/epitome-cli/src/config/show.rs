//! `epitome config show`: every value that is in force, and where it is from.
//!
//! Invariant: nothing is left out; what is not listed is not set by anybody. A value that has no room
//! in the table is shown whole where it is asked for by its key.

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use epitome::{
    ChainLink, Config, EffectiveValue, ExtensionOrigin, Format, ModelKnowledge, PluginRef, Profile,
    PromptLimit, nearest,
};
use serde::Serialize;
use serde_json::Value;

use crate::columns::output_width;
use crate::fault::{self, CliError};
use crate::figure::middle;
use crate::files;
use crate::flags::WindowFlags;
use crate::journal::{self, store_path};
use crate::settings::{self, ProfileFlags};
use crate::store;
use crate::table::{Column, GAP, TextTable, left};
use crate::text::{clipped, grouped, plain, width, wrapped};

const COLUMNS: [Column; 3] =
    [left("key"), left("value").least(VALUE), left("source").least(SOURCE)];
/// The same where no line is too long.
const WHOLE: [Column; 3] = [left("key"), left("value"), left("source")];
/// The cells of values that a source stands in line behind.
const IN_LINE: usize = 32;
/// The cells that a value and a source may be clipped to.
const VALUE: usize = 12;
const SOURCE: usize = 10;
/// Where what is said of the whole stands, behind its names.
const INDENT: usize = 9;

/// Shows every value that is in force for a profile, and where it is from
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome config show options.default.summaries.prompt")]
pub(crate) struct Args {
    /// Shows the value of this key whole, or those of the keys that begin with it
    key: Option<String>,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    window: WindowFlags,
    /// Counts tokens as this model does
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ShownValue<'a> {
    profile: &'a str,
    /// What it inherits from, the nearest first.
    inherits: Vec<String>,
    /// Who is asked, in this order, before what is built in; plugins that answer hooks too.
    policies: Vec<ShowQuery<'a>>,
    /// The plugins that it names, for digests or hooks.
    plugins: Vec<ShowQuery<'a>>,
    /// The hash of the profile's options and policies.
    config: String,
    /// The files that were read, the earlier ones overridden by the later.
    files: &'a [PathBuf],
    /// How large a prompt may be, by format, where nobody knows the model.
    limits: Vec<Limited>,
    /// What refusals and answers taught of models, in their place.
    learned: Vec<ModelKnowledge>,
    values: Vec<EffectiveValue>,
}

#[derive(Serialize)]
struct Limited {
    format: &'static str,
    #[serde(flatten)]
    known: PromptLimit,
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
struct ShowQuery<'a> {
    name: Cow<'a, str>,
    origin: ExtensionOrigin,
    folder: Option<&'a Path>,
}

impl<'a> From<&'a PluginRef> for ShowQuery<'a> {
    fn from(plugin: &'a PluginRef) -> Self {
        Self { name: plugin.name().into(), origin: plugin.origin(), folder: plugin.folder() }
    }
}

/// A link of the profile's chain.
fn asked<'a>(profile: &'a Profile, link: &'a ChainLink) -> Option<ShowQuery<'a>> {
    let (origin, folder) = match link {
        ChainLink::Policy(policy) => (policy.origin(), policy.folder()),
        ChainLink::Plugin { name, .. } => {
            let plugin = profile.plugins().iter().find(|plugin| plugin.name() == name)?;
            (plugin.origin(), plugin.folder())
        }
    };
    Some(ShowQuery { name: link.name(), origin, folder })
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.profile.load(|sources| {
        let sources = settings::path(sources, "--store", "store", args.store.as_deref());
        let sources = settings::text(sources, "--model", "model", args.model.as_deref());
        args.window.set(sources)
    })?;
    let profile = config.profile_in_use()?;
    config.warnings(profile.name())?.iter().for_each(|doubt| fault::warn(&doubt.to_string()));
    if let Err(error) = profile.permitted() {
        fault::warn(&error.to_string());
    }
    let store = store_path(args.store.as_deref(), &config).ok();
    let values = config.values(profile.name())?.into_iter().map(without_password).collect();
    let key = args.key.as_deref().map(|key| config.renewed_key(key.trim_end_matches('.')));
    let values = chosen(values, key.as_deref())?;
    if let (Some(key), false) = (&key, args.json) {
        return alone(key, &values);
    }
    let shown = ShownValue {
        profile: profile.name(),
        inherits: config.inherited(profile.name())?,
        policies: profile.chain().iter().filter_map(|link| asked(&profile, link)).collect(),
        plugins: profile.plugins().iter().map(ShowQuery::from).collect(),
        config: profile.config(),
        files: config.files(),
        limits: limits(&profile),
        learned: store.map(|path| journal::lessons(&path, &profile, &config)).unwrap_or_default(),
        values,
    };
    if args.json { journal::json(&shown) } else { words(&config, &shown) }
}

/// The address of a database as it may be shown.
fn without_password(value: EffectiveValue) -> EffectiveValue {
    match value.value.as_str() {
        Some(store) if value.key == "store" => {
            EffectiveValue { value: store::shown(Path::new(store)).into(), ..value }
        }
        _ => value,
    }
}

/// The values that were asked for.
fn chosen(values: Vec<EffectiveValue>, key: Option<&str>) -> Result<Vec<EffectiveValue>, CliError> {
    let Some(key) = key else { return Ok(values) };
    let is_below = |one: &str| one.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let is_meant = |one: &&EffectiveValue| one.key == key || is_below(&one.key);
    let found: Vec<_> = values.iter().filter(is_meant).cloned().collect();
    if found.is_empty() {
        let meant = nearest(key, values.iter().map(|one| &*one.key));
        let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        let what =
            format!("nothing is in force under `{key}`; {meant}`config show` lists all keys");
        return Err(CliError::usage(what));
    }
    Ok(found)
}

/// One value whole, as it is; of several the table.
fn alone(key: &str, values: &[EffectiveValue]) -> Result<(), CliError> {
    files::to_stdout(|out| match values {
        [one] if one.key == key => match &one.value {
            Value::String(text) => {
                text.lines().try_for_each(|line| writeln!(out, "{}", plain(line)))
            }
            other => writeln!(out, "{other}"),
        },
        several => table(out, several),
    })
}

/// The values as a table, one line each.
fn table(out: &mut dyn Write, values: &[EffectiveValue]) -> io::Result<()> {
    let most = output_width();
    let (folder, home) = (env::current_dir().ok(), env::var_os("HOME").map(PathBuf::from));
    let near = |source: &str| {
        let below = |folder: &Option<PathBuf>| below(source, folder.as_deref()?);
        let from_home = || below(&home).map(|rest| format!("~/{rest}"));
        let from_here = below(&folder).map(str::to_owned);
        plain(&from_here.or_else(from_home).unwrap_or_else(|| source.to_owned()))
    };
    let row =
        |one: &EffectiveValue| vec![one.key.clone(), on_a_line(&one.value), near(&one.source)];
    let mut rows: Vec<_> = values.iter().map(row).collect();
    if most == usize::MAX {
        // Nobody's screen is too narrow: values stand whole, and only short ones in line.
        let narrow = |row: &Vec<String>| vec![row[0].clone(), clipped(&row[1], IN_LINE)];
        let narrow: Vec<_> = rows.iter().map(narrow).collect();
        return TextTable::new(&WHOLE).measured(&narrow).print(out, &rows);
    }
    // Long values make room before sources do, and sources in their middle: the line stands last.
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default();
    let room = most.saturating_sub(widest(0) + 2 * GAP);
    let value = room.saturating_sub(widest(2)).max(room / 2).max(VALUE);
    for row in &mut rows {
        row[1] = clipped(&row[1], value);
        row[2] = middle(&row[2], room.saturating_sub(value).max(SOURCE));
    }
    TextTable::new(&COLUMNS).within(most).print(out, &rows)
}

/// The rest of a source in this folder.
fn below<'s>(source: &'s str, folder: &Path) -> Option<&'s str> {
    source.strip_prefix(folder.to_str()?)?.strip_prefix('/')
}

/// A value on a line; of a text in several lines the first.
fn on_a_line(value: &Value) -> String {
    let lines = value.as_str().and_then(|text| text.trim_start().split_once('\n'));
    match lines {
        Some((first, _)) => plain(&format!("{} …", Value::from(first.trim_end()))),
        None => plain(&value.to_string()),
    }
}

fn words(config: &Config, shown: &ShownValue<'_>) -> Result<(), CliError> {
    files::to_stdout(|out| {
        let inherits = shown.inherits.iter().map(|name| format!(" → {name}"));
        writeln!(out, "profile  {}{}", shown.profile, inherits.collect::<String>())?;
        // The shipped plugins stand among the values.
        let own = shown.plugins.iter().filter(|plugin| plugin.origin != ExtensionOrigin::Shipped);
        let asked = [("policies", shown.policies.iter().collect()), ("plugins ", own.collect())];
        for (what, asked) in asked {
            let asked: Vec<&ShowQuery<'_>> = asked;
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
        let line = format!("limit    {limits} tokens, {}", source.unwrap_or_default());
        writeln!(out, "{}", wrapped(&line, output_width(), INDENT))?;
        for taught in &shown.learned {
            let Some((limit, source)) = journal::said(taught) else { continue };
            let model = plain(taught.model.as_deref().unwrap_or("any model"));
            let what = format!("{} tokens, {source} ({})", grouped(limit), taught.format);
            let line = format!("{}{model}: {what}", " ".repeat(INDENT));
            writeln!(out, "{}", wrapped(&line, output_width(), INDENT + 2))?;
        }
        let files: Vec<_> = config.files().iter().map(|path| path.display().to_string()).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        writeln!(out, "files    {files}\n")?;
        table(out, &shown.values)
    })
}
