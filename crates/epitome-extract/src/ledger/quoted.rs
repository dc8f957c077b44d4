//! Where somebody's text holds what is not their own: code between fences, quoted lines, what a client
//! reminds of, what several people said to each other, and what an extract tells of others.
//!
//! Invariant: nobody knows where a fence ends that none closes, so what follows it is taken for typed.
//! The one reader of these marks; called by [`super::typed`].

use std::collections::BTreeMap;
use std::ops::Range;

use epitome_kernel::types::Speaker;

use crate::labels;

/// What clients remind a model of stands between these, where they put it into what a person typed.
const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";

/// The pieces of a text that are not its writer's own, with their marks, in its order. In bytes; none
/// touches another.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let told = labels::retold(text);
    if told.is_empty() && is_transcript(text) {
        return std::iter::once(0..text.len()).collect();
    }
    let heading = told.first().map(|first| 0..first.start).filter(|heading| !heading.is_empty());
    let of_others = told.iter().filter(|block| block.speaker != Speaker::Human);
    let of_others = of_others.map(|block| block.start..block.words.end).chain(heading);
    let mut all: Vec<_> =
        of_others.chain(fenced(text)).chain(reminders(text)).chain(lines(text)).collect();
    all.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in all {
        match out.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// So many lines that begin with a name make a transcript.
const TURNS: usize = 4;

/// Whether people talk to each other in a text, a line a turn: what they demand is not said to whoever
/// reads it. Each of two or more names speaks more than once, or each line has its time.
fn is_transcript(text: &str) -> bool {
    let (mut turns, mut timed) = (0, 0);
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (has_time, name) in text.lines().filter_map(turn) {
        turns += 1;
        timed += usize::from(has_time);
        *names.entry(name).or_default() += 1;
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let again = names.values().filter(|&&times| times > 1).count();
    names.len() > 1
        && turns * 3 >= lines * 2
        && (turns >= TURNS && again > 1 || timed > 1 && timed == turns)
}

/// Who speaks in a line, and whether it says when: `[9:20] Ann: …`, `Ann: …`.
fn turn(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    let stamped = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let has_time = stamped.is_some_and(|(time, _)| time.bytes().any(|byte| byte.is_ascii_digit()));
    let rest = stamped.filter(|_| has_time).map_or(line, |(_, rest)| rest);
    let (name, _) = rest.split_once(": ")?;
    let is_name = name.len() <= 30
        && name.split(' ').count() <= 3
        && name.chars().next().is_some_and(char::is_uppercase)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\''));
    is_name.then_some((has_time, name))
}

/// A run of signs that may open or close a fence.
struct FenceMark {
    range: Range<usize>,
    sign: u8,
}

/// What stands between fences. One that opens with four signs is closed by four or more.
fn fenced(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut marks = marks(text).into_iter();
    std::iter::from_fn(move || {
        loop {
            let open = marks.next()?;
            let closes =
                |mark: &FenceMark| mark.sign == open.sign && mark.range.len() >= open.range.len();
            if let Some(at) = marks.as_slice().iter().position(closes) {
                let close = marks.nth(at)?;
                return Some(open.range.start..close.range.end);
            }
        }
    })
}

/// Runs of three and more: backticks anywhere, tildes where a line begins.
fn marks(text: &str) -> Vec<FenceMark> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['`', '~']) {
        let start = at + found;
        let sign = bytes[start];
        at = bytes[start..].iter().position(|&it| it != sign).map_or(text.len(), |run| start + run);
        let begins = || text[..start].rsplit('\n').next().is_some_and(|it| it.trim().is_empty());
        if at - start >= 3 && (sign == b'`' || begins()) {
            out.push(FenceMark { range: start..at, sign });
        }
    }
    out
}

/// What a client reminds of, where its end stands there.
fn reminders(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(REMINDER)?;
        at = start + text[start..].find(REMINDER_END)? + REMINDER_END.len();
        Some(start..at)
    })
}

/// Lines behind a `>`.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = end;
        end += line.len();
        line.trim_start().starts_with('>').then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_others_said_is_found() {
        check("Fix it.\n```rs\nnever()\n```\nNow.", &["```rs\nnever()\n```"]);
        check("Run ```a b``` and ```c```.", &["```a b```", "```c```"]);
        check("~~~\nx ``` y\n~~~\na ~~~ b", &["~~~\nx ``` y\n~~~"]);
        check("> never\nI do.\n  > more", &["> never\n", "  > more"]);
        check(
            "a <system-reminder>b</system-reminder> c",
            &["<system-reminder>b</system-reminder>"],
        );
    }

    #[test]
    fn what_people_say_to_each_other_is_nobodys_own() {
        let talk = "[09:20] Ann: Never tell Ben.\n[09:21] Cy: I must go.";
        check(talk, &[talk]);
        let talk = "Ann: Take the bus.\nCy: Why?\nAnn: Never drive.\nCy: Fine.";
        check(talk, &[talk]);
        check("Style: tabs only\nTests: never skip one\nBuild: must be green\nDocs: short", &[]);
        let told = "[Shortened]\nUser: Never push.\nTool: a\nb\nUser: Always pull.";
        check(told, &["[Shortened]\n", "Tool: a\nb\n"]);
        check("Ann: Never drive.", &[]);
        check("Note: never push.\nNote: always pull.\nNote: keep it small.\nNote: no tabs.", &[]);
    }

    #[test]
    fn a_fence_ends_at_one_as_long() {
        check("````md\n```sh\nls\n```\n````\nGo.", &["````md\n```sh\nls\n```\n````"]);
        check("```\na\n`````\nGo.", &["```\na\n`````"]);
    }

    #[test]
    fn what_nobody_closes_is_typed() {
        check("Fix it:\n```\nfn a() {}\nNever touch b.", &[]);
        check("a <system-reminder>b", &[]);
        check("````\n```\nx\n```\nGo.", &["```\nx\n```"]);
    }

    proptest! {
        #[test]
        fn ranges_are_apart_and_within_the_text(text in "([`~>a\n ü]|<system-reminder>|</system-reminder>){0,60}") {
            let mut end = 0;
            for range in ranges(&text) {
                prop_assert!(end <= range.start && range.start < range.end);
                prop_assert!(text.get(range.clone()).is_some());
                end = range.end;
            }
            prop_assert!(end <= text.len());
        }
    }
}
