//! How much of what is asked for a prompt still says, alone and with what one search finds.
//!
//! Invariant: no model judges; a name counts as a word of its own, a question by the words that
//! answer it. What could not be sent scores nothing, and says why.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use epitome::types::Role;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::names::{around, end_of, neighbours, places, present};
use super::old_keys;
use super::plain_text::PlainMessage;
use super::questions::{CaseQuestions, ConstraintQuestion, ReferenceQuestion};
use super::words::TextWindows;

/// The share of the words that are needed from which on something counts as said.
const ENOUGH: f64 = 0.70;
/// So many words of its surroundings must stand near a name.
const NEAR: usize = 2;
/// So many neighbouring words must stand at a name in their order, and how often that is tried.
const SPAN: usize = 4;
const TRIES: usize = 12;
/// Characters to each side that these are taken from.
const REACH: usize = 160;

/// What was found, each with how many it was looked for; shares of nothing are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalScore {
    /// Questions, or names that were used later.
    pub n: usize,
    /// Share of them that the prompt answers, or names.
    pub recall: Option<f64>,
    /// Share of the names that stand there with words of their surroundings.
    pub bound: Option<f64>,
    /// Share of them that stand there so, or are found by one search.
    pub recall_search: Option<f64>,
    /// Names that were last said outside the newest eighth.
    pub n_far: usize,
    /// Share of those that stand there with words of their surroundings.
    pub far: Option<f64>,
    /// Constraints that people stated.
    #[serde(flatten, with = "old_keys::number_of_constraints")]
    pub n_constraints: usize,
    /// Share of them that the prompt still says.
    #[serde(
        flatten,
        serialize_with = "old_keys::constraints",
        deserialize_with = "old_keys::read_constraints"
    )]
    pub constraints: Option<f64>,
    /// Share of the names that stand there with four neighbouring words in their order.
    #[serde(
        flatten,
        serialize_with = "old_keys::in_context",
        deserialize_with = "old_keys::read_in_context"
    )]
    pub in_context: Option<f64>,
}

impl EvalScore {
    /// The one figure: names with their surroundings, or questions that are answered.
    pub fn headline(&self) -> Option<f64> {
        self.bound.or(self.recall)
    }
}

/// Scores a prompt. `search` answers one question with what it finds.
pub(crate) fn score<E>(
    questions: &CaseQuestions,
    before: &[PlainMessage],
    prompt: &[PlainMessage],
    mut search: impl FnMut(&str) -> Result<Vec<String>, E>,
) -> Result<EvalScore, E> {
    let talk: Vec<String> =
        prompt.iter().filter(|one| one.role != Role::System).map(PlainMessage::text).collect();
    let windows = TextWindows::new(&talk);
    if questions.is_chat() {
        return answers(questions, &windows, search);
    }
    let text = talk.join("\n\n");
    let mut found = HashMap::new();
    let [mut named, mut bound, mut far, mut searched] = [0; 4];
    for one in &questions.refs {
        named += usize::from(present(&one.name, one.kind, &text).is_some());
        let is_bound = is_bound(one, &text);
        bound += usize::from(is_bound);
        far += usize::from(is_bound && one.far);
        if !is_bound && !found.contains_key(&one.query) {
            found.insert(one.query.clone(), search(&one.query)?.join("\n"));
        }
        let back = || found.get(&one.query).and_then(|it| present(&one.name, one.kind, it));
        searched += usize::from(is_bound || back().is_some());
    }
    let (n, n_far) = (questions.refs.len(), questions.refs.iter().filter(|one| one.far).count());
    let kept = questions.directives.iter().filter(|order| says(&windows, order)).count();
    Ok(EvalScore {
        n,
        recall: share(named, n),
        bound: share(bound, n),
        recall_search: share(searched, n),
        n_far,
        far: share(far, n_far),
        n_constraints: questions.directives.len(),
        constraints: share(kept, questions.directives.len()),
        in_context: share(in_context(questions, before, &text), n),
    })
}

fn answers<E>(
    questions: &CaseQuestions,
    windows: &TextWindows,
    mut search: impl FnMut(&str) -> Result<Vec<String>, E>,
) -> Result<EvalScore, E> {
    let (mut here, mut back) = (0, 0);
    for item in &questions.items {
        let missing: Vec<_> = item.evidence.iter().filter(|one| !says(windows, one)).collect();
        here += usize::from(missing.is_empty());
        back += usize::from(match missing.is_empty() {
            true => true,
            false => {
                let found = TextWindows::new(search(&item.question)?);
                missing.into_iter().all(|one| says(&found, one))
            }
        });
    }
    let n = questions.items.len();
    let (recall, recall_search) = (share(here, n), share(back, n));
    Ok(EvalScore { n, recall, recall_search, ..EvalScore::default() })
}

fn says(windows: &TextWindows, order: &ConstraintQuestion) -> bool {
    windows.best(&order.need) >= ENOUGH
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Whether a name stands somewhere with words of its surroundings, so that a bare list of names
/// earns little.
fn is_bound(one: &ReferenceQuestion, text: &str) -> bool {
    let context: BTreeSet<&str> = one.context.iter().map(String::as_str).collect();
    let need = NEAR.min(context.len());
    places(&one.name, one.kind, text).any(|place| {
        need == 0 || {
            let near = neighbours(text, place, &one.name);
            near.iter().filter(|word| context.contains(word.as_str())).count() >= need
        }
    })
}

/// How many names stand there as they stood before, with neighbouring words.
fn in_context(questions: &CaseQuestions, before: &[PlainMessage], text: &str) -> usize {
    let sides = before.iter().map(|one| {
        format!("{} | {}", tokens(&one.content).join(" "), tokens(&one.arguments).join(" "))
    });
    let before = format!(" {} ", sides.collect::<Vec<_>>().join(" | "));
    let stands = |one: &ReferenceQuestion| {
        let middle = tokens(&one.name);
        places(&one.name, one.kind, text).take(TRIES).any(|place| {
            let end = end_of(text, place, one.name.chars().count());
            let (left, right) = around(text, place, end, REACH);
            let (left, right) = (tokens(left), tokens(right));
            (0..=SPAN).any(|count| {
                let left = &left[left.len().saturating_sub(count)..];
                let right = &right[..right.len().min(SPAN - count)];
                let run = [left, &middle, right].concat();
                before.contains(&format!(" {} ", run.join(" ")))
            })
        })
    };
    questions.refs.iter().filter(|one| stands(one)).count()
}

static TOKEN: LazyLock<Regex> = LazyLock::new(token);

#[expect(clippy::expect_used, reason = "the pattern is compiled in, and a test uses it")]
fn token() -> Regex {
    Regex::new(r"[\w--_]+").expect("the pattern of a token is sound")
}

/// Runs of letters and digits.
fn tokens(text: &str) -> Vec<&str> {
    TOKEN.find_iter(text).map(|found| found.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::names::NameKind;
    use super::super::questions::QuestionItem;
    use super::*;

    fn said(role: Role, text: &str) -> PlainMessage {
        PlainMessage { role, content: text.to_owned(), arguments: String::new() }
    }

    fn asked() -> CaseQuestions {
        let name = |name: &str, kind, far| ReferenceQuestion {
            name: name.to_owned(),
            kind,
            far,
            context: ["leak", "socket", "pool"].map(str::to_owned).to_vec(),
            query: name.to_owned(),
        };
        let need = ["never", "push", "main"].map(|word| (word.to_owned(), 1.0)).to_vec();
        CaseQuestions {
            refs: vec![name("open_fd", NameKind::Ident, true), name("4711", NameKind::Id, false)],
            directives: vec![ConstraintQuestion { need }],
            ..CaseQuestions::default()
        }
    }

    fn scored(questions: &CaseQuestions, prompt: &str, found: &str) -> EvalScore {
        let before = [said(Role::User, "the pool leaks a socket in open_fd whenever it is full")];
        let prompt = [said(Role::System, "open_fd 4711"), said(Role::User, prompt)];
        let search = |_: &str| Ok::<_, Infallible>(vec![found.to_owned()]);
        score(questions, &before, &prompt, search).unwrap()
    }

    fn check(prompt: &str, found: &str, expected: [Option<f64>; 6]) {
        let EvalScore { recall, bound, recall_search, far, constraints, in_context, .. } =
            scored(&asked(), prompt, found);
        let got = [recall, bound, recall_search, far, constraints, in_context];
        assert_eq!(got, expected, "{prompt}");
    }

    #[test]
    fn names_count_with_their_surroundings() {
        let [none, half, all] = [Some(0.0), Some(0.5), Some(1.0)];
        check("nothing", "", [none, none, none, none, none, none]);
        check("We saw that open_fd, 4711 and others", "", [all, none, none, none, none, none]);
        check("We saw this: open_fd, a pool's sockets", "", [half, half, half, all, none, none]);
        check("leaks a socket in open_fd. Never push!", "", [half, half, half, all, none, half]);
        check("Never push to main.", "see 4711", [none, none, half, none, all, none]);
    }

    #[test]
    fn questions_need_all_their_evidence() {
        let need = |word: &str| ConstraintQuestion { need: vec![(word.to_owned(), 1.0)] };
        let item =
            QuestionItem { question: "?".to_owned(), evidence: vec![need("red"), need("green")] };
        let questions = CaseQuestions { items: vec![item], ..CaseQuestions::default() };
        let check = |prompt, found, expected: [f64; 2]| {
            let score = scored(&questions, prompt, found);
            assert_eq!([score.recall, score.recall_search], expected.map(Some));
            assert_eq!(score.headline(), score.recall);
        };
        check("red and green", "", [1.0, 1.0]);
        check("red", "", [0.0, 0.0]);
        check("red", "green", [0.0, 1.0]);
    }
}
