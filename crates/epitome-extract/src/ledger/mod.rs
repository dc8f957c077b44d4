//! The ledger: what stands in a conversation that its continuation must know, taken by code.
//!
//! Invariant: pure and of one pass; rules come from people only, statements from people and the
//! model only, files and plans from tool calls only, never from what a tool printed. Called by
//! sessions at an epoch, and by whoever shows the ledger to the user or the agent.

mod account;
mod awaiting;
mod call;
mod english;
mod files;
mod headings;
mod language;
mod lexer;
mod marks;
mod patch;
mod phrases;
mod plan;
mod quoted;
mod render;
mod rules;
mod shell;
mod takeback;
mod touch;
mod typed;
mod written;

use epitome_kernel::types::{Entry, PartBody, Role, Speaker, ToolCall, failing_lines};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use account::RejectedOption;
pub use files::{FileChange, TouchedFile};
pub use headings::LedgerHeadings;
pub use language::Language;
pub use plan::{PlanItem, PlanItemState};
pub(crate) use rules::Rule;
pub use touch::WrittenFile;
pub use written::{is_on_disk, written};

use call::Tool;

use crate::demand;

/// What the continuation of a conversation must know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkLedger {
    /// The language that people type in.
    pub language: Language,
    /// Sentences in which a person orders or forbids something and has not taken it back, word for
    /// word, oldest first.
    pub constraints: Vec<String>,
    /// Sentences in which a person asks for something to be made, word for word, oldest first.
    pub deliverables: Vec<String>,
    /// The latest state of the to-do list or plan that a tool keeps.
    pub plan: Vec<PlanItem>,
    /// The plan that the user approved, word for word.
    pub approved: Option<String>,
    /// What the model said last that it is working on.
    pub in_progress: Vec<String>,
    /// What the model said last that it will do next.
    pub next: Vec<String>,
    /// What the agent asked the user and nobody answered.
    pub awaiting: Option<String>,
    /// The files that calls touched, the newest first.
    pub files: Vec<TouchedFile>,
    /// What older lists had done, and what the model said last that it did; oldest first.
    pub done: Vec<String>,
    /// What the model decided against, oldest first.
    pub rejected: Vec<RejectedOption>,
}

impl WorkLedger {
    /// The ledger of a conversation, oldest entry first. Whether a question is open only the end of
    /// the whole tells: of a beginning alone, `awaiting` says nothing.
    pub fn of(entries: &[&Entry]) -> Self {
        let typed = typed::sentences(entries);
        let language = Language::of(typed.iter().map(|sentence| sentence.text));
        let orders = rules::of(&typed, language);
        let answers = Answers::of(entries);
        let (mut files, mut plans) = (files::FileTracker::default(), plan::Plans::default());
        for call in entries.iter().flat_map(|entry| entry.calls()) {
            let answer = answers.0.get(call.id.as_str()).copied();
            if answer.is_some_and(|answer| answer.failed) {
                continue;
            }
            let tool = Tool::of(call);
            // Behind its first line an output may hold what a file says, or what came after the change.
            let first = answer.and_then(|answer| answer.text.trim_start().lines().next());
            let failed = first.is_some_and(|line| !failing_lines(line, false).is_empty());
            files.take(&tool, failed);
            plans.take(&tool, answer.map(|answer| answer.text));
        }
        let planned = plans.finish();
        let said = account::said(entries, language);
        let mut done = planned.done;
        done.extend(said.done);
        Self {
            language,
            constraints: orders.rules,
            deliverables: orders.asked,
            plan: planned.items,
            approved: planned.approved,
            in_progress: said.in_progress,
            next: said.next,
            awaiting: awaiting::of(entries, &answers),
            files: files.newest_first(),
            done,
            rejected: said.rejected,
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { language: self.language, ..Self::default() }
    }
}

/// What stands in the texts of people in an entry and is not their own.
pub(crate) fn of_others(entry: &Entry) -> String {
    let own = entry.parts.iter().filter(|part| part.speaker == Speaker::Human);
    own.map(typed::of_others).collect()
}

/// Whether a sentence orders something, in its speaker's own words.
pub(crate) fn demands_itself(sentence: &str) -> bool {
    typed::is_own(sentence) && demand::demands(sentence)
}

/// All rules that people ever set, oldest first, and the language that they type in.
pub(crate) fn rules(entries: &[&Entry]) -> (Vec<Rule>, Language) {
    let typed = typed::sentences(entries);
    let language = Language::of(typed.iter().map(|sentence| sentence.text));
    (rules::of(&typed, language).said, language)
}

/// What came back from calls, by the id of the call.
struct Answers<'a>(FxHashMap<&'a str, CallAnswer<'a>>);

#[derive(Clone, Copy)]
struct CallAnswer<'a> {
    text: &'a str,
    failed: bool,
}

impl<'a> Answers<'a> {
    /// Whether anything came back from a call.
    fn has(&self, call: &ToolCall) -> bool {
        self.0.contains_key(call.id.as_str())
    }

    fn of(entries: &[&'a Entry]) -> Self {
        let mut out = FxHashMap::default();
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            for (place, part) in entry.parts.iter().enumerate() {
                let PartBody::Result(result) = &part.body else { continue };
                let text = if result.text.is_empty() {
                    let inner = |it: &&epitome_kernel::types::Part| it.within == Some(place as u32);
                    entry.parts.iter().find(inner).and_then(|it| it.text()).unwrap_or_default()
                } else {
                    &result.text
                };
                out.insert(result.call.as_str(), CallAnswer { text, failed: result.error });
            }
        }
        Self(out)
    }
}
