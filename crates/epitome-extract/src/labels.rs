//! How an extract names who speaks, and what such names say where an extract comes back.
//!
//! A client that keeps nothing but what it was given sends an earlier extract as a message of its user's.
//! Invariant: the blocks of such a text are in its order, none touches a label of another, and what stands
//! before the first and behind the last is its sender's own. Called by whoever writes or cuts texts.

use std::ops::Range;

use epitome_kernel::types::Speaker;

use crate::split::is_marker;

const SPEAKERS: [Speaker; 4] = [Speaker::Human, Speaker::Model, Speaker::Tool, Speaker::Harness];

/// What stands before the words of somebody.
pub(crate) fn label(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Human => "User: ",
        Speaker::Model => "Assistant: ",
        Speaker::Tool => "Tool: ",
        Speaker::Harness => "Note: ",
    }
}

/// Words of one speaker in an extract that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetoldBlock<'t> {
    /// Where its label begins.
    pub(crate) start: usize,
    /// The words, without the label.
    pub(crate) words: Range<usize>,
    /// Whose they are.
    pub(crate) speaker: Speaker,
    /// The call that they are the result of, where the label says so.
    pub(crate) call: Option<&'t str>,
}

/// The words of each speaker in a text that is an extract; none where it is no extract: it opens with a
/// label, below a line in brackets or with those of others behind it.
pub(crate) fn retold(text: &str) -> Vec<RetoldBlock<'_>> {
    let mut out: Vec<RetoldBlock<'_>> = Vec::new();
    let (mut end, mut is_headed, mut is_open, mut is_apart) = (0, false, true, false);
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let said = line.trim_end();
        let is_bracket = said.starts_with('[') && said.ends_with(']') && !is_marker(said);
        if out.is_empty() {
            match LineLabel::from_line(said) {
                Some(label) => out.push(label.block(start, end)),
                None if is_bracket && !is_headed => is_headed = true,
                None if said.is_empty() => {}
                None => return Vec::new(),
            }
            continue;
        }
        // What a client states beside an extract stands apart under a heading of its own.
        is_open &= !(is_apart && is_bracket);
        is_apart = said.is_empty();
        if !is_open {
            break;
        }
        match (LineLabel::from_line(said), out.last_mut()) {
            (Some(label), _) => out.push(label.block(start, end)),
            (None, Some(last)) => last.words.end = end,
            (None, None) => {}
        }
    }
    let is_talk = out.iter().any(|block| block.speaker != out[0].speaker);
    if is_headed || is_talk { out } else { Vec::new() }
}

/// The label that a line opens with.
struct LineLabel<'t> {
    length: usize,
    speaker: Speaker,
    call: Option<&'t str>,
}

impl<'t> LineLabel<'t> {
    fn from_line(line: &'t str) -> Option<Self> {
        SPEAKERS.into_iter().find_map(|speaker| {
            let name = label(speaker).trim_end();
            if line == name || line.starts_with(label(speaker)) {
                let length = label(speaker).len().min(line.len());
                return Some(Self { length, speaker, call: None });
            }
            let call = line.strip_prefix(name.trim_end_matches(':'))?.strip_prefix(" (")?;
            let call = call.strip_suffix("):").filter(|_| speaker == Speaker::Tool)?;
            Some(Self { length: line.len(), speaker, call: Some(call) })
        })
    }

    fn block(self, start: usize, end: usize) -> RetoldBlock<'t> {
        let Self { length, speaker, call } = self;
        RetoldBlock { start, words: start + length..end, speaker, call }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Speaker, Option<&str>, &str)]) {
        let found: Vec<_> = retold(text)
            .into_iter()
            .map(|it| (it.speaker, it.call, text[it.words].trim()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_extract_tells_whose_words_it_holds() {
        check(
            "[Earlier conversation, shortened]\nUser: Never push.\nAssistant: read(path a.rs)\n\
             Tool (read a.rs):\nlet a = 1;\nlet b = 2;\nTool: Done.\nUser:\n[GOAL] Ship it.\nGo on.\n\n\
             [State of the work]\nAsked for:\n- Never push.",
            &[
                (Speaker::Human, None, "Never push."),
                (Speaker::Model, None, "read(path a.rs)"),
                (Speaker::Tool, Some("read a.rs"), "let a = 1;\nlet b = 2;"),
                (Speaker::Tool, None, "Done."),
                (Speaker::Human, None, "[GOAL] Ship it.\nGo on."),
            ],
        );
        let one = "[Shortened]\nUser: Never push.\nNor pull.";
        check(one, &[(Speaker::Human, None, "Never push.\nNor pull.")]);
    }

    #[test]
    fn what_people_type_is_no_extract() {
        check("Never push.\nUser: it is broken\nAssistant: Ok.", &[]);
        check("Note: never push.\nNote: always pull.", &[]);
        check("User: it is broken", &[]);
        check("[a]\n[b]\nUser: it is broken", &[]);
        check("", &[]);
    }

    proptest! {
        #[test]
        fn blocks_are_apart_and_in_order(
            text in "(User: |Tool: |Tool \\(a b\\):|Assistant:|\\[x\\]|a|ü|\n| ){0,40}"
        ) {
            let mut end = 0;
            for block in retold(&text) {
                prop_assert!(end <= block.start && block.start < block.words.end);
                prop_assert!(text.get(block.words.clone()).is_some());
                end = block.words.end;
            }
            prop_assert!(end <= text.len());
        }
    }
}
