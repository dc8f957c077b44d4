//! Which recorded session a request goes on from, and what a new one begins with (RULES 13).
//!
//! Invariant: the kernel decides, from what is said and what is recorded; this asks the journal and
//! does what was decided. A session's name is drawn once, and no text has a part in it. Called by the
//! turn for each request, before anything is read of the session.

use epitome_kernel::{Beginning, Claim, Clue, Evidence, Holder, Identity, StoreError, identify};
use epitome_types::{ContentId, EntryKey, HistoryHash, Role};

use super::belonging::{Belonging, HistoryOrigin};
use super::known_history::chains;
use super::reasoning::ComparedRequest;
use super::state::ConversationState;
use super::{Session, UNNAMED};
use crate::error::Error;
use crate::source::RequestSource;
use epitome_admin::records::{answer, evidence};

/// So many conversations of one client are looked at for one behind another system prompt, this far at
/// first, and then by so many messages at once.
const OTHERS: usize = 16;
const OPENING: usize = 8;
const PAGE: usize = 1024;

impl Session {
    /// The session that a request belongs to. A new one is begun where `begin`; else it is named and
    /// nobody has it, or what it would leave is taken for it.
    pub(super) fn belonging(
        &self,
        source: &RequestSource<'_>,
        state: &ConversationState,
        extends: bool,
        begin: bool,
    ) -> Result<Belonging, Error> {
        if let Some(name) = &self.told.again {
            return Ok(Belonging::to(name, state.proven));
        }
        if let Some(name) = &self.record.name
            && (self.record.named
                || extends
                    && (state.proven && !self.told.strayed
                        || !self.told.hub
                        || self.told.label.is_some()))
        {
            return Ok(Belonging::to(name, true));
        }
        let chains = &state.history.chains[..];
        let said = source.document()?.entries();
        let evidence: Vec<_> = said.iter().map(evidence).collect();
        let label = self.told.label.as_deref();
        let holders = self.holders(&self.record.scope, source, chains)?;
        let claim = self.claim();
        let counter = self.counter_for(source.model());
        let size = |place: usize| said.get(place).map_or(0, |it| counter.count(&it.readable()));
        match identify(claim, &evidence, size, &holders) {
            Identity::Continue(holder) => Ok(Belonging::to(&holder.session, true)),
            Identity::Branch { from, at } if begin => self.branch(from, &evidence[..at], chains),
            Identity::Branch { from, .. } => Ok(Belonging::to(&from.session, false)),
            Identity::New { opened } => {
                let format = source.format.name();
                if let Some(name) = self.compacted_by_client(said, format, &holders)? {
                    let origin = HistoryOrigin::Compacted;
                    return Ok(Belonging { origin, ..Belonging::to(name, true) });
                }
                let own = self.reworded(&state.history.keys, &evidence, size, &holders)?;
                if let Some(name) = own {
                    return Ok(Belonging::to(&name, true));
                }
                let beginning = Beginning {
                    label: self.told.label.clone(),
                    opened: u32::try_from(opened).unwrap_or(u32::MAX),
                    from: None,
                };
                match begin {
                    true => Ok(Belonging::to(&self.begin_session(&beginning)?, false)),
                    false => Ok(Belonging::to(label.unwrap_or(UNNAMED), false)),
                }
            }
        }
    }

    /// Moves to where its conversation was recorded before there were projects, so that nothing of an
    /// older store is lost. That takes the proof that going on from any other conversation takes.
    pub(super) fn settle(&mut self, source: &RequestSource<'_>) -> Result<(), Error> {
        let Some(before) = self.record.before.take() else { return Ok(()) };
        let keys: Vec<_> = source.document()?.entries().iter().map(EntryKey::for_entry).collect();
        let chains = chains(&keys);
        let is_here = self.is_known(&self.record.scope, source, &chains)?;
        if !is_here && self.is_known(&before, source, &chains)? {
            self.record.scope = before;
        }
        Ok(())
    }

    /// Whether a request is proven to go on from a session of a scope.
    fn is_known(
        &self,
        scope: &str,
        source: &RequestSource<'_>,
        chains: &[HistoryHash],
    ) -> Result<bool, Error> {
        let said = source.document()?.entries();
        let evidence: Vec<_> = said.iter().map(evidence).collect();
        let counter = self.counter_for(source.model());
        let size = |place: usize| said.get(place).map_or(0, |it| counter.count(&it.readable()));
        let holders = self.holders(scope, source, chains)?;
        Ok(!matches!(identify(self.claim(), &evidence, size, &holders), Identity::New { .. }))
    }

    /// The id that the client gives the conversation, and the session that the host has in hand.
    fn claim(&self) -> Claim<'_> {
        let session = self.record.name.as_deref().filter(|_| !self.told.hub);
        Claim { label: self.told.label.as_deref(), session }
    }

    /// The sessions of a scope that may be the one that a request goes on from.
    fn holders(
        &self,
        scope: &str,
        source: &RequestSource<'_>,
        chains: &[HistoryHash],
    ) -> Result<Vec<Holder>, Error> {
        let said = source.document()?.entries();
        let answers = |place: usize| answer(said, place);
        let first = said.iter().position(|entry| entry.role == Role::Assistant);
        let clue = Clue {
            chains,
            format: source.format.name(),
            label: self.told.label.as_deref(),
            least: first.map_or(usize::MAX, |first| first.max(1)),
            answers: &answers,
        };
        let mut holders = self.record.journal.holders(scope, &clue)?;
        let request = ComparedRequest { format: clue.format, said, chains };
        self.tell_apart(scope, request, &mut holders)?;
        Ok(holders)
    }

    /// The session of the same client whose conversation this is behind another system prompt: a client
    /// that is started anew words its own anew.
    fn reworded(
        &self,
        keys: &[EntryKey],
        evidence: &[Evidence],
        size: impl Fn(usize) -> u64,
        holders: &[Holder],
    ) -> Result<Option<String>, Error> {
        let lead = evidence.iter().take_while(|it| it.system).count();
        let label = self.told.label.as_deref().filter(|_| lead > 0);
        let Some(label) = label else { return Ok(None) };
        let is_own = |it: &&Holder| it.label.as_deref() == Some(label) && it.shared <= lead;
        for holder in holders.iter().filter(is_own).rev().take(OTHERS) {
            let info = self.record.journal.session(&self.record.scope, &holder.session)?;
            let mut spoken = keys[lead..].iter();
            let (mut before, mut shared, mut ends) = (0, 0, true);
            let mut from = 0;
            while ends && from < info.figures.messages {
                let page = if from == 0 { OPENING } else { PAGE };
                let (name, head) = (&*holder.session, info.head);
                let page =
                    self.record.journal.history(&self.record.scope, name, head, from, page)?;
                from = page.last().map_or(info.figures.messages, |said| said.place + 1);
                for said in page {
                    match said.role == Role::System && shared == 0 {
                        true => before += 1,
                        false if spoken.next() == Some(&said.key) => shared += 1,
                        false => {
                            ends = false;
                            break;
                        }
                    }
                }
            }
            let opened = holder.opened.saturating_sub(before);
            let bare = Holder { shared, ends, opened, answered: 0, ..holder.clone() };
            let claim = Claim { label: Some(label), session: None };
            let size = |place| size(place + lead);
            // A first message in common may be another agent's.
            let is_answered = evidence[lead..lead + shared].iter().any(|it| it.answer);
            if is_answered
                && let Identity::Continue(_) = identify(claim, &evidence[lead..], size, &[bare])
            {
                return Ok(Some(holder.session.clone()));
            }
        }
        Ok(None)
    }

    /// Begins a session that has what another one had at a place.
    fn branch(
        &self,
        from: &Holder,
        shared: &[Evidence],
        chains: &[HistoryHash],
    ) -> Result<Belonging, Error> {
        // What a model said last is looked at with the request behind it, which is not in common.
        let sent = shared.iter().rposition(|it| !it.answer).map_or(0, |last| last + 1);
        let place = sent.checked_sub(1).map_or_else(HistoryHash::default, |last| chains[last]);
        let beginning = Beginning {
            label: self.told.label.clone(),
            opened: u32::try_from(from.opened).unwrap_or(u32::MAX),
            from: Some((from.session.clone(), place)),
        };
        let session = self.begin_session(&beginning)?;
        let origin = HistoryOrigin::Branched { sent, ends: from.ends };
        Ok(Belonging { origin, ..Belonging::to(&session, true) })
    }

    /// Begins a session under a name that nobody has: the id of its client, where that is free, and
    /// else one that is drawn from the time.
    pub(super) fn begin_session(&self, beginning: &Beginning) -> Result<String, Error> {
        let at = self.now();
        let label = beginning.label.as_deref();
        let stem = label.unwrap_or(UNNAMED);
        let drawn = |number: u32| {
            let id = ContentId::for_text(&format!("{}\n{stem}\n{at}\n{number}", self.record.scope));
            format!("{stem}-{}", id.short())
        };
        let mut names = label.map(str::to_owned).into_iter().chain((0..).map(drawn));
        loop {
            let Some(name) = names.next() else { return Err(Error::NothingSaid) };
            match self.record.journal.begin(&self.record.scope, &name, beginning, &at) {
                Ok(()) => return Ok(name),
                Err(StoreError::Taken { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
