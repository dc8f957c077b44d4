//! The plan of `--dry-run`: every operation, on standard output.
//!
//! Invariant: one line for each operation, as the report has them.

use std::io::{self, Write};

use epitome::CompressionReport;
use epitome::types::OpReport;

use crate::fault::CliError;
use crate::files;
use crate::text::{clipped, grouped, ranges};

/// Width of the columns for the operation and its entries.
const OP: usize = 15;
const ENTRIES: usize = 13;
const REASON: usize = 30;

/// Prints a plan.
pub(crate) fn print(report: &CompressionReport) -> Result<(), CliError> {
    files::to_stdout(|out| {
        let (before, after) = (grouped(report.before.tokens), grouped(report.after.tokens));
        if report.ops.is_empty() {
            return writeln!(out, "nothing to do: {before} tokens");
        }
        table(out, &report.ops)?;
        writeln!(out, "{before} tokens would become {after}; nothing was written")
    })
}

/// Operations as a table of 80 columns.
pub(crate) fn table(out: &mut dyn Write, ops: &[OpReport]) -> io::Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(
        out,
        "{bold}{:OP$}{:ENTRIES$} {:>9} {:>9}  reason{bold:#}",
        "operation", "entries", "before", "after"
    )?;
    for op in ops {
        writeln!(
            out,
            "{:OP$}{:ENTRIES$} {:>9} {:>9}  {}",
            op.op,
            clipped(&ranges(&op.entries), ENTRIES),
            grouped(op.tokens_before),
            grouped(op.tokens_after),
            clipped(&op.reason, REASON),
        )?;
    }
    Ok(())
}
