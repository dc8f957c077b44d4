//! The texts that a plan does not send as they were said.
//!
//! Invariant: a line that is sent nowhere else is stated, and one that its text still says is not said
//! twice. Built from a draft or from ops, asked for what is stated of the work.

use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::Thread;
use epitome_kernel::types::{EntryId, EventKind, Op, PartBody, PartId, ReplaceMethod};

use crate::cut::ShortenedPart;
use crate::options::{StatedConstraint, StatedLine};

/// Who is credited with what the profile states itself, in the place of a policy.
pub const PROFILE: &str = "profile";

/// The key of the profile that names the lines to keep, in the place of a hook.
pub const KEEP: &str = "keep";

/// The most characters that a warning quotes of a line.
const QUOTED: usize = 60;

/// Tells that there is no room for some lines.
pub(crate) fn without_room(lines: &[String]) -> Option<EventKind> {
    let newest: String = lines.last()?.lines().next()?.chars().take(QUOTED).collect();
    let text = format!(
        "no room for {} of the lines that `keep` names, the newest of them `{newest}`; a larger limit or \
         fewer rules leave room, and `work_state.keep` says how much they take",
        lines.len()
    );
    Some(EventKind::PolicyWarning { policy: PROFILE.to_owned(), text, level: None })
}

/// What is not sent as it was said.
#[derive(Debug, Default)]
pub(crate) struct UnsentTexts {
    /// The messages that leave.
    gone: BTreeSet<EntryId>,
    /// Those of which what their speaker said is shorter.
    cut: BTreeSet<EntryId>,
    /// The parts that leave alone.
    stripped: BTreeSet<PartId>,
    /// The parts that say something else; nothing where its words are not known yet.
    replaced: BTreeMap<PartId, Option<String>>,
    /// The parts of which nothing is to be said.
    masked: BTreeSet<PartId>,
}

impl UnsentTexts {
    /// What these ops do not send.
    pub(crate) fn of_ops<'o>(thread: &Thread, ops: impl Iterator<Item = &'o Op>) -> Self {
        let mut unsent = Self::default();
        for op in ops {
            match op {
                Op::Summarize(one) => unsent.gone.extend(&one.covers),
                Op::Drop { entries } => unsent.gone.extend(entries),
                Op::Replace { part, with, how } => {
                    unsent.replace(thread, *part, Some(with.clone()));
                    unsent.masked.extend((*how == ReplaceMethod::Mask).then_some(*part));
                }
                Op::Strip { parts } => {
                    let parts = parts.iter().flat_map(|part| thread.with_inner(*part));
                    unsent.stripped.extend(parts);
                }
                Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
            }
        }
        unsent
    }

    /// What a draft does not send.
    pub(crate) fn of_draft(
        thread: &Thread,
        gone: BTreeSet<EntryId>,
        cuts: &[ShortenedPart],
    ) -> Self {
        let mut unsent = Self { gone, ..Self::default() };
        for cut in cuts {
            unsent.replace(thread, cut.part, (!cut.digest).then(|| cut.with.clone()));
        }
        unsent
    }

    /// The same with further messages that leave.
    pub(crate) fn and(mut self, gone: impl IntoIterator<Item = EntryId>) -> Self {
        self.gone.extend(gone);
        self
    }

    fn replace(&mut self, thread: &Thread, part: PartId, with: Option<String>) {
        if is_said(thread, part) {
            self.cut.insert(part.entry);
        }
        self.replaced.insert(part, with);
    }

    /// Whether what a person demanded is not sent in its message.
    pub(crate) fn lacks(&self, one: &StatedConstraint) -> bool {
        self.gone.contains(&one.entry) || self.cut.contains(&one.entry)
    }

    /// Whether a line is not sent in its part.
    pub(crate) fn lacks_line(&self, line: &StatedLine) -> bool {
        let says = |with: &Option<String>| with.as_ref().is_some_and(|it| it.contains(&line.text));
        match self.replaced.get(&line.part) {
            _ if self.masked.contains(&line.part) => false,
            _ if self.gone.contains(&line.part.entry) => true,
            _ if self.stripped.contains(&line.part) => true,
            Some(with) => !says(with),
            None => !line.sent,
        }
    }
}

/// Whether a part is what its speaker said, and no call or result.
fn is_said(thread: &Thread, part: PartId) -> bool {
    thread.part(part).is_some_and(|part| matches!(part.body, PartBody::Text(_)))
}
