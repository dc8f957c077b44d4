//! The prompt of a request that was read as a whole.
//!
//! Invariant: its bytes are the request's own but for what the records say, and keep every rule of
//! their provider that the request kept. Called by the turn and by a look.

use bytes::Bytes;
use epitome_kernel::Underway;
use epitome_types::{Edit, PartId};

use super::Session;
use super::ground::{Ground, Whole};
use super::memory::Memory;
use super::state::State;
use crate::Error;
use crate::outgoing::checked;

impl Session {
    /// The prompt as its provider has it, with what is new, where a model may be asked behind it.
    pub(super) fn underway(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        state: &State,
    ) -> Result<Option<Underway>, Error> {
        if self.settings.models.all.is_empty() {
            return Ok(None);
        }
        let (bytes, _) = self.written(ground, whole, "", state)?;
        let bytes = match &ground.mandate {
            Some(mandate) => mandate.put(bytes, ground.source.format)?,
            None => bytes,
        };
        let format = ground.source.format.name().to_owned();
        Ok(Some(Underway { request: bytes.as_ref().into(), format }))
    }

    /// The prompt that the records say, and what is remembered of it. `counter` is the counter's id.
    pub(super) fn written(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        counter: &str,
        state: &State,
    ) -> Result<(Bytes, Memory), Error> {
        let (source, view) = (ground.source, whole.view());
        let here = |part: PartId| view.keeps(part.entry) && !view.changes_part(part);
        let arrived = state.arrived(0).filter(|(part, _)| here(*part));
        let mut edits: Vec<_> =
            arrived.map(|(part, one)| Edit::SetText { part, text: one.with.clone() }).collect();
        edits.extend(view.edits());
        let document = source.document()?;
        let layout = document.layout(&edits).map_err(Error::Edit)?;
        let bytes = match edits.is_empty() {
            true => source.unchanged(),
            false => checked(document, document.laid_out(&layout))?.into(),
        };
        let figures = (ground.tally.clone(), ground.standing);
        let last = document.entries().last();
        Ok((bytes, Memory::of(source, counter, ground.schemas, figures, layout, last)))
    }
}
