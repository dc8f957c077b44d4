//! What says that a tool failed stays in whatever stands in the place of its result (RULES 15).
//!
//! Invariant: a text for a result that reports an error holds a line of that error as it came, whoever
//! wrote the text. Called wherever a text of somebody else is put in the place of a result.

use std::borrow::Cow;

use epitome_kernel::Thread;
use epitome_kernel::types::{Part, PartBody, PartId};

/// Words of lines that say what went wrong, in lower case.
const WORDS: [&str; 10] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "denied",
    "cannot",
    "not found",
    "killed",
];

/// The most that is put before a text of the line that says what went wrong, in characters.
const LONGEST: usize = 200;

/// Returns whether the tool of a part reported an error.
pub(crate) fn is_error(thread: &Thread, part: PartId) -> bool {
    let outer = thread.part(part).and_then(|inner| inner.within);
    let outer = outer.map_or(part, |outer| PartId { part: outer, ..part });
    matches!(thread.part(outer).map(|outer| &outer.body), Some(PartBody::Result(result)) if result.error)
}

/// Returns a text for a part: as it is, unless the part is a result that failed and the text holds no
/// line that says so. Then the first of those lines stands before it.
pub(crate) fn with_failure<'w>(thread: &Thread, part: PartId, with: &'w str) -> Cow<'w, str> {
    if !is_error(thread, part) {
        return Cow::Borrowed(with);
    }
    let text = thread.part(part).and_then(Part::text).unwrap_or_default();
    let mut said = failing_lines(text).peekable();
    let Some(first) = said.peek().copied().or_else(|| lines(text).next()) else {
        return Cow::Borrowed(with);
    };
    match said.any(|line| with.contains(line)) || with.contains(first) {
        true => Cow::Borrowed(with),
        false => Cow::Owned(format!("{first}\n{with}")),
    }
}

/// The lines that say what went wrong.
fn failing_lines(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|line| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    })
}

/// The lines that say something, as far as they are shown.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let shown = |line: &'_ str| line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(move |line| &line[..shown(line)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use epitome_kernel::types::EntryId;
    use epitome_testkit::chat;

    #[track_caller]
    fn check(text: &str, failed: bool, with: &str, expected: &str) {
        let chat = chat().user("Run them.").call("test", "{}");
        let mut entries = chat.result(text).entries();
        for part in &mut entries[2].parts {
            if let PartBody::Result(result) = &mut part.body {
                result.error = failed;
            }
        }
        let thread = Thread::new(entries, &[]);
        let part = PartId { entry: EntryId(2), part: 0 };
        assert_eq!(with_failure(&thread, part, with), expected);
    }

    #[test]
    fn a_failure_is_told_in_its_own_words() {
        let text = "running 2 tests\n  test b ... FAILED\nerror: 1 test failed\n";
        check(text, false, "All passed.", "All passed.");
        check(text, true, "All passed.", "test b ... FAILED\nAll passed.");
        check(text, true, "Ran: error: 1 test failed", "Ran: error: 1 test failed");
        check("exit 3\n\n", true, "Done.", "exit 3\nDone.");
        check("", true, "Done.", "Done.");
        let long = format!("error: {}", "x".repeat(500));
        check(&long, true, "Done.", &format!("{}\nDone.", &long[..200]));
    }
}
