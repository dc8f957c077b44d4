//! Where somebody's text holds what is not their own: code between fences, quoted lines, and what a
//! client reminds of.
//!
//! Invariant: nobody knows where a fence ends that none closes, so what follows it is taken for typed.
//! The one reader of these marks; called by [`super::typed`].

use std::ops::Range;

/// What clients remind a model of stands between these, where they put it into what a person typed.
const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";

/// The pieces of a text that are not its writer's own, with their marks, in its order. In bytes; none
/// touches another.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<_> = fenced(text).chain(reminders(text)).chain(lines(text)).collect();
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
