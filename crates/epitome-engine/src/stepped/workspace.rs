//! A workspace whose answers are written down.

use std::sync::Arc;

use epitome_kernel::{Workspace, WorkspaceError};
use epitome_types::ContentId;
use serde_json::{Value, json};

use super::forms::FileReply;
use crate::tape::{StepTape, TurnEffect};

/// The folder that a stepped turn looks into.
pub(super) struct TapedWorkspace {
    folder: Arc<dyn Workspace>,
    tape: Arc<StepTape>,
}

impl TapedWorkspace {
    pub(super) fn of(folder: &Arc<dyn Workspace>, tape: &Arc<StepTape>) -> Arc<dyn Workspace> {
        Arc::new(Self { folder: Arc::clone(folder), tape: Arc::clone(tape) })
    }

    fn put(
        &self,
        name: &str,
        about: Value,
        put: impl FnOnce() -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let effect = TurnEffect::write(name, about, FileReply::Done);
        self.tape.effect(effect, || FileReply::from(put())).unwrap_or(FileReply::Done).into()
    }
}

impl Workspace for TapedWorkspace {
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool {
        let effect = TurnEffect::read("workspace.persisted", about(path, bytes));
        self.tape.effect(effect, || self.folder.persisted(path, bytes)).unwrap_or_default()
    }

    fn holds(&self, path: &str, piece: &str) -> bool {
        let effect = TurnEffect::read("workspace.holds", about(path, piece.as_bytes()));
        self.tape.effect(effect, || self.folder.holds(path, piece)).unwrap_or_default()
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        let effect = TurnEffect::read("workspace.stamp", path);
        self.tape.effect(effect, || self.folder.stamp(path)).flatten()
    }

    fn export(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.put("workspace.export", about(path, bytes), || self.folder.export(path, bytes))
    }

    fn append(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.put("workspace.append", about(path, bytes), || self.folder.append(path, bytes))
    }
}

/// A file, and what it is to hold.
fn about(path: &str, bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    json!({ "path": path, "text": ContentId::for_text(&text), "bytes": bytes.len() })
}
