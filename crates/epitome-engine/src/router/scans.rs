//! What late requests hold, for those that go on from them.
//!
//! Invariant: a hint and nothing more: whatever is found here, a request is read as it stands. A
//! stated number is kept, each within its tenant. Called by the hub for each request.

use std::collections::HashMap;
use std::sync::Mutex;

use epitome_wire::{RequestScan, WireError, scan_after};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::conversations::RequestHistory;
use super::{RoutedRequest, locked};

/// Smaller requests, in bytes, are scanned as fast as they are looked for.
const LARGE: usize = 16 << 10;
/// How many bytes of a request it is recognised by.
const SAMPLE: usize = 1 << 10;

/// What late requests hold.
pub(super) struct Scans {
    late: Mutex<RecentScans>,
    most: usize,
}

/// By what each request is recognised by, with the moment of its last use.
#[derive(Default)]
struct RecentScans {
    histories: HashMap<u128, (RequestHistory, u64)>,
    moment: u64,
}

impl Scans {
    /// None yet, and at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self { late: Mutex::default(), most: most.max(1) }
    }

    /// What a request holds.
    pub(super) fn of(&self, ask: &RoutedRequest) -> Result<RequestHistory, WireError> {
        let Some(at) = sampled(&ask.bytes) else {
            let scan = scan_after(&ask.bytes, ask.format, &RequestScan::default())?;
            return Ok(RequestHistory::of(ask, scan, None));
        };
        let now = print(ask, at);
        // A request that just became twice as long was recognised by what stands at half the place.
        let before = locked(&self.late).find(now);
        let before = before.or_else(|| locked(&self.late).find(print(ask, at / 2)));
        let scan = match &before {
            Some(before) => scan_after(&ask.bytes, ask.format, &before.scan)?,
            None => scan_after(&ask.bytes, ask.format, &RequestScan::default())?,
        };
        let history = RequestHistory::of(ask, scan, before.as_ref());
        locked(&self.late).put(now, history.clone(), self.most);
        Ok(history)
    }
}

impl RecentScans {
    fn find(&self, print: u128) -> Option<RequestHistory> {
        self.histories.get(&print).map(|(history, _)| history.clone())
    }

    fn put(&mut self, print: u128, history: RequestHistory, most: usize) {
        self.moment += 1;
        if self.histories.len() >= most && !self.histories.contains_key(&print) {
            let oldest = self.histories.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(print, _)| *print) {
                self.histories.remove(&oldest);
            }
        }
        self.histories.insert(print, (history, self.moment));
    }
}

/// Where a large request is recognised: at a power of two in its first half. What goes on from it
/// has the same bytes there, and the same place until it is twice as long.
fn sampled(bytes: &[u8]) -> Option<usize> {
    (bytes.len() >= LARGE).then(|| 1 << (bytes.len() / 2).ilog2())
}

/// What a request is recognised by there.
fn print(ask: &RoutedRequest, at: usize) -> u128 {
    let sample = ask.bytes.get(at..at + SAMPLE).unwrap_or_default();
    xxh3_128_with_seed(sample, xxh3_64(ask.tenant.as_bytes()))
}

#[cfg(test)]
mod tests {
    use epitome_wire::{Format, scan};

    use super::*;

    fn ask(words: &[&str], tenant: &str) -> RoutedRequest {
        let message =
            |word: &&str| format!(r#"{{"role":"user","content":"{}"}}"#, word.repeat(4 << 10));
        let messages: Vec<_> = words.iter().map(message).collect();
        RoutedRequest {
            bytes: format!(r#"{{"messages":[{}]}}"#, messages.join(",")).into(),
            format: Format::OpenAi,
            tenant: tenant.to_owned(),
            label: None,
            window: None,
            told: None,
            cuts: false,
            client: None,
        }
    }

    fn is_known(scans: &Scans, ask: &RoutedRequest) -> bool {
        let at = sampled(&ask.bytes);
        at.is_some_and(|at| locked(&scans.late).find(print(ask, at)).is_some())
    }

    #[test]
    fn what_goes_on_from_a_request_is_recognised() {
        let scans = Scans::new(2);
        let first = ask(&["one ", "two "], "a");
        assert_eq!(*scans.of(&first).unwrap().scan, scan(&first.bytes, first.format).unwrap());
        let longer = ask(&["one ", "two ", "last"], "a");
        assert!(is_known(&scans, &longer));
        assert_eq!(*scans.of(&longer).unwrap().scan, scan(&longer.bytes, longer.format).unwrap());
        assert!(!is_known(&scans, &ask(&["one ", "two ", "last"], "b")), "of another tenant");
        assert!(!is_known(&scans, &ask(&["uno ", "two "], "a")), "another conversation");
        assert!(!is_known(&scans, &ask(&[], "a")), "small");
    }

    #[test]
    fn the_oldest_makes_room() {
        let scans = Scans::new(2);
        let asks = ["one ", "two ", "six "].map(|word| ask(&[word], "a"));
        for place in [0, 1, 0, 2] {
            drop(scans.of(&asks[place]).unwrap());
        }
        assert_eq!([0, 1, 2].map(|place| is_known(&scans, &asks[place])), [true, false, true]);
    }
}
