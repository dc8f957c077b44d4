//! The sections of what a tool printed: which heading and which names of columns its lines stand under.
//!
//! Invariant: the blocks of a text are all of it, in order, and each line of a block stands under what its
//! section says. Called by [`crate::slice`].

use std::ops::Range;
use std::rc::Rc;

use crate::columns::{self, TableHead};
use crate::section::{LineSections, SectionLine, TextSection};
use crate::settings::{self, SettingsForm};

/// Lines of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextBlock {
    pub(crate) range: Range<usize>,
    pub(crate) section: Option<Rc<TextSection>>,
    /// Whether these are its heading or its names of columns, which stand wherever one of its lines does.
    pub(crate) is_head: bool,
}

/// The blocks of a text. `output` says that a tool printed it: of what people and models write only tables
/// have sections.
pub(crate) fn blocks(text: &str, output: bool) -> Vec<TextBlock> {
    let lines: Vec<SectionLine<'_>> = lines(text);
    let form = if output { settings::form(&lines) } else { None };
    let of_lines = match form {
        Some(SettingsForm::Sections) => settings::sections(&lines),
        Some(SettingsForm::Nested) => settings::nested(&lines),
        None => tables(&lines, output),
    };
    let mut out: Vec<TextBlock> = Vec::new();
    for (at, (section, is_head)) in of_lines.into_iter().enumerate() {
        let end = lines.get(at + 1).map_or(text.len(), |next| next.start);
        match out.last_mut() {
            Some(last) if last.section == section && last.is_head == is_head => {
                last.range.end = end
            }
            _ => out.push(TextBlock { range: lines[at].start..end, section, is_head }),
        }
    }
    if out.is_empty() {
        out.push(TextBlock { range: 0..text.len(), ..TextBlock::default() });
    }
    out
}

fn lines(text: &str) -> Vec<SectionLine<'_>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let at = start;
        start += line.len();
        SectionLine { start: at, text: unnumbered(line.trim_end()) }
    });
    lines.collect()
}

/// A line without the number that a reader put in front.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['\t', '→']) {
        Some(rest) if line.trim_start().len() > rest.len() + 1 => rest,
        _ => line,
    }
}

/// Sections by headings and tables.
fn tables(lines: &[SectionLine<'_>], output: bool) -> LineSections {
    let mut out: LineSections = Vec::with_capacity(lines.len());
    let mut heading = "";
    let mut known: Option<Rc<TextSection>> = None;
    let mut at = 0;
    while at < lines.len() {
        let text = lines[at].text.trim();
        let level = level(text);
        // One `#` is as often a comment.
        if level > 1 || level == 1 && heading.is_empty() && has_table(&lines[at..]) {
            heading = text;
            let own = output.then(|| section(&mut known, text, "", false)).flatten();
            // A heading of tables stands with their rows alone.
            out.push((own, output && has_table(&lines[at..])));
            at += 1;
            continue;
        }
        if let Some(TableHead { header, rows }) = columns::table(&lines[at..]) {
            let header = lines[at + header].text.trim();
            let own = |line| (section(&mut known, heading, header, true), line < rows.start);
            out.extend((0..rows.end).map(own));
            at += rows.end;
            continue;
        }
        let is_leaning = output && is_field(text);
        let own = output && !heading.is_empty();
        out.push((own.then(|| section(&mut known, heading, "", is_leaning)).flatten(), false));
        at += 1;
    }
    out
}

/// The section with this heading and header, that of the line before where it is the same.
fn section(
    known: &mut Option<Rc<TextSection>>,
    heading: &str,
    header: &str,
    is_leaning: bool,
) -> Option<Rc<TextSection>> {
    let is_same = |it: &Rc<TextSection>| {
        it.heading == heading && it.header == header && it.is_leaning == is_leaning
    };
    if !known.as_ref().is_some_and(is_same) {
        let (heading, header) = (heading.to_owned(), header.to_owned());
        *known = Some(Rc::new(TextSection { heading, header, is_leaning }));
    }
    known.clone()
}

/// How deep a heading stands; 0 where a line is none.
fn level(line: &str) -> usize {
    let signs = line.bytes().take_while(|byte| *byte == b'#').count();
    let is_one = signs <= 6 && line[signs..].starts_with(' ');
    if is_one { signs } else { 0 }
}

/// Whether a table follows before the next heading.
fn has_table(lines: &[SectionLine<'_>]) -> bool {
    let own = lines.iter().skip(1).take_while(|line| level(line.text.trim()) == 0).count();
    (1..=own).any(|at| at < lines.len() && columns::table(&lines[at..]).is_some())
}

/// Whether a line says the value of something in a few words: `Cancellation: free until noon`.
fn is_field(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let named = line.split_once(':').is_some_and(|(key, value)| {
        !key.is_empty() && key.split_whitespace().count() <= 3 && value.starts_with(' ')
    });
    named && line.split_whitespace().count() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of what a tool printed: heading, header and lines of each.
    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let blocks = blocks(text, true);
        assert_eq!(blocks.iter().map(|it| &text[it.range.clone()]).collect::<String>(), text);
        let told =
            blocks.iter().filter(|it| !it.is_head && !text[it.range.clone()].trim().is_empty());
        let told: Vec<_> = told
            .map(|it| {
                let (heading, header) = match &it.section {
                    Some(section) => (&*section.heading, &*section.header),
                    None => ("", ""),
                };
                (heading, header, text[it.range.clone()].trim())
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn rows_stand_under_their_heading_and_header() {
        let city = |name: &str| {
            format!(
                "## {name}\n\n| hotel | pets |\n|---|---|\n| Mar | no |\n| Sol | yes |\n\nCancellation: free\n\n"
            )
        };
        let header = "| hotel | pets |";
        check(
            &(city("Faro") + &city("Braga")),
            &[
                ("## Faro", header, "| Mar | no |\n| Sol | yes |"),
                ("## Faro", "", "Cancellation: free"),
                ("## Braga", header, "| Mar | no |\n| Sol | yes |"),
                ("## Braga", "", "Cancellation: free"),
            ],
        );
        check(
            " country | count\n---------+-------\n DE | 12\n FR | 7\n(2 rows)\n",
            &[("", "country | count", "DE | 12\n FR | 7"), ("", "", "(2 rows)")],
        );
        check(
            "sku;net;stock\nA-1;110.50;12\nA-2;118.50;0\nA-3;120.00;4\n",
            &[("", "sku;net;stock", "A-1;110.50;12\nA-2;118.50;0\nA-3;120.00;4")],
        );
        check(
            "NAME    READY   STATUS\nweb-1   1/1     Running\nweb-2   0/1     Pending\n\nDone.\n",
            &[
                ("", "NAME    READY   STATUS", "web-1   1/1     Running\nweb-2   0/1     Pending"),
                ("", "", "Done."),
            ],
        );
    }

    #[test]
    fn values_stand_below_the_line_in_brackets() {
        check(
            "mode = all\n[prod]\nport = 1\nssl = on\n[qa]\nport = 2\n",
            &[
                ("", "", "mode = all"),
                ("[prod]", "", "port = 1\nssl = on"),
                ("[qa]", "", "port = 2"),
            ],
        );
    }

    #[test]
    fn values_stand_below_the_keys_that_lead_to_them() {
        check(
            "services:\n  api:\n    image: a:1\n    env:\n      TTL: 5\n  web:\n    image: b:2\nversion: 3\n",
            &[
                ("services.api:", "", "image: a:1"),
                ("services.api.env:", "", "TTL: 5"),
                ("services.web:", "", "image: b:2"),
                ("", "", "version: 3"),
            ],
        );
        check(
            "jobs:\n- name: a\n  run: b\n  tags:\n  - x\n  - y\n- name: c\n  run: d\n",
            &[
                ("jobs:", "", "- name: a"),
                ("jobs[name: a]:", "", "run: b"),
                ("jobs[name: a].tags:", "", "- x\n  - y"),
                ("jobs:", "", "- name: c"),
                ("jobs[name: c]:", "", "run: d"),
            ],
        );
    }

    #[test]
    fn what_has_no_sections_is_one_block() {
        for text in [
            "# a comment\nlet a = 1;\nlet b = 2;\n",
            "error: it failed; see above, please\n  at a, b\n",
            "def f():\n    try:\n        return 1\n    finally:\n        g()\n",
            "",
        ] {
            let found = blocks(text, true);
            assert!(matches!(&found[..], [TextBlock { section: None, .. }]), "{found:?}");
        }
    }
}
