//! How a model is asked: the words of a policy, with the messages and facts in their places.
//!
//! Invariant: what is filled in is not looked at again. Made by the writer.

use epitome_extract::MustKeepFacts;
use epitome_kernel::TextMeasure;
use epitome_types::hook::SummaryPrompt;
use epitome_types::{Entry, Role};

/// What a policy writes where the messages belong.
const CONVERSATION: &str = "{conversation}";
/// What a policy writes where the facts belong.
const MUST_KEEP: &str = "{must_keep}";
/// What a policy writes where goals belong.
pub(super) const GOALS: &str = "{goals}";
/// What words about messages say the first words of the last one with.
const LAST: &str = "{last}";
/// The most characters of a message that tell which one is meant.
const MEANT: usize = 80;

/// The words of a policy, filled in.
pub(super) struct SummaryQuestion {
    pub(super) system: Option<String>,
    pub(super) user: String,
}

impl SummaryQuestion {
    /// The question about these messages. One that has no place for them is followed by them, and one
    /// that has no place for what is said of goals begins with that.
    pub(super) fn about(
        prompt: &SummaryPrompt,
        conversation: &str,
        must_keep: &MustKeepFacts,
        goals: &str,
    ) -> Self {
        let facts: Vec<_> = must_keep.iter().map(|fact| format!("- {fact}")).collect();
        let values = [
            (CONVERSATION, conversation.to_owned()),
            (MUST_KEEP, facts.join("\n")),
            (GOALS, goals.to_owned()),
        ];
        let mut user = fill(&prompt.user, &values);
        let everything = || [Some(&prompt.user), prompt.system.as_ref()].into_iter().flatten();
        let has_place = |name: &str| everything().any(|text| text.contains(name));
        if !has_place(CONVERSATION) {
            user = format!("{user}\n\n{conversation}");
        }
        if !has_place(GOALS) && !goals.is_empty() {
            user = format!("{goals}\n\n{user}");
        }
        let system =
            prompt.system.as_ref().map(|system| fill(system, &values).trim_end().to_owned());
        Self { system, user }
    }

    /// Its size.
    pub(super) fn size(&self, measure: &dyn TextMeasure) -> u64 {
        measure.size(&self.user) + self.system.as_deref().map_or(0, |system| measure.size(system))
    }

    /// The same as one text, for a conversation that it is added to: its system prompt is its own.
    pub(super) fn aloud(self) -> String {
        match self.system {
            Some(system) => format!("{system}\n\n{}", self.user),
            None => self.user,
        }
    }
}

/// Which messages of a conversation are meant that stand above a question, as `words` say it.
pub(super) fn above(words: &str, entries: &[&Entry]) -> String {
    let last = entries.iter().rev().map(|entry| entry.readable()).find(|text| !text.is_empty());
    let last: String = last.unwrap_or_default().chars().take(MEANT).collect();
    fill(words, &[(LAST, last.split_whitespace().collect::<Vec<_>>().join(" "))])
}

/// A message, as the model is told of it.
pub(super) fn told(entry: &Entry) -> String {
    let is_result = entry.results().next().is_some();
    let who = if is_result { Role::Tool } else { entry.role };
    format!("{}: {}", who.name(), entry.readable())
}

/// The template with its places filled in; what is filled in is not looked at again.
pub(super) fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    let first = |rest: &str| {
        let places = values.iter().filter_map(|value| Some((rest.find(value.0)?, value)));
        places.min_by_key(|(at, _)| *at).map(|(at, (name, text))| (at, name.len(), text.as_str()))
    };
    while let Some((at, length, text)) = first(rest) {
        out.push_str(&rest[..at]);
        out.push_str(text);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        let values = [("{a}", "{b}".to_owned()), ("{b}", "{a}!".to_owned())];
        let check = |template: &str, expected: &str| assert_eq!(fill(template, &values), expected);
        check("", "");
        check("none {c}", "none {c}");
        check("{b}{a} and {a}", "{a}!{b} and {b}");
    }

    #[test]
    fn the_last_message_tells_which_are_meant() {
        let talk = chat().user("Mend\nthe parser.").assistant("").entries();
        let entries: Vec<_> = talk.iter().collect();
        assert_eq!(above("up to “{last}”", &entries), "up to “Mend the parser.”");
    }
}
