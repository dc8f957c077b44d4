//! Questions made from a recording's own future: it is cut, and what the assistant used later and
//! had seen before is what a compression of the first part should have kept.
//!
//! Invariant: a name counts only where it had to come from memory: it stood before the cut outside
//! the system prompt, and nobody said it again before the assistant did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use epitome::types::Role;
use epitome::{RequestDocument, TokenCounter};
use regex::Regex;

use super::names::{NameKind, forms, names, neighbours, present};
use super::plain_text::{PlainMessage, last_typed, said};
use super::questions::{CaseQuestions, ConstraintQuestion, ReferenceQuestion};
use super::words::{WordRarity, content_words};

/// So many messages after the cut may ask for something.
const HORIZON: usize = 150;
/// Of a name's mentions so many first and so many last ones are looked at.
const FIRST: usize = 3;
const LAST: usize = 7;
/// Characters of a question's two parts, and of the whole.
const PART: usize = 600;
const WHOLE: usize = 1200;

static ORDERS: LazyLock<Regex> = LazyLock::new(|| {
    sound(
        r"(?i)\b(?:must|never|always|don'?t|do not|should(?: not|n'?t)?|only|make sure|instead|not allowed|no need|please (?:use|keep|avoid|don'?t)|i want|i need|i(?:'d| would) (?:like|prefer)|we (?:need|want)|keep|avoid|prefer|without|at least|at most|no more than)\b",
    )
});
static CODE: LazyLock<Regex> = LazyLock::new(|| sound(r"(?s)```.*?```"));
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| sound(r"([.!?])\s+|\n+"));

#[expect(clippy::expect_used, reason = "the patterns are compiled in, and a test uses them all")]
fn sound(regex: &str) -> Regex {
    Regex::new(regex).expect("the patterns of orders are sound")
}

/// How many messages of a recording stand before the cut at this share of its tokens; none where
/// nothing would be left to ask for.
pub(crate) fn cut(
    document: &RequestDocument<'_>,
    share: f64,
    counter: &dyn TokenCounter,
) -> Option<usize> {
    let turns = document.turns();
    let lead = lead(document);
    let sizes: Vec<u64> = document.entries()[lead..]
        .iter()
        .map(|entry| if entry.role == Role::System { 0 } else { counter.count(&entry.readable()) })
        .collect();
    let goal = sizes.iter().sum::<u64>() as f64 * share;
    let mut sum = 0;
    let reached = sizes.iter().position(|size| {
        let reached = sum as f64 >= goal;
        sum += size;
        reached
    })?;
    turns.into_iter().find(|&messages| messages >= reached && messages < sizes.len())
}

/// How many entries stand before the first message.
pub(crate) fn lead(document: &RequestDocument<'_>) -> usize {
    document.lead()
}

/// The questions about the first part of a conversation.
pub(crate) fn questions(
    id: &str,
    source: &str,
    before: &RequestDocument<'_>,
    whole: &RequestDocument<'_>,
    counter: &dyn TokenCounter,
) -> CaseQuestions {
    let (past, all) = (said(before), said(whole));
    let end = all.len().min(past.len() + HORIZON);
    let texts: Vec<String> = past.iter().map(PlainMessage::text).collect();
    let known = SaidBefore::of(&past, &texts, tools(whole), counter);
    let rarity = WordRarity::of(&texts);
    let order = |text: &String| ConstraintQuestion { need: rarity.need(text) };
    let systems = past.iter().filter(|one| one.role == Role::System);
    CaseQuestions {
        id: id.to_owned(),
        source: source.to_owned(),
        refs: known.demanded(&all[past.len().min(end)..end]),
        directives: orders(&past).iter().map(order).collect(),
        items: Vec::new(),
        system: systems.map(|one| one.content.clone()).collect(),
        last_user: last_typed(&past).map(|one| one.content.clone()).unwrap_or_default(),
    }
}

/// The names of all tools that are called: they are not remembered but offered.
fn tools(document: &RequestDocument<'_>) -> BTreeSet<String> {
    let calls = document.entries().iter().flat_map(|entry| entry.calls());
    calls.map(|call| call.tool.clone()).collect()
}

/// What was said before the cut.
struct SaidBefore<'a> {
    texts: &'a [String],
    system: String,
    /// Where each name stands, oldest first.
    places: BTreeMap<String, (NameKind, Vec<usize>)>,
    /// Each spelling, and the name that it was first a spelling of.
    spelled: BTreeMap<String, String>,
    tools: BTreeSet<String>,
    /// The newest eighth begins here.
    tail: usize,
    asked: String,
}

impl<'a> SaidBefore<'a> {
    fn of(
        past: &[PlainMessage],
        texts: &'a [String],
        tools: BTreeSet<String>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut places: BTreeMap<String, (NameKind, Vec<usize>)> = BTreeMap::new();
        let mut spelled = BTreeMap::new();
        let mut sizes = vec![0; past.len()];
        for (place, (one, text)) in past.iter().zip(texts).enumerate() {
            if one.role == Role::System {
                continue;
            }
            sizes[place] = counter.count(text) + counter.message();
            for (name, kind) in names(text) {
                for form in forms(&name, kind) {
                    spelled.entry(form).or_insert_with(|| name.clone());
                }
                places.entry(name).or_insert((kind, Vec::new())).1.push(place);
            }
        }
        let eighth = sizes.iter().sum::<u64>() as f64 / 8.0;
        let mut sum = 0;
        let newest = sizes.iter().rev().take_while(|size| {
            sum += **size;
            sum as f64 <= eighth
        });
        let tail = past.len() - newest.count();
        let systems = past.iter().zip(texts).filter(|(one, _)| one.role == Role::System);
        let system: Vec<_> = systems.map(|(_, text)| text.as_str()).collect();
        let asked = last_typed(past).map(|one| clipped(&one.content, PART)).unwrap_or_default();
        Self { texts, system: system.join("\n"), places, spelled, tools, tail, asked }
    }

    /// The names that the assistant uses and could only remember, in the order of their use.
    fn demanded(&self, future: &[PlainMessage]) -> Vec<ReferenceQuestion> {
        let mut out: Vec<ReferenceQuestion> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut asked = self.asked.clone();
        for one in future {
            let text = one.text();
            let here = names(&text);
            if one.role == Role::Assistant {
                for (name, kind) in &here {
                    if forms(name, *kind).iter().any(|form| seen.contains(form)) {
                        continue;
                    }
                    out.extend(self.reference(name, *kind, one, &text, &asked));
                }
            }
            if one.role == Role::User {
                asked = clipped(&one.content, PART);
            }
            seen.extend(here.iter().flat_map(|(name, kind)| forms(name, *kind)));
        }
        out
    }

    fn reference(
        &self,
        name: &str,
        kind: NameKind,
        said: &PlainMessage,
        text: &str,
        asked: &str,
    ) -> Option<ReferenceQuestion> {
        if self.tools.contains(name) || present(name, kind, &self.system).is_some() {
            return None;
        }
        let source = forms(name, kind).into_iter().find_map(|form| self.spelled.get(&form))?;
        let (source_kind, places) = self.places.get(source)?;
        let mut context = BTreeSet::new();
        let later = places.len().saturating_sub(LAST).max(FIRST).min(places.len());
        for &place in places.iter().take(FIRST).chain(&places[later..]) {
            if let Some(at) = present(source, *source_kind, &self.texts[place]) {
                context.extend(neighbours(&self.texts[place], at, source));
            }
        }
        if let Some(at) = present(name, kind, text) {
            context.extend(neighbours(text, at, name));
        }
        let apart = name.replace(['/', '.', '_', '-'], " ");
        for own in content_words(name).into_iter().chain(content_words(&apart)) {
            context.remove(&own);
        }
        let reply = clipped(&said.content.replace(name, " "), PART);
        let query = format!("{asked}\n{reply}");
        Some(ReferenceQuestion {
            name: name.to_owned(),
            kind,
            far: places.last().is_some_and(|last| *last < self.tail),
            context: context.into_iter().collect(),
            query: clipped(query.trim(), WHOLE),
        })
    }
}

/// The sentences in which people order or forbid something. What is pasted is no order.
fn orders(past: &[PlainMessage]) -> Vec<String> {
    const PASTED: usize = 4000;
    let mut out: Vec<String> = Vec::new();
    for one in past.iter().filter(|one| one.role == Role::User) {
        let text = CODE.replace_all(&one.content, " ");
        if text.chars().count() > PASTED {
            continue;
        }
        for sentence in SENTENCE.replace_all(&text, "$1\n").split('\n').map(str::trim) {
            let words = || content_words(sentence).into_iter().collect::<BTreeSet<_>>().len();
            if (15..=400).contains(&sentence.chars().count())
                && ORDERS.is_match(sentence)
                && words() >= 3
                && !out.iter().any(|known| known == sentence)
            {
                out.push(sentence.to_owned());
            }
        }
    }
    out
}

fn clipped(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use epitome::Format;
    use epitome_testkit::FixedCounter;

    use super::*;

    const CHAT: &str = r#"[
        {"role":"system","content":"Work in src/main.rs only."},
        {"role":"user","content":"Fix the leak in src/net/pool.rs. Never push to main without a review!"},
        {"role":"assistant","content":"The leak is in open_socket, near line 4711."},
        {"role":"user","content":"Then go on."},
        {"role":"assistant","content":"I changed open_socket in net/pool.rs and src/main.rs."},
        {"role":"user","content":"Look at 4711 again."},
        {"role":"assistant","content":"4711 and open_socket are fine, new_name is new."}]"#;

    fn check(share: f64, messages: usize, names: &[&str]) -> CaseQuestions {
        let whole = RequestDocument::parse(CHAT.as_bytes(), Format::OpenAi).unwrap();
        let counter = FixedCounter::Words;
        assert_eq!(cut(&whole, share, &counter), Some(messages));
        let bytes = whole.prefix(messages);
        let before = RequestDocument::parse(&bytes, Format::OpenAi).unwrap();
        let found = questions("x", "y", &before, &whole, &counter);
        let asked: Vec<_> = found.refs.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(asked, names);
        found
    }

    #[test]
    fn what_is_used_later_is_asked_for() {
        // 4711 is said by the user before the assistant uses it; src/main.rs stands in the system
        // prompt; new_name was never said before.
        let found = check(0.5, 4, &["net/pool.rs", "open_socket"]);
        assert!(found.refs[0].context.contains(&"leak".to_owned()));
        assert!(found.refs[0].query.starts_with("Then go on.\nI changed open_socket in"));
        assert!(!found.refs[0].query.contains("net/pool.rs"));
        assert!(found.refs.iter().all(|one| one.far));
        assert_eq!(found.last_user, "Then go on.");
        assert_eq!(found.system, ["Work in src/main.rs only."]);
    }

    #[test]
    fn orders_of_people_are_asked_for() {
        let found = check(0.5, 4, &["net/pool.rs", "open_socket"]);
        let [order] = &*found.directives else { panic!("{:?}", found.directives) };
        let words: Vec<_> = order.need.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["main", "never", "push", "review", "without"]);
    }

    #[test]
    fn nothing_is_cut_at_the_end() {
        let whole = RequestDocument::parse(CHAT.as_bytes(), Format::OpenAi).unwrap();
        assert_eq!(cut(&whole, 0.99, &FixedCounter::Words), None);
    }
}
