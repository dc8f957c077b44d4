//! Token counts from vocabularies that are compiled in. A process counts its first text at once:
//! nothing is loaded, decoded or compiled at start. Invariant: [`VocabularyCounter`] equals the
//! reference implementation token for token; whatever is not exact says so in its id.
//!
//! Hosts take [`for_model`], usually inside [`Cached`], and hand it to the kernel as its
//! [`Counter`](epitome_kernel::Counter).
//!
//! ```
//! use epitome_count::{Cached, for_model};
//! use epitome_kernel::Counter;
//!
//! let counter = Cached::new(for_model("gpt-4o"));
//! assert_eq!(counter.count("Hello, world!"), 4);
//! assert_eq!(counter.id(), "o200k_base");
//! ```

mod cached;
mod calibration;
mod class;
mod counter;
mod hash;
mod image;
mod merge;
mod model;
#[cfg(test)]
mod oracle;
mod scan;
mod table;
mod tokenizer;
mod tools;

pub use cached::Cached;
pub use calibration::{Calibration, Factor};
pub use counter::{Estimate, ModelCounter, VocabularyCounter};
pub use image::ImagePrice;
pub use model::for_model;
pub use tokenizer::{Tokenizer, Vocabulary};
pub use tools::{ToolFormat, tools};
