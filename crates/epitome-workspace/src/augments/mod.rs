//! Augments: texts in Markdown files that the agent loads while it needs them (RULES 40).
//!
//! `text` reads one file, `library` knows what there is and what needs what, `folders` finds the
//! files, `error` says what is wrong with one.
//!
//! Invariant: the files are the truth and nothing of them is kept, so what is edited holds from the
//! next look on. Made by hosts, looked into by sessions and levers.

mod error;
mod folders;
mod library;
mod text;

pub use error::{AugmentError, AugmentFault};
pub use folders::AugmentFolders;
pub use library::{ActiveAugment, ActiveAugments, AugmentLibrary};
pub use text::Augment;
