//! `/policies`: which policies each profile asks, and what is wrong with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome::{ExtensionOrigin, PolicyRef, Profile, SeenFault, TokenCounter, for_model};
use maud::{Markup, html};

use crate::address::SessionLink;
use crate::error::PageError;
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::shown::{line, shown};
use crate::visit::PageVisit;

/// Failures are looked for in so many sessions, those used last.
const SESSIONS: usize = 100;

/// The last failure of each policy.
type Faults = BTreeMap<String, SeenFault>;

/// The page.
pub(crate) fn page(visit: &PageVisit<'_>) -> Result<PageContent, PageError> {
    let usual = &visit.source.profile;
    let mut names: Vec<_> =
        visit.admin.readers()?.iter().map(|reader| reader.recorder().to_owned()).collect();
    names.extend(visit.source.experiments.values().flat_map(|it| it.arms.clone()));
    names.sort();
    names.dedup();
    names.retain(|name| name != usual.name());
    let others: Vec<_> = names.iter().map(|name| (name, (visit.source.profiles)(name))).collect();
    let faults = visit.admin.policy_faults(SESSIONS)?;
    let profile = |profile: &Profile, is_usual| profile_card(visit, profile, is_usual, &faults);
    let main = html! {
        h1 { "Policies" }
        p.quiet {
            "What decides about compressions, in the order in which it is asked. Each policy is a folder \
             with a " code { "policy.lua" } "; an edit holds from the next request on."
        }
        (profile(usual, true))
        @for (name, other) in &others {
            @match other {
                Some(other) => (profile(other, false)),
                None => section.card {
                    h2 { (line(name, 60)) }
                    p.quiet { "Sessions were recorded with it, and it is not configured any more." }
                },
            }
        }
    };
    Ok(PageContent { title: "Policies".to_owned(), tab: PageTab::Policies, main })
}

fn profile_card(
    visit: &PageVisit<'_>,
    profile: &Profile,
    is_usual: bool,
    faults: &Faults,
) -> Markup {
    let counter: Arc<dyn TokenCounter> = Arc::new(for_model(profile.model().unwrap_or_default()));
    let loaded = profile.load(&counter);
    let problems: Vec<String> = match &loaded {
        Ok(loaded) => {
            let all = loaded.left_out().iter().chain(loaded.passed_over());
            all.map(ToString::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    };
    let chain = profile.policies();
    html! {
        section.card {
            h2 {
                (line(profile.name(), 60))
                @if is_usual { " " span.chip { "in use" } }
                @if loaded.is_err() { " " span.chip.bad { "faulty" } }
            }
            @for problem in &problems { pre.text.problem { (shown(problem)) } }
            table.list.cards {
                thead { tr { th { "Asked" } th { "Policy" } th { "From" } th { "File" } th { "Last failure" } } }
                tbody {
                    @for (at, policy) in chain.iter().enumerate() { (policy_row(visit, at + 1, policy, faults)) }
                    tr {
                        td.number { (chain.len() + 1) }
                        td.title { "built in" }
                        td data-label="From" { "this program" }
                        td data-label="File" { "–" }
                        td data-label="Last failure" { "–" }
                    }
                }
            }
        }
    }
}

fn policy_row(visit: &PageVisit<'_>, at: usize, policy: &PolicyRef, faults: &Faults) -> Markup {
    let origin = match policy.origin() {
        ExtensionOrigin::Given => "a folder that was named",
        ExtensionOrigin::Config => "the configured folder",
        ExtensionOrigin::Project => "the project",
        ExtensionOrigin::User => "the user",
        ExtensionOrigin::Shipped => "this program",
    };
    html! {
        tr {
            td.number { (at) }
            td.title {
                (line(policy.name(), 60))
                @if let Some(base) = policy.extends() { small { "extends " (line(&base, 60)) } }
            }
            td data-label="From" { (origin) }
            td data-label="File" {
                @match policy.folder() {
                    Some(folder) => code { (line(&folder.join("policy.lua").display().to_string(), 200)) },
                    None => "–",
                }
            }
            td data-label="Last failure" {
                @match faults.get(policy.name()) {
                    Some(seen) => (failure(visit, seen)),
                    None => "–",
                }
            }
        }
    }
}

/// A failure, with the session it happened in.
fn failure(visit: &PageVisit<'_>, seen: &SeenFault) -> Markup {
    let link = SessionLink::new(visit.admin.tenant(), &seen.scope, &seen.session.name);
    let title = line(&seen.session.title, 60);
    html! {
        (line(&seen.fault.cause, 300))
        small {
            (parts::since(&seen.fault.at, &visit.now)) ", in "
            a href=(link.to("")) { @if title.is_empty() { "(nothing typed)" } @else { (title) } }
        }
    }
}
