//! Settings in plain text: values below a line in brackets, and values below keys that are set in.
//!
//! Invariant: a line stands under the section or the keys that it is read under, and no others. Called by
//! [`crate::sections`].

use std::rc::Rc;

use crate::row_object;
use crate::section::{LineSections, SectionLine, TextSection};

/// From this share of the lines on that settings have, a text holds settings.
const SHARE: f64 = 0.8;

/// In which form settings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsForm {
    /// Below lines in brackets.
    Sections,
    /// Below keys, set in.
    Nested,
}

/// The form of a text that holds settings.
pub(crate) fn form(lines: &[SectionLine<'_>]) -> Option<SettingsForm> {
    let all: Vec<&str> = lines.iter().map(|line| line.text).filter(|it| is_said(it)).collect();
    let is_mostly = |is_it: &dyn Fn(&str) -> bool| {
        let own = all.iter().filter(|line| is_it(line)).count();
        own as f64 >= all.len() as f64 * SHARE
    };
    let opened = all.iter().filter(|line| bracketed(line).is_some()).count();
    if opened > 1 && is_mostly(&|line| bracketed(line).is_some() || is_set(line)) {
        return Some(SettingsForm::Sections);
    }
    let opened = all.iter().filter(|line| opens(line)).count();
    let is_field = |line: &str| key(line).is_some() || line.trim_start().starts_with("- ");
    let nested = opened > 0 && all.len() > 3 && is_mostly(&is_field);
    nested.then_some(SettingsForm::Nested)
}

/// The sections of lines below others in brackets.
pub(crate) fn sections(lines: &[SectionLine<'_>]) -> LineSections {
    let mut known: Option<Rc<TextSection>> = None;
    let line = |line: &SectionLine<'_>| {
        let opened = bracketed(line.text);
        if let Some(heading) = opened {
            known = Some(new(heading));
        }
        (known.clone(), opened.is_some())
    };
    lines.iter().map(line).collect()
}

/// The sections of lines below keys.
pub(crate) fn nested(lines: &[SectionLine<'_>]) -> LineSections {
    let mut out: LineSections = Vec::with_capacity(lines.len());
    // The keys that are open: how far each is set in, and the path to what is below it.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut known: Option<Rc<TextSection>> = None;
    for (at, line) in lines.iter().enumerate() {
        if !is_said(line.text) {
            out.push((known.clone(), false));
            continue;
        }
        let text = line.text.trim_start();
        let depth = line.text.len() - text.len();
        let is_item = text.starts_with("- ");
        // The items of a list may be as deep as its key; each closes the one before it.
        open.retain(|(of, path)| *of < depth || *of == depth && is_item && !path.ends_with(']'));
        let path = open.last().map(|(_, path)| path.clone()).unwrap_or_default();
        let goes_on = |deeper: usize| {
            let next = lines[at + 1..].iter().find(|next| is_said(next.text));
            next.is_some_and(|next| next.text.len() - next.text.trim_start().len() >= deeper)
        };
        if is_item && key(text).is_some() && goes_on(depth + 2) {
            let item = text.trim_start_matches("- ").trim();
            open.push((depth, format!("{path}[{item}]")));
            out.push((Some(new(&format!("{path}:"))), false));
        } else if opens(line.text) {
            let name = text.trim_end().trim_end_matches(':').trim_matches('"');
            let below = row_object::join(&path, name);
            known = Some(new(&format!("{below}:")));
            open.push((depth, below));
            out.push((known.clone(), true));
        } else {
            let heading = if path.is_empty() { String::new() } else { format!("{path}:") };
            if known.as_ref().is_none_or(|known| known.heading != heading) {
                known = Some(new(&heading));
            }
            out.push((known.clone(), false));
        }
    }
    out
}

fn new(heading: &str) -> Rc<TextSection> {
    let (heading, header) = (heading.trim().to_owned(), String::new());
    Rc::new(TextSection { heading, header, is_leaning: true })
}

/// Whether a line says anything but a comment.
fn is_said(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with(['#', ';']) && line != "---"
}

/// A line in brackets.
fn bracketed(line: &str) -> Option<&str> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_name = |c: char| c.is_alphanumeric() || " .:\"'_-/[]".contains(c);
    (inner.contains(char::is_alphanumeric) && inner.chars().all(is_name)).then_some(line)
}

/// Whether a line gives a name a value.
fn is_set(line: &str) -> bool {
    let named = line.split_once(['=', ':']).map(|(name, _)| name.trim());
    named.is_some_and(|name| !name.is_empty() && name.split_whitespace().count() <= 2)
        || line.starts_with([' ', '\t'])
}

/// The key of a line of nested settings.
fn key(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("- ");
    let (key, rest) = line.split_once(':')?;
    let is_key = |c: char| c.is_alphanumeric() || "_-./\"'$@*".contains(c);
    let ends = rest.is_empty() || rest.starts_with(' ');
    (ends && !key.is_empty() && key.chars().all(is_key)).then_some(key)
}

/// Whether a line is a key with nothing behind it.
fn opens(line: &str) -> bool {
    let text = line.trim();
    text.ends_with(':') && !text.starts_with("- ") && key(text).is_some()
}
