//! What is made smaller before it is first sent.
//!
//! Invariant: only tool results that are new, whole and not frozen are touched, each at most once;
//! what a tool of ours brought back never is (hazard 20). The original goes into the departure,
//! which is recorded before the rewrite is used.

use std::ops::Range;

use epitome_kernel::types::{Body, ContentId, EntryKey, How, Part, PartId, Plan, Rewrite};

use crate::budget::rewritable;
use crate::cut::{Cut, Cutter};
use crate::departure::Leaving;
use epitome_kernel::Sizes;
use epitome_kernel::Thread;
use epitome_kernel::{Departure, DigestJob, Digester};

/// When a result is made smaller on arrival, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct ArriveOptions {
    /// From so many tokens on a digest is tried.
    pub digest_from: u64,
    /// The share of its original that a digest may take, 0 to 1.
    pub digest_share: f64,
    /// A result of more tokens than this never stays whole.
    pub offload_above: u64,
    /// Tokens that stay of it.
    pub preview: u64,
    /// Calls that hold one of these words bring back what left: their results stay as they are.
    pub exempt: Vec<String>,
    /// Stands where a text was shortened; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub marker: String,
    /// The largest piece that is cut for search, in bytes.
    pub passage_bytes: usize,
}

/// What was made smaller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrival {
    /// The new texts.
    pub rewrites: Vec<Rewrite>,
    /// The originals.
    pub departure: Departure,
}

/// Makes the large results of new entries smaller. `keys` are the thread's, `tokens` its sizes.
pub fn arrive(
    thread: &Thread,
    keys: &[EntryKey],
    new: Range<usize>,
    tokens: &Sizes<'_>,
    options: &ArriveOptions,
    digester: &dyn Digester,
) -> Arrival {
    let cutter =
        Cutter { thread, sizes: tokens, tokens, marker: &options.marker, digest_tokens: 0 };
    let door = Door { thread, tokens, options, digester, cutter };
    let entries = thread.entries().get(new).unwrap_or_default();
    let parts = entries.iter().flat_map(|entry| rewritable(thread, entry.id));
    let cuts: Vec<_> = parts.filter_map(|part| door.smaller(part)).collect();
    let rewrite = |cut: &Cut| {
        let original = thread.part(cut.part).and_then(Part::text).unwrap_or_default();
        Some(Rewrite {
            key: *keys.get(cut.part.entry.index())?,
            part: cut.part.part,
            how: cut.how,
            original: ContentId::of(original),
            tool: thread.tool_of(cut.part).unwrap_or_default().to_owned(),
            tokens: [tokens.part(cut.part), cut.size],
            with: cut.with.clone(),
        })
    };
    let rewrites = cuts.iter().filter_map(rewrite).collect();
    let plan = Plan { ops: cuts.iter().map(Cut::op).collect(), reason: String::new() };
    let leaving = Leaving::new(thread, tokens, Some(options.passage_bytes), 0);
    let (departure, _) = leaving.gather(&plan, &cuts, Vec::new(), &[]);
    Arrival { rewrites, departure }
}

/// Looks at one part after the other.
struct Door<'a> {
    thread: &'a Thread,
    tokens: &'a Sizes<'a>,
    options: &'a ArriveOptions,
    digester: &'a dyn Digester,
    cutter: Cutter<'a>,
}

impl Door<'_> {
    /// What stands in the place of a part, where something does.
    fn smaller(&self, part: PartId) -> Option<Cut> {
        let tool = self.thread.tool_of(part)?;
        let size = self.tokens.part(part);
        let too_large = size > self.options.offload_above;
        if size < self.options.digest_from && !too_large {
            return None;
        }
        let call = self.thread.call_of(part);
        let arguments = call.map_or("", |call| &call.arguments);
        let exempt = |word: &String| tool.contains(word) || arguments.contains(word);
        if !too_large && self.options.exempt.iter().any(exempt) {
            return None;
        }
        let most = match too_large {
            true => self.options.preview,
            false => (size as f64 * self.options.digest_share) as u64,
        };
        let text = self.thread.part(part)?.text()?;
        let digest = self.digester.digest(&DigestJob {
            tool,
            arguments,
            text,
            error: self.error(part),
            most: self.cutter.digest_room(part, most),
            measure: self.tokens.gauge(),
        });
        let how = if too_large { How::Offload } else { How::Digest };
        match digest.and_then(|digest| self.cutter.digest(part, text, &digest, most)) {
            Some(digest) => Some(Cut { how, ..digest }),
            None if too_large => Some(Cut { how, ..self.cutter.cut(part, most)? }),
            None => None,
        }
    }

    /// Whether the tool reported an error.
    fn error(&self, part: PartId) -> bool {
        let outer = self.thread.part(part).and_then(|inner| inner.within);
        let outer = outer.map_or(part, |outer| PartId { part: outer, ..part });
        matches!(self.thread.part(outer).map(|outer| &outer.body), Some(Body::Result(result)) if result.error)
    }
}
