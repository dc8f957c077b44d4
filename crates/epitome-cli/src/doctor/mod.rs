//! `epitome doctor`: what is not as it should be, each with its remedy.
//!
//! Invariant: a check changes nothing and answers whatever the others found; exit code 6 where one
//! fails. A new part of the program adds its checks to [`CHECKS`].

mod config;
mod journal;
mod machine;
mod plugins;
mod policies;
mod proxy;
mod window;

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use epitome::{Config, ConfigError};
use serde::Serialize;

use crate::columns::output_width;
use crate::fault::CliError;
use crate::files;
use crate::journal::{self as journals, JournalFlags};
use crate::text::{counted, plain, wrapped};

/// Cells before what was found.
const INDENT: usize = 16;

/// Every check, in the order of the report.
const CHECKS: &[fn(&Patient) -> Vec<DoctorFinding>] = &[
    machine::program,
    machine::terminal,
    config::files,
    config::old_names,
    config::untrusted,
    config::prices,
    config::variables,
    config::profiles,
    window::stated,
    window::told,
    window::learned,
    policies::policies,
    plugins::plugins,
    proxy::address,
    proxy::upstreams,
    proxy::stale,
    journal::files,
    journal::room,
    journal::store,
];

/// Checks the installation and the store; every finding comes with its remedy
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome doctor")]
pub(crate) struct Args {
    #[command(flatten)]
    journal: JournalFlags,
}

/// What is looked at.
struct Patient {
    /// The configuration; what is built in, where it cannot be used.
    config: Config,
    /// Why it cannot be used.
    fault: Option<ConfigError>,
    /// The store, whether or not there is one.
    path: PathBuf,
    /// Whether nobody named another store.
    usual: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct DoctorFinding {
    verdict: Verdict,
    /// What was looked at.
    about: &'static str,
    /// What was found.
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl DoctorFinding {
    fn ok(about: &'static str, found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ok, about, found: found.into(), remedy: None }
    }

    fn warn(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (found, remedy) = (found.into(), Some(remedy.into()));
        Self { verdict: Verdict::Warn, about, found, remedy }
    }

    fn fail(about: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, ..Self::warn(about, found, remedy) }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let flags = &args.journal;
    let (config, fault) = flags.profile.load_or_built_in(|sources| flags.set(sources))?;
    let path = flags.path(&config)?;
    let usual = config.is_usual_store();
    let patient = Patient { config, fault, path, usual };
    let findings: Vec<_> = CHECKS.iter().flat_map(|check| check(&patient)).collect();
    if flags.json {
        journals::json(&findings)?;
    } else {
        let shown = |one: &&DoctorFinding| !flags.quiet || one.verdict != Verdict::Ok;
        files::to_stdout(|out| findings.iter().filter(shown).try_for_each(|one| write(out, one)))?;
    }
    match findings.iter().filter(|one| one.verdict == Verdict::Fail).count() as u64 {
        0 => Ok(()),
        failed => Err(CliError::found(format!("{} failed", counted(failed, "check")))),
    }
}

fn write(out: &mut dyn Write, finding: &DoctorFinding) -> io::Result<()> {
    let (name, color) = match finding.verdict {
        Verdict::Ok => ("ok", AnsiColor::Green),
        Verdict::Warn => ("warn", AnsiColor::Yellow),
        Verdict::Fail => ("fail", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into())).bold();
    let most = output_width();
    let found = format!("{name:4}  {:9} {}", finding.about, plain(&finding.found));
    let found = wrapped(&found, most, INDENT);
    writeln!(out, "{style}{name}{style:#}{}", &found[name.len()..])?;
    match &finding.remedy {
        Some(remedy) => {
            let remedy = format!("{:INDENT$}{remedy}", "");
            writeln!(out, "{}", wrapped(&remedy, most, INDENT))
        }
        None => Ok(()),
    }
}
