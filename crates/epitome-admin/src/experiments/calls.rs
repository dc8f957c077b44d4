//! What the histories of sessions tell without a judge: calls that failed, calls that were made again
//! for what was known already, and text that left in compressions and was fetched again.
//!
//! Invariant: counted on the way on which a session stands; the order of a call's arguments makes no
//! difference, and a result that changed meanwhile is no repetition. Asked for reports alone.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use epitome_config::ExperimentConfig;
use epitome_config::scope::ScopeOwner;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::{ContentId, Entry, PartBody, Role};
use serde::Serialize;

use crate::admin::regret::of_history;
use crate::admin::{MessageInfo, SessionHistory};
use crate::decode::decode;
use crate::regret::{REGRET_TURNS, RegretCounts, is_recall};
use crate::same_call::same_call;
use crate::savings::session_hash;

/// A call is made again where the same was made at most so many turns before.
const NEAR: u32 = 20;

/// Counts over the calls of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CallCounts {
    /// Calls of tools that have a result.
    pub(crate) calls: u64,
    /// Those of them that failed, as their client marks them.
    pub(crate) failed: u64,
    /// Those that were made before, with the same result.
    pub(crate) repeated: u64,
    /// Those that asked for text which had left the prompt.
    pub(crate) recalled: u64,
    /// Text that left in compressions, and what of it was fetched again soon after.
    #[serde(flatten)]
    pub(crate) regret: RegretCounts,
}

impl AddAssign for CallCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.repeated += other.repeated;
        self.recalled += other.recalled;
        self.regret += other.regret;
    }
}

/// Reads the calls of sessions by their [`session_hash`]: of those that `is_wanted`, in the scopes of
/// these profiles.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn calls_by_session(
    store: &dyn SessionArchive,
    tenant: &str,
    profiles: &[&str],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, CallCounts>, StoreError> {
    let owner = ScopeOwner::from(tenant);
    let mut counts = BTreeMap::new();
    for scope in store.scopes()? {
        let profile = owner.profile_of(&scope).filter(|profile| profiles.contains(profile));
        let Some(profile) = profile else { continue };
        // What its plans would have taken out went out all the same.
        let holds_out = profile == ExperimentConfig::HOLD_OUT;
        for info in store.sessions(&scope, 0, usize::MAX, true)? {
            let hash = session_hash(&scope, &info.name);
            if is_wanted(&hash) {
                let said = store.history(&scope, &info.name, info.head, 0, usize::MAX)?;
                let entries = decode(&info.format, &said)?;
                let mut found = counted(&entries);
                let messages = said.iter().map(MessageInfo::from).collect();
                let history = SessionHistory::of_messages(store, &scope, info, messages)?;
                if !holds_out && !history.epochs().is_empty() {
                    let regrets = of_history(store, &scope, &history, &entries)?;
                    let near = regrets.iter().map(|regret| regret.counts(REGRET_TURNS));
                    near.for_each(|counts| found.regret += counts);
                }
                counts.insert(hash, found);
            }
        }
    }
    Ok(counts)
}

/// Counts the calls of a history.
fn counted(entries: &[Entry]) -> CallCounts {
    let mut counts = CallCounts::default();
    let mut open = HashMap::<&str, String>::new();
    // By the call and its result, the turn in which it was made last.
    let mut made = HashMap::<(String, ContentId), u32>::new();
    let mut turn = 0;
    for entry in entries {
        turn += u32::from(entry.role == Role::Assistant);
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
                    let text = ContentId::for_text(&result_text(entry, &result.text));
                    let before = made.insert((call, text), turn);
                    let is_near = before.is_some_and(|before| turn - before <= NEAR);
                    counts.repeated += u64::from(is_near);
                }
                _ => {}
            }
        }
    }
    counts
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
        let CallCounts { calls, failed, repeated, recalled, .. } = counted(document.entries());
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
