//! The questions of prepared cases, and the words that an answer must hold.
//!
//! Invariant: which questions are asked depends on the names of the cases alone. Called by `answers`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// A conversation and what it is asked.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) messages: Vec<Value>,
    pub(crate) questions: Vec<Question>,
}

/// What a model is asked of a conversation.
pub(crate) enum Question {
    /// A question on what was said, and the words of its answer.
    Chat { text: String, words: BTreeSet<String> },
    /// What the assistant does next, and what that names from memory.
    NextCall { names: Vec<String> },
}

/// At most so many questions of one conversation.
const MOST: usize = 8;
/// The next call is that of one of so many messages behind the cut.
const NEXT: u64 = 2;

const ANSWERS: &str = "Answer the question about this conversation in a few words.";
const CALLS: &str = "Write the assistant's next message in this conversation. If it calls a tool, write the \
                     tool's name and its arguments with their values; name files, numbers and codes in full.";

impl Question {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Question::Chat { .. } => "chat",
            Question::NextCall { .. } => "call",
        }
    }

    /// The question behind a conversation.
    pub(crate) fn put(&self, conversation: &str) -> String {
        match self {
            Question::Chat { text, .. } => format!("{conversation}{ANSWERS}\n{text}"),
            Question::NextCall { .. } => format!("{conversation}{CALLS}"),
        }
    }

    /// The most tokens that its answer takes.
    pub(crate) fn room(&self) -> usize {
        match self {
            Question::Chat { .. } => 48,
            Question::NextCall { .. } => 160,
        }
    }

    /// How far an answer holds the gold words: 1 for a question of a chat where two thirds of them are
    /// there, the share of the names for a call.
    pub(crate) fn held(&self, answer: &str) -> f64 {
        match self {
            Question::Chat { words, .. } => {
                let found = content(answer);
                let there = words.iter().filter(|word| found.contains(*word)).count();
                f64::from(u8::from(there * 3 >= words.len() * 2))
            }
            Question::NextCall { names } => {
                let answer = answer.to_lowercase();
                let there = names.iter().filter(|name| answer.contains(&name.to_lowercase()));
                there.count() as f64 / names.len() as f64
            }
        }
    }
}

/// A call takes about as long as so many questions of a chat.
const CALL: usize = 4;

/// The cases of a folder, in an order that mixes them, until there are `most` questions of chats and a
/// part of that of calls.
pub(crate) fn chosen(folder: &str, most: usize) -> Result<Vec<Case>> {
    let files = fs::read_dir(folder).with_context(|| folder.to_owned())?;
    let mut names = Vec::new();
    for file in files {
        let name = file?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".probes.json").map(str::to_owned));
    }
    names.sort_by_key(|name| (mixed(name), name.clone()));
    let mut asked = [0, 0];
    let mut cases = Vec::new();
    for name in names {
        let mut case = case(Path::new(folder), name)?;
        let Some(first) = case.questions.first() else { continue };
        let is_call = first.kind() == "call";
        let (asked, most) =
            (&mut asked[usize::from(is_call)], if is_call { most / CALL } else { most });
        case.questions.truncate(MOST.min(most - *asked));
        *asked += case.questions.len();
        if !case.questions.is_empty() {
            cases.push(case);
        }
    }
    Ok(cases)
}

/// A number that says nothing of a name but is always the same (FNV-1a).
fn mixed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[expect(clippy::disallowed_methods, reason = "this tool reads the cases that it is told")]
fn case(folder: &Path, name: String) -> Result<Case> {
    let read = |ending: &str| -> Result<Value> {
        let path = folder.join(format!("{name}.{ending}.json"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    let probes = read("probes")?;
    let messages = read("messages")?.as_array().cloned().unwrap_or_default();
    Ok(Case { name, messages, questions: questions(&probes) })
}

/// The questions of a case: those that its words answer, or what it does next.
fn questions(probes: &Value) -> Vec<Question> {
    let of_chat = |item: &Value| {
        let (text, answer) = (item["question"].as_str()?, item["answer"].as_str()?);
        let in_question = content(text);
        let words: BTreeSet<String> = content(answer).difference(&in_question).cloned().collect();
        let text = text.to_owned();
        (!words.is_empty()).then_some(Question::Chat { text, words })
    };
    let items = probes["items"].as_array().into_iter().flatten();
    let mut found: Vec<Question> = items.filter_map(of_chat).collect();
    let refs: Vec<(&str, u64)> = (probes["refs"].as_array().into_iter().flatten())
        .filter_map(|it| Some((it["ref"].as_str()?, it["at"].as_u64()?)))
        .collect();
    let next = refs.iter().map(|(_, at)| *at).min().filter(|at| *at < NEXT);
    if let Some(next) = next {
        let names = refs.iter().filter(|(_, at)| *at == next).map(|(name, _)| (*name).to_owned());
        found.push(Question::NextCall { names: names.collect() });
    }
    found
}

/// Words that an answer need not hold.
const EMPTY: &str = "a an and are as at be been being but by did do does for from had has have he her him \
                     his i in into is it its me my of on or our she so that the their them they this to was \
                     we were what when where which who why will with would you your because";

/// The words of a text that carry content, each without the ending of its plural.
fn content(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase);
    let words = words.filter(|word| EMPTY.split(' ').all(|empty| empty != word));
    let singular = |word: String| match word.len() > 3 {
        true => word.trim_end_matches('s').to_owned(),
        false => word,
    };
    words.map(singular).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_counts_where_it_holds_the_gold_words() {
        let item = |question: &str, answer: &str| json!({"question": question, "answer": answer});
        let probes = json!({"items": [
            item("What is Ana's hobby?", "Ana's hobby is biking."),
            item("Which drink?", "Green tea, mugs of it"),
            item("What soccer?", "Soccer"),
        ]});
        let asked = questions(&probes);
        let held = |at: usize, answer: &str| asked[at].held(answer);
        assert_eq!(asked.len(), 2, "the last one tells its own answer");
        assert_eq!([held(0, "She likes Biking!"), held(0, "Ana's hobby is chess")], [1.0, 0.0]);
        assert_eq!(
            [held(1, "tea in a green mug"), held(1, "green tea"), held(1, "tea")],
            [1.0, 1.0, 0.0]
        );
        assert!(asked[0].put("User: hi\n\n").ends_with("\nWhat is Ana's hobby?"));
    }

    #[test]
    fn a_call_counts_by_the_names_that_it_holds() {
        let one = |name: &str, at: u64| json!({"ref": name, "at": at});
        let asked =
            |at| questions(&json!({"refs": [one("HAT1", at), one("src/a.rs", at), one("Z", 5)]}));
        assert_eq!(asked(1)[0].held("open(src/A.rs) of Z"), 0.5);
        assert!(asked(4).is_empty(), "that is not the next call");
    }
}
