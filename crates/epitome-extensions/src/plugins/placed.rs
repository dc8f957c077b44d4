//! Where a plugin was found, and what it is made of.
//!
//! Invariant: data alone. Made by the shelves, and from what is compiled in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use epitome_plugin::Plugin;
use serde::Serialize;

use super::manifest::Manifest;
use crate::origin::ExtensionOrigin;

/// A plugin, where it was found.
#[derive(Clone)]
pub struct FoundPlugin {
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
    /// A program or a module in a folder.
    #[cfg_attr(not(feature = "find"), expect(dead_code, reason = "found in folders"))]
    Folder { folder: PathBuf, manifest: Box<Manifest> },
}

/// The form of a plugin: who runs it, and what it can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginForm {
    /// Rust that is compiled in.
    Code,
    /// A program of its own.
    Program,
    /// A module of WebAssembly, which reaches nothing.
    Module,
}

impl fmt::Display for PluginForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code => "code",
            Self::Program => "program",
            Self::Module => "module",
        })
    }
}
