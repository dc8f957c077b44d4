//! The lines that a profile names: they stay word for word, whatever leaves.
//!
//! Invariant: pure and linear in the text; each line is a slice of what was said, found once, where
//! it was said last. Read by whoever makes a prompt smaller, and by reports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use epitome_kernel::nearest;
use epitome_kernel::types::{Entry, PartBody, PartId, Role};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::facts::constraints;
use crate::line_pattern::LinePattern;
use crate::refs::{self, RefKind};
use crate::slice;

/// A longer line is not kept whole: of it the match alone.
const LONGEST_LINE: usize = 2_000;

/// The most lines that stay: of more the newest.
const MOST_LINES: usize = 10_000;

/// The most lines that are named by their text: of more the newest.
const MOST_NAMED: usize = 1_000;

/// The kinds of facts, as a profile names them.
const KINDS: [(&str, FactKind); 6] = [
    ("constraint", FactKind::Constraint),
    ("path", FactKind::Path),
    ("error", FactKind::Error),
    ("identifier", FactKind::Identifier),
    ("number", FactKind::Number),
    ("url", FactKind::Url),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FactKind {
    Constraint,
    Path,
    Error,
    Identifier,
    Number,
    Url,
}

impl FactKind {
    fn for_mention(kind: RefKind) -> Option<Self> {
        match kind {
            RefKind::Path | RefKind::File => Some(Self::Path),
            RefKind::Error => Some(Self::Error),
            RefKind::Ident | RefKind::Id => Some(Self::Identifier),
            RefKind::Number => Some(Self::Number),
            RefKind::Url => Some(Self::Url),
            RefKind::Email | RefKind::Flag | RefKind::Name => None,
        }
    }
}

/// The lines that stay word for word: regular expressions, kinds of facts, and what was named by its
/// text.
#[derive(Clone, Debug, Default)]
pub struct KeepRules {
    spelled: Vec<String>,
    patterns: Vec<LinePattern>,
    kinds: Vec<FactKind>,
    named: Vec<String>,
    /// Whether more was named than these may hold.
    is_crowded: bool,
}

/// Two that are spelled alike keep alike.
impl PartialEq for KeepRules {
    fn eq(&self, other: &Self) -> bool {
        self.spelled == other.spelled && self.named == other.named
    }
}

/// A rule that keeps nothing that anybody can have meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepRuleError {
    /// It is no regular expression.
    #[error("`{rule}` is no regular expression: {cause}")]
    Unreadable {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        cause: String,
    },
    /// It says nothing.
    #[error("a rule is empty; expected a regular expression or one of {}", kinds())]
    Empty,
    /// It is nearly the name of a kind.
    #[error(
        "`{rule}` is no kind of fact; did you mean `{nearest}`? To keep lines with the word itself, \
         write `\\b{rule}\\b`"
    )]
    UnknownKind {
        /// The rule.
        rule: String,
        /// The kind that is nearest.
        nearest: String,
    },
}

fn kinds() -> String {
    KINDS.map(|(name, _)| format!("`{name}`")).join(", ")
}

/// A line that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLine {
    /// The part that says it last.
    pub part: PartId,
    /// The line, word for word; several where one statement goes over several.
    pub text: String,
}

impl KeepRules {
    /// Reads rules as a profile spells them.
    ///
    /// # Errors
    ///
    /// The first that is none.
    pub fn parse(spelled: &[String]) -> Result<Self, KeepRuleError> {
        let mut rules = Self { spelled: spelled.to_vec(), ..Self::default() };
        for rule in spelled {
            if let Some(kind) = kind(rule)? {
                rules.kinds.push(kind);
                continue;
            }
            let pattern = LinePattern::parse(rule);
            let unreadable = |cause| KeepRuleError::Unreadable { rule: rule.clone(), cause };
            rules.patterns.push(pattern.map_err(unreadable)?);
        }
        Ok(rules)
    }

    /// The same rules, and the lines that hold these texts, which a policy found. A text that nobody
    /// said keeps nothing.
    #[must_use]
    pub fn naming(&self, texts: impl IntoIterator<Item = String>) -> Self {
        let mut rules = self.clone();
        let texts = texts.into_iter().map(|text| text.trim().to_owned());
        rules.named.extend(texts.filter(|text| !text.is_empty()));
        let above = rules.named.len().saturating_sub(MOST_NAMED);
        rules.named.drain(..above);
        rules.is_crowded |= above > 0;
        rules
    }

    /// The same rules, of which it is known that more lines should stay than may.
    #[must_use]
    pub fn crowded(self) -> Self {
        Self { is_crowded: true, ..self }
    }

    /// Whether more lines should stay than may.
    pub fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spelled.is_empty() && self.named.is_empty()
    }

    /// The rules, as the profile spells them.
    pub fn spelled(&self) -> &[String] {
        &self.spelled
    }

    /// The lines of a conversation that stay, in its order, its system prompt left out.
    pub fn lines(&self, entries: &[&Entry]) -> Vec<KeptLine> {
        if self.is_empty() {
            return Vec::new();
        }
        let talk: Vec<&Entry> =
            entries.iter().copied().filter(|entry| entry.role != Role::System).collect();
        let texts: Vec<_> = talk.iter().flat_map(|entry| spoken(entry)).collect();
        let mut found: BTreeMap<(usize, usize), &str> = BTreeMap::new();
        let patterns = self.patterns.iter();
        for (at, (_, text)) in texts.iter().enumerate() {
            for range in whole_lines(text, patterns.clone().flat_map(|one| one.find_all(text))) {
                found.insert((at, range.start), &text[range]);
            }
        }
        for (at, start, line) in
            self.lines_of_facts(&texts).into_iter().chain(self.lines_named(&texts))
        {
            found.entry((at, start)).or_insert(line);
        }
        let line = |((at, _), text): (&(usize, usize), &&str)| {
            let text = text.trim();
            (!text.is_empty()).then(|| KeptLine { part: texts[*at].0, text: text.to_owned() })
        };
        let mut lines: Vec<_> = found.iter().filter_map(line).collect();
        if self.kinds.contains(&FactKind::Constraint) {
            lines.extend(orders(&talk));
            lines.sort_by_key(|line| line.part);
        }
        keep_last(&mut lines);
        lines.drain(..lines.len().saturating_sub(MOST_LINES));
        lines
    }

    /// The lines of a conversation that stay, and that a prompt made of it does not say.
    pub fn lost(&self, entries: &[&Entry], prompt: &[&Entry]) -> Vec<String> {
        let lines = self.lines(entries);
        held(&lines, prompt).1.into_iter().map(|line| line.text.clone()).collect()
    }

    /// For each text that was named, the lines that say it last.
    fn lines_named<'t>(
        &self,
        texts: &'t [(PartId, Cow<'_, str>)],
    ) -> impl Iterator<Item = (usize, usize, &'t str)> {
        self.named.iter().filter_map(|named| {
            let (at, text, start) =
                texts.iter().enumerate().rev().find_map(|(at, (_, text))| {
                    text.rfind(named.as_str()).map(|start| (at, &**text, start))
                })?;
            let line = whole_line(text, start..start + named.len());
            Some((at, line.start, &text[line]))
        })
    }

    /// For each fact of the kinds that are named, the newest line that says it.
    fn lines_of_facts<'t>(
        &self,
        texts: &'t [(PartId, Cow<'_, str>)],
    ) -> Vec<(usize, usize, &'t str)> {
        if self.kinds.iter().all(|kind| *kind == FactKind::Constraint) {
            return Vec::new();
        }
        let mut again: FxHashMap<&str, FxHashSet<u32>> = FxHashMap::default();
        let mut mentions = Vec::new();
        for (at, (part, text)) in texts.iter().enumerate() {
            let mut begin = 0;
            for piece in slice::pieces(text) {
                for mention in refs::mentions(piece) {
                    let Some(kind) = FactKind::for_mention(mention.kind) else { continue };
                    if !self.kinds.contains(&kind) {
                        continue;
                    }
                    let name = mention.canonical(piece);
                    let range = mention.range.start + begin..mention.range.end + begin;
                    again.entry(name).or_default().insert(part.entry.0);
                    mentions.push((at, kind, name, range));
                }
                begin += piece.len();
            }
        }
        let (mut told, mut lines) = (FxHashSet::default(), Vec::new());
        for (at, kind, name, range) in mentions.into_iter().rev() {
            // As reports count them: an identifier matters once it is used again.
            let matters = kind != FactKind::Identifier || again[name].len() > 1;
            if !matters || !told.insert((kind, name)) {
                continue;
            }
            let text = &*texts[at].1;
            let line = whole_line(text, range);
            lines.push((at, line.start, &text[line]));
        }
        lines
    }
}

/// The kind that a rule names; none where it is a regular expression.
fn kind(rule: &str) -> Result<Option<FactKind>, KeepRuleError> {
    if rule.trim().is_empty() {
        return Err(KeepRuleError::Empty);
    }
    let named = rule.strip_suffix('s').unwrap_or(rule);
    if let Some((_, kind)) = KINDS.iter().find(|(name, _)| [rule, named].contains(name)) {
        return Ok(Some(*kind));
    }
    let is_word = rule.chars().all(|letter| letter.is_ascii_lowercase());
    let near = nearest(rule, KINDS.iter().map(|(name, _)| *name)).filter(|_| is_word);
    match near {
        Some(nearest) => {
            Err(KeepRuleError::UnknownKind { rule: rule.to_owned(), nearest: nearest.to_owned() })
        }
        None => Ok(None),
    }
}

/// What an entry says, text by text: arguments of calls are decoded, as they are told elsewhere.
fn spoken(entry: &Entry) -> impl Iterator<Item = (PartId, Cow<'_, str>)> {
    entry.parts.iter().zip(0..).flat_map(|(part, at)| {
        let id = PartId { entry: entry.id, part: at };
        let texts = match &part.body {
            PartBody::Text(text) => vec![Cow::Borrowed(&**text)],
            PartBody::Result(result) => vec![Cow::Borrowed(&*result.text)],
            PartBody::Call(call) => match serde_json::from_str(&call.arguments) {
                Ok(value) => strings(value).into_iter().map(Cow::Owned).collect(),
                Err(_) => vec![Cow::Borrowed(&*call.arguments)],
            },
            _ => Vec::new(),
        };
        texts.into_iter().map(move |text| (id, text))
    })
}

/// The texts within a value, in order.
fn strings(value: Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.into_iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.into_iter().flat_map(|(_, value)| strings(value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The lines of matches, those that touch each other as one.
fn whole_lines(text: &str, matches: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let lines = matches.filter(|found| !found.is_empty()).map(|found| whole_line(text, found));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| (line.start, line.end));
    lines.dedup_by(|next, line| {
        let touches = next.start < line.end;
        line.end = if touches { line.end.max(next.end) } else { line.end };
        touches
    });
    lines
}

/// The whole lines that a match stands in; of longer ones the match alone. No more is looked at than a
/// line that is kept may hold.
fn whole_line(text: &str, found: Range<usize>) -> Range<usize> {
    let (bytes, is_end) = (text.as_bytes(), |byte: &u8| *byte == b'\n');
    let from = found.start.saturating_sub(LONGEST_LINE);
    let start = match bytes[from..found.start].iter().rposition(is_end) {
        Some(at) => from + at + 1,
        None if from == 0 => 0,
        None => return found,
    };
    if text[found.clone()].ends_with('\n') {
        return start..(found.end - 1).max(start);
    }
    let until = (found.end + LONGEST_LINE).min(bytes.len());
    let end = match bytes[found.end..until].iter().position(is_end) {
        Some(at) => found.end + at,
        None if until == bytes.len() => until,
        None => return found,
    };
    if end - start > found.len() + LONGEST_LINE { found } else { start..end }
}

/// The sentences in which people order something that still holds.
fn orders(talk: &[&Entry]) -> Vec<KeptLine> {
    let orders = constraints(talk).into_iter().map(|(text, place)| {
        let entry = talk[place];
        let says = |(part, said): (PartId, Cow<'_, str>)| said.contains(&text).then_some(part);
        let part = spoken(entry).find_map(says);
        let part = part.unwrap_or(PartId { entry: entry.id, part: 0 });
        KeptLine { part, text }
    });
    orders.collect()
}

/// Of what was said again only the last stays.
fn keep_last(lines: &mut Vec<KeptLine>) {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut last: Vec<bool> = lines.iter().rev().map(|line| seen.insert(&line.text)).collect();
    lines.retain(|_| last.pop() == Some(true));
}

/// How many of the lines that stay stand in a prompt, and those that do not; each of a list of lines
/// is said in one text of it.
pub(crate) fn held<'l>(lines: &'l [KeptLine], prompt: &[&Entry]) -> ([u32; 2], Vec<&'l KeptLine>) {
    if lines.is_empty() {
        return ([0; 2], Vec::new());
    }
    let said: Vec<_> = prompt.iter().flat_map(|entry| spoken(entry)).collect();
    let whole: FxHashSet<&str> =
        said.iter().flat_map(|(_, text)| text.lines()).map(str::trim).collect();
    let says = |line: &KeptLine| {
        whole.contains(&*line.text) || said.iter().any(|(_, text)| text.contains(&line.text))
    };
    let lost: Vec<_> = lines.iter().filter(|line| !says(line)).collect();
    ([(lines.len() - lost.len()) as u32, lines.len() as u32], lost)
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    fn rules(spelled: &[&str]) -> Result<KeepRules, KeepRuleError> {
        let spelled: Vec<_> = spelled.iter().map(|rule| (*rule).to_owned()).collect();
        KeepRules::parse(&spelled)
    }

    #[track_caller]
    fn check(spelled: &[&str], entries: &[Entry], expected: &[(u32, &str)]) {
        let lines = rules(spelled).unwrap().lines(&entries.iter().collect::<Vec<_>>());
        let lines: Vec<_> = lines.iter().map(|it| (it.part.entry.0, it.text.as_str())).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_match_stands_for_its_whole_lines() {
        let talk = chat()
            .system("SELECT nothing;")
            .user("Run this:\n  SELECT a\n    FROM b;\nand tell me.")
            .call("sql", r#"{"query":"DELETE FROM x\nWHERE \"y\" = 1;"}"#)
            .result("ok\nSELECT a FROM c; -- 2 rows\nSELECT d FROM e;\n")
            .assistant("It was SELECT d FROM e;")
            .entries();
        check(
            &[r"(?is)\b(select|delete)\b[^;]*;"],
            &talk,
            &[
                (1, "SELECT a\n    FROM b;"),
                (2, "DELETE FROM x\nWHERE \"y\" = 1;"),
                (3, "SELECT a FROM c; -- 2 rows"),
                (3, "SELECT d FROM e;"),
                (4, "It was SELECT d FROM e;"),
            ],
        );
        check(&[r"^ok$"], &talk, &[(3, "ok")]);
        check(&[], &talk, &[]);
        check(&["x*"], &chat().user("none").entries(), &[]);
    }

    #[test]
    fn what_was_said_again_counts_once_and_long_lines_are_no_lines() {
        let long = "y".repeat(3_000);
        let talk = chat()
            .user("20260101_users")
            .assistant("fine")
            .user(&format!("20260101_users\n{long} 20260102_posts {long}"))
            .entries();
        check(&[r"\d{8}_\w+"], &talk, &[(2, "20260101_users"), (2, "20260102_posts")]);
    }

    #[test]
    fn a_kind_keeps_the_newest_line_of_each_fact() {
        let talk = chat()
            .user("Never touch src/main.rs. See src/lib.rs.")
            .assistant("src/lib.rs is read:\nsrc/main.rs is not\nlib.rs too")
            .entries();
        check(&["constraint"], &talk, &[(0, "Never touch src/main.rs.")]);
        let newest = [(1, "src/lib.rs is read:"), (1, "src/main.rs is not"), (1, "lib.rs too")];
        check(&["paths"], &talk, &newest);
    }

    #[test]
    fn a_rule_that_means_nothing_is_refused() {
        let error = |rule| rules(&[rule]).unwrap_err().to_string();
        assert!(error("(").starts_with("`(` is no regular expression: "), "{}", error("("));
        assert!(error(" ").starts_with("a rule is empty; expected"), "{}", error(" "));
        assert!(error("pathes").contains("did you mean `path`?"), "{}", error("pathes"));
        assert!(rules(&["migration", "errors", r"\berror\b"]).is_ok());
    }

    #[test]
    fn a_line_is_held_where_a_text_says_it() {
        let talk = chat().user("SELECT 1;\nSELECT 2;").entries();
        let talk: Vec<_> = talk.iter().collect();
        let lines = rules(&["SELECT.*"]).unwrap().lines(&talk);
        let prompt = chat().user("- SELECT 2;").entries();
        let (counts, lost) = held(&lines, &prompt.iter().collect::<Vec<_>>());
        assert_eq!((counts, lost.len()), ([1, 2], 1));
    }
}
