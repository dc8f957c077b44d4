//! What the lines of a log are worth beside each other: what tells of a failure, and what is unlike the
//! rest, before what repeats.
//!
//! Invariant: no line is worth less than without it but one of a kind that repeats. Called by
//! [`crate::candidates`].

use std::hash::{Hash, Hasher};

use epitome_kernel::types::Speaker;
use rustc_hash::{FxHashMap, FxHasher};

use crate::select::UnitCandidate;
use crate::unit::{TextUnit, UnitKind};

/// A log has so many lines at least, and this share of them says how bad it is what they tell.
const LINES: usize = 8;
const LEVELED: f64 = 0.5;
/// A kind of line repeats from so many on, and is rare up to so many.
const REPEATS: u32 = 8;
const RARE: u32 = 3;

/// What is added for the first lines of a kind, by how bad it is what they tell, and for the last line of a
/// log that ends in a failure.
const GRAVE: f64 = 60.0;
const FAILED: f64 = 30.0;
const WARNED: f64 = 15.0;
const UNLIKE: f64 = 10.0;
/// What lines of a kind that repeats are worth of what they mention.
const REPEATED: f64 = 0.25;

/// A line of a log says within so many bytes how bad it is what it tells, and is no longer than so many.
const LEVEL_WITHIN: usize = 60;
const LONGEST: usize = 300;

/// How bad it is what a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LogLevel {
    /// It goes well.
    Plain,
    Warning,
    Failure,
    Grave,
}

/// Has what matters in logs count more, and what repeats less.
pub(crate) fn weigh(units: &[TextUnit<'_>], candidates: &mut [UnitCandidate<'_>]) {
    let is_beside =
        |a: &TextUnit<'_>, b: &TextUnit<'_>| a.entry() == b.entry() && is_line(a) && is_line(b);
    let mut start = 0;
    for run in units.chunk_by(is_beside) {
        let end = start + run.len();
        if run.len() >= LINES && is_line(&run[0]) {
            weigh_run(run, &mut candidates[start..end]);
        }
        start = end;
    }
}

fn is_line(unit: &TextUnit<'_>) -> bool {
    unit.speaker == Speaker::Tool && matches!(unit.kind, UnitKind::Line | UnitKind::Sentence)
}

fn weigh_run(run: &[TextUnit<'_>], candidates: &mut [UnitCandidate<'_>]) {
    let levels: Vec<Option<LogLevel>> = run.iter().map(|unit| level(&unit.text)).collect();
    let leveled = levels.iter().flatten().count();
    if (leveled as f64) < run.len() as f64 * LEVELED {
        return;
    }
    let kinds: Vec<u64> = run.iter().map(|unit| kind(&unit.text)).collect();
    let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
    kinds.iter().for_each(|kind| *counts.entry(*kind).or_default() += 1);
    let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
    for (at, (level, kind)) in levels.iter().zip(&kinds).enumerate() {
        let ordinal = seen.entry(*kind).or_default();
        *ordinal += 1;
        let is_last = at + 1 == run.len();
        let level = level.unwrap_or(LogLevel::Plain);
        // The end of a log that failed says what became of it.
        let is_wanted = *ordinal <= RARE || is_last && level >= LogLevel::Failure;
        let worth = match level {
            LogLevel::Grave => GRAVE,
            LogLevel::Failure if is_last => GRAVE,
            LogLevel::Failure => FAILED,
            LogLevel::Warning => WARNED,
            LogLevel::Plain if counts[kind] <= RARE => UNLIKE,
            LogLevel::Plain => 0.0,
        };
        if worth > 0.0 && is_wanted {
            candidates[at].bonus += worth / f64::from(*ordinal);
        } else if counts[kind] >= REPEATS {
            candidates[at].factor *= REPEATED;
        }
    }
}

/// What the lines of logs in a text say of failures, each without what stands before its level.
pub(crate) fn failures(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        // Most lines are none, and few bytes tell that.
        let at = ["FATAL", "ERROR", "CRITICAL", "PANIC", "panic:"].iter().find_map(|word| {
            let at = line.find(word)?;
            let is_word =
                !line[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            (is_word && at <= LEVEL_WITHIN).then_some(at + word.len())
        })?;
        let is_grave = level(line).is_some_and(|level| level >= LogLevel::Failure);
        let message = line[at..].trim_start_matches([']', ':', ' ', '-', '\t']).trim_end();
        (is_grave && (1..=LONGEST).contains(&message.len()) && message.contains(' '))
            .then_some(message)
    })
}

/// How bad it is what a line tells, where it says so in a word of its own.
fn level(line: &str) -> Option<LogLevel> {
    let mut words =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|it| !it.is_empty());
    let found = words.by_ref().take(16).find_map(|word| match word {
        "FATAL" | "CRITICAL" | "PANIC" | "EMERG" | "ALERT" | "panicked" => Some(LogLevel::Grave),
        "ERROR" | "ERR" | "SEVERE" | "Traceback" => Some(LogLevel::Failure),
        "WARN" | "WARNING" => Some(LogLevel::Warning),
        "INFO" | "DEBUG" | "TRACE" | "NOTICE" => Some(LogLevel::Plain),
        _ => None,
    });
    match found {
        None if line.trim_start().starts_with("panic:") => Some(LogLevel::Grave),
        found => found,
    }
}

/// A hash of all of a line but its numbers and ids.
fn kind(line: &str) -> u64 {
    let mut hasher = FxHasher::default();
    for word in line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let is_hex = word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_hex || word.bytes().any(|byte| byte.is_ascii_digit()) {
            true => '#'.hash(&mut hasher),
            false => word.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_words_of_their_own() {
        let line = "2024-07-03T14:49:01.002Z FATAL pay config error: POOL must be a number";
        assert_eq!(level(line), Some(LogLevel::Grave));
        let failing = "10:00 INFO up\n10:01 ERROR pay failed: no\nERROR\nSee ERROR_PAGE of it.";
        assert_eq!(failures(failing).collect::<Vec<_>>(), ["pay failed: no"]);
        assert_eq!(level("10:00 INFO  web ERROR_PAGE status=200"), Some(LogLevel::Plain));
        assert_eq!(level("There was an error in it"), None);
        assert_eq!(kind("a 12 deadbeef x7"), kind("a 9 0f0f0f0f x8"));
        assert_ne!(kind("backup verified ok"), kind("backup verified bad"));
    }
}
