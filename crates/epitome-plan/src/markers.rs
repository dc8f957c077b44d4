//! Markers of goals in what a model says: the built-in grammar (RULES 57).
//!
//! Invariant: one marker a line, nothing of a line that only resembles one, nothing inside a code
//! fence. Pure and linear. Called by the built-in policy; another policy may read otherwise.

use epitome_kernel::types::hook::{Found, FoundKind};

/// The states of a milestone, each with its word.
const MILESTONE: [(&str, &str); 4] = [
    ("COMPLETED", "completed"),
    ("IN PROGRESS", "in_progress"),
    ("IN-PROGRESS", "in_progress"),
    ("PENDING", "pending"),
];
/// Those of a decision.
const DECISION: [(&str, &str); 2] = [("LOCKED", "locked"), ("ARCHITECTURE", "architecture")];
/// What becomes of a file.
const ARTIFACT: [(&str, &str); 3] =
    [("Created", "created"), ("Modified", "modified"), ("Deleted", "deleted")];

/// The words that markers begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerWords {
    /// Sets a goal.
    pub goal: String,
    /// Names a step on the way, and its state.
    pub checkpoint: String,
    /// Names a decision.
    pub decision: String,
    /// Names what became of a file.
    pub artifact: String,
    /// Names what is to be done next.
    pub next: String,
}

impl Default for MarkerWords {
    fn default() -> Self {
        let [goal, checkpoint, decision, artifact, next] =
            ["[GOAL]", "[CHECKPOINT]", "[DECISION]", "[ARTIFACT]", "[NEXT]"].map(str::to_owned);
        Self { goal, checkpoint, decision, artifact, next }
    }
}

impl MarkerWords {
    /// Each word, with what it is about. A word that begins like another one stands before it.
    pub fn kinds(&self) -> Vec<(&str, FoundKind)> {
        let mut kinds = vec![
            (&*self.goal, FoundKind::Goal),
            (&*self.checkpoint, FoundKind::Milestone),
            (&*self.decision, FoundKind::Decision),
            (&*self.artifact, FoundKind::Artifact),
            (&*self.next, FoundKind::Next),
        ];
        kinds.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        kinds
    }
}

/// What the markers of a text say, in their order.
pub fn markers(text: &str, words: &MarkerWords) -> Vec<Found> {
    let words = words.kinds();
    let (mut found, mut fence) = (Vec::new(), None::<CodeFence>);
    for line in text.lines() {
        match fence {
            Some(open) if open.closes(line) => fence = None,
            Some(_) => {}
            None => match opens(line) {
                Some(open) => fence = Some(open),
                None => found.extend(marker(line, &words)),
            },
        }
    }
    found
}

/// What opens a block of code.
#[derive(Clone, Copy)]
struct CodeFence {
    mark: char,
    /// How often the mark stands there.
    length: usize,
}

impl CodeFence {
    /// Whether a line closes the block.
    fn closes(self, line: &str) -> bool {
        fence(line).is_some_and(|(closing, rest)| {
            closing.mark == self.mark && closing.length >= self.length && rest.trim().is_empty()
        })
    }
}

/// The fence that a line begins with, and what stands behind it.
fn fence(line: &str) -> Option<(CodeFence, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3).then_some((CodeFence { mark, length }, rest))
}

/// The fence that a line opens. Behind backticks there is no other backtick: that would be a piece
/// of code in a sentence.
fn opens(line: &str) -> Option<CodeFence> {
    let (open, info) = fence(line)?;
    (open.mark != '`' || !info.contains('`')).then_some(open)
}

/// What a line outside of fences says, if it is a marker. One that is indented by more than three
/// spaces is code.
fn marker(line: &str, words: &[(&str, FoundKind)]) -> Option<Found> {
    let begins = line.trim_start_matches(' ');
    if line.len() - begins.len() > 3 {
        return None;
    }
    let behind = |(word, kind): &(&str, FoundKind)| {
        let rest = begins.strip_prefix(word)?;
        rest.starts_with(char::is_whitespace).then_some((*kind, rest))
    };
    let (kind, rest) = words.iter().find_map(behind)?;
    let rest = rest.trim_end();
    let (kind, text, state) = match kind {
        FoundKind::Goal => (FoundKind::Goal, rest, None),
        FoundKind::Milestone => {
            let (text, state) = stated(rest, &MILESTONE)?;
            (FoundKind::Milestone, text, Some(state))
        }
        FoundKind::Decision => match stated(rest, &DECISION) {
            Some((text, state)) => (FoundKind::Decision, text, Some(state)),
            None => (FoundKind::Decision, rest, None),
        },
        FoundKind::Artifact => {
            let (change, path) = rest.trim_start().split_once(char::is_whitespace)?;
            (FoundKind::Artifact, unquoted(path.trim_start()), Some(word(change, &ARTIFACT)?))
        }
        FoundKind::Next => (FoundKind::Next, rest, None),
    };
    let (text, state) = (text.trim(), state.map(str::to_owned));
    (!text.is_empty()).then(|| Found { kind, text: text.to_owned(), state })
}

/// A text that ends with ` - STATE`, and the state's word.
fn stated<'t>(text: &'t str, states: &[(&str, &'static str)]) -> Option<(&'t str, &'static str)> {
    let (text, state) = text.rsplit_once(" - ")?;
    Some((text, word(state.trim_start(), states)?))
}

/// The word of a state, whatever its case.
fn word(state: &str, states: &[(&str, &'static str)]) -> Option<&'static str> {
    let known = states.iter().find(|(name, _)| name.eq_ignore_ascii_case(state));
    known.map(|(_, word)| *word)
}

/// A path without the backticks around it.
fn unquoted(path: &str) -> &str {
    path.strip_prefix('`').and_then(|path| path.strip_suffix('`')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> Vec<(String, String, Option<String>)> {
        let told = |found: Found| (found.kind.word().to_owned(), found.text, found.state);
        markers(text, &MarkerWords::default()).into_iter().map(told).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, Option<&str>)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(kind, text, state)| {
                ((*kind).to_owned(), (*text).to_owned(), state.map(str::to_owned))
            })
            .collect();
        assert_eq!(told(text), expected, "{text}");
    }

    /// RULES 57: "Markers in model output, one a line".
    #[test]
    fn every_marker_is_read() {
        check(
            "I begin.\n[GOAL] Ship the importer\n[CHECKPOINT] parser - COMPLETED\n\
             [CHECKPOINT] writer - IN PROGRESS\r\n[CHECKPOINT] reader - IN-PROGRESS\n\
             [CHECKPOINT] manual - PENDING\n[DECISION] Use SQLite\n[DECISION] No network - LOCKED\n\
             [DECISION] Append-only rows - ARCHITECTURE\n[ARTIFACT] Created src/a b.rs\n\
             [ARTIFACT] Modified `src/c.rs`\n[ARTIFACT] Deleted d.rs\n   [NEXT] ask for a review \n\
             Done.",
            &[
                ("goal", "Ship the importer", None),
                ("milestone", "parser", Some("completed")),
                ("milestone", "writer", Some("in_progress")),
                ("milestone", "reader", Some("in_progress")),
                ("milestone", "manual", Some("pending")),
                ("decision", "Use SQLite", None),
                ("decision", "No network", Some("locked")),
                ("decision", "Append-only rows", Some("architecture")),
                ("artifact", "src/a b.rs", Some("created")),
                ("artifact", "src/c.rs", Some("modified")),
                ("artifact", "d.rs", Some("deleted")),
                ("next", "ask for a review", None),
            ],
        );
    }

    #[test]
    fn a_team_may_say_other_words() {
        let words = MarkerWords {
            goal: "## Goal:".to_owned(),
            next: "## Goal: next:".to_owned(),
            ..MarkerWords::default()
        };
        let text = "## Goal: Ship it\n## Goal: next: tests\n[GOAL] no\n[DECISION] Tabs\n## Goal:x";
        let found: Vec<_> =
            markers(text, &words).into_iter().map(|it| (it.kind, it.text)).collect();
        let expected = [
            (FoundKind::Goal, "Ship it"),
            (FoundKind::Next, "tests"),
            (FoundKind::Decision, "Tabs"),
        ];
        assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    /// RULES 57: "Case of the state does not matter".
    #[test]
    fn the_case_of_a_state_does_not_matter() {
        check("[CHECKPOINT] a - In Progress", &[("milestone", "a", Some("in_progress"))]);
        check("[CHECKPOINT] a - b - completed", &[("milestone", "a - b", Some("completed"))]);
        check("[DECISION] a - Locked", &[("decision", "a", Some("locked"))]);
        check("[ARTIFACT] DELETED x", &[("artifact", "x", Some("deleted"))]);
    }

    /// RULES 57: "a line that only resembles a marker is left alone".
    #[test]
    fn a_line_that_only_resembles_a_marker_is_left_alone() {
        for line in [
            "[GOAL]",
            "[GOAL] ",
            "[GOAL]text",
            "[GOAL]: text",
            "[GOAL](https://goal.test)",
            "[goal] text",
            "[GOALS] text",
            "[ GOAL ] text",
            "- [GOAL] text",
            "> [GOAL] text",
            "**[GOAL]** text",
            "`[GOAL] text`",
            "See [GOAL] text",
            "    [GOAL] indented code",
            "\t[GOAL] indented code",
            "[CHECKPOINT] no state",
            "[CHECKPOINT] a - DONE",
            "[CHECKPOINT] a — COMPLETED",
            "[CHECKPOINT] a -COMPLETED",
            "[CHECKPOINT] - COMPLETED",
            "[CHECKPOINT] COMPLETED",
            "[DECISION] - LOCKED",
            "[ARTIFACT] Created",
            "[ARTIFACT] Created ``",
            "[ARTIFACT] Renamed x",
            "[ARTIFACT] src/x.rs",
            "[NEXT]\u{200b}x",
            "[NEXT",
        ] {
            check(line, &[]);
        }
        // What is no state belongs to the decision.
        check("[DECISION] Tabs - not spaces", &[("decision", "Tabs - not spaces", None)]);
    }

    /// RULES 57: "text inside code fences is not parsed".
    #[test]
    fn fences_hide_what_they_hold() {
        let goal = [("goal", "real", None)];
        check("```\n[GOAL] a\n```\n[GOAL] real", &goal);
        check("~~~ md\n[GOAL] a\n```\n[GOAL] b\n~~~\n[GOAL] real", &goal);
        check("````\n[GOAL] a\n```\n[GOAL] b\n`````  \n[GOAL] real", &goal);
        check("```\n[GOAL] a\n``` no end\n[GOAL] b\n```\n[GOAL] real", &goal);
        check("1. so:\n\n   ```sh\n[GOAL] a\n   ```\n[GOAL] real", &goal);
        // One that is never closed holds all the rest.
        check("[GOAL] real\n```\n[GOAL] a\n~~~\n[NEXT] b", &goal);
        check("[GOAL] real\n~~~\n[GOAL] a", &goal);
        // A piece of code in a sentence, and what is too short, are no fences.
        check("```a``` is code\n[GOAL] real", &goal);
        check("``\n[GOAL] real\n``", &goal);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Any text is read, and nothing is made up: what is found stands in it.
        #[test]
        fn any_text_is_read(text in "(\\PC|\\[(GOAL|NEXT|DECISION|CHECKPOINT)\\] |[ \n\r\t`~-])*") {
            for found in markers(&text, &MarkerWords::default()) {
                prop_assert!(text.contains(&found.text) && !found.text.is_empty());
                prop_assert!(!found.text.contains('\n'));
            }
        }

        /// Whatever stands in a fence yields nothing, closed or not.
        #[test]
        fn what_is_fenced_yields_nothing(
            inner in prop::collection::vec(
                prop_oneof![
                    "\\[(GOAL|NEXT|DECISION)\\] [a-z]{1,5}",
                    "~~~~?",
                    "``",
                    "\\PC{0,8}",
                ],
                0..8,
            ),
            closed in any::<bool>(),
        ) {
            let inner: Vec<String> =
                inner.into_iter().filter(|line| !line.contains("```")).collect();
            let end = if closed { "\n```\n[NEXT] seen" } else { "" };
            let text = format!("```text\n{}{end}", inner.join("\n"));
            let found = markers(&text, &MarkerWords::default());
            let seen = if closed { vec![("next", "seen")] } else { Vec::new() };
            let found: Vec<_> =
                found.iter().map(|found| (found.kind.word(), found.text.as_str())).collect();
            prop_assert_eq!(found, seen);
        }
    }
}
