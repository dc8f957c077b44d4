//! What a scan prints: a line for each session, the whole beside no compression, the worst cases.
//!
//! Invariant: no line is wider than the columns there are; names are cut in the middle, figures
//! never.

use std::path::{Path, PathBuf};

use anstyle::Style;
use epitome_lab::{PastScan, ReplayTotals, ScanTotals, ScannedSession, WorstCase, lost};

use crate::figure::{dollars, middle, percent, short};
use crate::text::{clipped, counted, grouped, plain, width as cells};

/// The columns that a table takes at least, and at most.
pub(crate) const LEAST: usize = 80;
pub(crate) const MOST: usize = 160;

/// Width of all columns but those of the name and the client.
const FIGURES: usize = 54;
/// Width of the client's column, and of the one for its first word where there is little room.
const CLIENT: [usize; 2] = [11, 6];
const ROOMY: usize = 100;
/// From so many columns on a title stands beside the name, which has this width then.
const WIDE: usize = 116;
const TITLED: usize = 20;
/// Width of the names and of each column of figures where all sessions stand together.
const NAME: usize = 18;
const FIGURE: usize = 14;
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The whole output; `verbose` adds to each session its whole path and its title.
pub(crate) fn table(scan: &PastScan, elapsed_ms: f64, columns: usize, verbose: bool) -> String {
    let client = CLIENT[usize::from(columns < ROOMY)];
    let width = columns - FIGURES - client - 1;
    let root = common(&scan.sessions);
    let short_name = |file: &Path| {
        let inside = file.strip_prefix(&root).unwrap_or(file);
        plain(&inside.display().to_string())
    };
    let mut rows = vec![format!(
        "{BOLD}{:width$} {:client$} {:>5} {:>6} {:>6} {:>6} {:>6} {:>4} {:>5} {:>8}{BOLD:#}",
        "session", "client", "turns", "raw", "sent", "cut", "recall", "lost", "cost", "saved"
    )];
    for ScannedSession { file, figures } in &scan.sessions {
        let name = short_name(&file.with_extension(""));
        let name = match columns {
            ..WIDE => padded(&middle(&name, width), width),
            // Clients name files by ids, so what was asked says more.
            _ => {
                let title = clipped(&plain(&figures.recording.title), width - TITLED - 1);
                padded(&format!("{} {title}", padded(&middle(&name, TITLED), TITLED)), width)
            }
        };
        rows.push(session(&name, figures, client));
        if verbose {
            let about = format!("{}: {}", file.display(), figures.recording.title);
            rows.push(format!("{DIM}  {}{DIM:#}", clipped(&plain(&about), columns - 2)));
        }
    }
    rows.push(String::new());
    rows.extend(totals(&scan.totals, &scan.profile, elapsed_ms));
    rows.extend(worst(scan, &short_name, columns));
    rows.join("\n")
}

/// A text and the spaces behind it; letters may take two cells.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

/// The folder that all files are in.
fn common(sessions: &[ScannedSession]) -> PathBuf {
    let mut folders = sessions.iter().filter_map(|one| one.file.parent());
    let Some(mut root) = folders.next() else { return PathBuf::new() };
    for folder in folders {
        while !folder.starts_with(root) {
            root = root.parent().unwrap_or(Path::new(""));
        }
    }
    root.to_owned()
}

fn session(name: &str, figures: &ReplayTotals, client: usize) -> String {
    let of = figures.recording.format.name();
    let of = if of.len() > client { of.split('-').next().unwrap_or(of) } else { of };
    let cost = match figures.cache.cost_uncompressed {
        raw if raw > 0.0 => format!("{:.2}", figures.cache.cost / raw),
        _ => "–".to_owned(),
    };
    format!(
        "{name} {:client$} {:>5} {:>6} {:>6} {:>6} {:>6} {:>4} {cost:>5} {:>8}",
        clipped(of, client),
        figures.requests.turns,
        short(figures.tokens.raw),
        short(figures.tokens.sent),
        short(figures.tokens.cut),
        short(figures.must_keep.kept.recallable.into()),
        short(lost(&figures.must_keep.kept)),
        figures.money.saved.map_or_else(|| "–".to_owned(), dollars),
    )
}

/// All sessions, without compression and with it.
fn totals(totals: &ScanTotals, profile: &str, elapsed_ms: f64) -> Vec<String> {
    let row = |name: &str, raw: String, sent: String, note: String| {
        format!("{name:NAME$}{raw:>FIGURE$}{sent:>FIGURE$}  {note}").trim_end().to_owned()
    };
    let all = format!(
        "{}, {}",
        counted(totals.sessions as u64, "session"),
        counted(totals.turns as u64, "turn")
    );
    let ratio = match totals.cache.cost_uncompressed {
        raw if raw > 0.0 => format!("× {:.2}", totals.cache.cost / raw),
        _ => String::new(),
    };
    let saved = match totals.money.saved {
        saved if saved < 0.0 => format!("{} more", dollars(-saved)),
        saved => format!("{} saved", dollars(saved)),
    };
    let cost = |cost: f64| grouped(cost.round() as u64);
    let mut rows = vec![
        format!("{BOLD}{:NAME$}{:>FIGURE$}{:>FIGURE$}{BOLD:#}  {all}", "", "none", profile),
        row(
            "tokens sent",
            grouped(totals.tokens.raw),
            grouped(totals.tokens.sent),
            percent(totals.tokens.sent, totals.tokens.raw),
        ),
        row("cache cost", cost(totals.cache.cost_uncompressed), cost(totals.cache.cost), ratio),
    ];
    let amounts = [totals.money.raw, totals.money.sent];
    let [raw, sent, saved] = match (totals.money.unpriced, totals.sessions) {
        // A sum of nothing is no amount.
        (unpriced, sessions) if unpriced == sessions => ["–", "–", "unpriced"].map(str::to_owned),
        _ => [dollars(amounts[0]), dollars(amounts[1]), saved],
    };
    rows.push(row("money", raw, sent, saved));
    if totals.money.unpriced > 0 {
        let all = counted(totals.money.unpriced as u64, "session");
        rows.push(format!("{:NAME$}{all} unpriced, in no sum: no price of the model is known", ""));
    }
    let compressions = grouped(totals.compressions as u64);
    rows.push(row("compressions", "0".to_owned(), compressions, String::new()));
    rows.extend(facts(totals));
    let made = totals.digested.count + totals.offloaded.count;
    if made > 0 {
        let saved = grouped(totals.digested.tokens + totals.offloaded.tokens);
        let note = format!("{saved} tokens saved");
        rows.push(row("results shortened", "0".to_owned(), grouped(made), note));
    }
    for (name, count) in [("over the limit", totals.oversized), ("refused", totals.refused)] {
        if count > 0 {
            rows.push(row(name, String::new(), grouped(count as u64), String::new()));
        }
    }
    let rate = totals.tokens.raw as f64 / elapsed_ms.max(1.0) * 1000.0;
    rows.push(format!(
        "{:NAME$}{:.1} s, {} tokens/s",
        "time",
        elapsed_ms / 1000.0,
        short(rate as u64)
    ));
    rows
}

/// The facts of all sessions: still in the last prompts, to be recalled, lost.
fn facts(totals: &ScanTotals) -> Option<String> {
    let kept = &totals.must_keep;
    let kinds = [kept.constraints, kept.paths, kept.errors, kept.identifiers];
    let (here, all) = kinds.iter().fold((0_u64, 0_u64), |(here, all), kind| {
        (here + u64::from(kind[0]), all + u64::from(kind[1]))
    });
    let text = format!("{:NAME$}{:>FIGURE$}{:>FIGURE$}", "facts kept", grouped(all), grouped(here));
    let gone =
        format!("{} recallable, {} lost", grouped(kept.recallable.into()), grouped(totals.lost));
    (all > 0).then(|| format!("{text}  {gone}"))
}

/// The sessions that came out worst; nothing where none did.
fn worst(scan: &PastScan, name: &dyn Fn(&Path) -> String, columns: usize) -> Vec<String> {
    const WHY: usize = 31;
    let mut rows = Vec::new();
    let mut say = |title: &str, cases: &[WorstCase], figure: &dyn Fn(f64) -> String| {
        for (at, case) in cases.iter().enumerate() {
            if rows.is_empty() {
                rows.extend([String::new(), format!("{BOLD}worst cases{BOLD:#}")]);
            }
            let title = if at == 0 { title } else { "" };
            let file = middle(&name(&case.file), columns - WHY);
            rows.push(format!("  {title:16}{:>11}  {file}", figure(case.figure)));
        }
    };
    say("cost more", &scan.worst.costlier, &|by| format!("× {by:.2}"));
    // Of a single session nothing can be said to be least.
    let least = if scan.sessions.len() > 1 { &*scan.worst.least_saved } else { &[] };
    say("saved least", least, &|share| format!("{:.0} %", share * 100.0));
    say("lost most", &scan.worst.most_lost, &|many| counted(many as u64, "fact"));
    say("requests refused", &scan.worst.most_refused, &|many| grouped(many as u64));
    rows
}
