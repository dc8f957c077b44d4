//! What came of trying a policy, in a terminal.
//!
//! Invariant: it says what the page says, without the prompts.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use epitome_page::{LineKind, PlayRow, PolicyTrial, TrialTurn};

use crate::columns::output_width;
use crate::fault::CliError;
use crate::files;
use crate::table::{Column, TextTable, left, right};
use crate::text::{clipped, counted, grouped, on_one_line, plain};

const COLUMNS: [Column; 6] = [
    left("profile"),
    right("compressions"),
    right("cost"),
    right("largest"),
    right("facts kept"),
    right("lost"),
];

/// Cells of a turn, and of a hook.
const TURN: usize = 9;
const HOOK: usize = 14;

/// The most cells of a line, where nobody clips it sooner.
const WIDEST: usize = 160;

/// Shows a turn as it was played.
pub(super) fn show_turn(turn: &TrialTurn) -> Result<(), CliError> {
    files::to_stdout(|out| write(out, turn))
}

fn write(out: &mut dyn Write, turn: &TrialTurn) -> io::Result<()> {
    let room = output_width().min(WIDEST).saturating_sub(TURN);
    for (at, line) in turn.lines.iter().enumerate() {
        let color = match line.kind {
            LineKind::Decision => AnsiColor::Cyan,
            LineKind::Done => AnsiColor::Green,
            LineKind::Passed => AnsiColor::Yellow,
            LineKind::Failed => AnsiColor::Red,
        };
        let (style, name) = (color.on_default(), &line.name);
        let number = if at == 0 { format!("turn {}", turn.number) } else { String::new() };
        let text = clipped(&format!("{name:HOOK$} {}", plain(&on_one_line(&line.what))), room);
        writeln!(out, "{number:TURN$}{style}{text}{style:#}")?;
    }
    Ok(())
}

/// Shows what a try came to, once its turns were shown.
pub(super) fn show_end(trial: &PolicyTrial) -> Result<(), CliError> {
    let fail = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    files::to_stdout(|out| {
        if !trial.plays.is_empty() {
            let rows: Vec<_> = trial.plays.iter().map(cells).collect();
            writeln!(out)?;
            TextTable::new(&COLUMNS).print(out, &rows)?;
            writeln!(out)?;
        }
        for line in &trial.wrong {
            writeln!(out, "{fail}fail{fail:#}  {}", on_one_line(line))?;
        }
        if trial.plays.is_empty() {
            return Ok(());
        }
        let passed = trial.tests.iter().filter(|test| test.failure.is_none()).count();
        let tests = format!("{passed} of {}", counted(trial.tests.len() as u64, "test"));
        writeln!(out, "{tests} passed; tried in {:.2} s", trial.seconds)
    })
}

fn cells(play: &PlayRow) -> Vec<String> {
    vec![
        play.profile.clone(),
        play.compressions.to_string(),
        play.cost.map_or_else(String::new, |cost| format!("{cost:.2}")),
        grouped(play.largest),
        format!("{} of {}", play.kept, play.facts),
        play.lost.len().to_string(),
    ]
}
