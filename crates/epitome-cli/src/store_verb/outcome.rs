//! What all errands of `epitome store` share: from where to where, and what became of it.
//!
//! Invariant: exit code 6 where the two differ at the end, or something damaged was left out.

use std::path::{Path, PathBuf};

use epitome::{TransferMode, TransferReport, TransferStore, transfer};
use serde::Serialize;

use super::progress::TransferBar;
use crate::clock::{now, since};
use crate::fault::{self, CliError};
use crate::figure::short;
use crate::text::counted;
use crate::{files, journal, store};

/// So many differences are named, unless as JSON.
const NAMED: usize = 10;

/// How the outcome is printed.
#[derive(clap::Args)]
pub(super) struct OutcomeFlags {
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// From where to where.
pub(super) struct Way {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    /// What is said of the sessions that went it.
    went: &'static str,
}

/// What a copy did.
pub(super) struct Carried {
    pub(super) report: TransferReport,
    elapsed_ms: f64,
}

impl Way {
    /// The way between two stores, which may be named by their folders.
    pub(super) fn between(from: &Path, to: &Path, went: &'static str) -> Result<Self, CliError> {
        let (from, to) = (store::file_of(from), store::file_of(to));
        match store::is_same(&from, &to) {
            true => Err(CliError::usage(format!(
                "{} would be copied onto itself; name two stores",
                store::shown(&from)
            ))),
            false => Ok(Self { from, to, went }),
        }
    }
}

/// What was done.
#[derive(Serialize)]
struct TransferOutput<'a> {
    from: String,
    to: String,
    scopes: usize,
    sessions: usize,
    copied: usize,
    completed: usize,
    same: usize,
    removed: usize,
    messages: u64,
    snapshots: u64,
    bytes: u64,
    #[serde(flatten)]
    compared: ComparedOutput<'a>,
}

/// What the comparison at the end found, and what was not there to be compared.
#[derive(Serialize)]
struct ComparedOutput<'a> {
    equal: bool,
    differ: &'a [String],
    /// What is damaged in the source, and left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a [String]>,
    elapsed_ms: f64,
}

impl OutcomeFlags {
    /// Copies, compares, and says what became of it.
    pub(super) fn transfer(
        &self,
        way: &Way,
        from: &dyn TransferStore,
        to: &dyn TransferStore,
        mode: TransferMode,
    ) -> Result<(), CliError> {
        self.print(way, &self.carry(from, to, mode)?, None)
    }

    /// Copies and compares.
    pub(super) fn carry(
        &self,
        from: &dyn TransferStore,
        to: &dyn TransferStore,
        mode: TransferMode,
    ) -> Result<Carried, CliError> {
        let start = now();
        let mut bar = TransferBar::new(self.quiet);
        let done = transfer(from, to, mode, &mut |progress| bar.show(progress));
        bar.end();
        let report = done.map_err(|error| CliError::of_store(&error))?;
        Ok(Carried { report, elapsed_ms: since(start) })
    }

    /// Says what became of it; `missing` is what could not be salvaged from a file.
    pub(super) fn print(
        &self,
        way: &Way,
        carried: &Carried,
        missing: Option<&[String]>,
    ) -> Result<(), CliError> {
        let Carried { report, elapsed_ms } = carried;
        let differ = &report.differ;
        let all: Vec<String> =
            missing.unwrap_or_default().iter().chain(&report.missing).cloned().collect();
        let missing = (missing.is_some() || !all.is_empty()).then_some(&all[..]);
        if self.json {
            journal::json(&TransferOutput {
                from: store::shown(&way.from),
                to: store::shown(&way.to),
                scopes: report.scopes,
                sessions: report.sessions,
                copied: report.copied,
                completed: report.completed,
                same: report.same,
                removed: report.removed,
                messages: report.messages,
                snapshots: report.snapshots,
                bytes: report.bytes,
                compared: ComparedOutput {
                    equal: differ.is_empty(),
                    differ,
                    missing,
                    elapsed_ms: *elapsed_ms,
                },
            })?;
        } else if !self.quiet {
            files::to_stdout(|out| writeln!(out, "{}", words(report, way.went)))?;
        }
        self.name(differ, |what| format!("{what} is not the same in both"));
        self.name(missing.unwrap_or_default(), |what| format!("missing: {what}"));
        let (differ, missing) = (differ.len(), missing.map_or(0, <[String]>::len));
        match (differ, missing) {
            (0, 0) => Ok(()),
            (0, _) => Err(CliError::found(format!(
                "{} missing, all else is in {}",
                counted(missing as u64, "record"),
                store::shown(&way.to)
            ))),
            _ => {
                let all = counted(differ as u64, "difference");
                Err(CliError::found(format!("{all} left between the stores")))
            }
        }
    }

    fn name(&self, all: &[String], line: impl Fn(&String) -> String) {
        for what in all.iter().take(NAMED).filter(|_| !self.json) {
            fault::warn(&line(what));
        }
        if all.len() > NAMED && !self.json {
            fault::warn(&format!("and {} more; `--json` names them all", all.len() - NAMED));
        }
    }
}

/// The outcome in one line.
fn words(report: &TransferReport, went: &str) -> String {
    let sessions = |count: usize| counted(count as u64, "session");
    let mut done = Vec::new();
    if report.copied > 0 {
        done.push(format!("{} {went}", sessions(report.copied)));
    }
    if report.completed > 0 {
        done.push(format!("{} brought up to date", sessions(report.completed)));
    }
    if report.removed > 0 {
        done.push(format!("{} removed", sessions(report.removed)));
    }
    let brought = match done.is_empty() {
        true => format!("nothing was missing of {}", sessions(report.sessions)),
        false => {
            let (messages, bytes) = (counted(report.messages, "message"), short(report.bytes));
            format!("{} ({messages}, {bytes}B)", done.join(", "))
        }
    };
    match (report.differ.is_empty(), report.missing.is_empty()) {
        (true, true) => format!("{brought}; compared: both hold the same"),
        (true, false) => {
            format!("{brought}; compared: both hold the same, but for what is damaged")
        }
        (false, _) => brought,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_said_in_one_line() {
        let check = |report: TransferReport, line: &str| assert_eq!(words(&report, "copied"), line);
        let none = TransferReport { sessions: 3, same: 3, ..TransferReport::default() };
        check(none, "nothing was missing of 3 sessions; compared: both hold the same");
        let some = TransferReport {
            sessions: 3,
            copied: 1,
            completed: 2,
            messages: 41,
            bytes: 9_100,
            ..TransferReport::default()
        };
        let line = "1 session copied, 2 sessions brought up to date (41 messages, 9.10kB)";
        check(some.clone(), &format!("{line}; compared: both hold the same"));
        let damaged = TransferReport { missing: vec!["a".to_owned()], ..some.clone() };
        let but = "compared: both hold the same, but for what is damaged";
        check(damaged, &format!("{line}; {but}"));
        check(TransferReport { differ: vec!["a".to_owned()], ..some }, line);
    }
}
