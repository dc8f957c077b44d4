//! Levers over a journal in memory that other processes write to.

use std::path::Path;
use std::sync::Arc;

use epitome_config::RedactionPatterns;
use epitome_config::profile::Profile;
use epitome_config::scope::{LOCAL, scope};
use epitome_kernel::{Journal, ResponseRecord};
use epitome_store::{MemoryStore, SessionArchive};
use epitome_types::{
    Actor, ContentId, DecisionKind, EntryKey, GoalAction, GoalChange, Priority, RecordedAction,
    SessionAction, TokenUsage,
};
use epitome_workspace::augments::AugmentFolders;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ContextStatus, LeverCall, RecallRequest, SessionControls};
use crate::admin::{LineRange, SessionAdmin};
use crate::error::AdminError;
use crate::records::chosen;

const AT: &str = "2026-01-02T03:04:05Z";

/// A journal with a project beside it.
struct Desk {
    journal: Arc<MemoryStore>,
    project: TempDir,
}

impl Desk {
    /// A journal with these sessions, the last one used last.
    fn new(sessions: &[&str]) -> Self {
        let desk =
            Self { journal: Arc::new(MemoryStore::new()), project: tempfile::tempdir().unwrap() };
        for session in sessions {
            desk.say(session, &format!("Mend the parser of {session}."));
        }
        desk
    }

    fn levers(&self) -> SessionControls {
        let levers =
            SessionControls::new(self.journal.clone(), Profile::default(), LOCAL, Actor::Model);
        let folders = AugmentFolders::new(Some(self.project.path()), None);
        levers.with_augments(folders).with_clock(Arc::new(|| AT.to_owned()))
    }

    fn say(&self, session: &str, text: &str) {
        let messages = json!([{"role": "user", "content": text}]).to_string();
        let keeper = self.levers();
        keeper.keeper().import(messages.as_bytes(), None, Some(session), AT).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes the files that users would")]
    fn augment(&self, name: &str, text: &str) {
        let path = self.project.path().join("augments").join(Path::new(name).with_extension("md"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A model answers in a session of a scope with a call of this id.
    fn answer(&self, (scope, name): (&str, &str), id: &str, tool: &str) {
        let head = self.journal.session(scope, name).unwrap().head;
        let function = json!({"name": tool, "arguments": "{\"text\": \"Ship\"}"});
        let call = json!({"id": id, "type": "function", "function": function});
        let said = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let key = EntryKey([id.len() as u8; 16]);
        let answered = ResponseRecord {
            after: head,
            ahead: 0,
            key: Some(key),
            chain: head.append(key),
            bytes: Some(said.to_string().into_bytes()),
            text: ContentId::for_text(id),
            usage: TokenUsage::default(),
            stop: None,
            at: AT.to_owned(),
            is_whole: false,
        };
        self.journal.record_response(scope, name, &answered).unwrap();
    }

    fn acts(&self, session: &str) -> Vec<SessionAction> {
        let acts = self.journal.acts(self.levers().keeper().scope(), session).unwrap();
        acts.into_iter().map(|acted| acted.act).collect()
    }

    fn done(&self, session: &str, act: SessionAction) {
        let acted = RecordedAction { act, by: Actor::User, at: AT.to_owned() };
        self.journal.act(self.levers().keeper().scope(), session, &[acted]).unwrap();
    }
}

fn names(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_session_is_the_one_that_is_named_or_the_newest() {
    let desk = Desk::new(&["first", "second"]);
    let levers = desk.levers();
    assert_eq!(levers.session(None).unwrap().name, "second");
    assert_eq!(levers.session(Some("first")).unwrap().name, "first");
    let error = levers.session(Some("third")).unwrap_err().to_string();
    assert_eq!(error, "no session `third`; those used last are second, first");
    let none = Desk::new(&[]);
    assert!(matches!(none.levers().session(None), Err(AdminError::NoSessions)));
    let error = none.levers().session(Some("x")).unwrap_err().to_string();
    assert_eq!(error, "no session `x`; none is recorded yet");
}

#[test]
fn a_session_is_found_by_the_call_in_its_newest_answer() {
    let desk = Desk::new(&["first", "second"]);
    let levers = desk.levers();
    let scope = levers.keeper().scope();
    let answers = |name: &str, id: &str, tool: &str| desk.answer((scope, name), id, tool);
    answers("first", "toolu_7", "mcp__epitome__goal");
    answers("second", "toolu_12", "Bash");
    let of = |id, tool, arguments: Value| {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call = LeverCall { id, tool, arguments: &arguments };
        levers.session_of_call(&call).map_err(|error| error.to_string())
    };
    let first = || Ok(Some("first".to_owned()));
    let none = || json!({});
    assert_eq!(of(Some("toolu_7"), "goal", none()), first());
    assert_eq!(of(Some("toolu_8"), "goal", none()), Ok(None));
    assert_eq!(of(Some(""), "goal", none()), Ok(None));
    // A client that tells no id: what was called, and with what.
    let ship = || json!({"text": "Ship"});
    assert_eq!(of(None, "goal", ship()), first());
    assert_eq!(of(None, "goal", json!({"text": "Sink"})), Ok(None));
    assert_eq!(of(None, "oal", ship()), Ok(None));
    assert_eq!(of(None, "Bash", ship()), Ok(Some("second".to_owned())));
    answers("second", "toolu_123", "epitome__goal");
    let both = "second and first made this call of `goal` at once; name the one that is meant in \
                `session`";
    assert_eq!(of(None, "goal", ship()), Err(both.to_owned()));
}

#[test]
fn sessions_of_other_profiles_are_reached_where_a_host_says_so() {
    let desk = Desk::new(&["talk"]);
    let other = scope("other");
    for name in ["talk", "more"] {
        let journal = desk.journal.clone();
        let keeper = SessionAdmin::of_scope(journal, Profile::default(), &other);
        let messages = json!([{"role": "user", "content": format!("Go on with {name}.")}]);
        let later = "2026-01-02T03:04:06Z";
        keeper.import(messages.to_string().as_bytes(), None, Some(name), later).unwrap();
    }
    assert_eq!(desk.levers().session(None).unwrap().name, "talk");
    assert!(desk.levers().session(Some("more")).is_err());
    let levers = desk.levers().with_profiles(|_| None);
    assert_eq!(levers.session(None).unwrap().name, "more");
    assert_eq!(levers.session(Some("more")).unwrap().name, "more");
    // Of one name the nearest; a call of the farther one is not taken for one of that.
    let own = levers.keeper().scope().to_owned();
    let near = desk.journal.session(&own, "talk").unwrap();
    assert_eq!(levers.session(Some("talk")).unwrap().head, near.head);
    desk.answer((&own, "talk"), "toolu_7", "goal");
    desk.answer((&other, "talk"), "toolu_12", "goal");
    desk.answer((&other, "more"), "toolu_123", "goal");
    let arguments = serde_json::Map::new();
    let of = |id| {
        levers.session_of_call(&LeverCall { id: Some(id), tool: "goal", arguments: &arguments })
    };
    assert_eq!(of("toolu_7").unwrap().as_deref(), Some("talk"));
    assert_eq!(of("toolu_123").unwrap().as_deref(), Some("more"));
    assert!(matches!(of("toolu_12"), Err(AdminError::AmbiguousCall { .. })));
}

#[test]
fn an_ask_is_pending_until_a_request_looked_at_it() {
    // RULES 35: the tool sets a pending flag that the next request resolves and clears.
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    let pending = || levers.status(None).unwrap().asked;
    assert_eq!(pending(), None);
    assert!(levers.request_compression(None, "compress_to_checkpoint").unwrap().pending);
    assert_eq!(pending().as_deref(), Some("compress_to_checkpoint"));
    desk.done("a", SessionAction::Met);
    assert_eq!(pending(), None);
    levers.deactivate(None, &names(&["*"]), "deactivate_augments").unwrap();
    assert_eq!(pending().as_deref(), Some("deactivate_augments"));
}

#[test]
fn augments_are_loaded_with_what_they_require_and_unloaded() {
    // RULES 40.
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    desk.augment("house/rules", "---\npinned: true\n---\nHouse rules.");
    desk.augment("refactoring/big", "---\nrequires: [tests/first]\n---\n# Big steps\nOne by one.");
    desk.augment("refactoring/small", "Small steps.");
    desk.augment("tests/first", "Tests first.");

    let loaded = levers.activate(None, &names(&["refactoring/*"])).unwrap();
    let texts: Vec<_> = loaded.loaded.iter().map(|one| (&*one.name, &*one.title)).collect();
    let small = ("refactoring/small", "refactoring/small");
    assert_eq!(texts, [("tests/first", "tests/first"), ("refactoring/big", "Big steps"), small]);
    assert_eq!(loaded.loaded[1].text, "# Big steps\nOne by one.");
    let all = ["house/rules", "tests/first", "refactoring/big", "refactoring/small"];
    assert_eq!(loaded.active, all);
    // Again it changes nothing and records nothing.
    assert_eq!(levers.activate(None, &names(&["refactoring/big"])).unwrap().loaded, []);
    assert_eq!(desk.acts("a").len(), 2);

    let gone = levers.deactivate(None, &names(&["refactoring/big", "none/*"]), "t").unwrap();
    assert_eq!(gone.unloaded, ["tests/first", "refactoring/big"]);
    assert_eq!(gone.notes, ["nothing that is active is called `none/*`"]);
    let gone = levers.deactivate(None, &names(&["*"]), "t").unwrap();
    assert_eq!(
        (&gone.unloaded[..], &gone.active[..]),
        (&names(&["refactoring/small"])[..], &names(&["house/rules"])[..])
    );
    let kept: Vec<_> =
        gone.kept.iter().map(|one| format!("{}: {}", one.name, one.because)).collect();
    assert_eq!(kept, ["house/rules: it is pinned in its file"]);
}

#[test]
fn what_another_requires_stays_and_edits_hold_at_once() {
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    desk.augment("a/one", "---\nrequires: b/base\n---\nOne.");
    desk.augment("b/base", "Base.");
    levers.activate(None, &names(&["*"])).unwrap();
    let kept = levers.deactivate(None, &names(&["b/base"]), "t").unwrap();
    assert_eq!((kept.unloaded.len(), &*kept.kept[0].because), (0, "a/one requires it"));
    // The file no longer requires it, and with the next look it is gone.
    desk.augment("a/one", "One alone.");
    assert_eq!(levers.status(None).unwrap().augments, ["a/one"]);
    desk.augment("a/one", "---\nrequires: b/gone\n---\nOne.");
    let shelf = levers.list(None).unwrap();
    let active: Vec<_> = shelf.augments.iter().map(|one| (&*one.name, one.active)).collect();
    assert_eq!(active, [("a/one", false), ("b/base", false)]);
    assert!(shelf.notes[0].contains("a/one.md:2: requires `b/gone`, which is not there"));
    assert_eq!(shelf.notes.len(), 1, "{:?}", shelf.notes);
}

#[test]
fn what_cannot_be_loaded_loads_nothing() {
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    desk.augment("a/fine", "Fine.");
    desk.augment("a/broken", "---\ntitel: x\n---\nText.");
    for patterns in [["a/fine", "a/broken"], ["a/fine", "x/*"]] {
        let error = levers.activate(None, &names(&patterns)).unwrap_err();
        assert!(matches!(error, AdminError::Augment(_)), "{error}");
    }
    assert_eq!(desk.acts("a"), []);
    assert_eq!(Desk::new(&[]).levers().list(None).unwrap().augments, []);
}

#[test]
fn what_was_chosen_follows_from_the_acts() {
    let act = |name: &str, active| RecordedAction {
        act: SessionAction::Augment { name: name.to_owned(), active },
        by: Actor::Model,
        at: AT.to_owned(),
    };
    let acts = [act("a/1", true), act("a/2", true), act("a/1", false), act("a/1", true)];
    assert_eq!(chosen(&acts), ["a/2", "a/1"]);
}

#[test]
fn the_watermark_is_shown_where_it_stands() {
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    let key = levers.keeper().history(None).unwrap().keys()[0];
    let mark = |entry| SessionAction::Mark {
        entry,
        copy: None,
        tool: "deactivate_augments".into(),
        blocks: 4,
        saved: 9,
    };
    let entry = |standing: ContextStatus| standing.watermark.unwrap().entry;
    desk.done("a", mark(key));
    assert_eq!(entry(levers.status(None).unwrap()).as_deref(), Some("e0"));
    desk.done("a", mark(EntryKey([9; 16])));
    assert_eq!(entry(levers.status(None).unwrap()), None);
}

#[test]
fn what_is_recalled_fits_and_says_how_to_go_on() {
    let desk = Desk::new(&["a"]);
    let text: String = (1..=200).map(|line| format!("line {line} of the long report\n")).collect();
    desk.say("long", &text);
    let levers = desk.levers();
    let found = levers.recall(RecallRequest::Query("long report"), 400).unwrap();
    assert!(!found.found.is_empty() && found.found[0].source.starts_with("long: e0"));
    let id = &found.found[0].id;
    let first = levers.recall(RecallRequest::Original(id, LineRange::ALL), 100).unwrap();
    let lines = first.found[0].text.lines().count();
    assert!((5..40).contains(&lines), "{lines}");
    let next = format!("go on with lines {}-200 of this id", lines + 1);
    assert_eq!(first.more.as_deref(), Some(&*next));
    let some = levers.recall(RecallRequest::Original(id, "199-".parse().unwrap()), 100).unwrap();
    let end = "line 199 of the long report\nline 200 of the long report";
    assert_eq!((some.found[0].text.trim_end(), some.more), (end, None));
    let tiny = levers.recall(RecallRequest::Query(id), 2).unwrap();
    assert!(tiny.found[0].text.len() < 20 && tiny.more.unwrap().contains("allow more tokens"));
    assert!(levers.recall(RecallRequest::Original("ffffffff", LineRange::ALL), 9).is_err());
}

#[test]
fn a_transcript_says_how_much_of_it_is_missing() {
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    let whole = levers.transcript(None, 1 << 20).unwrap();
    assert!(whole.contains("Mend the parser of a."), "{whole}");
    let none = levers.transcript(None, 3).unwrap();
    assert!(none.starts_with("The first 1 messages are left out here; `epitome session export a`"));
}

/// What a person threw away no model reads or changes, and it is as if there were none.
#[test]
fn a_session_in_the_trash_is_none() {
    let desk = Desk::new(&["a", "b"]);
    let levers = desk.levers();
    let scope = levers.keeper().scope().to_owned();
    desk.journal.set_trashed(&scope, "a", true).unwrap();
    assert_eq!(levers.session(None).unwrap().name, "b");
    let refused = |error: AdminError| match error {
        AdminError::UnknownSession { name, known } => {
            assert_eq!((&*name, known), ("a", names(&["b"])))
        }
        error => panic!("{error}"),
    };
    refused(levers.transcript(Some("a"), 1000).unwrap_err());
    refused(levers.ledger(Some("a")).unwrap_err());
    refused(levers.pin(Some("a"), &names(&["e0"]), true).unwrap_err());
    refused(levers.snapshot(Some("a"), None).unwrap_err());
}

#[test]
fn entries_are_pinned_and_unpinned() {
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    assert_eq!(levers.pin(None, &names(&["e0"]), true).unwrap().pinned, ["e0"]);
    assert_eq!(levers.pin(None, &names(&["e0"]), false).unwrap().pinned, Vec::<String>::new());
    let error = levers.pin(None, &names(&["e0"]), false).unwrap_err().to_string();
    assert_eq!(error, "e0 of session `a` is not pinned by hand");
    assert!(levers.pin(None, &names(&["e0", "e7"]), true).is_err());
    assert_eq!(levers.status(None).unwrap().pinned, Vec::<String>::new(), "all or none");
}

#[test]
fn goals_are_changed_or_refused() {
    // RULES 56.
    let desk = Desk::new(&["a"]);
    let levers = desk.levers();
    let goal = |change: GoalChange| levers.change_goals(None, vec![change.into()]);
    let text = || "Mend the parser.".to_owned();
    let set = goal(GoalChange::Set { text: text(), priority: Priority::High }).unwrap();
    assert_eq!((&*set.goals[0].id, &*set.goals[0].status), ("g1", "active"));
    goal(GoalChange::Revise { text: "Mend it all.".to_owned() }).unwrap();
    let (rationale, kind) = (None, DecisionKind::Architecture);
    goal(GoalChange::Decide { text: "No macros.".into(), rationale, locked: false, kind }).unwrap();
    let view = goal(GoalChange::Lock { decision: "No macros.".into() }).unwrap();
    let one = &view.goals[0];
    assert_eq!((&*one.text, one.objective.as_deref()), ("Mend it all.", Some("Mend the parser.")));
    assert_eq!(one.decisions, ["No macros. (locked)"]);
    assert_eq!(levers.status(None).unwrap().goal.as_deref(), Some("Mend it all."));
    let before = desk.acts("a").len();
    let lost = GoalAction::new(Some("g7".into()), GoalChange::Pause);
    assert!(matches!(levers.change_goals(None, vec![lost]), Err(AdminError::Goal(_))));
    // What says the same again is not recorded again.
    goal(GoalChange::Revise { text: "Mend it all.".to_owned() }).unwrap();
    assert_eq!(desk.acts("a").len(), before);
}

#[test]
fn what_must_not_be_recorded_is_not() {
    let desk = Desk::new(&["a"]);
    let redaction = RedactionPatterns::new(&["sk-[a-z]+".to_owned()]).unwrap();
    let mut profile = Profile::default();
    profile.redaction = redaction;
    let levers = SessionControls::new(desk.journal.clone(), profile, LOCAL, Actor::Model);
    let text = "Use the key sk-secret.".to_owned();
    let view = levers
        .change_goals(None, vec![GoalChange::Set { text, priority: Priority::Low }.into()])
        .unwrap();
    assert_eq!(view.goals[0].text, "Use the key [redacted].");
    assert!(!format!("{:?}", desk.acts("a")).contains("sk-secret"));
}
