//! What people order, forbid and ask for.
//!
//! Invariant: every text is a sentence that a person typed, spaces folded. Called by
//! [`super::Ledger::of`].

use epitome_kernel::types::Speaker;
use rustc_hash::FxHashSet;

use super::Language;
use super::typed::Sentence;
use crate::directive::{self, Order};
use crate::supersede;
use crate::unit::{Kind, Unit};

/// The rules that stand: each once, oldest first, those left out that were replaced.
pub(super) fn standing(typed: &[Sentence<'_>], language: Language) -> Vec<String> {
    let units: Vec<Unit> = typed.iter().map(unit).collect();
    let stale = supersede::superseded(&units, &[]);
    let mut seen = FxHashSet::default();
    let mut out = Vec::new();
    for ((sentence, unit), stale) in typed.iter().zip(units).zip(stale) {
        let rule = sentence.listed || is_rule(&unit.text, language);
        if rule && !stale && seen.insert(unit.text.to_lowercase()) {
            out.push(unit.text);
        }
    }
    out
}

/// What people asked to be made: each once, oldest first.
pub(super) fn asked(_typed: &[Sentence<'_>], _language: Language) -> Vec<String> {
    Vec::new()
}

fn unit(sentence: &Sentence<'_>) -> Unit {
    let text = sentence.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (speaker, kind) = (Speaker::Human, Kind::Sentence);
    Unit { entry: sentence.entry, speaker, kind, text, fields: Vec::new() }
}

fn is_rule(text: &str, _language: Language) -> bool {
    directive::order(text) >= Order::Plain && !text.ends_with('?')
}
