//! The live view of a replay: the budget of the prompt as one bar, with what fills it.
//!
//! Invariant: readable without colours; a category that is not empty shows at least one cell, and
//! no line reaches the last column.

use anstyle::{AnsiColor, Color, Style};
use epitome::types::TokenBreakdown;
use epitome_lab::ReplayTurn;

use crate::figure::{middle, percent};
use crate::text::{counted, grouped, plain};

const FREE: char = '·';
const LIMIT: char = '┃';
const CELL: char = '█';

/// A kind of content, as it is drawn.
struct ContentKind {
    name: &'static str,
    color: AnsiColor,
    /// Stands for it where there are no colours.
    letter: char,
    tokens: fn(&TokenBreakdown) -> u64,
}

const KINDS: [ContentKind; 8] = [
    ContentKind { name: "system", color: AnsiColor::Blue, letter: 's', tokens: |by| by.system },
    ContentKind { name: "tools", color: AnsiColor::Magenta, letter: 't', tokens: |by| by.tools },
    ContentKind {
        name: "checkpoints",
        color: AnsiColor::BrightMagenta,
        letter: 'C',
        tokens: |by| by.checkpoints,
    },
    ContentKind { name: "user", color: AnsiColor::Green, letter: 'u', tokens: |by| by.user },
    ContentKind {
        name: "assistant",
        color: AnsiColor::Cyan,
        letter: 'a',
        tokens: |by| by.assistant,
    },
    ContentKind {
        name: "calls",
        color: AnsiColor::Yellow,
        letter: 'c',
        tokens: |by| by.tool_calls,
    },
    ContentKind {
        name: "results",
        color: AnsiColor::White,
        letter: 'r',
        tokens: |by| by.tool_results,
    },
    ContentKind {
        name: "images",
        color: AnsiColor::BrightGreen,
        letter: 'i',
        tokens: |by| by.images,
    },
];

/// Where a replay stands.
pub(crate) struct ReplayState<'a> {
    pub(crate) name: &'a str,
    pub(crate) turn: &'a ReplayTurn,
    pub(crate) turns: usize,
    pub(crate) compressions: usize,
}

impl ReplayState<'_> {
    /// The lines of the view, for so many columns.
    pub(crate) fn block(&self, columns: usize, colored: bool) -> Vec<String> {
        let width = columns.saturating_sub(1);
        let Self { name, turn, turns, compressions } = self;
        let left = format!(
            "turn {} of {turns}, {}",
            turn.turn,
            counted(*compressions as u64, "compression")
        );
        let room = width.saturating_sub(left.chars().count() + 2);
        let bold = Style::new().bold();
        let gap = if room > 4 { room } else { 0 };
        let name = middle(name, gap);
        let heading = format!("{bold}{}{bold:#}  {name:>gap$}", middle(&left, width));
        let used = format!(
            " {} of {} tokens, {}; {} without",
            grouped(turn.tokens_sent),
            grouped(turn.limit),
            percent(turn.tokens_sent, turn.limit),
            grouped(turn.tokens_raw)
        );
        let used = turn.status.as_deref().unwrap_or(used.trim_start());
        vec![
            heading.trim_end().to_owned(),
            self.bar(width, colored),
            middle(&plain(used), width),
            legend(&turn.by, width, colored),
        ]
    }

    /// The bar; its whole width stands for the limit, or for the prompt where that is larger.
    fn bar(&self, width: usize, colored: bool) -> String {
        let ReplayTurn { by, limit, tokens_sent, .. } = self.turn;
        let whole = (*limit).max(*tokens_sent).max(1);
        // One cell is the mark of the limit.
        let cells = width.saturating_sub(1);
        let place = |tokens: u64| (tokens as f64 / whole as f64 * cells as f64).round() as usize;
        let mut bar: Vec<(char, Option<AnsiColor>)> = Vec::with_capacity(width);
        let mut sum = 0;
        for kind in &KINDS {
            let tokens = (kind.tokens)(by);
            if tokens == 0 {
                continue;
            }
            sum += tokens;
            let cell = if colored { CELL } else { kind.letter };
            let end = place(sum).max(bar.len() + 1).min(cells);
            bar.resize(end.max(bar.len()), (cell, Some(kind.color)));
        }
        bar.resize(cells.max(bar.len()), (FREE, None));
        bar.insert(place(*limit).min(bar.len()), (LIMIT, Some(AnsiColor::Red)));
        let mut out = String::new();
        for run in bar.chunk_by(|one, other| one == other) {
            let style = Style::new().fg_color(run[0].1.map(Color::from));
            let cells: String = run.iter().map(|(cell, _)| cell).collect();
            out.push_str(&format!("{style}{cells}{style:#}"));
        }
        out
    }
}

/// What the cells mean, as far as it fits.
fn legend(by: &TokenBreakdown, width: usize, colored: bool) -> String {
    let (mut out, mut taken) = (String::new(), 0);
    for kind in KINDS.iter().filter(|kind| (kind.tokens)(by) > 0) {
        let wide = kind.name.chars().count() + 4;
        if taken + wide > width {
            break;
        }
        taken += wide;
        let style = kind.color.on_default();
        let cell = if colored { CELL } else { kind.letter };
        out.push_str(&format!("{style}{cell}{style:#} {}  ", kind.name));
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use epitome::types::Role;

    use super::*;

    fn block(by: TokenBreakdown, limit: u64, columns: usize, colored: bool) -> Vec<String> {
        let turn = ReplayTurn {
            turn: 7,
            role: Role::User,
            tokens_raw: 41_230,
            tokens_sent: by.sum(),
            limit,
            prefix_kept: 1.0,
            prompt: None,
            status: None,
            events: Vec::new(),
            must_keep: None,
            refused: None,
            by,
        };
        let state =
            ReplayState { name: "a/session.jsonl", turn: &turn, turns: 12, compressions: 1 };
        let block = state.block(columns, colored);
        block.iter().map(|line| strip_str(line).to_string()).collect()
    }

    fn by() -> TokenBreakdown {
        TokenBreakdown {
            system: 1,
            user: 29,
            tool_results: 20,
            checkpoints: 10,
            ..Default::default()
        }
    }

    #[test]
    fn the_budget_is_a_bar_with_its_limit() {
        let lines = block(by(), 100, 42, false);
        assert_eq!(lines[0], "turn 7 of 12, 1 compression  a/ses….jsonl");
        assert_eq!(lines[1], "sCCCuuuuuuuuuuuurrrrrrrr················┃");
        assert_eq!(lines[2], "60 of 100 tokens, 60 %; 41,230 without");
        assert_eq!(lines[3], "s system  C checkpoints  u user");
    }

    #[test]
    fn what_exceeds_the_limit_stands_behind_its_mark() {
        let bar = &block(by(), 30, 42, false)[1];
        assert_eq!(bar.chars().position(|cell| cell == '┃'), Some(20));
        assert!(bar.ends_with("rrr"), "{bar}");
    }

    #[test]
    fn no_line_reaches_the_last_column() {
        for columns in [1, 2, 5, 10, 20, 40, 80, 120] {
            for colored in [false, true] {
                for line in block(by(), 100, columns, colored) {
                    assert!(line.chars().count() < columns.max(2), "{columns}: {line:?}");
                }
            }
        }
    }
}
