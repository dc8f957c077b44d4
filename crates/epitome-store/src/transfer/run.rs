//! A copy from one store into another.
//!
//! Invariant: a session is only ever added to, unless the target is to be what the source is; so a copy
//! that broke off is taken up where it was. At the end the target is read again and compared with what
//! was read of the source. Called by the command.

use std::collections::BTreeSet;

use epitome_kernel::types::{EntryKey, Snapshot};
use epitome_kernel::{Beginning, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{KeptTexts, TransferStore, check, delta};
use crate::copied::{SessionCopy, SessionFacts};

/// What becomes of what the target alone has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferMode {
    /// It stays. A session that went on in both is left as it is, and named.
    Add,
    /// It goes: the target becomes what the source is.
    Mirror,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress<'a> {
    /// Sessions that are done.
    pub done: usize,
    /// Sessions in all.
    pub of: usize,
    /// Whether they are compared by now.
    pub comparing: bool,
    /// The session.
    pub session: &'a str,
    /// Bytes of messages, answers and originals that were copied so far.
    pub bytes: u64,
}

/// What a copy did, and what the comparison at its end found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Scopes of the source.
    pub scopes: usize,
    /// Sessions of the source.
    pub sessions: usize,
    /// Of these, those that were not in the target.
    pub copied: usize,
    /// Those of which something was missing there.
    pub completed: usize,
    /// Those that were there as they are.
    pub same: usize,
    /// Sessions of the target that went, since the source does not have them.
    pub removed: usize,
    /// Messages of the source.
    pub said: u64,
    /// Messages that were copied.
    pub messages: u64,
    /// Snapshots that were copied.
    pub snapshots: u64,
    /// Bytes of messages, answers and originals that were copied.
    pub bytes: u64,
    /// What differs at the end.
    pub differ: Vec<String>,
    /// What is damaged in the source, and left out.
    pub missing: Vec<String>,
}

/// Copies all that a source holds into a target, and compares both.
///
/// # Errors
///
/// When one of them cannot be read, or the target cannot be written. What was copied by then stays.
pub fn transfer(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    mode: TransferMode,
    progress: &mut dyn FnMut(TransferProgress<'_>),
) -> Result<TransferReport, StoreError> {
    let scopes = from.scopes()?;
    let mut run = TransferRun { from, to, mode, progress, report: <_>::default(), of: 0, done: 0 };
    run.report.scopes = scopes.len();
    for scope in &scopes {
        run.of += from.beginnings(scope)?.len();
    }
    run.report.sessions = run.of;
    if mode == TransferMode::Mirror {
        run.drop_scopes(&scopes)?;
    }
    let read = scopes.iter().map(|scope| run.scope(scope)).collect::<Result<Vec<_>, _>>()?;
    run.done = 0;
    for (scope, read) in scopes.iter().zip(&read) {
        run.compare(scope, read)?;
    }
    Ok(run.report)
}

/// A copy on its way.
struct TransferRun<'a> {
    from: &'a dyn TransferStore,
    to: &'a dyn TransferStore,
    mode: TransferMode,
    progress: &'a mut dyn FnMut(TransferProgress<'_>),
    report: TransferReport,
    of: usize,
    done: usize,
}

/// Why a session was not copied.
enum RunFailure {
    /// It is damaged as a whole.
    Unreadable(String),
    Store(StoreError),
}

impl From<StoreError> for RunFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What was read of a scope of the source.
struct ReadScope {
    sessions: Vec<ReadSession>,
    snapshots: Vec<Snapshot>,
    lessons: Vec<(String, String)>,
    kept: KeptTexts,
    erased: BTreeSet<EntryKey>,
}

/// What was read of a session of the source.
struct ReadSession {
    name: String,
    /// What stands for it.
    digest: u128,
    /// What is known of it; none where the target's went on apart.
    facts: Option<SessionFacts>,
}

impl TransferRun<'_> {
    fn tell(&mut self, session: &str, comparing: bool) {
        let (done, of, bytes) = (self.done, self.of, self.report.bytes);
        (self.progress)(TransferProgress { done, of, comparing, session, bytes });
    }

    /// Deletes the sessions of scopes that the source does not have.
    fn drop_scopes(&mut self, scopes: &[String]) -> Result<(), StoreError> {
        for scope in self.to.scopes()?.iter().filter(|scope| !scopes.contains(scope)) {
            for begun in self.to.beginnings(scope)? {
                self.to.delete(scope, &begun.name)?;
                self.report.removed += 1;
            }
        }
        Ok(())
    }

    fn scope(&mut self, scope: &str) -> Result<ReadScope, StoreError> {
        let (from, to) = (self.from, self.to);
        let erased = self.erase(scope)?;
        let known = self.begin(scope)?;
        let kept = from.kept_outside(scope)?;
        self.leave_out(scope, None)?;
        let missing = delta::texts(&kept, &to.kept_outside(scope)?);
        if missing != KeptTexts::default() {
            to.keep_outside(scope, &missing)?;
        }
        let lessons: Vec<_> = from.lessons(scope)?.into_iter().collect();
        for (about, lesson) in &lessons {
            to.learn(scope, about, lesson)?;
        }
        let mut sessions = Vec::new();
        for name in in_order_of_use(from, scope)? {
            self.tell(&name, false);
            match self.session(scope, &name, known.contains(&name)) {
                // It costs that session, and nothing else.
                Err(RunFailure::Unreadable(what)) => {
                    self.report.missing.push(format!("{scope}: the session `{name}`: {what}"));
                }
                Err(RunFailure::Store(error)) => return Err(error),
                Ok(read) => sessions.push(read),
            }
            self.done += 1;
        }
        self.order(scope, &sessions)?;
        let snapshots = self.snapshots(scope)?;
        Ok(ReadScope { sessions, snapshots, lessons, kept, erased })
    }

    /// Names what is damaged in the source and left out; says whether anything is.
    fn leave_out(&mut self, scope: &str, session: Option<&str>) -> Result<bool, StoreError> {
        let lost = self.from.left_out(scope, session)?;
        let of = session.map(|name| format!("the session `{name}`: ")).unwrap_or_default();
        let is_any = !lost.is_empty();
        self.report.missing.extend(lost.into_iter().map(|what| format!("{scope}: {of}{what}")));
        Ok(is_any)
    }

    /// Erases what was erased in the source.
    fn erase(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        let erased = self.from.erased(scope)?;
        let known = self.to.erased(scope)?;
        let missing: Vec<EntryKey> = erased.difference(&known).copied().collect();
        for &key in &missing {
            match self.to.erase(scope, key) {
                Ok(_) | Err(StoreError::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if !missing.is_empty() {
            self.to.ban(scope, &missing)?;
        }
        Ok(erased)
    }

    /// Begins the sessions that the target does not have, in the order in which they began; gives
    /// those that it has.
    fn begin(&mut self, scope: &str) -> Result<FxHashSet<String>, StoreError> {
        let beginnings = self.from.beginnings(scope)?;
        let there = self.to.beginnings(scope)?;
        if self.mode == TransferMode::Mirror {
            let names: FxHashSet<&str> = beginnings.iter().map(|it| it.name.as_str()).collect();
            for gone in there.iter().filter(|it| !names.contains(it.name.as_str())) {
                self.to.delete(scope, &gone.name)?;
                self.report.removed += 1;
            }
        }
        let known: FxHashSet<String> = there.into_iter().map(|it| it.name).collect();
        for new in beginnings.into_iter().filter(|it| !known.contains(&it.name)) {
            let beginning = Beginning { label: new.label, opened: new.opened, from: None };
            self.to.begin(scope, &new.name, &beginning, &new.at)?;
        }
        Ok(known)
    }

    /// Brings a session up to the one of the source; gives what stands for that.
    fn session(
        &mut self,
        scope: &str,
        name: &str,
        is_known: bool,
    ) -> Result<ReadSession, RunFailure> {
        let whole = match self.from.session_copy(scope, name) {
            Err(StoreError::Damaged { what }) => return Err(RunFailure::Unreadable(what)),
            whole => whole?,
        };
        let is_damaged = self.leave_out(scope, Some(name))?;
        let (facts, digest) = (whole.facts.clone(), check::session(&whole)?);
        self.report.said += whole.said.len() as u64;
        let read = ReadSession { name: name.to_owned(), digest, facts };
        let there = self.to.session_copy(scope, name)?;
        if is_known && check::session(&there)? == digest {
            self.report.same += 1;
            return Ok(read);
        }
        let missing = match delta::beyond(&whole, &there) {
            Some(missing) => missing,
            // It went on apart, or the target has what is damaged in the source: the comparison names it.
            None if self.mode == TransferMode::Add || is_damaged => {
                return Ok(ReadSession { facts: None, ..read });
            }
            None => self.anew(scope, name, whole)?,
        };
        let is_empty = there.said.is_empty() && there.answers.is_empty();
        match is_known && !is_empty {
            true => self.report.completed += 1,
            false => self.report.copied += 1,
        }
        self.report.messages += missing.said.len() as u64;
        for part in delta::portions(missing) {
            self.to.take(scope, name, &part)?;
            self.report.bytes += bytes(&part);
            self.tell(name, false);
        }
        Ok(read)
    }

    /// Begins a session of the target anew.
    fn anew(&self, scope: &str, name: &str, whole: SessionCopy) -> Result<SessionCopy, StoreError> {
        self.to.delete(scope, name)?;
        let facts = whole.facts.clone().unwrap_or_default();
        let beginning = Beginning { label: facts.info.label, opened: facts.opened, from: None };
        self.to.begin(scope, name, &beginning, &facts.info.started)?;
        Ok(whole)
    }

    /// Has the sessions stand in the order in which they were used: what is taken up counts as used.
    fn order(&self, scope: &str, read: &[ReadSession]) -> Result<(), StoreError> {
        let known: FxHashMap<&str, &ReadSession> =
            read.iter().map(|session| (session.name.as_str(), session)).collect();
        let there = self.to.sessions(scope, 0, usize::MAX, true)?.into_iter().rev();
        let there: Vec<_> = there.filter(|info| known.contains_key(info.name.as_str())).collect();
        let names: FxHashSet<&str> = there.iter().map(|info| info.name.as_str()).collect();
        let wanted: Vec<_> =
            read.iter().filter(|session| names.contains(session.name.as_str())).collect();
        let same = wanted.iter().zip(&there).take_while(|(one, other)| one.name == other.name);
        for session in &wanted[same.count()..] {
            let facts = session.facts.clone();
            self.to.take(scope, &session.name, &SessionCopy { facts, ..SessionCopy::default() })?;
        }
        Ok(())
    }

    fn snapshots(&mut self, scope: &str) -> Result<Vec<Snapshot>, StoreError> {
        let snapshots = self.from.snapshots(scope, None)?;
        let there = self.to.snapshots(scope, None)?;
        let ids = |all: &[Snapshot]| -> FxHashSet<String> {
            all.iter().map(|snapshot| snapshot.id.clone()).collect()
        };
        let (wanted, known) = (ids(&snapshots), ids(&there));
        for new in snapshots.iter().rev().filter(|snapshot| !known.contains(&snapshot.id)) {
            self.to.save_snapshot(scope, new, usize::MAX)?;
            self.report.snapshots += 1;
        }
        if self.mode == TransferMode::Mirror {
            for gone in there.iter().filter(|snapshot| !wanted.contains(&snapshot.id)) {
                self.to.delete_snapshot(scope, &gone.id)?;
            }
        }
        Ok(snapshots)
    }

    /// Names what the target does not have as it was read of the source.
    fn compare(&mut self, scope: &str, read: &ReadScope) -> Result<(), StoreError> {
        for ReadSession { name, digest, .. } in &read.sessions {
            self.tell(name, true);
            if check::session(&self.to.session_copy(scope, name)?)? != *digest {
                self.report.differ.push(format!("{scope}: the session `{name}`"));
            }
            self.done += 1;
        }
        let to = self.to;
        let snapshots: FxHashMap<String, Snapshot> =
            to.snapshots(scope, None)?.into_iter().map(|it| (it.id.clone(), it)).collect();
        for wanted in read.snapshots.iter().filter(|it| snapshots.get(&it.id) != Some(it)) {
            self.report.differ.push(format!("{scope}: the snapshot `{}`", wanted.id));
        }
        let lessons = to.lessons(scope)?;
        for (about, _) in read.lessons.iter().filter(|(it, is)| lessons.get(it) != Some(is)) {
            self.report.differ.push(format!("{scope}: what was learned of `{about}`"));
        }
        let kept = to.kept_outside(scope)?;
        if delta::texts(&read.kept, &kept) != KeptTexts::default()
            || self.mode == TransferMode::Mirror
                && check::texts(&read.kept)? != check::texts(&kept)?
        {
            self.report.differ.push(format!("{scope}: what is kept outside of sessions"));
        }
        if !to.erased(scope)?.is_superset(&read.erased) {
            self.report.differ.push(format!("{scope}: what was erased"));
        }
        Ok(())
    }
}

/// The sessions of a scope, the one used last behind all others.
fn in_order_of_use(from: &dyn TransferStore, scope: &str) -> Result<Vec<String>, StoreError> {
    let used = from.sessions(scope, 0, usize::MAX, true)?;
    let used: Vec<String> = used.into_iter().rev().map(|info| info.name).collect();
    let known: FxHashSet<&str> = used.iter().map(String::as_str).collect();
    let empty = from.beginnings(scope)?.into_iter().map(|begun| begun.name);
    let mut all: Vec<String> = empty.filter(|name| !known.contains(name.as_str())).collect();
    all.extend(used);
    Ok(all)
}

fn bytes(copy: &SessionCopy) -> u64 {
    let said = copy.said.iter().filter_map(|it| it.said.bytes.as_ref());
    let answers = copy.answers.iter().filter_map(|it| it.answer.bytes.as_ref());
    let messages = said.chain(answers).map(Vec::len).sum::<usize>();
    let originals = copy.kept.originals.iter().map(|it| it.text.len()).sum::<usize>();
    (messages + originals) as u64
}
