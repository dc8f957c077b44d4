//! What is regretted of made-up conversations, whose compressions take hold where they are told to.

use epitome_testkit::{Chat, chat};
use epitome_types::{
    Checkpoint, CheckpointLevel, CheckpointPlacement, Compaction, CompactionCause,
    CompactionOutcome, CompactionRange, ContentId, Entry, EntryId, EntryKey, HistoryHash, Op,
    PartId, Plan, ReplaceMethod,
};

use super::*;

const PATH: &str = r#"{"path":"src/a.rs"}"#;

/// A file of so many lines.
fn file(lines: std::ops::Range<usize>) -> String {
    lines.map(|line| format!("{line}→    let value_{line} = work({line});\n")).collect()
}

fn compaction(number: u8, ops: Vec<Op>) -> Compaction {
    let chain = HistoryHash([0; 16]);
    Compaction {
        id: ContentId([number; 16]),
        parent: None,
        covered: CompactionRange { first: EntryKey([0; 16]), len: 1, chain },
        plan: Plan { ops, reason: String::new() },
        credits: Vec::new(),
        cause: CompactionCause::Soft,
        number: number.into(),
        outcome: CompactionOutcome::default(),
        profile: String::new(),
        config: String::new(),
        at: String::new(),
    }
}

fn summary(covers: &[u32]) -> Op {
    Op::Summarize(Checkpoint {
        id: ContentId([7; 16]),
        covers: covers.iter().copied().map(EntryId).collect(),
        text: "It read a file.".to_owned(),
        level: CheckpointLevel::Detailed,
        stand: CheckpointPlacement::default(),
        model: None,
    })
}

fn shortened(entry: u32) -> Op {
    let part = PartId { entry: EntryId(entry), part: 0 };
    Op::Replace { part, with: "short".to_owned(), how: ReplaceMethod::Digest }
}

/// What came of compressions that take hold before these messages.
fn walked(
    entries: &[Entry],
    compactions: &[(&Compaction, usize, Option<usize>)],
) -> Vec<CompactionRegret> {
    let mut evictions = Vec::new();
    for (compaction, made, until) in compactions {
        evictions.push(EvictionPlace { compaction, start: 0, made: *made, until: *until });
    }
    let sizes: Vec<_> = entries.iter().map(|_| 1_000).collect();
    regrets(entries, &sizes, &evictions, &[])
}

/// A file was read and a call answered; then something else was said.
fn begun() -> Chat {
    let read = chat().user("Look at the parser.").call("read_file", PATH).result(&file(0..100));
    read.assistant("It works.").user("Go on with the next one.")
}

/// What came of a compression that summarizes the beginning: texts that left and came again, with
/// their tokens, and refreshes.
#[track_caller]
fn check(later: Chat, expected: [u64; 4]) {
    let summed = compaction(1, vec![summary(&[1, 2])]);
    let entries = later.entries();
    let [regret] = &walked(&entries, &[(&summed, 5, None)])[..] else { panic!() };
    let RegretCounts { left, again, again_tokens, refreshed, .. } = regret.counts(REGRET_TURNS);
    assert_eq!([left, again, again_tokens, refreshed], expected, "{regret:?}");
}

#[test]
fn what_is_read_again_counts_for_the_compression_that_took_it_out() {
    check(begun().assistant("Done."), [1, 0, 0, 0]);
    let again = begun().call("read_file", PATH).result(&file(0..100));
    check(again.clone(), [1, 1, 1_000, 0]);
    // It is there now, so whoever asks a third time repeats a call and undoes nothing.
    check(again.call("read_file", PATH).result(&file(0..100)), [1, 1, 1_000, 0]);
    let dotted = r#"{"path":"./src/a.rs"}"#;
    check(begun().call("read_file", dotted).result(&file(0..100)), [1, 1, 1_000, 0]);
    check(begun().call("read_file", r#"{"path":"b"}"#).result(&file(0..100)), [1, 0, 0, 0]);
}

#[test]
fn a_part_of_a_file_counts_as_far_as_it_goes() {
    let part = r#"{"path":"src/a.rs","offset":10,"limit":20}"#;
    let read = begun().call("read_file", part).result(&file(10..30));
    let summed = compaction(1, vec![summary(&[1, 2])]);
    let regrets = walked(&read.entries(), &[(&summed, 5, None)]);
    let [fetched] = &regrets[0].again[..] else { panic!("{regrets:?}") };
    assert!((150..250).contains(&fetched.tokens), "{fetched:?}");
    assert_eq!((fetched.name.as_str(), fetched.recalled), ("read_file src/a.rs", false));
    assert_eq!((fetched.entry, fetched.by, fetched.turns), (2, 6, 1));
}

#[test]
fn what_changed_meanwhile_is_a_refresh() {
    check(begun().call("read_file", PATH).result(&file(100..200)), [1, 0, 0, 1]);
    let mostly = file(0..90) + &file(200..210);
    check(begun().call("read_file", PATH).result(&mostly), [1, 1, 899, 0]);
}

#[test]
fn what_is_recalled_counts_by_its_lines() {
    let shell = r#"{"command":"epitome recall value_40"}"#;
    check(begun().call("bash", shell).result(&file(40..50)), [1, 1, 101, 0]);
    let json = serde_json::json!([{"id": "1a2b3c4d", "content": file(40..50)}]).to_string();
    let tool = "mcp__epitome__recall";
    check(begun().call(tool, r#"{"query":"value"}"#).result(&json), [1, 1, 101, 0]);
    let opened = r#"{"path":".epitome/offloaded/1a2b3c4d.md"}"#;
    let numbered = format!("1\t# read_file result\n{}", file(0..100));
    check(begun().call("read_file", opened).result(&numbered), [1, 1, 1_000, 0]);
    check(begun().call("bash", shell).result("nothing found"), [1, 0, 0, 0]);
}

#[test]
fn excerpts_that_a_policy_brings_back_count_too() {
    let summed = compaction(1, vec![summary(&[1, 2])]);
    let entries = begun().assistant("Done.").user("And now?").entries();
    let eviction = EvictionPlace { compaction: &summed, start: 0, made: 5, until: None };
    let text = file(0..50);
    let brought = [BroughtBack { place: 6, text: &text }];
    let regrets = regrets(&entries, &[1_000; 7], &[eviction], &brought);
    let counts = regrets[0].counts(REGRET_TURNS);
    assert_eq!((counts.again, counts.again_recalled), (1, 1), "{regrets:?}");
    assert!((450..550).contains(&counts.again_tokens), "{regrets:?}");
}

#[test]
fn each_leaving_counts_once_and_for_the_first_that_did_it() {
    let first = compaction(1, vec![shortened(2)]);
    let second = compaction(2, vec![summary(&[1, 2, 3])]);
    let later = begun().assistant("Next.").user("Again.").call("read_file", PATH);
    let entries = later.result(&file(0..100)).entries();
    let regrets = walked(&entries, &[(&first, 5, None), (&second, 7, None)]);
    let figures = regrets.iter().map(|it| (it.left, it.counts(REGRET_TURNS).again));
    assert_eq!(figures.collect::<Vec<_>>(), [(1, 1), (1, 0)], "{regrets:?}");
    // What an undo brings back has not left.
    let regrets = walked(&entries, &[(&first, 5, Some(7))]);
    assert_eq!((regrets[0].left, &regrets[0].again[..]), (1, &[][..]));
}

#[test]
fn what_comes_late_is_told_and_not_measured() {
    let mut late = begun();
    for round in 0..10 {
        late = late.assistant(&format!("Round {round}.")).user("On.");
    }
    let entries = late.call("read_file", PATH).result(&file(0..100)).entries();
    let summed = compaction(1, vec![summary(&[1, 2])]);
    let regrets = walked(&entries, &[(&summed, 5, None)]);
    assert_eq!(regrets[0].again[0].turns, 11);
    assert_eq!((regrets[0].counts(REGRET_TURNS).again, regrets[0].counts(30).again), (0, 1));
}

#[test]
fn parts_within_a_result_leave_with_it() {
    let asked = chat().user("Look.").call("read_file", PATH).user_result_blocks(&file(0..100));
    let entries = asked.assistant("So.").user("On.").call("read_file", PATH);
    let entries = entries.user_result_blocks(&file(0..100)).entries();
    let part = PartId { entry: EntryId(2), part: 1 };
    let ops = [
        Op::Replace { part, with: "short".to_owned(), how: ReplaceMethod::Cut },
        Op::Strip { parts: vec![PartId { entry: EntryId(2), part: 0 }, part] },
    ];
    for op in ops {
        let regrets = walked(&entries, &[(&compaction(1, vec![op]), 5, None)]);
        assert_eq!((regrets[0].left, regrets[0].again.len()), (1, 1), "{regrets:?}");
    }
}
