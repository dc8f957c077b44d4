//! The folder that a client works in: files that its own tools open in the place of what left its
//! prompt, and the [`augments`] that stand in it.
//!
//! The folder itself is behind the feature `folder`; a host may fill the port in another way.

pub mod augments;
mod block;
#[cfg(feature = "folder")]
mod folder;

pub use block::block;
#[cfg(feature = "folder")]
pub use folder::WorkspaceFolder;
