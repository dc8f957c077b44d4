//! Where a plugin was found, and what it is made of.
//!
//! Invariant: data alone. Made by the shelves, and from what is compiled in.

use std::path::PathBuf;
use std::sync::Arc;

use epitome_plugin::Plugin;

use super::manifest::Manifest;
use crate::extensions::ExtensionOrigin;

/// A plugin, where it was found.
#[derive(Clone)]
pub(crate) struct FoundPlugin {
    pub(crate) name: String,
    pub(crate) origin: ExtensionOrigin,
    pub(crate) made_of: MadeOf,
    /// The folder of plugins that it stands in, where that needs to be trusted first.
    pub(crate) foreign: Option<PathBuf>,
}

/// What a plugin is made of.
#[derive(Clone)]
pub(crate) enum MadeOf {
    /// Rust that is compiled in.
    Code(Arc<dyn Plugin>),
    /// A program in a folder.
    Program { folder: PathBuf, manifest: Manifest },
}
