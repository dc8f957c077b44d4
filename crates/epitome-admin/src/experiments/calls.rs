//! What the histories of sessions tell without a judge: calls that failed, calls that were made again
//! for what was known already, text that left in compressions and was fetched again, and people who say
//! again what they said.
//!
//! Invariant: counted on the way on which a session stands; the order of a call's arguments makes no
//! difference, and a result that changed meanwhile is no repetition. Nothing left a session that was held
//! out: what would have is measured in its shadow. Asked for reports alone.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use epitome_config::ExperimentConfig;
use epitome_config::scope::ScopeOwner;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::{ContentId, Entry, PartBody, Role, SessionInfo};
use serde::Serialize;

use super::around::{AnsweredCall, CallsAround};
use super::corrections::{TypedCounts, typed_counts};
use super::shadow::{HeldOutSession, ShadowCounts, ShadowReplay, ShadowSession};
use crate::admin::regret::of_history;
use crate::admin::request::request_of_session;
use crate::admin::timeline::eviction_places;
use crate::admin::{MessageInfo, SessionHistory};
use crate::decode::decode;
use crate::regret::{REGRET_TURNS, RegretCounts, is_recall};
use crate::same_call::same_call;
use crate::savings::session_hash;

/// A call is made again where the same was made at most so many turns before.
const NEAR: u32 = 20;

/// Counts over the calls of sessions, and over what people said in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CallCounts {
    /// Turns of the model.
    pub(crate) model_turns: u64,
    /// Messages that a person typed.
    pub(crate) typed: u64,
    /// Those of them that say again what was said before.
    pub(crate) corrections: u64,
    /// Calls of tools that have a result.
    pub(crate) calls: u64,
    /// Those of them that failed, as their client marks them.
    pub(crate) failed: u64,
    /// Those that were made before, with the same result.
    pub(crate) repeated: u64,
    /// Those that asked for text which had left the prompt.
    pub(crate) recalled: u64,
    /// Text that left in compressions, and what of it was fetched again soon after; in a hold-out what
    /// would have left.
    #[serde(flatten)]
    pub(crate) regret: RegretCounts,
    /// Calls before and behind those compressions.
    #[serde(flatten)]
    pub(crate) around: CallsAround,
}

impl AddAssign for CallCounts {
    fn add_assign(&mut self, other: Self) {
        self.model_turns += other.model_turns;
        self.typed += other.typed;
        self.corrections += other.corrections;
        self.calls += other.calls;
        self.failed += other.failed;
        self.repeated += other.repeated;
        self.recalled += other.recalled;
        self.regret += other.regret;
        self.around += other.around;
    }
}

/// Whose sessions are read, and how.
pub(crate) struct SessionsAsked<'a> {
    pub(crate) store: &'a dyn SessionArchive,
    pub(crate) tenant: &'a str,
    /// The profiles in whose scopes they are.
    pub(crate) profiles: &'a [&'a str],
    /// Replays those that were held out; without it nothing is known of what would have left them.
    pub(crate) shadow: Option<&'a dyn ShadowReplay>,
}

impl SessionsAsked<'_> {
    /// Reads the calls of sessions by their [`session_hash`]: of those that `is_wanted`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn calls(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<BTreeMap<String, CallCounts>, StoreError> {
        let owner = ScopeOwner::from(self.tenant);
        let mut counts = BTreeMap::new();
        for scope in self.store.scopes()? {
            let profile = owner.profile_of(&scope).filter(|it| self.profiles.contains(it));
            let Some(profile) = profile else { continue };
            // What its own plans would have taken out went out all the same.
            let holds_out = profile == ExperimentConfig::HOLD_OUT;
            for info in self.store.sessions(&scope, 0, usize::MAX, true)? {
                let hash = session_hash(&scope, &info.name);
                if !is_wanted(&hash) {
                    continue;
                }
                let shadow = match self.shadow.filter(|_| holds_out) {
                    Some(shadow) => self.shadow_counts(shadow, [&scope, &hash], &info)?,
                    None => None,
                };
                let session = MeasuredSession::new(self.store, &scope, info)?;
                let mut found = session.counts();
                match shadow {
                    Some(ShadowCounts { regret, around, .. }) => {
                        (found.regret, found.around) = (regret, around);
                    }
                    None if holds_out => {}
                    None => session.measure(self.store, &scope, &mut found)?,
                }
                counts.insert(hash, found);
            }
        }
        Ok(counts)
    }

    /// What would have left a session that was held out, and what came of that.
    fn shadow_counts(
        &self,
        shadow: &dyn ShadowReplay,
        [scope, hash]: [&str; 2],
        info: &SessionInfo,
    ) -> Result<Option<ShadowCounts>, StoreError> {
        let replayed = || {
            let Some(it) = self.shadow_of(shadow, scope, info) else { return Ok(None) };
            let info = it.store.session(&it.scope, &it.name)?;
            let session = MeasuredSession::new(&*it.store, &it.scope, info)?;
            let mut found = CallCounts::default();
            session.measure(&*it.store, &it.scope, &mut found)?;
            Ok(Some((found.regret, found.around)))
        };
        let mark = shadow.mark();
        ShadowCounts::of_session(self.store, [self.tenant, hash], info, &mark, replayed)
    }

    /// A session that was held out as the arm would have had it that it is compared with.
    fn shadow_of(
        &self,
        shadow: &dyn ShadowReplay,
        scope: &str,
        info: &SessionInfo,
    ) -> Option<ShadowSession> {
        let request =
            request_of_session(self.store, scope, info).map_err(|error| error.to_string());
        let replayed = request.and_then(|(format, request)| {
            let limit = Some(info.figures.limit).filter(|limit| *limit > 0);
            shadow.replay(&HeldOutSession { format, request, limit })
        });
        let name = &info.name;
        replayed.map_err(|error| tracing::warn!(name, error, "a session has no shadow")).ok()
    }
}

/// A session as it was read.
struct MeasuredSession {
    history: SessionHistory,
    entries: Vec<Entry>,
}

impl MeasuredSession {
    fn new(store: &dyn SessionArchive, scope: &str, info: SessionInfo) -> Result<Self, StoreError> {
        let mut said = store.history(scope, &info.name, info.head, 0, usize::MAX)?;
        let messages = said.iter().map(MessageInfo::from).collect();
        // The last answer has come, though no request brought it yet.
        let answer = store.answer(scope, &info.name)?;
        said.extend(answer.filter(|answer| answer.place as usize == said.len()));
        let entries = decode(&info.format, &said)?;
        let history = SessionHistory::of_messages(store, scope, info, messages)?;
        Ok(Self { history, entries })
    }

    /// What is counted whether anything left or not.
    fn counts(&self) -> CallCounts {
        counted(&self.entries).0
    }

    /// Adds what its compressions took out, what of that came again, and what failed around them.
    fn measure(
        &self,
        store: &dyn SessionArchive,
        scope: &str,
        found: &mut CallCounts,
    ) -> Result<(), StoreError> {
        let Self { history, entries } = self;
        if history.epochs().is_empty() {
            return Ok(());
        }
        let regrets = of_history(store, scope, history, entries)?;
        let near = regrets.iter().map(|regret| regret.counts(REGRET_TURNS));
        near.for_each(|counts| found.regret += counts);
        let turns_before = |place: usize| {
            let said = entries.iter().take(place);
            said.filter(|entry| entry.role == Role::Assistant).count() as u32
        };
        let places = eviction_places(history);
        let compressed: Vec<u32> = places.iter().map(|it| turns_before(it.made)).collect();
        found.around += CallsAround::of_calls(&counted(entries).1, &compressed);
        Ok(())
    }
}

/// Counts the calls of a history, and gives each that has a result.
fn counted(entries: &[Entry]) -> (CallCounts, Vec<AnsweredCall>) {
    let TypedCounts { typed, corrections } = typed_counts(entries);
    let mut counts = CallCounts { typed, corrections, ..CallCounts::default() };
    let mut calls = Vec::new();
    let mut open = HashMap::<&str, String>::new();
    // By the call and its result, the turn in which it was made last.
    let mut made = HashMap::<(String, ContentId), u32>::new();
    let mut turn = 0;
    for entry in entries {
        turn += u32::from(entry.role == Role::Assistant);
        counts.model_turns = u64::from(turn);
        for part in &entry.parts {
            match &part.body {
                PartBody::Call(call) => {
                    counts.recalled += u64::from(is_recall(&call.tool, &call.arguments));
                    open.insert(&call.id, same_call(&call.tool, &call.arguments));
                }
                PartBody::Result(result) => {
                    let Some(call) = open.remove(&*result.call) else { continue };
                    counts.calls += 1;
                    counts.failed += u64::from(result.error);
                    calls.push(AnsweredCall { turn, failed: result.error });
                    let text = ContentId::for_text(&result_text(entry, &result.text));
                    let before = made.insert((call, text), turn);
                    let is_near = before.is_some_and(|before| turn - before <= NEAR);
                    counts.repeated += u64::from(is_near);
                }
                _ => {}
            }
        }
    }
    (counts, calls)
}

/// The text of a result, which may stand in parts of its own.
fn result_text(entry: &Entry, text: &str) -> String {
    match text.is_empty() {
        true => entry.readable().into_owned(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use epitome_wire::{Format, RequestDocument};
    use serde_json::{Value, json};

    use super::*;

    /// A call with its result.
    fn round(number: usize, tool: &str, input: &Value, text: &str, failed: bool) -> [Value; 2] {
        let id = format!("toolu_{number}");
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let result = json!({
            "type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed,
        });
        [
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [result]}),
        ]
    }

    #[track_caller]
    fn check(rounds: &[(&str, Value, &str, bool)], expected: [u64; 4]) {
        let rounds = rounds.iter().enumerate();
        let rounds = rounds
            .flat_map(|(at, (tool, input, text, failed))| round(at, tool, input, text, *failed));
        let first = json!({"role": "user", "content": "Mend the parser."});
        let messages: Vec<_> = [first].into_iter().chain(rounds).collect();
        let body = json!({"messages": messages}).to_string();
        let document = RequestDocument::parse(body.as_bytes(), Format::Anthropic).unwrap();
        let CallCounts { calls, failed, repeated, recalled, .. } = counted(document.entries()).0;
        assert_eq!([calls, failed, repeated, recalled], expected);
    }

    #[test]
    fn a_call_is_repeated_where_nothing_changed() {
        let read = |path: &str| json!({"path": path, "limit": 9});
        let turned = json!({"limit": 9, "path": "a"});
        check(&[("read", read("a"), "x", false), ("read", turned, "x", false)], [2, 0, 1, 0]);
        check(&[("read", read("a"), "x", false), ("read", read("a"), "y", false)], [2, 0, 0, 0]);
        check(&[("read", read("a"), "x", false), ("list", read("a"), "x", false)], [2, 0, 0, 0]);
        let mut far = vec![("read", read("a"), "x", false)];
        let names: Vec<_> = (0..20).map(|at| format!("b{at}")).collect();
        far.extend(names.iter().map(|name| ("read", read(name), "z", false)));
        far.push(("read", read("a"), "x", false));
        check(&far, [22, 0, 0, 0]);
        far.remove(1);
        check(&far, [21, 0, 1, 0]);
    }

    #[test]
    fn failures_and_recalls_are_counted() {
        let shell = json!({"command": "epitome recall 12345678"});
        let recall = ("mcp__epitome__recall", json!({"query": "a"}), "x", false);
        check(&[("bash", shell, "x", false), recall], [2, 0, 0, 2]);
        check(&[("bash", json!({"command": "make"}), "no rule", true)], [1, 1, 0, 0]);
    }
}
