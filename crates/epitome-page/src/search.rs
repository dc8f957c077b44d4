//! The search over what was said: in all sessions, or in one.

use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use epitome::types::EntryId;
use epitome::{
    CachedCounter, Excerpt, PassageOrigin, RecallResult, RecalledPassage, SessionAdmin, for_model,
};
use maud::{Markup, html};

use crate::address::{SessionLink, encoded};
use crate::error::PageError;
use crate::parts;
use crate::shown::line;
use crate::view::SessionView;
use crate::visit::PageVisit;

/// So many tokens of what was found are shown.
const FOUND: u64 = 2_000;
/// A search waits so long for what was said last.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is said where it did not wait to the end.
const LATE: &str = "Not all that was said is in the search yet. It is being added; search again.";
/// So many bytes of one text are.
const SHOWN: usize = 1_200;

/// What was said in any session that holds these words.
pub(crate) fn everywhere(visit: &PageVisit<'_>, words: &str) -> Result<Markup, PageError> {
    let admin = &visit.admin;
    let counter = CachedCounter::new(for_model(admin.profile().model().unwrap_or_default()));
    let is_late = !catch_up(visit, admin.readers()?);
    let result = admin.recall(&*visit.source.store, words, FOUND, &counter, |_| {})?;
    let (excerpts, note) = match result {
        RecallResult::Original(text) => {
            let origin = PassageOrigin::parse(&text.source);
            (vec![(text.source, text.text, String::new(), origin)], None)
        }
        RecallResult::Answer(answer) => {
            let note = answer.note(false);
            let one = |it: RecalledPassage| {
                let beside = beside(&it);
                (it.excerpt.source, it.excerpt.text, beside, it.origin)
            };
            (answer.found.into_iter().map(one).collect(), note)
        }
    };
    let tenant = admin.tenant();
    let excerpts = excerpts.into_iter().map(|(source, text, beside, origin)| FoundText {
        address: address_of(tenant, &origin).unwrap_or_default(),
        source,
        beside,
        text,
    });
    let note = if is_late { Some(LATE.to_owned()) } else { note };
    Ok(list(&excerpts.collect::<Vec<_>>(), note.as_deref()))
}

/// The search of one session, and what it found.
pub(crate) fn of_session(view: &SessionView<'_>) -> Result<Markup, PageError> {
    let scope = view.link.query();
    let words = view.visit.query.get("q").unwrap_or_default();
    let found = if words.is_empty() {
        html! {}
    } else {
        said_in(view, words)?
    };
    Ok(html! {
        form.search action={ (view.link.path()) "#search" } role="search" {
            input type="hidden" name="in" value=(scope.get("in").unwrap_or_default());
            input #search type="search" name="q" value=(words)
                placeholder="Recall: search what was said in this session, in the prompt or out of it"
                aria-label="Search this session";
            button type="submit" { "Recall" }
            @if !words.is_empty() { a.clear href=(view.link.to("")) { "Clear" } }
        }
        (found)
    })
}

fn said_in(view: &SessionView<'_>, words: &str) -> Result<Markup, PageError> {
    let (admin, info) = (&view.admin, &view.timeline.history.info);
    let is_late = !catch_up(view.visit, vec![admin.clone()]);
    let counter = CachedCounter::new(for_model(info.model.as_deref().unwrap_or_default()));
    let store = &*view.visit.source.store;
    let found = admin.search_session(store, &info.name, words, FOUND, &counter)?;
    let excerpts = found.into_iter().map(|excerpt: Excerpt| {
        let source = excerpt.place_in(&info.name).unwrap_or(&excerpt.source).to_owned();
        let entry = source.split_whitespace().next().unwrap_or_default();
        let address = view.link.to(&format!("/e/{}", encoded(entry)));
        FoundText { address, source, beside: String::new(), text: excerpt.text }
    });
    let excerpts: Vec<_> = excerpts.collect();
    let none = excerpts.is_empty().then_some("Nothing found; try other words.");
    Ok(list(&excerpts, if is_late { Some(LATE) } else { none }))
}

/// Makes findable what was said since somebody searched last; gives whether that came to its end in
/// time. What is left is made findable behind the answer.
fn catch_up(visit: &PageVisit<'_>, keepers: Vec<SessionAdmin>) -> bool {
    let (tell, ended) = channel();
    let indexing = Arc::clone(&visit.indexing);
    std::thread::spawn(move || {
        // One at a time: two would do the same.
        let _alone = indexing.lock().unwrap_or_else(PoisonError::into_inner);
        for keeper in keepers {
            if let Err(error) = keeper.index_new_entries(|_| {}) {
                tracing::warn!(%error, "what was said last is not in the search");
            }
        }
        // Nobody may wait any more.
        tell.send(()).unwrap_or_default();
    });
    ended.recv_timeout(PATIENCE).is_ok()
}

/// A text that was found.
struct FoundText {
    /// Empty where it has none.
    address: String,
    source: String,
    /// Who said it when, and what led to it; empty where the source says all.
    beside: String,
    text: String,
}

/// What is shown beside the source of a passage.
fn beside(passage: &RecalledPassage) -> String {
    let RecalledPassage { excerpt, origin, through, .. } = passage;
    let through = through.iter().map(|word| format!("through {word}"));
    origin.beyond(&excerpt.source).into_iter().chain(through).collect::<Vec<_>>().join("; ")
}

fn list(excerpts: &[FoundText], note: Option<&str>) -> Markup {
    html! {
        section.card #found {
            h2 { "Said" }
            @if let Some(note) = note { p.quiet { (line(note, 300)) } }
            @for FoundText { address, source, beside, text } in excerpts {
                article.found {
                    h3 {
                        @if address.is_empty() { (line(source, 120)) }
                        @else { a href=(address) { (line(source, 120)) } }
                        @if !beside.is_empty() { " " span.quiet { (line(beside, 120)) } }
                    }
                    (parts::excerpt(text, SHOWN, address))
                }
            }
        }
    }
}

/// The address of a message; none where it is not known which session of that name it is of.
fn address_of(tenant: &str, origin: &PassageOrigin) -> Option<String> {
    let PassageOrigin { scope, session, entry, .. } = origin;
    let place = entry.as_deref()?;
    place.strip_prefix('e')?.parse().ok().map(EntryId)?;
    let link = SessionLink::new(tenant, scope.as_deref()?, session.as_deref()?);
    Some(link.to(&format!("/e/{place}")))
}
