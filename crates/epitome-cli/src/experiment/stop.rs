//! `epitome experiment stop`: no new units.
//!
//! Invariant: sessions that go on keep their arm.

use epitome::{StopRecord, system_time};

use super::flags::ExperimentFlags;
use crate::fault::CliError;
use crate::text::{moment, plain};
use crate::{files, journal};

/// Gives an experiment, or an arm of it, no new sessions; those that go on keep their arm
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome experiment stop short --reason 'it is decided'")]
pub(crate) struct Args {
    /// The experiment
    name: String,
    /// Stops this arm alone
    #[arg(long)]
    arm: Option<String>,
    /// Why, for those who look at it later
    #[arg(long, value_name = "TEXT", default_value = "by hand")]
    reason: String,
    #[command(flatten)]
    flags: ExperimentFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let open = args.flags.open()?;
    let name = open.named(Some(&args.name))?;
    if let Some(arm) = &args.arm {
        let (table, _) = open.table(&name)?;
        if !table.arms.contains(arm) {
            let known = table.arms.join(", ");
            let line = format!("`{name}` has no arm `{arm}`; expected one of {known}");
            return Err(CliError::usage(line));
        }
    }
    let record = StopRecord { at: system_time(), why: args.reason.clone() };
    let stopped = open
        .book()
        .stop(&name, args.arm.as_deref(), &record)
        .map_err(|error| CliError::of_store(&error))?;
    if args.flags.json {
        return journal::json(&stopped);
    }
    let what = args.arm.as_deref().map_or_else(String::new, |arm| format!("arm {arm} of "));
    files::to_stdout(|out| match stopped == record {
        true => writeln!(out, "{what}{name} gets no new sessions; those that go on keep their arm"),
        false => writeln!(
            out,
            "{what}{name} was stopped already, {} UTC: {}",
            moment(&stopped.at),
            plain(&stopped.why)
        ),
    })
}
