//! What is answered to effects, as JSON.
//!
//! Invariant: what is read back is what was written: an error of a store that a turn tells from others
//! stays that error.

use epitome_kernel::{ModelError, ModelLimitHit, StoreError, WorkspaceError};
use epitome_types::{HistoryHash, SessionInfo};
use serde::{Deserialize, Serialize};

/// What a store answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoreReply<R> {
    /// It did what it was asked for.
    Done(R),
    /// There is no such session.
    NoSession { name: String, nearest: Option<String> },
    /// There is such a session already.
    Taken { name: String },
    /// Others went on with the session meanwhile.
    Overtaken { session: String },
    /// What is kept is not what was written.
    Damaged { what: String },
    /// It offers nothing of the kind.
    NotOffered,
    /// It failed in another way.
    Failed { what: String },
}

impl<R> From<Result<R, StoreError>> for StoreReply<R> {
    fn from(result: Result<R, StoreError>) -> Self {
        match result {
            Ok(done) => Self::Done(done),
            Err(StoreError::NoSession { name, nearest }) => Self::NoSession { name, nearest },
            Err(StoreError::Taken { name }) => Self::Taken { name },
            Err(StoreError::Overtaken { session }) => Self::Overtaken { session },
            Err(StoreError::Damaged { what }) => Self::Damaged { what },
            Err(StoreError::NotOffered { .. }) => Self::NotOffered,
            Err(error) => Self::Failed { what: error.to_string() },
        }
    }
}

impl<R> From<StoreReply<R>> for Result<R, StoreError> {
    fn from(reply: StoreReply<R>) -> Self {
        Err(match reply {
            StoreReply::Done(done) => return Ok(done),
            StoreReply::NoSession { name, nearest } => StoreError::NoSession { name, nearest },
            StoreReply::Taken { name } => StoreError::Taken { name },
            StoreReply::Overtaken { session } => StoreError::Overtaken { session },
            StoreReply::Damaged { what } => StoreError::Damaged { what },
            StoreReply::NotOffered => StoreError::NotOffered { what: "do this" },
            StoreReply::Failed { what } => StoreError::Broken {
                path: "of the turn".to_owned(),
                what: "cannot be used",
                cause: what,
            },
        })
    }
}

/// A session, with what people are not told of it.
#[derive(Serialize, Deserialize)]
pub(super) struct SessionReply {
    #[serde(flatten)]
    info: SessionInfo,
    head: HistoryHash,
    label: Option<String>,
}

impl From<SessionInfo> for SessionReply {
    fn from(info: SessionInfo) -> Self {
        let (head, label) = (info.head, info.label.clone());
        Self { info, head, label }
    }
}

impl From<SessionReply> for SessionInfo {
    fn from(SessionReply { info, head, label }: SessionReply) -> Self {
        Self { head, label, ..info }
    }
}

/// What a model answers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModelReply {
    /// What it says.
    Said(String),
    /// Why it says nothing.
    Failed { model: String, cause: String, lack: LackForm },
}

/// [`ModelLimitHit`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LackForm {
    Other,
    Window(Option<u64>),
    Answer,
    Thoughts,
}

impl From<Result<String, ModelError>> for ModelReply {
    fn from(result: Result<String, ModelError>) -> Self {
        let ModelError { model, cause, lack } = match result {
            Ok(said) => return Self::Said(said),
            Err(error) => error,
        };
        let lack = match lack {
            ModelLimitHit::Window(window) => LackForm::Window(window),
            ModelLimitHit::Answer => LackForm::Answer,
            ModelLimitHit::Thoughts => LackForm::Thoughts,
            _ => LackForm::Other,
        };
        Self::Failed { model, cause, lack }
    }
}

impl From<ModelReply> for Result<String, ModelError> {
    fn from(reply: ModelReply) -> Self {
        let (model, cause, lack) = match reply {
            ModelReply::Said(said) => return Ok(said),
            ModelReply::Failed { model, cause, lack } => (model, cause, lack),
        };
        let lack = match lack {
            LackForm::Other => ModelLimitHit::Other,
            LackForm::Window(window) => ModelLimitHit::Window(window),
            LackForm::Answer => ModelLimitHit::Answer,
            LackForm::Thoughts => ModelLimitHit::Thoughts,
        };
        Err(ModelError { model, cause, lack })
    }
}

/// What a workspace answers to a write.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileReply {
    /// The file is there.
    Done,
    /// It is not.
    Failed { path: String, cause: String },
}

impl From<Result<(), WorkspaceError>> for FileReply {
    fn from(result: Result<(), WorkspaceError>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(WorkspaceError { path, cause }) => Self::Failed { path, cause },
        }
    }
}

impl From<FileReply> for Result<(), WorkspaceError> {
    fn from(reply: FileReply) -> Self {
        match reply {
            FileReply::Done => Ok(()),
            FileReply::Failed { path, cause } => Err(WorkspaceError { path, cause }),
        }
    }
}
