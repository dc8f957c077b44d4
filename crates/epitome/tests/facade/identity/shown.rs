//! What a conversation was sent and is shown.

use std::collections::BTreeSet;

use epitome::{ExportFormat, SessionOf, scope};
use epitome_testkit::FixedCounter;

use super::Host;

/// What is looked for: words and phrases that one says, or several do.
pub(super) const QUERIES: [&str; 4] =
    ["parser build fails", "looked0 looked1", "\"and so on\"", "\"ok, done\""];
/// Tokens that hold all that is found.
const ALL: u64 = 1 << 40;

/// What a search finds of a session: in it alone, in its order, and of it among all that is found.
fn found(host: &Host, session: &str) -> Vec<String> {
    let (keeper, scope) = (host.keeper(), scope("default"));
    keeper.index_new_entries(|_| {}).unwrap();
    let mut shown = Vec::new();
    for query in QUERIES {
        let of = SessionOf { scope: &scope, session };
        let alone = host.journal.search_session(of, query, 90, &FixedCounter::Words).unwrap();
        shown.push(format!("{query}: {alone:?}"));
        let is_phrase = query.starts_with('"');
        let all = host.journal.search(&scope, query, ALL, &FixedCounter::Words).unwrap();
        let mut lines = BTreeSet::new();
        for excerpt in all.iter().filter(|_| is_phrase) {
            let place = excerpt.place_in(session);
            let lines_of = excerpt.text.lines().map(|line| format!("{place:?}: {line}"));
            lines.extend(lines_of.filter(|_| place.is_some()));
        }
        shown.push(format!("{query}: {lines:?}"));
    }
    shown
}

/// What one conversation was sent and is shown, with its sessions numbered in their order.
pub(super) fn portrait(host: &Host, sent: &[String], sessions: &[String]) -> Vec<String> {
    let keeper = host.keeper();
    let mut shown = sent.to_vec();
    for name in sessions {
        let mut info = keeper.session(Some(name)).unwrap();
        info.label = None;
        shown.push(format!("{info:?}"));
        shown.push(keeper.export(name, ExportFormat::Ollm).unwrap());
        shown.push(format!("{:?}", keeper.goals(Some(name)).unwrap()));
        shown.extend(found(host, name));
        let listed = host.journal.sessions(&scope("default"), 0, 99, true).unwrap();
        assert_eq!(listed.iter().filter(|info| info.name == *name).count(), 1);
    }
    let mut names: Vec<_> = sessions.iter().enumerate().collect();
    names.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    let renamed = |text: &String| {
        names.iter().fold(text.clone(), |text, (at, name)| text.replace(*name, &format!("s{at}")))
    };
    shown.iter().map(renamed).collect()
}
