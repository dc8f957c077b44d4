//! A prompt as it was sent, beside the one before it.
//!
//! Invariant: of the earlier prompt no more is needed than its bytes and where its messages stand.

use epitome::{Document, Format, Gauge, Scan, Sizes, WireError, scan};

/// A prompt that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tokens: u64,
    scan: Scan,
}

impl Sent {
    pub(crate) fn new(bytes: Vec<u8>, tokens: u64) -> Result<Self, WireError> {
        let scan = scan(&bytes)?;
        Ok(Self { bytes, tokens, scan })
    }

    /// The share of the bytes of `before`, up to the end of its messages, that this prompt starts
    /// with. It is 1 where the prompt only grew at its end.
    pub(crate) fn kept(&self, before: &Self) -> f64 {
        let end = before.scan.messages.last().map_or(0, |last| last.range.end);
        let old = before.bytes.get(..end).unwrap_or_default();
        if self.bytes.starts_with(old) {
            return 1.0;
        }
        let same = old.iter().zip(&self.bytes).take_while(|(old, new)| old == new).count();
        same as f64 / end as f64
    }

    /// Tokens that this prompt shares with `before` at its beginning, by whole messages. What
    /// stands around the messages is the same in every request of a replay.
    pub(crate) fn shared(
        &self,
        before: &Self,
        format: Format,
        gauge: Gauge<'_>,
    ) -> Result<u64, WireError> {
        let (old, new) = (&before.scan.messages, &self.scan.messages);
        let same = old.iter().zip(new).take_while(|(old, new)| old.hash == new.hash).count();
        if same == old.len() {
            return Ok(before.tokens);
        }
        let document = Document::parse(&self.bytes, format)?;
        let lead = document.entries().len() - new.len();
        let sizes = Sizes::of(document.entries(), gauge, 0);
        let rest = document.entries().iter().skip(lead + same).map(|entry| entry.id);
        Ok(self.tokens.saturating_sub(sizes.sum(rest)))
    }
}
