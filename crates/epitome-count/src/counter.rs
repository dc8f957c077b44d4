//! The adapter to the kernel's [`TokenCounter`] port that is exact, for a vocabulary that is compiled in.
//! Called by every host.

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ImagePart;

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
#[cfg(feature = "o200k")]
impl Default for VocabularyCounter {
    fn default() -> Self {
        Self::new(Vocabulary::O200k, ImagePrice::Tiles { base: 85, tile: 170 })
    }
}

impl TokenCounter for VocabularyCounter {
    fn id(&self) -> &str {
        self.tokenizer.vocabulary().name()
    }

    fn count(&self, text: &str) -> u64 {
        self.tokenizer.count(text)
    }

    fn image(&self, image: &ImagePart) -> u64 {
        self.images.tokens(image)
    }
}

#[cfg(test)]
#[cfg(all(feature = "o200k", feature = "cl100k"))]
mod tests {
    use super::*;

    #[test]
    fn exact_counters_differ_by_vocabulary() {
        let cl100k = VocabularyCounter::new(Vocabulary::Cl100k, ImagePrice::Area);
        let o200k = VocabularyCounter::default();
        let text = "Съешь ещё этих мягких французских булок";
        assert_eq!((o200k.id(), cl100k.id()), ("o200k_base", "cl100k_base"));
        assert!(o200k.count(text) < cl100k.count(text));
        assert_eq!(
            o200k.image(&ImagePart {
                content: epitome_kernel::types::ContentId::for_text(""),
                pixels: Some((512, 512))
            }),
            255
        );
        assert_eq!(o200k.message(), 4);
    }
}
