//! Names that hooks, jobs, answers and options had in api 1, each with its name since api 2.
//!
//! Invariant: [`RENAMED`] is the only table of renames. Policies in Lua, native plugins, the
//! configuration and the reference all read it.

use std::fmt;

/// The last api whose policies use the old names.
pub const OLD_API: u32 = 1;

/// The kind of a renamed name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A hook.
    Hook,
    /// A field of a job or of an answer.
    Field,
    /// A text that is one of a few words, such as the name of an operation.
    Word,
    /// A key of the configuration, at which an option of a profile stands.
    Key,
    /// A word that an option takes.
    KeyWord,
}

impl NameKind {
    /// Returns the noun that the reference uses.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Field => "field",
            Self::Word => "word",
            Self::Key => "option",
            Self::KeyWord => "word of an option",
        }
    }
}

/// A name that api 2 changed. Its text is the warning for an author who uses the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedName {
    /// Its kind.
    pub kind: NameKind,
    /// The name in api 1.
    pub old: &'static str,
    /// The name since api 2.
    pub new: &'static str,
}

impl fmt::Display for RenamedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is called `{}` since api 2", self.old, self.new)
    }
}

const fn hook(old: &'static str, new: &'static str) -> RenamedName {
    RenamedName { kind: NameKind::Hook, old, new }
}

const fn field(old: &'static str, new: &'static str) -> RenamedName {
    RenamedName { kind: NameKind::Field, old, new }
}

const fn word(old: &'static str, new: &'static str) -> RenamedName {
    RenamedName { kind: NameKind::Word, old, new }
}

const fn key(old: &'static str, new: &'static str) -> RenamedName {
    RenamedName { kind: NameKind::Key, old, new }
}

const fn key_word(old: &'static str, new: &'static str) -> RenamedName {
    RenamedName { kind: NameKind::KeyWord, old, new }
}

/// Every name that api 2 changed. A table that has the new field and lacks the old one is a table
/// whose field was renamed; elsewhere the old name can still be in use.
pub const RENAMED: &[RenamedName] = &[
    hook("arrive", "tool_result"),
    hook("prompt", "summary_prompt"),
    word("fold_user", "summarize_user"),
    word("strip", "clear_tools"),
    word("export", "write_file"),
    word("stub", "placeholder"),
    field("export", "write_file"),
    field("most", "max_tokens"),
    field("with", "text"),
    field("mark", "watermark"),
    field("mark_lost", "watermark_lost"),
    field("marked_by", "watermark_tool"),
    field("since_epoch", "since_compaction"),
    field("forgone", "forgone_cost"),
    field("asked", "requested_by"),
    field("answered", "new_results"),
    field("waiting", "recall_pending"),
    field("replied", "new_model_message"),
    field("stalled", "stalled_at"),
    field("opt", "options"),
    field("stored", "in_store"),
    field("files", "in_files"),
    key("arrive", "tool_results"),
    key("state", "work_state"),
    key("size", "context_size"),
    key("limit", "prompt_limit"),
    key("digest_tools", "digests_by_tool"),
    key("ahead", "prefetch"),
    key("seconds", "timeout_seconds"),
    key("at_once", "max_concurrent"),
    key("ask", "prompt"),
    key("beside", "extract_heading"),
    key("forgotten", "missing_facts_heading"),
    key("above", "conversation_reference"),
    key("stub", "placeholder"),
    key("most", "max_tokens"),
    key_word("smaller_tail", "fewer_recent"),
];
