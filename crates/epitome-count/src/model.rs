//! Which counter a model's name stands for: one table of data. Called by hosts that know the model.

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ImagePart;

use crate::{EstimatingCounter, ImagePrice};
#[cfg(feature = "vocabularies")]
use crate::{Vocabulary, VocabularyCounter};

use Basis::{Exact, Percent};
use ImagePrice::Area;
use Published::{Cl100k, O200k};

/// The counter of a model, see [`for_model`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelCounter {
    /// The model's vocabulary is known.
    #[cfg(feature = "vocabularies")]
    Exact(VocabularyCounter),
    /// It is not.
    Estimate(EstimatingCounter),
}

impl ModelCounter {
    fn inner(&self) -> &dyn TokenCounter {
        match self {
            #[cfg(feature = "vocabularies")]
            Self::Exact(counter) => counter,
            Self::Estimate(counter) => counter,
        }
    }
}

impl TokenCounter for ModelCounter {
    fn id(&self) -> &str {
        self.inner().id()
    }

    fn count(&self, text: &str) -> u64 {
        self.inner().count(text)
    }

    fn image(&self, image: &ImagePart) -> u64 {
        self.inner().image(image)
    }
}

/// A vocabulary that its vendor published.
#[derive(Clone, Copy)]
enum Published {
    O200k,
    Cl100k,
}

impl Published {
    /// The counter by it; an estimate of that where it is not compiled in.
    fn counter(self, images: ImagePrice) -> ModelCounter {
        match self {
            #[cfg(feature = "o200k")]
            O200k => exact(Vocabulary::O200k, images),
            #[cfg(feature = "cl100k")]
            Cl100k => exact(Vocabulary::Cl100k, images),
            #[cfg(not(all(feature = "o200k", feature = "cl100k")))]
            _ => ModelCounter::Estimate(EstimatingCounter::new(100, images)),
        }
    }
}

#[cfg(feature = "vocabularies")]
fn exact(vocabulary: Vocabulary, images: ImagePrice) -> ModelCounter {
    ModelCounter::Exact(VocabularyCounter::new(vocabulary, images))
}

/// What counts of a model rest on.
#[derive(Clone, Copy)]
enum Basis {
    /// Its vocabulary.
    Exact(Published),
    /// That much of the `o200k_base` count, in percent.
    Percent(u32),
}

const TILES: ImagePrice = ImagePrice::Tiles { base: 85, tile: 170 };

/// Beginnings of model names, the counter's basis and the price of images; the longest beginning
/// that fits decides. Percentages are leaning upwards, since a prompt that is smaller than thought
/// does no harm; the `usage` figures of responses tell better.
const MODELS: &[(&str, Basis, ImagePrice)] = &[
    ("gpt-", Percent(100), TILES),
    ("gpt-3.5", Exact(Cl100k), TILES),
    ("gpt-35", Exact(Cl100k), TILES),
    ("gpt-4", Exact(Cl100k), TILES),
    ("gpt-4o", Exact(O200k), TILES),
    ("gpt-4o-mini", Exact(O200k), ImagePrice::Tiles { base: 2833, tile: 5667 }),
    ("gpt-4.1", Exact(O200k), TILES),
    ("gpt-4.5", Exact(O200k), TILES),
    ("gpt-5", Exact(O200k), ImagePrice::Tiles { base: 70, tile: 140 }),
    ("gpt-oss", Exact(O200k), TILES),
    ("chatgpt-4o", Exact(O200k), TILES),
    ("codex-mini", Exact(O200k), TILES),
    ("o1", Exact(O200k), ImagePrice::Tiles { base: 75, tile: 150 }),
    ("o3", Exact(O200k), ImagePrice::Tiles { base: 75, tile: 150 }),
    ("o4-mini", Exact(O200k), ImagePrice::Tiles { base: 75, tile: 150 }),
    ("o200k_base", Exact(O200k), TILES),
    ("cl100k_base", Exact(Cl100k), TILES),
    ("text-embedding-", Exact(Cl100k), TILES),
    ("claude", Percent(115), Area),
    ("gemini", Percent(105), Area),
    ("gemma", Percent(105), Area),
    ("grok", Percent(105), Area),
    ("llama", Percent(105), Area),
    ("qwen", Percent(110), Area),
    ("deepseek", Percent(110), Area),
    ("mistral", Percent(120), Area),
    ("mixtral", Percent(120), Area),
    ("codestral", Percent(120), Area),
];

/// A model that no row knows.
const UNKNOWN: (Basis, ImagePrice) = (Percent(100), Area);

/// The counter for a model, by its name as a provider or a gateway writes it (`gpt-4o-2024-08-06`,
/// `anthropic/claude-opus-4`, `us.anthropic.claude-sonnet-4`, `ft:gpt-4o:team`, `qwen2.5:7b`).
/// An unknown name gets an estimate.
pub fn for_model(name: &str) -> ModelCounter {
    let name = name.to_ascii_lowercase();
    // Names of gateways, regions and vendors stand before the model's, ended by one of these.
    let ends = name.match_indices(['/', '.', ':']).map(|(at, _)| at + 1);
    let (basis, images) =
        std::iter::once(0).chain(ends).find_map(|start| longest(&name[start..])).unwrap_or(UNKNOWN);
    match basis {
        Exact(vocabulary) => vocabulary.counter(images),
        Percent(percent) => ModelCounter::Estimate(EstimatingCounter::new(percent, images)),
    }
}

/// The longest row that `name` begins with.
fn longest(name: &str) -> Option<(Basis, ImagePrice)> {
    MODELS
        .iter()
        .filter(|(beginning, ..)| name.starts_with(beginning))
        .max_by_key(|(beginning, ..)| beginning.len())
        .map(|&(_, basis, images)| (basis, images))
}

#[cfg(test)]
#[cfg(all(feature = "o200k", feature = "cl100k"))]
mod tests {
    use super::*;

    fn check(name: &str, id: &str) {
        assert_eq!(for_model(name).id(), id, "{name}");
    }

    #[test]
    fn names_find_their_vocabulary() {
        for name in ["gpt-4o", "GPT-4o-2024-08-06", "openai/gpt-4.1-mini", "gpt-5.1-codex", "o1"] {
            check(name, "o200k_base");
        }
        for name in ["o3-pro", "o4-mini", "gpt-4.5-preview", "ft:gpt-4o:team::x", "gpt-oss:20b"] {
            check(name, "o200k_base");
        }
        for name in ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo-0125", "azure/gpt-35-turbo"] {
            check(name, "cl100k_base");
        }
        for name in ["claude-opus-4-1", "us.anthropic.claude-sonnet-4-v1:0", "anthropic/claude-3"] {
            check(name, "o200k_base×1.15 (estimate)");
        }
        check("meta-llama/Llama-3.1-8B", "o200k_base×1.05 (estimate)");
        check("qwen2.5:0.5b", "o200k_base×1.10 (estimate)");
        check("somebody/something", "o200k_base×1.00 (estimate)");
        check("", "o200k_base×1.00 (estimate)");
    }

    /// Every name the reference knows under these two vocabularies is counted with them.
    #[test]
    fn agrees_with_the_reference() {
        use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};
        for (beginning, basis, _) in MODELS {
            for name in [(*beginning).to_owned(), format!("{beginning}-2024-08-06")] {
                let expected = match get_tokenizer(&name) {
                    Some(Tokenizer::O200kBase | Tokenizer::O200kHarmony) => "o200k_base",
                    Some(Tokenizer::Cl100kBase) => "cl100k_base",
                    _ => continue,
                };
                assert!(matches!(basis, Exact(_)), "{name}");
                check(&name, expected);
            }
        }
    }

    #[test]
    fn images_follow_the_vendor() {
        let square = ImagePart {
            content: epitome_kernel::types::ContentId::for_text(""),
            pixels: Some((512, 512)),
        };
        assert_eq!(for_model("gpt-4o").image(&square), 255);
        assert_eq!(for_model("o3").image(&square), 225);
        assert_eq!(for_model("claude-opus-4").image(&square), 350);
    }
}
