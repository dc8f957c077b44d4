//! `/s/NAME`: one session, what its prompts were made of, and what made them smaller.

mod cache_row;
mod chart;
mod columns;
mod cut;
mod regret;
mod turns;

use epitome::types::{GoalStatus, Goals};
use epitome::{ExperimentConfig, PaidArm, SavingsLedger, SavingsSums, SessionStatus, session_hash};
use maud::{Markup, html};

use crate::acts;
use crate::error::PageError;
use crate::figures::{compact, counted, dollars, percent};
use crate::layout::{PageContent, PageTab};

use crate::parts;
use crate::search;
use crate::shown::line;
use crate::view::{SessionView, crumbs};
use crate::visit::PageVisit;

pub(crate) use cut::{page as compaction, sides};

/// What stands in the head of a session.
struct SessionHead {
    status: SessionStatus,
    goals: Goals,
    money: Option<SavingsSums>,
    arm: Option<PaidArm>,
    client: Option<String>,
}

impl SessionHead {
    fn read(view: &SessionView<'_>) -> Result<Self, PageError> {
        let info = &view.timeline.history.info;
        let name = info.name.as_str();
        let hash = session_hash(view.admin.scope(), name);
        let ledger = SavingsLedger::load_session(view.admin.journal(), view.admin.tenant(), &hash)?;
        Ok(Self {
            status: view.admin.status_of(info)?,
            goals: view.admin.goals(Some(name))?.goals,
            money: ledger.by_session().remove(&hash),
            arm: ledger.arms().remove(&hash),
            client: ledger.clients().remove(&hash),
        })
    }

    /// Whether an experiment measures by it what others save.
    fn is_held_out(&self) -> bool {
        self.arm.as_ref().is_some_and(|arm| arm.arm == ExperimentConfig::HOLD_OUT)
    }
}

/// The page.
pub(crate) fn page(visit: &PageVisit<'_>, name: &str) -> Result<PageContent, PageError> {
    let (admin, link) = visit.session(name)?;
    let timeline = admin.timeline(Some(name))?;
    let view = SessionView { visit, admin, link, timeline };
    let head = SessionHead::read(&view)?;
    let info = &view.timeline.history.info;
    let title = line(&info.title, 100);
    let title = if title.is_empty() { line(name, 100) } else { title };
    let main = html! {
        (crumbs(&view.link, None))
        h1 { (title) }
        (acts::done(visit))
        (facts(&view, &head))
        (tiles(&view, &head))
        (acts::buttons(&view, &head.status.wishes, head.is_held_out())?)
        (goals(&head.goals))
        (chart::section(&view))
        (search::of_session(&view)?)
        (turns::section(&view)?)
    };
    Ok(PageContent { title, tab: PageTab::Sessions, main })
}

/// What is known of the session in one line each.
fn facts(view: &SessionView<'_>, head: &SessionHead) -> Markup {
    let info = &view.timeline.history.info;
    let project = epitome::project_of(view.admin.scope());
    let now = &view.visit.now;
    html! {
        dl.facts {
            div { dt { "Session" } dd { code { (line(&info.name, 80)) } } }
            div { dt { "Model" } dd { (line(info.model.as_deref().unwrap_or("–"), 60)) } }
            @if let Some(client) = &head.client {
                div { dt { "Client" } dd { (line(client, 40)) } }
            }
            @if let Some(window) = window(view) {
                div { dt { "Limit of its window" } dd {
                    (compact(info.figures.limit as f64)) " of " (compact(window as f64)) " tokens"
                } }
            }
            div { dt { "Profile" } dd { (line(view.admin.recorder(), 40)) } }
            @if let Some(arm) = &head.arm {
                div { dt { "Experiment" } dd {
                    a href="/experiments" { (line(&arm.experiment, 40)) }
                    ", arm " (line(&arm.arm, 40))
                    @if head.is_held_out() { ": it is sent as it comes" }
                } }
            }
            @if let Some(project) = project {
                div { dt { "Project" } dd { (line(project, 120)) } }
            }
            div { dt { "Started" } dd { (parts::since(&info.started, now)) } }
            div { dt { "Last used" } dd { (parts::since(&info.last, now)) } }
        }
    }
}

/// The window of its model, where prompts are held to a limit.
fn window(view: &SessionView<'_>) -> Option<u64> {
    let info = &view.timeline.history.info;
    let format = info.format.parse().ok().filter(|_| info.figures.limit > 0)?;
    Some(view.admin.profile().window_of_model(info.model.as_deref(), format))
}

/// How the session stands, in figures.
fn tiles(view: &SessionView<'_>, head: &SessionHead) -> Markup {
    let SessionHead { status, money, .. } = head;
    let [raw, sent] = status.sums.tokens;
    let [all_raw, all_sent] = status.sums.total;
    let usage = status.sums.usage;
    let prompt = usage.input + usage.cache_read + usage.cache_written;
    let share = usage.cache_read as f64 / prompt.max(1) as f64;
    let undone = view.timeline.compactions.iter().filter(|it| it.recorded.undone).count();
    html! {
        section.tiles {
            @if status.sums.turns > 0 {
                (parts::tile(
                    "Newest prompt",
                    &html! { (compact(sent as f64)) },
                    &html! {
                        (compact(raw as f64)) " as it came"
                        (parts::bar(sent, status.window.limit, status.window.level))
                    },
                ))
            }
            @if all_raw > 0 {
                (parts::tile(
                    "Tokens not sent",
                    &html! { (percent(1.0 - all_sent as f64 / all_raw as f64)) },
                    &html! {
                        (compact(all_raw as f64)) " raw, " (compact(all_sent as f64)) " sent in "
                        (counted(status.sums.turns, "turn"))
                    },
                ))
            }
            @if let Some(money) = money {
                (parts::tile("Saved", &parts::saved(money), &html! {
                    @if money.priced() > 0 { (dollars(money.paid)) " paid, " }
                    (counted(money.answers, "answer")) (parts::unpriced(money))
                }))
            }
            @if prompt > 0 {
                (parts::tile("Read from the cache", &html! { (percent(share)) }, &html! {
                    (compact(usage.cache_read as f64)) " read, "
                    (compact(usage.cache_written as f64)) " written, "
                    (compact(usage.input as f64)) " neither"
                }))
            }
            (parts::tile("Compressions", &html! { (status.savings.compressions) }, &html! {
                @if undone > 0 { (undone) " taken back; " }
                (status.recommendation)
                @if let Some(money) = money { (parts::troubles(money)) }
            }))
        }
    }
}

/// What the session is for, and what was decided.
fn goals(goals: &Goals) -> Markup {
    let decisions = goals.goals.iter().flat_map(|goal| &goal.decisions).chain(&goals.decisions);
    let decisions: Vec<_> = decisions.collect();
    html! {
        @if !goals.goals.is_empty() || !decisions.is_empty() {
            section.card {
                h2 { "Goal and decisions" }
                @for goal in &goals.goals {
                    p {
                        (line(&goal.text, 600)) " "
                        @if goal.status != GoalStatus::Active {
                            span.chip { (goal.status.word()) }
                        }
                    }
                }
                @if !decisions.is_empty() {
                    ul.plainlist {
                        @for decision in decisions {
                            li {
                                (line(&decision.text, 400))
                                @if decision.locked { " " span.chip { "locked" } }
                                @if let Some(why) = &decision.rationale {
                                    " " small { (line(why, 300)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
