//! What a person typed of a text that they sent, rather than pasted.
//!
//! Invariant: a text of usual length is typed whole; of a longer one count what frames it at its ends, and
//! prose in which somebody talks to whoever reads it. A document, a mail, a log and a set of rules count
//! as pasted. One scan of a text, none of one that is too long to be typed.

use epitome_kernel::types::{Entry, PartBody, Speaker};

use crate::demand;
use crate::directive;
use crate::split;
use crate::wrapped;

/// Text up to this length (in bytes) is typed.
const TYPED: usize = 4000;

/// A paragraph of so many bytes at either end of a longer text is typed around it: what is wanted of it,
/// and by which rules.
const FRAME: usize = 600;

/// Nobody types or dictates more (bytes) in one go.
const LONGEST_TYPED: usize = 64_000;

/// What introduces a text of others stands within so many bytes at the beginning.
const INTRODUCTION: usize = 300;

/// A comma ends a greeting within so many bytes.
const GREETING: usize = 60;

/// Of so many sentences and more, orders that are more than one in a few make a set of rules; fewer do where
/// nothing shows that somebody talks to the reader.
const SENTENCES: usize = 6;
const ORDERS_OF_TALK: usize = 3;
const ORDERS_OF_PROSE: usize = 12;

/// The closing line of a mail and the name below it have no more bytes each.
const CLOSING: usize = 40;

/// What a person typed of a text, or of all texts of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedText<'a> {
    /// All that they say there.
    Whole,
    /// These pieces of it.
    Pieces(Vec<&'a str>),
}

impl<'a> TypedText<'a> {
    /// Reads what people say in an entry.
    pub(crate) fn for_entry(entry: &'a Entry) -> Self {
        let texts = entry.parts.iter().filter_map(|part| match &part.body {
            PartBody::Text(text) if part.speaker == Speaker::Human => Some(&**text),
            _ => None,
        });
        let read: Vec<_> = texts.map(|text| (text, Self::for_text(text))).collect();
        if read.iter().all(|(_, typed)| *typed == Self::Whole) {
            return Self::Whole;
        }
        let pieces = read.into_iter().flat_map(|(text, typed)| match typed {
            Self::Whole => vec![text],
            Self::Pieces(pieces) => pieces,
        });
        Self::Pieces(pieces.collect())
    }

    /// Reads one text of a person.
    pub(crate) fn for_text(text: &'a str) -> Self {
        if is_short(text) || is_extract(text) {
            return Self::Whole;
        }
        let text = text.trim();
        let mut pieces: Vec<&str> = ends(text).collect();
        if text.len() <= LONGEST_TYPED && !is_document(text) {
            pieces.extend(spoken(text));
        }
        Self::Pieces(pieces)
    }

    /// Whether all is pasted.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::Pieces(pieces) if pieces.is_empty())
    }

    /// Whether a sentence that stands there is typed.
    pub(crate) fn holds(&self, sentence: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Pieces(pieces) => pieces.iter().any(|piece| piece.contains(sentence)),
        }
    }
}

/// Whether a text is short enough to have been typed, its code left out.
fn is_short(text: &str) -> bool {
    let fenced: usize = text.split("```").skip(1).step_by(2).map(str::len).sum();
    text.len() - fenced <= TYPED
}

/// Whether a text is an earlier extract, which stands for what was typed: a label, and turns below it. It
/// is as long as many of them.
fn is_extract(text: &str) -> bool {
    let mut lines = text.lines();
    let is_label = lines.next().is_some_and(|line| line.starts_with('[') && line.ends_with(']'));
    let speaks = |line: &str| ["User: ", "Assistant: "].iter().any(|who| line.starts_with(who));
    is_label && lines.next().is_some_and(speaks)
}

/// The paragraphs at the ends of a text that are short enough to be typed around what is pasted.
fn ends(text: &str) -> impl Iterator<Item = &str> {
    let first = text.split_once("\n\n").map(|(first, _)| first);
    let last = text.rsplit_once("\n\n").map(|(_, last)| last);
    [first, last].into_iter().flatten().filter(|end| end.len() <= FRAME)
}

/// Whether a text is a copy of something that was written for others: it has headings, or the head, the
/// greeting or the ending of a mail.
fn is_document(text: &str) -> bool {
    if is_signed(text) {
        return true;
    }
    let mut is_fenced = false;
    text.lines().any(|line| {
        let line = line.trim();
        is_fenced ^= line.starts_with("```");
        let opens = |marks: &[&str]| marks.iter().any(|mark| begins_with(line, mark));
        let greets = || opens(GREETINGS) && line.find(',').is_some_and(|at| at <= GREETING);
        let is_head = line.starts_with('#') || opens(MAIL_HEADS);
        !is_fenced && (is_head || greets() || ends_mail(line))
    })
}

/// Whether a text ends with a closing line and a name below it: `Thanks,` and `Ann`.
fn is_signed(text: &str) -> bool {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let name = lines.next().unwrap_or_default();
    let closing = lines.next().unwrap_or_default();
    let is_name = name.len() <= CLOSING
        && name.starts_with(char::is_uppercase)
        && name.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '.' | '-'));
    is_name && closing.len() <= CLOSING && closing.ends_with([',', '，'])
}

/// Whether a line begins with these letters, in either case.
fn begins_with(line: &str, mark: &str) -> bool {
    line.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

/// Whether the words by which mails end stand in a line.
fn ends_mail(line: &str) -> bool {
    let line = directive::spaced(line);
    MAIL_ENDS.iter().any(|mark| line.contains(mark))
}

/// The paragraphs of a text in which its sender talks: those that ask something of their reader. Where it is
/// one paragraph nothing else frames it, and then prose with few orders will do.
fn spoken(text: &str) -> Vec<&str> {
    let all = paragraphs(text);
    let mut is_introduced = false;
    let mut out = Vec::new();
    for paragraph in &all {
        let introduced = std::mem::replace(&mut is_introduced, paragraph.ends_with([':', '：']));
        let orders = match asks_reader(paragraph) {
            true => ORDERS_OF_TALK,
            false if all.len() == 1 => ORDERS_OF_PROSE,
            false => continue,
        };
        if !introduced && !introduces(paragraph) && is_talk(paragraph, orders) {
            out.push(*paragraph);
        }
    }
    out
}

/// What stands between empty lines, without code in fences.
fn paragraphs(text: &str) -> Vec<&str> {
    let (mut out, mut from, mut end) = (Vec::new(), 0, 0);
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let (start, is_fence) = (end, line.trim_start().starts_with("```"));
        end += line.len();
        if is_fence || is_fenced || line.trim().is_empty() {
            out.push(&text[from..start]);
            is_fenced ^= is_fence;
            from = end;
        }
    }
    out.push(&text[from..]);
    out.retain(|paragraph| !paragraph.trim().is_empty());
    out.iter().map(|paragraph| paragraph.trim()).collect()
}

/// Whether a paragraph is prose whose sentences tell rather than order: at most one in so many does.
fn is_talk(paragraph: &str, share: usize) -> bool {
    let (mut done, mut ended) = (0, 0);
    let (mut sentences, mut orders) = (0, 0);
    for line in paragraph.split_inclusive('\n') {
        let start = line.as_ptr() as usize - paragraph.as_ptr() as usize;
        if start < done {
            continue;
        }
        done = wrapped::end(paragraph, start, start + line.trim_end().len());
        let whole = paragraph[start..done].trim();
        if !wrapped::is_of_prose(whole) || !split::has_few_signs(whole) {
            return false;
        }
        let all = split::whole_sentences(whole);
        orders += all.iter().filter(|sentence| demand::demands(sentence)).count();
        sentences += all.len();
        ended += if whole.ends_with(ENDS) || all.len() > 1 { whole.len() } else { 0 };
    }
    let is_rules = sentences >= SENTENCES && orders * share > sentences;
    !is_rules && ended * 4 >= paragraph.len() * 3
}

/// Whether a paragraph begins with words that hand over a text of others: "Translate this mail: …".
fn introduces(paragraph: &str) -> bool {
    let mut end = paragraph.len().min(INTRODUCTION);
    while !paragraph.is_char_boundary(end) {
        end -= 1;
    }
    paragraph[..end].match_indices([':', '：']).any(|(at, _)| {
        let sentence = split::whole_sentences(&paragraph[..at]).pop().unwrap_or_default();
        let words = directive::spaced(sentence);
        HANDS_OVER.iter().any(|mark| words.contains(mark))
    })
}

/// Whether somebody who says "I" asks its reader for something.
fn asks_reader(paragraph: &str) -> bool {
    let words = directive::spaced(paragraph);
    let holds = |marks: &[&str]| marks.iter().any(|mark| words.contains(mark));
    let tells = |behind: &str| TELLS.iter().any(|tell| behind.starts_with(tell));
    let wishes =
        |mark: &&str| words.match_indices(mark).any(|(at, mark)| !tells(&words[at + mark.len()..]));
    WISHES.iter().any(wishes) || holds(SELF) && holds(REQUESTS)
}

/// What a sentence ends with.
const ENDS: [char; 9] = ['.', '!', '?', ':', '…', '。', '！', '？', '：'];

/// How lines of the head of a mail begin.
const MAIL_HEADS: &[&str] = &[
    "from:",
    "to:",
    "subject:",
    "sent:",
    "von:",
    "an:",
    "betreff:",
    "asunto:",
    "objet:",
    "oggetto:",
    "assunto:",
    "onderwerp:",
];

/// How people are greeted in mails, and nobody greets a program.
const GREETINGS: &[&str] = &[
    "dear ",
    "sehr geehrte",
    "liebe ",
    "lieber ",
    "estimado ",
    "estimada ",
    "cher ",
    "chère ",
    "gentile ",
    "prezado ",
    "prezada ",
    "beste ",
];

/// The words that mails end with.
const MAIL_ENDS: &[&str] = &[
    " best regards ",
    " kind regards ",
    " warm regards ",
    " yours sincerely ",
    " sincerely yours ",
    " yours faithfully ",
    " freundlichen grüßen ",
    " freundliche grüße ",
    " viele grüße ",
    " un cordial saludo ",
    " saludos cordiales ",
    " bien cordialement ",
    " cordiali saluti ",
    " atenciosamente ",
    " vriendelijke groet ",
];

/// What points at a text that follows.
const HANDS_OVER: &[&str] = &[
    " this ",
    " these ",
    " following ",
    " below ",
    " here is ",
    " heres ",
    " here are ",
    " says ",
    " wrote ",
    " writes ",
    " reads ",
    " diese ",
    " dieser ",
    " diesen ",
    " dieses ",
    " folgende ",
    " folgenden ",
    " hier ist ",
    " schreibt ",
    " schrieb ",
    " este ",
    " esta ",
    " siguiente ",
    " ce ",
    " cette ",
    " suivant ",
    " voici ",
    " questo ",
    " questa ",
    " seguente ",
    " seguinte ",
    " deze ",
    " volgende ",
    " это ",
    " следующий ",
    " вот ",
];

/// What a person wishes for themselves.
const WISHES: &[&str] = &[
    " i want ",
    " i need ",
    " id like ",
    " i would like ",
    " ich möchte ",
    " ich will ",
    " ich brauche ",
    " ich hätte gern ",
    " quiero ",
    " necesito ",
    " je veux ",
    " je voudrais ",
    " voglio ",
    " vorrei ",
    " eu quero ",
    " ik wil ",
    " мне нужно ",
    " я хочу ",
];

/// What somebody wishes who tells something to many.
const TELLS: &[&str] = &[
    "to share ",
    "to tell ",
    "to say ",
    "to talk ",
    "to show ",
    "to explain ",
    "to thank ",
    "to write ",
    "to point ",
];

/// Who says "I".
const SELF: &[&str] = &[
    " i ", " im ", " ive ", " my ", " me ", " ich ", " mein ", " meine ", " mir ", " mich ",
    " yo ", " mi ", " je ", " mon ", " ma ", " io ", " mio ", " eu ", " meu ", " ik ", " mijn ",
    " я ", " мне ",
];

/// What asks a reader.
const REQUESTS: &[&str] = &[
    " please ",
    " can you ",
    " could you ",
    " would you ",
    " help me ",
    " bitte ",
    " kannst du ",
    " könntest du ",
    " por favor ",
    " puedes ",
    " sil te plaît ",
    " sil vous plaît ",
    " peux tu ",
    " per favore ",
    " puoi ",
    " você pode ",
    " alsjeblieft ",
    " kun je ",
    " пожалуйста ",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Prose of so many sentences, no two alike.
    fn tale(sentences: usize) -> String {
        let tell = |at| format!("The importer reads table {at} at night and writes a report. ");
        (0..sentences).map(tell).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert!(text.len() > TYPED, "{} bytes", text.len());
        let found = TypedText::for_text(text).holds("Never touch migrations/.");
        assert_eq!(found, expected, "{}", text.chars().take(200).collect::<String>());
    }

    #[test]
    fn what_is_pasted_was_not_typed_and_an_extract_stands_for_what_was() {
        let lines = "User: Never push to main.\nTool: ok\n".repeat(200);
        let pasted = |text: &str| TypedText::for_text(text) == TypedText::Pieces(Vec::new());
        assert_eq!(TypedText::for_text("Never push to main."), TypedText::Whole);
        assert!(pasted(&lines));
        let extract = format!("[Earlier conversation, shortened]\n{lines}");
        assert_eq!(TypedText::for_text(&extract), TypedText::Whole);
        assert!(pasted(&format!("[a log]\n{}", "ERROR: no such file\n".repeat(300))));
    }

    #[test]
    fn one_paragraph_of_prose_is_typed_wherever_its_order_stands() {
        let rule = "Never touch migrations/.";
        for (before, behind) in [(0, 90), (45, 45), (90, 0)] {
            check(&format!("{}{rule} {}", tale(before), tale(behind)), true);
        }
        check(&format!("{} Never touch migrations/. {}", tale(40), tale(40)), true);
        let rules = "Clients must send it again. ".repeat(12);
        check(&format!("{}{rule} {rules}{}", tale(40), tale(40)), false);
        let asked = format!("I want you to build it. {}{rule} {rules}", tale(80));
        check(&asked, true);
        let handed = format!("Translate this article: {}{rule} {}", tale(40), tale(40));
        check(&handed, false);
        check(&format!("{}{rule} {}", tale(800), tale(800)), false);
    }

    #[test]
    fn of_more_paragraphs_those_count_that_talk_to_their_reader() {
        let rule = "Never touch migrations/.";
        let telling =
            |told: &str| format!("{}\n\n{told}{}{rule}\n\n{}", tale(40), tale(20), tale(40));
        check(&telling("I'd like a new importer. "), true);
        check(&telling("Ich möchte einen neuen Import. "), true);
        check(&telling("Could you build it with my old parser? "), true);
        check(&telling(""), false);
        check(&telling("You should read it. "), false);
        check(&telling("I read books, and you should read one. "), false);
        check(&telling("Here is what I want to show: "), false);
        check(&format!("# Guide\n\n{}", telling("I want to help. ")), false);
        check(&format!("Dear Ann,\n\n{}", telling("I want to help. ")), false);
        check(&format!("{}\n\nBest regards,\nAnn", telling("I want to help. ")), false);
        check(&format!("Hi team,\n\n{}\n\nThanks,\nAnn", telling("I want to help. ")), false);
        check(&telling("I'd like to tell how it went. "), false);
    }

    #[test]
    fn rules_tables_and_lists_are_pasted() {
        let rule = "Never touch migrations/.";
        check(&format!("{rule} {}", "The report must be short. ".repeat(200)), false);
        check(&format!("{rule}\n{}", "- the importer reads a table\n".repeat(200)), false);
        check(&format!("{rule}\n{}", "12:01 importer table 17 done\n".repeat(200)), false);
        check(&format!("{rule}\n{}", "| importer | 17 | done |\n".repeat(200)), false);
    }

    #[test]
    fn a_short_text_beside_a_pasted_one_is_typed() {
        let entries = epitome_testkit::chat().user(&"12:01 importer done\n".repeat(300)).entries();
        let mut entry = entries[0].clone();
        let mut short = entry.parts[0].clone();
        short.body = PartBody::Text("Never touch migrations/.".into());
        entry.parts.push(short);
        let typed = TypedText::for_entry(&entry);
        assert!(typed.holds("Never touch migrations/.") && !typed.holds("12:01 importer done"));
    }
}
