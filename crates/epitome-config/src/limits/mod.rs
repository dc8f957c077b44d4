//! What prompts are held to: a hard budget, or the share of a window that the profile names.
//!
//! Invariant: pure. Worked out once, before anything is compressed.

mod bounds;
mod window;

pub(crate) use self::bounds::share;
pub use self::bounds::{
    CompressionTarget, NotInTokens, OneShotBounds, PromptBounds, SessionBounds, contradiction,
    relieved,
};
pub use self::window::{LimitSource, PromptLimit, WindowSetting};
