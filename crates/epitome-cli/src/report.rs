//! The report for people: how much, of what, by which operations, and what there is to get back.
//!
//! Invariant: at most 80 columns, and nothing in it that the JSON report does not hold.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use epitome::CompressionReport;
use epitome::types::TokenBreakdown;

use crate::bar::BeforeAfterBar;
use crate::plan;
use crate::shell::store_flag;
use crate::text::{clipped, counted, grouped, plain};

/// So many operations are shown; the JSON report has them all.
const SHOWN: usize = 8;
/// Cells of a bar, which stand behind two numbers.
const BAR: usize = 40;

const BOLD: Style = Style::new().bold();

/// Prints a report on standard error. That it cannot be printed is no failure of the compression.
/// `asked` says whether models were to write.
pub(crate) fn show(report: &CompressionReport, asked: bool, store: Option<&Path>) {
    drop(write(&mut anstream::stderr().lock(), report, asked, store));
}

fn write(
    out: &mut dyn Write,
    report: &CompressionReport,
    asked: bool,
    store: Option<&Path>,
) -> io::Result<()> {
    heading(out, report)?;
    categories(out, report)?;
    writeln!(out)?;
    if !report.ops.is_empty() {
        plan::table(out, &report.ops[..report.ops.len().min(SHOWN)])?;
        if report.ops.len() > SHOWN {
            let more = counted((report.ops.len() - SHOWN) as u64, "operation");
            writeln!(out, "and {more} more; `--report FILE` has them all")?;
        }
        writeln!(out)?;
        must_keep(out, report)?;
        writers(out, report, asked)?;
        way_back(out, report, store)?;
    }
    closing(out, report)
}

fn heading(out: &mut dyn Write, report: &CompressionReport) -> io::Result<()> {
    let (before, after) = (&report.before, &report.after);
    let what = if report.ops.is_empty() {
        format!("nothing to do: {}", counted(before.messages, "message"))
    } else {
        format!("{} became {}", counted(before.messages, "message"), grouped(after.messages))
    };
    let CompressionReport { format, profile, counter, .. } = report;
    writeln!(out, "{BOLD}{what}{BOLD:#}")?;
    writeln!(out, "{format}, profile {profile}, counted in {counter}\n")
}

fn categories(out: &mut dyn Write, report: &CompressionReport) -> io::Result<()> {
    let whole = report.before.tokens.max(report.after.tokens);
    writeln!(out, "{BOLD}{:14}{:>9} {:>9}{BOLD:#}", "", "before", "after")?;
    for ((name, before), (_, after)) in
        rows(&report.before.by).into_iter().zip(rows(&report.after.by))
    {
        if before + after > 0 {
            let bar = BeforeAfterBar { before, after, whole, width: BAR };
            writeln!(out, "{name:14}{:>9} {:>9}  {bar}", grouped(before), grouped(after))?;
        }
    }
    Ok(())
}

/// The categories of a prompt with their tokens, all together last.
pub(crate) fn rows(by: &TokenBreakdown) -> [(&'static str, u64); 9] {
    [
        ("system", by.system),
        ("tools", by.tools),
        ("user", by.user),
        ("assistant", by.assistant),
        ("tool calls", by.tool_calls),
        ("tool results", by.tool_results),
        ("images", by.images),
        ("checkpoints", by.checkpoints),
        ("all tokens", by.sum()),
    ]
}

fn must_keep(out: &mut dyn Write, report: &CompressionReport) -> io::Result<()> {
    let facts = &report.must_keep.kept;
    if facts.total() != [0, 0] {
        writeln!(out, "still there    {facts}")?;
    }
    Ok(())
}

fn way_back(
    out: &mut dyn Write,
    report: &CompressionReport,
    store: Option<&Path>,
) -> io::Result<()> {
    let Some(store) = store else {
        return writeln!(out, "what left      kept nowhere; `--store PATH` keeps it for recall");
    };
    let store = store_flag(Some(store));
    let ids = report.checkpoints.iter().map(|checkpoint| &checkpoint.id);
    let ids = ids.chain(report.offloaded.iter().map(|result| &result.id));
    writeln!(out, "what left      epitome recall{store} QUERY")?;
    if let Some(id) = ids.map(|id| &id[..id.len().min(8)]).next() {
        writeln!(out, "               epitome recall{store} {id}")?;
    }
    Ok(())
}

/// Who wrote the summaries, where a model did or was to.
fn writers(out: &mut dyn Write, report: &CompressionReport, asked: bool) -> io::Result<()> {
    let models: BTreeSet<_> = report.ops.iter().filter_map(|op| op.model.as_deref()).collect();
    if asked && models.is_empty() {
        writeln!(out, "{:14} no model", "summed up by")?;
    }
    for model in models {
        writeln!(out, "{:14} {}", "summed up by", clipped(&plain(model), 65))?;
    }
    Ok(())
}

fn closing(out: &mut dyn Write, report: &CompressionReport) -> io::Result<()> {
    let unit = report.budget_unit.as_deref().unwrap_or("tokens");
    let bound = match (report.budget, report.limit) {
        (Some(budget), _) => format!("budget {} {unit}", grouped(budget)),
        (None, Some(limit)) => format!("limit {} tokens", grouped(limit)),
        (None, None) => return Ok(()),
    };
    let fits = if report.fits { "fits" } else { "does not fit" };
    writeln!(out, "{fits:14} {bound}, {:.1} ms", report.elapsed_ms)
}
