//! Slices: what is cut into units at once.
//!
//! Invariant: the slices of a conversation are all its readable parts in order, each part whole
//! unless its text is larger than what is cut at once; then it ends at the end of a line where there
//! is one. No unit of talk holds a word of a file that is copied there, and none of a file is offered
//! to a summary: a file stays whole or leaves whole (RULES 16). Called by whoever reads units without
//! holding those of a whole conversation.

use std::ops::Range;
use std::rc::Rc;

use epitome_kernel::types::{Entry, Part, PartBody, PartId, Speaker, Stays, ToolName};

use crate::calls::CallNames;
use crate::labels;
use crate::rows::{self, FieldRow};
use crate::sections;
use crate::split::{ProsePiece, Splitter};
use crate::turn_mark::TurnMark;
use crate::unit::{CallName, TextUnit, UnitKind, UnitRow};

/// The most bytes of a text that are cut at once: units take several times their text.
pub(crate) const MOST: usize = 1 << 19;

/// What has no more characters may be a sign that a person answers with.
const SIGN_CHARS: usize = 4;

/// A part of an entry, or a piece of one whose text is too large or tells the words of several. There are
/// no fewer than messages.
#[derive(Clone, Debug)]
pub(crate) struct Slice<'a> {
    /// The part.
    pub(crate) part: &'a Part,
    /// Whose words it holds.
    pub(crate) speaker: Speaker,
    /// What is cut of it and where that begins, where that is not all of it.
    piece: Option<Box<(usize, &'a str)>>,
    /// The call that it is, or whose result it is of.
    call: Option<Rc<CallName<'a>>>,
    /// The entry, by place in the list.
    entry: u32,
    /// Whether none of it is offered to a summary.
    withheld: bool,
}

/// The slices of entries, in reading order.
pub(crate) fn slices<'a>(entries: &[&'a Entry]) -> Vec<Slice<'a>> {
    let calls = CallNames::new(entries);
    let old_lists = calls.old_lists(entries);
    let parts = (0..).zip(entries);
    let parts = parts.flat_map(|(entry, it)| {
        let of = |part| PartId { entry: it.id, part };
        (0..).map(of).zip(&it.parts).map(move |(id, part)| (entry, id, part))
    });
    let mut out = Vec::with_capacity(entries.iter().map(|entry| entry.parts.len()).sum());
    for (entry, id, part) in parts {
        let Some(text) = text(part) else { continue };
        let within = part.within.map_or(id, |outer| PartId { part: outer, ..id });
        let (call, withheld) = (calls.of_part(within), old_lists.contains(&id));
        let whole = Slice { entry, part, speaker: part.speaker, piece: None, call, withheld };
        if text.len() <= MOST {
            whole.by_speaker(&mut out);
            continue;
        }
        let mut end = 0;
        for it in pieces(text) {
            let start = end;
            end += it.len();
            Slice { piece: Some(Box::new((start, it))), ..whole.clone() }.by_speaker(&mut out);
        }
    }
    out
}

/// Slices that together have no more than `most` bytes, or one alone.
pub(crate) fn grouped<'s, 'a>(slices: &'s [Slice<'a>], most: usize) -> Vec<&'s [Slice<'a>]> {
    let mut out = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (at, slice) in slices.iter().enumerate() {
        let bytes = slice.bytes();
        if held + bytes > most && at > start {
            out.push(&slices[start..at]);
            (start, held) = (at, 0);
        }
        held += bytes;
    }
    out.push(&slices[start..]);
    out
}

impl<'a> Slice<'a> {
    /// The length of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.text().1.len()
    }

    /// Where what is cut begins in the text of its part, and that.
    fn text(&self) -> (usize, &'a str) {
        match &self.piece {
            Some(piece) => **piece,
            None => (0, text(self.part).unwrap_or_default()),
        }
    }

    /// Itself, or where it is an extract that came back a slice for what each speaker said.
    fn by_speaker(self, out: &mut Vec<Self>) {
        let (start, text) = self.text();
        let is_whole = self.speaker != Speaker::Human || !self.part.files.is_empty();
        let told = if is_whole { Vec::new() } else { labels::retold(text) };
        let Some(last) = told.last() else { return out.push(self) };
        let (head, tail) = (0..told[0].start, last.words.end..text.len());
        let mut push = |words: Range<usize>, slice: Self| {
            if !text[words.clone()].trim().is_empty() {
                out.push(Self {
                    piece: Some(Box::new((start + words.start, &text[words]))),
                    ..slice
                });
            }
        };
        // The line above an extract is its heading, which whoever makes another one writes anew.
        push(head, Self { withheld: true, ..self.clone() });
        for block in told {
            let call = block.call.map(|call| Rc::new(CallName::retold(call)));
            push(block.words, Self { speaker: block.speaker, call, ..self.clone() });
        }
        push(tail, self);
    }

    /// Cuts it into units, in order.
    pub(crate) fn cut(&self, push: &mut dyn FnMut(TextUnit<'a>)) {
        let Self { entry, part, speaker, ref piece, ref call, withheld } = *self;
        let failure = call.as_ref().and_then(|call| call.failure.as_ref());
        let all_withheld =
            withheld || part.note.as_ref().is_some_and(|note| note.stays == Stays::Newest);
        let mut push = |kind, withheld: bool, unit: TextUnit<'a>| {
            // A person may answer with a sign.
            let is_sign = speaker == Speaker::Human && unit.text.chars().count() <= SIGN_CHARS;
            if is_sign || unit.text.chars().any(char::is_alphanumeric) {
                let withheld = all_withheld || withheld;
                let name = call.clone();
                let is_named = |mark: &Rc<TurnMark>| !mark.is_heading || speaker == Speaker::Human;
                let mark = unit.mark.clone().filter(is_named);
                let unit = unit.in_entry(entry as usize);
                push(TextUnit { speaker, kind, withheld, mark, call: name, ..unit });
            }
        };
        let files = self.files();
        match (&part.body, piece) {
            (PartBody::Call(call), None) => {
                let rows = rows::call(&call.tool, &call.arguments).unwrap_or_else(|| {
                    vec![FieldRow::plain(format!("{}({})", call.tool, call.arguments))]
                });
                // What a refused call was to write stands nowhere, so it is not told. A command may have
                // done some of what it says before it failed.
                let is_refused = failure.is_some_and(|it| it.is_refused)
                    && !ToolName::new(&call.tool).is_shell();
                for (at, row) in rows.into_iter().enumerate() {
                    let mut unit = TextUnit::from(row);
                    if let Some(failure) = failure.filter(|_| at == 0) {
                        unit.set_answer(failure.line.clone());
                    }
                    push(UnitKind::Call, is_refused && at > 0, unit);
                }
            }
            _ if files.is_empty() => {
                cut_text(self.text().1, speaker, &mut push);
            }
            _ => self.cut_around(&files, &mut push),
        }
    }

    /// Where copies of files stand in what is cut.
    fn files(&self) -> Vec<Range<usize>> {
        let (start, text) = self.text();
        let within = |at: usize| at.clamp(start, start + text.len()) - start;
        let whole = self.part.stated_files().filter(|copy| !copy.partial);
        let bodies = whole.map(|copy| within(copy.body.start)..within(copy.body.end));
        bodies.filter(|body| text.get(body.clone()).is_some_and(|body| !body.is_empty())).collect()
    }

    /// Cuts what is said around copies of files, and these by themselves.
    fn cut_around(
        &self,
        files: &[Range<usize>],
        push: &mut dyn FnMut(UnitKind, bool, TextUnit<'a>),
    ) {
        let text = self.text().1;
        let mut talk = Splitter::new(self.part.speaker == Speaker::Tool);
        let mut done = 0;
        for body in files {
            for piece in talk.pieces(&text[done..body.start]) {
                push(kind(&piece), false, piece.into());
            }
            // Nobody says what stands in a file: none of it is an order.
            for line in Splitter::of_code().pieces(&text[body.clone()]) {
                push(UnitKind::Line, true, TextUnit::bare(line.text));
            }
            done = body.end;
        }
        for piece in talk.pieces(&text[done..]) {
            push(kind(&piece), false, piece.into());
        }
    }
}

impl<'a> From<ProsePiece<'a>> for TextUnit<'a> {
    fn from(ProsePiece { text, mark, .. }: ProsePiece<'a>) -> Self {
        Self { mark, ..Self::bare(text) }
    }
}

impl From<FieldRow> for TextUnit<'_> {
    fn from(FieldRow { text, fields, object, path }: FieldRow) -> Self {
        let is_row = !fields.is_empty() || object.is_some() || path.is_some();
        let unit = TextUnit::bare(text.into());
        if is_row { unit.with_row(UnitRow { fields, object, path }) } else { unit }
    }
}

/// What is read of a part.
fn text(part: &Part) -> Option<&str> {
    match &part.body {
        PartBody::Text(text) => Some(text),
        PartBody::Result(result) => Some(&result.text),
        PartBody::Call(call) => Some(&call.arguments),
        PartBody::Opaque(opaque) => Some(&opaque.text),
        PartBody::Thinking(_) | PartBody::Image(_) => None,
    }
}

/// A text in pieces of at most [`MOST`] bytes: whole lines where there are any, else sentences, else
/// words.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let head = &rest[..rest.floor_char_boundary(MOST)];
        let end = match head.len() < rest.len() {
            true => ["\n", ". ", " "].iter().find_map(|mark| Some(head.rfind(mark)? + mark.len())),
            false => None,
        };
        let (piece, after) = rest.split_at(end.unwrap_or(head.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn cut_text<'a>(
    text: &'a str,
    speaker: Speaker,
    push: &mut dyn FnMut(UnitKind, bool, TextUnit<'a>),
) {
    if let Some(rows) = rows::of(text) {
        rows.into_iter().for_each(|row| push(UnitKind::Row, false, row.into()));
        return;
    }
    let output = speaker == Speaker::Tool;
    let mut splitter = Splitter::new(output);
    for block in sections::blocks(text, output) {
        for piece in splitter.pieces(&text[block.range.clone()]) {
            let (section, kind) = (block.section.clone(), kind(&piece));
            push(kind, block.is_head, TextUnit { section, ..piece.into() });
        }
    }
}

fn kind(piece: &ProsePiece<'_>) -> UnitKind {
    if piece.prose { UnitKind::Sentence } else { UnitKind::Line }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;
    use crate::cut::{of_slices, units};

    /// Slices of a text, whose units say each word once.
    #[track_caller]
    fn check(text: &str, expected: usize) {
        let entries =
            chat().user("Before.").call("read", "{}").result(text).user("After.").entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let all = slices(&entries);
        let own = all.iter().filter(|slice| slice.part.speaker == Speaker::Tool);
        assert_eq!(own.clone().count(), expected);
        assert!(own.clone().all(|slice| slice.bytes() <= MOST));
        assert_eq!(own.map(Slice::bytes).sum::<usize>(), text.len());
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let said = units(&entries).into_iter().filter(|unit| unit.speaker == Speaker::Tool);
        assert_eq!(said.flat_map(|unit| words(&unit.text)).collect::<Vec<_>>(), words(text));
        let groups = grouped(&all, 2 * MOST);
        assert!(groups.iter().all(|it| it.iter().map(Slice::bytes).sum::<usize>() <= 2 * MOST));
        assert_eq!(groups.iter().flat_map(|it| of_slices(it)).count(), units(&entries).len());
    }

    /// Units of a text that holds a copy of a file: none is of both, and those of the file are not
    /// offered to a summary, nor taken for what a person orders.
    #[track_caller]
    fn check_file(before: &str, body: &str, after: &str) {
        let entries =
            chat().user(&format!("{before}{body}{after}")).holding("a.py", body).entries();
        let units = units(&entries.iter().collect::<Vec<_>>());
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let said = |of_file: bool| {
            let own = units.iter().filter(move |unit| unit.withheld == of_file);
            own.flat_map(|unit| words(&unit.text)).collect::<Vec<_>>()
        };
        let fences = |text: &str| words(text).into_iter().filter(|it| !it.starts_with("```"));
        let around = fences(before).chain(fences(after));
        assert_eq!(said(false), around.collect::<Vec<_>>());
        assert_eq!(said(true), fences(body).collect::<Vec<_>>());
        let of_file = units.iter().filter(|unit| unit.withheld);
        assert!(of_file.clone().all(|unit| unit.kind == UnitKind::Line && !unit.is_spoken()));
        let last = units.iter().rfind(|unit| !unit.withheld).unwrap();
        assert_eq!(last.kind, UnitKind::Sentence, "{last:?}");
    }

    #[test]
    fn a_call_that_failed_is_told_with_its_failure() {
        let arguments = r#"{"path":"a.rs","new":"let a = 1;\nlet b = 2;"}"#;
        let told = |tool: &str, result: &str, is_error: bool| {
            let mut entries = chat().call(tool, arguments).result(result).entries();
            if let PartBody::Result(result) = &mut entries[1].parts[0].body {
                result.error = is_error;
            }
            let units = units(&entries.iter().collect::<Vec<_>>());
            let calls = units.into_iter().filter(|it| it.kind == UnitKind::Call && !it.withheld);
            calls.map(|unit| unit.said().into_owned()).collect::<Vec<_>>()
        };
        let written = "let a = 1;\nlet b = 2;";
        assert_eq!(told("edit", "Written.", false), ["edit(path a.rs)", written]);
        let refused = "Hm.\nError: no such text";
        let told_so = "edit(path a.rs)\nError: no such text";
        assert_eq!(told("edit", refused, false), [told_so, written]);
        assert_eq!(told("edit", refused, true), [told_so]);
        assert_eq!(told("bash", refused, true), [&told_so.replace("edit", "bash"), written]);
    }

    #[test]
    fn of_to_do_lists_the_newest_is_told() {
        let list =
            |state: &str| format!(r#"{{"todos":[{{"content":"Tag v2","status":"{state}"}}]}}"#);
        let chat = chat().call("TodoWrite", &list("pending")).result("Ok.");
        let entries = chat.call("TodoWrite", &list("completed")).result("Ok.").entries();
        let units = units(&entries.iter().collect::<Vec<_>>());
        let calls = units.iter().filter(|unit| unit.kind == UnitKind::Call);
        let told: Vec<_> = calls.map(|unit| (&*unit.text, unit.withheld)).collect();
        let of = |state: &str| format!("TodoWrite(todos: content Tag v2, status {state})");
        assert_eq!(told, [(&*of("pending"), true), (&*of("completed"), false)]);
    }

    #[test]
    fn source_that_a_model_writes_without_a_path_is_talk() {
        let body = "def f(ledger):\n    return ledger.post(1)\n".repeat(8);
        let said = format!("Like so:\n```python\n{body}```\nThat is all.");
        let [of, plain] = [true, false].map(|is_found| {
            let chat = chat().user("How?").assistant(&said);
            let chat = if is_found { chat.holding_unnamed(&body) } else { chat };
            let entries = chat.entries();
            let units = units(&entries.iter().collect::<Vec<_>>());
            units
                .iter()
                .map(|unit| (unit.kind, unit.withheld, unit.text.to_string()))
                .collect::<Vec<_>>()
        });
        assert_eq!(of, plain);
    }

    #[test]
    fn what_stands_in_a_file_is_no_talk() {
        // Short lines are joined, and what reads like an order is none.
        let short = "a = 1\nb = 2\n# You must never call this from here.\ndef f():\n    return a\n";
        check_file("Look at a.py.\n```python\n", short, "```\nNever change the tests of that.");
        check_file("a.py\n", short, "Never change the tests of that.");
        check_file("", short, "Never change the tests of that.");
        check_file("a.md\n````\n", "# A\n```sh\nrun it\n```\n", "````\nKeep the title as it is.");
        // Of a large text each slice knows its share.
        let long = format!("x = {}\n", "y + ".repeat(40)).repeat(2 * MOST / 160);
        check_file("Look at a.py.\n", &long, "Never change the tests of that.");
    }

    #[test]
    fn a_text_that_is_too_large_is_cut_at_the_end_of_a_line() {
        check("one line\n", 1);
        check(&"let a = b(c);\n".repeat(MOST / 14), 1);
        check(&"let a = b(c);\n".repeat(MOST / 10), 2);
        check(&"One word and another one. ".repeat(MOST / 10), 3);
        check(&"éé ".repeat(MOST / 2), 3);
    }
}
