//! Digests of JSON: like objects as a table, anything else with its structure and short values.
//!
//! Invariant: keys, numbers and ids are spelled as in the text. Hosts register [`Json`] by name.

mod structure;
mod table;

use epitome_plugin::text::outline::passages;
use epitome_plugin::text::rows::Title;
use epitome_plugin::text::shape;
use epitome_plugin::text::tape::Tape;
use epitome_plugin::{About, Digest, Digested, Failed, Plugin};

use structure::{SHORT, Shorter};
use table::Found;

const KIND: &str = "json";
/// What surrounds a table takes at most this many bytes.
const AROUND: usize = 2000;

/// Digests JSON texts, and those with one JSON text on each line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Plugin for Json {
    fn about(&self) -> About {
        About::new("json", "1")
            .with_doc("JSON: like objects as a table, anything else with short values")
            .with_digest()
            .with_option("whole", 1500, "tokens up to which a table shows all of its rows")
    }

    fn digest(&self, job: &Digest<'_>) -> Result<Option<Digested>, Failed> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        let Some(tape) = Tape::read(job.text) else { return Ok(None) };
        Ok(rows(&tape, job).or_else(|| structure(&tape, job)))
    }
}

/// The largest list of like objects as a table, whole where it is small.
fn rows(tape: &Tape<'_>, job: &Digest<'_>) -> Option<Digested> {
    let Found { at, rows, what } = table::find(tape)?;
    let mut shorter = Shorter::new(tape, SHORT.first()?, Some(at));
    let around = match at {
        0 => String::new(),
        _ => format!("\n{}", shorter.write(AROUND)?),
    };
    let title = Title { what, around: &around, left: &shorter.left };
    rows.digest(job, &title, KIND)
}

/// All of the structure that fits, with ever shorter values.
fn structure(tape: &Tape<'_>, job: &Digest<'_>) -> Option<Digested> {
    SHORT.iter().find_map(|short| {
        let mut shorter = Shorter::new(tape, short, None);
        let json = shorter.write(job.text.len())?;
        let left = passages(job.text, shorter.left.into_iter());
        let note = if left.is_empty() { "without spaces" } else { "shortened" };
        let text = format!("[… JSON, {note}]\n{json}");
        (job.size(&text) <= job.most).then_some(Digested { text, kind: KIND.into(), left })
    })
}
