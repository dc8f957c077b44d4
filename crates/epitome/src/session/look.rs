//! What a request would become as the records stand.
//!
//! Invariant: nothing is recorded, nobody is asked, and the session stays as it was. Called by the
//! hub.

use bytes::Bytes;
use epitome_count::tools;
use epitome_kernel::{Gauge, Sizes};
use epitome_types::{Rewrite, Unit};
use epitome_wire::{Document, Format};

use super::turn::{Asked, sent_as, written};
use super::{Prompt, Session, UNNAMED};
use crate::Error;
use crate::compressor::tool_format;
use crate::target::Window;

impl Session {
    /// The prompt that the records make of a request.
    pub(crate) fn look(
        &self,
        request: &Bytes,
        format: Format,
        window: Option<Window>,
    ) -> Result<Prompt, Error> {
        let document = &Document::parse(request, format)?;
        let mut state = self.state.clone();
        let counter = self.counter_for(document.model());
        let gauge = Gauge { counter: &*counter, unit: Unit::Tokens };
        let schemas = tools(&*counter, tool_format(format), &document.tool_schemas());
        let incoming = state.meet(document, None, &*self.journal, &self.scope)?;
        let thread = sent_as(document.entries(), &state);
        let tokens = Sizes::of(thread.entries(), gauge, schemas);
        let live = self.live(document, window, &thread, &tokens)?;
        let known = self.name.clone().or_else(|| incoming.session.clone());
        let name = known.or_else(|| self.told.label.clone()).unwrap_or_else(|| UNNAMED.to_owned());
        let saved = |rewrite: &Rewrite| rewrite.tokens[0].saturating_sub(rewrite.tokens[1]);
        let raw = tokens.total() + state.arrived().map(|(_, one)| saved(one)).sum::<u64>();
        let asked = Asked { document, incoming: &incoming, live: &live, name: &name, at: "" };
        let ground = asked.ground(&thread, &tokens, raw);
        let (bytes, size, epoch) = written(&ground, Some(request), &state)?;
        Ok(Prompt {
            bytes,
            tokens: [raw, size],
            by: ground.by_category(&state),
            limit: live.limit,
            fits: size <= live.limit,
            head: incoming.chains.last().copied().unwrap_or_default(),
            epoch,
            status: None,
            events: Vec::new(),
            session: name.clone(),
        })
    }
}
