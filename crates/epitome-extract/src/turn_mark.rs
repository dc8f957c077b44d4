//! Who says what within a text: `[18:03] Nora: …`, a turn a line, or `Anna: …` at the start of a message.
//!
//! Invariant: a mark is a verbatim slice of its text and stands for what is said behind it up to the next
//! one; what no mark stands before gets none. Called by [`crate::split`].

use std::rc::Rc;

use epitome_kernel::types::time_stamp;

/// Names are no longer (bytes), and have no more words.
const NAME: usize = 32;
const NAME_WORDS: usize = 3;
/// A time before a name without brackets is no longer (bytes).
const TIME: usize = 24;
/// So many lines of a text that begin with a name make it a talk of several.
const TURNS: usize = 3;

/// What stands before the words of a turn: who says it, when, or both.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TurnMark {
    text: Box<str>,
    /// Whether it is a heading as likely: a person begins a message with a name, a model hardly ever.
    pub(crate) is_heading: bool,
}

impl TurnMark {
    /// As it is said before a sentence.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The turns of one text, line by line.
#[derive(Debug, Default)]
pub(crate) struct TurnMarks {
    /// Whether the text is a talk of several.
    is_talk: bool,
    /// Whether the mark was that of a turn for sure, so that it reaches over lines.
    reaches: bool,
    /// Whether a line was read.
    is_begun: bool,
    current: Option<Rc<TurnMark>>,
}

impl TurnMarks {
    /// Those of a text that somebody wrote.
    pub(crate) fn from_text(text: &str) -> Self {
        let found = text.lines().filter_map(|line| LineMark::from_line(line.trim()));
        let mut names: Vec<&str> = found.filter_map(|mark| mark.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        // Headings differ from line to line, those who talk come back.
        let is_talk = all >= TURNS && names.len() >= 2 && names.len() * 3 <= all * 2;
        Self { is_talk, ..Self::default() }
    }

    /// Where a line begins a turn: how many bytes of it are a name or a time and nothing else. A heading
    /// that may be of the sentence stays in that.
    pub(crate) fn open(&mut self, line: &str) -> Option<usize> {
        let is_first = !self.is_begun;
        self.is_begun |= !line.is_empty();
        let Some(mark) = LineMark::from_line(line) else {
            if is_role(line) {
                self.close();
            }
            return None;
        };
        let is_sure = self.is_talk || mark.stamped;
        // Further down a single label is that of a field or of a paragraph.
        if !(is_sure || is_first && mark.is_capital) {
            return None;
        }
        self.reaches = is_sure;
        let text = line[..mark.length].trim_end().into();
        self.current = Some(Rc::new(TurnMark { text, is_heading: !is_sure }));
        Some(if is_sure { mark.length } else { 0 })
    }

    /// The turn that a line is of.
    pub(crate) fn current(&self) -> Option<Rc<TurnMark>> {
        self.current.clone()
    }

    /// An empty line ends what a heading opened, and a fence ends every turn.
    pub(crate) fn pause(&mut self) {
        if !self.reaches {
            self.close();
        }
    }

    pub(crate) fn close(&mut self) {
        self.current = None;
    }
}

/// Who says something and when, as the text says it: `[18:03] Nora: …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpokenTurn<'t> {
    /// The name before it.
    pub name: Option<&'t str>,
    /// The time before it, as it is written there, without brackets.
    pub time: Option<&'t str>,
}

/// The turn that the line at a byte of a text is of; `None` where nothing says that it is one. A
/// label that may as well be a heading is none.
///
/// ```
/// use epitome_extract::{SpokenTurn, turn_at};
///
/// let text = "[2024-03-02 18:03] Ada: The oven came.\nIt has a crack.\n[18:05] Bo: Poor you.";
/// let said = |what| turn_at(text, text.find(what).unwrap());
/// let ada = SpokenTurn { name: Some("Ada"), time: Some("2024-03-02 18:03") };
/// assert_eq!(said("crack"), Some(ada));
/// assert_eq!(said("Poor"), Some(SpokenTurn { name: Some("Bo"), time: Some("18:05") }));
/// assert_eq!(turn_at("Reason: it is slow.", 9), None);
/// ```
pub fn turn_at(text: &str, at: usize) -> Option<SpokenTurn<'_>> {
    let is_talk = TurnMarks::from_text(text).is_talk;
    let (mut turn, mut start) = (None, 0);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        match LineMark::from_line(words) {
            Some(mark) if is_talk || mark.stamped => {
                turn = Some(SpokenTurn { name: mark.name, time: mark.time });
            }
            None if is_role(words) => turn = None,
            _ => {}
        }
        start += line.len();
        if start > at {
            break;
        }
    }
    turn
}

/// Whether a line opens with a time, so that a turn begins there.
pub(crate) fn opens(line: &str) -> bool {
    LineMark::from_line(line).is_some_and(|mark| mark.stamped)
}

/// The mark of a turn at the beginning of a line.
struct LineMark<'t> {
    /// With the spaces behind it, in bytes.
    length: usize,
    /// Whether it says when.
    stamped: bool,
    /// When, without brackets.
    time: Option<&'t str>,
    name: Option<&'t str>,
    /// Whether each word of the name begins with a capital, or its script has none.
    is_capital: bool,
}

impl<'t> LineMark<'t> {
    fn from_line(line: &'t str) -> Option<Self> {
        let bracket = if line.starts_with('[') { time_stamp(line) } else { 0 };
        let stamp = if bracket > 0 { bracket } else { time(line) };
        let rest = line[stamp..].trim_start();
        let said = line.len() - rest.len();
        let named = name(rest);
        let length = match named {
            Some((_, length)) => said + length,
            None if bracket > 0 => said,
            None => return None,
        };
        // A mark before nothing is none.
        if length == line.len() {
            return None;
        }
        let name = named.map(|(name, _)| name);
        let is_capital = name.is_some_and(|name| {
            name.split(' ').all(|word| !word.starts_with(|c: char| c.is_lowercase()))
        });
        let time = line[..stamp].trim_matches(|c: char| !c.is_alphanumeric());
        let time = Some(time).filter(|time| !time.is_empty());
        Some(Self { length, stamped: stamp > 0, time, name, is_capital })
    }
}

/// How many bytes of a line are a time before a name: `05.02.24, 08:00 - `.
fn time(line: &str) -> usize {
    let is_of_time = |c: char| c.is_ascii_digit() || " :.,/-".contains(c);
    let rest = line.trim_start_matches(is_of_time);
    let length = line.len() - rest.len();
    let head = &line[..length];
    let is_time = head.contains(':') && head.starts_with(|c: char| c.is_ascii_digit());
    if is_time && head.ends_with(' ') && length <= TIME { length } else { 0 }
}

/// The name that a text begins with, and how many bytes it takes with its colon and the spaces behind.
fn name(text: &str) -> Option<(&str, usize)> {
    let head = &text[..text.floor_char_boundary(NAME)];
    let (end, colon) = head.char_indices().find(|(_, c)| matches!(c, ':' | '：'))?;
    let bold = text.strip_prefix("**").map_or(0, |_| 2);
    let name = text.get(bold..end)?.trim_end_matches("**");
    let mut behind = &text[end + colon.len_utf8()..];
    if bold > 0 {
        behind = behind.strip_prefix("**").unwrap_or(behind);
    }
    let is_apart = colon == '：' || behind.is_empty() || behind.starts_with(char::is_whitespace);
    let is_of_name = |c: char| c.is_alphanumeric() || " .-'’_@".contains(c);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '@')
        && name.chars().all(is_of_name)
        && !name.contains("  ")
        && name.split(' ').count() <= NAME_WORDS
        && name.split(' ').all(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '@'))
        && !ROLES.contains(&&*name.to_lowercase());
    (is_apart && is_name).then(|| (name, text.len() - behind.trim_start().len()))
}

/// Whether a line opens with a role: an earlier extract names those whose words it tells.
fn is_role(line: &str) -> bool {
    let word = line.split([':', '(', ' ']).next().unwrap_or_default().to_lowercase();
    ROLES.contains(&&*word) && line.contains(':')
}

/// Labels that name nobody who talks.
const ROLES: &[&str] = &[
    "user",
    "assistant",
    "tool",
    "note",
    "notes",
    "system",
    "human",
    "ai",
    "model",
    "warning",
    "error",
    "hint",
    "tip",
    "todo",
    "fixme",
    "ps",
    "p.s.",
    "p.s",
    "re",
    "subject",
    "http",
    "https",
    "file",
];

#[cfg(test)]
mod tests {
    use epitome_kernel::types::Entry;
    use epitome_testkit::chat;

    use crate::cut;
    use crate::render::render;

    /// The sentences of messages that hold one of these texts, as a summary tells them.
    #[track_caller]
    fn check(messages: &[&str], chosen: &[&str], expected: &str) {
        let entries = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let units = cut::units(&entries.iter().collect::<Vec<&Entry>>());
        let is_chosen = |at: &usize| chosen.iter().any(|text| units[*at].text.contains(text));
        let places: Vec<usize> = (0..units.len()).filter(is_chosen).collect();
        assert_eq!(render(&units, &places, true, None).text, expected);
    }

    const TALK: &str = "[2024-03-02 18:03] Ada: The oven came today. It has a crack.\n\
                        [2024-03-02 18:05] Bo: Poor you. My knee is bad. They say no surgery.\n\
                        Not before May anyway.\n[18:09] Ada: Ha.";

    #[test]
    fn a_sentence_stands_behind_its_own_name() {
        let told = "User: [2024-03-02 18:03] Ada: It has a crack.\n\
                    [2024-03-02 18:05] Bo: They say no surgery. Not before May anyway.\n[18:09] Ada: Ha.";
        check(&[TALK], &["crack", "surgery", "before May", "Ha."], told);
        check(
            &[TALK],
            &["oven", "knee"],
            "User: [2024-03-02 18:03] Ada: The oven came today.\n[2024-03-02 18:05] Bo: My knee is bad.",
        );
    }

    #[test]
    fn the_name_of_a_message_stays_with_what_is_kept_of_it() {
        let talk = [
            "Ada: Fine. He wants 40 for petrol.",
            "Bo: What? It was 25 last year.",
            "I do not know that.",
        ];
        check(
            &talk,
            &["40", "25", "know"],
            "User: Ada: He wants 40 for petrol.\nBo: It was 25 last year.\nUser: I do not know that.",
        );
    }

    #[test]
    fn a_time_stays_before_what_it_stands_before() {
        let chart = "[05.02. 8:00] Patient Ek, 71. Allergic to sulfonamides. The ward is full.";
        check(&[chart], &["sulfon"], "User: [05.02. 8:00] Allergic to sulfonamides.");
        check(
            &["05.02.24, 08:00 - Ada: One is here. Two is there."],
            &["Two"],
            "User: 05.02.24, 08:00 - Ada: Two is there.",
        );
    }

    #[test]
    fn what_no_name_stands_before_gets_none() {
        let text = "Reason: it is too slow. It has to go.\n\nThe rest can stay as it is.";
        check(
            &[text],
            &["has to", "rest"],
            "User: Reason: It has to go.\nUser: The rest can stay as it is.",
        );
        let plain = "We have these files: one and two. Open the first one.\nNote: Use tabs. Keep lines short.";
        check(&[plain], &["Open", "Keep"], "User: Open the first one. Keep lines short.");
    }
}
