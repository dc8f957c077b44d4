//! Cuts a text to a size: its head and tail around a marker that says what is missing.
//!
//! Invariant: a cut is never larger than what was allowed and always smaller than its original. A
//! copy of a file stays whole in it or leaves whole (RULES 16). Called by the draft of a plan, and for
//! the marker behind a digest.

use std::ops::Range;
use std::sync::Arc;

use epitome_kernel::types::{ContentId, Op, PartId, Passage, ReplaceMethod};

use crate::input::{long_texts, truncated};
use crate::whole_pieces::{head, tail};
use epitome_kernel::Thread;
use epitome_kernel::ThreadSizes;
use epitome_kernel::{TextMeasure, ToolDigest};

/// How often the size of a cut is estimated anew. What is reached by then stands.
const TRIES: u32 = 8;

/// Stands between the line of a failure and what comes later in its text.
const GAP: &str = "[…]";

/// A part with a shorter text.
#[derive(Clone, Debug)]
pub(crate) struct ShortenedPart {
    pub(crate) part: PartId,
    pub(crate) with: String,
    pub(crate) how: ReplaceMethod,
    /// The size of `with`, and the most it may have.
    pub(crate) size: u64,
    pub(crate) most: u64,
    /// Whether a digest would be better.
    pub(crate) digest: bool,
    /// What a digest leaves out, where its summariser says so.
    pub(crate) left: Arc<Vec<Passage>>,
}

impl ShortenedPart {
    /// A part with a text of this size, which may have `most`.
    pub(crate) fn new(
        part: PartId,
        with: String,
        how: ReplaceMethod,
        size: u64,
        most: u64,
    ) -> Self {
        Self { part, with, how, size, most, digest: false, left: Arc::default() }
    }

    pub(crate) fn op(&self) -> Op {
        Op::Replace { part: self.part, with: self.with.clone(), how: self.how }
    }
}

/// Cuts parts of one thread.
#[derive(Clone, Copy)]
pub(crate) struct PartShortener<'a> {
    pub(crate) thread: &'a Thread,
    /// In the unit that must shrink.
    pub(crate) sizes: &'a ThreadSizes<'a>,
    /// In tokens, for the marker.
    pub(crate) tokens: &'a ThreadSizes<'a>,
    /// The marker; `{lines}`, `{tokens}` and `{id}` are filled in.
    pub(crate) marker: &'a str,
    /// The least room of a digest, in tokens.
    pub(crate) digest_tokens: u64,
}

impl PartShortener<'_> {
    /// The smallest size a part can be brought to.
    pub(crate) fn least(&self, part: PartId) -> u64 {
        let Some(text) = self.text(part) else { return 0 };
        let bare = self.cut_of(part, text).with("", "");
        self.measure(&bare).min(self.sizes.part(part))
    }

    /// What a digest of a part may take, where that with its marker is at most `most`.
    pub(crate) fn digest_room(&self, part: PartId, most: u64) -> u64 {
        let Some(text) = self.text(part) else { return 0 };
        let left = text.lines().count();
        let marker = self.fill(part, &ContentId::for_text(text).short(), left, 0);
        most.saturating_sub(self.measure(&format!("\n{marker}")))
    }

    /// Whether the room of a cut is worth a digest, by its tokens.
    pub(crate) fn holds_digest(&self, cut: &ShortenedPart) -> bool {
        let room = self.digest_room(cut.part, cut.most);
        let worth = self.digest_tokens * self.sizes.part(cut.part);
        room * self.tokens.part(cut.part) >= worth.max(1)
    }

    /// A digest with its marker.
    pub(crate) fn digested(&self, part: PartId, digest: &str) -> Option<String> {
        let text = self.text(part)?;
        let digest = &*self.thread.with_failure(part, digest);
        let left = text.lines().count().saturating_sub(digest.lines().count()).max(1);
        let kept = self.tokens.gauge().size(digest);
        Some(format!(
            "{digest}\n{}",
            self.fill(part, &ContentId::for_text(text).short(), left, kept)
        ))
    }

    /// A digest with its marker in the place of a part, where that takes at most `most`.
    pub(crate) fn digest(
        &self,
        part: PartId,
        text: &str,
        digest: &ToolDigest,
        most: u64,
    ) -> Option<ShortenedPart> {
        let with = self.digested(part, &digest.text)?;
        let size = self.measure(&with);
        let passage = |range: &Range<usize>| {
            let text = text.get(range.clone())?.to_owned();
            Some(Passage { entry: part.entry, text })
        };
        let left = Arc::new(digest.left.iter().filter_map(passage).collect());
        let cut = ShortenedPart::new(part, with, ReplaceMethod::Digest, size, most);
        (size <= most).then_some(ShortenedPart { left, ..cut })
    }

    /// Cuts the largest of the parts so that together they take at most `room`; `None` where that
    /// is not possible. Parts that fit as they are stay out.
    pub(crate) fn fit(&self, parts: &[PartId], room: u64) -> Option<Vec<ShortenedPart>> {
        let bounds: Vec<_> =
            parts.iter().map(|&part| (self.least(part), self.sizes.part(part))).collect();
        let at_level =
            |level: u64| bounds.iter().map(move |&(least, size)| level.clamp(least, size));
        if at_level(0).sum::<u64>() > room {
            return None;
        }
        let (mut level, mut above) = (0, room.saturating_add(1));
        while above - level > 1 {
            let middle = level + (above - level) / 2;
            if at_level(middle).sum::<u64>() <= room { level = middle } else { above = middle }
        }
        let levels = parts.iter().zip(at_level(level));
        Some(levels.filter_map(|(&part, most)| self.cut(part, most)).collect())
    }

    /// Cuts a part to at most `most`, and not much less; `None` where it fits as it is or cannot be
    /// made smaller.
    pub(crate) fn cut(&self, part: PartId, most: u64) -> Option<ShortenedPart> {
        let (text, size) = (self.text(part)?, self.sizes.part(part));
        if size <= most {
            return None;
        }
        let cut = self.cut_of(part, text);
        let bare = cut.with("", "");
        let mut best = (self.measure(&bare), bare);
        let room = most.checked_sub(best.0)?;
        let (mut fits, mut too_large) = (0.0, text.len() as f64);
        let mut bytes = too_large * room as f64 / size as f64;
        for _ in 0..TRIES {
            let (head, tail) = self.ends(part, text, bytes);
            let with = cut.with(head, tail);
            let now = self.measure(&with);
            if now > most {
                too_large = bytes;
            } else {
                fits = bytes;
                let near = now >= most - most / 50;
                if now > best.0 {
                    best = (now, with);
                }
                if near {
                    break;
                }
            }
            let margin = (too_large - fits) / 10.0;
            let guess = bytes * most as f64 / now.max(1) as f64;
            bytes = guess.clamp(fits + margin, too_large - margin);
        }
        let (size, with) = best;
        Some(ShortenedPart::new(part, with, ReplaceMethod::Cut, size, most))
    }

    /// The beginning and the end of a text, together about so many bytes: what is no whole sentence of
    /// one is worth more in the other.
    fn ends<'t>(&self, part: PartId, text: &'t str, bytes: f64) -> (&'t str, &'t str) {
        let begin = |most: f64| {
            let end = head(text, most as usize).len();
            &text[..self.split(part, end).map_or(end, |it| it.start)]
        };
        let first = begin(bytes * 2.0 / 3.0);
        let last = tail(&text[first.len()..], (bytes as usize).saturating_sub(first.len()));
        let start = text.len() - last.len();
        let last = &text[self.split(part, start).map_or(start, |it| it.end)..];
        if last.is_empty() { (begin(bytes), last) } else { (first, last) }
    }

    /// The arguments of a call, with the marker in the place of what they wrote; `None` where that
    /// is not smaller.
    pub(crate) fn input(&self, part: PartId) -> Option<ShortenedPart> {
        let arguments = self.thread.part(part)?.original()?;
        let lines = long_texts(arguments).iter().map(|text| text.lines().count()).sum();
        let marker = self.fill(part, &ContentId::for_text(arguments).short(), lines, 0);
        let with = truncated(arguments, &marker)?;
        let (size, most) = (self.sizes.rewritten(self.thread, part, &with), self.sizes.part(part));
        let how = ReplaceMethod::TruncateInput;
        (size < most).then(|| ShortenedPart::new(part, with, how, size, most))
    }

    /// The copy of a file that a cut at this place of a text would split.
    fn split(&self, part: PartId, at: usize) -> Option<Range<usize>> {
        let copies = self.thread.part(part).map_or(&[][..], |part| &part.files);
        let mut bodies = copies.iter().map(|copy| copy.body.clone());
        bodies.find(|body| body.start < at && at < body.end)
    }

    fn text(&self, part: PartId) -> Option<&str> {
        self.thread.part(part)?.text()
    }

    fn measure(&self, text: &str) -> u64 {
        self.sizes.gauge().size(text)
    }

    fn cut_of<'t>(&'t self, part: PartId, text: &'t str) -> TextCut<'t> {
        let id = ContentId::for_text(text).short();
        TextCut { shortener: self, part, text, id, failing: self.thread.failing_lines(part) }
    }

    fn fill(&self, part: PartId, id: &str, lines: usize, kept: u64) -> String {
        let tokens = self.tokens.part(part).saturating_sub(kept).to_string();
        fill(self.marker, &[("lines", &lines.to_string()), ("tokens", &tokens), ("id", id)])
    }
}

/// A text that is cut.
struct TextCut<'t> {
    shortener: &'t PartShortener<'t>,
    part: PartId,
    text: &'t str,
    id: String,
    /// The lines that say that its tool failed, the one that says most first.
    failing: Vec<&'t str>,
}

impl TextCut<'_> {
    /// Its head and tail around the marker. Where neither says that the tool failed, the line that does
    /// stands behind the marker, with a gap of its own behind it.
    fn with(&self, head: &str, tail: &str) -> String {
        let Self { shortener, part, text, .. } = *self;
        let is_told = |line: &&str| head.contains(*line) || tail.contains(*line);
        let failure = self.failing.first().filter(|_| !self.failing.iter().any(is_told));
        let left = &text[head.len()..text.len() - tail.len()];
        let left = left.trim_matches('\n').lines().count();
        let left = left.saturating_sub(usize::from(failure.is_some())).max(1);
        let gauge = shortener.tokens.gauge();
        let kept = [head, failure.unwrap_or(&""), tail].map(|text| gauge.size(text)).iter().sum();
        let marker = shortener.fill(part, &self.id, left, kept);
        let gap = if tail.is_empty() { "" } else { GAP };
        let (failure, gap) = failure.map_or(("", ""), |line| (*line, gap));
        let (head, tail) = (head.trim_end_matches('\n'), tail.trim_start_matches('\n'));
        let pieces = [head, &marker, failure, gap, tail];
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        pieces.join("\n")
    }
}

/// Whether a size is as near to the wished one as cuts at line ends come: a twentieth may be
/// missing.
pub(crate) fn close(size: u64, wished: u64) -> bool {
    size >= wished - wished / 20
}

/// What a cut takes out of a text: the stretch between the head and the tail that are still there.
pub(crate) fn missing<'t>(text: &'t str, cut: &str) -> &'t str {
    let head: usize =
        text.chars().zip(cut.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let rest = &text[head..];
    let tail: usize = rest
        .chars()
        .rev()
        .zip(cut.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    &rest[..rest.len() - tail]
}

/// Puts values in the place of their `{name}`.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}
