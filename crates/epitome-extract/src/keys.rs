//! What the fields of tool results are worth, by their key.
//!
//! Invariant: no key is known by name beyond what its ending says; a conversation teaches the rest
//! by which values came back in talk and calls.

use crate::tuning::SelectionWeights;

/// Endings of keys whose values name something.
const NAMING: &[&str] = &["id", "ids", "number", "code", "name", "key"];
/// Parts of keys whose values describe rather than name.
const DESCRIBING: &[&str] =
    &["time", "date", "at", "status", "zip", "dob", "type", "address", "version"];

/// Endings of keys whose values tell one object from another, the surest first.
const TELLING: [&[&str]; 4] = [
    &["id", "uuid"],
    &["number", "code", "sha", "hash", "key", "sku", "symbol"],
    &["path", "file", "filename", "url", "uri", "link", "email", "login"],
    &["slug", "name", "title", "ref", "host"],
];

/// How surely the value of a key tells one object from another, by its last word: 0 is surest.
pub(crate) fn telling(key: &str) -> Option<usize> {
    let start = key.rfind(['_', '-', '.', ' ']).map_or(0, |at| at + 1);
    let word = &key[start..];
    let hump = word.rfind(|c: char| c.is_ascii_uppercase()).filter(|at| *at > 0);
    let hump = hump.filter(|_| word.chars().any(|c| c.is_ascii_lowercase()));
    let word = word[hump.unwrap_or(0)..].to_ascii_lowercase();
    // `ID` has two capitals.
    let word = if key.ends_with("ID") { "id" } else { &*word };
    TELLING.iter().position(|endings| endings.contains(&word))
}

/// The factor of each key. `told` has each reference that stands in a field: the place of its key among
/// the names, and whether someone other than a tool mentioned it.
pub(crate) fn values(
    names: &[String],
    told: impl Iterator<Item = (u32, bool)>,
    tuning: &SelectionWeights,
) -> Vec<f64> {
    let mut seen = vec![0.0; names.len()];
    let mut back = vec![0.0; names.len()];
    for (key, came_back) in told {
        seen[key as usize] += 1.0;
        back[key as usize] += f64::from(u8::from(came_back));
    }
    names
        .iter()
        .zip(seen.iter().zip(&back))
        .map(|(name, (seen, back))| {
            tuning.key_floor
                + (back + prior(name, tuning) * tuning.key_trust) / (seen + tuning.key_trust)
        })
        .collect()
}

/// The share of values expected to come back before any did.
fn prior(name: &str, tuning: &SelectionWeights) -> f64 {
    let lower = name.to_lowercase();
    if NAMING.iter().any(|end| lower.ends_with(end)) {
        tuning.key_naming
    } else if DESCRIBING.iter().any(|part| lower.contains(part)) {
        tuning.key_describing
    } else {
        tuning.key_other
    }
}
