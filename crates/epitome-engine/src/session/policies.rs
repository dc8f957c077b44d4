//! The policies of a session: asked around each request, with what they noted of it before.
//!
//! Invariant: what policies note is recorded after what it is about; what they fail at is an event,
//! told once, and the conversation goes on (RULES 9).

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use epitome_kernel::{Bounded, HookNotes, PolicyError, StoreError, TokenCounter};
use epitome_types::hook::{BudgetsJob, Common, Done, EventJob, Past, Status, StatusJob};
use epitome_types::{EventKind, PolicyFault};

use super::Session;
use super::events::TurnEvents;
use super::proposal::PolicyContext;
use super::state::{Chained, ConversationState, IncomingHistory};
use super::turn_context::TurnContext;
use crate::error::Error;
use crate::limits::answered;
use crate::policy_runner::PolicyRunner;
use epitome_config::profile::Back;
use epitome_extensions::plugins::PREFIX;

impl Session {
    /// The policies in their newest generation, which this request keeps, with their notes on the
    /// session; these are read once.
    pub(crate) fn council(
        &mut self,
        state: &mut ConversationState,
        name: &str,
        incoming: &IncomingHistory,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<PolicyRunner, Error> {
        if self.settings.deciders.watched && self.reloads.is_none() {
            let watch = self.shared.watch(&self.settings.profile, counter)?;
            self.reloads = Some((watch.so_far(), watch));
        }
        let recorded = match &state.chain {
            Some(known) if known.session == name => known.recorded.clone(),
            _ if incoming.recorded == 0 && !incoming.inherits() => BTreeMap::new(),
            _ => self.memos(name)?,
        };
        let mut council = self.settings.council(counter, recorded.clone())?;
        council.models = council.models.on_behalf(&self.record.scope, name);
        let (session, chain) = (name.to_owned(), council.chain.clone());
        state.chain = Some(Chained { session, chain, recorded });
        Ok(council)
    }

    fn memos(&self, name: &str) -> Result<BTreeMap<String, String>, StoreError> {
        match self.record.journal.memos(&self.record.scope, name) {
            // A branch of a known history may be a session of its own that is not recorded yet.
            Err(StoreError::NoSession { .. }) => Ok(BTreeMap::new()),
            found => found,
        }
    }

    /// What every job says.
    pub(crate) fn common(&self, ground: &TurnContext<'_, '_>) -> Common {
        let workspace = self.back() == Back::File;
        let mut common = ground.common(&self.settings, workspace);
        common.talk.client.clone_from(&self.told.client);
        common.mode = self.mode().map(str::to_owned);
        common.compressions += self.record.imported;
        common
    }

    /// The bounds of the prompt, as the policies say.
    pub(crate) async fn brief(
        &self,
        ground: &TurnContext<'_, '_>,
        council: PolicyRunner,
    ) -> PolicyContext {
        let mut job = BudgetsJob { common: self.common(ground) };
        let said = council.ask(&mut job).await;
        let said = answered(&council, said).or(self.settings.bounds(ground.live.limit));
        let held = ground.live.held(&said);
        let budgets = held.of(said);
        PolicyContext {
            council,
            common: Common { class: budgets.class, ..job.common },
            held,
            budgets,
        }
    }

    /// What made the prompts smaller so far, as the journal has it.
    fn past(&self, ground: &TurnContext<'_, '_>) -> Result<(Vec<Past>, Done), Error> {
        let keeper = self.record.keeper(&self.settings.profile);
        Ok(keeper.made_smaller(ground.name, ground.tail.tokens.gauge().counter)?)
    }

    /// Tells the policies what happened, asks how things stand, and records what they noted.
    pub(crate) async fn close(
        &mut self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Option<Status>, Error> {
        let common = Common { class: brief.common.class, ..self.common(ground) };
        let size = common.tokens.total;
        let used = size as f64 / ground.live.limit.max(1) as f64;
        let budgets = brief.budgets.clone();
        let report = mem::take(&mut state.work.reports);
        let (history, done) = match report {
            true => self.past(ground)?,
            false => (Vec::new(), Done::default()),
        };
        let mut job = StatusJob { common: common.clone(), used, budgets, report, history, done };
        let decision = brief.council.ask(&mut job).await;
        let (policy, status) = (decision.policy(), decision.value);
        if let Some(text) = status.as_ref().and_then(|it| it.report.clone()).filter(|_| report) {
            events.add([size; 2], EventKind::PolicyWarning { policy, text, level: None });
        }
        let is_low = status.as_ref().is_some_and(|status| status.low == Some(true));
        if self.problems.tells_low(is_low) {
            let Status { score, advice, .. } = status.clone().unwrap_or_default();
            let model = common.model.name.clone();
            events.add([size; 2], EventKind::LowReliability { score, model, advice });
        }
        if let Some((heard, watch)) = &mut self.reloads {
            let told = watch.since(*heard);
            *heard += told.len();
            if told.iter().any(|told| matches!(told, EventKind::PolicyReloaded { .. })) {
                self.problems.start_over();
            }
            told.into_iter().for_each(|reloaded| events.add([size; 2], reloaded));
        }
        for event in events.so_far().to_vec() {
            let mut job = EventJob { common: common.clone(), event };
            brief.council.ask(&mut job).await;
        }
        let HookNotes { errors, files, bounded } = brief.council.take_notes();
        for file in files {
            self.export(ground, &file.export, events)?;
        }
        self.tell_failures(brief, &common, errors, events);
        for bounded in bounded {
            if self
                .problems
                .tells_policy(format!("{} {} {}", bounded.policy, bounded.hook, bounded.what))
            {
                events.add([size; 2], held_back(bounded));
            }
        }
        if let Some(known) = &mut state.chain {
            let noted = known.chain.memos();
            if noted != known.recorded {
                self.record.journal.note(&self.record.scope, ground.name, &noted)?;
                known.recorded = noted;
            }
        }
        Ok(status)
    }

    /// Tells what policies, plugins and models failed at, each once, and keeps what policies did.
    fn tell_failures(
        &mut self,
        brief: &PolicyContext,
        common: &Common,
        errors: Vec<PolicyError>,
        events: &mut TurnEvents,
    ) {
        let failures = brief.council.failures.take().into_iter();
        let errors = errors.into_iter().map(|error| {
            let author = [error.policy.clone(), error.hook.to_owned()];
            (Some(author), failed(error))
        });
        for (author, failure) in failures.map(|failure| (None, failure)).chain(errors) {
            // Whoever rests after a failure rests a little less each time.
            let what = match &failure {
                EventKind::PluginError { plugin, cause, .. } => format!("{plugin}: {cause}"),
                EventKind::PolicyError { cause } | EventKind::CompressionError { cause, .. } => {
                    cause.clone()
                }
                EventKind::ModelFallback { model, cause, .. } => format!("{model}: {cause}"),
                _ => continue,
            };
            if !self.problems.tells_policy(what.clone()) {
                continue;
            }
            if let Some([policy, hook]) = author {
                let (at, messages) = (common.now.clone(), common.messages);
                remember(&brief.council, &policy, &PolicyFault { cause: what, at, messages });
                if !self.problems.hears(format!("{policy} {hook}")) {
                    continue;
                }
            }
            events.add([common.tokens.total; 2], failure);
        }
    }
}

/// Keeps a failure with the session, in the place of the one before of the same policy.
fn remember(council: &PolicyRunner, policy: &str, fault: &PolicyFault) {
    // Nothing in it can fail to be written.
    let text = serde_json::to_string(fault).unwrap_or_default();
    council.chain.ask().set_memo(&PolicyFault::note_of(policy), text);
}

/// A policy asked for more than it may.
fn held_back(bounded: Bounded) -> EventKind {
    let Bounded { policy, hook, what, asked, given } = bounded;
    let (hook, what) = (hook.to_owned(), what.into_owned());
    EventKind::AnswerBounded { policy, hook, what, asked, given }
}

/// A policy failed, which may be a plugin.
fn failed(error: PolicyError) -> EventKind {
    let Some(plugin) = error.policy.strip_prefix(PREFIX) else {
        return EventKind::PolicyError { cause: error.to_string() };
    };
    EventKind::PluginError {
        plugin: plugin.to_owned(),
        cause: format!("{}: {}", error.hook, error.what),
        remedy: format!("the next policy answered; `epitome plugin check {plugin}` tells more"),
    }
}
