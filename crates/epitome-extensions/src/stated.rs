//! What a configuration says of the options of one extension.
//!
//! Invariant: plain data; whether the extension has these options is known to the extension. Made where
//! a profile is resolved.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

/// What is said of the options of a policy or a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedOptions {
    /// The values, by option.
    pub values: Map<String, Json>,
    /// Where each of them is said.
    pub places: BTreeMap<String, String>,
}
