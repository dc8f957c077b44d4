//! Token counts from vocabularies that are compiled in. A process counts its first text at once:
//! nothing is loaded, decoded or compiled at start. Invariant: [`VocabularyCounter`] equals the
//! reference implementation token for token; whatever is not exact says so in its id.
//!
//! Hosts take [`for_model`], usually inside [`CachedCounter`], and hand it to the kernel as its
//! [`TokenCounter`](epitome_kernel::Counter).
//!
//! Each vocabulary is a feature, `o200k` and `cl100k`. Where that of a model is not compiled in, its
//! counts are estimates, and their id says what they rest on.
//!
//! ```
//! use epitome_count::{CachedCounter, for_model};
//! use epitome_kernel::TokenCounter;
//!
//! let counter = CachedCounter::new(for_model("gpt-4o"));
//! assert_eq!(counter.count("Hello, world!"), 4);
//! assert_eq!(counter.id(), "o200k_base");
//! ```

mod cached;
mod calibration;
#[cfg(feature = "vocabularies")]
mod class;
#[cfg(feature = "vocabularies")]
mod counter;
mod estimate;
#[cfg(feature = "vocabularies")]
mod hash;
mod image;
#[cfg(feature = "vocabularies")]
mod merge;
mod model;
#[cfg(test)]
#[cfg(all(feature = "o200k", feature = "cl100k"))]
mod oracle;
#[cfg(feature = "vocabularies")]
mod scan;
#[cfg(feature = "vocabularies")]
mod table;
#[cfg(feature = "vocabularies")]
mod tokenizer;
mod tools;

pub use cached::CachedCounter;
pub use calibration::{Calibration, CalibrationFactor};
#[cfg(feature = "vocabularies")]
pub use counter::VocabularyCounter;
pub use estimate::EstimatingCounter;
pub use image::ImagePrice;
pub use model::{ModelCounter, for_model};
#[cfg(feature = "vocabularies")]
pub use tokenizer::{Tokenizer, Vocabulary};
pub use tools::{ToolFormat, tools};
