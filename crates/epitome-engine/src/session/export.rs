//! Files that policies want in the client's folder beside what left the prompt: archives, a log of
//! the session, what a fresh session starts from (RULES 44, 48, 49).
//!
//! Invariant: a file goes nowhere but under `.epitome`, and all that a session writes there begins
//! with a line that names it. What cannot be written is told once and stops nothing: the journal
//! has everything. Called by the turn, around a compression and behind the events of a request.

use epitome_kernel::{Workspace, WorkspaceError};
use epitome_types::hook::{Handover, WriteFile};
use epitome_types::{Checkpoint, Compaction, EventKind, Op};
use epitome_workspace::block;

use super::Session;
use super::events::TurnEvents;
use super::offload::plain;
use super::side_effect::PlanSideEffect;
use super::turn_context::{FullHistory, TurnContext};
use crate::error::Error;

/// Where the files stand, relative to the workspace.
const OURS: &str = ".epitome";

/// Where what fresh sessions start from stands in that.
const HANDOVER: &str = "handover";

/// Folders in it that prompts are made from.
const RESERVED: [&str; 2] = ["augments", "offloaded"];

/// How every file ends, so that it is found again when its session goes.
const ENDING: &str = ".md";

impl Session {
    /// Writes the whole files that a plan wants, before it is applied.
    pub(crate) fn archive(
        &mut self,
        ground: &TurnContext<'_, '_>,
        aside: &PlanSideEffect,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        let whole = aside.exports.iter().filter(|export| export.append != Some(true));
        whole.into_iter().try_for_each(|export| self.export(ground, export, events))
    }

    /// Does what else a plan wants, once it is known what came of it: adds to files, and hands over
    /// to a fresh session.
    pub(crate) fn hand_over(
        &mut self,
        ground: &TurnContext<'_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        aside: PlanSideEffect,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        for export in aside.exports.iter().filter(|export| export.append == Some(true)) {
            self.export(ground, export, events)?;
        }
        let Some(Handover { text }) = aside.handover else { return Ok(()) };
        let in_force = whole.and_then(|whole| whole.in_force.as_ref());
        let newest = || newest(in_force?.epoch).map(|checkpoint| checkpoint.text.clone());
        let text = text.or_else(newest).unwrap_or_default();
        let text = self.redaction().text(&text).into_owned();
        let name = format!("{HANDOVER}/{}{ENDING}", plain(ground.name));
        let has_file = self.offload.is_some() && !text.is_empty();
        let file = match has_file {
            true => self.write(ground, &name, &text, false, events),
            false => None,
        };
        events.add([ground.size()[1]; 2], EventKind::Handover { file, text });
        Ok(())
    }

    /// Writes a file that a policy wants.
    pub(super) fn export(
        &mut self,
        ground: &TurnContext<'_, '_>,
        export: &WriteFile,
        events: &mut TurnEvents,
    ) -> Result<(), Error> {
        let text = match &export.text {
            Some(text) => self.redaction().text(text).into_owned(),
            // What is recorded is redacted.
            None if self.offload.is_some() => {
                let keeper = self.record.keeper(&self.settings.profile);
                keeper.export_for_models(ground.name)?
            }
            None => String::new(),
        };
        self.write(ground, &export.name, &text, export.append == Some(true), events);
        Ok(())
    }

    /// Writes a text of the session to a file; gives its path, or tells why it is not there.
    fn write(
        &mut self,
        ground: &TurnContext<'_, '_>,
        name: &str,
        text: &str,
        append: bool,
        events: &mut TurnEvents,
    ) -> Option<String> {
        let (path, text) = (path(name), block(ground.name, text));
        let workspace = self.offload.as_ref().map(|offload| offload.workspace());
        match written(workspace, &path, text.as_bytes(), append) {
            Ok(()) => Some(path),
            Err(error) => {
                let cause = error.to_string();
                if self.problems.tells_file(&cause) {
                    let remedy = match misnamed(&path) {
                        Some(_) => {
                            "the session goes on without the file; give it another name in the policy"
                        }
                        None => {
                            "the session goes on without the file; name the client's folder with \
                             `--workspace`, and see to it that it can be written"
                        }
                    };
                    let remedy = remedy.to_owned();
                    let told = EventKind::WorkspaceError { cause, remedy };
                    events.add([ground.size()[1]; 2], told);
                }
                None
            }
        }
    }
}

fn written(
    workspace: Option<&dyn Workspace>,
    path: &str,
    bytes: &[u8],
    append: bool,
) -> Result<(), WorkspaceError> {
    let refused = |cause: &str| WorkspaceError { path: path.into(), cause: cause.into() };
    let Some(workspace) = workspace else { return Err(refused("there is no workspace")) };
    if let Some(cause) = misnamed(path) {
        return Err(refused(cause));
    }
    match append {
        true => workspace.append(path, bytes),
        false if workspace.persisted(path, bytes) => Ok(()),
        false => workspace.export(path, bytes),
    }
}

/// Why no file may have a path.
fn misnamed(path: &str) -> Option<&'static str> {
    if !path.ends_with(ENDING) {
        return Some("only files that end in `.md` are written");
    }
    let folder = path.split('/').nth(1).unwrap_or_default();
    let is_reserved = RESERVED.iter().any(|name| name.eq_ignore_ascii_case(folder));
    is_reserved.then_some("this folder is for something else")
}

/// Where a file goes. Names are made of those of sessions, which may hold anything.
fn path(name: &str) -> String {
    let parts = name.split('/').map(plain);
    [OURS.to_owned()].into_iter().chain(parts).collect::<Vec<_>>().join("/")
}

/// The newest checkpoint of an epoch.
fn newest(epoch: &Compaction) -> Option<&Checkpoint> {
    let checkpoints = epoch.plan.ops.iter().filter_map(|op| match op {
        Op::Summarize(checkpoint) => Some(checkpoint),
        _ => None,
    });
    checkpoints.max_by_key(|checkpoint| checkpoint.covers.last().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let check = |name, expected: &str| assert_eq!(path(name), expected);
        check("SESSION_LOG.md", ".epitome/SESSION_LOG.md");
        check("archive/a b_full.md", ".epitome/archive/a_b_full.md");
        check("../../etc/x.md", ".epitome/_/_/etc/x.md");
        check("/x.md", ".epitome/_/x.md");
    }

    #[test]
    fn what_is_not_written_says_why() {
        let check =
            |path, cause| assert_eq!(written(None, path, b"", false).unwrap_err().cause, cause);
        check(".epitome/x.md", "there is no workspace");
        let folder = tempfile::tempdir().unwrap();
        let folder = epitome_workspace::WorkspaceFolder::new(folder.path());
        let check = |path: &str, cause| {
            let error = written(Some(&folder), path, b"", false).unwrap_err();
            assert!(error.cause.contains(cause), "{error}");
        };
        check(".epitome/x.lua", "end in `.md`");
        check(".epitome/offloaded/x.md", "something else");
        check(".epitome/augments/a/x.md", "something else");
        check(".epitome/Augments/x.md", "something else");
        check(".epitome/policies/x.md", "its user's");
    }
}
