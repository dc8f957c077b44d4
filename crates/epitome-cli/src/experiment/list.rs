//! `epitome experiment list`: the experiments that are configured or recorded.

use std::io::{self, Write};

use epitome::{ArmFigures, ExperimentReport, TableOrigin, collect_units};
use serde_json::{Value, json};

use super::flags::{ExperimentFlags, OpenExperiments};
use super::words::{split_word, state};
use crate::fault::CliError;
use crate::table::{Column, TextTable, left, right};
use crate::text::grouped;
use crate::{files, journal};

const COLUMNS: [Column; 6] = [
    left("experiment").least(12),
    left("state"),
    right("units"),
    left("split").spare(1),
    left("by").spare(2),
    left("arms").least(16),
];

/// Lists the experiments, with how many units each arm has
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome experiment list")]
pub(crate) struct Args {
    #[command(flatten)]
    flags: ExperimentFlags,
}

/// An experiment in the list.
struct ListedExperiment {
    report: ExperimentReport,
    /// Where its table is.
    origin: TableOrigin,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let all = listed(&args.flags.open()?)?;
    match args.flags.json {
        true => journal::json(&all.iter().map(in_json).collect::<Vec<_>>()),
        false => files::to_stdout(|out| write(out, &all)),
    }
}

fn listed(open: &OpenExperiments) -> Result<Vec<ListedExperiment>, CliError> {
    let one = |name: String| {
        let (table, origin) = open.table(&name)?;
        let units = collect_units(&*open.store, &open.tenant, &name)
            .map_err(|error| CliError::of_store(&error))?;
        let report = ExperimentReport::load(&*open.store, &open.tenant, &name, &table, &units)
            .map_err(|error| CliError::of_store(&error))?;
        Ok(ListedExperiment { report, origin })
    };
    open.names()?.into_iter().map(one).collect()
}

fn units(report: &ExperimentReport) -> u64 {
    report.arms.iter().map(|arm| arm.figures.units).sum()
}

fn in_json(ListedExperiment { report, origin }: &ListedExperiment) -> Value {
    let arms = report.arms.iter();
    let arms = arms.map(|arm| {
        let ArmFigures { arm: name, units, .. } = &arm.figures;
        json!({"arm": name, "units": units, "stopped": arm.stopped})
    });
    json!({
        "name": report.name,
        "configured": *origin == TableOrigin::Configured,
        "stopped": report.stopped,
        "unit": report.unit,
        "primary": report.primary,
        "units": units(report),
        "split": report.split,
        "left_out": report.left_out,
        "arms": arms.collect::<Vec<_>>(),
    })
}

fn write(out: &mut dyn Write, all: &[ListedExperiment]) -> io::Result<()> {
    if all.is_empty() {
        return writeln!(
            out,
            "there is no experiment; a table [experiment.NAME] in epitome.toml makes one"
        );
    }
    let row = |ListedExperiment { report, origin }: &ListedExperiment| {
        let arms = report.arms.iter().map(|arm| {
            let stopped = if arm.stopped.is_some() { " (stopped)" } else { "" };
            format!("{} {}{stopped}", arm.figures.arm, grouped(arm.figures.units))
        });
        let left_out = report.left_out.iter();
        let left_out = left_out.map(|(arm, units)| format!("{arm} {} (left out)", grouped(*units)));
        vec![
            report.name.clone(),
            state(report, *origin).to_owned(),
            grouped(units(report)),
            split_word(&report.split).to_owned(),
            if *origin == TableOrigin::Unknown {
                String::new()
            } else {
                report.primary.word().to_owned()
            },
            arms.chain(left_out).collect::<Vec<_>>().join(", "),
        ]
    };
    TextTable::new(&COLUMNS).print(out, &all.iter().map(row).collect::<Vec<_>>())
}
