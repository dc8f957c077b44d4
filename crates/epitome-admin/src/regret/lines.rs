//! Texts compared by their lines.
//!
//! Invariant: numbers that tools write before lines make no difference, nor does the space around them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// What stands between the number of a line and the line.
const BEHIND_NUMBER: [char; 4] = ['→', '\t', '|', ':'];

/// A line without what tools write before it; `None` where it says nothing.
fn bare(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match rest.strip_prefix(BEHIND_NUMBER) {
        Some(rest) if rest.len() < line.len() => rest.trim(),
        _ => line,
    };
    (!line.is_empty()).then_some(line)
}

/// The lines of a text, each by its hash, with its length in bytes.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, usize)> {
    text.lines().filter_map(bare).map(|line| {
        let mut hash = DefaultHasher::new();
        line.hash(&mut hash);
        (hash.finish(), line.len())
    })
}

/// How much of one text stands in another: the share of its lines, and the share of the other's bytes
/// that they are.
pub(super) fn shared(new: &str, old: &str) -> (f64, f64) {
    let known: HashSet<_> = lines(old).map(|(hash, _)| hash).collect();
    let (mut all, mut common, mut bytes) = (0_u32, 0_u32, 0);
    let mut seen = HashSet::new();
    for (hash, len) in lines(new) {
        all += 1;
        if known.contains(&hash) {
            common += 1;
            bytes += if seen.insert(hash) { len } else { 0 };
        }
    }
    // A line that comes several times is known once.
    let mut once = HashSet::new();
    let whole = lines(old).filter(|(hash, _)| once.insert(*hash)).map(|(_, len)| len);
    let whole: usize = whole.sum();
    let share = f64::from(common) / f64::from(all.max(1));
    (share, bytes as f64 / whole.max(1) as f64)
}

/// The texts in an answer, which may be JSON.
pub(super) fn plain(text: &str) -> Vec<String> {
    let opens = text.trim_start().starts_with(['[', '{']);
    let value = opens.then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    let Some(value) = value else { return vec![text.to_owned()] };
    let mut texts = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines_make_no_difference() {
        let old = "     1→fn main() {\n     2→    work();\n     3→}\n";
        assert_eq!(shared("fn main() {\n    work();\n}", old), (1.0, 1.0));
        assert_eq!(shared("fn main() {\n    rest();\n}", old).0, 2.0 / 3.0);
        let (share, of_old) = shared("7: work();", old);
        assert_eq!(share, 1.0);
        assert!((0.3..0.6).contains(&of_old), "{of_old}");
        assert_eq!(shared("", old), (0.0, 0.0));
        assert_eq!(shared("12 | 3", "12 | 4").0, 0.0);
    }

    #[test]
    fn texts_in_json_are_texts() {
        let answer = r#"[{"id":"1a","content":"one\ntwo"}]"#;
        assert!(plain(answer).contains(&"one\ntwo".to_owned()));
        assert_eq!(plain("{ no JSON"), ["{ no JSON"]);
    }
}
