//! A counter that remembers what it counted. Invariant: at most a stated number of counts is kept,
//! at a constant price per count, and no text. Called through the kernel's [`TokenCounter`] port by hosts
//! that see the same conversation again and again.

use std::hash::{Hash, Hasher};
use std::mem;
use std::sync::{Mutex, PoisonError};

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ImagePart;
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128;

/// Texts below this many bytes are counted faster than found.
const SHORT: usize = 64;
/// Counts kept unless told otherwise; about 25 bytes each.
const COUNTS: usize = 1 << 16;

/// Remembers counts by the hash of the text (128 bits, not keyed: who forges a collision gets a
/// wrong count, nothing else).
#[derive(Debug)]
pub struct CachedCounter<C> {
    counter: C,
    memory: Mutex<CountCache>,
}

/// Two generations of counts. When the young one is full it becomes the old one, and what was not
/// asked for since the last time is forgotten at once.
#[derive(Debug)]
struct CountCache {
    young: FxHashMap<TextHash, u32>,
    old: FxHashMap<TextHash, u32>,
    /// The most that one generation holds.
    most: usize,
}

/// The hash of a text, in words of four bytes: a wide number would take another one's room beside the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextHash([u32; 4]);

impl TextHash {
    fn new(text: &str) -> Self {
        let hash = xxh3_128(text.as_bytes());
        Self([0, 32, 64, 96].map(|at| (hash >> at) as u32))
    }
}

/// Any part of it tells texts apart as well as a hash of all of it.
impl Hash for TextHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [low, high, ..] = self.0;
        state.write_u64(u64::from(high) << 32 | u64::from(low));
    }
}

impl CountCache {
    fn get(&mut self, key: TextHash) -> Option<u64> {
        if let Some(&count) = self.young.get(&key) {
            return Some(count.into());
        }
        let count = *self.old.get(&key)?;
        self.insert(key, count);
        Some(count.into())
    }

    fn insert(&mut self, key: TextHash, count: u32) {
        if self.young.len() >= self.most {
            // The room of the old ones is that of the new ones.
            mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
        }
        self.young.insert(key, count);
    }
}

impl<C: TokenCounter> CachedCounter<C> {
    /// Remembers some 65,000 counts (about 2 MB).
    pub fn new(counter: C) -> Self {
        Self::with_capacity(counter, COUNTS)
    }

    /// Remembers at most `counts` counts, at least two.
    pub fn with_capacity(counter: C, counts: usize) -> Self {
        let most = (counts / 2).max(1);
        let memory = CountCache { young: FxHashMap::default(), old: FxHashMap::default(), most };
        Self { counter, memory: Mutex::new(memory) }
    }

    /// Runs `f` on the memory. A panic elsewhere cannot leave it inconsistent, so poison is ignored.
    fn memory<T>(&self, f: impl FnOnce(&mut CountCache) -> T) -> T {
        f(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn id(&self) -> &str {
        self.counter.id()
    }

    fn count(&self, text: &str) -> u64 {
        if text.len() < SHORT {
            return self.counter.count(text);
        }
        let key = TextHash::new(text);
        if let Some(count) = self.memory(|memory| memory.get(key)) {
            return count;
        }
        let count = self.counter.count(text);
        if let Ok(count) = u32::try_from(count) {
            self.memory(|memory| memory.insert(key, count));
        }
        count
    }

    fn image(&self, image: &ImagePart) -> u64 {
        self.counter.image(image)
    }

    fn message(&self) -> u64 {
        self.counter.message()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Counts bytes, and its calls.
    #[derive(Default)]
    struct Probe {
        calls: AtomicU64,
    }

    impl TokenCounter for Probe {
        fn id(&self) -> &str {
            "probe"
        }

        fn count(&self, text: &str) -> u64 {
            self.calls.fetch_add(1, Ordering::Relaxed);
            text.len() as u64
        }

        fn image(&self, _: &ImagePart) -> u64 {
            7
        }

        fn message(&self) -> u64 {
            3
        }
    }

    fn text(number: usize) -> String {
        format!("{number:0100}")
    }

    fn check(cached: &CachedCounter<Probe>, number: usize, counted_anew: bool) {
        let before = cached.counter.calls.load(Ordering::Relaxed);
        assert_eq!(cached.count(&text(number)), 100);
        let calls = cached.counter.calls.load(Ordering::Relaxed) - before;
        assert_eq!(calls, u64::from(counted_anew), "text {number}");
    }

    #[test]
    fn known_texts_are_not_counted_again() {
        let cached = CachedCounter::new(Probe::default());
        check(&cached, 1, true);
        check(&cached, 1, false);
        check(&cached, 2, true);
        assert_eq!((cached.id(), cached.message()), ("probe", 3));
        assert_eq!(
            cached.image(&ImagePart {
                content: epitome_kernel::types::ContentId::for_text(""),
                pixels: None
            }),
            7
        );
    }

    #[test]
    fn short_texts_bypass_the_memory() {
        let cached = CachedCounter::new(Probe::default());
        assert_eq!(cached.count("short"), 5);
        assert_eq!(cached.memory(|memory| memory.young.len()), 0);
    }

    #[test]
    fn what_is_used_stays_and_the_size_is_bounded() {
        let cached = CachedCounter::with_capacity(Probe::default(), 20);
        for number in 0..1000 {
            check(&cached, 0, number == 0);
            check(&cached, 1000 + number, true);
            let kept = cached.memory(|memory| memory.young.len() + memory.old.len());
            assert!(kept <= 20, "{kept}");
        }
        check(&cached, 1000, true);
        check(&cached, 1999, false);
    }
}
