//! How often a request asks the log of its store: over a network each call is a round trip.

use std::sync::{Arc, Mutex};

use epitome::port::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineTail, LogBatch, LogRecord, PieceQuery,
    RecordLog, SearchPiece, StoredBlob,
};
use epitome::types::{Actor, EventKind, GoalAction, GoalChange, Priority};
use epitome::{
    Compressor, FallbackStore, Format, LOCAL, MemoryLog, ModelResponse, Profile, Prompt,
    RecordStore, RoutedPrompt, RoutedRequest, SessionAdmin, SessionRouter, StoreError,
    WindowSetting,
};
use epitome_testkit::FixedCounter;
use epitome_wire::ResponseParser;
use serde_json::{Value, json};

/// A log that writes down what it is asked.
#[derive(Debug, Default)]
struct CountedLog {
    log: MemoryLog,
    asked: Mutex<Vec<String>>,
}

impl CountedLog {
    fn note(&self, what: &str, of: impl std::fmt::Debug) {
        self.asked.lock().unwrap().push(format!("{what} {of:?}"));
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl RecordLog for CountedLog {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        self.note("append", &batch.line);
        self.log.append(scope, batch)
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        self.note("read", tails.iter().map(|tail| tail.line).collect::<Vec<_>>());
        self.log.read(scope, tails)
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        self.note("scopes", ());
        self.log.scopes()
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        self.note("lines", ());
        self.log.lines(scope)
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        self.note("find", keys.len());
        self.log.find(scope, keys)
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        self.note("blobs", query.ids.len());
        self.log.blobs(scope, query)
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        self.note("pieces", query.text);
        self.log.pieces(scope, query)
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        self.note("all_pieces", line);
        self.log.all_pieces(scope, line)
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        self.note("erase", line);
        self.log.erase(scope, line, what)
    }
}

/// Processes that serve one conversation over one log.
#[derive(Default)]
struct Fleet {
    log: Arc<CountedLog>,
    label: Option<String>,
    messages: Vec<Value>,
    /// Whether each answer decides something.
    decides: bool,
}

impl Fleet {
    fn store(&self) -> Arc<RecordStore<Arc<CountedLog>>> {
        Arc::new(RecordStore::over(Arc::clone(&self.log)))
    }

    /// A process as hosts build it, with memory behind its store.
    fn process(&self) -> SessionRouter {
        let store = FallbackStore::over(RecordStore::over(Arc::clone(&self.log)));
        SessionRouter::new(Arc::new(store), || {
            let clock = || "2026-01-02T03:04:05Z".to_owned();
            let compressor = Compressor::builder().counter(FixedCounter::Words).clock(clock);
            compressor.window(WindowSetting::Limit(900))
        })
    }

    /// The prompt that a process makes of what was said, and what it asks of the log for that.
    async fn sent(&self, process: &SessionRouter) -> (RoutedPrompt, Vec<String>) {
        let (system, messages) = ("Be brief.", &self.messages);
        let body = json!({"model": "m", "max_tokens": 9, "system": system, "messages": messages});
        let ask = RoutedRequest {
            bytes: body.to_string().into(),
            format: Format::Anthropic,
            tenant: LOCAL.to_owned(),
            label: self.label.clone(),
            window: None,
            told: None,
            cuts: false,
            client: None,
        };
        self.log.asked();
        let sent = process.prompt_for(&ask).await.unwrap();
        (sent, self.log.asked())
    }

    /// What a turn sends, and what is asked of the log for it and for its answer.
    async fn turn(&mut self, process: &SessionRouter) -> (Prompt, [Vec<String>; 2]) {
        let turn = self.messages.len();
        let text = format!("Now mend part {turn}. {}", "It is long. ".repeat(20));
        self.messages.push(json!({"role": "user", "content": text}));
        let (sent, asked) = self.sent(process).await;
        let decided = match self.decides {
            true => format!("\n[DECISION] Part {turn} stays as it is - LOCKED"),
            false => String::new(),
        };
        let said = format!("Part {turn} is whole again.{decided}");
        let said = json!([{"type": "text", "text": said}]);
        let answer = json!({"type": "message", "role": "assistant", "content": said,
            "stop_reason": "end_turn"});
        let mut parser = ResponseParser::new(Format::Anthropic);
        parser.hear(answer.to_string().as_bytes());
        let answer = parser.end();
        let answer = ModelResponse {
            usage: answer.usage.unwrap_or_default(),
            messages: answer.messages.into_iter().map(Into::into).collect(),
            stop: answer.stop,
        };
        process.record_response(&sent, &answer).await;
        self.messages.push(json!({"role": "assistant", "content": said}));
        (sent.prompt, [asked, self.log.asked()])
    }
}

/// A turn that goes on asks twice: for its prompt and for its answer, each with what is new.
#[tokio::test]
async fn a_request_that_goes_on_is_one_call_and_its_answer_another() {
    for label in [None, Some("client".to_owned())] {
        let mut fleet = Fleet { label, ..Fleet::default() };
        let process = fleet.process();
        for turn in 0..6 {
            let (_, asked) = fleet.turn(&process).await;
            // Without a label the first answer is the proof of all that follows.
            for found in asked.iter().filter(|_| turn > 1) {
                let appended = found.iter().all(|call| call.starts_with("append"));
                assert!(appended && found.len() == 1, "turn {turn}: {found:?}");
            }
        }
    }
}

/// Whoever knows a message does not hear it again: a crash between the two would lose what it decides.
#[tokio::test]
async fn what_a_message_decides_is_recorded_in_the_same_call() {
    let mut fleet = Fleet { decides: true, ..Fleet::default() };
    let process = fleet.process();
    for turn in 0..6 {
        let (prompt, [asked, _]) = fleet.turn(&process).await;
        let told = prompt.events.iter().map(|it| &it.what);
        let decided = told.filter(|what| matches!(what, EventKind::GoalUpdated { .. })).count();
        let appended = asked.iter().filter(|call| call.starts_with("append")).count();
        // The first one begins the session, too.
        let expected = if turn == 0 { [0, 2] } else { [1, 1] };
        assert_eq!([decided, appended], expected, "turn {turn}: {asked:?}");
    }
}

#[tokio::test]
async fn another_process_goes_on_after_three_calls() {
    for label in [None, Some("client".to_owned())] {
        let mut fleet = Fleet { label, ..Fleet::default() };
        for turn in 0..6 {
            let process = fleet.process();
            let (_, [prompt, answer]) = fleet.turn(&process).await;
            if turn > 0 {
                assert!(
                    prompt.len() <= 3 && answer.len() == 1,
                    "turn {turn}: {prompt:?} {answer:?}"
                );
            }
        }
    }
}

/// Two turns into the first compression of a conversation.
async fn compressed(fleet: &mut Fleet, process: &SessionRouter) -> Prompt {
    let mut since = 0;
    loop {
        let (prompt, _) = fleet.turn(process).await;
        since += u32::from(prompt.tokens[1] < prompt.tokens[0]);
        if since == 2 {
            return prompt;
        }
    }
}

/// Takes the last compression back, in another process.
fn undone_elsewhere(fleet: &Fleet) -> SessionAdmin {
    let elsewhere = SessionAdmin::new(fleet.store(), Profile::default());
    let session = elsewhere.session(None).unwrap().name;
    elsewhere.compressions(&session).unwrap().undo("2026-01-02T03:05:00Z").unwrap();
    elsewhere
}

/// A process that asks nothing before it records still goes by what others did in between.
#[tokio::test]
async fn what_is_done_elsewhere_holds_at_the_next_request() {
    let mut fleet = Fleet::default();
    let process = fleet.process();
    let standing = compressed(&mut fleet, &process).await;
    let elsewhere = undone_elsewhere(&fleet);
    let set = GoalChange::Set { text: "Whole parts".into(), priority: Priority::High };
    let goal = vec![GoalAction::new(None, set)];
    let at = "2026-01-02T03:05:01Z";
    elsewhere.change_goals(Some(&standing.session), goal, &Actor::User, at).unwrap();
    let (prompt, asked) = fleet.turn(&process).await;
    assert_eq!(prompt.session, standing.session);
    let told = |found: fn(&EventKind) -> bool| prompt.events.iter().any(|it| found(&it.what));
    assert!(told(|what| matches!(what, EventKind::GoalUpdated { .. })), "{:?}", prompt.events);
    assert!(told(|what| matches!(what, EventKind::CompactionChanged { compaction: None })));
    // It has no room for all that was said, so another one is made.
    let (journal, scope) = (elsewhere.journal(), elsewhere.scope());
    let made = journal.compactions_of_session(scope, &standing.session).unwrap();
    let undone: Vec<_> = made.iter().map(|it| it.undone).collect();
    assert_eq!(undone, [true, false], "{asked:?}");

    // And a turn of another process in between: the history is one.
    let other = fleet.process();
    let (over_there, _) = fleet.turn(&other).await;
    let (here, _) = fleet.turn(&process).await;
    assert_eq!([&over_there.session, &here.session], [&standing.session; 2]);
    assert_eq!(journal.sessions(scope, 0, 9, false).unwrap().len(), 1);
}

/// Nothing is recorded of a request that is sent again, so nothing would find out.
#[tokio::test]
async fn what_is_done_elsewhere_holds_for_a_request_that_is_sent_again() {
    let mut fleet = Fleet::default();
    let process = fleet.process();
    let standing = compressed(&mut fleet, &process).await;
    fleet.messages.pop();
    let (again, _) = fleet.sent(&process).await;
    assert_eq!(again.prompt.bytes, standing.bytes);
    undone_elsewhere(&fleet);
    let (again, asked) = fleet.sent(&process).await;
    assert_ne!(again.prompt.bytes, standing.bytes, "{asked:?}");
}
