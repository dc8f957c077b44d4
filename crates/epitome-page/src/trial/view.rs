//! What came of trying a policy, as HTML.
//!
//! Invariant: words of policies and conversations are escaped and bounded.

use maud::{Markup, html};

use super::{LineKind, PlayRow, PolicyTrial, TrialLine, TrialTest, TrialTurn};
use crate::difference::difference;
use crate::figures::grouped;
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::shown::line;

/// So many lines that were printed are shown, and so many of each list.
const SHOWN: usize = 200;
/// So many stand open.
const FEW: usize = 12;
/// So many characters of a line.
const WIDE: usize = 2_000;

/// The page before the first try has ended.
pub(super) fn waiting() -> PageContent {
    let main = html! { section.card.narrow { h1 { "The policy is being tried" } } };
    PageContent { title: "Policy".to_owned(), tab: PageTab::Alone, main }
}

/// The page of a try.
pub(super) fn page(trial: &PolicyTrial) -> PageContent {
    let main = html! {
        h1 {
            "Policy " (line(&trial.policy, 60)) " "
            @match trial.wrong.len() {
                0 => span.chip.good { "sound" },
                1 => span.chip.bad { "1 mistake" },
                count => span.chip.bad { (count) " mistakes" },
            }
        }
        p.quiet {
            "Tried on " (line(&trial.conversation, 120)) " at " (parts::moment(&trial.at)) " in "
            (format!("{:.2}", trial.seconds)) " s. Save the policy, and it is tried again."
        }
        @if !trial.wrong.is_empty() {
            section.card.alarm {
                h2 { "What is wrong" }
                @for problem in trial.wrong.iter().take(SHOWN) {
                    pre.text.problem { (line(problem, WIDE)) }
                }
                (more(trial.wrong.len()))
            }
        }
        (plays(&trial.plays))
        (printed(&trial.printed))
        (tests(&trial.tests))
        (turns(&trial.turns))
    };
    PageContent { title: title(trial), tab: PageTab::Alone, main }
}

fn title(trial: &PolicyTrial) -> String {
    let mark = if trial.wrong.is_empty() { "" } else { "✗ " };
    format!("{mark}{}", line(&trial.policy, 60))
}

/// The prompts around the compression of a turn; none where it has none.
pub(super) fn turn(trial: &PolicyTrial, number: usize) -> Option<PageContent> {
    let turn = trial.turns.iter().find(|turn| turn.number == number)?;
    let change = turn.change.as_ref()?;
    let main = html! {
        nav.crumbs aria-label="Where this is" {
            a href="/" { "Policy " (line(&trial.policy, 60)) } span { "Turn " (number) }
        }
        h1 { "Turn " (number) ": the prompt before and after" }
        section.card { (lines(&turn.lines)) }
        section.card { (difference(&change.before, &change.after)) }
    };
    Some(PageContent {
        title: format!("Turn {number} · {}", title(trial)),
        tab: PageTab::Alone,
        main,
    })
}

/// That a list is longer than what is shown of it.
fn more(count: usize) -> Markup {
    html! {
        @if count > SHOWN { p.quiet { (grouped((count - SHOWN) as u64)) " more are not shown." } }
    }
}

/// What the conversation came to under each profile.
fn plays(plays: &[PlayRow]) -> Markup {
    if plays.is_empty() {
        return html! {};
    }
    html! {
        section.card {
            h2 { "Beside others" }
            table.list.cards {
                thead { tr {
                    th { "Profile" } th.number { "Compressions" } th.number { "Cost" }
                    th.number { "Largest" } th.number { "Facts kept" } th.number { "Lost" }
                } }
                tbody { @for play in plays { (play_row(play)) } }
            }
            p.quiet { "Cost is that of all prompts, as a share of what they cost under none." }
            @if let Some(own) = plays.first().filter(|own| !own.lost.is_empty()) {
                details #lost {
                    summary { (grouped(own.lost.len() as u64)) " lost" }
                    ul.plainlist {
                        @for lost in own.lost.iter().take(SHOWN) { li { (line(lost, WIDE)) } }
                    }
                    (more(own.lost.len()))
                }
            }
        }
    }
}

fn play_row(play: &PlayRow) -> Markup {
    html! {
        tr {
            td.title { (line(&play.profile, 60)) }
            td.number data-label="Compressions" { (play.compressions) }
            td.number data-label="Cost" {
                @if let Some(cost) = play.cost { (format!("{cost:.2}")) } @else { "–" }
            }
            td.number data-label="Largest" { (parts::tokens(play.largest)) }
            td.number data-label="Facts kept" { (play.kept) " of " (play.facts) }
            td.number data-label="Lost" { (play.lost.len()) }
        }
    }
}

fn printed(printed: &[String]) -> Markup {
    html! {
        @if !printed.is_empty() {
            section.card {
                h2 { "Printed" }
                details #printed open[printed.len() <= FEW] {
                    summary { (grouped(printed.len() as u64)) @if printed.len() == 1 { " line" } @else { " lines" } }
                    pre.text {
                        @for said in printed.iter().take(SHOWN) { (line(said, WIDE)) "\n" }
                    }
                    (more(printed.len()))
                }
            }
        }
    }
}

fn tests(tests: &[TrialTest]) -> Markup {
    let passed = tests.iter().filter(|test| test.failure.is_none()).count();
    html! {
        @if !tests.is_empty() {
            section.card {
                h2 { "Tests" }
                p.quiet { (passed) " of " (tests.len()) " passed" }
                ul.plainlist {
                    @for test in tests.iter().take(SHOWN) {
                        li {
                            @match &test.failure {
                                None => span.good { "passed" },
                                Some(_) => strong.bad { "failed" },
                            }
                            " " code { (line(&test.place, 200)) } " " (line(&test.name, 200))
                            @if let Some(failure) = &test.failure {
                                pre.text.problem { (line(failure, WIDE)) }
                            }
                        }
                    }
                }
                (more(tests.len()))
            }
        }
    }
}

fn turns(turns: &[TrialTurn]) -> Markup {
    html! {
        @if !turns.is_empty() {
            section.card {
                h2 { "Turn by turn" }
                div.turnhead {
                    span { "Turn" } span { "Who decided what" } span {}
                    span.number { "As it came" } span.number { "Sent" } span {}
                }
                @for turn in turns { (turn_row(turn)) }
            }
        }
    }
}

fn turn_row(turn: &TrialTurn) -> Markup {
    let is_cut = turn.change.is_some();
    html! {
        details.turn.row.cut[is_cut] id={ "t" (turn.number) } {
            summary {
                span.place { (turn.number) }
                span.opening {
                    @for (at, told) in turn.lines.iter().enumerate() {
                        @if at > 0 { " · " }
                        b { (line(&told.name, 40)) } " " (line(&told.what, 160))
                    }
                }
                span.number {}
                span.number data-label="as it came" { (parts::tokens(turn.tokens_raw)) }
                span.number data-label="sent" { (parts::tokens(turn.tokens_sent)) }
                span.number.when { @if is_cut { "compressed" } }
            }
            (lines(&turn.lines))
            @if is_cut {
                p { a.button href={ "/t/" (turn.number) } { "The prompt before and after" } }
            }
        }
    }
}

fn lines(lines: &[TrialLine]) -> Markup {
    html! {
        dl.told {
            @for told in lines {
                dt { (line(&told.name, 40)) }
                dd class=(class(told.kind)) { (line(&told.what, WIDE)) }
            }
        }
    }
}

fn class(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Decision => "decision",
        LineKind::Done => "good",
        LineKind::Passed => "quiet",
        LineKind::Failed => "bad",
    }
}
