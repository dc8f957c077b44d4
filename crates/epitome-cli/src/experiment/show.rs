//! `epitome experiment show`: what an experiment proves.
//!
//! Invariant: where the split is broken, that is all that is shown of its figures.

use std::io::{self, Write};

use epitome::{ArmReport, ExperimentReport, ExperimentUnit, StopRecord};

use super::flags::ExperimentFlags;
use super::shadow;
use super::words::{left_out, outlook, state, unread, verdict, versions};
use crate::columns::{COLUMNS as WIDEST, output_width};
use crate::fault::CliError;
use crate::table::{Column, TextTable, left, right};
use crate::text::{counted, grouped, moment, plain, wrapped};
use crate::{arm_table, files, journal};

const ARMS: [Column; 6] = [
    left("arm").least(10),
    right("weight").spare(2),
    right("units"),
    right("expected").spare(1),
    right("counted").spare(3),
    left("state").least(8),
];

/// Shows the split of an experiment, its metrics with intervals, and what is proven
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome experiment show short")]
pub(crate) struct Args {
    /// The experiment [default: the only one]
    name: Option<String>,
    #[command(flatten)]
    flags: ExperimentFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let open = args.flags.open()?;
    let name = open.named(args.name.as_deref())?;
    let (table, is_configured) = open.table(&name)?;
    let units = shadow::units(&open, &name, &table)?;
    let report = ExperimentReport::load(&*open.store, &open.tenant, &name, &table, &units)
        .map_err(|error| CliError::of_store(&error))?;
    match args.flags.json {
        true => journal::json(&report),
        false => files::to_stdout(|out| write(out, &report, is_configured)),
    }
}

fn write(out: &mut dyn Write, report: &ExperimentReport, is_configured: bool) -> io::Result<()> {
    let units: u64 = report.arms.iter().map(|arm| arm.figures.units).sum();
    let unit = match report.unit {
        ExperimentUnit::Session => "session",
        ExperimentUnit::Project => "project",
    };
    let state = state(report, is_configured);
    let head = format!(
        "{}: {}, {state}, decided by `{}`",
        report.name,
        counted(units, unit),
        report.primary.word()
    );
    writeln!(out, "{head}")?;
    if let Some(stopped) = &report.stopped {
        writeln!(out, "{}", paragraph(&format!("stopped {}", why(stopped))))?;
    }
    writeln!(out)?;
    arms(out, report)?;
    let said = match units {
        0 => "no session has begun since the proxy knows of it".to_owned(),
        _ => split(report),
    };
    writeln!(out, "\n{}", paragraph(&said))?;
    for said in [left_out(report), versions(report), unread(report)].into_iter().flatten() {
        writeln!(out, "\n{}", paragraph(&said))?;
    }
    if !report.split.is_broken && report.arms.iter().any(|arm| arm.counted < report.least_units) {
        writeln!(out, "\n{}", paragraph(&outlook(report)))?;
    }
    if report.split.is_broken || units == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let figures: Vec<_> = report.arms.iter().map(|arm| &arm.figures).collect();
    arm_table::write(out, &figures)?;
    if !is_configured {
        let lost = "Its table is not in the configuration, so nobody knows which arm the others are \
                    to be compared with, and by what; here it is the first by name.";
        return writeln!(out, "\n{}", paragraph(lost));
    }
    for arm in &report.arms {
        let Some(proven) = arm.verdict else { continue };
        let own = arm.figures.metric(report.primary.word());
        let effect = own.and_then(|it| it.effect.as_ref());
        writeln!(out, "\n{}", paragraph(&verdict(report, &arm.figures.arm, proven, effect)))?;
    }
    let money = if report.in_dollars {
        "dollars"
    } else {
        "full-price tokens: not every model has a price"
    };
    let note = format!(
        "Intervals hold however often one looks, and for all arms together; each unit is one cluster. \
         `paid` is in {money}, by the provider's own counts. Calls for summaries are shared out over \
         the units of their arm."
    );
    writeln!(out, "\n{}", paragraph(&note))
}

fn paragraph(text: &str) -> String {
    wrapped(text, output_width().min(WIDEST), 0)
}

fn why(stopped: &StopRecord) -> String {
    format!("{} UTC: {}", moment(&stopped.at), plain(&stopped.why))
}

fn arms(out: &mut dyn Write, report: &ExperimentReport) -> io::Result<()> {
    let row = |arm: &ArmReport| {
        let expected = report.split.expected.get(&arm.figures.arm).copied().unwrap_or_default();
        vec![
            arm.figures.arm.clone(),
            grouped(arm.weight),
            grouped(arm.figures.units),
            format!("{expected:.1}"),
            grouped(arm.counted),
            arm.stopped
                .as_ref()
                .map_or_else(|| "open".to_owned(), |it| format!("stopped {}", why(it))),
        ]
    };
    TextTable::new(&ARMS).print(out, &report.arms.iter().map(row).collect::<Vec<_>>())
}

/// What is said of the split.
fn split(report: &ExperimentReport) -> String {
    let split = &report.split;
    let Some(chance) = split.chance else {
        return match split.is_broken {
            true => broken("a client's units"),
            false => "split: too few units to tell whether it is as drawn".to_owned(),
        };
    };
    if !split.is_broken {
        return format!("split: as drawn (p = {chance:.2})");
    }
    let is_low = |chance: &f64| *chance < 0.001;
    if is_low(&chance) {
        return broken("the units");
    }
    let client = split.by_client.iter().find(|(_, chance)| is_low(chance));
    match client {
        Some((client, _)) => broken(&format!("the units of the client `{}`", plain(client))),
        None => broken("the units that got an answer"),
    }
}

fn broken(what: &str) -> String {
    format!(
        "split: BROKEN. By chance {what} would be divided so in less than one of 1,000 experiments: \
         something loses units, and more of one arm than of another. So nothing can be compared, and \
         no metric is shown. `epitome experiment export` has the units."
    )
}
