//! Who says the first message of a plan without a checkpoint, where what is pinned begins with the
//! assistant: a call, say, whose result shares its message with what a person typed last.
//!
//! Invariant: a conversation that the user opened never leads with the assistant (RULES 106). The
//! room for whoever leads is held free before anything else is cut, and is part of what cannot
//! shrink; so a plan has it, or it is known that nothing fits. Called by the draft of a plan.

use epitome_kernel::Exchange;
use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, Role,
};

use crate::budget::rewritable;
use crate::cut::fill;
use crate::files;
use crate::ground::{PlanGround, ids};

/// What it is called where it is named as something that cannot shrink.
pub(crate) const NAME: &str = "a first message in the user role, which providers ask for";

impl PlanGround<'_> {
    /// The first message of the user's side and the least that it takes, where what is pinned
    /// begins with the assistant.
    pub(crate) fn lead(&self) -> Option<(EntryId, u64)> {
        let entries = self.thread.entries();
        let opening = entries.iter().find(|entry| entry.role != Role::System)?;
        let pinned = |entry: &EntryId| self.thread.pinned(*entry).is_some();
        let first = entries.iter().find(|it| it.role != Role::System && pinned(&it.id))?;
        if opening.role != Role::User || first.role == Role::User {
            return None;
        }
        let before = self.thread.exchanges().iter();
        let before = before.take_while(|one| one.entries.end <= first.id.index());
        let by_user = before.filter(|one| self.leads(one)).map(|one| self.least(one));
        Some((opening.id, by_user.min().unwrap_or(u64::MAX).min(self.label_size())))
    }

    /// Whether an exchange may be the first of a conversation.
    pub(crate) fn leads(&self, exchange: &Exchange) -> bool {
        let opening = &self.thread.entries()[exchange.entries.start];
        !exchange.broken && !self.has_left(exchange) && opening.role == Role::User
    }

    /// A checkpoint that is nothing but its label, where that is smaller than what it covers.
    pub(crate) fn label(&self, id: ContentId, covers: &[EntryId]) -> Option<Checkpoint> {
        let values = [("id", &*id.short()), ("messages", &covers.len().to_string())];
        let text = fill(&self.options.texts.label_short, &values);
        let text = match &*files::named(self.thread, covers) {
            "" => text,
            named => format!("{text}\n{}", named.trim_end()),
        };
        let smaller = self.gauge().message(&text) < self.sizes.sum(covers.iter().copied());
        smaller.then(|| Checkpoint {
            id,
            covers: covers.to_vec(),
            text,
            level: CheckpointLevel::Compact,
            stand: CheckpointPlacement::default(),
            model: None,
        })
    }

    /// What an exchange takes when all that may be cut of it is cut.
    fn least(&self, exchange: &Exchange) -> u64 {
        let cutter = self.cutter();
        let parts = ids(exchange).flat_map(|id| rewritable(self.thread, id));
        let excess = parts.map(|part| self.sizes.part(part).saturating_sub(cutter.least(part)));
        self.sizes.sum(ids(exchange)).saturating_sub(excess.sum())
    }

    /// What a label takes at most, whatever stands in it: no figure of an address or of a count
    /// takes more than one unit.
    fn label_size(&self) -> u64 {
        let texts = &self.options.texts;
        let filled =
            ["id", "messages"].map(|name| texts.label_short.contains(&format!("{{{name}}}")));
        let figures =
            [ContentId::for_text("").short().len(), self.thread.entries().len().to_string().len()];
        let figures = figures.iter().zip(filled).filter(|(_, filled)| *filled);
        let empty = fill(&texts.label_short, &[("id", ""), ("messages", "")]);
        self.gauge().message(&empty) + figures.map(|(length, _)| *length as u64).sum::<u64>()
    }
}
