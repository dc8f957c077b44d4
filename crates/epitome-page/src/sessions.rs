//! `/`: all sessions, what they cost and saved, and the search over what was said.

use epitome::{OverviewFilter, OverviewRow, SavingsPeriod, SavingsSums, SummaryCost};
use maud::{Markup, html};

use crate::address::{PageQuery, SessionLink};
use crate::error::PageError;
use crate::figures::{compact, counted, dollars, grouped};
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::search;
use crate::shown::line;
use crate::visit::PageVisit;

/// So many sessions stand on a page.
const ROWS: usize = 50;
/// A session is live that was used in so many seconds.
const LIVE: u64 = 120;
/// No list has more pages.
const LAST: usize = 1_000_000;

/// The page.
pub(crate) fn page(visit: &PageVisit<'_>) -> Result<PageContent, PageError> {
    let query = &visit.query;
    let own = |name: &str| query.get(name).map(str::to_owned);
    let words = own("q").unwrap_or_default();
    let filter = OverviewFilter {
        words: words.clone(),
        project: own("project"),
        profile: own("profile"),
        model: own("model"),
    };
    let at = query.number("page").unwrap_or(0).min(LAST);
    let page = visit.admin.overview(&filter, at.saturating_mul(ROWS), ROWS)?;
    let found = if words.trim().is_empty() {
        html! {}
    } else {
        search::everywhere(visit, &words)?
    };
    let is_filtered = filter != OverviewFilter::default();
    let main = html! {
        h1.hidden { "Sessions" }
        @if !is_filtered && at == 0 { (money(visit)) }
        (filters(visit, &filter)?)
        section.card {
            @if page.rows.is_empty() {
                p.quiet {
                    @if at > 0 { "No more sessions. " a href="/" { "Show the newest" } "." }
                    @else if is_filtered { "No title matches. " a href="/" { "Show all" } "." }
                    @else {
                        "No session yet. Start a client with " code { "epitome run -- claude" }
                        ", or point one at this address."
                    }
                }
            } @else {
                (table(visit, &page.rows))
            }
            (pager(query, at, page.has_more))
        }
        (found)
    };
    Ok(PageContent { title: "Sessions".to_owned(), tab: PageTab::Sessions, main })
}

/// What was paid and saved, by time.
fn money(visit: &PageVisit<'_>) -> Markup {
    let (store, tenant) = (&visit.source.store, visit.admin.tenant());
    let Some(report) = visit.money.report(store, tenant, &visit.now) else {
        return html! { p.quiet { "What was paid and saved is being added up; it shows with the next look." } };
    };
    if report.all.sums.answers + report.all.sums.uncounted == 0 {
        return html! {};
    }
    let periods =
        [("Today, UTC", &report.today), ("7 days", &report.seven_days), ("All time", &report.all)];
    let all = &report.all.sums;
    let sent = all.raw.saturating_sub(all.sent);
    html! {
        section.tiles aria-label="Money" {
            @for (name, period) in periods { (period_tile(name, period)) }
            (parts::tile(
                "Tokens not sent",
                &html! { (compact(sent as f64)) },
                &html! {
                    (compact(all.raw as f64)) " raw, " (compact(all.sent as f64)) " sent"
                    (parts::troubles(all))
                },
            ))
        }
    }
}

fn period_tile(name: &str, SavingsPeriod { sums, .. }: &SavingsPeriod) -> Markup {
    let value = if sums.answers == 0 {
        html! { "–" }
    } else {
        parts::saved(sums)
    };
    let more = html! {
        @if sums.priced() > 0 { "saved; " (dollars(sums.paid)) " paid, " }
        (counted(sums.answers, "answer")) (parts::unpriced(sums))
        (summaries(sums))
    };
    parts::tile(name, &value, &more)
}

/// What of it the calls for summaries cost; those without a price are in no dollars.
fn summaries(sums: &SavingsSums) -> Markup {
    let SummaryCost { answers, unpriced, paid } = sums.summaries;
    html! {
        @if answers > unpriced {
            ", " (dollars(paid)) " of it for summaries"
            @if unpriced > 0 { " (" (grouped(unpriced)) " unpriced, not in it)" }
        } @else if answers > 0 {
            ", " (grouped(answers)) " for summaries unpriced"
            @if sums.priced() > 0 { ", not in it" }
        }
    }
}

/// The search, and what the list is narrowed to.
fn filters(visit: &PageVisit<'_>, filter: &OverviewFilter) -> Result<Markup, PageError> {
    let mut projects = Vec::new();
    let mut profiles = Vec::new();
    for reader in visit.admin.readers()? {
        projects.extend(epitome::project_of(reader.scope()).map(str::to_owned));
        profiles.push(reader.recorder().to_owned());
    }
    for all in [&mut projects, &mut profiles] {
        all.sort();
        all.dedup();
    }
    let choice = |name: &str, label: &str, all: &[String], chosen: Option<&str>| {
        html! {
            @if all.len() > 1 || chosen.is_some() {
                select name=(name) aria-label=(label) {
                    option value="" { "All " (label) }
                    @for one in all {
                        option value=(one) selected[chosen == Some(one)] { (line(one, 60)) }
                    }
                }
            }
        }
    };
    Ok(html! {
        form.search action="/" role="search" {
            input #search type="search" name="q" value=(filter.words)
                placeholder="Search titles and all that was said" aria-label="Search";
            (choice("project", "projects", &projects, filter.project.as_deref()))
            (choice("profile", "profiles", &profiles, filter.profile.as_deref()))
            @if let Some(model) = &filter.model {
                input type="hidden" name="model" value=(model);
                span.chip { "model " (line(model, 40)) }
            }
            button type="submit" { "Search" }
            @if *filter != OverviewFilter::default() { a.clear href="/" { "Clear" } }
        }
    })
}

fn table(visit: &PageVisit<'_>, rows: &[OverviewRow]) -> Markup {
    html! {
        table.list.cards {
            thead { tr {
                th { "Session" } th { "Client" } th { "Model" } th { "Project" }
                th.number { "Turns" } th { "Prompt against its limit" }
                th.number { "Compressed" } th.number { "Saved" } th.number { "Last used" }
            } }
            tbody { @for row in rows { (table_row(visit, row)) } }
        }
    }
}

fn table_row(visit: &PageVisit<'_>, row: &OverviewRow) -> Markup {
    let info = &row.info;
    let link = SessionLink::new(visit.admin.tenant(), &row.scope, &info.name);
    let title = line(&info.title, 120);
    let model = info.model.as_deref().unwrap_or_default();
    let project = row.project().unwrap_or_default();
    let folder = project.rsplit('/').next().unwrap_or_default();
    let figures = &info.figures;
    let is_live = parts::is_within(&info.last, &visit.now, LIVE);
    html! {
        tr.row {
            td.title {
                a href=(link.to("")) title=(title) {
                    @if title.is_empty() { "(nothing typed)" } @else { (title) }
                }
                small { (line(&info.name, 40)) }
            }
            td.nowrap data-label="Client" { (line(row.client.as_deref().unwrap_or("–"), 30)) }
            td data-label="Model" {
                @if model.is_empty() { "–" } @else {
                    a.quietly href=(PageQuery::default().with("model", model).behind("/")) {
                        (line(model, 40))
                    }
                }
            }
            td.project data-label="Project" title=(line(project, 300)) {
                @if folder.is_empty() { "–" } @else { (line(folder, 40)) }
            }
            td.number data-label="Turns" { (grouped(figures.turns)) }
            td.prompt data-label="Prompt" {
                @if figures.turns > 0 { (parts::bar(figures.tokens[1], figures.limit, row.level)) }
                @else { span.quiet { "not asked yet" } }
            }
            td.number data-label="Compressed" {
                @if figures.compressions > 0 { (grouped(figures.compressions.into())) } @else { "–" }
            }
            td.number data-label="Saved" {
                @match &row.money {
                    Some(money) => { (parts::saved(money)) small.quiet { (parts::unpriced(money)) } }
                    None => "–",
                }
            }
            td.number.last data-label="Last used" {
                @if is_live { span.dot title="used in the last two minutes" { "live " } }
                (parts::since(&info.last, &visit.now))
            }
        }
    }
}

/// The ways to the pages beside this one.
fn pager(query: &PageQuery, at: usize, has_more: bool) -> Markup {
    let to = |page: usize| {
        let page = if page == 0 { String::new() } else { page.to_string() };
        query.clone().with("page", page).behind("/")
    };
    html! {
        @if at > 0 || has_more {
            nav.pager aria-label="More sessions" {
                @if at > 0 { a rel="prev" href=(to(at - 1)) { "Newer" } }
                span.quiet { "Page " (at + 1) }
                @if has_more { a rel="next" href=(to(at + 1)) { "Older" } }
            }
        }
    }
}
