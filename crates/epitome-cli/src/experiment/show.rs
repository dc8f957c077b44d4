//! `epitome experiment show`: what an experiment proves.
//!
//! Invariant: where the split is broken, that is all that is shown of its figures.

use std::io::{self, Write};

use epitome::{ArmReport, ExperimentReport, ExperimentUnit, StopRecord, TableOrigin};

use super::flags::ExperimentFlags;
use super::shadow;
use super::words::{outlook, state, verdict};
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
    let (table, origin) = open.table(&name)?;
    let units = shadow::units(&open, &name, &table)?;
    let report = ExperimentReport::load(&*open.store, &open.tenant, &name, &table, &units)
        .map_err(|error| CliError::of_store(&error))?;
    match args.flags.json {
        true => journal::json(&report),
        false => files::to_stdout(|out| write(out, &report, origin)),
    }
}

fn write(out: &mut dyn Write, report: &ExperimentReport, origin: TableOrigin) -> io::Result<()> {
    let units: u64 = report.arms.iter().map(|arm| arm.figures.units).sum();
    let unit = match report.unit {
        ExperimentUnit::Session => "session",
        ExperimentUnit::Project => "project",
    };
    let state = state(report, origin);
    let decided = match origin {
        TableOrigin::Unknown => String::new(),
        _ => format!(", decided by `{}`", report.primary.word()),
    };
    writeln!(out, "{}: {}, {state}{decided}", plain(&report.name), counted(units, unit))?;
    if let Some(stopped) = &report.stopped {
        writeln!(out, "{}", paragraph(&format!("stopped {}", why(stopped))))?;
    }
    writeln!(out)?;
    arms(out, report)?;
    for said in [report.split_in_words()].into_iter().chain(report.caveats()) {
        writeln!(out, "\n{}", paragraph(&plain(&said)))?;
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
    if origin == TableOrigin::Unknown {
        return writeln!(out, "\n{}", paragraph(ExperimentReport::without_a_table()));
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
