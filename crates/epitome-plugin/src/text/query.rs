//! The words that a call asked for, as its arguments say.
//!
//! Invariant: words that stand in many of the lines tell none of them apart and are left out.
//! Called by plugins.

use rustc_hash::FxHashMap;
use serde_json::Value;

/// Shorter words say little.
const SHORTEST: usize = 4;
/// A word that stands in more than this share of the lines says little, too.
const COMMON: f64 = 0.1;
/// But so many lines may always say it.
const FEW: usize = 3;

/// The words of a call that stand in few of the lines of its result.
#[derive(Clone, Debug, Default)]
pub struct QueryWords {
    words: FxHashMap<String, usize>,
}

impl QueryWords {
    /// The words of a call's arguments, its addresses left out, that some of these lines hold.
    pub fn of<'a>(arguments: &str, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = FxHashMap::default();
        match serde_json::from_str(arguments) {
            Ok(value) => collect(&value, &mut words),
            Err(_) => add(arguments, &mut words),
        }
        if words.is_empty() {
            return Self::default();
        }
        let mut all = 0usize;
        for line in lines {
            all += 1;
            let mut found: Vec<String> =
                split(line).filter(|word| words.contains_key(word)).collect();
            found.sort_unstable();
            found.dedup();
            found.into_iter().for_each(|word| *words.entry(word).or_default() += 1);
        }
        let most = ((all as f64 * COMMON) as usize).max(FEW);
        words.retain(|_, count| (1..=most).contains(count));
        Self { words }
    }

    /// Whether a line says one of the words.
    #[must_use]
    pub fn says(&self, line: &str) -> bool {
        !self.words.is_empty() && split(line).any(|word| self.words.contains_key(&word))
    }
}

/// The strings of a value: what a call asks for, without the names of its arguments.
fn collect(value: &Value, words: &mut FxHashMap<String, usize>) {
    match value {
        Value::String(text) => add(text, words),
        Value::Array(values) => values.iter().for_each(|value| collect(value, words)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, words)),
        _ => {}
    }
}

fn add(text: &str, words: &mut FxHashMap<String, usize>) {
    let texts = text.split_whitespace().filter(|text| !text.contains("://"));
    words.extend(texts.flat_map(split).map(|word| (word, 0)));
}

/// The words of a text in small letters: `read_config` as a whole and in its parts.
fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    let whole = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = whole.flat_map(|word| {
        let parts = word.split('_').filter(|_| word.contains('_'));
        std::iter::once(word).chain(parts)
    });
    words.filter(|word| word.len() >= SHORTEST).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, lines: &[&str], expected: &[&str]) {
        let asked = QueryWords::of(arguments, lines.iter().copied());
        let found: Vec<&str> = lines.iter().copied().filter(|line| asked.says(line)).collect();
        assert_eq!(found, expected, "{arguments}");
    }

    #[test]
    fn lines_that_say_what_was_asked_for_are_found() {
        let lines = ["fn read_config() {", "let limits = 3;", "}", "# Prices", "the price is 3 €"];
        check(r#"{"url": "https://x.org/limits", "prompt": "the price"}"#, &lines, &lines[4..]);
        check(r#"{"names": ["config", "Limits"], "most": 7}"#, &lines, &lines[..2]);
        check("prices", &lines, &lines[3..4]);
        check(r#"{"prices": true}"#, &lines, &[]);
        check("", &lines, &[]);
    }

    #[test]
    fn what_many_lines_say_tells_none_of_them_apart() {
        let lines = ["price one", "price two", "price three", "price four", "tax"];
        check("price and tax: five", &lines, &[]);
        check("price two three", &lines, &lines[2..3]);
    }
}
