//! The adapters to the kernel's [`Counter`] port: exact for a published vocabulary, a stated
//! estimate for models without one. Called by every host.

use epitome_kernel::Counter;
use epitome_kernel::types::Image;

use crate::{ImagePrice, Tokenizer, Vocabulary};

/// Counts exactly as the models of a vocabulary do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VocabularyCounter {
    tokenizer: Tokenizer,
    images: ImagePrice,
}

impl VocabularyCounter {
    /// A counter for a vocabulary, with the vendor's price of images.
    pub const fn new(vocabulary: Vocabulary, images: ImagePrice) -> Self {
        Self { tokenizer: Tokenizer::new(vocabulary), images }
    }
}

/// `o200k_base`, and images as GPT-4o prices them.
impl Default for VocabularyCounter {
    fn default() -> Self {
        Self::new(Vocabulary::O200k, ImagePrice::Tiles { base: 85, tile: 170 })
    }
}

impl Counter for VocabularyCounter {
    fn id(&self) -> &str {
        self.tokenizer.vocabulary().name()
    }

    fn count(&self, text: &str) -> u64 {
        self.tokenizer.count(text)
    }

    fn image(&self, image: &Image) -> u64 {
        self.images.tokens(image)
    }
}

/// Estimates for models whose vocabulary is not published: the `o200k_base` count, times a factor.
/// The id says so: `o200k_base×1.15 (estimate)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    id: String,
    percent: u64,
    images: ImagePrice,
}

impl Estimate {
    /// An estimate of `percent` hundredths of the `o200k_base` count, rounded up.
    pub fn new(percent: u32, images: ImagePrice) -> Self {
        let name = Vocabulary::O200k.name();
        let id = format!("{name}×{}.{:02} (estimate)", percent / 100, percent % 100);
        Self { id, percent: percent.into(), images }
    }
}

impl Counter for Estimate {
    fn id(&self) -> &str {
        &self.id
    }

    fn count(&self, text: &str) -> u64 {
        (Tokenizer::new(Vocabulary::O200k).count(text) * self.percent).div_ceil(100)
    }

    fn image(&self, image: &Image) -> u64 {
        self.images.tokens(image)
    }
}

/// The counter of a model, see [`for_model`](crate::for_model).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelCounter {
    /// The model's vocabulary is known.
    Exact(VocabularyCounter),
    /// It is not.
    Estimate(Estimate),
}

impl ModelCounter {
    fn inner(&self) -> &dyn Counter {
        match self {
            Self::Exact(counter) => counter,
            Self::Estimate(counter) => counter,
        }
    }
}

impl Counter for ModelCounter {
    fn id(&self) -> &str {
        self.inner().id()
    }

    fn count(&self, text: &str) -> u64 {
        self.inner().count(text)
    }

    fn image(&self, image: &Image) -> u64 {
        self.inner().image(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(percent: u32, id: &str, tokens: u64) {
        let counter = Estimate::new(percent, ImagePrice::Area);
        assert_eq!((counter.id(), counter.count("one two three")), (id, tokens));
    }

    #[test]
    fn estimates_say_so_and_round_up() {
        check(100, "o200k_base×1.00 (estimate)", 3);
        check(115, "o200k_base×1.15 (estimate)", 4);
        check(205, "o200k_base×2.05 (estimate)", 7);
    }

    #[test]
    fn exact_counters_differ_by_vocabulary() {
        let cl100k = VocabularyCounter::new(Vocabulary::Cl100k, ImagePrice::Area);
        let o200k = VocabularyCounter::default();
        let text = "Съешь ещё этих мягких французских булок";
        assert_eq!((o200k.id(), cl100k.id()), ("o200k_base", "cl100k_base"));
        assert!(o200k.count(text) < cl100k.count(text));
        assert_eq!(
            o200k.image(&Image {
                content: epitome_kernel::types::ContentId::of(""),
                pixels: Some((512, 512))
            }),
            255
        );
        assert_eq!(o200k.message(), 4);
    }
}
