//! `epitome savings`: the ledger of a store, in money.
//!
//! Invariant: what has no price is in no sum of dollars, and an estimate is said to be one. Nothing
//! of a conversation is read.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use epitome::{
    SavedRange, SavingsGroup, SavingsLedger, SavingsPeriod, SavingsReport, SavingsSums,
    SummaryCost, UnpricedModel,
};

use crate::columns::{COLUMNS, output_width};
use crate::fault::{self, CliError};
use crate::figure::{dollars, middle, percent};
use crate::journal::{self, store_path};
use crate::settings::{self, ConfigFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{grouped, moment, plain, wrapped};
use crate::{files, flags, shell, store};

/// The largest name of a group, in cells.
const NAME: usize = 40;

/// Shows what was paid and saved: today, in seven days and in all, by project, client, model, profile
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome savings --since 30d")]
pub(crate) struct Args {
    /// Divides the last hours, days or weeks: 12h, 7d, 4w [default: all]
    #[arg(long, value_name = "TIME", value_parser = flags::span)]
    since: Option<Duration>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = flags::store)]
    store: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    fault::name_store(shell::store_flag(args.store.as_deref()));
    let store = args.store.as_deref();
    let config = args.config.load(|sources| settings::path(sources, "--store", "store", store))?;
    let path = store_path(store, &config)?;
    if !store::is_there(&path) {
        return Err(CliError::unreadable(format!(
            "no store at {}; `epitome run -- CLIENT` makes one",
            path.display()
        )));
    }
    let store = store::open_existing(&path).map_err(|error| CliError::of_store(&error))?;
    let ledger = SavingsLedger::load(&*store, settings::owner(&config).tenant());
    let ledger = ledger.map_err(|error| CliError::of_store(&error))?;
    let report = ledger.report(&epitome::system_time(), args.since);
    match args.json {
        true => journal::json(&report),
        false => files::to_stdout(|out| words(out, &report, ledger.is_empty())),
    }
}

/// Money in a line: `$1.20 paid, $0.31 to $0.47 saved (estimate)`; `None` where there is none.
pub(crate) fn line(sums: &SavingsSums) -> Option<String> {
    let unpriced = match sums.unpriced {
        0 => String::new(),
        count => format!(", {} unpriced", crate::text::counted(count, "answer")),
    };
    match (sums.priced(), sums.unpriced) {
        (0, 0) => None,
        (0, _) => {
            let SavedRange { least, most } = sums.saved_tokens;
            let saved = saved(least, most, signed);
            Some(format!("{saved} full-price tokens saved (estimate){unpriced}"))
        }
        _ => {
            let (paid, saved) = (dollars(sums.paid), in_dollars(sums.saved));
            Some(format!("{paid} paid, {saved} saved (estimate){unpriced}"))
        }
    }
}

/// A saving in dollars.
pub(crate) fn in_dollars(SavedRange { least, most }: SavedRange) -> String {
    saved(least, most, dollars)
}

/// A range as its ends are written, or one figure where they are written alike.
fn saved(least: f64, most: f64, written: impl Fn(f64) -> String) -> String {
    let [least, most] = [least, most].map(written);
    if least == most { least } else { format!("{least} to {most}") }
}

/// A whole number of tokens.
fn signed(tokens: f64) -> String {
    let sign = if tokens <= -0.5 { "-" } else { "" };
    format!("{sign}{}", grouped(tokens.abs().round() as u64))
}

fn words(out: &mut dyn Write, report: &SavingsReport, is_empty: bool) -> io::Result<()> {
    if is_empty {
        return writeln!(
            out,
            "no answer is recorded; `epitome run -- CLIENT` and `epitome serve` record what each cost"
        );
    }
    periods(out, report)?;
    let groups = [
        ("project", &report.by.project),
        ("client", &report.by.client),
        ("model", &report.by.model),
        ("profile", &report.by.profile),
    ];
    for (head, groups) in groups {
        divided(out, head, groups)?;
    }
    unpriced(out, &report.unpriced)?;
    let note = "Paid: the provider's own counts at list prices; a subscription is not billed by them. \
                Saved: an estimate, against the client alone. It reaches from a client that compacts \
                at its own threshold to one that compacts when its window is full.";
    let calls = calls(&report.asked.as_ref().unwrap_or(&report.all).sums);
    let note = format!("{note} {calls}");
    writeln!(out, "\n{}", wrapped(&note, output_width().min(COLUMNS), 0))?;
    match report.unreadable {
        0 => Ok(()),
        count => writeln!(
            out,
            "{} cannot be read by this version and count nothing.",
            crate::text::counted(count, "record")
        ),
    }
}

/// How the calls for summaries are in the sums of dollars. They cost tokens, whether or not their
/// model has a price.
fn calls(sums: &SavingsSums) -> String {
    let SummaryCost { answers, unpriced, .. } = sums.summaries;
    let count = crate::text::counted(answers, "call");
    match unpriced {
        _ if sums.priced() == 0 => "Calls for summaries are subtracted.".to_owned(),
        0 => "Calls for summaries are paid and subtracted.".to_owned(),
        all if all == answers => format!("{count} for summaries unpriced, not in these sums."),
        some => format!(
            "{count} for summaries paid and subtracted ({} unpriced, not in these sums).",
            grouped(some)
        ),
    }
}

/// The columns of a table whose rows are called so.
fn columns(head: &'static str) -> [Column; 7] {
    [
        left(head).least(22),
        right("saved"),
        right("paid"),
        right("summaries").spare(3),
        right("answers").spare(1),
        right("tokens raw").spare(4),
        right("sent of raw").spare(2),
    ]
}

fn row(name: String, sums: &SavingsSums) -> Vec<String> {
    let is_priced = sums.priced() > 0;
    let money = |amount: String| if is_priced { amount } else { "–".to_owned() };
    let summaries = match sums.summaries.answers {
        0 => String::new(),
        all if all == sums.summaries.unpriced => "–".to_owned(),
        _ => dollars(sums.summaries.paid),
    };
    vec![
        name,
        money(in_dollars(sums.saved)),
        money(dollars(sums.paid)),
        summaries,
        grouped(sums.answers),
        grouped(sums.raw),
        format!("{} ({})", grouped(sums.sent), percent(sums.sent, sums.raw)),
    ]
}

fn periods(out: &mut dyn Write, report: &SavingsReport) -> io::Result<()> {
    let since = |period: &SavingsPeriod| period.since.as_deref().map(moment).unwrap_or_default();
    let mut rows = vec![
        row("today".to_owned(), &report.today.sums),
        row("7 days".to_owned(), &report.seven_days.sums),
    ];
    rows.extend(report.asked.as_ref().map(|it| row(format!("since {}", since(it)), &it.sums)));
    let first = since(&report.all);
    let day = first.split(' ').next().unwrap_or_default();
    rows.push(row(format!("all since {day}"), &report.all.sums));
    TextTable::new(&columns("UTC")).print(out, &rows)
}

fn divided(out: &mut dyn Write, head: &'static str, groups: &[SavingsGroup]) -> io::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let name = |group: &SavingsGroup| match &group.name {
        Some(name) => middle(&plain(name), NAME),
        None => "(none)".to_owned(),
    };
    let rows: Vec<_> = groups.iter().map(|group| row(name(group), &group.sums)).collect();
    writeln!(out)?;
    TextTable::new(&columns(head)).print(out, &rows)
}

/// Models without a price: tokens, and no dollars.
fn unpriced(out: &mut dyn Write, models: &[UnpricedModel]) -> io::Result<()> {
    if models.is_empty() {
        return Ok(());
    }
    let columns = [
        left("unpriced").least(17),
        right("answers"),
        right("tokens in").spare(1),
        right("out").spare(2),
        right("at full price saved"),
    ];
    let row = |model: &UnpricedModel| {
        let SavedRange { least, most } = model.saved_tokens;
        vec![
            model
                .model
                .as_deref()
                .map_or_else(|| "(none)".to_owned(), |it| middle(&plain(it), NAME)),
            grouped(model.answers),
            grouped(model.provider.prompt()),
            grouped(model.provider.output),
            saved(least, most, signed),
        ]
    };
    writeln!(out)?;
    TextTable::new(&columns).print(out, &models.iter().map(row).collect::<Vec<_>>())?;
    writeln!(out, "own prices: the key `prices` of epitome.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_price_is_not_said_to_be_subtracted() {
        let check = |answers, unpriced, expected: &str| {
            let summaries = SummaryCost { answers, unpriced, paid: 0.0 };
            let sums = SavingsSums { answers: 9, unpriced, summaries, ..SavingsSums::default() };
            assert_eq!(calls(&sums), expected);
        };
        check(0, 0, "Calls for summaries are paid and subtracted.");
        check(2, 0, "Calls for summaries are paid and subtracted.");
        check(1, 1, "1 call for summaries unpriced, not in these sums.");
        check(3, 1, "3 calls for summaries paid and subtracted (1 unpriced, not in these sums).");
        check(9, 9, "Calls for summaries are subtracted.");
    }

    #[test]
    fn money_is_one_line() {
        let check = |sums: SavingsSums, expected: Option<&str>| {
            assert_eq!(line(&sums).as_deref(), expected);
        };
        check(SavingsSums::default(), None);
        let saved = SavedRange { least: 1.31, most: 2.5 };
        let priced = SavingsSums { answers: 3, paid: 1.2, saved, ..SavingsSums::default() };
        check(priced, Some("$1.20 paid, $1.31 to $2.50 saved (estimate)"));
        let some = SavingsSums { unpriced: 1, ..priced };
        check(some, Some("$1.20 paid, $1.31 to $2.50 saved (estimate), 1 answer unpriced"));
        let saved_tokens = SavedRange { least: -1_234.4, most: -1_234.2 };
        let none = SavingsSums { answers: 2, unpriced: 2, saved_tokens, ..SavingsSums::default() };
        let tokens = "-1,234 full-price tokens saved (estimate), 2 answers unpriced";
        check(none, Some(tokens));
    }
}
