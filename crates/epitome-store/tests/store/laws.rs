//! Both stores answer the same, whatever is done to them in whatever order.

use std::collections::BTreeSet;

use epitome_kernel::types::{ContentId, GoalChange, HistoryHash, JournalMark, SnapshotPurpose};
use epitome_kernel::{Beginning, Clue, CommitOutcome, CompactionSet};
use epitome_store::SessionArchive;
use epitome_store::{MemoryStore, SqliteStore};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::Chars;
use crate::talk::{
    LONG, SCOPE, acts, answer, batch_of, chain, chains, departure, epoch, goal, key, keys, memos,
    rewrite, snapshot,
};

/// What may be said: few texts, so that histories meet.
const TEXTS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "alpha beta", LONG];
const SESSIONS: [&str; 3] = ["one", "two", "three"];

/// Something that is done.
#[derive(Clone, Debug)]
enum Act {
    /// A request that follows the recorded history at an index, cut short.
    Append {
        session: usize,
        at: Index,
        cut: usize,
        new: Vec<usize>,
        rewritten: bool,
    },
    Commit {
        session: usize,
        at: Index,
        from: usize,
        len: usize,
        late: bool,
    },
    Mark {
        session: usize,
        epoch: Index,
        kind: usize,
    },
    Rewind {
        session: usize,
        at: Index,
        cut: usize,
    },
    Snap {
        session: usize,
        at: Index,
        automatic: bool,
    },
    Trash {
        session: usize,
        trashed: bool,
    },
    Note {
        session: usize,
        policies: usize,
    },
    Do {
        session: usize,
        acts: usize,
        text: usize,
    },
    Answer {
        session: usize,
        at: Index,
        cut: usize,
        text: Option<usize>,
    },
    Index {
        most: usize,
    },
    Erase {
        text: usize,
    },
    Delete {
        session: usize,
    },
    /// A session that leaves another one in the middle.
    Begin {
        session: usize,
        from: usize,
        at: Index,
        cut: usize,
    },
    Reopen,
}

fn any_acts() -> impl Strategy<Value = Vec<Act>> {
    let session = || 0..SESSIONS.len();
    let new = prop::collection::vec(0..TEXTS.len(), 0..4);
    prop::collection::vec(
        prop_oneof![
            8 => (session(), any::<Index>(), 0_usize..3, new, any::<bool>()).prop_map(
                |(session, at, cut, new, rewritten)| Act::Append { session, at, cut, new, rewritten }
            ),
            4 => (session(), any::<Index>(), 0_usize..3, 1_usize..4, prop::bool::weighted(0.2))
                .prop_map(|(session, at, from, len, late)| Act::Commit { session, at, from, len, late }),
            3 => (session(), any::<Index>(), 0_usize..4)
                .prop_map(|(session, epoch, kind)| Act::Mark { session, epoch, kind }),
            1 => (session(), any::<Index>(), 0_usize..3)
                .prop_map(|(session, at, cut)| Act::Rewind { session, at, cut }),
            1 => (session(), any::<Index>(), any::<bool>())
                .prop_map(|(session, at, automatic)| Act::Snap { session, at, automatic }),
            1 => (session(), any::<bool>()).prop_map(|(session, trashed)| Act::Trash { session, trashed }),
            2 => (session(), 0_usize..4).prop_map(|(session, policies)| Act::Note { session, policies }),
            2 => (session(), 0_usize..4, 0..TEXTS.len())
                .prop_map(|(session, acts, text)| Act::Do { session, acts, text }),
            3 => (session(), any::<Index>(), 0_usize..3, prop::option::of(0..TEXTS.len()))
                .prop_map(|(session, at, cut, text)| Act::Answer { session, at, cut, text }),
            2 => (1_usize..4).prop_map(|most| Act::Index { most }),
            1 => (0..TEXTS.len()).prop_map(|text| Act::Erase { text }),
            1 => session().prop_map(|session| Act::Delete { session }),
            2 => (session(), session(), any::<Index>(), 0_usize..3).prop_map(
                |(session, from, at, cut)| Act::Begin { session, from, at, cut }
            ),
            1 => Just(Act::Reopen),
        ],
        1..24,
    )
}

/// What both stores were told so far.
#[derive(Default)]
struct Told {
    histories: BTreeSet<Vec<&'static str>>,
    epochs: Vec<ContentId>,
    count: usize,
}

impl Told {
    fn history(&self, at: Index) -> Vec<&'static str> {
        if self.histories.is_empty() {
            return Vec::new();
        }
        at.get(&self.histories.iter().collect::<Vec<_>>()).to_vec()
    }
}

/// Does the same to a store; gives what it answered.
fn perform(store: &dyn SessionArchive, act: &Act, told: &Told) -> String {
    let shown = |result: &dyn std::fmt::Debug| format!("{result:?}");
    match act {
        Act::Append { session, at, cut, new, rewritten } => {
            let before = shortened(told.history(*at), *cut);
            let new: Vec<&str> = new.iter().map(|&text| TEXTS[text]).collect();
            let mut batch = batch_of(store, SESSIONS[*session], &before, &new);
            if *rewritten && let Some(text) = new.first() {
                batch.rewrites = vec![rewrite(text, &format!("{text} {}", told.count))];
                batch.departure = departure(&[text]);
            }
            shown(&store.append(SCOPE, SESSIONS[*session], &batch))
        }
        Act::Commit { session, at, from, len, late } => {
            let history = told.history(*at);
            let run: Vec<&str> = history.into_iter().skip(*from).take(*len).collect();
            if run.is_empty() {
                return String::new();
            }
            let mut epoch = epoch(&run, &format!("summary {}", told.count));
            epoch.parent = told.epochs.last().copied();
            epoch.id = epoch.hash();
            let session = SESSIONS[*session];
            let seen = store.revision(SCOPE, session).unwrap().wrapping_sub(u64::from(*late));
            let done = store.commit(SCOPE, session, &epoch, &departure(&run), seen);
            if let Ok(CommitOutcome::Done(now)) = done {
                assert_eq!(now, store.revision(SCOPE, session).unwrap());
            }
            // The numbers themselves are each store's own.
            shown(&done.map(|done| matches!(done, CommitOutcome::Done(_))))
        }
        Act::Mark { session, epoch, kind } => {
            let id =
                if told.epochs.is_empty() { ContentId([0; 16]) } else { *epoch.get(&told.epochs) };
            let text = key(TEXTS[epoch.index(TEXTS.len())]);
            let mark = [
                JournalMark::Undo(id),
                JournalMark::Redo(id),
                JournalMark::Pin(text),
                JournalMark::Unpin(text),
            ][*kind];
            shown(&store.record_mark(SCOPE, SESSIONS[*session], &mark, "now"))
        }
        Act::Rewind { session, at, cut } => {
            let head = chain(&shortened(told.history(*at), *cut));
            shown(&store.set_head(SCOPE, SESSIONS[*session], head, None))
        }
        Act::Snap { session, at, automatic } => {
            let purpose =
                if *automatic { SnapshotPurpose::Rollback } else { SnapshotPurpose::Recovery };
            let id = format!("s{}", told.count);
            let mut snapshot = snapshot(&id, SESSIONS[*session], purpose, &told.history(*at));
            snapshot.epoch = told.epochs.last().copied();
            shown(&store.save_snapshot(SCOPE, &snapshot, 1))
        }
        Act::Trash { session, trashed } => {
            shown(&store.set_trashed(SCOPE, SESSIONS[*session], *trashed))
        }
        Act::Note { session, policies } => {
            let memo = format!("{{\"count\":{}}}", told.count);
            let notes = [("default", memo.as_str()), ("other", "{}"), ("third", "[]")];
            let notes = &notes[..*policies];
            shown(&store.note(SCOPE, SESSIONS[*session], &memos(notes)))
        }
        Act::Do { session, acts: count, text } => {
            let mut acts = acts();
            acts.insert(0, goal(GoalChange::Next { text: TEXTS[*text].into() }));
            shown(&store.act(SCOPE, SESSIONS[*session], &acts[..*count]))
        }
        Act::Answer { session, at, cut, text } => {
            let after = shortened(told.history(*at), *cut);
            let mut answer = answer(&after, text.map_or("", |text| TEXTS[text]));
            if text.is_none() {
                (answer.key, answer.bytes, answer.stop) = (None, None, None);
            }
            shown(&store.record_response(SCOPE, SESSIONS[*session], &answer))
        }
        Act::Index { most } => {
            let mut open = store.unindexed(SCOPE, *most).unwrap();
            let Some((session, _)) = open.first().cloned() else { return String::new() };
            open.retain(|(other, _)| *other == session);
            let chains: Vec<HistoryHash> = open.iter().map(|(_, said)| said.chain).collect();
            let texts: Vec<&str> = open
                .iter()
                .filter_map(|(_, said)| {
                    TEXTS.into_iter().find(|text| ContentId::for_text(text) == said.text)
                })
                .collect();
            shown(&store.index(SCOPE, &session, &chains, &departure(&texts)))
        }
        Act::Erase { text } => shown(&store.erase(SCOPE, key(TEXTS[*text]))),
        Act::Delete { session } => shown(&store.delete(SCOPE, SESSIONS[*session])),
        Act::Begin { session, from, at, cut } => {
            let place = chain(&shortened(told.history(*at), *cut));
            let from = (session != from).then(|| (SESSIONS[*from].to_owned(), place));
            let beginning = Beginning { label: Some("one".into()), opened: 1, from };
            shown(&store.begin(SCOPE, SESSIONS[*session], &beginning, "now"))
        }
        Act::Reopen => String::new(),
    }
}

fn shortened(mut history: Vec<&'static str>, cut: usize) -> Vec<&'static str> {
    history.truncate(history.len().saturating_sub(cut));
    history
}

/// Remembers what was done.
fn remember(told: &mut Told, act: &Act) {
    told.count += 1;
    match act {
        Act::Append { at, cut, new, .. } => {
            let mut history = shortened(told.history(*at), *cut);
            history.extend(new.iter().map(|&text| TEXTS[text]));
            told.histories.insert(history);
        }
        Act::Commit { at, from, len, .. } => {
            let history = told.history(*at);
            let run: Vec<&str> = history.into_iter().skip(*from).take(*len).collect();
            if !run.is_empty() {
                let mut epoch = epoch(&run, &format!("summary {}", told.count - 1));
                epoch.parent = told.epochs.last().copied();
                told.epochs.push(epoch.hash());
            }
        }
        _ => {}
    }
}

/// All that a store can be asked.
fn portrait(store: &impl SessionArchive, told: &Told) -> Vec<String> {
    let mut told_all = vec![
        format!("{:?}", store.sessions(SCOPE, 0, 99, true)),
        format!("{:?}", store.snapshots(SCOPE, None)),
        format!("{:?}", store.unindexed(SCOPE, 99)),
    ];
    for session in SESSIONS {
        told_all.push(format!("{:?}", store.compactions_of_session(SCOPE, session)));
        let found = store.compactions(SCOPE, session, &keys(&TEXTS)).unwrap();
        assert_eq!(found.seen, store.revision(SCOPE, session).unwrap());
        told_all.push(format!("{:?}", CompactionSet { seen: 0, ..found }));
        told_all.push(format!("{:?}", store.rewrites(SCOPE, session, &keys(&TEXTS))));
        for history in &told.histories {
            told_all.push(format!("{:?}", store.find_deepest(SCOPE, session, &chains(history))));
            told_all.push(format!("{:?}", store.history(SCOPE, session, chain(history), 0, 99)));
            told_all.push(format!("{:?}", store.history(SCOPE, session, chain(history), 1, 2)));
        }
        told_all.push(format!("{:?}", store.answer(SCOPE, session)));
        told_all.push(format!("{:?}", store.branches(SCOPE, session)));
        told_all.push(format!("{:?}", store.meter(SCOPE, session)));
        told_all.push(format!("{:?}", store.memos(SCOPE, session)));
        told_all.push(format!("{:?}", store.acts(SCOPE, session)));
    }
    for history in &told.histories {
        for label in [None, Some("one")] {
            let chains = chains(history);
            let (format, answers) = ("anthropic", &|_| None);
            let clue = Clue { chains: &chains, format, label, least: 1, answers };
            told_all.push(format!("{:?}", store.holders(SCOPE, &clue)));
        }
    }
    for text in TEXTS {
        // What an original is called that several sessions keep is up to the store.
        let original = store.original(SCOPE, &ContentId::for_text(text).to_string());
        told_all.push(format!("{:?}", original.map(|it| (it.id, it.text))));
        let mut found: Vec<String> = store
            .search(SCOPE, text, 1000, &Chars)
            .unwrap()
            .iter()
            .flat_map(|excerpt| excerpt.text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        found.sort();
        told_all.push(format!("{found:?}"));
    }
    told_all
}

/// An answer that its client wrote anew goes with what it wrote; whoever else said the very same keeps it.
#[test]
fn what_is_left_keeps_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    let memory = MemoryStore::new();
    let stores: [&dyn SessionArchive; 2] = [&sqlite, &memory];
    let left = ["alpha", "alpha", "beta"];
    for store in stores {
        let batch = batch_of(store, "one", &[], &["alpha", "alpha", "beta", "alpha beta"]);
        store.append(SCOPE, "one", &batch).unwrap();
        store.record_response(SCOPE, "one", &answer(&left, "alpha")).unwrap();
        store.erase(SCOPE, key("alpha beta")).unwrap();
        let said = store.history(SCOPE, "one", chain(&left), 0, 9).unwrap();
        assert!(said.iter().all(|said| said.bytes.is_some()), "{said:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default()
    })]

    #[test]
    fn both_stores_answer_the_same(acts in any_acts()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("epitome.db");
        let (memory, mut sqlite) = (MemoryStore::new(), SqliteStore::open(&path).unwrap());
        let mut told = Told::default();
        for act in &acts {
            if matches!(act, Act::Reopen) {
                drop(sqlite);
                sqlite = SqliteStore::open(&path).unwrap();
            }
            prop_assert_eq!(
                perform(&memory, act, &told), perform(&sqlite, act, &told), "{:?}", act
            );
            remember(&mut told, act);
            prop_assert_eq!(portrait(&memory, &told), portrait(&sqlite, &told), "after {:?}", act);
        }
        prop_assert_eq!(sqlite.verify(false).unwrap(), []);
    }
}
