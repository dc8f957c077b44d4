//! The table of a comparison: for each kind of work a row for each profile.
//!
//! Invariant: nothing in it that the JSON lines do not hold; no line is wider than the terminal.

use std::io::{self, Write};

use anstyle::Style;
use epitome::ArmFigures;
use epitome_lab::{ComparisonResult, MeanInterval, StrategyMeans, StrategySummary, WorkKind};

use crate::arm_table;
use crate::columns::output_width;
use crate::fault::CliError;
use crate::figure::short;
use crate::files;
use crate::table::{Column, TextTable, left, right};
use crate::text::{counted, wrapped};

/// The columns; those at the end of a replay only.
const COLUMNS: [Column; 16] = [
    left("  profile").least(12),
    right("score"),
    right("95 %").spare(1),
    right("+recall"),
    right("95 %").spare(5),
    right("constraints"),
    right("kept"),
    right("recall").spare(6),
    right("bound").spare(7),
    right("in_context").spare(8),
    right("tokens"),
    right("ratio").spare(3),
    right("invalid"),
    right("time").spare(4),
    right("compressions").spare(2),
    right("cost"),
];
/// How many of them every comparison has.
const ALWAYS: usize = 14;

/// The marks of the best figure, and of all others.
const BEST: [&str; 2] = ["*", " "];

/// Prints the table: on standard output, or on standard error where data goes there.
pub(crate) fn print(compared: &ComparisonResult, beside_data: bool) -> Result<(), CliError> {
    if beside_data {
        // That people cannot be told beside the data is no failure of the comparison.
        drop(write(compared, &mut anstream::stderr().lock()));
        return Ok(());
    }
    files::to_stdout(|out| write(compared, out))
}

fn write(compared: &ComparisonResult, out: &mut dyn Write) -> io::Result<()> {
    let summaries = &compared.summaries;
    let played = summaries.iter().any(|summary| summary.all.compressions.is_some());
    let columns = &COLUMNS[..if played { COLUMNS.len() } else { ALWAYS }];
    let groups: Vec<WorkKind> = WorkKind::ALL
        .into_iter()
        .filter(|group| summaries.iter().any(|summary| summary.groups.contains_key(group)))
        .collect();
    let of = |group| summaries.iter().map(|summary| summary.groups.get(group)).collect();
    let mut parts: Vec<(&str, Vec<Option<&StrategyMeans>>)> =
        groups.iter().map(|group| (group.name(), of(group))).collect();
    if groups.len() > 1 {
        parts.push(("all", summaries.iter().map(|summary| Some(&summary.all)).collect()));
    }
    let mut rows = Vec::new();
    for (name, means) in &parts {
        let first = means.iter().copied().flatten().next();
        let about = first.map_or_else(String::new, |means| {
            let cases = counted(means.cases as u64, "conversation");
            format!("{name}: {cases}, {}", counted(means.n as u64, "question"))
        });
        rows.push((about, rows_of(summaries, means)));
    }
    // All rows together say how wide the columns are.
    let all: Vec<_> = rows.iter().flat_map(|(_, rows)| rows.clone()).collect();
    let mut table = TextTable::new(columns).measured(&all);
    let bold = Style::new().bold();
    table.print(out, &[])?;
    for (about, rows) in &rows {
        writeln!(out, "{bold}{about}{bold:#}")?;
        table.print(out, rows)?;
    }
    changes(out, summaries)?;
    let width = output_width().min(120);
    writeln!(out)?;
    writeln!(out, "{}", wrapped(LEGEND, width, 2))?;
    if played {
        writeln!(out, "{}", wrapped(OF_REPLAYS, width, 2))?;
    }
    Ok(())
}

/// What changes against the first profile, over all conversations; nothing where they are too few.
fn changes(out: &mut dyn Write, summaries: &[StrategySummary]) -> io::Result<()> {
    let is_told = |name: &str| {
        let of_name = summaries.iter().filter_map(|summary| summary.report.metric(name));
        of_name.into_iter().any(|metric| metric.effect.is_some())
    };
    let told = |summary: &StrategySummary| {
        let metrics = summary.report.metrics.iter().filter(|it| is_told(it.metric));
        ArmFigures { metrics: metrics.cloned().collect(), ..summary.report.clone() }
    };
    let arms: Vec<_> = summaries.iter().map(told).collect();
    let Some(first) = arms.first().filter(|first| !first.metrics.is_empty()) else {
        return Ok(());
    };
    let bold = Style::new().bold();
    writeln!(out, "\n{bold}against {}{bold:#}", first.arm)?;
    arm_table::write(out, &arms.iter().collect::<Vec<_>>())
}

const LEGEND: &str = "score: what is asked later and still there with its surroundings, 0 where the \
    prompt cannot be sent (invalid); +recall: or found by one search; constraints: of people, still there; \
    kept: must-keep facts; *: best";
const OF_REPLAYS: &str =
    "tokens: of the last prompts; cost: of cached prompts, against no compression";

/// The rows of one kind of work.
fn rows_of(summaries: &[StrategySummary], means: &[Option<&StrategyMeans>]) -> Vec<Vec<String>> {
    let best = |of: fn(&StrategyMeans) -> Option<MeanInterval>| {
        let figures = means.iter().flatten().filter_map(|means| of(means)).map(|it| it.mean);
        figures.fold(0.0, f64::max)
    };
    let [best_score, best_search] = [best(|it| it.scores.score), best(|it| it.scores.score_recall)];
    let pairs = summaries.iter().zip(means);
    let pairs = pairs.filter_map(|(summary, means)| Some((summary, (*means)?)));
    pairs.map(|(summary, means)| row(&summary.profile, means, best_score, best_search)).collect()
}

fn row(name: &str, means: &StrategyMeans, best_score: f64, best_search: f64) -> Vec<String> {
    let share = |figure: Option<f64>| figure.map_or_else(nothing, |figure| format!("{figure:.3}"));
    let marked = |figure: Option<MeanInterval>, best: f64| {
        let is_best = figure.is_some_and(|it| it.mean > 0.0 && it.mean >= best);
        share(figure.map(|it| it.mean)) + BEST[usize::from(!is_best)]
    };
    let mut cells = vec![
        format!("  {name}"),
        marked(means.scores.score, best_score),
        interval(means.scores.score),
        marked(means.scores.score_recall, best_search),
        interval(means.scores.score_recall),
        share(means.scores.constraints),
        share(means.kept),
        share(means.scores.recall),
        share(means.scores.bound),
        share(means.scores.in_context),
        short(means.tokens_after),
        format!("{:.2}", means.ratio),
        means.invalid.to_string(),
        time(means.elapsed_ms),
    ];
    if let Some(compressions) = means.compressions {
        cells.push(compressions.to_string());
        cells.push(means.cache_cost.map_or_else(nothing, |cost| format!("{cost:.2}")));
    }
    cells
}

fn nothing() -> String {
    "–".to_owned()
}

/// An interval without its leading zeros: `.71–.88`.
fn interval(figure: Option<MeanInterval>) -> String {
    let Some(MeanInterval { interval: Some([low, high]), .. }) = figure else { return nothing() };
    let bound = |figure: f64| match format!("{figure:.2}") {
        text if text.starts_with("0.") => text[1..].to_owned(),
        text => text,
    };
    format!("{}–{}", bound(low), bound(high))
}

fn time(elapsed_ms: f64) -> String {
    match elapsed_ms {
        ..1000.0 => format!("{elapsed_ms:.0} ms"),
        _ => format!("{:.1} s", elapsed_ms / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use epitome_lab::ScoreMeans;

    use super::*;

    #[test]
    fn figures_are_short() {
        let of = |interval| Some(MeanInterval { mean: 0.5, interval });
        assert_eq!(interval(of(Some([0.714, 1.0]))), ".71–1.00");
        assert_eq!(interval(of(None)), "–");
        assert_eq!([time(12.3), time(2345.0)], ["12 ms", "2.3 s"]);
    }

    #[test]
    fn the_best_is_marked_and_nothing_is_never() {
        let means = |mean| StrategyMeans {
            scores: ScoreMeans {
                score: Some(MeanInterval { mean, interval: None }),
                ..ScoreMeans::default()
            },
            ..StrategyMeans::default()
        };
        let check = |mean: f64, best: f64, expected: &str| {
            assert_eq!(row("x", &means(mean), best, 0.0)[1], expected);
        };
        check(0.5, 0.5, "0.500*");
        check(0.4, 0.5, "0.400 ");
        check(0.0, 0.0, "0.000 ");
        check(1.0, 1.0, "1.000*");
    }
}
