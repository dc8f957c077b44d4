//! The summariser that needs no model: keeps what later work will need, in the words it was said.
//!
//! Invariant: the same job gives the same bytes, and every line of a summary comes from the
//! entries it stands for (RULES 15). The kernel asks it through the same port as a model.

mod brief;
mod calls;
mod candidates;
mod columns;
mod constraints;
mod corrected;
mod cut;
mod demand;
mod directive;
mod facts;
mod grounding;
mod keep;
mod keys;
mod labels;
pub mod ledger;
mod line_pattern;
mod log_lines;
mod must_keep;
mod name_table;
mod offer;
mod passages;
mod reader;
mod refs;
mod refused;
mod render;
mod row_object;
mod rows;
mod section;
mod sections;
mod select;
mod settings;
mod slice;
mod split;
mod spoken;
mod statement;
mod summary;
mod supersede;
mod telling;
mod told_files;
mod tuning;
mod turn_mark;
mod typed_text;
mod unit;
mod value;
mod weigh;
mod words;
mod wrapped;

pub use brief::{DeletionCandidate, DeletionKind, deletion_candidates};
pub use constraints::{UserConstraint, demands};
pub use facts::MustKeepFacts;
pub use grounding::{GroundedText, SummarySource, UngroundedSentence};
pub use keep::{KeepRuleError, KeepRules, KeptLine};
pub use ledger::WorkLedger;
pub use must_keep::{kept_and_lost, must_keep};
pub use split::whole_sentences;
pub use summary::ExtractiveSummarizer;
pub use tuning::{SelectionWeights, TalkWeights, TellingWeights};
pub use turn_mark::{SpokenTurn, turn_at};
