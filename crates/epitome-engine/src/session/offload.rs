//! What left the prompt, as files that the client's own tools open (RULES 119).
//!
//! Invariant: a file is in the workspace, whole, before a prompt that names it is recorded or
//! handed out, and was seen to be there for that very request (RULES 14); where one cannot be
//! written, no further text of the session names files, and older texts name `epitome recall` in
//! the place of those that are gone. What a file holds is made of the request itself, so it is there
//! again after a restart, in another folder, and once somebody removed it. Called by the turn.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_kernel::{CompactionLineage, Workspace, WorkspaceError};
use epitome_types::{
    ArrivalRewrite, Checkpoint, Compaction, ContentId, Entry, EntryId, EventKind, Op, Part, PartId,
    RecordedCompaction, ReplaceMethod,
};
use epitome_wire::opens_what_left;
#[cfg(feature = "workspace")]
use epitome_workspace::WorkspaceFolder;

use super::events::TurnEvents;
use super::history_tail::HistoryTail;
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use super::{HistorySource, Session};
use epitome_config::profile::Back;

/// Where the files stand, relative to the workspace.
pub(crate) const OFFLOADED: &str = ".epitome/offloaded";

/// So many letters of a tool's name stand in the name of a file.
const TOOL: usize = 40;

/// So many digits of an id stand there.
const SHORT: usize = 8;

/// The workspace of a session.
pub(crate) struct Offload {
    workspace: Arc<dyn Workspace>,
    known: Mutex<OffloadedFiles>,
}

/// What is known of a workspace.
#[derive(Default)]
struct OffloadedFiles {
    /// The files that are there, by their paths, each as it was seen last.
    there: BTreeMap<String, u64>,
    /// Why one could not be written, and whether that was told.
    failed: Option<(WorkspaceError, bool)>,
}

/// Files that a prompt names for one original.
struct NamedFiles {
    paths: Vec<String>,
    id: ContentId,
    /// What it is, for the heading.
    what: String,
    text: String,
}

/// Removes the files of a session from a workspace, and says how many there were; of files that
/// others wrote to as well only what the session wrote goes. Prompts that name them find them again
/// with the next request of the session, as far as it holds what they said.
///
/// # Errors
///
/// When they cannot be read or removed.
#[cfg(feature = "workspace")]
pub fn remove_offloaded(workspace: &WorkspaceFolder, session: &str) -> Result<u32, WorkspaceError> {
    Ok(workspace.remove(OFFLOADED, &owner(session))? + workspace.forget(session)?)
}

impl Offload {
    pub(crate) fn new(workspace: Arc<dyn Workspace>) -> Self {
        Self { workspace, known: Mutex::default() }
    }

    /// The workspace itself.
    pub(crate) fn workspace(&self) -> &dyn Workspace {
        &*self.workspace
    }

    fn known(&self) -> MutexGuard<'_, OffloadedFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of an original that a text names and that are not known to be there.
    fn wanted(&self, text: &str, id: ContentId) -> Vec<String> {
        let mut paths = named(text, id);
        if !paths.is_empty() {
            let known = self.known();
            paths.retain(|path| !known.there.contains_key(path));
        }
        paths
    }

    fn write(&self, file: &NamedFiles, session: &str) -> Result<(), WorkspaceError> {
        let id = file.id.short();
        let all = format!("# {} ({}{id})\n\n{}\n", file.what, owner(session), file.text);
        for path in &file.paths {
            if !self.workspace.persisted(path, all.as_bytes()) {
                self.workspace.export(path, all.as_bytes())?;
            }
            let stamp = self.workspace.stamp(path).unwrap_or_default();
            self.known().there.insert(path.clone(), stamp);
        }
        Ok(())
    }

    /// Looks at the files that are taken to be there. Says whether one was changed or is gone: then
    /// all of the request is to be read, which writes them again.
    pub(crate) fn has_lost(&self) -> bool {
        let mut known = self.known();
        let before = known.there.len();
        known.there.retain(|path, stamp| self.workspace.stamp(path) == Some(*stamp));
        known.there.len() < before
    }

    /// A text that names the way back that there is, where files that it names are not there.
    fn readdressed(&self, text: &str) -> Option<String> {
        let gone = addresses(text).into_iter();
        let mut gone = gone.filter(|(path, _)| self.workspace.stamp(path).is_none()).peekable();
        gone.peek()?;
        Some(gone.fold(text.to_owned(), |text, (path, id)| {
            text.replace(&path, &format!("epitome recall {id}"))
        }))
    }
}

impl Session {
    /// The way back that new texts name.
    pub(crate) fn back(&self) -> Back {
        match &self.offload {
            Some(offload) if offload.known().failed.is_none() => Back::File,
            _ if self.record.lasting => Back::Store,
            // No command would find it.
            _ => Back::None,
        }
    }

    /// How what leaves a prompt is found again by the model that reads it: not at all, where its
    /// client has no tool to open anything with (RULES 16). A host that pushes is told of the
    /// store.
    pub(crate) fn way_back(&self, ground: &TurnContext<'_, '_>) -> Back {
        let pushed = matches!(self.given, HistorySource::Pushed(_));
        let source = ground.source;
        let [came, _] = ground.by();
        // Calls may stand in what is not read again.
        let has_called = came.tools == 0 && came.tool_calls + came.tool_results > 0;
        let opens = || {
            let tools = source.scan.tool_list(source.body);
            opens_what_left(ground.tail.thread.entries(), tools)
        };
        if pushed || has_called || opens() { self.back() } else { Back::None }
    }

    /// Where files cannot be written, lets what stands in prompts name those that are gone by
    /// `epitome recall`.
    pub(crate) fn readdress(&self, state: &mut ConversationState) {
        let Some(offload) = self.offload.as_ref().filter(|_| self.back() != Back::File) else {
            return;
        };
        for rewrite in state.history.rewrites.values_mut() {
            if let Some(with) = offload.readdressed(&rewrite.with) {
                rewrite.with = with;
            }
        }
        let mut recorded = state.lineage.recorded().to_vec();
        let ops = recorded.iter_mut().flat_map(|one| &mut one.epoch.plan.ops);
        let texts = ops.filter_map(|op| match op {
            Op::Summarize(checkpoint) => Some(&mut checkpoint.text),
            Op::Replace { with, .. } => Some(with),
            _ => None,
        });
        let mut changed = false;
        for text in texts {
            if let Some(other) = offload.readdressed(text) {
                (*text, changed) = (other, true);
            }
        }
        if changed {
            state.lineage = Arc::new(CompactionLineage::new(recorded));
        }
    }

    /// Has every file in the workspace that the prompt names. `false` where one cannot be written:
    /// then the prompt is to be made anew, and names what is new in another way.
    pub(crate) fn offload(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: Option<&FullHistory<'_, '_>>,
        state: &ConversationState,
        proposed: Option<&Compaction>,
        events: &mut TurnEvents,
    ) -> bool {
        let Some(offload) = &self.offload else { return true };
        if let Some((error, told @ false)) = &mut offload.known().failed {
            *told = true;
            events.add([ground.size()[0]; 2], unwritten(error));
        }
        if self.back() != Back::File {
            return true;
        }
        let said = SaidAgain::new(ground, state);
        let mut files = self.arrived(offload, &said, state);
        // What was planned before stands there already, or all of the request was read.
        files.extend(
            whole.map(|it| self.planned(offload, &said, it, proposed)).into_iter().flatten(),
        );
        let written = files.iter().try_for_each(|file| offload.write(file, ground.name));
        let failed = written.err();
        let all = failed.is_none();
        offload.known().failed = failed.map(|error| (error, false));
        all
    }

    /// The originals of what was made smaller on arrival.
    fn arrived(
        &self,
        offload: &Offload,
        said: &SaidAgain<'_, '_, '_>,
        state: &ConversationState,
    ) -> Vec<NamedFiles> {
        let HistoryTail { first, .. } = said.ground.tail;
        let file = |(part, one): (PartId, &ArrivalRewrite)| {
            let paths = offload.wanted(&one.with, one.original);
            let part = said.ground.tail.own(part);
            let entry = said.entry(part.entry).filter(|_| !paths.is_empty())?;
            Some(NamedFiles { paths, ..self.whole(said.ground, &entry, part, one.original) })
        };
        state.history.arrived(*first).filter_map(file).collect()
    }

    /// The originals of what the plan in force, or the one that will be, takes out.
    fn planned(
        &self,
        offload: &Offload,
        said: &SaidAgain<'_, '_, '_>,
        whole: &FullHistory<'_, '_>,
        proposed: Option<&Compaction>,
    ) -> Vec<NamedFiles> {
        let ground = said.ground;
        let thread = &ground.tail.thread;
        let ops = match proposed {
            None => whole.in_force.as_ref().map(|in_force| in_force.plan().ops),
            Some(epoch) => {
                let mut lineage = whole.lineage.clone();
                lineage.extend([RecordedCompaction::from(epoch.clone())]);
                let in_force = lineage.in_force(thread, &ground.incoming.keys);
                in_force.map(|in_force| in_force.plan().ops)
            }
        };
        let ops = ops.unwrap_or_default();
        let file = |op: &Op| match op {
            Op::Summarize(checkpoint) => {
                let paths = offload.wanted(&checkpoint.text, checkpoint.id);
                (!paths.is_empty()).then(|| NamedFiles { paths, ..self.covered(said, checkpoint) })
            }
            Op::Replace { part, with, .. } => {
                // It is named after what was sent of it, and holds what was said.
                let id = ContentId::for_text(text_of(thread.entry(part.entry)?, *part));
                let entry = said.entry(part.entry)?;
                let paths = offload.wanted(with, id);
                (!paths.is_empty())
                    .then(|| NamedFiles { paths, ..self.whole(ground, &entry, *part, id) })
            }
            _ => None,
        };
        ops.iter().filter_map(file).collect()
    }

    /// One part as it was.
    fn whole(
        &self,
        ground: &TurnContext<'_, '_>,
        entry: &Entry,
        part: PartId,
        id: ContentId,
    ) -> NamedFiles {
        let what = format!("{}, whole", ground.tail.thread.name(entry));
        let text = self.redaction().text(text_of(entry, part)).into_owned();
        NamedFiles { paths: Vec::new(), id, what, text }
    }

    /// What a checkpoint stands for, as it came: every message under a heading that names its
    /// speaker.
    fn covered(&self, said: &SaidAgain<'_, '_, '_>, checkpoint: &Checkpoint) -> NamedFiles {
        let entries = checkpoint.covers.iter().filter_map(|id| said.entry(*id));
        let messages = entries.map(|entry| {
            let (name, text) = (said.ground.tail.thread.name(&entry), entry.readable());
            format!("## {name}\n\n{}\n", self.redaction().text(&text))
        });
        let messages: Vec<_> = messages.collect();
        let what = match &*checkpoint.covers {
            [first, .., last] => format!("{first}-{last}, as they were said"),
            _ => "as it was said".to_owned(),
        };
        NamedFiles { paths: Vec::new(), id: checkpoint.id, what, text: messages.join("\n") }
    }
}

/// What was said, as files may say it again: what a mask stood for when it came stays masked.
struct SaidAgain<'g, 'a, 'b> {
    ground: &'g TurnContext<'a, 'b>,
    /// The masked parts, by their places in the tail.
    masked: BTreeSet<PartId>,
}

impl<'g, 'a, 'b> SaidAgain<'g, 'a, 'b> {
    fn new(ground: &'g TurnContext<'a, 'b>, state: &ConversationState) -> Self {
        let arrived = state.history.arrived(ground.tail.first);
        let masked = arrived.filter(|(_, one)| one.how == ReplaceMethod::Mask);
        Self { ground, masked: masked.map(|(part, _)| ground.tail.own(part)).collect() }
    }

    fn entry(&self, id: EntryId) -> Option<Cow<'g, Entry>> {
        let tail = self.ground.tail;
        let mut entry = Cow::Borrowed(tail.came.get(id.index())?);
        let whole = |part| PartId { entry: id, part };
        for part in self.masked.range(whole(0)..=whole(u32::MAX)) {
            let place = part.part as usize;
            if let Some(masked) = tail.thread.entry(id).and_then(|it| it.parts.get(place)) {
                entry.to_mut().parts[place].body = masked.body.clone();
            }
        }
        Some(entry)
    }
}

/// The file of a tool result that came at a time, as people find it again (RULES 46); relative to
/// the workspace.
pub(crate) fn file_of(at: &str, tool: &str, id: &str) -> String {
    // `2026-01-02T03:04:05.678Z`: what stands behind the seconds tells nobody anything.
    let digits: String = at.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    let tool: String = plain(tool).chars().take(TOOL).collect();
    format!("{OFFLOADED}/{day}_{time}_{tool}_{id}.md")
}

/// What a policy's text leaves room for as `{file}`.
pub(crate) const FILE: &str = "file";

/// Whether a policy's text names a file, in the place of an original that does not.
pub(crate) fn names_file(with: &str, original: &str) -> bool {
    let room = format!("{{{FILE}}}");
    with.contains(&room) && !original.contains(&room)
}

/// A text as it may stand in the name of a file.
pub(crate) fn plain(text: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_alphanumeric() => letter,
        '-' | '_' | '.' => letter,
        _ => '_',
    };
    let plain: String = text.chars().map(plain).collect();
    if plain.trim_matches('.').is_empty() { "_".to_owned() } else { plain }
}

/// The files of an original that a text names.
fn named(text: &str, id: ContentId) -> Vec<String> {
    let id = id.short();
    let own = addresses(text).into_iter().filter(|(_, of)| *of == id);
    own.map(|(path, _)| path).collect()
}

/// The files that a text names, each with the id that it is called by.
fn addresses(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(OFFLOADED) {
        let name = text[at + OFFLOADED.len()..].strip_prefix('/').unwrap_or_default();
        let end = name.find(|letter: char| letter == '/' || letter.is_whitespace());
        let stem = name[..end.unwrap_or(name.len())].split_once(".md").map(|(stem, _)| stem);
        let Some(stem) = stem else { continue };
        let id = stem.rsplit('_').next().unwrap_or_default();
        if id.len() == SHORT && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let address = (format!("{OFFLOADED}/{stem}.md"), id.to_owned());
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    found
}

/// Whose a file is, as its first line says it; the file's id follows.
fn owner(session: &str) -> String {
    let session: Vec<_> = session.split_whitespace().collect();
    format!("session {}, id ", session.join(" "))
}

fn text_of(entry: &Entry, part: PartId) -> &str {
    entry.parts.get(part.part as usize).and_then(Part::original).unwrap_or_default()
}

/// A file that could not be written.
fn unwritten(error: &WorkspaceError) -> EventKind {
    let cause = error.to_string();
    let remedy = "texts name `epitome recall` in its place; see to it that the folder can be \
                  written, and start again";
    EventKind::WorkspaceError { cause, remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_time_tool_and_id() {
        let check = |at, tool, expected: &str| {
            assert_eq!(file_of(at, tool, "1a2b3c4d"), format!("{OFFLOADED}/{expected}"));
        };
        check("2026-01-02T03:04:05.678Z", "read_file", "20260102_030405_read_file_1a2b3c4d.md");
        check("2026-01-02T03:04:05Z", "a/../b c", "20260102_030405_a_.._b_c_1a2b3c4d.md");
        let long = format!("20260102_030405_{}_1a2b3c4d.md", "x".repeat(TOOL));
        check("2026-01-02T03:04:05Z", &"x".repeat(99), &long);
        assert_eq!(["..", "", "a/b"].map(plain), ["_", "_", "a_b"]);
    }

    /// What a prompt names is found again in its texts, whoever worded them.
    #[test]
    fn the_files_of_an_original_are_found_in_a_text() {
        let id = ContentId::for_text("x");
        let check = |text: &str, expected: &[&str]| {
            let text = text.replace("ID", &id.short());
            let expected: Vec<_> = expected
                .iter()
                .map(|name| format!("{OFFLOADED}/{}", name.replace("ID", &id.short())))
                .collect();
            assert_eq!(named(&text, id), expected, "{text}");
        };
        check("see .epitome/offloaded/ID.md.", &["ID.md"]);
        check(
            "`.epitome/offloaded/2_sh_ID.md` and .epitome/offloaded/ID.md",
            &["2_sh_ID.md", "ID.md"],
        );
        check(".epitome/offloaded/a_ID.md or .epitome/offloaded/a_ID.md", &["a_ID.md"]);
        for none in ["ID.md", ".epitome/offloaded/ID", ".epitome/offloaded/x/ID.md"] {
            check(none, &[]);
        }
        check(".epitome/offloaded/xID.md .epitome/offloaded/a_00000000.md", &[]);
    }
}
