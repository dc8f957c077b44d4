//! What host and plugin say to each other: types, and no I/O.
//!
//! One JSON object per line, UTF-8, on the plugin's standard input and output; what it writes to
//! standard error is its log. The host says hello first, then the plugin, then the host asks and
//! the plugin answers, one call at a time. Whoever does not know a field ignores it, so fields may
//! be added within a version.
//!
//! Invariant: [`PROTOCOL`] grows only where a line of the older version would be misread, never
//! with a release; recorded lines of every version stay as fixtures beside the tests.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PluginInfo, PluginOption};

/// The version of the protocol that this crate speaks.
pub const PROTOCOL: u32 = 1;

/// What the host calls itself.
pub const HOST: &str = "epitome";

/// The feature of a plugin that digests.
pub const DIGEST: &str = "digest";

/// A line from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HostMessage {
    /// The first line.
    Hello {
        /// Who asks.
        hello: HostInfo,
    },
    /// A result that should become smaller; answered by a [`DigestAnswer`] or `null`.
    Digest {
        /// Names the answer.
        id: u64,
        /// The result and its bounds.
        digest: DigestCall,
    },
    /// A hook; answered by what it answers in Lua, or `null`.
    Hook {
        /// Names the answer.
        id: u64,
        /// Which one.
        hook: String,
        /// Its job.
        job: Value,
        /// What the profile sets for the plugin.
        #[serde(default)]
        options: Value,
    },
    /// A call that a later host knows; answered by an error.
    Unknown {
        /// Names the answer.
        id: u64,
    },
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// Its name.
    pub host: String,
}

/// A result that should become smaller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestCall {
    /// The tool that gave it.
    #[serde(default)]
    pub tool: String,
    /// The arguments of the call, as the model wrote them.
    #[serde(default)]
    pub arguments: String,
    /// The result.
    pub text: String,
    /// Its size, in the host's unit: tokens, as a rule.
    pub tokens: u64,
    /// The most that the digest may take, in the same unit.
    pub most: u64,
    /// About how many bytes of this text that is, for a plugin that cannot count tokens.
    pub most_bytes: u64,
    /// What the profile sets for the plugin.
    #[serde(default)]
    pub options: Value,
}

/// A line from the plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PluginMessage {
    /// The first line.
    Hello {
        /// Who answers.
        hello: PluginHello,
    },
    /// There is no answer.
    Failed {
        /// The call.
        id: u64,
        /// Why.
        error: String,
    },
    /// The answer, `null` where the plugin has none to give.
    Done {
        /// The call.
        id: u64,
        /// What it comes to.
        ok: Value,
    },
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginHello {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it can do; a host passes over what it does not know.
    #[serde(default)]
    pub features: Vec<String>,
    /// The hooks that it answers.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// What it is for.
    #[serde(default)]
    pub doc: String,
    /// What a profile may set for it.
    #[serde(default)]
    pub options: Vec<PluginOption>,
}

/// A digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestAnswer {
    /// What stands in the place of the result.
    pub text: String,
    /// What the result was taken for.
    #[serde(default)]
    pub kind: String,
    /// Where the result says what the digest leaves out: `[from, to]` in bytes of its UTF-8. Where
    /// it is missing, the lines that the digest does not hold are taken for it.
    #[serde(default)]
    pub left: Option<Vec<[usize; 2]>>,
}

impl From<PluginInfo> for PluginHello {
    fn from(about: PluginInfo) -> Self {
        Self {
            protocol: PROTOCOL,
            name: about.name.into(),
            version: about.version.into(),
            features: about.digest.then(|| DIGEST.to_owned()).into_iter().collect(),
            hooks: about.hooks.into_iter().map(Into::into).collect(),
            doc: about.doc.into(),
            options: about.options,
        }
    }
}

impl From<PluginHello> for PluginInfo {
    fn from(hello: PluginHello) -> Self {
        Self {
            digest: hello.features.iter().any(|feature| feature == DIGEST),
            name: hello.name.into(),
            version: hello.version.into(),
            doc: hello.doc.into(),
            hooks: hello.hooks.into_iter().map(Into::into).collect(),
            options: hello.options,
        }
    }
}
