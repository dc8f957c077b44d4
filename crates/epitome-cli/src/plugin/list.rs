//! `epitome plugin list`: every plugin there is, from where, what it provides, and whether it may
//! run.
//!
//! Invariant: nothing is started; a plugin that cannot be used is listed all the same, with the way
//! to find out why.

use std::path::PathBuf;

use epitome::{Config, ConfigError, ExtensionOrigin, PluginForm, PluginRef};
use serde::Serialize;

use crate::fault::CliError;
use crate::files;
use crate::journal;
use crate::settings::ConfigFlags;
use crate::table::{Column, TextTable, left};
use crate::text::plain;

const COLUMNS: [Column; 6] = [
    left("plugin"),
    left("from"),
    left("form"),
    left("provides"),
    left("trusted"),
    left("doc").least(12),
];

/// Lists the plugins that profiles may name, for digests or among their policies
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome plugin list")]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

/// A plugin, as it is listed.
#[derive(Serialize)]
struct ListedPlugin {
    name: String,
    /// None where its manifest cannot be read.
    from: Option<ExtensionOrigin>,
    /// None there too.
    form: Option<PluginForm>,
    folder: Option<PathBuf>,
    digest: bool,
    hooks: Vec<String>,
    trusted: bool,
    doc: String,
    /// Variables of the environment that it asks for, and those of them that it gets.
    asks_for: Vec<String>,
    granted: Vec<String>,
    /// What it says that it needs to do: `network`, `files`.
    needs: Vec<&'static str>,
    /// Why it cannot be used.
    problem: Option<String>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.config.load(|sources| sources)?;
    let mut listed: Vec<_> =
        config.plugins().into_iter().map(|(name, found)| of(&config, name, found)).collect();
    listed.sort_by(|one, other| (one.from, &one.name).cmp(&(other.from, &other.name)));
    if args.json { journal::json(&listed) } else { words(&listed) }
}

fn of(config: &Config, name: String, found: Result<PluginRef, ConfigError>) -> ListedPlugin {
    let plugin = match found {
        Ok(plugin) => plugin,
        Err(error) => {
            return ListedPlugin {
                name,
                from: None,
                form: None,
                folder: None,
                digest: false,
                hooks: Vec::new(),
                trusted: false,
                doc: String::new(),
                asks_for: Vec::new(),
                granted: Vec::new(),
                needs: Vec::new(),
                problem: Some(error.to_string()),
            };
        }
    };
    let about = plugin.about();
    let refusal = config.plugin_refusal(&plugin);
    let asks_for = plugin.asks_for().to_vec();
    let granted = config.granted(&name);
    ListedPlugin {
        from: Some(plugin.origin()),
        form: Some(plugin.form()),
        folder: plugin.folder().map(Into::into),
        digest: about.digest,
        hooks: about.hooks.into_iter().map(Into::into).collect(),
        trusted: refusal.is_none(),
        doc: about.doc.into(),
        granted: asks_for.iter().filter(|name| granted.contains(name)).cloned().collect(),
        asks_for,
        needs: plugin.needs(),
        problem: refusal.map(|refusal| refusal.to_string()),
        name,
    }
}

impl ListedPlugin {
    fn provides(&self) -> String {
        let digest = self.digest.then(|| "digest".to_owned());
        digest.into_iter().chain(self.hooks.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    fn words(&self) -> String {
        match (&self.problem, self.from) {
            (None, _) => self.doc.clone(),
            (_, None) => format!("(cannot be used: `epitome plugin check {}`)", self.name),
            _ => "(does not run before `epitome trust`)".to_owned(),
        }
    }
}

fn words(listed: &[ListedPlugin]) -> Result<(), CliError> {
    let row = |one: &ListedPlugin| {
        let trusted = if one.trusted { "yes" } else { "no" };
        let from = one.from.map(|from| from.to_string()).unwrap_or_default();
        let form = one.form.map(|form| form.to_string()).unwrap_or_default();
        let (provides, words) = (plain(&one.provides()), plain(&one.words()));
        vec![one.name.clone(), from, form, provides, trusted.into(), words]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    files::to_stdout(|out| TextTable::new(&COLUMNS).print(out, &rows))
}
