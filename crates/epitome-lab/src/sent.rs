//! A prompt as it was sent, beside the one before it.
//!
//! Invariant: of the earlier prompt no more is needed than its bytes and where its messages stand.

use bytes::Bytes;
use epitome::{Format, RequestDocument, RequestScan, SizeGauge, ThreadSizes, WireError, scan};

/// A prompt that was sent.
#[derive(Debug)]
pub(crate) struct SentPrompt {
    pub(crate) bytes: Bytes,
    pub(crate) tokens: u64,
    scan: RequestScan,
}

impl SentPrompt {
    pub(crate) fn new(bytes: Bytes, format: Format, tokens: u64) -> Result<Self, WireError> {
        let scan = scan(&bytes, format)?;
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
        gauge: SizeGauge<'_>,
    ) -> Result<u64, WireError> {
        let (old, new) = (&before.scan.messages, &self.scan.messages);
        let same = old.iter().zip(new).take_while(|(old, new)| old.hash == new.hash).count();
        if same == old.len() {
            return Ok(before.tokens);
        }
        let document = RequestDocument::parse(&self.bytes, format)?;
        let lead = document.entries().len() - new.len();
        let sizes = ThreadSizes::measure(document.entries(), gauge, 0);
        let rest = document.entries().iter().skip(lead + same).map(|entry| entry.id);
        Ok(self.tokens.saturating_sub(sizes.sum(rest)))
    }
}

#[cfg(test)]
mod tests {
    use epitome::BudgetUnit;
    use epitome_testkit::FixedCounter;

    use super::*;

    /// A request of messages with so many words each; a message takes 4 tokens more.
    fn sent(messages: &[(&str, u64)]) -> SentPrompt {
        let text = |(word, count): &(&str, u64)| [*word].repeat(*count as usize).join(" ");
        let message =
            |one: &(&str, u64)| format!("{{\"role\":\"user\",\"content\":\"{}\"}}", text(one));
        let all: Vec<_> = messages.iter().map(message).collect();
        let tokens = messages.iter().map(|(_, count)| count + 4).sum();
        SentPrompt::new(format!("[{}]", all.join(",")).into(), Format::OpenAi, tokens).unwrap()
    }

    fn check(before: &[(&str, u64)], after: &[(&str, u64)], shared: u64, kept: f64) {
        let (before, after) = (sent(before), sent(after));
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        assert_eq!(after.shared(&before, Format::OpenAi, gauge), Ok(shared));
        let found = after.kept(&before);
        assert!((found - kept).abs() < 1e-9, "{found} instead of {kept}");
    }

    #[test]
    fn what_grows_at_its_end_keeps_all() {
        check(&[("a", 3)], &[("a", 3), ("b", 5)], 7, 1.0);
        check(&[("a", 3)], &[("a", 3)], 7, 1.0);
        check(&[], &[("a", 3)], 0, 1.0);
    }

    #[test]
    fn only_whole_messages_are_shared() {
        // One of 31 characters with 3 words, one with 1 word; brackets and commas beside them.
        let first = r#"[{"role":"user","content":"a a a"}"#.len() as f64;
        let second = r#",{"role":"user","content":""#.len() as f64;
        let all = first + second + r#"b"}"#.len() as f64;
        check(&[("a", 3), ("b", 1)], &[("a", 3), ("c", 9)], 7, (first + second) / all);
        // The second grows: its bytes go on, but it is another message.
        check(&[("a", 3), ("b", 1)], &[("a", 3), ("b", 9)], 7, (all - 2.0) / all);
        let head = r#"[{"role":"user","content":""#.len() as f64;
        check(&[("a", 3), ("b", 1)], &[("x", 1)], 0, head / all);
    }

    #[test]
    fn a_prompt_that_lost_its_end_shares_what_is_left() {
        let first = r#"[{"role":"user","content":"a a a"}"#.len() as f64;
        let all = first + r#",{"role":"user","content":"b"}"#.len() as f64;
        check(&[("a", 3), ("b", 1)], &[("a", 3)], 7, first / all);
    }
}
