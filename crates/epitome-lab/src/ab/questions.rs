//! What is asked of a compressed conversation: names that the assistant used later, orders of people,
//! or questions with the words that answer them.
//!
//! Invariant: none of it is known to what compresses. The keys are those of the files that a
//! preparation of cases writes beside each conversation.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::names::NameKind;
use super::words::Need;

/// The questions about one conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct CaseQuestions {
    pub(crate) id: String,
    /// Where the conversation is from.
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) refs: Vec<ReferenceQuestion>,
    #[serde(default)]
    pub(crate) directives: Vec<ConstraintQuestion>,
    #[serde(default)]
    pub(crate) items: Vec<QuestionItem>,
    /// Texts that must still be there, the system's and the last one that was typed.
    #[serde(default)]
    pub(crate) system: Vec<String>,
    #[serde(default)]
    pub(crate) last_user: String,
}

/// A name that the assistant used after the cut and that it could only remember.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ReferenceQuestion {
    #[serde(rename = "ref")]
    pub(crate) name: String,
    pub(crate) kind: NameKind,
    /// Whether it was last said outside the newest eighth.
    pub(crate) far: bool,
    /// Words that stood around it.
    pub(crate) context: Vec<String>,
    /// What is asked in one search.
    pub(crate) query: String,
}

/// A sentence in which a person orders or forbids something.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ConstraintQuestion {
    #[serde(deserialize_with = "in_order")]
    pub(crate) need: Need,
}

/// A question, and what must be there to answer it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct QuestionItem {
    pub(crate) question: String,
    pub(crate) evidence: Vec<ConstraintQuestion>,
}

impl CaseQuestions {
    /// Whether a conversation of people is asked about, not the work of an agent.
    pub(crate) fn is_chat(&self) -> bool {
        !self.items.is_empty()
    }

    /// How many questions there are.
    pub(crate) fn count(&self) -> usize {
        self.refs.len() + self.items.len()
    }
}

/// An object in the order of its members: sums of weights depend on it in their last digits.
fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Need, D::Error> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Need;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object of words and weights")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Need, A::Error> {
            let mut out = Need::new();
            while let Some(member) = map.next_entry()? {
                out.push(member);
            }
            Ok(out)
        }
    }
    deserializer.deserialize_map(Members)
}
