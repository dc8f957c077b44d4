//! Scans of late requests, for those that go on from them.
//!
//! Invariant: a hint and nothing more: whatever is found here, a request is read as it stands. A
//! stated number is kept, each within its tenant. Called by the hub for each request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use epitome_wire::{Scan, WireError, scan_after};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::{Ask, locked};

/// Smaller requests, in bytes, are scanned as fast as they are looked for.
const LARGE: usize = 16 << 10;
/// How many bytes of a request it is recognised by.
const SAMPLE: usize = 1 << 10;

/// Scans of late requests.
pub(super) struct Scans {
    late: Mutex<Late>,
    most: usize,
}

/// By what each request is recognised by, with the moment of its last use.
#[derive(Default)]
struct Late {
    scans: HashMap<u128, (Arc<Scan>, u64)>,
    moment: u64,
}

impl Scans {
    /// None yet, and at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self { late: Mutex::default(), most: most.max(1) }
    }

    /// What a request holds.
    pub(super) fn of(&self, ask: &Ask) -> Result<Arc<Scan>, WireError> {
        let print = print(ask);
        let before = print.and_then(|print| locked(&self.late).find(print)).unwrap_or_default();
        let scan = Arc::new(scan_after(&ask.bytes, ask.format, &before)?);
        if let Some(print) = print {
            locked(&self.late).put(print, Arc::clone(&scan), self.most);
        }
        Ok(scan)
    }
}

impl Late {
    fn find(&self, print: u128) -> Option<Arc<Scan>> {
        self.scans.get(&print).map(|(scan, _)| Arc::clone(scan))
    }

    fn put(&mut self, print: u128, scan: Arc<Scan>, most: usize) {
        self.moment += 1;
        if self.scans.len() >= most && !self.scans.contains_key(&print) {
            let oldest = self.scans.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(print, _)| *print) {
                self.scans.remove(&oldest);
            }
        }
        self.scans.insert(print, (scan, self.moment));
    }
}

/// What a large request is recognised by: some bytes from its first half, at a power of two. What
/// goes on from it has the same ones there, until it is twice as long.
fn print(ask: &Ask) -> Option<u128> {
    let Ask { bytes, tenant, .. } = ask;
    let at = 1 << (bytes.len() / 2).checked_ilog2()?;
    let sample = bytes.get(at..at + SAMPLE).filter(|_| bytes.len() >= LARGE)?;
    Some(xxh3_128_with_seed(sample, xxh3_64(tenant.as_bytes())))
}

#[cfg(test)]
mod tests {
    use epitome_wire::{Format, scan};

    use super::*;

    fn ask(words: &[&str], tenant: &str) -> Ask {
        let message =
            |word: &&str| format!(r#"{{"role":"user","content":"{}"}}"#, word.repeat(4 << 10));
        let messages: Vec<_> = words.iter().map(message).collect();
        Ask {
            bytes: format!(r#"{{"messages":[{}]}}"#, messages.join(",")).into(),
            format: Format::OpenAi,
            tenant: tenant.to_owned(),
            label: None,
            window: None,
        }
    }

    fn is_known(scans: &Scans, ask: &Ask) -> bool {
        print(ask).is_some_and(|print| locked(&scans.late).find(print).is_some())
    }

    #[test]
    fn what_goes_on_from_a_request_is_recognised() {
        let scans = Scans::new(2);
        let first = ask(&["one ", "two "], "a");
        assert_eq!(*scans.of(&first).unwrap(), scan(&first.bytes, first.format).unwrap());
        let longer = ask(&["one ", "two ", "last"], "a");
        assert!(is_known(&scans, &longer));
        assert_eq!(*scans.of(&longer).unwrap(), scan(&longer.bytes, longer.format).unwrap());
        assert!(!is_known(&scans, &ask(&["one ", "two ", "last"], "b")), "of another tenant");
        assert!(!is_known(&scans, &ask(&["uno ", "two "], "a")), "another conversation");
        assert!(!is_known(&scans, &ask(&[], "a")), "small");
    }

    #[test]
    fn the_oldest_makes_room() {
        let scans = Scans::new(2);
        let asks = ["one ", "two ", "six "].map(|word| ask(&[word], "a"));
        for place in [0, 1, 0, 2] {
            scans.of(&asks[place]).unwrap();
        }
        assert_eq!([0, 1, 2].map(|place| is_known(&scans, &asks[place])), [true, false, true]);
    }
}
