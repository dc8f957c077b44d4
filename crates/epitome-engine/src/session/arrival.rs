//! What is made smaller of tool results before they are first sent, as the policies say.
//!
//! Invariant: each result is asked about once, and a text that names a file is taken only where the
//! file can be there. Called by the turn.

use std::collections::BTreeSet;

use epitome_plan::{ArrivalOutcome, NewTalk, arrive, arriving, fill_in};
use epitome_types::hook::ToolResultJob;
use epitome_types::{Part, PartId};

use super::Session;
use super::history_tail::HistoryTail;
use super::offload::{FILE, file_of, names_file};
use super::state::ConversationState;
use super::turn_context::TurnContext;
use crate::kept_lines::{arriving_lines, bounded};
use crate::policy_runner::PolicyRunner;

impl Session {
    /// What is made smaller of the entries that were never sent.
    pub(super) async fn arrival(
        &self,
        ground: &TurnContext<'_, '_>,
        council: &PolicyRunner,
        state: &ConversationState,
    ) -> ArrivalOutcome {
        if self.told.held_out {
            return ArrivalOutcome::default();
        }
        let TurnContext { tail, incoming, .. } = ground;
        let HistoryTail { thread, tokens, first, .. } = tail;
        // What was made smaller already is never made smaller again.
        let new = incoming.sent.saturating_sub(*first)..thread.entries().len();
        let mut arriving = arriving(thread, new, tokens);
        let arrived: BTreeSet<_> =
            state.history.arrived(*first).map(|(it, _)| tail.own(it)).collect();
        let erased: BTreeSet<_> = state.history.erased(*first).collect();
        let is_new =
            |part: &PartId| !arrived.contains(part) && !erased.contains(&part.entry.index());
        arriving.retain(|(part, _)| is_new(part));
        if arriving.is_empty() {
            return ArrivalOutcome::default();
        }
        let common = self.common(ground);
        let mut decided = Vec::with_capacity(arriving.len());
        for (part, mut entry) in arriving {
            entry.id = tail.place(part.entry).into();
            let text = thread.part(part).and_then(Part::text).unwrap_or_default();
            let original = tail.address(part).short();
            let tool = entry.tool.as_deref().unwrap_or_default();
            let file = common.talk.workspace.then(|| file_of(&common.now, tool, &original));
            let mut job = ToolResultJob { common: common.clone(), entry, original, file, text };
            if let Some(mut answer) = council.ask(&mut job).await.value {
                answer.text = answer.text.and_then(|with| match &job.file {
                    Some(file) => Some(fill_in(&with, FILE, file, text)),
                    // Nobody can open it.
                    None => Some(with).filter(|with| !names_file(with, text)),
                });
                decided.push((part, answer));
            }
        }
        let options = self.settings.profile.door(self.back());
        let desk = self.settings.desk(council);
        let digester = self.settings.digester.as_deref().unwrap_or(&desk);
        let keys = &incoming.keys[*first..];
        let lines = arriving_lines(council, &common, thread, &decided).await;
        let lines = bounded(&council.rules, thread, tokens.gauge(), &mut decided, &lines);
        let talk = NewTalk { thread, keys, tokens };
        let mut arrival = arrive(&talk, &decided, &lines, &options, digester);
        arrival.rewrites.iter_mut().for_each(|rewrite| self.redaction().rewrite(rewrite));
        self.departing(&mut arrival.departure, ground.name);
        arrival
    }
}
