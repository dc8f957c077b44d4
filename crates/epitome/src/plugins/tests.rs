//! Plugins from outside.
