//! A recorded session as its client would send it.

use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::SessionInfo;
use epitome_wire::{Format, assemble};

use super::{SessionAdmin, pages, wire_bytes};
use crate::error::AdminError;

impl SessionAdmin {
    /// The newest request of a session, or of the one used last: its messages as they were said,
    /// whatever was compressed. Definitions of tools are not recorded, so it has none.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn request(&self, name: Option<&str>) -> Result<(Format, Vec<u8>), AdminError> {
        Ok(request_of_session(&*self.journal, &self.scope, &self.history(name)?.info)?)
    }
}

/// The same of a session in any scope.
pub(crate) fn request_of_session(
    journal: &dyn SessionArchive,
    scope: &str,
    info: &SessionInfo,
) -> Result<(Format, Vec<u8>), StoreError> {
    let format = info.format.parse().map_or(Format::OpenAi, Format::nearest);
    let mut messages: Vec<Vec<u8>> = Vec::with_capacity(info.figures.messages as usize);
    pages(journal, scope, info, |page| {
        messages.extend(page.iter().map(|said| wire_bytes(format, said).into_owned()));
        Ok(())
    })?;
    let messages: Vec<_> = messages.iter().map(Vec::as_slice).collect();
    Ok((format, assemble(format, info.model.as_deref(), None, &messages)))
}
