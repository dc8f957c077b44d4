//! A compression: what it came to, who decided it, and what stood there before.

use std::collections::BTreeMap;

use epitome::types::{CompactionCause, FactCounts, FactReport, HookAuthor, Op, RecordedCompaction};
use epitome::{CompactionDetail, CompactionEdit, EditSource, TimelineCompaction};
use maud::{Markup, html};

use super::regret;
use crate::acts;
use crate::difference::difference;
use crate::error::PageError;
use crate::figures::{counted, grouped, percent};
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::shown::{line, shown};
use crate::view::{SessionView, crumbs};
use crate::visit::PageVisit;
use crate::write_price::WritePrice;

/// So many bytes of a text stand in the page; the rest stands on the page of its entry.
const SOURCE: usize = 4_000;
/// So many steps stand on a page.
const STEPS: usize = 100;
/// So many sources of a step do.
const SOURCES: usize = 60;
/// So many facts are listed.
const FACTS: usize = 200;

/// A compression in the list of turns.
pub(super) fn row(view: &SessionView<'_>, it: &TimelineCompaction) -> Markup {
    let epoch = &it.recorded.epoch;
    let [before, after] = epoch.outcome.tokens;
    let address = view.link.to(&format!("/c/{}", epoch.id.short()));
    html! {
        details.turn.cut.row id={ "c" (epoch.id.short()) } {
            summary {
                span.place aria-hidden="true" { "✂" }
                span.opening {
                    b { "Compression " (epoch.number) } " " (cause(epoch.cause))
                    @if it.recorded.undone { " " span.chip { "taken back" } }
                    @if it.start.is_none() { " " span.chip { "on another branch" } }
                }
                span.number {}
                span.number data-label="before" { (parts::tokens(before)) }
                span.number data-label="after" { (parts::tokens(after)) }
                span.number.when { (parts::since(&epoch.at, &view.visit.now)) }
            }
            (account(view, it))
            p { a.button href=(address) { "What left, what stayed" } }
        }
    }
}

fn cause(cause: CompactionCause) -> &'static str {
    match cause {
        CompactionCause::Soft => "because it pays",
        CompactionCause::Hard => "because the window was full",
        CompactionCause::Manual => "because somebody asked",
    }
}

/// What a compression came to, in facts.
fn account(view: &SessionView<'_>, it: &TimelineCompaction) -> Markup {
    let epoch = &it.recorded.epoch;
    let [before, after] = epoch.outcome.tokens;
    let less = 1.0 - after as f64 / before.max(1) as f64;
    let [kept, all] = epoch.outcome.must_keep.total();
    html! {
        dl.facts {
            div { dt { "Tokens" } dd {
                (grouped(before)) " → " (grouped(after)) ", " (percent(less)) " less"
            } }
            div { dt { "Why" } dd { (line(&epoch.plan.reason, 200)) } }
            @if let Some(start) = it.start {
                div { dt { "Covers" } dd {
                    "e" (start) " to e" (start + epoch.covered.len as usize - 1)
                } }
                div { dt { "Cache broken at" } dd { "e" (first_changed(&it.recorded, start)) } }
            }
            (price(view, it))
            div { dt { "Decided by" } dd { (authors(&it.recorded)) } }
            div { dt { "Profile" } dd { (line(&epoch.profile, 60)) } }
            @if all > 0 {
                div { dt { "Facts kept" } dd { (kept) " of " (all) } }
            }
            div { dt { "Made" } dd { (parts::moment(&epoch.at)) } }
        }
    }
}

/// The first entry that is not sent as before.
fn first_changed(recorded: &RecordedCompaction, start: usize) -> usize {
    let first = |op: &Op| match op {
        Op::Replace { part, .. } => Some(part.entry.index()),
        Op::Drop { entries } => entries.first().map(|id| id.index()),
        Op::Strip { parts } => parts.first().map(|part| part.entry.index()),
        Op::Unbind { replies } => replies.first().map(|reply| reply.entry.index()),
        Op::Summarize(checkpoint) => checkpoint.covers.first().map(|id| id.index()),
        Op::Insert { after, .. } | Op::State { after, .. } => {
            Some(after.map_or(0, |id| id.index() + 1))
        }
    };
    start + recorded.epoch.plan.ops.iter().filter_map(first).min().unwrap_or_default()
}

/// What writing the prompt anew cost, at list prices, and after how many turns that is paid back.
fn price(view: &SessionView<'_>, it: &TimelineCompaction) -> Markup {
    let Some(price) = WritePrice::for_session(view) else { return html! {} };
    let [before, after] = it.recorded.epoch.outcome.tokens;
    html! {
        div { dt { "Price" } dd {
            (acts::about(price.beyond_reading(after))) " to write the prompt anew"
            @if let Some(turns) = price.turns_to_pay_back(after, before.saturating_sub(after)) {
                ", back after " (counted(turns, "turn"))
            }
        } }
    }
}

/// Who ordered it, each once.
fn authors(recorded: &RecordedCompaction) -> Markup {
    let mut counts = BTreeMap::<(&str, &str, Option<u32>), usize>::new();
    for HookAuthor { policy, hook, line } in &recorded.epoch.credits {
        *counts.entry((policy, hook, *line)).or_default() += 1;
    }
    html! {
        @if counts.is_empty() { "the profile " (line(&recorded.epoch.profile, 60)) }
        @for (at, ((policy, hook, number), count)) in counts.iter().enumerate() {
            @if at > 0 { ", " }
            code { (place(policy, *number)) } " " (hook)
            @if counts.len() > 1 { " (" (count) ")" }
        }
    }
}

/// Where the hook of a policy stands.
fn place(policy: &str, number: Option<u32>) -> String {
    match number {
        Some(number) => format!("{}/policy.lua:{number}", line(policy, 60)),
        None => line(policy, 60),
    }
}

/// `/s/NAME/c/ID`: what left, and what stands there now.
pub(crate) fn page(visit: &PageVisit<'_>, name: &str, id: &str) -> Result<PageContent, PageError> {
    let (admin, link) = visit.session(name)?;
    let CompactionDetail { timeline, place, steps, facts } = admin.compaction(Some(name), id)?;
    let regrets = admin.regret(&timeline.history)?;
    let view = SessionView { visit, admin, link, timeline };
    let it = &view.timeline.compactions[place];
    let number = it.recorded.epoch.number;
    let title = format!("Compression {number}");
    let shown = steps.iter().take(STEPS);
    let main = html! {
        (crumbs(&view.link, Some(&title)))
        h1 {
            (title)
            @if it.recorded.undone { " " span.chip { "taken back" } }
        }
        section.card { (account(&view, it)) }
        @if let Some(own) = regrets.iter().find(|own| own.compaction == it.recorded.epoch.id) {
            (regret::section(&view, own))
        }
        @if let Some(facts) = &facts { (kept_and_lost(&view, &it.recorded.epoch.outcome.must_keep, facts)) }
        @for (at, step) in shown.enumerate() { (self::step(&view, step, at)) }
        @if steps.len() > STEPS {
            p.quiet { (grouped((steps.len() - STEPS) as u64)) " more steps are not shown." }
        }
        @if it.start.is_none() {
            p.quiet { "It was made on another branch of the session, whose messages are not shown." }
        }
    };
    Ok(PageContent { title, tab: PageTab::Sessions, main })
}

/// The facts that the prompt kept and those it lost.
fn kept_and_lost(view: &SessionView<'_>, recorded: &FactCounts, facts: &FactReport) -> Markup {
    html! {
        section.card {
            h2 { "Facts" }
            p.figures {
                @for (name, [kept, all]) in recorded.kinds() {
                    span { (name) " " b { (kept) " of " (all) } " kept" }
                }
            }
            @if facts.lost.is_empty() {
                p.quiet { "Every fact that should survive stood in the prompt." }
            } @else {
                details {
                    summary { (grouped(facts.lost.len() as u64)) " stood in the prompt no longer" }
                    ul.plainlist {
                        @for fact in facts.lost.iter().take(FACTS) {
                            li {
                                span.chip { (fact.kind) } " " (line(&fact.text, 240)) " "
                                a href=(view.link.to(&format!("/e/{}", fact.entry))) { (fact.entry) }
                            }
                        }
                    }
                    @if facts.lost.len() > FACTS {
                        p.quiet { (grouped((facts.lost.len() - FACTS) as u64)) " more are not listed." }
                    }
                }
            }
        }
    }
}

/// One thing that it did.
fn step(view: &SessionView<'_>, step: &CompactionEdit, at: usize) -> Markup {
    let came: u64 = step.sources.iter().map(|source| source.tokens).sum();
    let entries = match &step.sources[..] {
        [] => String::new(),
        [one] => format!("e{}", one.entry),
        [first, .., last] => format!("e{} to e{}", first.entry, last.entry),
    };
    html! {
        details.card.step.row id={ "s" (at) } open[at == 0] {
            summary {
                b { (what(step.how)) } " " (entries) " "
                span.quiet { (grouped(came)) " tokens as they came" }
                @if let Some(author) = &step.author {
                    span.author { code { (place(&author.policy, author.line)) } " " (author.hook) }
                }
            }
            (sides(view, step))
            @if let Some(recall) = &step.recall {
                p.quiet { code { "epitome recall --id " (recall) } " brings it back" }
            }
        }
    }
}

fn what(how: &str) -> &str {
    match how {
        "summarize" => "Summarized",
        "drop" => "Left out",
        "strip" => "Tool calls left out",
        "unbind" => "Reasoning left out",
        "insert" => "Added",
        "state" => "State of the work",
        "digest" => "Digested",
        "offload" => "Put into the store",
        "mask" => "Masked",
        "truncate_input" => "Arguments shortened",
        "cut" => "Cut",
        other => other,
    }
}

/// What stood there, and what stands there now.
pub(crate) fn sides(view: &SessionView<'_>, step: &CompactionEdit) -> Markup {
    let entry = |source: &EditSource| view.link.to(&format!("/e/e{}", source.entry));
    match (&step.sources[..], &step.now) {
        ([one], Some(now)) if step.how != "summarize" => html! {
            p.quiet { a href=(entry(one)) { "e" (one.entry) } " " (line(&one.name, 60)) }
            (difference(&one.text, now))
        },
        (sources, now) => html! {
            div.sides[now.is_some() && !sources.is_empty()] {
                @if !sources.is_empty() {
                    div {
                        h3 { "Before" }
                        @for source in sources.iter().take(SOURCES) {
                            article.source {
                                h4 {
                                    a href=(entry(source)) { "e" (source.entry) } " "
                                    (line(&source.name, 60))
                                }
                                (folded(&source.text, now.as_deref(), &entry(source)))
                            }
                        }
                        @if sources.len() > SOURCES {
                            p.quiet { (sources.len() - SOURCES) " more entries" }
                        }
                    }
                }
                @if let Some(now) = now {
                    div {
                        h3 { "Now" @if let Some(model) = &step.model { " by " (line(model, 60)) } }
                        pre.text.now { (shown(&now[..now.floor_char_boundary(parts::PART)])) }
                        (cut_at(now, parts::PART))
                    }
                }
            }
        },
    }
}

/// Says that a text ends before its end, where it does.
fn cut_at(text: &str, most: usize) -> Markup {
    html! {
        @if text.len() > most {
            p.quiet {
                "The first " (grouped(most as u64)) " of " (grouped(text.len() as u64))
                " bytes are shown."
            }
        }
    }
}

/// A source beside its summary: lines that the summary says word for word are folded.
fn folded(text: &str, now: Option<&str>, all: &str) -> Markup {
    let Some(now) = now else { return parts::excerpt(text, SOURCE, all) };
    let end = text.floor_char_boundary(SOURCE);
    let now = &now[..now.floor_char_boundary(parts::PART)];
    let is_kept = |line: &str| line.trim().len() > 12 && now.contains(line.trim());
    let lines: Vec<_> = text[..end].lines().collect();
    html! {
        @for run in lines.chunk_by(|one, next| is_kept(one) == is_kept(next)) {
            @if is_kept(run[0]) {
                details.kept {
                    summary { (run.len()) @if run.len() == 1 { " line" } @else { " lines" } " kept word for word" }
                    pre.text { (shown(&run.join("\n"))) }
                }
            } @else {
                pre.text { (shown(&run.join("\n"))) }
            }
        }
        @if end < text.len() {
            p { a href=(all) { "All of it, " (grouped(text.len() as u64)) " bytes" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_summary_keeps_are_folded_beside_it() {
        let text = "first line that is kept\nsecond line that is kept\nthis one is not";
        let now = "Tool: first line that is kept\nsecond line that is kept";
        let page = folded(text, Some(now), "/e/e1").into_string();
        assert!(page.contains("<summary>2 lines kept word for word</summary>"), "{page}");
        assert!(page.ends_with("<pre class=\"text\">this one is not</pre>"), "{page}");
    }
}
