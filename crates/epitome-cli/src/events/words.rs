//! Each event in a sentence.
//!
//! Invariant: one line, whatever an event quotes; who shows it takes out what a terminal would obey.

use std::collections::BTreeSet;

use anstyle::AnsiColor;
use epitome::types::hook::Drift;
use epitome::types::{CompactionCause, Event, EventKind, GoalAction, GoalChange, Stage};

use super::ASIDE;
use crate::figure::percent;
use crate::text::{clipped, grouped, on_one_line};

/// A sentence, and the colour it is shown in.
pub(super) type Sentence = (AnsiColor, String);

/// An event in a sentence.
pub(super) fn of(event: &Event) -> Sentence {
    let groups = [compression, checkpoint, tool, record, prompt, policy];
    let sentence = groups.into_iter().find_map(|group| group(event));
    sentence.unwrap_or((AnsiColor::White, "something else happened; `--json` has it".to_owned()))
}

/// What a compression came to.
fn compression(event: &Event) -> Option<Sentence> {
    let [before, after] = event.tokens;
    let sentence = match &event.what {
        EventKind::Compressed { number, cause: why, must_keep, .. } => {
            let (why, kept) = (cause(*why), percent(after, before));
            let sizes = format!("{} → {} tokens, {kept} kept", grouped(before), grouped(after));
            let text = format!("compressed ({number}), {why}: {sizes}; {must_keep}");
            (AnsiColor::Green, text)
        }
        EventKind::CompressionSkipped { reason } => (
            AnsiColor::Yellow,
            format!("not compressed at {}: {}", grouped(before), reason.in_words()),
        ),
        EventKind::CheckpointProgress { stage, fraction } => {
            let done = (fraction * 100.0).round();
            (AnsiColor::White, format!("{}: {done} % of the compression", stage.word()))
        }
        // The next one wrote; it is no failure of the compression.
        EventKind::CompressionError { stage: Stage::Summarisation, cause, .. } => {
            (ASIDE, on_one_line(cause))
        }
        EventKind::CompressionError { stage, cause, remedy } => {
            let cause = on_one_line(cause);
            (AnsiColor::Red, format!("compression failed ({}): {cause}; {remedy}", stage.word()))
        }
        EventKind::RolloverComplete { .. } => {
            (AnsiColor::Green, "started over: one checkpoint stands for all of it".to_owned())
        }
        _ => return None,
    };
    Some(sentence)
}

/// What became of a checkpoint.
fn checkpoint(event: &Event) -> Option<Sentence> {
    let sentence = match &event.what {
        EventKind::SummaryWrittenInBackground { checkpoint, model, size: [size, without] } => {
            let (id, [size, without]) = (clipped(checkpoint, 12), [*size, *without].map(grouped));
            (AnsiColor::Green, format!("{model} summed {id} up: {size} tokens, not {without}"))
        }
        EventKind::SummariesPaused { models, failures, passed, cause } => {
            let next = match passed {
                1 => "the next one is".to_owned(),
                _ => format!("the next {passed} are"),
            };
            let text = format!(
                "{models}: no summary came, {failures} times in a row; extracts stand in the place of \
                 summaries, and {next} not asked for: {}",
                on_one_line(cause)
            );
            (AnsiColor::Yellow, text)
        }
        EventKind::CheckpointAged { checkpoint, levels: [from, to], saved } if from == to => {
            let (id, saved) = (clipped(checkpoint, 12), grouped(*saved));
            (AnsiColor::Green, format!("checkpoint {id} in the words of a model: {saved} saved"))
        }
        EventKind::CheckpointAged { checkpoint, levels: [from, to], saved } => {
            let id = clipped(checkpoint, 12);
            let saved = grouped(*saved);
            (AnsiColor::Green, format!("checkpoint {id} aged, level {from} to {to}: {saved} saved"))
        }
        EventKind::CheckpointMerged { checkpoint, merged, saved } => {
            let (id, count) = (clipped(checkpoint, 12), merged.len());
            let saved = grouped(*saved);
            (AnsiColor::Green, format!("checkpoint {id} stands for {count} others: {saved} saved"))
        }
        _ => return None,
    };
    Some(sentence)
}

/// What became of what a tool said or was given.
fn tool(event: &Event) -> Option<Sentence> {
    let sentence = match &event.what {
        EventKind::ToolResultOffloaded { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("offloaded", entry, tool, event.tokens))
        }
        EventKind::ToolResultDigested { entry, tool, .. } => {
            (AnsiColor::Cyan, arrived("digested", entry, tool, event.tokens))
        }
        EventKind::ToolInputTruncated { entry, tool, saved } => {
            let saved = grouped(*saved);
            (AnsiColor::Cyan, format!("input of {tool} in {entry} truncated: {saved} tokens saved"))
        }
        EventKind::WatermarkMoved { entry, tool, blocks, saved } => {
            let (blocks, saved) = (grouped(u64::from(*blocks)), grouped(*saved));
            let moved = format!("watermark at {entry} of {tool}");
            (AnsiColor::Green, format!("{moved}: {blocks} blocks left, {saved} tokens saved"))
        }
        _ => return None,
    };
    Some(sentence)
}

/// What is kept of a session, and which of its histories is in force.
fn record(event: &Event) -> Option<Sentence> {
    let sentence = match &event.what {
        EventKind::SnapshotCreated { id, .. } | EventKind::AutoSnapshotCreated { id, .. } => {
            (AnsiColor::Cyan, format!("snapshot {}", clipped(id, 12)))
        }
        EventKind::SnapshotRestored { id, .. } => {
            (AnsiColor::Cyan, format!("back at the snapshot {}", clipped(id, 12)))
        }
        EventKind::SnapshotError { cause } => {
            (AnsiColor::Yellow, format!("no snapshot: {}", on_one_line(cause)))
        }
        EventKind::WorkspaceError { cause, remedy } => {
            (AnsiColor::Yellow, format!("{}; {remedy}", on_one_line(cause)))
        }
        EventKind::StoreLost { cause, remedy } => {
            let meanwhile = "compressing from memory, nothing of this is kept over a restart";
            (AnsiColor::Red, on_one_line(&format!("{cause}; {meanwhile}: {remedy}")))
        }
        EventKind::StoreBack => {
            let text = "the store can be written again: conversations that begin are recorded";
            (AnsiColor::Green, text.to_owned())
        }
        EventKind::Branched { at } => {
            (AnsiColor::Magenta, format!("history differs from {at} on: a branch"))
        }
        EventKind::CompactionChanged { compaction: Some(id) } => {
            (AnsiColor::Magenta, format!("compression {} in force now", clipped(id, 12)))
        }
        EventKind::CompactionChanged { compaction: None } => {
            (AnsiColor::Magenta, "compression taken back; none is in force".to_owned())
        }
        EventKind::GoalUpdated { act, .. } => (AnsiColor::Cyan, on_one_line(&goal(act))),
        _ => return None,
    };
    Some(sentence)
}

/// How it stands with a prompt and its answer.
fn prompt(event: &Event) -> Option<Sentence> {
    let sentence = match &event.what {
        EventKind::ContextWarning { percent } => {
            (AnsiColor::Yellow, format!("{percent} % of the limit in use"))
        }
        EventKind::Recalled { query, sources, tokens } => {
            let (from, tokens) = (sources.join(", "), grouped(*tokens));
            (AnsiColor::Cyan, on_one_line(&format!("recalled {tokens} tokens of {from}: {query}")))
        }
        EventKind::Handover { file, text } => {
            let from = file.as_deref().map_or_else(|| on_one_line(text), str::to_owned);
            (AnsiColor::Yellow, format!("better go on in a fresh session, from: {from}"))
        }
        EventKind::StreamOverflowEmergency { total, limit, .. } => {
            let [total, limit] = [grouped(*total), grouped(*limit)];
            (AnsiColor::Yellow, format!("the answer grows out of the window: {total} of {limit}"))
        }
        EventKind::PromptTruncated { sent, evaluated, remedy } => {
            let [sent, evaluated] = [grouped(*sent), grouped(*evaluated)];
            let read = format!("the server read {evaluated} of {sent} tokens: {remedy}");
            (AnsiColor::Red, on_one_line(&read))
        }
        EventKind::FilesLeft { files, tokens, remedy } => {
            let (files, tokens) = (files.join(", "), grouped(*tokens));
            let left = format!("no room for {files} ({tokens} tokens), which left: {remedy}");
            (AnsiColor::Yellow, on_one_line(&left))
        }
        EventKind::LowReliability { score, advice, .. } => {
            let score = score.map_or_else(String::new, |score| format!(" ({score:.2})"));
            let advice = advice.as_deref().map_or_else(String::new, |advice| format!(": {advice}"));
            (AnsiColor::Yellow, format!("hardly to be relied on{score}{}", on_one_line(&advice)))
        }
        _ => return None,
    };
    Some(sentence)
}

/// What policies and plugins did.
fn policy(event: &Event) -> Option<Sentence> {
    let sentence = match &event.what {
        EventKind::PluginError { plugin, cause, remedy } => {
            (AnsiColor::Red, format!("plugin `{plugin}`: {}; {remedy}", on_one_line(cause)))
        }
        EventKind::DriftDetected { policy, drift, .. } => {
            let Drift { trigger, intent, action } = drift;
            let drift = on_one_line(&format!("{trigger}: {action}; it is there for {intent}"));
            (AnsiColor::Yellow, format!("{policy}: {drift}"))
        }
        EventKind::PolicyReloaded { policy, generation } => {
            (AnsiColor::Magenta, format!("{policy} changed: generation {generation} is in force"))
        }
        EventKind::PolicyError { cause } => (AnsiColor::Red, on_one_line(cause)),
        EventKind::AnswerBounded { policy, hook, what, asked, given } => {
            let [asked, given] = [grouped(*asked), grouped(*given)];
            let told = format!("{policy}: `{hook}`: `{what}` of {asked} is held to {given} tokens");
            (AnsiColor::Yellow, told)
        }
        EventKind::ModelFallback { policy, ask, cause, next, .. } => {
            let cause = on_one_line(cause);
            (AnsiColor::Yellow, format!("{policy} asks `{ask}`: {cause}; `{next}` is asked"))
        }
        EventKind::PolicyWarning { policy, text, .. } => {
            (AnsiColor::Yellow, format!("{policy}: {}", on_one_line(text)))
        }
        EventKind::Pinned { entry, policy } => {
            (AnsiColor::Cyan, format!("{entry} pinned by {policy}"))
        }
        _ => return None,
    };
    Some(sentence)
}

fn arrived(how: &str, entry: &str, tool: &str, [before, after]: [u64; 2]) -> String {
    let (before, after) = (grouped(before), grouped(after));
    format!("{how} {entry} of {tool}: {before} → {after} tokens")
}

/// Who wrote the summaries of a compression, where a model did or was to.
pub(super) fn writer(event: &Event, all: &[Event]) -> Option<Sentence> {
    let EventKind::Compressed { ops, .. } = &event.what else { return None };
    let models: BTreeSet<_> = ops.iter().filter_map(|op| op.model.as_deref()).collect();
    let gave_up = |event: &Event| {
        matches!(event.what, EventKind::CompressionError { stage: Stage::Summarisation, .. })
    };
    let who = match models.is_empty() {
        true if all.iter().any(gave_up) => "summed up without a model".to_owned(),
        true => return None,
        false => format!("summed up by {}", models.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Some((ASIDE, who))
}

/// What became of a goal.
fn goal(act: &GoalAction) -> String {
    let which = act.goal.as_deref().unwrap_or("goal");
    match &act.change {
        GoalChange::Set { text, .. } => format!("{which} set: {text}"),
        GoalChange::Revise { text } => format!("{which} worded anew: {text}"),
        GoalChange::Prioritise { priority } => format!("{which}: {} priority", priority.word()),
        GoalChange::Milestone { text, state } => format!("milestone {}: {text}", state.word()),
        GoalChange::Decide { text, locked: true, .. } => format!("decided for good: {text}"),
        GoalChange::Decide { text, .. } => format!("decided: {text}"),
        GoalChange::Lock { decision } => format!("locked: {decision}"),
        GoalChange::Unlock { decision } => format!("no longer locked: {decision}"),
        GoalChange::Artifact { path, change } => format!("{} {path}", change.word()),
        GoalChange::Next { text } => format!("next: {text}"),
        GoalChange::Pause => format!("{which} paused"),
        GoalChange::Resume => format!("{which} resumed"),
        GoalChange::Complete => format!("{which} reached"),
        _ => format!("{which} changed; `--json` has it"),
    }
}

/// Why a compression was made: the one word for it, wherever it is shown.
pub(crate) fn cause(cause: CompactionCause) -> &'static str {
    match cause {
        CompactionCause::Soft => "soft",
        CompactionCause::Hard => "hard",
        CompactionCause::Manual => "asked for",
    }
}
