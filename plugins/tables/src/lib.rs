//! Digests of what queries give, in the forms in which databases and their tools print it: framed
//! and aligned tables, CSV and the like, one record below the other.
//!
//! Invariant: a cell is spelled as in the text, without what aligns it. Hosts register [`TableDigester`]
//! by name.

mod columns;
mod delimited;
mod framed;
mod records;

use std::borrow::Cow;
use std::ops::Range;

use epitome_plugin::text::rows::{TableRows, TableTitle};
use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

const KIND: &str = "table";
/// A table has at least this many rows.
const ROWS: usize = 8;
/// What stands beside it takes at most this many bytes.
const AROUND: usize = 2000;
/// From this share of the lines on that only code has, a text is code.
const SOURCE: f64 = 0.3;

/// Digests results of queries.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableDigester;

/// A table, and the lines that stand beside it.
struct FramedTable<'a> {
    rows: TableRows<'a>,
    others: Vec<Range<usize>>,
}

impl Plugin for TableDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("tables", "1")
            .with_doc("results of queries: what rows share, counts, and the rows that stand out")
            .with_digest()
            .with_option("whole", 1500, "tokens up to which a table shows all of its rows")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        Ok(found(job.text).and_then(|found| found.digest(job)))
    }
}

/// The table that a text is.
fn found(text: &str) -> Option<FramedTable<'_>> {
    let lines: Vec<Range<usize>> =
        shape::lines(text).filter(|line| !text[line.clone()].trim().is_empty()).collect();
    let clear = |found: &FramedTable<'_>| {
        let others: usize = found.others.iter().map(ExactSizeIterator::len).sum();
        found.rows.rows.len() >= ROWS && others <= AROUND
    };
    framed::read(text, &lines)
        .filter(clear)
        .or_else(|| columns::read(text, &lines).filter(clear))
        .or_else(|| records::read(text, &lines).filter(clear))
        .or_else(|| {
            let code = lines.iter().filter(|line| shape::is_code(&text[(*line).clone()]));
            let is_source = code.count() as f64 >= lines.len() as f64 * SOURCE;
            (!is_source).then(|| delimited::read(text, &lines))?.filter(clear)
        })
}

impl FramedTable<'_> {
    fn digest(&self, job: &DigestInput<'_>) -> Option<DigestOutput> {
        let mut around = String::new();
        for other in &self.others {
            around.push('\n');
            around.push_str(&job.text[other.clone()]);
        }
        self.rows.digest(job, &TableTitle { what: "rows", around: &around, left: &[] }, KIND)
    }
}

/// A name for each of so many columns that have none.
fn unnamed<'a>(columns: usize) -> Vec<Cow<'a, str>> {
    (1..=columns).map(|column| format!("[… column {column}]").into()).collect()
}
