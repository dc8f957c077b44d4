//! The calls of a conversation: what each is named by beside its likes, and what came of those that failed.
//!
//! Invariant: two calls of one tool have two names unless they are told the same, or of the same address
//! and otherwise in long texts. Called by [`crate::slice`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use epitome_kernel::types::{Entry, PartBody, PartId, ToolName, answers, failed_calls};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use crate::keys;
use crate::refused;
use crate::rows;
use crate::unit::{CallName, FailedCall};

/// A value of more characters tells a call from others by the words that they do not share.
const VALUE_CHARS: usize = 40;
/// The same of what holds no space, as addresses do, in bytes.
const ADDRESS_BYTES: usize = 200;
/// The place of the keys of addresses among those that tell things apart.
const ADDRESSES: usize = 2;
/// A name has no more characters behind the tool's.
const NAME_CHARS: usize = 60;
/// Of so many calls of one tool at most it is asked which of their words differ.
const COMPARED: usize = 64;
/// No value of more bytes is compared word by word.
const COMPARED_BYTES: usize = 2000;

/// The calls among entries.
pub(crate) struct CallNames<'a> {
    names: BTreeMap<PartId, Rc<CallName<'a>>>,
    answers: BTreeMap<PartId, PartId>,
}

/// A call as it was made.
struct MadeCall<'a> {
    id: PartId,
    tool: &'a str,
    arguments: &'a str,
    fields: Map<String, Value>,
}

impl<'a> CallNames<'a> {
    pub(crate) fn new(entries: &[&'a Entry]) -> Self {
        let answers = answers(entries.iter().copied());
        let failures = failures(entries, &answers);
        let made = made(entries);
        let mut likes: FxHashMap<&str, Vec<&MadeCall<'a>>> = FxHashMap::default();
        made.iter().for_each(|call| likes.entry(call.tool).or_default().push(call));
        let mut names = BTreeMap::new();
        let mut later = FxHashSet::default();
        for call in made.iter().rev() {
            let is_repeated = !later.insert((call.tool, call.arguments));
            let likes = &likes[call.tool];
            let values = match likes.len() {
                1 => Vec::new(),
                _ => told_apart(call, likes),
            };
            let text = match values.is_empty() {
                true => rows::call_name(call.tool, call.arguments),
                false => format!("{} {}", call.tool, clipped(&values.join(", "))),
            };
            let failure = failures.get(&call.id).cloned();
            let name = CallName {
                tool: call.tool,
                text,
                values,
                is_repeated,
                has_likes: likes.len() > 1,
                failure,
            };
            names.insert(call.id, Rc::new(name));
        }
        Self { names, answers }
    }

    /// The calls that state a to-do list in whose place a later call of the same tool states another one.
    pub(crate) fn old_lists(&self, entries: &[&Entry]) -> FxHashSet<PartId> {
        let mut newer = FxHashSet::default();
        let mut old = FxHashSet::default();
        for entry in entries.iter().rev() {
            for (place, part) in entry.parts.iter().enumerate().rev() {
                let PartBody::Call(call) = &part.body else { continue };
                let id = PartId { entry: entry.id, part: place as u32 };
                let is_done = self.names.get(&id).is_none_or(|call| call.failure.is_none());
                let is_whole =
                    || ToolName::new(&call.tool).is_list() && rows::is_list(&call.arguments);
                if is_done && is_whole() && !newer.insert(&call.tool) {
                    old.insert(id);
                }
            }
        }
        old
    }

    /// The call that a part is, or whose result it is.
    pub(crate) fn of_part(&self, part: PartId) -> Option<Rc<CallName<'a>>> {
        self.names.get(self.answers.get(&part).unwrap_or(&part)).cloned()
    }
}

fn made<'a>(entries: &[&'a Entry]) -> Vec<MadeCall<'a>> {
    let mut out = Vec::new();
    for entry in entries {
        for (part, it) in (0..).zip(&entry.parts) {
            let PartBody::Call(call) = &it.body else { continue };
            let id = PartId { entry: entry.id, part };
            let fields = serde_json::from_str(&call.arguments).unwrap_or_default();
            out.push(MadeCall { id, tool: &call.tool, arguments: &call.arguments, fields });
        }
    }
    out
}

/// What came of the calls that failed: also of those whose result says so in a field.
fn failures<'a>(
    entries: &[&'a Entry],
    answers: &BTreeMap<PartId, PartId>,
) -> BTreeMap<PartId, FailedCall<'a>> {
    let plain = failed_calls(entries.iter().copied());
    let failed = |call: &PartId| plain.get(call).copied();
    let mut out: BTreeMap<PartId, FailedCall<'a>> = BTreeMap::new();
    for entry in entries {
        for (part, it) in (0..).zip(&entry.parts) {
            let PartBody::Result(result) = &it.body else { continue };
            let Some(call) = answers.get(&PartId { entry: entry.id, part }) else { continue };
            if let Some(line) = refused::told(&result.text) {
                let is_error = failed(call).is_some_and(|it| it.is_error);
                let is_refused = is_error || refused::is_whole(&result.text);
                out.insert(*call, FailedCall { line: line.into(), is_refused });
            }
        }
    }
    for (call, failure) in &plain {
        out.entry(*call).or_insert_with(|| FailedCall {
            line: Cow::Borrowed(failure.line),
            is_refused: failure.is_error,
        });
    }
    out
}

/// The values by which a call is told from others of its tool: as few of its fields as do so, in their
/// order, each with its key where there are several.
fn told_apart(call: &MadeCall<'_>, likes: &[&MadeCall<'_>]) -> Vec<String> {
    let likes = &likes[likes.len().saturating_sub(COMPARED)..];
    let mut others: Vec<&MadeCall<'_>> =
        likes.iter().copied().filter(|other| other.fields != call.fields).collect();
    // A short value says more than a long one, and one that few share more than one of many.
    let kinds = |key: &String| {
        likes.iter().map(|other| other.fields.get(key)).collect::<FxHashSet<_>>().len()
    };
    let mut keys: Vec<(bool, usize, &String)> = call
        .fields
        .iter()
        .map(|(key, value)| match is_long(value) {
            true => (true, 0, key),
            false => (false, usize::MAX - kinds(key), key),
        })
        .collect();
    keys.sort_by_key(|(is_long, few, _)| (*is_long, *few));
    let mut telling = Vec::new();
    for (is_long, _, key) in keys {
        // Which file it is about tells more than what of that.
        if is_long && !telling.is_empty() || others.is_empty() && !is_address(key) {
            continue;
        }
        let value = call.fields.get(key);
        let before = others.len();
        others.retain(|other| other.fields.get(key) == value);
        if others.len() < before || is_address(key) && !is_long {
            telling.push(key);
        }
    }
    let own = call.fields.iter().filter(|(key, _)| telling.contains(key));
    let said = own.map(|(key, value)| {
        let said = spelled(Some(value));
        let value = match is_long(value) && said.len() <= COMPARED_BYTES {
            true => differing(&said, likes.iter().map(|it| spelled(it.fields.get(key)))),
            false => short(&said),
        };
        if telling.len() > 1 { format!("{key} {value}") } else { value }
    });
    said.filter(|said| !said.trim().is_empty()).collect()
}

/// Whether the values of a key are files, addresses and the like.
fn is_address(key: &str) -> bool {
    keys::telling(key) == Some(ADDRESSES)
}

/// Whether a value is too long to name anything.
fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let most = if text.contains(char::is_whitespace) { VALUE_CHARS } else { ADDRESS_BYTES };
            text.contains('\n') || text.len() > most
        }
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The words of a value that others like it lack, runs of them parted by commas.
fn differing(value: &str, others: impl Iterator<Item = String>) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    let mut differs = vec![false; words.len()];
    for other in others {
        let theirs: FxHashSet<&str> = other.split_whitespace().collect();
        let shared = words.iter().filter(|word| theirs.contains(*word)).count();
        if shared * 2 >= words.len() {
            let lacks = differs.iter_mut().zip(&words).filter(|(_, it)| !theirs.contains(*it));
            lacks.for_each(|(differs, _)| *differs = true);
        }
    }
    let runs = differs.iter().zip(&words).collect::<Vec<_>>();
    let runs = runs.chunk_by(|a, b| a.0 == b.0).filter(|run| *run[0].0);
    let runs: Vec<String> =
        runs.map(|run| run.iter().map(|(_, it)| **it).collect::<Vec<_>>().join(" ")).collect();
    if runs.is_empty() { value.to_owned() } else { runs.join(", ") }
}

/// A value as far as it names anything: of a long path the end.
fn short(value: &str) -> String {
    let is_path =
        value.len() > VALUE_CHARS && value.contains('/') && !value.contains(char::is_whitespace);
    match value.rmatch_indices('/').nth(1) {
        Some((at, _)) if is_path && at > 0 => format!("…{}", &value[at..]),
        _ => clipped(value).into_owned(),
    }
}

/// The head of a name that is too long, or its first line.
fn clipped(name: &str) -> Cow<'_, str> {
    let line = name.lines().next().unwrap_or_default();
    match line.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None if line.len() < name.len() => format!("{line}…").into(),
        None => Cow::Borrowed(line),
    }
}

fn spelled(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    /// The names of calls of one tool.
    #[track_caller]
    fn check(arguments: &[&str], expected: &[&str]) {
        let chat = arguments.iter().fold(chat(), |chat, it| chat.call("sql", it).result("Ok."));
        let entries = chat.entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let names = CallNames::new(&entries);
        let names: Vec<&str> = names.names.values().map(|name| &*name.text).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_call_is_named_by_what_tells_it_from_others() {
        check(
            &[r#"{"host":"a","day":1}"#, r#"{"host":"b","day":1}"#, r#"{"host":"a","day":2}"#],
            &["sql host a, day 1", "sql b", "sql host a, day 2"],
        );
        let query = |year: u32, of: &str| {
            format!(
                r#"{{"query":"SELECT country, sum(amount) FROM orders WHERE year={year} AND status='{of}' GROUP BY 1"}}"#
            )
        };
        check(
            &[&query(2022, "paid"), &query(2023, "paid"), &query(2023, "refunded")],
            &[
                "sql year=2022, status='paid'",
                "sql year=2023, status='paid'",
                "sql year=2023, status='refunded'",
            ],
        );
        check(&[r#"{"host":"a"}"#, r#"{"host":"a"}"#], &["sql a", "sql a"]);
        let edit = |new: &str| {
            format!(
                r#"{{"path":"a.rs","old":"let a = one_of_many_names_of_{new}(b, c, d, e, f);","new":"let {new} = 2;\nb"}}"#
            )
        };
        check(&[&edit("c"), &edit("d")], &["sql a.rs", "sql a.rs"]);
        check(&["{broken", r#"{"host":"a"}"#], &["sql", "sql a"]);
    }
}
