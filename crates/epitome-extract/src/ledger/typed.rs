//! The sentences that people typed.
//!
//! Invariant: every text is a piece of a human part, word for word, of one line or of lines that were
//! cut at a width; pasted material, code, copies of files, quotes and diffs are left out. Called by [`super::WorkLedger::of`].

use epitome_kernel::types::{Entry, Part, PartBody, Role, Speaker};

use super::quoted;
use crate::typed_text::TypedText;
use crate::wrapped::without_bullet;
use crate::{directive, labels, split, wrapped};

/// A sentence of a person.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedSentence<'a> {
    /// Which entry it stands in, by place in the list.
    pub(super) entry: usize,
    /// The text, without the mark of a list.
    pub(super) text: &'a str,
    /// Whether it is a point of a list under a heading such as `Rules:`.
    pub(super) listed: bool,
}

/// All sentences of people, oldest first.
pub(super) fn sentences<'a>(entries: &[&'a Entry]) -> Vec<TypedSentence<'a>> {
    let mut out = Vec::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, it)| it.role != Role::System) {
        for part in entry.parts.iter().filter(|part| part.speaker == Speaker::Human) {
            let PartBody::Text(text) = &part.body else { continue };
            let typed = TypedText::for_text(text);
            if !typed.is_none() {
                of_part(index, part, &typed, &mut out);
            }
        }
    }
    out
}

/// The sentences of a part, as far as they are typed.
fn of_part<'a>(
    entry: usize,
    part: &'a Part,
    typed: &TypedText<'_>,
    out: &mut Vec<TypedSentence<'a>>,
) {
    let mut ruled = false;
    for TypedLine { whole, point } in lines(part) {
        let listed = ruled && point.len() < whole.len();
        ruled = listed || heads_rules(whole);
        if listed || !whole.starts_with('#') && split::has_few_signs(whole) {
            let sentences = split::whole_sentences(point).into_iter().filter(|it| typed.holds(it));
            out.extend(sentences.map(|text| TypedSentence { entry, text, listed }));
        }
    }
}

/// A line of a text that somebody wrote, with those that go on in it.
pub(super) struct TypedLine<'a> {
    whole: &'a str,
    /// The line without the mark of a list.
    pub(super) point: &'a str,
}

/// The lines of a part that are neither code in fences nor of a file nor quoted.
pub(super) fn lines(part: &Part) -> impl Iterator<Item = TypedLine<'_>> {
    let text = part.text().unwrap_or_default();
    let (mut end, mut joined) = (0, 0);
    let mut of_others = quoted::ranges(text).into_iter().peekable();
    let mut told = labels::retold(text).into_iter().peekable();
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = end;
        end += line.len();
        if begin < joined {
            return None;
        }
        let start = begin + line.len() - line.trim_start().len();
        while of_others.next_if(|range| range.end <= start).is_some() {}
        let is_quoted = of_others.peek().is_some_and(|range| range.start <= start)
            || part.stated_files().any(|copy| copy.body.contains(&begin))
            || is_of_client(line.trim());
        if line.trim().is_empty() || is_quoted {
            return None;
        }
        let files = part.stated_files().map(|copy| copy.body.start).filter(|at| *at > begin);
        let next = of_others.peek().map(|range| range.start).into_iter().chain(files).min();
        // The line that something else begins on is no part of this one.
        let own = next.and_then(|at| text[..at].rfind('\n')).unwrap_or(text.len()).max(end);
        joined = wrapped::end(&text[..own], begin, begin + line.trim_end().len());
        while told.next_if(|block| block.words.end <= begin).is_some() {}
        let words = told.peek().filter(|block| block.start == begin).map(|block| block.words.start);
        let whole = text[words.unwrap_or(begin)..joined].trim();
        Some(TypedLine { whole, point: without_bullet(whole) })
    })
}

/// What stands in a person's text and is not their own.
pub(super) fn of_others(part: &Part) -> String {
    let text = part.text().unwrap_or_default();
    quoted::ranges(text).into_iter().flat_map(|range| [&text[range], "\n"]).collect()
}

/// Whether a sentence is its speaker's own: no question whether something is so, and no words of others
/// in quotes.
pub(super) fn is_own(sentence: &str) -> bool {
    let text = directive::normal(sentence);
    let asks = sentence.trim_end().ends_with(['?', '？'])
        && QUESTIONS.iter().any(|words| text.starts_with(words));
    let quotes = sentence.matches(['"', '“', '”']).count() >= 2
        && SAID.iter().any(|word| text.split(' ').any(|it| it == *word));
    !asks && !quotes
}

/// How questions begin that ask whether or why something is so.
const QUESTIONS: &[&str] = &[
    "is ",
    "are ",
    "was ",
    "were ",
    "does ",
    "did ",
    "do you ",
    "do we ",
    "do i ",
    "should we ",
    "should i ",
    "must we ",
    "must i ",
    "may i ",
    "can we ",
    "can i ",
    "what ",
    "why ",
    "how ",
    "which ",
    "who ",
    "when ",
    "where ",
    "would it ",
];

/// Words that say that others said what is quoted.
const SAID: &[&str] = &[
    "says",
    "said",
    "complains",
    "complained",
    "told",
    "wrote",
    "writes",
    "reads",
    "states",
    "stated",
    "claims",
    "claimed",
    "warns",
    "warned",
];

/// Diffs, what a shell printed, tables, and commands to the client (`/add FILE`).
fn is_of_client(line: &str) -> bool {
    let command = line.strip_prefix('/').and_then(|rest| rest.split(' ').next());
    if command.is_some_and(|name| !name.contains('/')) {
        return true;
    }
    ["+ ", "+++", "---", "@@", "$ ", "| "].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line is a heading under which rules are listed.
fn heads_rules(line: &str) -> bool {
    let headed = line.starts_with('#') || line.trim_end_matches('*').ends_with([':', '：']);
    let title = line.trim_matches(['#', '*', ':', '：', ' ']).to_lowercase();
    headed && title.len() < 60 && RULES.iter().any(|word| title.contains(word))
}

const RULES: &[&str] = &[
    "rules",
    "constraints",
    "requirements",
    "conventions",
    "guidelines",
    "restrictions",
    "regeln",
    "vorgaben",
    "anforderungen",
    "règles",
    "contraintes",
    "exigences",
    "reglas",
    "restricciones",
    "requisitos",
    "regole",
    "vincoli",
    "requisiti",
    "regras",
    "restrições",
    "regels",
    "vereisten",
    "правила",
    "требования",
    "ограничения",
    "规则",
    "要求",
    "约束",
    "ルール",
    "制約",
    "要件",
    "규칙",
    "제약",
    "요구 사항",
    "요구사항",
];

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    fn check(text: &str, expected: &[(&str, bool)]) {
        let entries = chat().system("Never swear at anybody.").user(text).note("Be brief, please.");
        let entries = entries.entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let found: Vec<(&str, bool)> =
            sentences(&entries).into_iter().map(|it| (it.text, it.listed)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_a_person_typed_counts() {
        check(
            "Fix the parser please. Then stop!\n```\nnever do this in code\n```\n> never quoted this",
            &[("Fix the parser please.", false), ("Then stop!", false)],
        );
        check(
            "Fix this: ```\nNever edit this.\n```\nThen stop!",
            &[("Fix this: ```", false), ("Then stop!", false)],
        );
        let reminder = "<system-reminder>Never say this.\nAlways plan.</system-reminder>\nGo on.";
        check(reminder, &[("Go on.", false)]);
        check("修复解析器。不要动锁文件。", &[("修复解析器。", false), ("不要动锁文件。", false)]);
        let pasted = "Never paste so much. ".repeat(400);
        check(&pasted, &[]);
        let framed = format!("Never touch a.rs.\n\n{pasted}\n\nThen stop!");
        check(&framed, &[("Never touch a.rs.", false), ("Then stop!", false)]);
    }

    #[test]
    fn what_stands_in_a_file_nobody_typed() {
        let body = "Never call this. It is old.\n```sh\nPlease run it.\n";
        let (before, behind) = ("Look at a.md:\n````\n", "````\nKeep its title.");
        let entries = chat().user(&format!("{before}{body}{behind}")).holding("a.md", body);
        let entries = entries.entries();
        let found = sentences(&entries.iter().collect::<Vec<_>>());
        let found: Vec<_> = found.into_iter().map(|it| it.text).collect();
        assert_eq!(found, ["Look at a.md:", "Keep its title."]);
    }

    #[test]
    fn points_under_a_heading_are_listed() {
        check(
            "## Rules\n\n- tabs only\n2. no `unsafe`\nGo on with it.\n- not a rule here",
            &[
                ("tabs only", true),
                ("no `unsafe`", true),
                ("Go on with it.", false),
                ("not a rule here", false),
            ],
        );
    }
}
