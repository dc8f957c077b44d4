//! What the policies of a profile say of how a recorded session stands (RULES 23, 50).
//!
//! Invariant: they are asked as a live session asks them, of what the journal records; nothing is
//! recorded by it. Called for people and agents who ask, never on the way of a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use epitome_config::BUDGET_VOCABULARY;
use epitome_config::limits::SessionBounds;
use epitome_count::for_model;
use epitome_kernel::{PolicyChain, TokenCounter};
use epitome_types::hook::{
    BudgetsJob, Common, Done, Past, Savings, Smaller, Status, StatusJob, TalkFacts, Tokens,
};
use epitome_types::{Compaction, Entry, Op, PartBody, ReplaceMethod, Role, ToolCall};

use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::records::{imported_compressions, mode_of};

/// So many of the newest things that made the prompt smaller are told.
const TOLD: usize = 50;

impl SessionAdmin {
    /// How a session stands, as the policies of the profile say it, with a report where one of them
    /// writes any; `at` is the time now, ISO 8601. None where no policy has an opinion. A model is
    /// not asked for it.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`], and where the policies cannot be loaded.
    pub fn report(&self, name: Option<&str>, at: &str) -> Result<Option<Status>, AdminError> {
        let history = self.history(name)?;
        let info = &history.info;
        let counter = self.counter(info.model.as_deref());
        let memos = self.journal.memos(&self.scope, &info.name)?;
        let last = self.profile.built_in();
        let bounds = last.bounds(info.figures.limit);
        let mut policies = self.profile.load(&counter)?.current();
        policies.push(Arc::new(last));
        let chain = PolicyChain::new(policies, memos);
        let (past, done) = self.past(&history, &*counter)?;
        let mut budgets = BudgetsJob { common: self.common(&history, &*counter, at) };
        let acts = self.acts_in_force(&info.name)?;
        budgets.common.mode = mode_of(&acts).or(budgets.common.mode);
        budgets.common.compressions += imported_compressions(&acts).unwrap_or_default();
        let said = chain.ask().budgets(&budgets).ok().flatten().unwrap_or_default();
        let said = said.or(bounds);
        budgets.common.class = said.class;
        let job = StatusJob {
            used: info.figures.tokens[1] as f64 / info.figures.limit.max(1) as f64,
            common: budgets.common,
            budgets: said,
            report: true,
            history: past,
            done,
        };
        Ok(chain.ask().status(&job).ok().flatten())
    }

    /// Counts for a session with this model.
    pub(super) fn counter(&self, model: Option<&str>) -> Arc<dyn TokenCounter> {
        let model = self.profile.counter().or(self.profile.model()).or(model);
        Arc::new(for_model(model.unwrap_or(BUDGET_VOCABULARY)))
    }

    /// What every job says, as far as it is recorded: tool schemas count as conversation.
    fn common(&self, history: &SessionHistory, counter: &dyn TokenCounter, at: &str) -> Common {
        let info = &history.info;
        let system = history.messages.iter().filter(|message| message.role == Role::System);
        let system = system.map(|message| message.tokens).sum();
        let summaries = history.in_force().into_iter().flat_map(|epoch| &epoch.plan.ops);
        let sizes = summaries.filter_map(|op| match op {
            Op::Summarize(checkpoint) => Some(counter.count(&checkpoint.text)),
            _ => None,
        });
        let (total, checkpoints) = (info.figures.tokens[1], sizes.sum());
        let conversation = total.saturating_sub(system + checkpoints);
        let recorded =
            SessionBounds::recorded(info.figures.limit, self.profile.window().size().is_some());
        Common {
            session: info.name.clone(),
            mode: self.profile.mode().map(str::to_owned),
            model: self.profile.facts(info.model.as_deref(), self.profile.window(), &recorded),
            tokens: Tokens { total, system, tools: 0, checkpoints, conversation },
            compressions: history.compressions(),
            confidence: history.in_force().map_or(1.0, |epoch| epoch.outcome.confidence),
            now: at.to_owned(),
            messages: info.figures.messages,
            talk: TalkFacts {
                turns: history.messages.iter().filter(|it| it.role == Role::User).count() as u32,
                api: Some(info.format.clone()),
                ..TalkFacts::default()
            },
            ..Common::default()
        }
    }

    /// What made the prompts of a session smaller, oldest first, and what that came to.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn made_smaller(
        &self,
        name: &str,
        counter: &dyn TokenCounter,
    ) -> Result<(Vec<Past>, Done), AdminError> {
        self.past(&self.history(Some(name))?, counter)
    }

    /// The same of a session that was read.
    fn past(
        &self,
        history: &SessionHistory,
        counter: &dyn TokenCounter,
    ) -> Result<(Vec<Past>, Done), AdminError> {
        let (mut past, mut done) = (Vec::new(), Done::default());
        let mut add = |at: &str, what, saved, to: Option<&mut Savings>| {
            past.push(Past { at: at.to_owned(), what, saved });
            if let Some(to) = to {
                (to.count, to.saved) = (to.count + 1, to.saved + saved);
            }
        };
        for rewrite in self.journal.rewrites(&self.scope, &history.info.name, history.keys())? {
            let place = history.keys().iter().position(|key| *key == rewrite.key);
            let message = place.and_then(|place| history.messages.get(place));
            let at = message.and_then(|message| message.at.as_deref()).unwrap_or_default();
            let saved = rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
            match rewrite.how {
                ReplaceMethod::Offload => {
                    add(at, Smaller::Offload, saved, Some(&mut done.offloaded))
                }
                ReplaceMethod::Append => {}
                _ => add(at, Smaller::Digest, saved, Some(&mut done.digested)),
            }
        }
        let epochs = history.epochs().iter().filter(|recorded| !recorded.undone);
        let epochs: Vec<_> = epochs.map(|recorded| &recorded.epoch).collect();
        for epoch in &epochs {
            let saved = epoch.outcome.tokens[0].saturating_sub(epoch.outcome.tokens[1]);
            let sums_up = epoch.plan.ops.iter().any(|op| matches!(op, Op::Summarize(_)));
            let summaries = sums_up.then_some(&mut done.summaries);
            add(&epoch.at, Smaller::Compression, saved, summaries);
        }
        if epochs.iter().any(|epoch| truncations(epoch).next().is_some()) {
            let entries = history.entries(&*self.journal, &self.scope)?;
            let mut known = BTreeSet::new();
            for epoch in epochs {
                let start = history.keys().iter().position(|key| *key == epoch.covered.first);
                let Some(start) = start else { continue };
                for (entry, part, with) in truncations(epoch) {
                    let place = (start + entry, part);
                    let call = call(&entries, start + entry, part).filter(|_| known.insert(place));
                    let Some(call) = call else { continue };
                    let saved = counter.count(&call.arguments).saturating_sub(counter.count(with));
                    add(&epoch.at, Smaller::Truncation, saved, Some(&mut done.truncated));
                }
            }
        }
        past.sort_by(|one, next| one.at.cmp(&next.at));
        past.drain(..past.len().saturating_sub(TOLD));
        Ok((past, done))
    }
}

/// The calls whose arguments an epoch truncates, each by its place in the covered run, with what
/// stands in the place of the arguments.
fn truncations(epoch: &Compaction) -> impl Iterator<Item = (usize, usize, &str)> {
    epoch.plan.ops.iter().filter_map(|op| match op {
        Op::Replace { part, with, how: ReplaceMethod::TruncateInput } => {
            Some((part.entry.index(), part.part as usize, &**with))
        }
        _ => None,
    })
}

fn call(entries: &[Entry], entry: usize, part: usize) -> Option<&ToolCall> {
    match &entries.get(entry)?.parts.get(part)?.body {
        PartBody::Call(call) => Some(call),
        _ => None,
    }
}
