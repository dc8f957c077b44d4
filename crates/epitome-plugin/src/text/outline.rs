//! Fills the room of a digest with the items that matter most, in the order of the original.
//!
//! Invariant: whatever is not the original's stands in `[… ]`, and every item is shown, counted
//! with one of its kind that is shown, or counted in the gap where it stood. Called by plugins.

use std::borrow::Cow;
use std::ops::Range;

use super::kind;
use crate::{DigestInput, DigestOutput};

/// A left-out passage ends before it grows over this many bytes.
const PASSAGE: usize = 600;
/// Stand for the largest notes there can be, to reserve their room.
const GAP: &str = "[… 999,999,999 lines]\n";
const REPEAT: &str = " [… ×999,999,999]";

/// A line, row or hit.
#[derive(Clone, Debug)]
pub struct OutlineItem<'a> {
    /// What is shown of it.
    pub text: Cow<'a, str>,
    /// Where it stands in the original.
    pub span: Range<usize>,
    /// Lower ranks are shown first; of equal ones the earlier.
    pub rank: u32,
    /// The place of the first item of its kind, often its own.
    pub like: usize,
    /// Whether `text` says all that the original says there.
    pub whole: bool,
}

/// Up to which size a digest says enough that items of `rank` and above are not needed.
#[derive(Clone, Copy, Debug)]
pub struct RankCap {
    /// The lowest rank that it is about.
    pub rank: u32,
    /// The size, by the measure of the job.
    pub most: u64,
}

/// What a digest is chosen from.
#[derive(Debug)]
pub struct DigestOutline<'a> {
    /// What stands above the items; ends without a newline.
    pub head: String,
    /// The items, in the order of the original.
    pub items: Vec<OutlineItem<'a>>,
    /// Up to where items of high ranks may fill the digest; all others may up to the job's most.
    pub caps: Vec<RankCap>,
    /// What the items are, for the note of a gap (`lines`); none where items count others.
    pub noun: Option<&'static str>,
    /// Whether there is no digest unless all items of rank 0 are shown.
    pub must: bool,
}

impl DigestOutline<'_> {
    /// The digest, where the head and at least one item fit.
    pub fn fill(&self, job: &DigestInput<'_>, kind: &'static str) -> Option<DigestOutput> {
        let size = |text: &str| job.size(text);
        let kinds = self.kinds();
        let sizes: Vec<u64> = self.items.iter().map(|item| size(&item.text) + size("\n")).collect();
        let choose = |most| {
            let shown = self.choose(job, most, &kinds, &sizes)?;
            let text = self.render(&shown, &kinds, true);
            Some((size(&text), text, shown))
        };
        let mut best = choose(job.most)?;
        // Most notes turn out shorter than what was put aside for them.
        if best.0 < job.most && best.2.contains(&false) {
            let more = choose(job.most + (job.most - best.0) * 9 / 10);
            best = more.filter(|more| more.0 <= job.most).unwrap_or(best);
        }
        let (size, mut text, shown) = best;
        if size > job.most {
            text = self.render(&shown, &kinds, false);
        }
        let left = self
            .items
            .iter()
            .zip(&shown)
            .filter(|(item, shown)| !**shown || !item.whole)
            .map(|(item, _)| item.span.clone());
        Some(DigestOutput { text, kind: kind.into(), left: passages(job.text, left) })
    }

    /// All items, where they fit in `most`.
    pub fn all(&self, job: &DigestInput<'_>, most: u64) -> Option<String> {
        let text = self.render(&vec![true; self.items.len()], &[], false);
        (!self.items.is_empty() && job.size(&text) <= most).then_some(text)
    }

    /// Up to where items of a rank may fill the digest.
    fn cap(&self, rank: u32, most: u64) -> u64 {
        let caps = self.caps.iter().filter(|cap| cap.rank <= rank);
        caps.map(|cap| cap.most).fold(most, u64::min)
    }

    /// The items of each kind, by its first one; empty for all other places.
    fn kinds(&self) -> Vec<Vec<usize>> {
        let mut kinds = vec![Vec::new(); self.items.len()];
        self.items.iter().enumerate().for_each(|(index, item)| kinds[item.like].push(index));
        kinds
    }

    fn choose(
        &self,
        job: &DigestInput<'_>,
        most: u64,
        kinds: &[Vec<usize>],
        sizes: &[u64],
    ) -> Option<Vec<bool>> {
        let size = |text: &str| job.size(text);
        let head = size(&self.head);
        let newline = size("\n");
        if head + sizes.iter().sum::<u64>() <= self.cap(u32::MAX, most) {
            return (!sizes.is_empty()).then(|| vec![true; sizes.len()]);
        }
        let gap = self.noun.map_or(0, |_| size(GAP));
        let repeat = size(REPEAT);
        let mut used = head + newline + gap;
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|index| self.items[*index].rank);
        let mut shown = vec![false; self.items.len()];
        for index in order {
            let rank = self.items[index].rank;
            let most = self.cap(rank, most);
            let hidden = |at: Option<usize>| at.and_then(|at| shown.get(at)) == Some(&false);
            // A gap closes where its last item is shown, and falls in two around one in its midst.
            let sides =
                u64::from(hidden(index.checked_sub(1))) + u64::from(hidden(Some(index + 1)));
            let note = match kinds[index].len() {
                0 | 1 => 0,
                _ => repeat + size(&self.spans(&kinds[index])),
            };
            let cost = sizes[index] + note + sides * gap;
            if used + cost <= most + gap {
                used = used + cost - gap;
                shown[index] = true;
            } else if self.must && rank == 0 {
                return None;
            }
        }
        shown.contains(&true).then_some(shown)
    }

    /// The numbers in which items differ.
    fn spans(&self, items: &[usize]) -> String {
        kind::spans(items.iter().map(|index| &*self.items[*index].text))
    }

    /// `spans` says whether to say in which numbers those that are not shown differ.
    fn render(&self, shown: &[bool], kinds: &[Vec<usize>], spans: bool) -> String {
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
            let like: Vec<usize> = kinds
                .get(index)
                .into_iter()
                .flatten()
                .copied()
                .filter(|other| *other == index || !shown[*other])
                .collect();
            if like.len() > 1 {
                let spans = if spans { self.spans(&like) } else { String::new() };
                out.push_str(&self::like(like.len(), &spans));
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
pub fn passages(text: &str, spans: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
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
pub fn clip(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most.saturating_add(most / 4) {
        return text.into();
    }
    let start = text.floor_char_boundary(most / 3 * 2);
    let end = text.ceil_char_boundary(text.len() - most / 3);
    let between = number(text[start..end].chars().count());
    format!("{}[… {between} characters]{}", &text[..start], &text[end..]).into()
}

/// A count and what is counted; the noun is given in the plural, without `s` at its end for one.
pub fn counted(count: usize, noun: &str) -> String {
    let noun = if count == 1 { noun.strip_suffix('s').unwrap_or(noun) } else { noun };
    format!("{} {noun}", number(count))
}

/// The note behind an item that stands for so many, which differ in some numbers.
pub fn like(count: usize, spans: &str) -> String {
    match (count, spans) {
        (0 | 1, _) => String::new(),
        (_, "") => format!(" [… ×{}]", number(count)),
        _ => format!(" [… ×{}: {spans}]", number(count)),
    }
}

/// Digits in groups of three.
pub fn number(count: usize) -> String {
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

/// A share of a size.
pub fn share(size: u64, share: f64) -> u64 {
    (size as f64 * share) as u64
}

/// Ranks places so that the first ranks lie evenly spread over all of them.
pub fn spread(place: usize) -> u32 {
    usize::BITS - (place + 1).trailing_zeros()
}

#[cfg(test)]
mod tests {
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
                OutlineItem { text: (*text).into(), span, rank: *rank, like: *like, whole: true }
            })
            .collect();
        let size = |text: &str| text.chars().count() as u64;
        let job = DigestInput::new(&text, most, &size);
        let head = "[… head]".into();
        let outline =
            DigestOutline { head, items, caps: Vec::new(), noun: Some("lines"), must: false };
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
        check(&items, 61, Some("[… head]\n[… 1 line]\ntwo\n[… 1 line]\nfour"));
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
    fn a_rank_fills_a_digest_up_to_its_cap() {
        let text = "one\ntwo\nthree\nfour";
        let places = [(0, 3, 5), (4, 3, 0), (8, 5, 5), (14, 4, 2)];
        let items = places.iter().enumerate().map(|(like, (at, len, rank))| {
            let span = *at..at + len;
            OutlineItem { text: text[span.clone()].into(), span, rank: *rank, like, whole: true }
        });
        let size = |text: &str| text.chars().count() as u64;
        let outline = DigestOutline {
            head: "[… head]".into(),
            items: items.collect(),
            caps: vec![RankCap { rank: 5, most: 20 }],
            noun: None,
            must: false,
        };
        let found = outline.fill(&DigestInput::new(text, 100, &size), "log").unwrap();
        assert_eq!(found.text, "[… head]\ntwo\nfour");
        assert_eq!(found.left, [0..3, 8..13]);
        assert_eq!(outline.all(&DigestInput::new(text, 100, &size), 26), None);
        let all = outline.all(&DigestInput::new(text, 100, &size), 28);
        assert_eq!(all.as_deref(), Some("[… head]\none\ntwo\nthree\nfour"));
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
