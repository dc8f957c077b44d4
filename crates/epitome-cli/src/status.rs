//! `epitome status`: how full the window is, and what was done about it.
//!
//! Invariant: for all sessions no message is read, so that it is quick however much is recorded.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use epitome::types::{SessionInfo, hook};
use epitome::{
    ArrivalSavings, CountCalibration, SavingsLedger, SavingsSums, SessionAdmin, SessionStatus,
    SilentTruncation, StatusWishes, ToolMarks, UnmetWish, WatermarkStatus, WindowLevel,
    session_hash,
};
use serde::Serialize;

use crate::bar::BeforeAfterBar;
use crate::columns::output_width;
use crate::fault::{self, CliError};
use crate::journal::{self, JournalFlags, OpenJournal};
use crate::table::{Column, TextTable, left, right};
use crate::text::{counted, grouped, moment, often, plain, wrapped};
use crate::{compression_table, files, flags, savings, text};

/// Cells of the bar.
const BAR: usize = 30;
/// Cells before a value.
const INDENT: usize = 15;

const COLUMNS: [Column; 9] = [
    left("session").least(16),
    left("level"),
    right("used"),
    right("sent"),
    right("limit").spare(1),
    right("compressed"),
    right("saved in all").spare(2),
    right("provider").spare(4),
    left("last used, UTC").spare(3),
];

/// Tells how full the window of a session is and what was done about it, or of all sessions
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome status --session debugging-session")]
pub(crate) struct Args {
    /// Tells more of the session with this name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Of all sessions, so many at most, the one used last first; 0 for all
    #[arg(long, value_name = "N", default_value = "20", value_parser = flags::number)]
    limit: u64,
    #[command(flatten)]
    journal: JournalFlags,
}

const MARKS: [Column; 4] =
    [left("marked by").least(8), right("marks"), right("blocks"), right("tokens saved")];

/// A status and when it was told.
#[derive(Serialize)]
struct StatusOutput {
    /// When, ISO 8601.
    at: String,
    #[serde(flatten)]
    status: SessionStatus,
    /// What the profile's policies say; only where one session is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<hook::Status>,
    /// What it cost and saved, as `epitome savings` tells it; none where nothing was paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    money: Option<SavingsSums>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    let journal =
        if args.session.is_some() { journal.at(args.session.as_deref())? } else { journal };
    let at = epitome::system_time();
    match &args.session {
        Some(name) => {
            let told = StatusOutput::of(&journal.keeper, name, at)?;
            if args.journal.json {
                return journal::json(&told);
            }
            files::to_stdout(|out| one(out, &told, &journal.flag()))
        }
        None => {
            let (all, ledger) = (all(&journal, args.limit)?, journal.ledger()?);
            if args.journal.json {
                let mut money = ledger.by_session();
                let told = all.into_iter().map(|(scope, status)| StatusOutput {
                    at: at.clone(),
                    money: money.remove(&session_hash(&scope, &status.session)),
                    status,
                    said: None,
                });
                return journal::json(&told.collect::<Vec<_>>());
            }
            let all: Vec<_> = all.into_iter().map(|(_, status)| status).collect();
            let total = ledger.report(&at, None).all.sums;
            files::to_stdout(|out| {
                overview(out, &all, &journal.flag())?;
                match savings::line(&total) {
                    Some(line) => {
                        let flag = args.journal.store_flag();
                        writeln!(out, "\n{line} in all; `epitome savings{flag}` divides it")
                    }
                    None => Ok(()),
                }
            })
        }
    }
}

/// Writes how a session stands, as the verb does. `flag` is what names its store.
pub(crate) fn write(
    out: &mut dyn Write,
    keeper: &SessionAdmin,
    name: &str,
    flag: &str,
) -> Result<(), CliError> {
    let told = StatusOutput::of(keeper, name, epitome::system_time())?;
    one(out, &told, flag).map_err(CliError::internal)
}

impl StatusOutput {
    fn of(keeper: &SessionAdmin, name: &str, at: String) -> Result<Self, CliError> {
        let status = keeper.status(Some(name)).map_err(CliError::of)?;
        let said = said(keeper, name, &at);
        let hash = session_hash(keeper.scope(), name);
        let money = SavingsLedger::load_session(keeper.journal(), keeper.tenant(), &hash);
        let money = money.map_err(|error| CliError::of_store(&error))?.by_session().remove(&hash);
        Ok(Self { at, status, said, money })
    }
}

/// What the policies say; where they cannot be asked, the rest is told all the same.
fn said(keeper: &SessionAdmin, name: &str, at: &str) -> Option<hook::Status> {
    keeper.report(Some(name), at).unwrap_or_else(|error| {
        fault::note(&format!("the policies of the profile say nothing: {error}"));
        None
    })
}

/// The sessions used last, `limit` at most and 0 for all, each with its scope.
pub(crate) fn all(
    journal: &OpenJournal,
    limit: u64,
) -> Result<Vec<(String, SessionStatus)>, CliError> {
    let most = match usize::try_from(limit) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(most) => most,
    };
    let of_store = |error| CliError::of_store(&error);
    let keepers = journal.keepers()?;
    let mut all = Vec::new();
    for keeper in &keepers {
        let sessions = keeper.journal().sessions(keeper.scope(), 0, most, false);
        all.extend(sessions.map_err(of_store)?.into_iter().map(|info| (keeper, info)));
    }
    // Those of one profile stay in their order. Only of those that are shown more is read.
    all.sort_by(|(_, one), (_, other)| other.last.cmp(&one.last));
    all.truncate(most);
    let status = |(keeper, info): (&SessionAdmin, SessionInfo)| {
        Ok((keeper.scope().to_owned(), keeper.status_of(&info)?))
    };
    all.into_iter().map(status).collect::<Result<_, _>>().map_err(of_store)
}

fn overview(out: &mut dyn Write, all: &[SessionStatus], flag: &str) -> io::Result<()> {
    if all.is_empty() {
        return writeln!(out, "no sessions; `epitome session import{flag} FILE` records one");
    }
    let row = |status: &SessionStatus| {
        vec![
            plain(&status.session),
            level(status.window.level).to_owned(),
            format!("{} %", status.window.percent),
            grouped(status.sums.tokens[1]),
            grouped(status.window.limit),
            often(status.savings.compressions.into()),
            grouped(status.sums.total[0].saturating_sub(status.sums.total[1])),
            counted_by_provider(status),
            moment(&status.last),
        ]
    };
    TextTable::new(&COLUMNS).print(out, &all.iter().map(row).collect::<Vec<_>>())?;
    marks(out, &ToolMarks::sum(all.iter().flat_map(|status| status.wishes.marks.iter().cloned())))
}

/// What marks came to, by tool; nothing where there was none.
fn marks(out: &mut dyn Write, all: &[ToolMarks]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let row = |one: &ToolMarks| {
        let counts = [u64::from(one.marks), one.blocks, one.saved].map(grouped);
        std::iter::once(by(&one.tool)).chain(counts).collect()
    };
    writeln!(out)?;
    TextTable::new(&MARKS).print(out, &all.iter().map(row).collect::<Vec<_>>())
}

/// The tool that marked.
fn by(tool: &str) -> String {
    if tool.is_empty() { "no tool".to_owned() } else { plain(tool) }
}

fn watermark(mark: &WatermarkStatus) -> String {
    let WatermarkStatus { entry, tool, at, .. } = mark;
    let place = entry.as_deref().unwrap_or("not in this history any more");
    format!("{place}, by {}, {} UTC", by(tool), moment(at))
}

/// Tokens of all prompts as the provider counted them, where it told.
fn counted_by_provider(status: &SessionStatus) -> String {
    match status.sums.answers {
        0 => String::new(),
        _ => grouped(status.sums.usage.prompt()),
    }
}

fn one(out: &mut dyn Write, told: &StatusOutput, flag: &str) -> io::Result<()> {
    let StatusOutput { at, status, said, money } = told;
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}  {}", plain(&status.session), plain(&status.title))?;
    let color = color(status.window.level);
    let used = status.sums.tokens[1];
    let bar = BeforeAfterBar {
        before: status.window.limit,
        after: used,
        whole: status.window.limit.max(used),
        width: BAR,
    };
    let name = level(status.window.level);
    let mut line = |name: &str, value: String| writeln!(out, "  {name:12} {value}");
    line("now", moment(at) + " UTC")?;
    line("window", format!("{bar} {} %, {color}{name}{color:#}", status.window.percent))?;
    line("prompt", {
        let [came, sent] = status.sums.tokens.map(grouped);
        format!("{sent} of {} tokens; as said it would be {came}", grouped(status.window.limit))
    })?;
    if let Some(source) = status.window.limit_source {
        line("limit", source.to_string())?;
    }
    if let Some(CountCalibration { factor, band, samples }) = status.window.counted {
        let (band, samples) = ((band * 100.0).ceil(), counted(samples as u64, "answer"));
        line("counted", format!("{factor:.2} of theirs for 1 of ours, ±{band:.0} % ({samples})"))?;
    }
    if let Some(SilentTruncation { sent, evaluated }) = status.window.shortened {
        let [sent, evaluated] = [sent, evaluated].map(grouped);
        line(
            "cut",
            format!("{evaluated} of {sent} tokens were read; {}", SilentTruncation::REMEDY),
        )?;
    }
    let [came, sent] = status.sums.total;
    line("in all", {
        let saved = grouped(came.saturating_sub(sent));
        format!("{} tokens saved in {}", saved, counted(status.sums.turns, "turn"))
    })?;
    if status.sums.answers > 0 {
        line("provider", text::usage(status.sums.answers, &status.sums.usage))?;
    }
    if let Some(money) = money.as_ref().and_then(savings::line) {
        line("money", money)?;
    }
    line("offloaded", saved(status.savings.offloaded.unwrap_or_default()))?;
    line("digested", saved(status.savings.digested.unwrap_or_default()))?;
    line("compressed", counted(status.savings.compressions.into(), "time"))?;
    if let Some(masked) = status.masked.filter(|masked| *masked > 0) {
        line("masked", format!("{} recorded as [redacted]", counted(masked, "text")))?;
    }
    if let Some(mark) = &status.wishes.watermark {
        line("watermark", watermark(mark))?;
    }
    if let Some(asked) = asked(&status.wishes) {
        line("asked", asked)?;
    }
    if let Some(text) = said.as_ref().and_then(|said| said.text.as_deref()) {
        line("policies", plain(text))?;
    }
    let redo = format!("epitome session redo{flag}");
    let own = || status.recommendation.replace("epitome session redo", &redo);
    let advice = said.as_ref().and_then(|said| said.advice.as_deref().map(plain));
    let advice = advice.unwrap_or_else(own);
    let advice = format!("  {:12} {advice}", "advice");
    writeln!(out, "{}", wrapped(&advice, output_width(), INDENT))?;
    if !status.history.is_empty() {
        writeln!(out, "\n{bold}compressions{bold:#}")?;
        compression_table::write(out, &status.history, status.savings.in_force.as_deref())?;
    }
    marks(out, &status.wishes.marks)?;
    if let Some(report) = said.as_ref().and_then(|said| said.report.as_deref()) {
        writeln!(out)?;
        report.trim().lines().try_for_each(|line| writeln!(out, "{}", plain(line)))?;
    }
    Ok(())
}

/// What became of the compression that was asked for last.
fn asked(wishes: &StatusWishes) -> Option<String> {
    match (&wishes.asked, &wishes.unmet) {
        (Some(who), _) => Some(format!("{}: the next request looks at it", plain(who))),
        (None, Some(UnmetWish { reason, at })) => {
            Some(format!("not compressed {} UTC: {}", moment(at), reason.in_words()))
        }
        (None, None) => None,
    }
}

fn saved(saved: ArrivalSavings) -> String {
    let results = counted(saved.results, "result");
    match saved.results {
        0 => "nothing on arrival".to_owned(),
        _ => format!("{results} on arrival, {} saved a request", counted(saved.tokens, "token")),
    }
}

fn level(level: WindowLevel) -> &'static str {
    match level {
        WindowLevel::Roomy => "roomy",
        WindowLevel::Filling => "filling",
        WindowLevel::Due => "due",
        WindowLevel::Full => "full",
    }
}

fn color(level: WindowLevel) -> Style {
    let color = match level {
        WindowLevel::Roomy => AnsiColor::Green,
        WindowLevel::Filling => AnsiColor::Cyan,
        WindowLevel::Due => AnsiColor::Yellow,
        WindowLevel::Full => AnsiColor::Red,
    };
    Style::new().fg_color(Some(color.into()))
}
