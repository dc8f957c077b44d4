//! JSON results: like objects as a table, anything else with its structure and short values.
//!
//! Invariant: keys, numbers and ids are spelled as in the text. Called by [`super::Digests`].

use epitome_kernel::Digested;

use super::Task;
use super::outline::{Outline, clip, number, passages};
use super::table;
use super::tape::{Kind, Tape};
use crate::tuning::Short;

const KIND: &str = "json";

/// A digest of a JSON text; `None` where it is none or cannot be made small enough.
pub(super) fn digest(task: &Task<'_>) -> Option<Digested> {
    let tape = Tape::read(task.job.text)?;
    rows(&tape, task).or_else(|| structure(&tape, task))
}

/// The largest list of like objects as a table, whole where it fits.
fn rows(tape: &Tape<'_>, task: &Task<'_>) -> Option<Digested> {
    let Task { job, shapes, .. } = *task;
    let (at, table) = table::find(tape, shapes)?;
    let mut shorter = Shorter::new(tape, shapes.short.first()?, Some(at));
    let around = match at {
        0 => String::new(),
        _ => format!("\n{}", shorter.write(shapes.around_most)?),
    };
    let count = number(table.len());
    let outline = |note: &str, counts: &str, most: usize| Outline {
        head: format!("[… {count} objects as a table{note}]{around}{counts}{}", table.head()),
        items: table.items(tape, shapes, most),
        like: table::LIKE,
        noun: Some("rows"),
        must: false,
    };
    let whole = outline("", "", usize::MAX).fill(task, KIND)?;
    let mut digest = if whole.left.is_empty() {
        whole
    } else {
        // With as much about all rows as leaves room for some.
        let counts = table.counts(shapes);
        [table.ends_said(shapes) + &counts, counts, String::new()]
            .iter()
            .find_map(|sums| outline(", some left out", sums, shapes.cell).fill(task, KIND))?
    };
    digest.left = passages(job.text, digest.left.into_iter().chain(shorter.left));
    Some(digest)
}

/// All of the structure that fits, with ever shorter values.
fn structure(tape: &Tape<'_>, task: &Task<'_>) -> Option<Digested> {
    let Task { job, shapes, .. } = *task;
    shapes.short.iter().find_map(|short| {
        let mut shorter = Shorter::new(tape, short, None);
        let json = shorter.write(job.text.len())?;
        let left = passages(job.text, shorter.left.into_iter());
        let note = if left.is_empty() { "without spaces" } else { "shortened" };
        let text = format!("[… JSON, {note}]\n{json}");
        (job.measure.size(&text) <= job.most).then_some(Digested { text, kind: KIND.into(), left })
    })
}

/// Writes a text again with short strings, lists and depths.
struct Shorter<'t, 'a> {
    tape: &'t Tape<'a>,
    short: &'t Short,
    /// A value that is said elsewhere.
    table: Option<usize>,
    left: Vec<std::ops::Range<usize>>,
}

impl<'t, 'a> Shorter<'t, 'a> {
    fn new(tape: &'t Tape<'a>, short: &'t Short, table: Option<usize>) -> Self {
        Self { tape, short, table, left: Vec::new() }
    }

    /// The text; `None` where it grows over `most` bytes.
    fn write(&mut self, most: usize) -> Option<String> {
        let tape = self.tape;
        let mut out = String::new();
        // What is open: the place behind it, its bracket, how many of its values may still be said.
        let mut open: Vec<(usize, char, usize)> = Vec::new();
        let mut at = 0;
        while at < tape.len() {
            let node = tape.node(at);
            if let Some((end, _, room)) = open.last_mut() {
                if *room == 0 {
                    let rest = tape.span(at).start..tape.span(*end - 1).end;
                    at = *end;
                    self.left.push(rest);
                } else {
                    *room -= 1;
                    separate(&mut out);
                    push_key(tape.key(at), &mut out);
                    at = self.value(at, node.kind, &mut open, &mut out);
                }
            } else {
                at = self.value(at, node.kind, &mut open, &mut out);
            }
            while let Some((_, bracket, _)) = open.pop_if(|(end, ..)| *end <= at) {
                out.push(bracket);
            }
            if out.len() > most {
                return None;
            }
        }
        Some(out)
    }

    /// Says or opens one value; gives the place of the next.
    fn value(
        &mut self,
        at: usize,
        kind: Kind,
        open: &mut Vec<(usize, char, usize)>,
        out: &mut String,
    ) -> usize {
        let (next, count) = (self.tape.next(at), self.tape.node(at).count as usize);
        if self.table == Some(at) {
            out.push_str("[… the table]");
            return next;
        }
        let (brackets, noun, most) = match kind {
            Kind::Object => (['{', '}'], "keys", self.short.keys),
            Kind::Array => (['[', ']'], "values", self.short.values),
            Kind::String | Kind::Scalar => {
                let raw = self.tape.raw(at);
                let said = clip(raw, self.short.string);
                if said.len() < raw.len() {
                    self.left.push(self.tape.span(at));
                }
                out.push_str(&said);
                return next;
            }
        };
        out.push(brackets[0]);
        if open.len() >= self.short.depth && count > 0 {
            out.push_str(&format!("[… {} {noun}]", number(count)));
            out.push(brackets[1]);
            self.left.push(self.tape.span(at));
            return next;
        }
        if count > most {
            out.push_str(&format!("[… {} of {} {noun}] ", number(most), number(count)));
        }
        if count == 0 {
            out.push(brackets[1]);
            return next;
        }
        open.push((next, brackets[1], most));
        at + 1
    }
}

fn separate(out: &mut String) {
    if !out.ends_with(['{', '[']) && !out.ends_with("] ") {
        out.push(',');
    }
}

fn push_key(key: &str, out: &mut String) {
    if !key.is_empty() {
        out.push_str(key);
        out.push(':');
    }
}
