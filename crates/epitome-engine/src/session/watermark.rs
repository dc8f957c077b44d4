//! The watermark of a session, where a policy moves it (RULES 35).
//!
//! Invariant: it only moves forward, and what it is said to have taken out is what the plan took
//! out. Called by the compression.

use epitome_kernel::{Thread, View};
use epitome_types::hook::Orders;
use epitome_types::{Entry, EntryId, EntryKey, EventKind, SessionAction};

use super::action_state::ActionState;

/// A watermark on its way.
#[derive(Clone, Debug)]
pub(crate) struct WatermarkMove {
    place: EntryId,
    key: EntryKey,
    /// How many messages before it say the same.
    copy: u32,
    tool: String,
    /// Whether the message calls the tool: then the agent itself ends a task.
    called: bool,
    blocks: u32,
    saved: u64,
}

impl WatermarkMove {
    /// The watermark at the place that a policy names, unless it is there or further already.
    pub(crate) fn to(
        orders: &Orders,
        acts: Option<&ActionState>,
        keys: &[EntryKey],
        thread: &Thread,
    ) -> Option<Self> {
        let place = orders.watermark?.entry()?;
        let key = *keys.get(place.index())?;
        let now = acts.and_then(|acts| acts.mark(keys)).flatten();
        let is_further = now.is_none_or(|now| now < place);
        let tool = orders.watermark_tool.clone().unwrap_or_default();
        let calls = |it: &Entry| it.calls().any(|call| *call.tool == tool);
        let called = thread.entry(place).is_some_and(calls);
        let copy = keys[..place.index()].iter().filter(|known| **known == key).count() as u32;
        is_further.then_some(Self { place, key, copy, tool, called, blocks: 0, saved: 0 })
    }

    /// The message that will hold it.
    pub(crate) fn place(&self) -> EntryId {
        self.place
    }

    /// Whether an agent ends a task with it, by a call of a tool. That is done however little it frees.
    pub(crate) fn is_called(&self) -> bool {
        self.called
    }

    /// With what left by the plan that moves it.
    pub(crate) fn taking(self, [before, after]: [&View<'_>; 2], tokens: [u64; 2]) -> Self {
        let blocks = blocks(before).saturating_sub(blocks(after));
        Self { blocks, saved: tokens[0].saturating_sub(tokens[1]), ..self }
    }

    pub(crate) fn act(&self) -> SessionAction {
        let Self { key, copy, tool, blocks, saved, .. } = self.clone();
        SessionAction::Mark { entry: key, copy: Some(copy), tool, blocks, saved }
    }

    pub(crate) fn event(&self) -> EventKind {
        let Self { place, tool, blocks, saved, .. } = self.clone();
        EventKind::WatermarkMoved { entry: place.to_string(), tool, blocks, saved }
    }
}

/// Tool calls and results that are sent.
fn blocks(view: &View<'_>) -> u32 {
    let entries = view.entries();
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    parts.filter(|part| part.within.is_none() && part.body.is_tool()).count() as u32
}
