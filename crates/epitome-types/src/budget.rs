//! How large a prompt may be, and in which unit that is said.

use std::fmt;

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Tokens: text + call arguments + 4 per message (`--max-tokens`).
    Tokens,
    /// Characters of the message texts joined by a newline (`--max-chars`).
    Chars,
    /// Bytes of the encoded request (`--max-bytes`).
    Bytes,
}

/// A hard bound on the size of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What is counted.
    pub unit: BudgetUnit,
    /// The most that may be sent, in `unit`.
    pub most: u64,
}

impl fmt::Display for BudgetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BudgetUnit::Tokens => "tokens",
            BudgetUnit::Chars => "characters",
            BudgetUnit::Bytes => "bytes",
        })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.most, self.unit)
    }
}
