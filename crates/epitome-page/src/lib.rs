//! The page for people: sessions, their compressions and what they cost, in a browser.
//!
//! It is made in Rust and works without a script. All of it is read from the store through the one API
//! that the command and agents use; what it does are the same records as theirs. Whoever listens asks
//! [`CockpitPage::is_asked`], and hands requests to [`CockpitPage::answer`].
//!
//! Invariant: it decides nothing and keeps nothing; it loads nothing from elsewhere, and shows nothing
//! of a conversation to whoever does not know its secret.

mod acts;
mod address;
mod difference;
mod entry;
mod error;
mod experiments;
pub mod figures;
mod gate;
mod layout;
mod live;
mod money;
mod page;
mod parts;
mod policies;
mod search;
mod session;
mod sessions;
mod shown;
mod trial;
mod view;
mod visit;
mod write_price;

pub use gate::PageHolder;
pub use layout::{STYLE, policy};
pub use live::PageEvents;
pub use page::CockpitPage;
pub use trial::{
    LineKind, PlayRow, PolicyTrial, PromptChange, TrialLine, TrialPage, TrialTest, TrialTurn,
};
pub use visit::PageSource;
