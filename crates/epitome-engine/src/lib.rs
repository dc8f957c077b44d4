//! The engine of a conversation: it loads a history, steps its turns, and performs what they decide.
//!
//! A [`CompressorBuilder`] says how conversations are compressed and over which ports. Of it come a
//! [`Compressor`], for one conversation at a time, and a [`Session`], for one that goes on; a
//! [`SessionRouter`] finds the session that a request belongs to, and a [`SteppedTurn`] lets its host
//! answer each effect by hand. Hosts use the crate `epitome`, which passes all of this on.
//!
//! Invariant: nothing is printed, no file is opened, and no state is shared between compressors; what
//! compression made of a request passed its provider's rules, and what left the prompt was kept before.

mod answer_messages;
mod at_once;
mod background;
mod builder;
mod chat;
mod checkpoints;
mod compressor;
mod error;
mod facts;
mod keep_recent;
mod kept_lines;
mod learned_limits;
mod limit_subject;
mod limits;
mod listener;
mod locks;
mod model_summarizer;
mod one_shot;
mod output_check;
mod plan_notes;
mod plan_wording;
mod planning;
mod policy_runner;
mod prompt;
mod report;
mod request;
mod router;
mod session;
mod setup;
mod source;
mod stepped;
mod tape;
mod time_budget;
mod unaided;

pub use builder::CompressorBuilder;
pub use chat::{ChatError, ChatReply, ChatSession, ChatUpdate};
pub use compressor::{CompressedPrompt, Compressor};
pub use error::Error;
pub use policy_runner::NO_MODEL;
pub use prompt::Prompt;
pub use router::{ConversationOpening, ModelResponse, RoutedPrompt, RoutedRequest, SessionRouter};
pub use session::Session;
#[cfg(feature = "workspace")]
pub use session::remove_offloaded;
pub use source::keeps_an_hour;
pub use stepped::{SteppedTurn, TurnError, TurnRecord, TurnStep};
pub use tape::{EffectAnswer, HookDecision, RecordedStep, TapeFault, TurnEffect};
pub use unaided::{OwnCompaction, UnaidedClient, UnaidedPrompt};
