//! The policies of a session: asked around each request, with what they noted of it before.
//!
//! Invariant: what policies note is recorded after what it is about; what they fail at is an event,
//! told once, and the conversation goes on (SPEC 2.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::{Counter, StoreError};
use epitome_types::hook::{
    Action, Arriving, BudgetsJob, Common, Done, EventJob, GoalsJob, ObserveJob, Status, StatusJob,
};
use epitome_types::{Body, By, Call, Entry, Goals, Happened, Mark, Speaker};

use super::Session;
use super::compress::Brief;
use super::events::Events;
use super::ground::Ground;
use super::state::{Chained, Incoming, State};
use super::tally::intent;
use crate::Error;
use crate::council::Council;
use crate::facts::speaker;
use crate::profile::Back;

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
    pub(crate) fn common(&self, ground: &Ground<'_, '_>) -> Common {
        let workspace = self.back() == Back::File;
        ground.common(self.settings.window, self.settings.mode.as_deref(), workspace)
    }

    /// The bounds of the prompt, as the policies say.
    pub(crate) async fn brief(&self, ground: &Ground<'_, '_>, council: Council) -> Brief {
        let mut job = BudgetsJob { common: self.common(ground) };
        let said = council.ask(&mut job, |rest, job| rest.budgets(job)).await;
        let said = said.unwrap_or_default().or(self.settings.bounds(ground.live.limit));
        let held = ground.live.held(&said);
        let budgets = held.of(said);
        Brief { council, common: Common { class: budgets.class, ..job.common }, held, budgets }
    }

    /// Shows the policies what is new, and records what they pin.
    pub(crate) async fn observe(
        &self,
        ground: &Ground<'_, '_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) -> Result<(), Error> {
        let [_, size] = ground.size();
        let mut pins = std::mem::take(&mut state.to_pin);
        let new = ground.tail.from(ground.incoming.sent);
        let mut typed = ground.typed_before(ground.incoming.sent)?;
        for entry in new {
            let goals = state.acts.as_ref().map(|acts| &acts.goals);
            let goal = goals.and_then(Goals::active).map(|goal| goal.text.clone());
            let text = entry.readable();
            let mut job = ObserveJob {
                common: brief.common.clone(),
                entry: arriving(entry, &text, ground),
                actions: entry.calls().map(action).collect(),
                intent: goal.clone().or_else(|| typed.clone()),
                typed: typed.clone(),
                since_epoch: ground.since_epoch(),
                text: &text,
            };
            let seen = brief.council.ask(&mut job, |rest, job| rest.observe(job)).await;
            let policy = brief.council.chain.winner("observe").unwrap_or_default();
            if let Some(text) = seen.as_ref().and_then(|seen| seen.warn.clone()) {
                events.add([size; 2], Happened::PolicyWarning { policy: policy.clone(), text, level: None });
            }
            if seen.is_some_and(|seen| seen.pin == Some(true)) {
                pins.push((ground.tail.place(entry.id), policy));
            }
            typed = intent(entry).map(str::to_owned).or(typed);
            let speaker = speaker(entry);
            if matches!(speaker, Speaker::Human | Speaker::Model) {
                self.find_goals(spoken(entry), speaker, ground, brief, state, events).await;
            }
        }
        for summary in std::mem::take(&mut state.written) {
            self.find_goals(summary, Speaker::Model, ground, brief, state, events).await;
        }
        for (id, policy) in pins {
            let key = ground.incoming.keys[id.index()];
            if !state.pins.contains(&key) {
                self.journal.mark(&self.scope, ground.name, &Mark::Pin(key), ground.at)?;
                state.reread(&*self.journal, &self.scope)?;
                // What is pinned stays in another way than it was written.
                state.memory = None;
                events.add([size; 2], Happened::Pinned { entry: id.to_string(), policy });
            }
        }
        Ok(())
    }

    /// Takes up what a text says of goals.
    async fn find_goals(
        &self,
        text: String,
        speaker: Speaker,
        ground: &Ground<'_, '_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) {
        let goals = state.acts.as_ref().map(|acts| acts.goals.clone()).unwrap_or_default();
        let (common, by) = (brief.common.clone(), speaker.name().to_owned());
        let mut job = GoalsJob { common, speaker: by, text, goals };
        let found = brief.council.ask(&mut job, |rest, job| rest.goals(job)).await;
        let by = if speaker == Speaker::Human { By::User } else { By::Model };
        let [_, size] = ground.size();
        for found in found.into_iter().flatten() {
            let told = self.said_of_goals(found, &by, state, ground.at);
            told.into_iter().for_each(|told| events.add([size; 2], told));
        }
    }

    /// Tells the policies what happened, asks how things stand, and records what they noted.
    pub(crate) async fn close(
        &mut self,
        ground: &Ground<'_, '_>,
        brief: &Brief,
        state: &mut State,
        events: &mut Events,
    ) -> Result<Option<Status>, Error> {
        let common = Common { class: brief.common.class, ..self.common(ground) };
        let size = common.tokens.total;
        let used = size as f64 / ground.live.limit.max(1) as f64;
        let budgets = brief.budgets.clone();
        let (report, history, done) = (false, Vec::new(), Done::default());
        let mut job = StatusJob { common: common.clone(), used, budgets, report, history, done };
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
fn arriving(entry: &Entry, text: &str, ground: &Ground<'_, '_>) -> Arriving {
    let calls = entry.calls().next();
    Arriving {
        id: ground.tail.place(entry.id).into(),
        role: entry.role.name().to_owned(),
        speaker: speaker(entry).name().to_owned(),
        tool: calls.map(|call| call.tool.clone()),
        args: calls.map(|call| call.arguments.clone()),
        tokens: ground.tail.tokens.entry(entry.id),
        lines: text.lines().count() as u64,
        error: entry.results().any(|result| result.error),
    }
}

/// A call, as policies are told of it.
fn action(call: &Call) -> Action {
    Action { tool: call.tool.clone(), arguments: call.arguments.clone() }
}

/// What an entry says in words: calls of tools, what they return, and notes of the client are none.
fn spoken(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match (&part.body, part.speaker) {
        (Body::Text(text), Speaker::Human | Speaker::Model) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
