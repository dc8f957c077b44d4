//! What a replay does, as five streams that are hashed: prompts, events, asked hooks, what the
//! journal holds, and the report.
//!
//! Only what users, policy authors and hosts see is hashed, by the names that they see: types may
//! be named and built otherwise.

use std::fmt;
use std::sync::Mutex;

use epitome::types::Op;
use epitome::{Answer, HookInterrupt, HookResult, Job, PolicyTracer, SessionArchive, scope};
use epitome_lab::{ReplayTotals, ReplayTurn};
use serde::Serialize;

/// The name of the session that is played.
pub(crate) const SESSION: &str = "played";

/// Bytes in a row, each followed by how many they were.
#[derive(Clone, Default)]
struct Stream(blake3::Hasher);

impl Stream {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes).update(&(bytes.len() as u64).to_le_bytes());
    }

    fn add_json(&mut self, value: &impl Serialize) {
        self.add(&serde_json::to_vec(value).unwrap());
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.finalize().to_hex()[..12])
    }
}

/// Hashes whatever a chain of policies is asked, and what each of them says.
#[derive(Default)]
pub(crate) struct Hooks(Mutex<Stream>);

impl PolicyTracer for Hooks {
    fn asked(&self, job: &Job<'_>, policy: &str, opinion: &HookResult<Answer>) {
        let mut stream = self.0.lock().unwrap();
        stream.add(job.hook().as_bytes());
        stream.add_json(job);
        stream.add(policy.as_bytes());
        match opinion {
            Ok(answer) => stream.add_json(answer),
            Err(HookInterrupt::Ask(ask)) => stream.add(ask.user.as_bytes()),
            Err(HookInterrupt::Error(error)) => stream.add(error.what.as_bytes()),
        }
    }
}

#[derive(Default)]
pub(crate) struct Streams {
    scope: String,
    prompts: Stream,
    events: Stream,
    hooks: Stream,
    journal: Stream,
    report: Stream,
}

impl Streams {
    pub(crate) fn of(profile: &str) -> Self {
        Self { scope: scope(profile), ..Self::default() }
    }

    pub(crate) fn turn(&mut self, turn: &ReplayTurn, prompt: &[u8]) {
        self.prompts.add(prompt);
        turn.events.iter().for_each(|event| self.events.add_json(event));
        self.report.add_json(turn);
    }

    /// What stands in the journal behind a turn, but for the messages themselves.
    pub(crate) fn journal(&mut self, store: &dyn SessionArchive) {
        let (scope, session) = (&*self.scope, SESSION);
        let Ok(info) = store.session(scope, session) else { return };
        self.journal.add_json(&info);
        let epochs = store.compactions_of_session(scope, session).unwrap();
        let ids = epochs.iter().map(|one| format!("{} {}", one.epoch.id, one.undone));
        self.journal.add_json(&ids.collect::<Vec<_>>());
        self.journal.add_json(&store.acts(scope, session).unwrap());
        self.journal.add_json(&store.memos(scope, session).unwrap());
        self.journal.add_json(&store.lessons(scope).unwrap());
    }

    /// What stands there at the end: each message, each epoch with what it says, each original.
    pub(crate) fn history(&mut self, store: &dyn SessionArchive) {
        let (scope, session) = (&*self.scope, SESSION);
        let Ok(info) = store.session(scope, session) else { return };
        let most = info.figures.messages as usize;
        for said in store.history(scope, session, info.head, 0, most).unwrap() {
            let facts = format!("{} {} {} {}", said.chain, said.place, said.text, said.tokens);
            self.journal.add(facts.as_bytes());
            self.journal.add(said.bytes.as_deref().unwrap_or_default());
        }
        for recorded in store.compactions_of_session(scope, session).unwrap() {
            self.journal.add_json(&recorded.epoch.plan);
            self.journal.add_json(&recorded.epoch.credits);
            self.journal.add_json(&recorded.epoch.cause);
            for op in &recorded.epoch.plan.ops {
                let Op::Summarize(checkpoint) = op else { continue };
                let original = store.original(scope, &checkpoint.id.to_string()).unwrap();
                self.journal.add(original.source.as_bytes());
                self.journal.add(original.text.as_bytes());
            }
        }
        self.journal.add_json(&store.snapshots(scope, Some(session)).unwrap());
    }

    pub(crate) fn end(&mut self, hooks: &Hooks, figures: &ReplayTotals) {
        self.hooks = hooks.0.lock().unwrap().clone();
        self.report.add_json(&figures.clone().summary(0.0));
    }
}

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompts, events, hooks, journal, report, .. } = self;
        write!(f, "prompts={prompts} events={events} hooks={hooks} journal={journal} ")?;
        write!(f, "report={report}")
    }
}
