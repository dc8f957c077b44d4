//! `/s/NAME/e/ENTRY`: a message as it came, and as it is sent.

use epitome::CompactionEdit;
use epitome::types::{Part, PartBody};
use maud::{Markup, html};

use crate::acts;
use crate::error::PageError;
use crate::figures::grouped;
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::session::sides;
use crate::shown::line;
use crate::view::{SessionView, crumbs};
use crate::visit::PageVisit;

/// The page.
pub(crate) fn page(
    visit: &PageVisit<'_>,
    name: &str,
    named: &str,
) -> Result<PageContent, PageError> {
    let (admin, link) = visit.session(name)?;
    let timeline = admin.timeline(Some(name))?;
    let (id, key) = timeline.history.entry(named)?;
    let place = id.index();
    let listed = admin.entries_in(&timeline.history, place..place + 1)?.into_iter().next();
    let listed = listed.ok_or(PageError::NotThere)?;
    let (arrivals, steps) = admin.edits_of_entry(Some(name), id)?;
    let is_pinned = timeline.history.pins().contains(&key);
    let message = timeline.history.message(id).cloned();
    let view = SessionView { visit, admin, link, timeline };
    let title = format!("{id} {}", line(&listed.name, 60));
    let part = visit.query.number("part").unwrap_or(0);
    let more = |part: usize| {
        let query = view.link.query().with("part", part.to_string());
        query.behind(&format!("{}/e/{id}", view.link.path()))
    };
    let main = html! {
        (crumbs(&view.link, Some(&id.to_string())))
        h1 { (title) @if is_pinned { " " span.chip.pinned { "pinned" } } }
        (acts::done(visit))
        (acts::pin_form(&view))
        p { (acts::pin_button(place, is_pinned)) }
        dl.facts {
            @if let Some(message) = &message {
                div { dt { "Tokens" } dd { (grouped(message.tokens)) } }
                @if let Some(at) = &message.at { div { dt { "Said" } dd { (parts::moment(at)) } } }
                @if message.erased {
                    div { dt { "Erased" } dd {
                        "Its text is gone for good; the size is that of the text, the mark that stands there is sent."
                    } }
                }
                @if message.damaged {
                    div { dt { "Damaged" } dd {
                        "The store keeps other bytes than were recorded: run epitome session verify."
                    } }
                }
                @if message.masked > 0 {
                    div { dt { "Masked" } dd { (message.masked) " texts before it was recorded" } }
                }
            }
            div { dt { "Key" } dd { code { (key) } } }
        }
        section.card {
            h2 { "As it is sent" }
            @if arrivals.is_empty() && steps.is_empty() { p.quiet { "Whole, as it came." } }
            @for rewrite in &arrivals {
                p.quiet {
                    "Made smaller before it was first sent: " (grouped(rewrite.tokens[0])) " → "
                    (grouped(rewrite.tokens[1])) " tokens, a result of " (line(&rewrite.tool, 60))
                }
                (parts::text(&rewrite.with, 0, |_| more(0)))
            }
            @for step in &steps { (own_sides(&view, step, place)) }
        }
        section.card {
            h2 { "As it came" }
            @for piece in &listed.entry.parts { (original(piece, part, &more)) }
        }
    };
    Ok(PageContent { title, tab: PageTab::Sessions, main })
}

/// What became of a message: beginning with its own text, whatever else went the same way.
fn own_sides(view: &SessionView<'_>, step: &CompactionEdit, place: usize) -> Markup {
    let others = step.sources.iter().filter(|source| source.entry != place).count();
    let mut own = step.clone();
    own.sources.retain(|source| source.entry == place);
    html! {
        @if others > 0 {
            p.quiet {
                "What stands there now stands for " (grouped(others as u64)) " other "
                @if others == 1 { "message" } @else { "messages" } " too."
            }
        }
        (sides(view, &own))
    }
}

/// A piece of a message, as it came.
fn original(piece: &Part, part: usize, more: &dyn Fn(usize) -> String) -> Markup {
    let (name, text) = match &piece.body {
        PartBody::Text(text) => (String::new(), text.as_str()),
        PartBody::Call(call) => (format!("call of {}", line(&call.tool, 60)), &*call.arguments),
        PartBody::Result(result) => (
            if result.error { "error of a tool" } else { "result of a tool" }.to_owned(),
            &*result.text,
        ),
        PartBody::Thinking(text) => ("reasoning".to_owned(), &**text),
        PartBody::Image(_) => ("an image".to_owned(), ""),
        PartBody::Opaque(block) => (line(&block.kind, 60), &*block.text),
    };
    html! {
        @if !name.is_empty() { h3 { (name) } }
        @if !text.is_empty() { (parts::text(text, part, more)) }
    }
}
