//! The account of a compression, put together from what the kernel and the bytes tell.
//!
//! Invariant: the categories add up to the whole, tool schemas included, whether or not they
//! counted against the budget. Called by the compressor.

use epitome_extract::KeepRules;
use epitome_kernel::{Eviction, Thread, ThreadSizes};
use epitome_plan::{LeftFile, PASTE_AGAIN};
use epitome_types::{
    CompressionReport, Entry, EventKind, FactReport, PromptSize, SCHEMA, TokenBreakdown,
};
use epitome_wire::{Format, RequestDocument};

use crate::limits::OneShotBounds;
use epitome_config::profile::Profile;

/// What a report says whatever was done.
pub(crate) struct ReportBase<'a> {
    pub(crate) profile: &'a Profile,
    /// The input's format.
    pub(crate) format: Format,
    /// The counter's id.
    pub(crate) counter: &'a str,
    pub(crate) bounds: &'a OneShotBounds,
    /// Tokens of the tool schemas.
    pub(crate) tools: u64,
    pub(crate) warnings: Vec<String>,
}

impl ReportBase<'_> {
    /// The report of a conversation that goes out as it came in.
    pub(crate) fn untouched(
        self,
        document: &RequestDocument<'_>,
        thread: &Thread,
        tokens: &ThreadSizes<'_>,
    ) -> CompressionReport {
        let mut by = TokenBreakdown::default();
        thread.entries().iter().for_each(|entry| tokens.add_to(&mut by, entry));
        let totals = self.totals(by, document);
        self.report(totals.clone(), totals)
    }

    /// The report of a compression with the result `after`, but for the facts.
    pub(crate) fn compressed(
        mut self,
        before: &RequestDocument<'_>,
        after: &RequestDocument<'_>,
        compressed: epitome_plan::PlannedCompression<'_>,
    ) -> CompressionReport {
        let [was, is] = compressed.by;
        let (before, after) = (self.totals(was, before), self.totals(is, after));
        self.warnings.extend(compressed.warnings);
        self.warnings.extend(compressed.events.iter().filter_map(told));
        self.warnings.extend(without_room(&compressed.files));
        if compressed.stalled {
            let freed = before.tokens.saturating_sub(after.tokens);
            self.warnings.push(format!("little was to gain: {freed} tokens"));
        }
        CompressionReport {
            ops: compressed.ops,
            checkpoints: compressed.checkpoints,
            offloaded: compressed.offloaded,
            ..self.report(before, after)
        }
    }

    fn totals(&self, mut by: TokenBreakdown, document: &RequestDocument<'_>) -> PromptSize {
        by.tools = self.tools;
        PromptSize {
            tokens: by.sum(),
            bytes: document.bytes().len() as u64,
            messages: document.entries().len() as u64,
            by,
        }
    }

    fn report(mut self, before: PromptSize, after: PromptSize) -> CompressionReport {
        let OneShotBounds { limit, budget, .. } = *self.bounds;
        let over = limit.filter(|limit| after.tokens > *limit);
        if let (Some(limit), Some(_)) = (over, budget) {
            let tokens = after.tokens;
            self.warnings.push(format!(
                "{tokens} tokens are more than the limit of {limit}; ask for a smaller budget"
            ));
        }
        CompressionReport {
            schema: SCHEMA,
            profile: self.profile.name().to_owned(),
            config: self.profile.config(),
            format: self.format.to_string(),
            counter: self.counter.to_owned(),
            limit,
            budget: budget.map(|budget| budget.most),
            budget_unit: budget.map(|budget| budget.unit.to_string()),
            fits: over.is_none(),
            elapsed_ms: 0.0,
            before,
            after,
            ops: Vec::new(),
            checkpoints: Vec::new(),
            offloaded: Vec::new(),
            must_keep: FactReport::default(),
            warnings: self.warnings,
        }
    }
}

/// What a report warns of, of what came up while a plan was made.
fn told(event: &EventKind) -> Option<String> {
    match event {
        EventKind::PolicyWarning { policy, text, .. } => Some(format!("{policy}: {text}")),
        _ => None,
    }
}

/// What is said where files had no room.
fn without_room(files: &[LeftFile]) -> Option<String> {
    let file = |file: &LeftFile| format!("{} ({} tokens)", file.path, file.tokens);
    let names: Vec<_> = files.iter().map(file).collect();
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    Some(format!("the newest copies of {names} left, for want of room; {PASTE_AGAIN}"))
}

/// Which facts of the conversation its new prompt still holds, and which it does not.
pub(crate) fn facts(entries: [&[Entry]; 2], departure: &Eviction, keep: &KeepRules) -> FactReport {
    let [before, after] = entries.map(|entries| entries.iter().collect::<Vec<&Entry>>());
    let Eviction { passages, sources, .. } = departure;
    epitome_extract::kept_and_lost(&before, &after, passages, sources, keep)
}
