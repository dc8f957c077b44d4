//! What is counted for models whose vocabulary is not published, or not compiled in: a share of what
//! can be counted, and an id that says so. Called through the counter of a model.

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ImagePart;

use crate::ImagePrice;
#[cfg(feature = "vocabularies")]
use crate::{Tokenizer, Vocabulary};

/// Tokens of 100 bytes where no vocabulary is compiled in: more than English prose takes, and about
/// what code and other scripts take.
#[cfg(any(test, not(feature = "vocabularies")))]
const OF_BYTES: u64 = 30;

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// A vocabulary that is compiled in.
    #[cfg(feature = "vocabularies")]
    Tokens(Vocabulary),
    /// Nothing but the size of the text.
    #[cfg(any(test, not(feature = "vocabularies")))]
    Bytes,
}

impl Basis {
    /// The best that is compiled in.
    fn best() -> Self {
        #[cfg(feature = "o200k")]
        return Self::Tokens(Vocabulary::O200k);
        #[cfg(all(feature = "cl100k", not(feature = "o200k")))]
        return Self::Tokens(Vocabulary::Cl100k);
        #[cfg(not(feature = "vocabularies"))]
        return Self::Bytes;
    }
}

/// Estimates for models whose vocabulary is not at hand: the `o200k_base` count, times a factor; where
/// that is not compiled in the `cl100k_base` count, or the size in bytes.
/// The id says so: `o200k_base×1.15 (estimate)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstimatingCounter {
    id: String,
    basis: Basis,
    percent: u64,
    images: ImagePrice,
}

impl EstimatingCounter {
    /// An estimate of `percent` hundredths of the `o200k_base` count, rounded up.
    pub fn new(percent: u32, images: ImagePrice) -> Self {
        Self::of(Basis::best(), percent, images)
    }

    fn of(basis: Basis, percent: u32, images: ImagePrice) -> Self {
        let percent = u64::from(percent);
        let id = match basis {
            #[cfg(feature = "vocabularies")]
            Basis::Tokens(vocabulary) => {
                let name = vocabulary.name();
                format!("{name}×{}.{:02} (estimate)", percent / 100, percent % 100)
            }
            #[cfg(any(test, not(feature = "vocabularies")))]
            Basis::Bytes => {
                let share = percent * OF_BYTES;
                format!("bytes×{}.{:04} (estimate)", share / 10_000, share % 10_000)
            }
        };
        Self { id, basis, percent, images }
    }
}

impl TokenCounter for EstimatingCounter {
    fn id(&self) -> &str {
        &self.id
    }

    fn count(&self, text: &str) -> u64 {
        match self.basis {
            #[cfg(feature = "vocabularies")]
            Basis::Tokens(vocabulary) => {
                (Tokenizer::new(vocabulary).count(text) * self.percent).div_ceil(100)
            }
            #[cfg(any(test, not(feature = "vocabularies")))]
            Basis::Bytes => (text.len() as u64 * self.percent * OF_BYTES).div_ceil(10_000),
        }
    }

    fn image(&self, image: &ImagePart) -> u64 {
        self.images.tokens(image)
    }
}

#[cfg(test)]
#[cfg(feature = "o200k")]
mod tests {
    use super::*;
    use crate::VocabularyCounter;

    fn check(percent: u32, id: &str, tokens: u64) {
        let counter = EstimatingCounter::new(percent, ImagePrice::Area);
        assert_eq!((counter.id(), counter.count("one two three")), (id, tokens));
    }

    #[test]
    fn estimates_say_so_and_round_up() {
        check(100, "o200k_base×1.00 (estimate)", 3);
        check(115, "o200k_base×1.15 (estimate)", 4);
        check(205, "o200k_base×2.05 (estimate)", 7);
    }

    #[test]
    fn without_a_vocabulary_they_rest_on_the_bytes() {
        let counter = EstimatingCounter::of(Basis::Bytes, 115, ImagePrice::Area);
        assert_eq!(counter.id(), "bytes×0.3450 (estimate)");
        assert_eq!([counter.count(""), counter.count("one two three")], [0, 5]);
        for text in ["fn main() { println!(\"{x}\"); }", "Съешь ещё этих булок", "一二三四五"]
        {
            let exact = VocabularyCounter::default().count(text);
            let rough = EstimatingCounter::of(Basis::Bytes, 100, ImagePrice::Area).count(text);
            assert!(rough * 2 >= exact && rough <= exact * 2, "{text}: {rough} for {exact}");
        }
    }
}
