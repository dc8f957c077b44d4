//! What a compression did: the JSON of `--report` (CLI.md, schema `epitome/report@1`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value of a report's `schema` field.
pub const SCHEMA: &str = "epitome/report@1";

/// The account of one compression.
#[derive(Clone, Debug, Serialize)]
pub struct CompressionReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The profile in force.
    pub profile: String,
    /// Hash of the effective configuration, `b3:` and hexadecimal digits.
    pub config: String,
    /// The input's format.
    pub format: String,
    /// The counter's id.
    pub counter: String,
    /// The provider's limit, in tokens.
    pub limit: Option<u64>,
    /// The hard budget asked for, in `budget_unit`.
    pub budget: Option<u64>,
    /// What `budget` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_unit: Option<String>,
    /// Whether the result is within the limit and the budget.
    pub fits: bool,
    /// Time from the first input byte to the last output byte, in milliseconds.
    pub elapsed_ms: f64,
    /// The conversation as it came in.
    pub before: PromptSize,
    /// The conversation as it goes out.
    pub after: PromptSize,
    /// What was done.
    pub ops: Vec<OpReport>,
    /// The checkpoints now in the prompt.
    pub checkpoints: Vec<CheckpointReport>,
    /// Tool results that left the prompt.
    pub offloaded: Vec<OffloadReport>,
    /// Which must-keep facts are still in the prompt, and which are not.
    pub must_keep: FactReport,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Size of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PromptSize {
    /// Tokens of the whole prompt.
    pub tokens: u64,
    /// Bytes of the encoded request.
    pub bytes: u64,
    /// Number of messages.
    pub messages: u64,
    /// Tokens by category.
    pub by: TokenBreakdown,
}

/// Tokens by category; they add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenBreakdown {
    /// System and developer messages.
    pub system: u64,
    /// Tool schemas.
    pub tools: u64,
    /// Text in the user role that a person or harness wrote.
    pub user: u64,
    /// Text of the model.
    pub assistant: u64,
    /// Names and arguments of tool calls.
    pub tool_calls: u64,
    /// Tool results.
    pub tool_results: u64,
    /// Images.
    pub images: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

impl TokenBreakdown {
    /// The whole.
    pub fn sum(&self) -> u64 {
        let messages = self.system + self.user + self.assistant + self.checkpoints;
        messages + self.tools + self.tool_calls + self.tool_results + self.images
    }
}

/// One operation, as reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpReport {
    /// The operation's name.
    pub op: &'static str,
    /// The entries it touched.
    pub entries: Vec<String>,
    /// Tokens of those entries before.
    pub tokens_before: u64,
    /// Tokens that stand in their place now.
    pub tokens_after: u64,
    /// Why.
    pub reason: String,
    /// The policy that asked for it.
    pub policy: String,
    /// The hook that answered.
    pub hook: String,
    /// The line of its `policy.lua` where that hook begins, where it has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The model that wrote what stands in their place; none where it was written without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One checkpoint, as reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckpointReport {
    /// Its content id: `recall --id` prints the original, or the list of them.
    pub id: String,
    /// Its level: 3, 2, 1, or 0 for merged.
    pub level: u8,
    /// Its size in tokens.
    pub tokens: u64,
    /// The entries it stands for.
    pub covers: Vec<String>,
}

/// One tool result that left the prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffloadReport {
    /// Its content id: `recall --id` prints it.
    pub id: String,
    /// The tool that returned it.
    pub tool: String,
    /// Its size in tokens.
    pub tokens: u64,
}

/// Facts that should survive, and those that did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FactReport {
    /// How many did.
    #[serde(flatten)]
    pub kept: FactCounts,
    /// Those that are no longer in the prompt, what people order first.
    pub lost: Vec<LostFact>,
}

/// A fact that is no longer in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostFact {
    /// `kept`, `constraint`, `error`, `path` or `identifier`.
    pub kind: &'static str,
    /// The fact.
    pub text: String,
    /// The entry that said it last.
    pub entry: String,
    /// The content id of the original that says it, where one is kept.
    pub id: Option<String>,
    /// The command that brings it back, where it was stored.
    pub recall: Option<String>,
}

impl LostFact {
    /// The kind of what a person orders or forbids.
    pub const ORDER: &'static str = "constraint";
    /// The kind of what the profile's `keep` names.
    pub const KEPT: &'static str = "kept";
}

/// Facts that should survive: each pair is `[kept, all]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactCounts {
    /// Sentences in which a person orders or forbids something.
    pub constraints: [u32; 2],
    /// Paths and file names.
    pub paths: [u32; 2],
    /// Names of errors.
    pub errors: [u32; 2],
    /// Identifiers, numbers and dates that were used more than once.
    pub identifiers: [u32; 2],
    /// Lines that the profile's `keep` names.
    #[serde(default, skip_serializing_if = "is_none")]
    pub kept: [u32; 2],
    /// How many of the lost ones a search in the store finds.
    pub recallable: u32,
}

/// Whether there is nothing of a kind: it is not named then.
fn is_none(counts: &[u32; 2]) -> bool {
    counts[1] == 0
}

impl FactCounts {
    /// Each kind of fact that there is any of, by name, with its `[kept, all]`.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, [u32; 2])> {
        let Self { constraints, paths, errors, identifiers, kept, .. } = *self;
        [
            ("lines to keep", kept),
            ("constraints", constraints),
            ("paths", paths),
            ("errors", errors),
            ("identifiers", identifiers),
        ]
        .into_iter()
        .filter(|(_, [_, all])| *all > 0)
    }

    /// How many facts were kept, and how many there are.
    pub fn total(&self) -> [u32; 2] {
        self.kinds().fold([0, 0], |[kept, all], (_, [here, of])| [kept + here, all + of])
    }

    /// The share of facts that were kept: 1 where there is none to keep.
    pub fn share(&self) -> f64 {
        let [kept, all] = self.total();
        if all == 0 { 1.0 } else { f64::from(kept) / f64::from(all) }
    }
}

/// For people: `17 of 17 constraints, 42 of 44 paths; 2 recallable`.
impl fmt::Display for FactCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, [kept, all]) in self.kinds() {
            f.write_str(if first { "" } else { ", " })?;
            let name = match (all, name) {
                (1, "lines to keep") => "line to keep",
                (1, name) => name.trim_end_matches('s'),
                _ => name,
            };
            write!(f, "{kept} of {all} {name}")?;
            first = false;
        }
        match self.recallable {
            _ if first => f.write_str("nothing to keep"),
            0 => Ok(()),
            some => write!(f, "; {some} recallable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_said_in_words() {
        let check = |kept: FactCounts, text: &str, share: f64| {
            assert_eq!((kept.to_string(), kept.share()), (text.to_owned(), share));
        };
        check(FactCounts::default(), "nothing to keep", 1.0);
        let whole = FactCounts { constraints: [1, 1], ..FactCounts::default() };
        check(whole, "1 of 1 constraint", 1.0);
        let kept = FactCounts { paths: [1, 3], recallable: 2, ..whole };
        check(kept, "1 of 1 constraint, 1 of 3 paths; 2 recallable", 0.5);
    }
}
