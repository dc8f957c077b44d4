//! JSON with short strings, lists and depths.
//!
//! Invariant: what is said is the text's own, and each value that is not is a range of it. Called
//! by the digest.

use std::ops::Range;

use epitome_plugin::text::outline::{clip, number};
use epitome_plugin::text::tape::{JsonKind, JsonTape};

/// How much of a JSON text is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    /// Bytes of a string, about.
    string: usize,
    /// Values of a list.
    values: usize,
    /// Fields of an object.
    keys: usize,
    /// How deep values stand in one another.
    depth: usize,
}

/// From the longest to the shortest.
pub(crate) const SHORT: [Short; 8] = [
    short(usize::MAX, usize::MAX, usize::MAX, 64),
    short(1000, 100, 400, 24),
    short(300, 40, 200, 16),
    short(160, 16, 100, 12),
    short(100, 8, 60, 10),
    short(80, 4, 40, 8),
    short(60, 2, 20, 6),
    short(60, 2, 12, 3),
];

const fn short(string: usize, values: usize, keys: usize, depth: usize) -> Short {
    Short { string, values, keys, depth }
}

/// Writes a text again with short strings, lists and depths.
pub(crate) struct Shorter<'t, 'a> {
    tape: &'t JsonTape<'a>,
    short: &'t Short,
    /// A value that is said elsewhere.
    table: Option<usize>,
    /// What was not said.
    pub(crate) left: Vec<Range<usize>>,
}

impl<'t, 'a> Shorter<'t, 'a> {
    pub(crate) fn new(tape: &'t JsonTape<'a>, short: &'t Short, table: Option<usize>) -> Self {
        Self { tape, short, table, left: Vec::new() }
    }

    /// The text; `None` where it grows over `most` bytes.
    pub(crate) fn write(&mut self, most: usize) -> Option<String> {
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
        kind: JsonKind,
        open: &mut Vec<(usize, char, usize)>,
        out: &mut String,
    ) -> usize {
        let (next, count) = (self.tape.next(at), self.tape.node(at).count as usize);
        if self.table == Some(at) {
            out.push_str("[… the table]");
            return next;
        }
        let (brackets, noun, most) = match kind {
            JsonKind::Object => (['{', '}'], "keys", self.short.keys),
            JsonKind::Array => (['[', ']'], "values", self.short.values),
            JsonKind::String | JsonKind::Scalar => {
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
