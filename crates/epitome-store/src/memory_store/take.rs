//! A session of another store, taken up in memory.
//!
//! Invariant: what was recorded of it says here what it said there. Called by
//! [`crate::FallbackStore`].

use epitome_kernel::Beginning;

use super::tree::MemoryNode;
use super::{Made, MemoryStore, ScopeRecords};
use crate::copied::SessionCopy;
use crate::passage::IndexedPassage;

impl MemoryStore {
    /// An empty store whose scopes count what is new in them from here on.
    pub(crate) fn counting_from(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// Takes a session up; one that is there already stays as it is.
    pub(crate) fn take(&self, scope: &str, copy: SessionCopy) {
        self.write(scope, |shelf| shelf.take(copy));
    }

    /// The passages that a search in these scopes looks through.
    pub(crate) fn candidates(&self, scopes: &[String]) -> Vec<Vec<IndexedPassage>> {
        scopes.iter().map(|scope| self.read(scope, ScopeRecords::kept)).collect()
    }
}

impl ScopeRecords {
    fn take(&mut self, copy: SessionCopy) {
        if self.session(&copy.info.name).is_some() {
            return;
        }
        let (name, started) = (copy.info.name.clone(), copy.info.started.clone());
        let (label, opened) = (copy.info.label.clone(), copy.opened);
        let id = self.begin(&name, &Beginning { label, opened, from: None }, &started);
        self.erased.extend(copy.erased);
        let (mut parent, mut messages) = (None, 0);
        for said in copy.said {
            // The search of the store that it came from knows it, or will.
            let node = MemoryNode { said, parent, session: id, indexed: true };
            parent = Some(self.tree.add(node));
            messages += 1;
        }
        for rewrite in copy.rewrites {
            self.rewrites.insert((id, rewrite.key, rewrite.part), rewrite);
        }
        let made = copy.epochs.into_iter();
        self.epochs.extend(made.map(|(place, recorded)| Made { session: id, place, recorded }));
        self.used += 1;
        if let Some(session) = self.sessions.get_mut(&id) {
            session.info = copy.info;
            if messages < session.info.messages {
                // What is missing of it comes with its next request.
                (session.info.head, session.info.messages) = Default::default();
            }
            (session.meter, session.used) = (copy.meter, self.used);
            (session.memos, session.acts, session.marks) = (copy.memos, copy.acts, copy.marks);
        }
        if let Some(answer) = copy.answer.filter(|_| messages > 0) {
            // It is only known for what it proves; where its place is missing it proves nothing.
            drop(self.answered(&name, &answer));
        }
        self.seen += 1;
    }
}
