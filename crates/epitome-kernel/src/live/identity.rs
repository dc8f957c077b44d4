//! Whether a request goes on from a recorded conversation (RULES 13): the one place that decides
//! it.
//!
//! Invariant: a function of what is said and of what is recorded, never of a name or of a title. An
//! opening in common is no proof, and a short answer is one only where nobody else was given it. Called
//! by the host's session for each request that is not known to go on from its own history, and by
//! imports.

use crate::journal::Holder;

/// Tokens from which on one recorded answer proves a conversation by itself. Two models, or one that
/// is asked twice, give the same short answer to the same opening ("Hi! How can I help?"); from about
/// two sentences on they no longer do by chance.
const PROVING_ANSWER: u64 = 32;

/// So many recorded answers prove a conversation, however short they are.
const PROVING_ANSWERS: usize = 2;

/// The fewest characters in a row of an id that somebody drew at random: eight of base 16 are 32 bits.
const DRAWN: usize = 8;

/// What one message of a request can prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Whether it is a system prompt.
    pub system: bool,
    /// Whether a model said it.
    pub answer: bool,
    /// Whether it holds an id that a provider drew ([`is_drawn`]).
    pub drawn: bool,
}

/// What a request is to the recorded conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity<'h> {
    /// It goes on from this one.
    Continue(&'h Holder),
    /// It is a new one that has what was decided in this one up to a place, and nothing later.
    Branch {
        /// The one that it leaves.
        from: &'h Holder,
        /// How many messages of it, the first ones, it has in common.
        at: usize,
    },
    /// It is a new one that inherits nothing.
    New {
        /// How many of its messages, the first ones, came without any record of who said them. A
        /// client may have made up the answers among them (examples in front of a task).
        opened: usize,
    },
}

/// Whose a request is beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'c> {
    /// The id that its client gives the conversation.
    pub label: Option<&'c str>,
    /// The conversation that its host had in hand for it.
    pub session: Option<&'c str>,
}

/// Decides what a request is. `size` gives the tokens of one of its messages; the holders are those
/// of its scope and its API, the ones that were recorded first before the others.
pub fn identify<'h>(
    claim: Claim<'_>,
    said: &[Evidence],
    size: impl Fn(usize) -> u64,
    holders: &'h [Holder],
) -> Identity<'h> {
    let proofs: Vec<_> = holders.iter().map(|holder| Proof::of(holder, said, &size)).collect();
    let is_own = |holder: &Holder| match (claim.session, claim.label) {
        (Some(session), _) if session == holder.session => true,
        (_, Some(label)) => holder.label.as_deref() == Some(label),
        (..) => false,
    };
    // The id says whose it is, so less is enough: all that is recorded, or one answer. Where neither is
    // in common, or nothing is recorded yet, it may be another agent of the same client.
    let own = proofs.iter().filter(|it| is_own(it.holder));
    let own = own.filter(|it| it.proven || it.holder.ends && it.shared > 0 || it.answers > 0);
    if let Some(own) = own.max_by_key(|it| it.shared) {
        return Identity::Continue(own.holder);
    }
    let proven: Vec<_> = proofs.iter().filter(|it| it.proven).collect();
    let deepest = proven.iter().map(|it| it.shared).max();
    let mut deepest = proven.into_iter().filter(|it| Some(it.shared) == deepest);
    let is_nobodys =
        |holder: &Holder| claim == Claim { label: None, session: None } && holder.label.is_none();
    let deepest = (deepest.next(), deepest.next());
    match (deepest, unrivalled(&proofs).filter(|one| is_nobodys(one))) {
        // Whoever goes on from a way that was left, while others go on from another one, is a
        // conversation of its own: two that began with the same words and answers, or a fork.
        ((Some(one), None), _) if is_nobodys(one.holder) && !one.holder.left => {
            Identity::Continue(one.holder)
        }
        ((Some(one), other), _) if other.is_none() || !is_nobodys(one.holder) => {
            Identity::Branch { from: one.holder, at: one.holder.shared }
        }
        ((None, _), Some(one)) => Identity::Continue(one),
        // Of several that nobody claims any choice would be a guess.
        _ => {
            let heard = proofs.iter().filter(|it| it.answers > 0 || it.is_next);
            let heard = heard.max_by_key(|it| it.shared);
            Identity::New { opened: heard.map_or(said.len(), |it| it.holder.opened) }
        }
    }
}

/// The one conversation that a request holds whole, with the answer that was recorded there, where no
/// other one holds as much: whoever was told the same has a session of its own that says so. One that
/// went on from there, or that may have heard that answer elsewhere, is another one too.
fn unrivalled<'h>(proofs: &[Proof<'h>]) -> Option<&'h Holder> {
    let mut whole = proofs.iter().filter(|it| it.answers > 0 && it.holder.ends && !it.is_anothers);
    let is_alone = |one: &&Proof<'_>| {
        let others = proofs.iter().filter(|it| !std::ptr::eq(it.holder, one.holder));
        others.map(|it| it.shared).all(|shared| shared < one.heard)
    };
    whole.find(is_alone).map(|it| it.holder)
}

/// How far a holder goes with a request, and whether that proves that it is the same conversation.
struct Proof<'h> {
    holder: &'h Holder,
    /// Messages in common, the answer included that was recorded and not yet sent back.
    shared: usize,
    /// Answers among them that were recorded as such.
    answers: usize,
    /// How many messages there are up to the first of these.
    heard: usize,
    /// Whether the answer holds an id that a provider drew for another one.
    is_anothers: bool,
    /// Whether the request goes on with an answer where the holder came to its end: that one was asked
    /// the same, so no client made the answer up, be it in other words than the recorded one.
    is_next: bool,
    proven: bool,
}

impl<'h> Proof<'h> {
    fn of(holder: &'h Holder, said: &[Evidence], size: &impl Fn(usize) -> u64) -> Self {
        let shared = (holder.shared + holder.answered).min(said.len());
        // What a client put in front is its own, with the ids in it.
        let recorded = holder.opened.min(shared)..shared;
        let witnessed = if holder.has_drawn { shared } else { holder.shared.min(shared) };
        let drawn = recorded.clone().any(|place| place < witnessed && said[place].drawn);
        let is_anothers = recorded.clone().any(|place| place >= witnessed && said[place].drawn);
        let said_by_model = recorded.clone().filter(|&place| said[place].answer);
        // Some APIs have a message for each call of one answer.
        let follows = |place: usize| place > recorded.start && said[place - 1].answer;
        let answers = said_by_model.clone().filter(|&place| !follows(place)).count();
        let heard = said_by_model.clone().next().map_or(0, |place| place + 1);
        let is_long = || said_by_model.clone().any(|place| size(place) >= PROVING_ANSWER);
        let proven = drawn || answers >= PROVING_ANSWERS || holder.ends && is_long();
        let is_next = holder.ends && said.get(holder.shared).is_some_and(|it| it.answer);
        Self { holder, shared, answers, heard, is_anothers, is_next, proven }
    }
}

/// Whether an id was drawn at random, as providers draw those of tool calls (`toolu_01A7…`,
/// `call_x9Kd…`, a UUID). What clients and small models number or name by themselves (`call_1`,
/// `functions.read:0`, `tool_20260102`) is the same in every conversation.
pub fn is_drawn(id: &str) -> bool {
    let runs = id.as_bytes().split(|letter| !letter.is_ascii_alphanumeric());
    runs.filter(|run| run.len() >= DRAWN).any(|run| {
        let kind = |letter: u8| (letter.is_ascii_digit(), letter.is_ascii_uppercase());
        let kinds = || run.windows(2).map(|pair| (kind(pair[0]), kind(pair[1])));
        let changes = kinds().filter(|(one, next)| one != next).count();
        let numbers = kinds().filter(|(one, next)| one.0 != next.0).count();
        // Words are written with capitals inside, and numbers stand behind them.
        numbers >= 2 && changes >= 3
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request: `u` a person, `a` an answer, `t` an answer with a drawn id; a long answer is `A`.
    fn check(claim: Claim<'_>, said: &str, holders: &[Holder], expected: &str) {
        let evidence: Vec<_> = said
            .chars()
            .map(|one| Evidence { system: false, answer: one != 'u', drawn: one == 't' })
            .collect();
        let long: Vec<_> = said.chars().map(|one| one == 'A').collect();
        let size = |place: usize| if long[place] { PROVING_ANSWER } else { PROVING_ANSWER - 1 };
        let found = match identify(claim, &evidence, size, holders) {
            Identity::Continue(holder) => format!("continue {}", holder.session),
            Identity::Branch { from, at } => format!("branch {} {at}", from.session),
            Identity::New { opened } => format!("new {opened}"),
        };
        assert_eq!(found, expected, "{said} {claim:?} {holders:?}");
    }

    const NOBODY: Claim<'_> = Claim { label: None, session: None };

    fn id(label: &str) -> Claim<'_> {
        Claim { label: Some(label), session: None }
    }

    /// A conversation that holds the first messages of a request.
    fn holder(session: &str, label: Option<&str>, shared: usize) -> Holder {
        let label = label.map(str::to_owned);
        let session = session.to_owned();
        Holder { session, label, shared, opened: 1, ..Holder::default() }
    }

    fn whole(session: &str, label: Option<&str>, shared: usize) -> Holder {
        Holder { ends: true, answered: 1, has_drawn: true, ..holder(session, label, shared) }
    }

    #[test]
    fn an_opening_in_common_is_no_continuation() {
        check(NOBODY, "u", &[whole("s", None, 1)], "new 1");
        check(NOBODY, "uau", &[holder("s", None, 1)], "new 3");
        let reworded = Holder { answered: 0, ..whole("s", None, 1) };
        check(NOBODY, "uAu", &[reworded], "new 1");
        check(id("b"), "uau", &[whole("s", Some("a"), 1)], "new 1");
        check(id("b"), "uAu", &[holder("s", Some("a"), 2)], "new 1");
    }

    #[test]
    fn a_long_answer_with_all_before_it_two_answers_or_an_id_is_proof() {
        check(NOBODY, "uAu", &[whole("s", None, 1)], "continue s");
        check(NOBODY, "uAu", &[holder("s", None, 2)], "new 1");
        check(NOBODY, "uauau", &[whole("s", None, 3)], "continue s");
        check(NOBODY, "uauau", &[holder("s", None, 4)], "continue s");
        check(NOBODY, "utu", &[holder("s", None, 2)], "continue s");
        check(NOBODY, "utu", &[whole("s", None, 1)], "continue s");
    }

    #[test]
    fn an_answer_of_several_messages_is_one() {
        let answered = |answered| Holder { answered, ..whole("s", None, 1) };
        check(NOBODY, "uaau", &[answered(2)], "continue s");
        check(NOBODY, "uaAu", &[answered(2)], "continue s");
        check(NOBODY, "uatu", &[answered(2)], "continue s");
        check(NOBODY, "uaau", &[holder("s", None, 3)], "new 1");
        check(NOBODY, "uaauaau", &[holder("s", None, 6)], "continue s");
        let same_words = Holder { has_drawn: false, ..answered(2) };
        check(NOBODY, "uatu", &[same_words], "new 1");
    }

    #[test]
    fn an_id_that_was_not_recorded_proves_nothing() {
        let same_words = Holder { has_drawn: false, ..whole("s", None, 1) };
        check(NOBODY, "utu", std::slice::from_ref(&same_words), "new 1");
        let own = whole("t", None, 1);
        check(NOBODY, "utu", &[same_words, own], "continue t");
    }

    #[test]
    fn examples_that_a_client_puts_in_front_prove_nothing() {
        let few = |holder: Holder| [Holder { opened: 5, ..holder }];
        check(NOBODY, "uauau", &few(whole("s", None, 5)), "new 5");
        check(NOBODY, "uAuAuau", &few(whole("s", None, 5)), "continue s");
        let again = Holder { opened: 7, ..holder("t", None, 6) };
        let [few_shot] = few(whole("s", None, 5));
        check(NOBODY, "uAuAuau", &[few_shot, again], "new 5");
        check(NOBODY, "uAuAuAu", &few(whole("s", None, 5)), "continue s");
        check(NOBODY, "utuau", &few(holder("s", None, 4)), "new 5");
        check(NOBODY, "utuautu", &few(whole("s", None, 5)), "continue s");
    }

    #[test]
    fn an_id_chooses_among_its_own() {
        check(id("a"), "u", &[whole("s", Some("a"), 1)], "continue s");
        check(id("a"), "uau", &[whole("s", Some("a"), 1)], "continue s");
        check(id("a"), "uau", &[holder("s", Some("a"), 2)], "continue s");
        let both = [holder("s", Some("a"), 2), holder("t", Some("a"), 4)];
        check(id("a"), "uauau", &both, "continue t");
        // Another agent of the same client, asked the same.
        check(id("a"), "u", &[holder("s", Some("a"), 1)], "new 1");
        // One that has its name and said nothing yet: an agent that another process begins just now.
        let begun = Holder { answered: 0, ..whole("s", Some("a"), 0) };
        check(id("a"), "u", &[begun], "new 1");
        let session = Claim { label: None, session: Some("s") };
        check(session, "uau", &[whole("s", None, 1)], "continue s");
    }

    #[test]
    fn another_id_branches_with_proof() {
        check(id("b"), "uauau", &[holder("s", Some("a"), 4)], "branch s 4");
        check(id("b"), "uAu", &[whole("s", None, 1)], "branch s 1");
        check(NOBODY, "utu", &[holder("s", Some("a"), 2)], "branch s 2");
        let own = [whole("s", Some("a"), 4), holder("t", Some("b"), 2)];
        check(id("b"), "uauau", &own, "continue t");
    }

    #[test]
    fn a_short_answer_is_enough_where_nobody_else_was_told_the_same() {
        let (s, t) = (whole("s", None, 1), whole("t", None, 1));
        let unheard = |holder: &Holder| Holder { answered: 0, ..holder.clone() };
        check(NOBODY, "uau", std::slice::from_ref(&s), "continue s");
        // Asked once more.
        check(NOBODY, "uau", &[whole("s", None, 3)], "continue s");
        // One that was asked the same heard something else.
        check(NOBODY, "uau", &[s.clone(), unheard(&t)], "continue s");
        check(NOBODY, "uau", &[unheard(&s), t.clone()], "continue t");
        // Others were told the same: one waits as well, one went on, one did under an id, one brought
        // it along.
        check(NOBODY, "uau", &[s.clone(), t], "new 1");
        check(NOBODY, "uau", &[s.clone(), holder("t", None, 2)], "new 1");
        check(NOBODY, "uau", &[holder("t", Some("a"), 2), s.clone()], "new 1");
        check(NOBODY, "uau", &[s.clone(), Holder { opened: 3, ..holder("t", None, 2) }], "new 1");
        // It has come further, or is another client's.
        check(NOBODY, "uau", &[holder("s", None, 2)], "new 1");
        check(NOBODY, "uau", &[whole("s", Some("a"), 1)], "new 1");
        check(id("b"), "uau", &[s], "new 1");
    }

    #[test]
    fn what_goes_on_from_a_way_that_was_left_is_a_conversation_of_its_own() {
        let left = |holder: Holder| [Holder { left: true, ..holder }];
        check(NOBODY, "uauauau", &[holder("s", None, 4)], "continue s");
        check(NOBODY, "uauauau", &left(holder("s", None, 6)), "branch s 6");
        // An id says whose it is.
        check(id("a"), "uauauau", &left(holder("s", Some("a"), 6)), "continue s");
        // It has a session of its own since.
        let both = [left(holder("s", None, 4)), [whole("t", None, 6)]].concat();
        check(NOBODY, "uauauauau", &both, "continue t");
    }

    #[test]
    fn of_several_none_is_chosen_by_chance() {
        let both = [whole("s", None, 1), whole("t", None, 1)];
        check(NOBODY, "uAu", &both, "new 1");
        let deeper = [whole("s", None, 1), whole("t", None, 3)];
        check(NOBODY, "uAuAu", &deeper, "continue t");
    }

    #[test]
    fn drawn_ids_are_told_from_numbers_and_names() {
        for id in [
            "toolu_01A09q90qw90lq917835lq9",
            "call_abD3kF9sLq2xYz8WvU7tR6eP",
            "call_3kz9x2ab",
            "D681PevKs",
            "chatcmpl-tool-4f0c2b9d8e7a4c5b9d8e",
            "9f1c2d3e-4b5a-4c6d-8e9f-0a1b2c3d4e5f",
        ] {
            assert!(is_drawn(id), "{id}");
        }
        for id in [
            "",
            "call_1",
            "toolu_1",
            "functions.read_file:0",
            "call_20260102030405",
            "function12",
            "call_readFile1",
        ] {
            assert!(!is_drawn(id), "{id}");
        }
    }
}
