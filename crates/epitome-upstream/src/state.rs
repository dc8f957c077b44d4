//! What all connections share: the script, the cache, what was given out, what arrived.
//!
//! Invariant: one lock, held for no longer than it takes to look or to note. Used by `server`.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cache::Cache;
use crate::log::Record;
use crate::rules::Memory;
use crate::script::{Fault, Script};

/// What all connections share.
#[derive(Debug, Default)]
pub(crate) struct State {
    inner: Mutex<Inner>,
    /// How many scripts were followed.
    followed: watch::Sender<u64>,
}

/// What the lock guards.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    script: Script,
    /// How many of the script's faults are used up, and how many prompts came since it is followed.
    faults: usize,
    prompts: u64,
    pub(crate) cache: Cache,
    pub(crate) memory: Memory,
    records: Vec<Record>,
    /// The number of the first record that is still there, less one.
    forgotten: u64,
}

/// What is known of a request once it is recorded.
pub(crate) struct Begun {
    pub(crate) number: u64,
    /// Which prompt it is since the script is followed, counted from 1.
    pub(crate) place: u64,
    /// Which script it follows, counted from 1.
    pub(crate) follows: u64,
    pub(crate) fault: Fault,
    pub(crate) script: Script,
}

impl State {
    /// Records a request; gives its number, its place among the prompts, its fault and the script.
    pub(crate) fn begin(&self, mut record: Record, own: Option<Fault>) -> Begun {
        let mut inner = self.lock();
        record.number = inner.forgotten + inner.records.len() as u64 + 1;
        if record.is_prompt() {
            let next = inner.script.faults.get(inner.faults).cloned();
            inner.faults += usize::from(own.is_none());
            inner.prompts += 1;
            record.fault = own.or(next).unwrap_or_default();
        }
        if inner.script.forget {
            (record.raw, record.body) = (Bytes::new(), Value::Null);
        }
        let (number, fault) = (record.number, record.fault.clone());
        let (place, follows) = (inner.prompts, *self.followed.borrow());
        let begun = Begun { number, place, follows, fault, script: inner.script.clone() };
        inner.records.push(record);
        begun
    }

    /// The cache and the memory, for one prompt.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The models that were asked, as Ollama lists those that it has at hand.
    pub(crate) fn running(&self) -> Vec<Value> {
        let inner = self.lock();
        let asked = inner.records.iter().filter(|record| record.is_prompt());
        let names: BTreeSet<_> = asked.filter_map(|record| record.body["model"].as_str()).collect();
        let one = |name| json!({"name": name, "context_length": inner.script.loaded});
        names.into_iter().map(one).collect()
    }

    /// Follows another script from now on; cache and memory stay.
    pub(crate) fn follow(&self, script: Script) {
        let mut inner = self.lock();
        (inner.script, inner.faults, inner.prompts) = (script, 0, 0);
        self.followed.send_modify(|count| *count += 1);
    }

    /// Ends when another script is followed than this one.
    pub(crate) async fn released(&self, follows: u64) {
        // The sender is here, so this never fails.
        self.followed.subscribe().wait_for(|now| *now != follows).await.ok();
    }

    /// All that arrived.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    /// Forgets what arrived; numbers go on.
    pub(crate) fn clear(&self) {
        let mut inner = self.lock();
        inner.forgotten += inner.records.len() as u64;
        inner.records.clear();
    }

    /// Notes something about a request, if its record is still there.
    pub(crate) fn note(&self, number: u64, change: impl FnOnce(&mut Record)) {
        let mut inner = self.lock();
        let at = number.checked_sub(inner.forgotten + 1).and_then(|at| usize::try_from(at).ok());
        if let Some(record) = at.and_then(|at| inner.records.get_mut(at)) {
            change(record);
        }
    }
}
