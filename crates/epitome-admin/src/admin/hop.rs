//! A second search: by names and dates in what the first one found.
//!
//! Invariant: what it finds comes behind what answers by itself, within what that left, and says
//! through which name it came. How much that may be, and which names are rare enough to lead
//! anywhere, are options of the profile; their order is that of policies. Called where something is
//! recalled.

use std::collections::HashSet;

use epitome_kernel::{RankedPassage, SearchRange, StoreError};
use epitome_store::names;
use epitome_types::WordMentions;

use super::SessionAdmin;
use super::ranking::RankedSearch;
use super::several::{Answering, SharedSearch};

impl SessionAdmin {
    /// What names in what was found lead to, where that left room.
    pub(super) fn led(
        &self,
        search: SharedSearch<'_>,
        queries: &[&str],
        found: &[Answering],
    ) -> Result<Vec<Answering>, StoreError> {
        let options = &self.profile.options.recall;
        let used = search.used(found.iter().map(|one| &one.excerpt));
        let share = (search.most as f64 * options.hop_share) as u64;
        let budget = search.most.saturating_sub(used).min(share);
        let asked = queries.join("\n");
        let leads = leads(found, &asked);
        if budget == 0 || options.hop_words == 0 || leads.is_empty() {
            return Ok(Vec::new());
        }
        let scopes = self.scopes()?;
        let words: Vec<String> = leads.iter().map(|lead| lead.word.clone()).collect();
        let range = SearchRange::Scopes(&scopes);
        let SharedSearch { store, counter, .. } = search;
        let mentions = self.journal.mentions(range, &words, &asked, options.hop_passages)?;
        let all = in_turn(new(mentions, found, options.hop_words));
        let told: Vec<_> = all.iter().map(|(word, one)| (word.as_str(), one.clone())).collect();
        let query = RankedSearch { store, range, query: &asked, budget, counter };
        let (mut led, mut left) = (Vec::new(), budget);
        for at in self.order_of_led(query, &told) {
            let (word, passage) = &all[at];
            if led.iter().any(|given: &Answering| given.holds(passage)) {
                continue;
            }
            let excerpt = &passage.excerpt;
            let Some(lead) = leads.iter().find(|lead| lead.word == *word) else { continue };
            if let Some(rest) = left.checked_sub(counter.count(&excerpt.text)) {
                left = rest;
                let (excerpt, queries) = (excerpt.clone(), lead.queries.to_vec());
                led.push(Answering { excerpt, queries, through: Some(word.clone()) });
            }
        }
        Ok(led)
    }
}

/// A name in what was found.
struct Lead<'a> {
    word: String,
    /// The queries that what holds it answers.
    queries: &'a [usize],
}

/// The names in what was found that nobody asked for, in the order in which they stand there.
fn leads<'a>(found: &'a [Answering], asked: &str) -> Vec<Lead<'a>> {
    let asked = asked.to_lowercase();
    let mut all: Vec<Lead<'a>> = Vec::new();
    for Answering { excerpt, queries, .. } in found {
        for name in names(&excerpt.text) {
            let lower = name.to_lowercase();
            let is_known =
                asked.contains(&lower) || all.iter().any(|lead| lead.word.to_lowercase() == lower);
            if !is_known {
                all.push(Lead { word: name.to_owned(), queries });
            }
        }
    }
    all
}

/// Of so many names those that lead to something new: the rarest first, of equal ones those that
/// stand before the others. What is given already is left out of where they lead.
fn new(mut mentions: Vec<WordMentions>, found: &[Answering], most: usize) -> Vec<WordMentions> {
    mentions.sort_by_key(|one| one.passages.len());
    for one in &mut mentions {
        one.passages.retain(|passage| !found.iter().any(|given| given.holds(passage)));
    }
    mentions.retain(|one| !one.passages.is_empty());
    mentions.truncate(most);
    mentions
}

/// The passages of names in turn, each once: the best of each name, then the second best.
fn in_turn(mentions: Vec<WordMentions>) -> Vec<(String, RankedPassage)> {
    let mut all: Vec<(usize, String, RankedPassage)> = Vec::new();
    for WordMentions { word, passages } in mentions {
        let placed = passages.into_iter().enumerate();
        all.extend(placed.map(|(at, passage)| (at, word.clone(), passage)));
    }
    all.sort_by_key(|(at, ..)| *at);
    let mut seen = HashSet::new();
    all.retain(|(.., one)| seen.insert((one.excerpt.id, one.excerpt.text.clone())));
    all.into_iter().map(|(_, word, passage)| (word, passage)).collect()
}
