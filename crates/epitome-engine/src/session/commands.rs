//! What a host does to a session beside what is said: goals, augments, pins (RULES 40, 56).
//!
//! Invariant: each of them is a record of the journal, as if it had been made from anywhere else;
//! what would be passed over is an error and is not recorded. Called by hosts.

use epitome_kernel::goals;
use epitome_types::{
    Actor, EntryId, GoalAction, Goals, JournalMark, RecordedAction, SessionAction,
};
use epitome_workspace::augments::AugmentLibrary;

use super::{HistorySource, Session};
use crate::error::Error;
use epitome_admin::admin::SessionAdmin;
use epitome_admin::records::chosen;

impl Session {
    /// Sets a goal, or changes one, and gives all of them. Goals steer summaries and stand in the
    /// prompt from the next compression on; in a conversation that is pushed a note at its end says
    /// at once what they are. Before anything was said they wait for the first message, with which
    /// they are recorded.
    ///
    /// # Errors
    ///
    /// [`Error::Goal`] for a change that cannot be made, or when the journal cannot be written.
    pub fn change_goals(&mut self, act: GoalAction) -> Result<Goals, Error> {
        let (name, keeper) = match self.keeper() {
            Err(Error::NothingSaid) => return self.change_goals_ahead(act),
            found => found?,
        };
        let at = self.now();
        Ok(keeper.change_goals(Some(&name), vec![act], &Actor::User, &at)?.goals)
    }

    /// The goals that wait for the first message.
    pub fn goals_ahead(&self) -> Goals {
        self.with_goals(&self.next.goals).unwrap_or_default()
    }

    fn change_goals_ahead(&mut self, act: GoalAction) -> Result<Goals, Error> {
        let mut acts = self.next.goals.clone();
        acts.push(act);
        let goals = self.with_goals(&acts)?;
        self.next.goals = acts;
        Ok(goals)
    }

    /// What these changes make of no goals.
    fn with_goals(&self, acts: &[GoalAction]) -> Result<Goals, Error> {
        let (mut known, at) = (Goals::default(), self.now());
        for act in acts {
            let act = goals::addressed(&known, act.clone());
            goals::enact(&mut known, &act, &at)?;
        }
        Ok(known)
    }

    /// Records what was set before anything was said, once there is a message that it belongs to.
    /// What cannot be recorded waits for the next one.
    pub(super) fn settle_goals(&mut self) {
        if self.next.goals.is_empty() {
            return;
        }
        let (at, acts) = (self.now(), self.next.goals.clone());
        let settled = self.keeper().and_then(|(name, keeper)| {
            keeper.change_goals(Some(&name), acts, &Actor::User, &at).map_err(Error::from)
        });
        match settled {
            Ok(_) => self.next.goals.clear(),
            Err(error) => tracing::warn!("goals wait for the next message: {error}"),
        }
    }

    /// Activates the augments that patterns mean, and gives the names of those that were not active.
    /// With all that they require they stand in the prompt from the next compression on; in a
    /// conversation that is pushed also at its end, at once.
    ///
    /// # Errors
    ///
    /// [`Error::Augment`] for a pattern that means none, and for one that cannot be used; otherwise
    /// as [`change_goals`]. Then nothing was activated.
    pub fn activate(&mut self, patterns: &[&str]) -> Result<Vec<String>, Error> {
        let (name, _) = self.keeper()?;
        let active = chosen(&self.record.journal.acts_in_force(&self.record.scope, &name)?);
        let library = self.settings.augments.read();
        let mut new = Vec::new();
        for pattern in patterns {
            for augment in library.named(pattern)? {
                library.needed(augment)?;
                if !active.iter().chain(&new).any(|known| known == augment) {
                    new.push(augment.to_owned());
                }
            }
        }
        self.switch(&name, new, true)
    }

    /// Deactivates what patterns mean of what was activated, and gives the names. A pattern that
    /// means nothing is no error.
    ///
    /// # Errors
    ///
    /// As [`change_goals`].
    pub fn deactivate(&mut self, patterns: &[&str]) -> Result<Vec<String>, Error> {
        let (name, _) = self.keeper()?;
        let mut gone = chosen(&self.record.journal.acts_in_force(&self.record.scope, &name)?);
        gone.retain(|augment| {
            patterns.iter().any(|pattern| AugmentLibrary::means(pattern, augment))
        });
        self.switch(&name, gone, false)
    }

    /// Keeps an entry from being touched by any compression from now on, or lets it go again.
    ///
    /// # Errors
    ///
    /// Where there is no such entry, or one is let go that was not pinned; otherwise as
    /// [`change_goals`].
    pub fn pin(&mut self, entry: EntryId, pin: bool) -> Result<(), Error> {
        let (name, keeper) = self.keeper()?;
        let mark = if pin { JournalMark::Pin } else { JournalMark::Unpin };
        keeper.pin(Some(&name), &[entry.to_string()], mark, &self.now())?;
        Ok(())
    }

    /// Whoever looks after this session, and its name, once something is recorded of it.
    fn keeper(&mut self) -> Result<(String, SessionAdmin), Error> {
        if !matches!(self.given, HistorySource::Whole) {
            self.opened()?;
        }
        let name = self.record.name.clone().ok_or(Error::NothingSaid)?;
        if !self.is_taken(&name)? {
            return Err(Error::NothingSaid);
        }
        Ok((name, self.record.keeper(&self.settings.profile)))
    }

    fn switch(
        &self,
        name: &str,
        augments: Vec<String>,
        active: bool,
    ) -> Result<Vec<String>, Error> {
        let at = self.now();
        let acts = augments.iter().map(|name| RecordedAction {
            act: SessionAction::Augment { name: name.clone(), active },
            by: Actor::User,
            at: at.clone(),
        });
        self.record.journal.act(&self.record.scope, name, &acts.collect::<Vec<_>>())?;
        Ok(augments)
    }
}
