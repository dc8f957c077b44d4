//! What is made smaller before it is first sent.
//!
//! Invariant: only tool results that are new, whole and not frozen are touched, each at most once;
//! what a tool of ours brought back never is (RULES 120). The original goes into the departure,
//! which is recorded before the rewrite is used.

use std::collections::BTreeSet;
use std::ops::Range;

use epitome_kernel::types::hook::{Arriving, ToolResultAnswer, Way};
use epitome_kernel::types::{
    ArrivalRewrite, ContentId, EntryKey, Part, PartId, Plan, ReplaceMethod,
};
use epitome_kernel::{
    DigestJob, Eviction, TextMeasure, Thread, ThreadSizes, ToolDigest, ToolDigester,
};

use crate::budget::rewritable;
use crate::cut::{PartShortener, ShortenedPart};
use crate::eviction::{EvictionCollector, Wanted};
use crate::leaving::copied;
use crate::options::StatedLine;
use crate::told::line_count;

/// How what is made smaller is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalWording {
    /// Stands where a text was shortened; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub marker: String,
    /// The largest piece that is cut for search, in bytes.
    pub passage_bytes: usize,
    /// Opens the lines that the profile keeps.
    pub kept: String,
}

/// What was made smaller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalOutcome {
    /// The new texts.
    pub rewrites: Vec<ArrivalRewrite>,
    /// The originals.
    pub departure: Eviction,
}

/// The tool results among new entries that may be made smaller, for the policies to look at.
pub fn arriving(
    thread: &Thread,
    new: Range<usize>,
    tokens: &ThreadSizes<'_>,
) -> Vec<(PartId, Arriving)> {
    let entries = thread.entries().get(new).unwrap_or_default();
    let parts = entries.iter().flat_map(|entry| rewritable(thread, entry.id));
    let described = parts.filter_map(|part| {
        let call = thread.call_of(part)?;
        let text = thread.part(part)?.text()?;
        let entry = thread.entry(part.entry)?;
        let arriving = Arriving {
            id: part.entry.into(),
            role: entry.role.into(),
            speaker: thread.part(part)?.speaker.into(),
            tool: Some(call.tool.clone()),
            args: Some(call.arguments.clone()),
            tokens: tokens.part(part),
            lines: line_count(text) as u64,
            error: thread.is_error(part),
        };
        Some((part, arriving))
    });
    described.collect()
}

/// Messages that were never sent before.
#[derive(Clone, Copy, Debug)]
pub struct NewTalk<'a> {
    /// The messages.
    pub thread: &'a Thread,
    /// Their keys, in order.
    pub keys: &'a [EntryKey],
    /// Their sizes.
    pub tokens: &'a ThreadSizes<'a>,
}

/// Makes tool results smaller as it was decided. What the profile keeps (`lines`) stays in them.
pub fn arrive(
    talk: &NewTalk<'_>,
    decided: &[(PartId, ToolResultAnswer)],
    lines: &[StatedLine],
    options: &ArrivalWording,
    digester: &dyn ToolDigester,
) -> ArrivalOutcome {
    let NewTalk { thread, keys, tokens } = *talk;
    let cutter =
        PartShortener { thread, sizes: tokens, tokens, marker: &options.marker, digest_tokens: 0 };
    let door = ArrivalScan { thread, tokens, digester, cutter };
    let smaller = |(part, decision): &(PartId, ToolResultAnswer)| {
        door.keeping(door.smaller(*part, decision)?, lines, &options.kept)
    };
    let cuts: Vec<_> = decided.iter().filter_map(smaller).collect();
    let rewrite = |cut: &ShortenedPart| {
        let original = thread.part(cut.part).and_then(Part::text).unwrap_or_default();
        Some(ArrivalRewrite {
            key: *keys.get(cut.part.entry.index())?,
            part: cut.part.part,
            how: cut.how,
            original: ContentId::for_text(original),
            tool: thread.tool_of(cut.part).unwrap_or_default().to_owned(),
            tokens: [tokens.part(cut.part), cut.size],
            with: cut.with.clone(),
        })
    };
    let rewrites = cuts.iter().filter_map(rewrite).collect();
    let plan = Plan { ops: cuts.iter().map(ShortenedPart::op).collect(), reason: String::new() };
    let passage_bytes = Some(options.passage_bytes);
    let wanted = Wanted { originals: true, passage_bytes, line_chars: 0 };
    let leaving = EvictionCollector::new(thread, tokens, wanted);
    let left = leaving.gather(&plan, cuts, Vec::new(), &BTreeSet::new());
    let departure = Eviction { blobs: copied(left.texts, thread), ..left.departure };
    ArrivalOutcome { rewrites, departure }
}

/// Puts a value where a policy's text leaves room for it, as `{name}`. Where the original says the
/// same, only the first is the policy's for sure.
pub fn fill_in(with: &str, name: &str, value: &str, original: &str) -> String {
    let room = format!("{{{name}}}");
    match original.contains(&room) {
        true => with.replacen(&room, value, 1),
        false => with.replace(&room, value),
    }
}

/// What stands for a mask that says nothing: no provider takes a result that does.
const MASKED: &str = "[masked]";

/// Looks at one part after the other.
struct ArrivalScan<'a> {
    thread: &'a Thread,
    tokens: &'a ThreadSizes<'a>,
    digester: &'a dyn ToolDigester,
    cutter: PartShortener<'a>,
}

impl ArrivalScan<'_> {
    /// What stands in the place of a part, where something smaller does.
    fn smaller(&self, part: PartId, decision: &ToolResultAnswer) -> Option<ShortenedPart> {
        let text = self.thread.part(part)?.text()?;
        let size = self.tokens.part(part);
        let most = decision.max_tokens.unwrap_or(size.saturating_sub(1));
        match decision.how {
            Way::Keep => None,
            Way::Mask => Some(self.masked(part, text, decision.text.as_deref()?)),
            Way::Digest => match &decision.text {
                Some(with) => self.replaced(part, text, with, ReplaceMethod::Digest),
                None => self.digest(part, text, most),
            },
            Way::Offload => {
                let own = decision.text.as_deref();
                let own =
                    own.and_then(|with| self.replaced(part, text, with, ReplaceMethod::Offload));
                let made = own.or_else(|| self.digest(part, text, most));
                let cut = made.or_else(|| self.cutter.cut(part, most))?;
                Some(ShortenedPart { how: ReplaceMethod::Offload, ..cut })
            }
        }
    }

    /// The same with the lines that the profile keeps; none where it is no smaller with them. What is
    /// masked may be a secret: nothing of it is said.
    fn keeping(
        &self,
        cut: ShortenedPart,
        lines: &[StatedLine],
        heading: &str,
    ) -> Option<ShortenedPart> {
        let lacks = |line: &&StatedLine| line.part == cut.part && !cut.with.contains(&line.text);
        let missing: Vec<_> = lines.iter().filter(lacks).map(|line| &*line.text).collect();
        if missing.is_empty() || cut.how == ReplaceMethod::Mask {
            return Some(cut);
        }
        let with = format!("{}\n{heading}\n{}", cut.with, missing.join("\n"));
        let size = self.tokens.gauge().size(&with);
        (size < self.tokens.part(cut.part)).then_some(ShortenedPart { with, size, ..cut })
    }

    /// A mask. What is masked may be a secret: the mask stands in its place however small that is, and
    /// says neither what failed nor the way back, unless the policy writes `{id}`.
    fn masked(&self, part: PartId, text: &str, with: &str) -> ShortenedPart {
        let with = if with.trim().is_empty() { MASKED } else { with.trim() };
        let with = self.filled(part, text, with, &ContentId::for_text(text).short());
        let size = self.tokens.gauge().size(&with);
        ShortenedPart::new(part, with, ReplaceMethod::Mask, size, size)
    }

    /// A policy's own text; where that does not name the original, with the marker behind it that
    /// does.
    fn replaced(
        &self,
        part: PartId,
        text: &str,
        with: &str,
        how: ReplaceMethod,
    ) -> Option<ShortenedPart> {
        let most = self.tokens.part(part).saturating_sub(1);
        let id = ContentId::for_text(text).short();
        let with = self.filled(part, text, with.trim(), &id);
        let with = self.thread.with_failure(part, &with).into_owned();
        if with.contains(&id) {
            let size = self.tokens.gauge().size(&with);
            return (size <= most).then(|| ShortenedPart::new(part, with, how, size, most));
        }
        let digest = ToolDigest { text: with, kind: "text".into(), left: Vec::new() };
        Some(ShortenedPart { how, ..self.cutter.digest(part, text, &digest, most)? })
    }

    /// A policy's text with what it leaves to be filled in.
    fn filled(&self, part: PartId, text: &str, with: &str, id: &str) -> String {
        let (tokens, lines) = (self.tokens.part(part), text.lines().count());
        let values = [("id", id), ("tokens", &tokens.to_string()), ("lines", &lines.to_string())];
        let with = values
            .iter()
            .fold(with.to_owned(), |with, (name, value)| fill_in(&with, name, value, text));
        if !with.contains("{saved}") {
            return with;
        }
        let saved = tokens.saturating_sub(self.tokens.gauge().size(&with));
        fill_in(&with, "saved", &saved.to_string(), text)
    }

    fn digest(&self, part: PartId, text: &str, most: u64) -> Option<ShortenedPart> {
        let call = self.thread.call_of(part)?;
        let digest = self.digester.digest(&DigestJob {
            tool: &call.tool,
            arguments: &call.arguments,
            text,
            error: self.thread.is_error(part),
            most: self.cutter.digest_room(part, most),
            measure: self.tokens.gauge(),
        })?;
        self.cutter.digest(part, text, &digest, most)
    }
}
