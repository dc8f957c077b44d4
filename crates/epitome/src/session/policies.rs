//! The policies of a session: asked around each request, with what they noted of it before.
//!
//! Invariant: what policies note is recorded after what it is about; what they fail at is an event,
//! told once, and the conversation goes on (SPEC 2.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::{Counter, StoreError};
use epitome_types::hook::{
    Arriving, BudgetsJob, Common, EventJob, GoalsJob, ObserveJob, Status, StatusJob,
};
use epitome_types::{Entry, Happened, Mark, Speaker};

use super::Session;
use super::compress::{Brief, Ground};
use super::events::Events;
use super::state::{Chained, Incoming, State};
use crate::Error;
use crate::council::Council;
use crate::facts::speaker;

impl Session {
    /// The policies in their newest generation, which this request keeps, with their notes on the
    /// session; these are read once.
    pub(crate) fn council(
        &mut self,
        state: &mut State,
        name: &str,
        incoming: &Incoming,
        counter: &Arc<dyn Counter>,
    ) -> Result<Council, Error> {
        if self.settings.watched && self.reloads.is_none() {
            let watch = self.shared.watch(&self.settings.profile, counter)?;
            self.reloads = Some((watch.so_far(), watch));
        }
        let recorded = match &state.chain {
            Some(known) if known.session == name => known.recorded.clone(),
            _ if incoming.recorded == 0 => BTreeMap::new(),
            _ => self.memos(name)?,
        };
        let council = self.settings.council(counter, recorded.clone())?;
        let (session, chain) = (name.to_owned(), council.chain.clone());
        state.chain = Some(Chained { session, chain, recorded });
        Ok(council)
    }

    fn memos(&self, name: &str) -> Result<BTreeMap<String, String>, StoreError> {
        match self.journal.memos(&self.scope, name) {
            // A branch of a known history may be a session of its own that is not recorded yet.
            Err(StoreError::NoSession { .. }) => Ok(BTreeMap::new()),
            found => found,
        }
    }

    /// What every job says.
    pub(crate) fn common(&self, ground: &Ground<'_>, state: &State) -> Common {
        ground.common(state, self.settings.window, self.settings.mode.as_deref())
    }

    /// The bounds of the prompt, as the policies say.
    pub(crate) async fn brief(
        &self,
        ground: &Ground<'_>,
        council: Council,
        state: &State,
    ) -> Brief {
        let mut job = BudgetsJob { common: self.common(ground, state) };
        let said = council.ask(&mut job, |rest, job| rest.budgets(job)).await;
        let said = said.unwrap_or_default().or(self.settings.bounds(ground.live.limit));
        let held = ground.live.held(&said);
        let budgets = held.of(said);
        Brief { council, common: Common { class: budgets.class, ..job.common }, held, budgets }
    }

    /// Shows the policies what is new, and records what they pin.
    pub(crate) async fn observe(
        &self,
        ground: &Ground<'_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) -> Result<(), Error> {
        let entries = ground.thread.entries();
        let size = ground.standing(state).0.size(ground.tokens);
        let mut pins = std::mem::take(&mut state.to_pin);
        for entry in &entries[ground.incoming.sent.min(entries.len())..] {
            let text = entry.readable();
            let mut job = ObserveJob {
                common: brief.common.clone(),
                entry: new(entry, &text, ground),
                intent: intent(&entries[..entry.id.index()]),
                since_epoch: since_epoch(ground, state),
                text: &text,
            };
            let seen = brief.council.ask(&mut job, |rest, job| rest.observe(job)).await;
            let policy = brief.council.chain.winner("observe").unwrap_or_default();
            if let Some(text) = seen.as_ref().and_then(|seen| seen.warn.clone()) {
                events.add([size; 2], Happened::PolicyWarning { policy: policy.clone(), text });
            }
            if seen.is_some_and(|seen| seen.pin == Some(true)) {
                pins.push((entry.id, policy));
            }
            if matches!(speaker(entry), Speaker::Human | Speaker::Model) {
                let mut job = GoalsJob { common: brief.common.clone(), text };
                let found = brief.council.ask(&mut job, |rest, job| rest.goals(job)).await;
                for goal in found.into_iter().flatten() {
                    events.add([size; 2], Happened::GoalFound { goal });
                }
            }
        }
        for (id, policy) in pins {
            let key = ground.incoming.keys[id.index()];
            if !state.pins.contains(&key) {
                self.journal.mark(&self.scope, ground.name, &Mark::Pin(key), ground.at)?;
                state.reread(&*self.journal, &self.scope)?;
                events.add([size; 2], Happened::Pinned { entry: id.to_string(), policy });
            }
        }
        Ok(())
    }

    /// Tells the policies what happened, asks how things stand, and records what they noted.
    pub(crate) async fn close(
        &mut self,
        ground: &Ground<'_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) -> Result<Option<Status>, Error> {
        let common = Common { class: brief.common.class, ..self.common(ground, state) };
        let size = common.tokens.total;
        let used = size as f64 / ground.live.limit.max(1) as f64;
        let budgets = brief.budgets.clone();
        let mut job = StatusJob { common: common.clone(), used, budgets };
        let status = brief.council.ask(&mut job, |rest, job| rest.status(job)).await;
        let is_low = status.as_ref().is_some_and(|status| status.low == Some(true));
        if is_low && !self.low {
            let Status { score, advice, .. } = status.clone().unwrap_or_default();
            let model = common.model.name.clone();
            events.add([size; 2], Happened::LowReliability { score, model, advice });
        }
        self.low = is_low;
        if let Some((heard, watch)) = &mut self.reloads {
            let told = watch.since(*heard);
            *heard += told.len();
            told.into_iter().for_each(|reloaded| events.add([size; 2], reloaded));
        }
        for event in events.so_far().to_vec() {
            let mut job = EventJob { common: common.clone(), event };
            brief.council.ask(&mut job, |rest, job| rest.on_event(job)).await;
        }
        for error in brief.council.chain.take_errors() {
            let cause = error.to_string();
            if self.said.insert(cause.clone()) {
                events.add([size; 2], Happened::PolicyError { cause });
            }
        }
        if let Some(known) = &mut state.chain {
            let noted = known.chain.memos();
            if noted != known.recorded {
                self.journal.note(&self.scope, ground.name, &noted)?;
                known.recorded = noted;
            }
        }
        Ok(status)
    }
}

/// A new message, as policies are told of it.
fn new(entry: &Entry, text: &str, ground: &Ground<'_>) -> Arriving {
    let calls = entry.calls().next();
    Arriving {
        id: entry.id.into(),
        role: entry.role.name().to_owned(),
        speaker: speaker(entry).name().to_owned(),
        tool: calls.map(|call| call.tool.clone()),
        args: calls.map(|call| call.arguments.clone()),
        tokens: ground.tokens.entry(entry.id),
        lines: text.lines().count() as u64,
        error: entry.results().any(|result| result.error),
    }
}

/// What a person typed last.
fn intent(entries: &[Entry]) -> Option<String> {
    let typed = entries.iter().rev().flat_map(|entry| &entry.parts);
    let typed = typed.filter(|part| part.speaker == Speaker::Human);
    typed.filter_map(|part| part.text()).next().map(str::to_owned)
}

/// Messages behind the run that the epoch in force rewrites.
fn since_epoch(ground: &Ground<'_>, state: &State) -> u32 {
    let all = ground.incoming.keys.len();
    let in_force = state.lineage.in_force(ground.thread, &ground.incoming.keys);
    in_force.map_or(all, |it| all - it.start - it.epoch.covered.len as usize) as u32
}
