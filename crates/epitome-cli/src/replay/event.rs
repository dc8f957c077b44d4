//! The lines of a replay: what happened, turn by turn.
//!
//! Invariant: one line for each event, within the columns there are, colours not counted; what went
//! wrong is broken and never cut. Called by `replay`.

use anstyle::{AnsiColor, Style};
use epitome_lab::ReplayTurn;

use crate::events::{ASIDE, EventPrinter};
use crate::figure::{middle, percent};
use crate::text::{clipped, grouped, on_one_line, plain as harmless, wrapped};

/// Width of the turn that stands before each line.
const TURN: usize = 11;

/// The lines of a turn.
pub(super) fn lines(told: &mut EventPrinter, turn: &ReplayTurn, columns: usize) -> Vec<String> {
    let news = told.news(&turn.events).into_iter();
    let refused = turn
        .refused
        .iter()
        .map(|reason| (AnsiColor::Red, format!("refused: {}", on_one_line(reason))));
    let shown = |(color, text): (AnsiColor, String)| {
        let (text, room) = (harmless(&text), columns.saturating_sub(TURN));
        let text = match color {
            AnsiColor::Red | AnsiColor::Yellow => broken(&text, columns),
            ASIDE => middle(&text, room),
            _ => clipped(&text, room),
        };
        line(turn.turn, color.on_default(), &text)
    };
    news.chain(refused).map(shown).collect()
}

/// The line of a turn in which nothing happened.
pub(super) fn plain(turn: &ReplayTurn, columns: usize) -> String {
    let (raw, sent) = (grouped(turn.tokens_raw), grouped(turn.tokens_sent));
    let text = format!(
        "{raw} tokens, {sent} sent, {} of the limit",
        percent(turn.tokens_sent, turn.limit)
    );
    let text = clipped(&harmless(&text), columns.saturating_sub(TURN));
    line(turn.turn, Style::new().dimmed(), &text)
}

/// A text in as many lines as it takes, behind the turn.
fn broken(text: &str, columns: usize) -> String {
    let behind = " ".repeat(TURN);
    wrapped(&format!("{behind}{text}"), columns, TURN).split_off(TURN)
}

fn line(turn: usize, style: Style, text: &str) -> String {
    let turn = format!("turn {turn}");
    format!("{turn:TURN$}{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use epitome::types::hook::Drift;
    use epitome::types::{
        CompactionCause, Event, EventKind, FactCounts, OpReport, Role, Stage, TokenBreakdown,
    };

    use super::*;

    fn turn(events: Vec<(EventKind, [u64; 2])>, refused: Option<&str>) -> ReplayTurn {
        let (session, at) = (String::new(), String::new());
        let event =
            |(what, tokens)| Event { session: session.clone(), at: at.clone(), tokens, what };
        ReplayTurn {
            turn: 7,
            role: Role::User,
            tokens_raw: 9000,
            tokens_sent: 3000,
            limit: 6000,
            prefix_kept: 1.0,
            prompt: None,
            status: None,
            events: events.into_iter().map(event).collect(),
            must_keep: None,
            refused: refused.map(str::to_owned),
            by: TokenBreakdown::default(),
        }
    }

    #[track_caller]
    fn check(told: &mut EventPrinter, turn: &ReplayTurn, columns: usize, expected: &[&str]) {
        let lines = lines(told, turn, columns);
        let lines: Vec<_> = lines.iter().map(|line| strip_str(line).to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_turn_says_what_happened_within_its_columns() {
        let compressed = EventKind::Compressed {
            compaction: "x".into(),
            number: 3,
            cause: CompactionCause::Hard,
            ops: vec![],
            must_keep: FactCounts { paths: [4, 5], recallable: 1, ..FactCounts::default() },
        };
        let digested = EventKind::ToolResultDigested {
            entry: "e4".into(),
            tool: "sh\x1b[2J".into(),
            saved: 9,
        };
        let turn = turn(vec![(digested, [12, 3]), (compressed, [6123, 3000])], None);
        let full = [
            "turn 7     digested e4 of sh[2J: 12 → 3 tokens",
            "turn 7     compressed (3), hard: 6,123 → 3,000 tokens, 49 % kept; 4 of 5 paths; 1 recallable",
        ];
        check(&mut EventPrinter::default(), &turn, 100, &full);
        check(
            &mut EventPrinter::default(),
            &turn,
            30,
            &["turn 7     digested e4 of sh[…", "turn 7     compressed (3), ha…"],
        );
    }

    /// RULES 26: progress is told to those who want to know more.
    #[test]
    fn stages_are_told_where_they_are_wanted() {
        let stage = Stage::Summarisation;
        let progress = EventKind::CheckpointProgress { stage, fraction: stage.fraction() };
        let turn = turn(vec![(progress, [6123, 6123])], None);
        check(&mut EventPrinter::default(), &turn, 80, &[]);
        let line = "turn 7     summarisation: 50 % of the compression";
        check(&mut EventPrinter::new(true), &turn, 80, &[line]);
    }

    #[test]
    fn what_drifts_comes_back_and_is_handed_over_is_told() {
        let text = |text: &str| text.to_owned();
        let drift = Drift {
            trigger: text("a question"),
            intent: text("the parser"),
            action: text("Which?"),
        };
        let (policy, level) = (text("tiered"), None);
        let drifts = EventKind::DriftDetected { policy, drift, level };
        let sources = vec![text("e3 read result"), text("e5")];
        let recalled = EventKind::Recalled { query: text("the parser"), sources, tokens: 1200 };
        let truncated =
            EventKind::ToolInputTruncated { entry: text("e4"), tool: text("Write"), saved: 900 };
        let file = Some(text(".epitome/handover/a.md"));
        let handed = EventKind::Handover { file, text: text("all of it") };
        let all = [drifts, recalled, truncated, handed].map(|what| (what, [6123, 6123]));
        let expected = [
            "turn 7     tiered: a question: Which?; it is there for the parser",
            "turn 7     recalled 1,200 tokens of e3 read result, e5: the parser",
            "turn 7     input of Write in e4 truncated: 900 tokens saved",
            "turn 7     better go on in a fresh session, from: .epitome/handover/a.md",
        ];
        check(&mut EventPrinter::default(), &turn(all.into(), None), 100, &expected);
    }

    #[test]
    fn a_warning_is_said_once_for_as_long_as_it_lasts() {
        let warned = turn(vec![(EventKind::ContextWarning { percent: 71 }, [71, 71])], None);
        let told = &mut EventPrinter::default();
        let line = "turn 7     71 % of the limit in use";
        check(told, &warned, 80, &[line]);
        check(told, &warned, 80, &[]);
        check(told, &turn(Vec::new(), None), 80, &[]);
        check(told, &warned, 80, &[line]);
    }

    /// Why a model's summary was not taken, and whose was.
    #[test]
    fn who_sums_up_is_told_where_a_model_was_to() {
        let op = |model: Option<&str>| OpReport {
            op: "summarize",
            entries: Vec::new(),
            tokens_before: 9,
            tokens_after: 3,
            reason: String::new(),
            policy: String::new(),
            hook: String::new(),
            line: None,
            model: model.map(str::to_owned),
        };
        let compressed = |models: &[Option<&str>]| EventKind::Compressed {
            compaction: String::new(),
            number: 1,
            cause: CompactionCause::Soft,
            ops: models.iter().map(|model| op(*model)).collect(),
            must_keep: FactCounts::default(),
        };
        let gave_up = || EventKind::CompressionError {
            stage: Stage::Summarisation,
            cause: "summariser 1 gave up: `a` wrote\nnothing".into(),
            remedy: "the next summariser was asked in its place".into(),
        };
        let done = "turn 7     compressed (1), soft: 9 → 3 tokens, 33 % kept";
        let check = |events: &[EventKind], expected: &[&str]| {
            let events = events.iter().map(|what| (what.clone(), [9, 3])).collect();
            let lines = lines(&mut EventPrinter::default(), &turn(events, None), 70);
            let lines: Vec<_> = lines.iter().map(|line| strip_str(line).to_string()).collect();
            assert!(lines[0].starts_with(done), "{lines:?}");
            assert_eq!(lines[1..], *expected);
        };
        check(&[compressed(&[None])], &[]);
        check(&[compressed(&[Some("a"), None, Some("a")])], &["turn 7     summed up by a"]);
        let why = "turn 7     summariser 1 gave up: `a` wrote nothing";
        check(&[compressed(&[None]), gave_up()], &["turn 7     summed up without a model", why]);
        check(&[compressed(&[Some("b")]), gave_up()], &["turn 7     summed up by b", why]);
        let long = "summariser 1 gave up: the model `openai:m@http://127.0.0.1:9/v1` did not answer: \
                    the provider refuses with 404";
        let (stage, remedy) = (Stage::Summarisation, String::new());
        let long = EventKind::CompressionError { stage, cause: long.into(), remedy };
        let both = "turn 7     summariser 1 gave up: the mod…the provider refuses with 404";
        check(&[compressed(&[Some("b")]), long], &["turn 7     summed up by b", both]);
    }

    #[test]
    fn a_refusal_is_one_line() {
        let refused = turn(Vec::new(), Some("it cannot\nfit"));
        check(&mut EventPrinter::default(), &refused, 80, &["turn 7     refused: it cannot fit"]);
    }

    #[test]
    fn what_went_wrong_is_broken_and_never_cut() {
        let cause = "job.entry has no `tokns`; did you mean `tokens`?".into();
        let failed = turn(vec![(EventKind::PolicyError { cause }, [9, 9])], None);
        let lines = [
            "turn 7     job.entry has no `tokns`; did\n           you mean `tokens`?",
            "turn 7     job.entry has no `tokns`; did you mean `tokens`?",
        ];
        check(&mut EventPrinter::default(), &failed, 40, &lines[..1]);
        check(&mut EventPrinter::default(), &failed, usize::MAX, &lines[1..]);
    }
}
