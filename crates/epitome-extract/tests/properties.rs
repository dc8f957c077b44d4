//! What holds for every summary, whatever the conversation and the room.

use std::collections::HashSet;

use epitome_extract::{ExtractiveSummarizer, MustKeepFacts};
use epitome_kernel::types::{
    BudgetUnit, CheckpointLevel, Entry, Role, Summary, SummaryKind, SummaryStyle,
};
use epitome_kernel::{SizeGauge, SummaryError, SummaryJob, TextMeasure};
use epitome_testkit::{Chat, FixedCounter, chat, conversation};
use proptest::prelude::*;

const CHARS: SizeGauge<'_> = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Chars };

fn with_job<T>(
    entries: &[Entry],
    most: u64,
    style: SummaryStyle,
    then: impl FnOnce(&SummaryJob<'_>) -> T,
) -> T {
    let (kept, covered): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.role == Role::System);
    then(&SummaryJob {
        level: CheckpointLevel::Detailed,
        kind: SummaryKind::Checkpoint,
        entries: &covered,
        originals: &covered,
        kept: &kept,
        most,
        measure: &CHARS,
        style,
        passages: true,
    })
}

fn extract(entries: &[Entry], most: u64, style: SummaryStyle) -> Result<Summary, SummaryError> {
    with_job(entries, most, style, |job| ExtractiveSummarizer::default().extract(job))
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[test]
fn a_rule_that_stands_beside_a_summary_takes_none_of_its_room() {
    const RULE: &str = "Never touch the lock file.";
    const FOUND: &str = "The parser fails in src/lexer.rs.";
    let summary = |beside: &str| {
        let chat = chat().user(RULE).assistant(FOUND).note(beside).entries();
        let (covered, kept) = chat.split_at(2);
        let job = SummaryJob {
            level: CheckpointLevel::Detailed,
            kind: SummaryKind::Checkpoint,
            entries: &covered.iter().collect::<Vec<_>>(),
            originals: &covered.iter().collect::<Vec<_>>(),
            kept: &kept.iter().collect::<Vec<_>>(),
            most: 50,
            measure: &CHARS,
            style: SummaryStyle::Verbatim,
            passages: false,
        };
        ExtractiveSummarizer::default().extract(&job).unwrap().text
    };
    assert_eq!(summary("Rules:\n- Be brief."), format!("User: {RULE}"));
    assert_eq!(summary(&format!("Rules:\n- {RULE}")), format!("Assistant: {FOUND}"));
}

/// Sources are full of names, which weigh more than the plain words of a task.
#[test]
fn the_task_that_a_conversation_begins_with_stays() {
    const TASK: &str =
        "Fix the off-by-one in the pagination helper so that the last page is shown.";
    const SOURCES: [&str; 8] = [
        include_str!("../src/facts.rs"),
        include_str!("../src/ledger/files.rs"),
        include_str!("../src/ledger/shell.rs"),
        include_str!("../src/must_keep.rs"),
        include_str!("../src/refs.rs"),
        include_str!("../src/rows.rs"),
        include_str!("../src/summary.rs"),
        include_str!("../src/value.rs"),
    ];
    let read = |chat: Chat, (at, source): (usize, &&str)| {
        chat.call("read", &format!(r#"{{"path":"src/part_{at}.rs"}}"#)).result(source)
    };
    let entries = SOURCES.iter().enumerate().fold(chat().user(TASK), read).entries();
    let all: usize = SOURCES.iter().map(|it| it.len()).sum();
    for share in [4, 8, 16] {
        let summary = extract(&entries, (all / share) as u64, SummaryStyle::Verbatim).unwrap();
        assert!(summary.text.contains(TASK), "a {share}th: {}", summary.text);
    }
}

/// A search knows what a digest left out since that was made.
#[test]
fn what_was_made_smaller_is_chosen_from_as_it_was_said_and_not_told_of_twice() {
    let read = |text: &str| {
        let chat = chat().call("read", "{}").result(text);
        chat.assistant("Then retry_limit is too small.").entries()
    };
    let (line, around) = ("retry_limit = 3 in pool.rs", "nothing_else = 0 in src/rest.rs");
    let [sent, said] = [read(around), read(&format!("{line}\n\n{around}\n\nother_value = 1"))];
    let job = SummaryJob {
        level: CheckpointLevel::Detailed,
        kind: SummaryKind::Checkpoint,
        entries: &sent.iter().collect::<Vec<_>>(),
        originals: &said.iter().collect::<Vec<_>>(),
        kept: &[],
        most: 40,
        measure: &CHARS,
        style: SummaryStyle::Verbatim,
        passages: true,
    };
    let summary = ExtractiveSummarizer::default().extract(&job).unwrap();
    assert_eq!(summary.text, format!("Tool: {line}"));
    let left: Vec<_> = summary.left.iter().map(|passage| passage.text.as_str()).collect();
    assert_eq!(left, ["read()", around, "Then retry_limit is too small."]);
}

proptest! {
    #[test]
    fn summaries_fit_and_invent_nothing(entries in conversation(12), most in 1u64..600, brief: bool) {
        let style = if brief { SummaryStyle::Brief } else { SummaryStyle::Verbatim };
        let Ok(summary) = extract(&entries, most, style) else { return Ok(()) };
        prop_assert!(CHARS.size(&summary.text) <= most);
        let labels = ["user", "assistant", "tool", "note"].map(str::to_owned);
        let said: HashSet<String> =
            entries.iter().flat_map(|entry| words(&entry.readable()).collect::<Vec<_>>()).chain(labels).collect();
        for word in words(&summary.text) {
            prop_assert!(said.contains(&word), "{word:?} was never said");
        }
    }

    #[test]
    fn equal_jobs_give_equal_bytes(entries in conversation(12), most in 1u64..600) {
        let first = extract(&entries, most, SummaryStyle::Verbatim);
        prop_assert_eq!(&first, &extract(&entries, most, SummaryStyle::Verbatim));
    }

    #[test]
    fn a_completed_summary_tells_of_no_less_than_an_extract(
        entries in conversation(12),
        most in 40u64..900,
        pick in 0usize..12,
    ) {
        let text = entries.get(pick).map(Entry::readable).unwrap_or_default();
        let completed = with_job(&entries, most, SummaryStyle::Verbatim, |job| {
            ExtractiveSummarizer::default().completed(job, &text, "Said:")
        });
        let Some(completed) = completed else { return Ok(()) };
        prop_assert!(CHARS.size(&completed) <= most);
        let all: Vec<&Entry> = entries.iter().collect();
        let lost = |text: &str| {
            let said = chat().assistant(text).entries();
            MustKeepFacts::of(&all).lost(&said.iter().collect::<Vec<_>>())
        };
        let extract = extract(&entries, most, SummaryStyle::Verbatim).map(|summary| summary.text);
        let extract = lost(&extract.unwrap_or_default());
        for fact in lost(&completed).iter() {
            prop_assert!(extract.iter().any(|lost| lost == fact), "{fact}: {completed}");
        }
    }

    #[test]
    fn what_a_summary_leaves_out_can_be_found(entries in conversation(12), most in 40u64..600) {
        let Ok(summary) = extract(&entries, most, SummaryStyle::Verbatim) else { return Ok(()) };
        let found: HashSet<String> = summary
            .left
            .iter()
            .flat_map(|passage| words(&passage.text).collect::<Vec<_>>())
            .chain(words(&summary.text))
            .collect();
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            for word in entry.texts().flat_map(|text| words(text).collect::<Vec<_>>()) {
                prop_assert!(found.contains(&word), "{word:?} is gone");
            }
        }
    }

    #[test]
    fn a_whole_conversation_keeps_all_its_facts(entries in conversation(12)) {
        let all: Vec<&Entry> = entries.iter().collect();
        let kept = MustKeepFacts::of(&all).kept(&all, &[]);
        for [kept, all] in [kept.constraints, kept.paths, kept.errors, kept.identifiers] {
            prop_assert_eq!(kept, all);
        }
        prop_assert_eq!(kept.recallable, 0);
    }
}
