//! What changes in the store, told as it does, by server-sent events.
//!
//! Invariant: the store is looked at only while somebody listens. A listener has a bounded queue, and
//! is dropped where it does not keep up. An event says that something changed and of which session, and
//! nothing of what was said.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use epitome::{SessionAdmin, StoreError};
use tokio::sync::mpsc;

use crate::visit::PageSource;

/// The store is looked at so often.
const PAUSE: Duration = Duration::from_secs(1);
/// After so many looks a line is sent that says nothing, so that nobody takes the stream for dead.
const QUIET: u32 = 15;
/// So many events wait for a listener.
const QUEUE: usize = 16;
/// So many of the newest sessions of a scope are looked at.
const NEWEST: usize = 16;

/// Events on their way to a browser.
#[derive(Debug)]
pub struct PageEvents(mpsc::Receiver<Bytes>);

impl PageEvents {
    /// The next event, as bytes of the stream; none where it has ended.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(context)
    }
}

/// Those who listen, and what they were told.
#[derive(Debug, Default)]
pub(crate) struct LiveFeed {
    state: Mutex<FeedState>,
}

#[derive(Debug, Default)]
struct FeedState {
    /// By tenant.
    listeners: BTreeMap<String, Vec<mpsc::Sender<Bytes>>>,
    /// What was seen last of a tenant's sessions.
    seen: BTreeMap<String, SeenSessions>,
    /// The number of the last event.
    number: u64,
    is_looking: bool,
    is_closed: bool,
}

/// The name of a session, and its scope; both are empty for what was done to any.
pub(crate) type SeenKey = (String, String);

/// Sessions as they were seen: a text that changes with them.
pub(crate) type SeenSessions = BTreeMap<SeenKey, String>;

impl LiveFeed {
    /// Begins to tell a listener; `last` is the id of the event that its browser heard last. Whoever
    /// missed any is told to load the page anew.
    pub(crate) fn listen(
        self: &Arc<Self>,
        source: &PageSource,
        tenant: &str,
        last: Option<&str>,
    ) -> PageEvents {
        let events = self.join(tenant, last);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_closed && !state.is_looking {
            state.is_looking = true;
            state.seen.clear();
            tokio::spawn(look(Arc::clone(self), source.clone()));
        }
        events
    }

    /// The same for whoever is told by somebody else than the store.
    pub(crate) fn join(&self, tenant: &str, last: Option<&str>) -> PageEvents {
        let (tell, events) = mpsc::channel(QUEUE);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return PageEvents(events);
        }
        let mut first = String::from("retry: 2000\n");
        if last.is_some_and(|last| last != state.number.to_string()) {
            first.push_str("event: reload\n");
        } else {
            first.push_str("event: hello\n");
        }
        // Nothing waits in a new queue.
        tell.try_send(event(&first, state.number, "{}")).unwrap_or_default();
        state.listeners.entry(tenant.to_owned()).or_default().push(tell);
        PageEvents(events)
    }

    /// Ends all streams, for good.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.is_closed, state.listeners) = (true, BTreeMap::new());
    }

    /// The tenants that somebody listens for; none are left where nobody looks any more.
    fn tenants(&self) -> Vec<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.listeners.values_mut().for_each(|all| all.retain(|tell| !tell.is_closed()));
        state.listeners.retain(|_, all| !all.is_empty());
        state.is_looking = !state.listeners.is_empty();
        state.listeners.keys().cloned().collect()
    }

    /// Tells the listeners of a tenant what changed; nothing where it is seen for the first time.
    pub(crate) fn tell(&self, tenant: &str, now: SeenSessions, is_quiet: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.seen.insert(tenant.to_owned(), now.clone());
        let changed = before.as_ref().map(|before| changed(before, &now)).unwrap_or_default();
        let told = match changed.is_empty() {
            true if is_quiet => Bytes::from_static(b":\n\n"),
            true => return,
            false => {
                state.number += 1;
                event("event: session\n", state.number, &names_in_json(&changed))
            }
        };
        // Whoever does not keep up, or has left, is not told any more.
        let listeners = state.listeners.entry(tenant.to_owned()).or_default();
        listeners.retain(|tell| tell.try_send(told.clone()).is_ok());
    }
}

/// Looks at the store as long as somebody listens.
async fn look(feed: Arc<LiveFeed>, source: PageSource) {
    let mut count = 0;
    loop {
        let tenants = feed.tenants();
        if tenants.is_empty() {
            return;
        }
        count += 1;
        for tenant in tenants {
            let admin = source.admin(&tenant);
            let seen = tokio::task::spawn_blocking(move || seen(&admin)).await;
            match seen {
                Ok(Ok(seen)) => feed.tell(&tenant, seen, count % QUIET == 0),
                Ok(Err(error)) => tracing::debug!(%error, "the page does not see what changes"),
                Err(error) => tracing::debug!(%error, "the page does not see what changes"),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The newest sessions of a tenant, and under the empty name what was done to any.
fn seen(admin: &SessionAdmin) -> Result<SeenSessions, StoreError> {
    let mut seen = SeenSessions::new();
    let mut revisions = String::new();
    for reader in admin.readers()? {
        let newest = reader.journal().sessions(reader.scope(), 0, NEWEST, false)?;
        if let Some(first) = newest.first() {
            let revision = reader.journal().revision(reader.scope(), &first.name)?;
            // Writing to a string does not fail.
            write!(revisions, "{revision} ").unwrap_or_default();
        }
        for info in newest {
            let figures = format!("{} {:?} {}", info.last, info.figures, info.title);
            // Another project may have one of the same name.
            seen.insert((info.name, reader.scope().to_owned()), figures);
        }
    }
    seen.insert(SeenKey::default(), revisions);
    Ok(seen)
}

/// The names of what differs, and of what is there no longer.
fn changed<'s>(before: &'s SeenSessions, now: &'s SeenSessions) -> BTreeSet<&'s str> {
    let differs = |(key, figures): &(&SeenKey, &String)| before.get(*key) != Some(*figures);
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    let changed = now.iter().filter(differs).map(|(key, _)| key);
    changed.chain(gone).map(|(name, _)| name.as_str()).collect()
}

/// An event of the stream.
fn event(head: &str, number: u64, data: &str) -> Bytes {
    Bytes::from(format!("{head}id: {number}\ndata: {data}\n\n"))
}

/// Names as a list; all characters that could end it are escaped.
fn names_in_json(names: &BTreeSet<&str>) -> String {
    let mut out = String::from("[");
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push('"');
        for c in name.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                // Writing to a string does not fail.
                c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use epitome::{LOCAL, MemoryStore, Profile, ScopeOwner};

    use super::*;

    fn source() -> PageSource {
        PageSource {
            store: Arc::new(MemoryStore::new()),
            owner: ScopeOwner::from(LOCAL),
            profile: Profile::default(),
            profiles: Arc::new(|_| None),
            experiments: BTreeMap::new(),
        }
    }

    async fn next(events: &mut PageEvents) -> Option<String> {
        let bytes = poll_fn(|context| events.poll_next(context)).await?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn of_two(all: &[(&str, &str)]) -> SeenSessions {
        let key = |name: &str| (name.to_owned(), "local/default".to_owned());
        all.iter().map(|(name, figures)| (key(name), (*figures).to_owned())).collect()
    }

    fn of(figures: &str) -> SeenSessions {
        of_two(&[("heron", figures)])
    }

    #[tokio::test]
    async fn a_listener_is_told_what_changed_and_of_its_own_tenant_alone() {
        let feed = Arc::new(LiveFeed::default());
        let mut own = feed.listen(&source(), "anna", None);
        assert_eq!(next(&mut own).await.unwrap(), "retry: 2000\nevent: hello\nid: 0\ndata: {}\n\n");
        feed.tell("anna", of("1"), false);
        feed.tell("anna", of("2"), false);
        feed.tell("ben", of("1"), false);
        feed.tell("ben", of("2"), false);
        feed.tell("anna", of("2"), true);
        let first = next(&mut own).await.unwrap();
        assert_eq!(first, "event: session\nid: 1\ndata: [\"heron\"]\n\n");
        assert_eq!(next(&mut own).await.unwrap(), ":\n\n");
        feed.close();
        assert_eq!(next(&mut own).await, None);
        assert_eq!(next(&mut feed.listen(&source(), "anna", None)).await, None);
    }

    #[tokio::test]
    async fn whoever_missed_something_loads_anew_and_the_slow_are_dropped() {
        let feed = Arc::new(LiveFeed::default());
        let mut late = feed.listen(&source(), "anna", Some("7"));
        assert!(next(&mut late).await.unwrap().contains("event: reload"));
        for number in 0..QUEUE + 2 {
            feed.tell("anna", of(&number.to_string()), false);
        }
        for _ in 0..QUEUE {
            next(&mut late).await.unwrap();
        }
        assert_eq!(next(&mut late).await, None, "it did not keep up");
        assert_eq!(feed.tenants(), Vec::<String>::new());
    }

    #[test]
    fn what_is_gone_has_changed() {
        let both = of_two(&[("heron", "1"), ("ibis", "1")]);
        assert_eq!(changed(&both, &of("1")), BTreeSet::from(["ibis"]));
        assert_eq!(changed(&of("1"), &both), BTreeSet::from(["ibis"]));
        assert_eq!(changed(&both, &both), BTreeSet::new());
        // Of two of one name either may change.
        let other: SeenSessions =
            of("2").into_values().map(|it| (("heron".into(), "b".into()), it)).collect();
        let both: SeenSessions = of("1").into_iter().chain(other.clone()).collect();
        assert_eq!(changed(&of("1"), &both), BTreeSet::from(["heron"]));
    }

    #[test]
    fn names_cannot_end_the_list() {
        assert_eq!(names_in_json(&BTreeSet::from(["a\"b", "c\\\n"])), r#"["a\"b","c\\\u000a"]"#);
    }
}
