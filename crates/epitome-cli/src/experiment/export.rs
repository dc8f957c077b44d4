//! `epitome experiment export`: the units, for other programs.
//!
//! Invariant: nothing of a conversation is in it; a unit is a hash.

use std::io::{self, Write};

use serde_json::Value;

use super::flags::ExperimentFlags;
use super::shadow;
use crate::fault::CliError;
use crate::{files, journal};

/// The columns, as JSON calls them too.
const COLUMNS: [&str; 37] = [
    "unit",
    "arm",
    "at",
    "client",
    "profile",
    "project",
    "answers",
    "unpriced",
    "dollars",
    "full_price",
    "prompt",
    "cached",
    "output",
    "requests",
    "refused",
    "overflows",
    "prepared",
    "first_bytes",
    "first_byte",
    "model_turns",
    "typed",
    "corrections",
    "calls",
    "failed",
    "repeated",
    "recalled",
    "unread",
    "left",
    "left_tokens",
    "again",
    "again_tokens",
    "again_recalled",
    "refreshed",
    "calls_before",
    "failed_before",
    "calls_after",
    "failed_after",
];

/// Writes a line for each unit with its arm and its sums, as CSV; with --json as a list
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome experiment export short > short.csv")]
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
    let (table, _) = open.table(&name)?;
    let units = shadow::units(&open, &name, &table)?;
    if args.flags.json {
        return journal::json(&units);
    }
    let rows: Vec<_> = units.iter().filter_map(|unit| serde_json::to_value(unit).ok()).collect();
    files::to_stdout(|out| write(out, &rows))
}

fn write(out: &mut dyn Write, rows: &[Value]) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for row in rows {
        let cells: Vec<_> = COLUMNS.iter().map(|column| cell(&row[*column])).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// A cell, in quotes where it has to be. What a table would compute is a text.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@']) => {
            cell(&Value::String(format!("'{text}")))
        }
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::cell;

    #[test]
    fn a_cell_is_a_text_whatever_reads_it() {
        for (value, expected) in [
            (json!(null), ""),
            (json!(-0.5), "-0.5"),
            (json!("/srv/a b"), "/srv/a b"),
            (json!("a, \"b\""), "\"a, \"\"b\"\"\""),
            (json!("=1+2"), "'=1+2"),
            (json!("@a,b"), "\"'@a,b\""),
        ] {
            assert_eq!(cell(&value), expected);
        }
    }
}
