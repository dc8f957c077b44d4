//! Errands of the keeper over sessions that were imported, and over one that went on live.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use epitome::{
    AdminError, CompressionTarget, Compressor, EntryState, ExportFormat, LOCAL, OriginalStore,
    OverviewFilter, Profile, ScopeOwner, SessionAdmin, VocabularyCounter, WindowSetting,
};
use epitome_admin::admin::TOMBSTONE;
use epitome_kernel::{ResponseRecord, StoreError};
use epitome_store::MemoryStore;
use epitome_testkit::{FixedCounter, now};
use epitome_types::{ContentId, EntryId, EntryKey, TokenUsage};
use serde_json::{Value, json};

const AT: &str = "2026-01-02T03:04:05Z";
const LIMIT: u64 = 900;

fn keeper() -> SessionAdmin {
    keeper_of(&Arc::new(MemoryStore::new()))
}

fn keeper_of(journal: &Arc<MemoryStore>) -> SessionAdmin {
    SessionAdmin::new(journal.clone(), Profile::default())
}

/// `turns` questions, each with a call, its result and an answer.
fn conversation(turns: usize) -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": "You repair pipelines."})];
    for turn in 0..turns {
        let id = format!("call_{turn}");
        let arguments = json!({"path": format!("src/stage_{turn}.rs")}).to_string();
        let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
        let lines = (0..12).map(|line| format!("{line}: let value_{turn}_{line} = load({line});"));
        messages.extend([
            json!({"role": "user", "content": format!("What does stage {turn} do?")}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": lines.collect::<Vec<_>>().join("\n")}),
            json!({"role": "assistant", "content": format!("Stage {turn} loads twelve values.")}),
        ]);
    }
    messages
}

fn bytes(messages: &[Value]) -> Vec<u8> {
    serde_json::to_vec(messages).unwrap()
}

fn import(keeper: &SessionAdmin, messages: &[Value], name: Option<&str>) -> (String, usize) {
    let imported = keeper.import(&bytes(messages), None, name, AT).unwrap();
    (imported.session, imported.new)
}

/// A session with two compressions, and its keeper.
fn compressed() -> SessionAdmin {
    compressed_in(&Arc::new(MemoryStore::new()))
}

fn compressed_in(journal: &Arc<MemoryStore>) -> SessionAdmin {
    let keeper = keeper_of(journal);
    let messages = conversation(24);
    let builder =
        Compressor::builder().window(WindowSetting::Limit(LIMIT)).counter(FixedCounter::Words);
    let builder = builder.target(CompressionTarget::Trigger).clock(|| AT.to_owned());
    let mut session = builder.session(journal.clone(), Some("live"));
    for turn in 1..24 {
        now(session.prompt_for(&bytes(&messages[..1 + 4 * turn + 1]))).unwrap();
    }
    assert!(keeper.history(None).unwrap().compressions() >= 2);
    keeper
}

#[test]
fn an_import_is_recorded_once_and_grows() {
    let keeper = keeper();
    let messages = conversation(4);
    assert_eq!(import(&keeper, &messages[..9], Some("a")), ("a".to_owned(), 9));
    let before = keeper.session(None).unwrap();
    assert_eq!(
        (before.figures.messages, before.figures.turns, &*before.title),
        (9, 4, "What does stage 0 do?")
    );
    assert_eq!(import(&keeper, &messages[..9], Some("b")), ("a".to_owned(), 0));
    assert_eq!(keeper.session(None).unwrap(), before);
    assert_eq!(import(&keeper, &messages, Some("b")), ("a".to_owned(), 8));
    assert_eq!(keeper.session(None).unwrap().figures.messages, 17);
}

#[test]
fn an_edited_file_is_a_branch_and_another_one_of_its_name_is_not() {
    let keeper = keeper();
    let mut messages = conversation(4);
    import(&keeper, &messages, Some("a"));
    messages[13] = json!({"role": "user", "content": "Something else."});
    messages.truncate(14);
    assert_eq!(import(&keeper, &messages, Some("a")), ("a".to_owned(), 1));
    let other = [messages[0].clone(), json!({"role": "user", "content": "Hello."})];
    let (name, new) = import(&keeper, &other, Some("a"));
    assert!(name.starts_with("a-") && name.len() == 10 && new == 2, "{name} {new}");
    assert!(import(&keeper, &conversation(1)[1..2], None).0.starts_with("session-"));
}

#[test]
fn the_beginning_of_another_session_takes_nothing_back() {
    let keeper = keeper();
    let messages = conversation(4);
    import(&keeper, &messages, Some("a"));
    let (name, new) = import(&keeper, &messages[..2], Some("b"));
    assert_eq!((&*name, new), ("b", 2));
    assert_eq!(import(&keeper, &messages[..9], Some("c")), ("a".to_owned(), 0));
    assert_eq!(import(&keeper, &messages[..2], Some("a")), ("a".to_owned(), 0));
    assert_eq!(keeper.session(Some("a")).unwrap().figures.messages, 17);
}

#[test]
fn a_short_file_that_grew_is_the_same_session() {
    let keeper = keeper();
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut messages = vec![said("user", "Hello."), said("assistant", "Hi!")];
    assert_eq!(import(&keeper, &messages, Some("talk")), ("talk".to_owned(), 2));
    messages.extend([said("user", "How are you?"), said("assistant", "Well.")]);
    assert_eq!(import(&keeper, &messages, Some("talk")), ("talk".to_owned(), 2));
}

#[test]
fn nothing_is_no_conversation() {
    let error = keeper().import(b"[]", None, None, AT).unwrap_err();
    assert_eq!(error.to_string(), "holds no message; expected a conversation");
    assert!(matches!(keeper().session(None), Err(AdminError::NoSessions)));
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let one = keeper();
    import(&one, &conversation(3), Some("a"));
    let file = one.export("a", ExportFormat::Ollm).unwrap();
    let two = keeper();
    let imported = two.import(file.as_bytes(), None, Some("a"), AT).unwrap();
    assert_eq!((imported.messages, imported.format.as_str()), (13, "ollm"));
    let texts = |keeper: &SessionAdmin| {
        let history = keeper.history(None).unwrap();
        let entries = history.entries(keeper.journal(), keeper.scope()).unwrap();
        entries.iter().map(|entry| entry.readable().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&one), texts(&two));
    assert!(one.export("a", ExportFormat::Markdown).unwrap().contains("\n## 2. User ("));
}

#[test]
fn entries_go_by_place_and_by_key() {
    let keeper = keeper();
    import(&keeper, &conversation(3), Some("a"));
    let history = keeper.history(None).unwrap();
    let key = history.keys()[5];
    assert_eq!(history.entry("e5").unwrap(), (EntryId(5), key));
    assert_eq!(history.entry(&key.short()).unwrap(), (EntryId(5), key));
    for unknown in ["e13", "e1303", "e", "", "abc", "x1", "zzzz"] {
        let error = history.entry(unknown).unwrap_err().to_string();
        let line = format!("session `a` has no entry `{unknown}`; it has e0 to e12, ");
        assert!(error.starts_with(&line), "{error}");
    }
}

#[test]
fn all_that_was_said_is_found_with_its_session_and_entry() {
    let keeper = keeper();
    import(&keeper, &conversation(3), Some("a"));
    let mut told = Vec::new();
    assert_eq!(keeper.index_new_entries(|done| told.push(done)).unwrap(), 13);
    assert_eq!((told, keeper.index_new_entries(|_| ()).unwrap()), (vec![13], 0));
    import(&keeper, &conversation(4), Some("a"));
    assert_eq!(keeper.index_new_entries(|_| ()).unwrap(), 4);
}

/// A session whose last answer nobody went on from.
fn answered() -> (SessionAdmin, Arc<MemoryStore>, EntryKey) {
    let store = Arc::new(MemoryStore::new());
    let keeper = keeper_of(&store);
    import(&keeper, &conversation(2)[..8], Some("a"));
    let bytes = br#"{"role":"assistant","content":"The rare word is xylophone."}"#.to_vec();
    let key = EntryKey([7; 16]);
    let head = keeper.session(None).unwrap().head;
    let answer = ResponseRecord {
        after: head,
        ahead: 0,
        key: Some(key),
        chain: head.append(key),
        bytes: Some(bytes),
        text: ContentId::for_text("The rare word is xylophone."),
        usage: TokenUsage { input: 3, cache_read: 40, cache_written: 500, output: 6_000 },
        stop: Some("stop".to_owned()),
        at: AT.to_owned(),
        is_whole: false,
    };
    keeper.journal().record_response(keeper.scope(), "a", &answer).unwrap();
    (keeper, store, key)
}

#[test]
fn an_answer_that_nobody_went_on_from_is_the_last_message() {
    let (keeper, store, key) = answered();
    let history = keeper.history(None).unwrap();
    assert_eq!((history.messages.len(), history.keys().len()), (8, 8));
    assert_eq!(history.answer.as_ref().map(|answer| answer.tokens), Some(6_000));
    assert_eq!(history.entry("e8").unwrap(), (EntryId(8), key));
    assert_eq!(history.entry("0707").unwrap(), (EntryId(8), key));
    let unknown = history.entry("e9").unwrap_err().to_string();
    assert!(unknown.contains("it has e0 to e8"), "{unknown}");

    let file = keeper.export("a", ExportFormat::Markdown).unwrap();
    assert!(file.contains("\n## 9. Assistant (") && file.ends_with("xylophone.\n"), "{file}");
    assert_eq!(keeper.index_new_entries(|_| ()).unwrap(), 9);
    let found = store.search(keeper.scope(), "xylophone", 500, &VocabularyCounter::default());
    let found = found.unwrap();
    assert_eq!(found[0].source, "a: e8 assistant");

    let status = keeper.status(None).unwrap();
    assert_eq!(
        (status.sums.answers, status.sums.usage.prompt(), status.sums.usage.output),
        (1, 543, 6_000)
    );
    keeper.diff(None).unwrap();
}

#[test]
fn an_answer_that_nobody_went_on_from_can_be_erased() {
    let (keeper, store, key) = answered();
    keeper.index_new_entries(|_| ()).unwrap();
    keeper.journal().erase(keeper.scope(), key).unwrap();
    assert!(keeper.history(None).unwrap().answer.unwrap().erased);
    let file = keeper.export("a", ExportFormat::Markdown).unwrap();
    assert!(!file.contains("xylophone") && file.contains(TOMBSTONE), "{file}");
    let found = store.search(keeper.scope(), "xylophone", 500, &VocabularyCounter::default());
    assert!(found.unwrap().iter().all(|excerpt| !excerpt.text.contains("xylophone")));
}

#[test]
fn a_diff_names_everything_that_is_not_sent_as_it_was_said() {
    let journal = Arc::new(MemoryStore::new());
    let keeper = compressed_in(&journal);
    let diff = keeper.diff(Some("live")).unwrap();
    assert!(diff.epoch.is_some() && diff.tokens[1] < diff.tokens[0], "{diff:?}");
    let cut: std::collections::BTreeSet<_> =
        diff.cuts.iter().flat_map(|cut| &cut.entries).map(|entry| entry.entry.clone()).collect();
    // What is no cut is in the last prompt word for word.
    let messages = conversation(24);
    let builder =
        Compressor::builder().window(WindowSetting::Limit(LIMIT)).counter(FixedCounter::Words);
    let mut session = builder.session(journal.clone(), Some("live"));
    let prompt = now(session.prompt_for(&bytes(&messages[..1 + 4 * 23 + 1]))).unwrap();
    let prompt: Vec<Value> = serde_json::from_slice(&prompt.bytes).unwrap();
    assert!(cut.len() > 20);
    for (place, message) in messages[..1 + 4 * 23 + 1].iter().enumerate() {
        // The checkpoint and the state of the work stand in the message of the user behind them.
        let said = message["content"].as_str();
        let ends = |sent: &Value| match (sent["content"].as_str(), said) {
            (Some(sent), Some(said)) => sent.ends_with(said),
            _ => false,
        };
        let there =
            prompt.contains(message) || message["role"] == "user" && prompt.iter().any(ends);
        assert_eq!(!there, cut.contains(&format!("e{place}")), "e{place} {message}");
    }
    let summary = diff.cuts.iter().find(|cut| cut.how == "summarize").unwrap();
    assert_eq!((&*summary.policy, &*summary.hook, summary.line), ("builtin", "plan", None));
    assert!(summary.now.as_ref().unwrap().contains("epitome recall"));
    assert!(summary.tokens[1] < summary.tokens[0], "{summary:?}");
}

#[test]
fn an_id_of_a_diff_brings_the_original_back() {
    let store = Arc::new(MemoryStore::new());
    let keeper = keeper_of(&store);
    import(&keeper, &conversation(24), Some("live"));
    let builder =
        Compressor::builder().window(WindowSetting::Limit(LIMIT)).counter(FixedCounter::Words);
    let mut session = builder.session(store.clone(), Some("live"));
    now(session.prompt_for(&bytes(&conversation(24)[..94]))).unwrap();
    let diff = keeper.diff(None).unwrap();
    assert!(!diff.cuts.is_empty());
    for entry in diff.cuts.iter().flat_map(|cut| &cut.entries) {
        let id = entry.recall.as_ref().unwrap();
        let blob = store.original(keeper.scope(), id).unwrap();
        let first = entry.text.trim_end_matches('…').split(' ').next().unwrap();
        assert!(blob.text.contains(first), "{entry:?} {}", blob.text);
    }
    let found = store.search(keeper.scope(), "value_3_7", 500, &VocabularyCounter::default());
    assert!(!found.unwrap().is_empty());
}

#[test]
fn a_status_says_how_full_the_window_is() {
    let keeper = compressed();
    let status = keeper.status(None).unwrap();
    assert_eq!((status.session.as_str(), status.window.limit), ("live", LIMIT));
    assert!(
        status.history.len() >= 2 && status.savings.compressions as usize == status.history.len()
    );
    let saved = status.history.iter().all(|past| past.tokens[1] < past.tokens[0]);
    assert!(saved && status.savings.offloaded.is_some() && status.savings.digested.is_some());
}

#[test]
fn going_back_takes_back_what_was_compressed_since() {
    let journal = Arc::new(MemoryStore::new());
    let keeper = keeper_of(&journal);
    let messages = conversation(24);
    let builder =
        Compressor::builder().window(WindowSetting::Limit(LIMIT)).counter(FixedCounter::Words);
    let mut session =
        builder.clock(|| "2026-01-03T00:00:00Z".to_owned()).session(journal.clone(), Some("live"));
    now(session.prompt_for(&bytes(&messages[..6]))).unwrap();
    let snapshot = keeper.snapshot(None, Some("start"), AT).unwrap();
    assert!(keeper.snapshot(None, Some("start"), AT).is_err());
    for turn in 2..24 {
        now(session.prompt_for(&bytes(&messages[..1 + 4 * turn + 1]))).unwrap();
    }
    let later = keeper.history(None).unwrap();
    let in_force = later.in_force().map(|epoch| epoch.id);
    assert!(in_force.is_some());

    let restored = keeper.restore(None, "start", "2026-01-04T00:00:00Z").unwrap();
    assert_eq!(restored.snapshot, snapshot);
    assert_eq!(restored.undone as u32, later.compressions());
    let back = keeper.history(None).unwrap();
    assert_eq!((back.keys().len(), back.in_force()), (6, None));

    let again = keeper.restore(None, &restored.before.unwrap().id, "2026-01-05T00:00:00Z").unwrap();
    assert_eq!(again.redone, restored.undone);
    let forth = keeper.history(None).unwrap();
    assert_eq!(forth.keys(), later.keys());
    assert_eq!(forth.in_force().map(|epoch| epoch.id), in_force);
}

#[test]
fn snapshots_are_pruned_but_for_those_made_by_hand() {
    let keeper = compressed();
    let automatic = keeper.journal().snapshots(keeper.scope(), None).unwrap().len();
    assert!(automatic >= 2);
    let by_hand = keeper.snapshot(None, None, AT).unwrap();
    assert_eq!(keeper.prune(None, 1).unwrap().len(), automatic - 1);
    assert_eq!(keeper.journal().snapshots(keeper.scope(), None).unwrap().len(), 2);
    assert_eq!(keeper.find_snapshot(None, &by_hand.id[..5]).unwrap(), by_hand);
    let unknown = keeper.restore(None, "nope", AT).unwrap_err();
    assert!(matches!(unknown, AdminError::Store(StoreError::NoSnapshot { .. })), "{unknown}");
}

#[test]
fn the_line_of_turns_says_what_was_sent() {
    let journal = Arc::new(MemoryStore::new());
    let keeper = keeper_of(&journal);
    let messages = conversation(24);
    let builder =
        Compressor::builder().window(WindowSetting::Limit(LIMIT)).counter(FixedCounter::Words);
    let ticks = AtomicU32::new(0);
    let clock = move || {
        let tick = ticks.fetch_add(1, Ordering::Relaxed);
        format!("2026-01-02T03:{:02}:{:02}.000Z", tick / 60, tick % 60)
    };
    let builder = builder.target(CompressionTarget::Trigger).clock(clock);
    let mut session = builder.session(journal.clone(), Some("live"));
    let sent: Vec<_> = (1..24)
        .map(|turn| now(session.prompt_for(&bytes(&messages[..1 + 4 * turn + 1]))).unwrap().tokens)
        .collect();
    let line = keeper.timeline(Some("live")).unwrap();
    // Each question has two requests to a model: one for the call, one for what it brought.
    assert_eq!(line.turns.len(), 2 * 23 + 1);
    assert!(line.compactions.len() >= 2, "{:?}", line.compactions);
    for (at, [raw, prompt]) in sent.iter().enumerate() {
        let turn = &line.turns[2 * (at + 1)];
        assert_eq!((turn.raw, turn.sent.sum()), (*raw, *prompt), "turn {}", turn.number);
        assert_eq!(turn.sent.summaries > 0, prompt < raw, "turn {}", turn.number);
    }
    let newest = line.newest().unwrap();
    assert_eq!(newest.turn, line.compactions.last().unwrap().turn);
    let states = line.entry_states();
    assert_eq!(states.get(&1), Some(&EntryState::Summarized));
    assert_eq!(states.get(&(line.history.keys().len() - 1)), None);

    let id = newest.recorded.epoch.id.short();
    let detail = keeper.compaction(Some("live"), &id).unwrap();
    let summary = detail.steps.iter().find(|step| step.how == "summarize").unwrap();
    assert!(summary.sources[0].text.contains("What does stage 0 do?"), "{:?}", summary.sources[0]);
    assert!(summary.now.as_ref().unwrap().contains("stage"), "{summary:?}");
    assert!(keeper.compaction(Some("live"), "ffffffff").is_err());
    let (_, steps) = keeper.edits_of_entry(Some("live"), EntryId(1)).unwrap();
    assert_eq!(steps.len(), 1);

    // What is taken back was sent all the same, until it was.
    let place = line.history.place(false);
    keeper.compressions("live").unwrap().undo("2026-01-02T03:50:00.000Z").unwrap();
    let undone = keeper.timeline(Some("live")).unwrap();
    assert_ne!(undone.history.place(false), place);
    let last = undone.turns.len() - 1;
    assert!(undone.compactions.last().unwrap().recorded.undone);
    assert_eq!(undone.turns[last].sent, line.turns[last].sent);
    assert_eq!(undone.history.redoable(), Some(newest.recorded.epoch.id));
}

#[test]
fn an_overview_has_the_sessions_of_all_projects_in_pages() {
    let journal = Arc::new(MemoryStore::new());
    let of = |project: &str| {
        let owner = ScopeOwner::from(LOCAL).within(Path::new(project), None);
        SessionAdmin::of(journal.clone(), Profile::default(), owner)
    };
    for (at, project) in ["/srv/one", "/srv/two"].into_iter().enumerate() {
        for number in 0..3 {
            let said =
                json!({"role": "user", "content": format!("Question {number} of {project}")});
            let name = format!("{at}-{number}");
            of(project).import(&bytes(&[said]), None, Some(&name), AT).unwrap();
        }
    }
    let owner = ScopeOwner::from(LOCAL).everywhere();
    let all = SessionAdmin::of(journal.clone(), Profile::default(), owner);
    let names = |filter: &OverviewFilter, skip, most| {
        let page = all.overview(filter, skip, most).unwrap();
        let names: Vec<_> = page.rows.iter().map(|row| row.info.name.clone()).collect();
        (names.len(), page.has_more, names)
    };
    let none = OverviewFilter::default();
    assert_eq!(names(&none, 0, 10).0, 6);
    let (first, second) = (names(&none, 0, 4), names(&none, 4, 4));
    assert_eq!((first.0, first.1, second.0, second.1), (4, true, 2, false));
    assert!(second.2.iter().all(|name| !first.2.contains(name)));
    let words = OverviewFilter { words: "2 TWO".to_owned(), ..none.clone() };
    assert_eq!(names(&words, 0, 4), (1, false, vec!["1-2".to_owned()]));
    let project = OverviewFilter { project: Some("/srv/one".to_owned()), ..none };
    assert_eq!(names(&project, 0, 4).0, 3);
    let row = all.overview(&project, 0, 1).unwrap().rows.remove(0);
    assert_eq!(row.project(), Some("/srv/one"));
}
