//! Messages, batches and epochs for the tests of the journal.

use std::collections::BTreeMap;

use epitome_kernel::types::{
    Actor, ArrivalRewrite, Checkpoint, CheckpointLevel, CheckpointPlacement, Compaction,
    CompactionCause, CompactionOutcome, CompactionRange, ContentId, DecisionKind, EntryId,
    EntryKey, FactCounts, GoalChange, HistoryHash, HookAuthor, MeterReading, Op, PartId, Plan,
    Priority, RecordedAction, ReplaceMethod, Role, SessionAction, Snapshot, SnapshotPurpose,
    SnapshotSize, TokenUsage,
};
use epitome_kernel::{
    AppendBatch, Eviction, Journal, MessageRecord, RequestRecord, ResponseRecord, StoredText,
};
use epitome_store::SessionArchive;

/// The scope of most tests.
pub(crate) const SCOPE: &str = "local/default";

/// Too long for the row of its message.
pub(crate) const LONG: &str = match str::from_utf8(&[b'g'; 4_000]) {
    Ok(text) => text,
    Err(_) => "",
};

/// What a meter reads whose rent is this.
pub(crate) fn rent(rent: f64) -> MeterReading {
    let stalled = (rent > 0.0).then_some(7);
    MeterReading { rent, stalled, ..MeterReading::default() }
}

/// What a message with this text says.
pub(crate) fn key(text: &str) -> EntryKey {
    EntryKey(ContentId::for_text(&format!("user: {text}")).0)
}

/// The keys of a history.
pub(crate) fn keys(texts: &[&str]) -> Vec<EntryKey> {
    texts.iter().map(|text| key(text)).collect()
}

/// The history of these texts.
pub(crate) fn chain(texts: &[&str]) -> HistoryHash {
    HistoryHash::for_entries(&keys(texts))
}

/// Every history that leads to these texts, shortest first.
pub(crate) fn chains(texts: &[&str]) -> Vec<HistoryHash> {
    (1..=texts.len()).map(|end| chain(&texts[..end])).collect()
}

/// The bytes of a message.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    format!(r#"{{"role":"user","content":"{text}"}}"#).into_bytes()
}

/// The batch that brings these texts behind others.
pub(crate) fn batch(before: &[&str], new: &[&str]) -> AppendBatch {
    let all: Vec<&str> = before.iter().chain(new).copied().collect();
    let said = (before.len()..all.len()).map(|place| MessageRecord {
        chain: chain(&all[..=place]),
        key: key(all[place]),
        place: u32::try_from(place).unwrap(),
        role: if place % 2 == 0 { Role::User } else { Role::Assistant },
        bytes: Some(bytes(all[place])),
        text: ContentId::for_text(all[place]),
        tokens: all[place].len() as u64,
        at: (place % 3 > 0).then(|| format!("2026-01-01T00:00:{place:02}Z")),
    });
    AppendBatch {
        after: chain(before),
        said: said.collect(),
        format: "anthropic".into(),
        model: Some("model-1".into()),
        title: all.first().copied().unwrap_or_default().into(),
        turn: Some(RequestRecord { tokens: [100, 60], limit: 200_000, meter: rent(0.5) }),
        at: format!("2026-01-01T00:01:{:02}Z", all.len() % 60),
        ..AppendBatch::default()
    }
}

/// Records a request.
pub(crate) fn say(store: &(impl Journal + ?Sized), session: &str, before: &[&str], new: &[&str]) {
    store.append(SCOPE, session, &batch_of(store, session, before, new)).unwrap();
}

/// A request of a session, with all that the session does not hold yet.
pub(crate) fn batch_of(
    store: &(impl Journal + ?Sized),
    session: &str,
    before: &[&str],
    new: &[&str],
) -> AppendBatch {
    let known =
        store.find_deepest(SCOPE, session, &chains(before)).unwrap().map_or(0, |last| last + 1);
    let all: Vec<&str> = before.iter().chain(new).copied().collect();
    let made = batch(&all[..known], &all[known..]);
    AppendBatch { at: batch(before, new).at, ..made }
}

/// The answer that says this after these texts.
pub(crate) fn answer(after: &[&str], text: &str) -> ResponseRecord {
    let tokens = text.len() as u64;
    ResponseRecord {
        after: chain(after),
        ahead: 0,
        key: Some(key(text)),
        chain: chain(after).append(key(text)),
        bytes: Some(bytes(text)),
        text: ContentId::for_text(text),
        usage: TokenUsage { input: 1, cache_read: 10, cache_written: 100, output: tokens },
        stop: Some("end_turn".into()),
        at: format!("2026-01-01T00:04:{:02}Z", after.len() % 60),
        is_whole: false,
    }
}

/// The message that an answer will be.
pub(crate) fn answer_said(after: &[&str], text: &str) -> MessageRecord {
    let answer = answer(after, text);
    MessageRecord {
        chain: answer.after.append(key(text)),
        key: key(text),
        place: u32::try_from(after.len()).unwrap(),
        role: Role::Assistant,
        bytes: answer.bytes,
        text: answer.text,
        tokens: answer.usage.output,
        at: Some(answer.at),
    }
}

/// What policies noted.
pub(crate) fn memos(notes: &[(&str, &str)]) -> BTreeMap<String, String> {
    notes.iter().map(|(policy, memo)| ((*policy).into(), (*memo).into())).collect()
}

/// Something about a goal that the model said.
pub(crate) fn goal(change: GoalChange) -> RecordedAction {
    RecordedAction {
        act: SessionAction::Goal(change.into()),
        by: Actor::Model,
        at: "2026-01-01T00:05:00Z".into(),
    }
}

/// Acts of every kind.
pub(crate) fn acts() -> Vec<RecordedAction> {
    let (locked, kind) = (true, DecisionKind::Architecture);
    let (text, rationale) = ("Use \"SQLite\"\nonly".to_owned(), Some("one file: ä".to_owned()));
    let act = |act, by| RecordedAction { act, by, at: "2026-01-01T00:06:00Z".into() };
    vec![
        goal(GoalChange::Set { text: "Ship it".into(), priority: Priority::High }),
        goal(GoalChange::Decide { text, rationale, locked, kind }),
        goal(GoalChange::Pause),
        act(SessionAction::Augment { name: "style/terse".into(), active: true }, Actor::User),
        act(SessionAction::Ask { tool: "compress_to_checkpoint".into() }, Actor::Model),
        act(SessionAction::Met, Actor::Policy("watermark".into())),
        act(
            SessionAction::Mark {
                entry: key("a"),
                copy: None,
                tool: "done".into(),
                blocks: 7,
                saved: u64::MAX,
            },
            Actor::Policy("watermark".into()),
        ),
    ]
}

/// An epoch over a run.
pub(crate) fn epoch(run: &[&str], summary: &str) -> Compaction {
    let part = PartId { entry: EntryId(0), part: 0 };
    let covers = (0..u32::try_from(run.len()).unwrap()).map(EntryId).collect();
    let list = ContentId::for_text(&format!("list of {}", run.join(" ")));
    let mut epoch = Compaction {
        id: ContentId([0; 16]),
        parent: None,
        covered: CompactionRange {
            first: key(run[0]),
            len: u32::try_from(run.len()).unwrap(),
            chain: chain(run),
        },
        plan: Plan {
            ops: vec![
                Op::Replace {
                    part,
                    with: format!("digest of {}", run[0]),
                    how: ReplaceMethod::Digest,
                },
                Op::Summarize(Checkpoint {
                    id: list,
                    covers,
                    text: summary.into(),
                    level: CheckpointLevel::Detailed,
                    stand: CheckpointPlacement { front: true, assistant: false },
                    model: Some("openai:qwen".into()),
                }),
                Op::Insert { after: None, role: Role::User, text: "a note".into() },
                Op::Drop { entries: vec![EntryId(1)] },
                Op::Strip { parts: vec![PartId { part: 2, ..part }] },
                Op::State { after: Some(EntryId(0)), text: format!("state of {}", run[0]) },
            ],
            reason: "the window is filling".into(),
        },
        credits: vec![HookAuthor { policy: "team".into(), hook: "plan".into(), line: Some(7) }],
        cause: CompactionCause::Soft,
        number: 1,
        outcome: CompactionOutcome {
            tokens: [u64::MAX, 300],
            confidence: 0.9,
            must_keep: FactCounts { constraints: [3, 4], recallable: 1, ..FactCounts::default() },
        },
        profile: "default".into(),
        config: "c0ffee".into(),
        at: "2026-01-01T00:02:00Z".into(),
    };
    epoch.id = epoch.hash();
    epoch
}

/// What an epoch over a run takes out.
pub(crate) fn departure(run: &[&str]) -> Eviction {
    let blob = |text: String, source: &str| StoredText {
        id: ContentId::for_text(&text),
        source: source.into(),
        text,
    };
    let mut departure = Eviction {
        blobs: vec![blob(format!("list of {}", run.join(" ")), "e0-e9")],
        ..Eviction::default()
    };
    for (place, text) in (0..).zip(run) {
        let (entry, source) = (EntryId(place), format!("e{place} user"));
        departure.blobs.push(blob((*text).into(), &source));
        departure.sources.push((entry, ContentId::for_text(text), source));
        departure.passages.push(epitome_kernel::types::Passage { entry, text: (*text).into() });
    }
    departure
}

/// The same as a session calls it.
pub(crate) fn departure_of(session: &str, run: &[&str]) -> Eviction {
    let mut departure = departure(run);
    let sources = departure.sources.iter_mut().map(|(_, _, source)| source);
    for source in sources.chain(departure.blobs.iter_mut().map(|blob| &mut blob.source)) {
        *source = format!("{session}: {source}");
    }
    departure
}

/// Says these messages in a session, and has the search know them.
pub(crate) fn say_findably(store: &dyn SessionArchive, session: &str, texts: &[&str]) {
    say(store, session, &[], texts);
    let chains: Vec<HistoryHash> = (1..=texts.len()).map(|most| chain(&texts[..most])).collect();
    store.index(SCOPE, session, &chains, &departure_of(session, texts)).unwrap();
}

/// A rewrite of a message.
pub(crate) fn rewrite(text: &str, with: &str) -> ArrivalRewrite {
    ArrivalRewrite {
        key: key(text),
        part: 0,
        with: with.into(),
        how: ReplaceMethod::Offload,
        original: ContentId::for_text(text),
        tool: "read_file".into(),
        tokens: [900, 20],
    }
}

/// A snapshot of a history.
pub(crate) fn snapshot(
    id: &str,
    session: &str,
    purpose: SnapshotPurpose,
    texts: &[&str],
) -> Snapshot {
    Snapshot {
        id: id.into(),
        session: session.into(),
        name: (purpose == SnapshotPurpose::Recovery).then(|| format!("by hand: {id}")),
        purpose,
        at: "2026-01-01T00:03:00Z".into(),
        size: SnapshotSize {
            messages: u32::try_from(texts.len()).unwrap(),
            checkpoints: 1,
            tokens: [500, 100],
            limit: u64::MAX,
        },
        model: None,
        profile: "default".into(),
        head: chain(texts),
        epoch: None,
    }
}
