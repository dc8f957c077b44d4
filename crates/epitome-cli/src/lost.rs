//! What a compression lost, and how it comes back.
//!
//! Invariant: a command that is shown works as it is printed; where nothing was stored none is shown.
//! Called by `compress` and `replay` before they report.

use std::path::Path;

use epitome::types::{FactReport, LostFact};

use crate::shell::store_flag;
use crate::text::{clipped, counted, plain};

/// So many orders are warned of one by one.
const NAMED: usize = 5;
/// So much of an order is shown.
const SHOWN: usize = 120;

/// Where goes what leaves the prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination<'a> {
    /// Into this store.
    Store(&'a Path),
    /// Into a store that is named, where nothing is written as yet.
    Planned,
    /// Nowhere.
    Nowhere,
}

impl<'a> Destination<'a> {
    /// Into the store, where one is named.
    pub(crate) fn in_store(named: Option<&'a Path>) -> Self {
        named.map_or(Self::Nowhere, Self::Store)
    }
}

/// Names the command that brings back each fact that was lost. An id is found whatever profile
/// recorded it, so none is named: the command works without the configuration of this run.
pub(crate) fn name_commands(facts: &mut FactReport, destination: Destination<'_>) {
    let Destination::Store(store) = destination else { return };
    let store = store_flag(Some(store));
    for fact in &mut facts.lost {
        let of = |id: &String| format!("epitome recall{store} --id {id}");
        fact.recall = fact.id.as_ref().map(of);
    }
}

/// Warns of lost orders of people.
pub(crate) fn warnings(facts: &FactReport, destination: Destination<'_>) -> Vec<String> {
    let orders = facts.lost.iter().filter(|fact| fact.kind == LostFact::ORDER);
    let all = orders.clone().count();
    let mut told: Vec<_> = orders.take(NAMED).map(|order| warning(order, destination)).collect();
    if all > NAMED {
        let more = counted((all - NAMED) as u64, "more order");
        told.push(format!("{more} left the prompt; `must_keep.lost` of the report names all"));
    }
    told
}

fn warning(order: &LostFact, destination: Destination<'_>) -> String {
    let back = match (&order.recall, destination) {
        (Some(command), _) => format!("`{command}` brings it back"),
        (None, Destination::Store(_)) => "a search in the store may find it".to_owned(),
        (None, Destination::Planned) => "the store would keep it".to_owned(),
        (None, Destination::Nowhere) => {
            "it is gone unless stored; `--store PATH` keeps what leaves".to_owned()
        }
    };
    let text = clipped(&plain(&order.text), SHOWN);
    format!("an order left the prompt: \"{text}\" ({}); {back}", order.entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_was_not_stored_is_said_to_be_gone() {
        let mut order = LostFact {
            kind: LostFact::ORDER,
            text: "Never touch src/main.rs.".to_owned(),
            entry: "e4".to_owned(),
            id: None,
            recall: None,
        };
        let gone = "an order left the prompt: \"Never touch src/main.rs.\" (e4); it is gone unless \
                    stored; `--store PATH` keeps what leaves";
        assert_eq!(warning(&order, Destination::Nowhere), gone);
        assert!(warning(&order, Destination::Planned).ends_with("the store would keep it"));
        order.recall = Some("epitome recall --store s.db --id 9a".to_owned());
        let stored = warning(&order, Destination::Store(Path::new("s.db")));
        assert!(stored.ends_with("`epitome recall --store s.db --id 9a` brings it back"));
    }
}
