//! What is kept of a conversation together: a sentence and the one that corrects it, takes it back or
//! limits it.
//!
//! Invariant: of what is chosen nothing stands that something corrects which leaves, as far as the words
//! tell; in doubt a correction stays as well. Where there is no room for both, both leave. Called by
//! [`crate::summary`], on what was chosen.

mod lists;
mod phrases;
mod topics;

use epitome_kernel::types::Speaker;

use self::phrases::{Correcting, correcting};
use self::topics::SentenceTopics;
use crate::unit::TextUnit;

/// A correction with no more words goes on in the next sentence.
const SHORT: usize = 6;
/// What corrects the message before stands in the next one, or in the one behind an answer.
const NEAR: usize = 3;
/// A report with more sentences says more than one thing.
const REPORT: usize = 12;

/// Whether a sentence opens by correcting what was said before it.
pub(crate) fn corrects(text: &str) -> bool {
    correcting(text) == Some(Correcting::Opens)
}

/// Which units stay only where others do.
#[derive(Debug, Default)]
pub(crate) struct Corrections {
    /// Units, each with one that must stay where it does.
    needs: Vec<(usize, usize)>,
    /// What says nothing by itself, with what it is said of.
    leans: Vec<(usize, usize)>,
}

impl Corrections {
    /// Those of units in reading order.
    pub(crate) fn from_units(units: &[TextUnit<'_>]) -> Self {
        let found = units.iter().enumerate().filter(|(_, unit)| unit.is_of_talk());
        let found: Vec<(usize, Correcting)> =
            found.filter_map(|(at, unit)| Some((at, correcting(&unit.text)?))).collect();
        let mut out = Self::default();
        if found.is_empty() {
            return out;
        }
        let topics = SentenceTopics::from_units(units);
        for (at, kind) in found {
            let older = older(units, &topics, at, kind);
            for &older in &older {
                out.needs.push((older, at));
                // The value that holds now may stand in the next sentence.
                let next = at + 1;
                let goes_on = kind == Correcting::Opens
                    && units
                        .get(next)
                        .is_some_and(|it| it.entry() == units[at].entry() && it.is_of_talk())
                    && units[at].text.split_whitespace().count() <= SHORT;
                if goes_on {
                    out.needs.push((older, next));
                }
            }
            let leans = match kind {
                Correcting::Limits | Correcting::Concludes => true,
                Correcting::Opens => topics.is_bare(at),
                Correcting::Changes => false,
            };
            // A report begins with what it is about.
            let last = match kind {
                Correcting::Concludes => older.first(),
                _ => older.last(),
            };
            if let Some(last) = last.filter(|_| leans) {
                out.leans.push((at, *last));
            }
        }
        out.needs.sort_unstable();
        out.needs.dedup();
        out
    }

    /// What was chosen (ascending places) with what it needs; without what needs more where there is no
    /// room for that.
    pub(crate) fn settle(&self, chosen: Vec<usize>, has_room: bool) -> Vec<usize> {
        if self.needs.is_empty() && self.leans.is_empty() {
            return chosen;
        }
        let mut kept: std::collections::BTreeSet<usize> = chosen.into_iter().collect();
        let pairs = || self.needs.iter().chain(&self.leans);
        loop {
            let size = kept.len();
            for (one, other) in pairs() {
                if !kept.contains(one) || kept.contains(other) {
                    continue;
                }
                match has_room {
                    true => kept.insert(*other),
                    false => kept.remove(one),
                };
            }
            if kept.len() == size {
                break;
            }
        }
        kept.into_iter().collect()
    }
}

/// What a sentence corrects or limits.
fn older(
    units: &[TextUnit<'_>],
    topics: &SentenceTopics,
    at: usize,
    kind: Correcting,
) -> Vec<usize> {
    let own = units[at].entry();
    let before = at.checked_sub(1).filter(|before| units[*before].is_of_talk());
    let same = before.filter(|before| units[*before].entry() == own);
    if kind == Correcting::Limits {
        let near = before.filter(|before| own - units[*before].entry() <= 1);
        return same.or(near).into_iter().collect();
    }
    if kind == Correcting::Concludes {
        let of_report = (0..at).rev().take_while(|it| units[*it].entry() == own).take(REPORT);
        let mut out: Vec<usize> = of_report.filter(|it| units[*it].is_of_talk()).collect();
        out.reverse();
        return out;
    }
    let mut out = topics.shared(at);
    // What is otherwise now was said in an earlier message; what a model does otherwise changes nothing
    // that a person said.
    if kind == Correcting::Changes {
        let by_model = units[at].speaker == Speaker::Model;
        let may_change = |unit: &TextUnit<'_>| !by_model || unit.speaker == Speaker::Model;
        out.retain(|older| units[*older].entry() < own && may_change(&units[*older]));
    }
    // What it takes back is named in the sentence before: "There is no receipt for the 300. Leave it out."
    if let Some(same) = same.filter(|_| kind == Correcting::Opens) {
        out.push(same);
        if topics.is_bare(at) {
            out.extend(topics.shared(same));
        }
    }
    if same.is_none() && kind == Correcting::Opens {
        out.extend(answered(units, topics, at));
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// What stands in the message that a correction answers: values, which it may give others. What was
/// asked is answered and not corrected.
fn answered(units: &[TextUnit<'_>], topics: &SentenceTopics, at: usize) -> Vec<usize> {
    let Some(last) = units[..at].iter().rposition(|unit| unit.entry() < units[at].entry()) else {
        return Vec::new();
    };
    let is_asked = units[last].text.ends_with(['?', '？', '؟']);
    if is_asked || units[at].entry() - units[last].entry() > NEAR || !units[last].is_of_talk() {
        return Vec::new();
    }
    // What they said themselves before that is what a slip of theirs is in.
    let speaker = units[at].speaker;
    let own = units[..=last].iter().rfind(|unit| unit.speaker == speaker).map(|unit| unit.entry());
    let own = own.filter(|own| units[at].entry() - own <= NEAR);
    let is_near =
        |unit: &TextUnit<'_>| unit.entry() == units[last].entry() || Some(unit.entry()) == own;
    let before = (0..=last).rev().take_while(|it| units[at].entry() - units[*it].entry() <= NEAR);
    let said: Vec<usize> =
        before.filter(|it| is_near(&units[*it]) && units[*it].is_of_talk()).collect();
    let valued: Vec<usize> = said.iter().copied().filter(|it| topics.has_value(*it)).collect();
    if valued.is_empty() { said.first().copied().into_iter().collect() } else { valued }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::Entry;
    use epitome_testkit::{Chat, chat};

    use super::*;
    use crate::cut;

    /// What stays with a sentence that is chosen alone, where there is room and where there is none.
    #[track_caller]
    fn check(chat: Chat, chosen: &str, with_room: &[&str], without: &[&str]) {
        let entries = chat.entries();
        let units = cut::units(&entries.iter().collect::<Vec<&Entry>>());
        let corrections = Corrections::from_units(&units);
        let place = units.iter().position(|unit| unit.text.contains(chosen)).unwrap();
        for (has_room, expected) in [(true, with_room), (false, without)] {
            let kept = corrections.settle(vec![place], has_room);
            let kept: Vec<&str> = kept.iter().map(|at| &*units[*at].text).collect();
            assert_eq!(kept, expected, "room: {has_room}");
        }
    }

    #[test]
    fn a_value_stays_with_its_correction() {
        let talk = chat()
            .user("My wage in 2021 was 51,300. We talk of the house.")
            .assistant("Noted: 51,300 for that year.")
            .user("Sorry, that was 2020. It was 48,900 then. Go on with the rest.");
        let both = ["My wage in 2021 was 51,300.", "Sorry, that was 2020.", "It was 48,900 then."];
        check(talk, "51,300", &both, &[]);
        let said = "That makes 130 days of driving.";
        let talk = chat().user("I am at home on 50 days.").assistant(said);
        let talk = talk.user("No, the 50 are among the 240, so 190 it is.");
        check(talk, "130", &[said, "No, the 50 are among the 240, so 190 it is."], &[]);
    }

    #[test]
    fn what_is_taken_back_leaves_with_the_taking_back() {
        let gift = "Gifts: 250 to the Red Cross.";
        let talk = chat().user(gift).assistant("I have noted all of that.");
        let talk = talk.user("I lost the receipt for the 250. Leave it out.");
        let all = [gift, "I lost the receipt for the 250.", "Leave it out."];
        check(talk.clone(), "Gifts", &all, &[]);
        check(talk, "Leave it", &["I lost the receipt for the 250.", "Leave it out."], &[]);
    }

    #[test]
    fn a_change_stays_with_what_it_changes() {
        let dose = "Metoprolol is raised to 100 mg in the morning.";
        let back = "Metoprolol back to 50 mg from now on.";
        let talk = chat().user(dose).assistant("It is written down.").user(back);
        check(talk, "100 mg", &[dose, back], &[]);
        let chinese = chat().user("我们十月三号出发，住四晚。").assistant("好的，没有问题。");
        let chinese = chinese.user("她要加班，改成四号出发吧。");
        check(chinese, "三号", &["我们十月三号出发，住四晚。", "她要加班，改成四号出发吧。"], &[]);
        let german =
            chat().user("Die Operation ist am 11. April in Ulm.").assistant("Alles notiert.");
        let german = german.user("Die Operation wurde auf den 18. verschoben.");
        check(
            german,
            "11. April",
            &[
                "Die Operation ist am 11. April in Ulm.",
                "Die Operation wurde auf den 18. verschoben.",
            ],
            &[],
        );
    }

    #[test]
    fn a_report_stays_with_its_outcome() {
        let report =
            "Topic Support. Mia wants a hotline for 14 hours. It is too dear. Result: rejected.";
        let topic = "Topic Support.";
        check(
            chat().user(report),
            "hotline",
            &[topic, "Mia wants a hotline for 14 hours.", "Result: rejected."],
            &[],
        );
        check(chat().user(report), "Result", &[topic, "Result: rejected."], &[]);
    }

    #[test]
    fn a_limit_stays_with_what_it_limits() {
        let talk = chat().user("He wants to go home tomorrow. The doctor says not before Friday.");
        let both = ["He wants to go home tomorrow.", "The doctor says not before Friday."];
        check(talk.clone(), "home", &both, &[]);
        check(talk, "doctor", &both, &[]);
    }

    #[test]
    fn what_nobody_corrects_stands_alone() {
        let talk = chat()
            .user("We bought 3 chairs for the garden.")
            .assistant("Do you want a table too?")
            .user("No, thank you. The cellar holds 40 boxes.");
        check(
            talk.clone(),
            "chairs",
            &["We bought 3 chairs for the garden."],
            &["We bought 3 chairs for the garden."],
        );
        check(talk, "cellar", &["The cellar holds 40 boxes."], &["The cellar holds 40 boxes."]);
    }
}
