//! Fills the room of a digest with the items that matter most, in the order of the original.
//!
//! Invariant: whatever is not the original's stands in `[… ]`, and every item is shown, counted
//! with one of its kind that is shown, or counted in the gap where it stood. Called by each kind.

use std::borrow::Cow;
use std::ops::Range;

use epitome_kernel::{DigestJob, Digested};

/// A left-out passage ends before it grows over this many bytes.
const PASSAGE: usize = 600;
/// Stand for the largest notes there can be, to reserve their room.
const GAP: &str = "[… 999,999,999 lines]\n";
const REPEAT: &str = " [… ×999,999,999]";

/// A line, row or hit.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    /// What is shown of it.
    pub(super) text: Cow<'a, str>,
    /// Where it stands in the original.
    pub(super) span: Range<usize>,
    /// Lower ranks are shown first; of equal ones the earlier.
    pub(super) rank: u32,
    /// The place of the first item of its kind, often its own.
    pub(super) like: usize,
    /// Whether `text` says all that the original says there.
    pub(super) whole: bool,
}

/// What a digest is chosen from.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    /// What stands above the items; ends without a newline.
    pub(super) head: String,
    /// The items, in the order of the original.
    pub(super) items: Vec<Item<'a>>,
    /// What the items are, for the note of a gap (`lines`); none where items count others.
    pub(super) noun: Option<&'static str>,
    /// Whether there is no digest unless all items of rank 0 are shown.
    pub(super) must: bool,
}

impl Outline<'_> {
    /// The digest, where the head and at least one item fit.
    pub(super) fn fill(&self, job: &DigestJob<'_>, kind: &'static str) -> Option<Digested> {
        let kinds = self.kinds();
        let shown = self.choose(job, &kinds)?;
        let left = self
            .items
            .iter()
            .zip(&shown)
            .filter(|(item, shown)| !**shown || !item.whole)
            .map(|(item, _)| item.span.clone());
        Some(Digested { text: self.render(&shown, kinds), kind, left: passages(job.text, left) })
    }

    /// How many items are of the kind of each first one.
    fn kinds(&self) -> Vec<u32> {
        let mut kinds = vec![0; self.items.len()];
        self.items.iter().for_each(|item| kinds[item.like] += 1);
        kinds
    }

    fn choose(&self, job: &DigestJob<'_>, kinds: &[u32]) -> Option<Vec<bool>> {
        let size = |text: &str| job.measure.size(text);
        let head = size(&self.head);
        let newline = size("\n");
        let sizes: Vec<u64> = self.items.iter().map(|item| size(&item.text) + newline).collect();
        if head + sizes.iter().sum::<u64>() <= job.most {
            return (!sizes.is_empty()).then(|| vec![true; sizes.len()]);
        }
        let gap = self.noun.map_or(0, |_| size(GAP));
        let repeat = size(REPEAT);
        let mut room = job.most.checked_sub(head + newline + gap)?;
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|index| self.items[*index].rank);
        let mut shown = vec![false; self.items.len()];
        for index in order {
            let hidden = |at: Option<usize>| at.and_then(|at| shown.get(at)) == Some(&false);
            // A gap closes where its last item is shown, and falls in two around one in its midst.
            let sides =
                u64::from(hidden(index.checked_sub(1))) + u64::from(hidden(Some(index + 1)));
            let note = if kinds[index] > 1 { repeat } else { 0 };
            let cost = sizes[index] + note + sides * gap;
            if cost <= room + gap {
                room = room + gap - cost;
                shown[index] = true;
            } else if self.must && self.items[index].rank == 0 {
                return None;
            }
        }
        shown.contains(&true).then_some(shown)
    }

    /// `hidden` holds how many items are of each kind.
    fn render(&self, shown: &[bool], mut hidden: Vec<u32>) -> String {
        let chosen = || self.items.iter().zip(shown).filter(|(_, shown)| **shown);
        chosen().for_each(|(item, _)| hidden[item.like] -= 1);
        let mut out = self.head.clone();
        let mut gap = 0;
        for (index, item) in self.items.iter().enumerate() {
            if !shown[index] {
                gap += usize::from(!shown[item.like]);
                continue;
            }
            self.note(&mut gap, &mut out);
            out.push('\n');
            out.push_str(&item.text);
            if item.like == index && hidden[index] > 0 {
                out.push_str(&format!(" [… ×{}]", number(hidden[index] as usize + 1)));
            }
        }
        self.note(&mut gap, &mut out);
        out
    }

    fn note(&self, gap: &mut usize, out: &mut String) {
        let count = std::mem::take(gap);
        if let Some(noun) = self.noun.filter(|_| count > 0) {
            out.push_str(&format!("\n[… {}]", counted(count, noun)));
        }
    }
}

/// Joins neighbouring spans and cuts long ones, so that each is a passage.
pub(super) fn passages(text: &str, spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = spans.filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| span.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for mut span in spans {
        span.start = span.start.max(out.last().map_or(0, |last| last.end));
        if let Some(last) = out.last_mut()
            && span.end.saturating_sub(last.start) <= PASSAGE
            && text[last.end..span.start].chars().all(|c| c.is_whitespace() || c == ',')
        {
            last.end = last.end.max(span.end);
            continue;
        }
        while span.len() > PASSAGE {
            let cut = text.floor_char_boundary(span.start + PASSAGE);
            let cut =
                text[span.start..cut].rfind([' ', '\n']).map_or(cut, |at| span.start + at + 1);
            out.push(span.start..cut);
            span.start = cut;
        }
        if !span.is_empty() {
            out.push(span);
        }
    }
    out
}

/// A text of at most about `most` bytes: its beginning and its end, and how much was between.
pub(super) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most.saturating_add(most / 4) {
        return text.into();
    }
    let start = text.floor_char_boundary(most / 3 * 2);
    let end = text.ceil_char_boundary(text.len() - most / 3);
    let between = number(text[start..end].chars().count());
    format!("{}[… {between} characters]{}", &text[..start], &text[end..]).into()
}

/// A count and what is counted; the noun is given in the plural, without `s` at its end for one.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let noun = if count == 1 { noun.strip_suffix('s').unwrap_or(noun) } else { noun };
    format!("{} {noun}", number(count))
}

/// Digits in groups of three.
pub(super) fn number(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Ranks places so that the first ranks lie evenly spread over all of them.
pub(super) fn spread(place: usize) -> u32 {
    usize::BITS - (place + 1).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::Gauge;
    use epitome_kernel::types::Unit;
    use epitome_testkit::FixedCounter;

    use super::*;

    /// Items as (text, rank, like).
    fn check(items: &[(&str, u32, usize)], most: u64, expected: Option<&str>) {
        let text = items.iter().map(|(text, ..)| *text).collect::<Vec<_>>().join("\n");
        let mut at = 0;
        let items = items
            .iter()
            .map(|(text, rank, like)| {
                let span = at..at + text.len();
                at = span.end + 1;
                Item { text: (*text).into(), span, rank: *rank, like: *like, whole: true }
            })
            .collect();
        let measure = Gauge { counter: &FixedCounter::Words, unit: Unit::Chars };
        let job = DigestJob {
            tool: "",
            arguments: "",
            text: &text,
            error: false,
            most,
            measure: &measure,
        };
        let outline =
            Outline { head: "[… head]".into(), items, noun: Some("lines"), must: false };
        let found = outline.fill(&job, "log").map(|digested| digested.text);
        assert_eq!(found.as_deref(), expected);
        assert!(found.is_none_or(|found| found.chars().count() as u64 <= most));
    }

    #[test]
    fn ranks_decide_and_order_stays() {
        let items = [("one", 2, 0), ("two", 0, 1), ("three", 2, 2), ("four", 1, 3)];
        check(&items, 29, Some("[… head]\none\ntwo\nthree\nfour"));
        check(&items, 26, None);
        let long = "long".repeat(20);
        let items = [("one", 2, 0), ("two", 0, 1), (long.as_str(), 2, 2), ("four", 1, 3)];
        check(&items, 90, Some("[… head]\none\ntwo\n[… 1 line]\nfour"));
        let items = [(long.as_str(), 2, 0), ("two", 0, 1), (long.as_str(), 2, 2), ("four", 3, 3)];
        check(&items, 61, Some("[… head]\n[… 1 line]\ntwo\n[… 2 lines]"));
        check(&items, 20, None);
    }

    #[test]
    fn what_is_hidden_is_counted_with_its_kind() {
        check(
            &[
                ("a 1", 0, 0),
                ("a 2 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 9, 0),
                ("b", 0, 2),
            ],
            62,
            Some("[… head]\na 1 [… ×2]\nb"),
        );
    }

    #[test]
    fn long_texts_keep_both_ends() {
        assert_eq!(
            clip(&"äb".repeat(20), 30),
            format!("{}[… 20 characters]bäbäbäb", "äb".repeat(6) + "ä")
        );
        assert_eq!(clip("short", 30), "short");
        assert_eq!(number(1234567), "1,234,567");
    }
}
