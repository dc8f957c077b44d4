//! The lines of a replay: what happened, turn by turn.
//!
//! Invariant: one line for each event, within the columns there are, colours not counted; a
//! warning is said once for as long as it lasts. Called by `replay`.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use epitome::types::hook::Drift;
use epitome::types::{Cause, Event, GoalAct, GoalChange, Happened, Skip, Stage};
use epitome_lab::Turn;

use crate::figure::{middle, percent};
use crate::text::{clipped, grouped, on_one_line, plain as harmless};

/// What is said beside an event; the reason stands at its end.
const ASIDE: AnsiColor = AnsiColor::BrightBlack;
/// Width of the turn that stands before each line.
const TURN: usize = 11;

/// What was told so far.
#[derive(Default)]
pub(crate) struct Told {
    /// Whether the stages of a compression are told, too.
    stages: bool,
    /// Whether the last turn was warned of.
    warned: bool,
}

impl Told {
    /// Nothing was told yet. Where people want to know more, the stages of a compression are told.
    pub(crate) fn new(stages: bool) -> Self {
        Self { stages, warned: false }
    }

    /// The lines of a turn.
    pub(super) fn lines(&mut self, turn: &Turn, columns: usize) -> Vec<String> {
        let told = self.news(&turn.events).into_iter();
        let refused = turn
            .refused
            .iter()
            .map(|reason| (AnsiColor::Red, format!("refused: {}", on_one_line(reason))));
        let shortened = |(color, text): (AnsiColor, String)| match color {
            ASIDE => (color, middle(&harmless(&text), columns.saturating_sub(TURN))),
            _ => (color, text),
        };
        let lines = told.chain(refused).map(shortened);
        lines.map(|(color, text)| line(turn.turn, color.on_default(), &text, columns)).collect()
    }

    /// What there is to tell of the events of one turn, in words.
    pub(crate) fn news(&mut self, events: &[Event]) -> Vec<(AnsiColor, String)> {
        let is_warning = |event: &Event| matches!(event.what, Happened::ContextWarning { .. });
        let warned = events.iter().any(is_warning);
        let is_news = |event: &&Event| !(self.warned && is_warning(event));
        // A snapshot before each compression is what people expect, and its other names say
        // nothing new.
        let stages = self.stages;
        let is_routine = |event: &&Event| {
            use Happened::*;
            let is_stage = matches!(event.what, CheckpointProgress { .. });
            is_stage && !stages
                || matches!(
                    event.what,
                    AutoSnapshotCreated { .. }
                        | AutoSummaryCreated { .. }
                        | Tier1Compressed(_)
                        | Tier2Compressed(_)
                        | Tier3Compressed(_)
                        | Tier4Compressed(_)
                        | Tier5Compressed(_)
                )
        };
        let told = events.iter().filter(|event| is_news(event) && !is_routine(event));
        let news = told.flat_map(|event| [Some(what(event)), writer(event, events)]);
        let news = news.flatten().collect();
        self.warned = warned;
        news
    }
}

/// The line of a turn in which nothing happened.
pub(crate) fn plain(turn: &Turn, columns: usize) -> String {
    let (raw, sent) = (grouped(turn.tokens_raw), grouped(turn.tokens_sent));
    let text = format!(
        "{raw} tokens, {sent} sent, {} of the limit",
        percent(turn.tokens_sent, turn.limit)
    );
    line(turn.turn, Style::new().dimmed(), &text, columns)
}

fn line(turn: usize, style: Style, text: &str, columns: usize) -> String {
    let turn = format!("turn {turn}");
    let text = clipped(&harmless(text), columns.saturating_sub(TURN));
    format!("{turn:TURN$}{style}{text}{style:#}")
}

fn what(event: &Event) -> (AnsiColor, String) {
    let [before, after] = event.tokens;
    match &event.what {
        Happened::Compressed { number, cause, must_keep, .. } => {
            let (cause, kept) = (reason(*cause), percent(after, before));
            let sizes = format!("{} → {} tokens, {kept} kept", grouped(before), grouped(after));
            let text = format!("compressed ({number}), {cause}: {sizes}; {must_keep}");
            (AnsiColor::Green, text)
        }
        Happened::CompressionSkipped { reason } => (
            AnsiColor::Yellow,
            format!("not compressed at {}: {}", grouped(before), skipped(*reason)),
        ),
        Happened::CheckpointProgress { stage, fraction } => {
            let done = (fraction * 100.0).round();
            (AnsiColor::White, format!("{}: {done} % of the compression", stage.word()))
        }
        // The next one wrote; it is no failure of the compression.
        Happened::CompressionError { stage: Stage::Summarisation, cause, .. } => {
            (ASIDE, on_one_line(cause))
        }
        Happened::CompressionError { stage, cause, remedy } => {
            let cause = on_one_line(cause);
            (AnsiColor::Red, format!("compression failed ({}): {cause}; {remedy}", stage.word()))
        }
        Happened::SnapshotCreated { id, .. } | Happened::AutoSnapshotCreated { id, .. } => {
            (AnsiColor::Cyan, format!("snapshot {}", clipped(id, 12)))
        }
        Happened::SnapshotError { cause } => {
            (AnsiColor::Yellow, format!("no snapshot: {}", on_one_line(cause)))
        }
        Happened::PluginError { plugin, cause, remedy } => {
            (AnsiColor::Red, format!("plugin `{plugin}`: {}; {remedy}", on_one_line(cause)))
        }
        Happened::WorkspaceError { cause, remedy } => {
            (AnsiColor::Yellow, format!("{}; {remedy}", on_one_line(cause)))
        }
        Happened::ContextWarning { percent } => {
            (AnsiColor::Yellow, format!("{percent} % of the limit in use"))
        }
        Happened::ToolResultOffloaded { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("offloaded", entry, tool, event.tokens))
        }
        Happened::ToolResultDigested { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("digested", entry, tool, event.tokens))
        }
        Happened::ToolInputTruncated { entry, tool, saved } => {
            let saved = grouped(*saved);
            (AnsiColor::Cyan, format!("input of {tool} in {entry} truncated: {saved} tokens saved"))
        }
        Happened::DriftDetected { policy, drift, .. } => {
            let Drift { trigger, intent, action } = drift;
            let drift = on_one_line(&format!("{trigger}: {action}; it is there for {intent}"));
            (AnsiColor::Yellow, format!("{policy}: {drift}"))
        }
        Happened::Recalled { query, sources, tokens } => {
            let (from, tokens) = (sources.join(", "), grouped(*tokens));
            (AnsiColor::Cyan, on_one_line(&format!("recalled {tokens} tokens of {from}: {query}")))
        }
        Happened::Handover { file, text } => {
            let from = file.as_deref().map_or_else(|| on_one_line(text), str::to_owned);
            (AnsiColor::Yellow, format!("better go on in a fresh session, from: {from}"))
        }
        Happened::WatermarkMoved { entry, tool, blocks, saved } => {
            let (blocks, saved) = (grouped(u64::from(*blocks)), grouped(*saved));
            let moved = format!("watermark at {entry} of {tool}");
            (AnsiColor::Green, format!("{moved}: {blocks} blocks left, {saved} tokens saved"))
        }
        Happened::Branched { at } => {
            (AnsiColor::Magenta, format!("history differs from {at} on: a branch"))
        }
        Happened::EpochChanged { epoch: Some(epoch) } => {
            (AnsiColor::Magenta, format!("compression {} in force again", clipped(epoch, 12)))
        }
        Happened::EpochChanged { epoch: None } => {
            (AnsiColor::Magenta, "compression taken back; none is in force".to_owned())
        }
        Happened::RolloverComplete { .. } => {
            (AnsiColor::Green, "started over: one checkpoint stands for all of it".to_owned())
        }
        Happened::StreamOverflowEmergency { total, limit, .. } => {
            let [total, limit] = [grouped(*total), grouped(*limit)];
            (AnsiColor::Yellow, format!("the answer grows out of the window: {total} of {limit}"))
        }
        Happened::PromptCut { sent, evaluated, remedy } => {
            let [sent, evaluated] = [grouped(*sent), grouped(*evaluated)];
            let read = format!("the server read {evaluated} of {sent} tokens: {remedy}");
            (AnsiColor::Red, on_one_line(&read))
        }
        Happened::LowReliability { score, advice, .. } => {
            let score = score.map_or_else(String::new, |score| format!(" ({score:.2})"));
            let advice = advice.as_deref().map_or_else(String::new, |advice| format!(": {advice}"));
            (AnsiColor::Yellow, format!("hardly to be relied on{score}{}", on_one_line(&advice)))
        }
        Happened::SummaryWrittenInBackground { checkpoint, model, size: [size, without] } => {
            let (id, [size, without]) = (clipped(checkpoint, 12), [*size, *without].map(grouped));
            (AnsiColor::Green, format!("{model} summed {id} up: {size} tokens, not {without}"))
        }
        Happened::CheckpointAged { checkpoint, levels: [from, to], saved } if from == to => {
            let (id, saved) = (clipped(checkpoint, 12), grouped(*saved));
            (AnsiColor::Green, format!("checkpoint {id} in the words of a model: {saved} saved"))
        }
        Happened::CheckpointAged { checkpoint, levels: [from, to], saved } => {
            let id = clipped(checkpoint, 12);
            let saved = grouped(*saved);
            (AnsiColor::Green, format!("checkpoint {id} aged, level {from} to {to}: {saved} saved"))
        }
        Happened::CheckpointMerged { checkpoint, merged, saved } => {
            let (id, count) = (clipped(checkpoint, 12), merged.len());
            let saved = grouped(*saved);
            (AnsiColor::Green, format!("checkpoint {id} stands for {count} others: {saved} saved"))
        }
        Happened::PolicyReloaded { policy, generation } => {
            (AnsiColor::Magenta, format!("{policy} changed: generation {generation} is in force"))
        }
        Happened::PolicyError { cause } => (AnsiColor::Red, on_one_line(cause)),
        Happened::ModelPassedOver { policy, ask, cause, next, .. } => {
            let cause = on_one_line(cause);
            (AnsiColor::Yellow, format!("{policy} asks `{ask}`: {cause}; `{next}` is asked"))
        }
        Happened::PolicyWarning { policy, text, .. } => {
            (AnsiColor::Yellow, format!("{policy}: {}", on_one_line(text)))
        }
        Happened::Pinned { entry, policy } => {
            (AnsiColor::Cyan, format!("{entry} pinned by {policy}"))
        }
        Happened::GoalUpdated { act, .. } => (AnsiColor::Cyan, on_one_line(&goal(act))),
        _ => (AnsiColor::White, "something else happened; `--json` has it".to_owned()),
    }
}

fn arrived(how: &str, entry: &str, tool: &str, [before, after]: [u64; 2]) -> String {
    let (before, after) = (grouped(before), grouped(after));
    format!("{how} {entry} of {tool}: {before} → {after} tokens")
}

/// Who wrote the summaries of a compression, where a model did or was to.
fn writer(event: &Event, all: &[Event]) -> Option<(AnsiColor, String)> {
    let Happened::Compressed { ops, .. } = &event.what else { return None };
    let models: BTreeSet<_> = ops.iter().filter_map(|op| op.model.as_deref()).collect();
    let gave_up = |event: &Event| {
        matches!(event.what, Happened::CompressionError { stage: Stage::Summarisation, .. })
    };
    let who = match models.is_empty() {
        true if all.iter().any(gave_up) => "summed up without a model".to_owned(),
        true => return None,
        false => format!("summed up by {}", models.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Some((ASIDE, who))
}

/// What became of a goal.
fn goal(act: &GoalAct) -> String {
    let which = act.goal.as_deref().unwrap_or("goal");
    match &act.change {
        GoalChange::Set { text, .. } => format!("{which} set: {text}"),
        GoalChange::Revise { text } => format!("{which} worded anew: {text}"),
        GoalChange::Prioritise { priority } => format!("{which}: {} priority", priority.word()),
        GoalChange::Milestone { text, state } => format!("milestone {}: {text}", state.word()),
        GoalChange::Decide { text, locked: true, .. } => format!("decided for good: {text}"),
        GoalChange::Decide { text, .. } => format!("decided: {text}"),
        GoalChange::Lock { decision } => format!("locked: {decision}"),
        GoalChange::Artifact { path, change } => format!("{} {path}", change.word()),
        GoalChange::Next { text } => format!("next: {text}"),
        GoalChange::Pause => format!("{which} paused"),
        GoalChange::Resume => format!("{which} resumed"),
        GoalChange::Complete => format!("{which} reached"),
        _ => format!("{which} changed; `--json` has it"),
    }
}

fn reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Soft => "soft",
        Cause::Hard => "hard",
        Cause::Manual => "asked for",
    }
}

fn skipped(reason: Skip) -> &'static str {
    match reason {
        Skip::NotNeeded => "within its bounds",
        Skip::NothingToCompress => "what could leave is pinned or held",
        Skip::NotSmaller => "it would not be smaller",
        Skip::Stalled => "it would free too little",
        Skip::Disabled => "the profile forbids it",
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use epitome::types::{Breakdown, MustKeep, OpReport, Role};

    use super::*;

    fn turn(events: Vec<(Happened, [u64; 2])>, refused: Option<&str>) -> Turn {
        let (session, at) = (String::new(), String::new());
        let event =
            |(what, tokens)| Event { session: session.clone(), at: at.clone(), tokens, what };
        Turn {
            turn: 7,
            role: Role::User,
            tokens_raw: 9000,
            tokens_sent: 3000,
            limit: 6000,
            prefix_kept: 1.0,
            prompt: None,
            status: None,
            events: events.into_iter().map(event).collect(),
            refused: refused.map(str::to_owned),
            by: Breakdown::default(),
        }
    }

    #[track_caller]
    fn check(told: &mut Told, turn: &Turn, columns: usize, expected: &[&str]) {
        let lines = told.lines(turn, columns);
        let lines: Vec<_> = lines.iter().map(|line| strip_str(line).to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_turn_says_what_happened_within_its_columns() {
        let compressed = Happened::Compressed {
            epoch: "x".into(),
            number: 3,
            cause: Cause::Hard,
            ops: vec![],
            must_keep: MustKeep { paths: [4, 5], recallable: 1, ..MustKeep::default() },
        };
        let digested =
            Happened::ToolResultDigested { entry: "e4".into(), tool: "sh\x1b[2J".into(), saved: 9 };
        let turn = turn(vec![(digested, [12, 3]), (compressed, [6123, 3000])], None);
        let full = [
            "turn 7     digested e4 of sh[2J: 12 → 3 tokens",
            "turn 7     compressed (3), hard: 6,123 → 3,000 tokens, 49 % kept; 4 of 5 paths; 1 recallable",
        ];
        check(&mut Told::default(), &turn, 100, &full);
        check(
            &mut Told::default(),
            &turn,
            30,
            &["turn 7     digested e4 of sh[…", "turn 7     compressed (3), ha…"],
        );
    }

    /// SPEC 4.1: progress is told to those who want to know more.
    #[test]
    fn stages_are_told_where_they_are_wanted() {
        let stage = Stage::Summarisation;
        let progress = Happened::CheckpointProgress { stage, fraction: stage.fraction() };
        let turn = turn(vec![(progress, [6123, 6123])], None);
        check(&mut Told::default(), &turn, 80, &[]);
        let line = "turn 7     summarisation: 50 % of the compression";
        check(&mut Told::new(true), &turn, 80, &[line]);
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
        let drifts = Happened::DriftDetected { policy, drift, level };
        let sources = vec![text("e3 read result"), text("e5")];
        let recalled = Happened::Recalled { query: text("the parser"), sources, tokens: 1200 };
        let truncated =
            Happened::ToolInputTruncated { entry: text("e4"), tool: text("Write"), saved: 900 };
        let file = Some(text(".epitome/handover/a.md"));
        let handed = Happened::Handover { file, text: text("all of it") };
        let all = [drifts, recalled, truncated, handed].map(|what| (what, [6123, 6123]));
        let expected = [
            "turn 7     tiered: a question: Which?; it is there for the parser",
            "turn 7     recalled 1,200 tokens of e3 read result, e5: the parser",
            "turn 7     input of Write in e4 truncated: 900 tokens saved",
            "turn 7     better go on in a fresh session, from: .epitome/handover/a.md",
        ];
        check(&mut Told::default(), &turn(all.into(), None), 100, &expected);
    }

    #[test]
    fn a_warning_is_said_once_for_as_long_as_it_lasts() {
        let warned = turn(vec![(Happened::ContextWarning { percent: 71 }, [71, 71])], None);
        let told = &mut Told::default();
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
            model: model.map(str::to_owned),
        };
        let compressed = |models: &[Option<&str>]| Happened::Compressed {
            epoch: String::new(),
            number: 1,
            cause: Cause::Soft,
            ops: models.iter().map(|model| op(*model)).collect(),
            must_keep: MustKeep::default(),
        };
        let gave_up = || Happened::CompressionError {
            stage: Stage::Summarisation,
            cause: "summariser 1 gave up: `a` wrote\nnothing".into(),
            remedy: "the next summariser was asked in its place".into(),
        };
        let done = "turn 7     compressed (1), soft: 9 → 3 tokens, 33 % kept";
        let check = |events: &[Happened], expected: &[&str]| {
            let events = events.iter().map(|what| (what.clone(), [9, 3])).collect();
            let lines = Told::default().lines(&turn(events, None), 70);
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
        let long = Happened::CompressionError { stage, cause: long.into(), remedy };
        let both = "turn 7     summariser 1 gave up: the mod…the provider refuses with 404";
        check(&[compressed(&[Some("b")]), long], &["turn 7     summed up by b", both]);
    }

    #[test]
    fn a_refusal_is_one_line() {
        let refused = turn(Vec::new(), Some("it cannot\nfit"));
        check(&mut Told::default(), &refused, 80, &["turn 7     refused: it cannot fit"]);
    }
}
