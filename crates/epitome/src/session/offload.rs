//! What left the prompt, as files that the client's own tools open (hazard 19).
//!
//! Invariant: a file is in the workspace, whole, before a prompt that names it is recorded or
//! handed out; where one cannot be written, no further text of the session names files. What a
//! file holds is made of the request itself, so it is there again after a restart and in another
//! folder. Called by the turn.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_kernel::{Workspace, WorkspaceError};
use epitome_types::{Checkpoint, ContentId, Entry, Epoch, Happened, Op, Part, PartId, Recorded};
use epitome_workspace::Folder;

use super::Session;
use super::events::Events;
use super::ground::{Ground, Whole};
use super::state::State;
use super::tail::Tail;
use crate::profile::Back;

/// Where the files stand, relative to the workspace.
pub(crate) const OFFLOADED: &str = ".epitome/offloaded";

/// The workspace of a session.
pub(crate) struct Offload {
    workspace: Arc<dyn Workspace>,
    known: Mutex<Known>,
}

/// What is known of a workspace.
#[derive(Default)]
struct Known {
    /// The files that are there.
    there: BTreeSet<ContentId>,
    /// Why one could not be written, and whether that was told.
    failed: Option<(WorkspaceError, bool)>,
}

/// A file that a prompt names.
struct Named {
    id: ContentId,
    /// What it is, for the heading.
    what: String,
    text: String,
}

/// Removes the files of a session from a workspace, and says how many there were. Prompts that
/// name them find them again with the next request of the session, as far as it holds what they
/// said.
///
/// # Errors
///
/// When they cannot be read or removed.
pub fn remove_offloaded(workspace: &Folder, session: &str) -> Result<u32, WorkspaceError> {
    workspace.remove(OFFLOADED, &owner(session))
}

impl Offload {
    pub(crate) fn new(workspace: Arc<dyn Workspace>) -> Self {
        Self { workspace, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a text names the file of an original that is not known to be there.
    fn wants(&self, text: &str, id: ContentId) -> bool {
        !self.known().there.contains(&id) && text.contains(&path(id))
    }

    fn write(&self, file: &Named, session: &str) -> Result<(), WorkspaceError> {
        let (path, id) = (path(file.id), file.id.short());
        let all = format!("# {} ({}{id})\n\n{}\n", file.what, owner(session), file.text);
        if !self.workspace.persisted(&path, all.as_bytes()) {
            self.workspace.export(&path, all.as_bytes())?;
        }
        self.known().there.insert(file.id);
        Ok(())
    }
}

impl Session {
    /// The way back that new texts name.
    pub(crate) fn back(&self) -> Back {
        match &self.offload {
            Some(offload) if offload.known().failed.is_none() => Back::File,
            _ => Back::Store,
        }
    }

    /// Has every file in the workspace that the prompt names. `false` where one cannot be written:
    /// then the prompt is to be made anew, and names what is new in another way.
    pub(crate) fn offload(
        &self,
        ground: &Ground<'_, '_>,
        whole: Option<&Whole<'_, '_>>,
        state: &State,
        proposed: Option<&Epoch>,
        events: &mut Events,
    ) -> bool {
        let Some(offload) = &self.offload else { return true };
        if let Some((error, told @ false)) = &mut offload.known().failed {
            *told = true;
            events.add([ground.size()[0]; 2], unwritten(error));
        }
        if self.back() != Back::File {
            return true;
        }
        let mut files = self.arrived(offload, ground, state);
        // What was planned before stands there already, or all of the request was read.
        files.extend(
            whole.map(|it| self.planned(offload, ground, it, proposed)).into_iter().flatten(),
        );
        let written = files.iter().try_for_each(|file| offload.write(file, ground.name));
        let failed = written.err();
        let all = failed.is_none();
        offload.known().failed = failed.map(|error| (error, false));
        all
    }

    /// The originals of what was made smaller on arrival.
    fn arrived(&self, offload: &Offload, ground: &Ground<'_, '_>, state: &State) -> Vec<Named> {
        let Tail { came, first, .. } = ground.tail;
        let named = state.arrived(*first);
        let named = named.filter(|(_, one)| offload.wants(&one.with, one.original));
        let file = |(part, one): (PartId, &epitome_types::Rewrite)| {
            let part = ground.tail.own(part);
            let entry = came.get(part.entry.index())?;
            Some(self.whole(ground, entry, part, one.original))
        };
        named.filter_map(file).collect()
    }

    /// The originals of what the plan in force, or the one that will be, takes out.
    fn planned(
        &self,
        offload: &Offload,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        proposed: Option<&Epoch>,
    ) -> Vec<Named> {
        let thread = &ground.tail.thread;
        let ops = match proposed {
            None => whole.in_force.as_ref().map(|in_force| in_force.plan().ops),
            Some(epoch) => {
                let mut lineage = whole.lineage.clone();
                lineage.extend([Recorded { epoch: epoch.clone(), undone: false }]);
                let in_force = lineage.in_force(thread, &ground.incoming.keys);
                in_force.map(|in_force| in_force.plan().ops)
            }
        };
        let ops = ops.unwrap_or_default();
        let file = |op: &Op| match op {
            Op::Summarize(checkpoint) if offload.wants(&checkpoint.text, checkpoint.id) => {
                Some(self.covered(ground, checkpoint))
            }
            Op::Replace { part, with, .. } => {
                // It is named after what was sent of it, and holds what was said.
                let id = ContentId::of(text_of(thread.entry(part.entry)?, *part));
                let came = ground.tail.came.get(part.entry.index())?;
                offload.wants(with, id).then(|| self.whole(ground, came, *part, id))
            }
            _ => None,
        };
        ops.iter().filter_map(file).collect()
    }

    /// One part as it was.
    fn whole(&self, ground: &Ground<'_, '_>, entry: &Entry, part: PartId, id: ContentId) -> Named {
        let what = format!("{}, whole", ground.tail.thread.name(entry));
        let text = self.redaction.text(text_of(entry, part)).into_owned();
        Named { id, what, text }
    }

    /// What a checkpoint stands for, as it came: every message under a heading that names its
    /// speaker.
    fn covered(&self, ground: &Ground<'_, '_>, checkpoint: &Checkpoint) -> Named {
        let entries = checkpoint.covers.iter();
        let entries = entries.filter_map(|id| ground.tail.came.get(id.index()));
        let messages = entries.map(|entry| {
            let text = entry.readable();
            format!("## {}\n\n{}\n", ground.tail.thread.name(entry), self.redaction.text(&text))
        });
        let messages: Vec<_> = messages.collect();
        let what = match &*checkpoint.covers {
            [first, .., last] => format!("{first}-{last}, as they were said"),
            _ => "as it was said".to_owned(),
        };
        Named { id: checkpoint.id, what, text: messages.join("\n") }
    }
}

/// The file of an original, relative to the workspace.
fn path(id: ContentId) -> String {
    format!("{OFFLOADED}/{}.md", id.short())
}

/// Whose a file is, as its first line says it; the file's id follows.
fn owner(session: &str) -> String {
    let session: Vec<_> = session.split_whitespace().collect();
    format!("session {}, id ", session.join(" "))
}

fn text_of(entry: &Entry, part: PartId) -> &str {
    entry.parts.get(part.part as usize).and_then(Part::text).unwrap_or_default()
}

/// A file that could not be written.
fn unwritten(error: &WorkspaceError) -> Happened {
    let cause = error.to_string();
    let remedy = "texts name `epitome recall` in its place; see to it that the folder can be \
                  written, and start again";
    Happened::WorkspaceError { cause, remedy: remedy.to_owned() }
}
