//! Digests of JSON: like objects as a table, anything else with its structure and short values.
//!
//! Invariant: keys, numbers and ids are spelled as in the text. Hosts register [`JsonDigester`] by name.

mod structure;
mod table;

use epitome_plugin::text::outline::passages;
use epitome_plugin::text::rows::TableTitle;
use epitome_plugin::text::shape;
use epitome_plugin::text::tape::JsonTape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

use structure::{SHORT, Shorter};
use table::JsonList;

const KIND: &str = "json";
/// What surrounds a table takes at most this many bytes.
const AROUND: usize = 2000;

/// Digests JSON texts, and those with one JSON text on each line.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonDigester;

impl Plugin for JsonDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("json", "1")
            .with_doc("JSON: like objects as a table, anything else with short values")
            .with_digest()
            .with_option("whole", 1500, "tokens up to which a table shows all of its rows")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        let Some(tape) = JsonTape::read(job.text) else { return Ok(None) };
        Ok(rows(&tape, job).or_else(|| structure(&tape, job)))
    }
}

/// The largest list of like objects as a table, whole where it is small.
fn rows(tape: &JsonTape<'_>, job: &DigestInput<'_>) -> Option<DigestOutput> {
    let JsonList { at, rows, what } = table::find(tape)?;
    let mut shorter = Shorter::new(tape, SHORT.first()?, Some(at));
    let around = match at {
        0 => String::new(),
        _ => format!("\n{}", shorter.write(AROUND)?),
    };
    let title = TableTitle { what, around: &around, left: &shorter.left };
    rows.digest(job, &title, KIND)
}

/// All of the structure that fits, with ever shorter values.
fn structure(tape: &JsonTape<'_>, job: &DigestInput<'_>) -> Option<DigestOutput> {
    SHORT.iter().find_map(|short| {
        let mut shorter = Shorter::new(tape, short, None);
        let json = shorter.write(job.text.len())?;
        let left = passages(job.text, shorter.left.into_iter());
        let note = if left.is_empty() { "without spaces" } else { "shortened" };
        let text = format!("[… JSON, {note}]\n{json}");
        (job.size(&text) <= job.most).then_some(DigestOutput { text, kind: KIND.into(), left })
    })
}
