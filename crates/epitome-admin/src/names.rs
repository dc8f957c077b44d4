//! What people are told an entry is.
//!
//! Invariant: the same words as in a compression's report, for entries that are read one page at a
//! time: the calls are remembered, since a result stands behind its call.

use std::collections::HashMap;

use epitome_types::{Entry, PartBody, Role};

/// Remembers which call used which tool.
#[derive(Debug, Default)]
pub(crate) struct CallTools {
    tools: HashMap<String, String>,
}

impl CallTools {
    /// Remembers the calls of an entry.
    pub(crate) fn learn(&mut self, entry: &Entry) {
        let calls = entry.calls().map(|call| (call.id.clone(), call.tool.clone()));
        self.tools.extend(calls);
    }

    /// Whether the tool of each result is known.
    pub(crate) fn knows(&self, entry: &Entry) -> bool {
        entry.results().all(|result| self.tools.contains_key(&result.call))
    }

    /// Says what an entry is: `read_file result`, `user`.
    pub(crate) fn of(&self, entry: &Entry) -> String {
        let results: Vec<_> = entry.results().collect();
        match (entry.role, results.as_slice()) {
            (Role::System, _) => "system".to_owned(),
            (Role::Assistant, _) => "assistant".to_owned(),
            (_, []) => "user".to_owned(),
            (_, [result]) => match self.tools.get(&result.call) {
                Some(tool) => format!("{tool} result"),
                None => "tool result".to_owned(),
            },
            (_, [..]) => "tool results".to_owned(),
        }
    }
}

/// The beginning of what an entry says, in at most so many characters.
pub(crate) fn words(entry: &Entry, most: usize) -> String {
    let text = entry.readable();
    if !text.trim().is_empty() {
        return opening(&text, most);
    }
    let image = entry.parts.iter().any(|part| matches!(part.body, PartBody::Image(_)));
    if image { "(an image)".to_owned() } else { String::new() }
}

/// The beginning of a text on one line, in at most so many characters.
pub(crate) fn opening(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut left = most;
    for word in text.split_whitespace() {
        let gap = usize::from(!out.is_empty());
        let chars = word.chars().count() + gap;
        if chars > left {
            let cut = word.chars().take(left.saturating_sub(gap + 1));
            let cut: String = cut.collect();
            if !cut.is_empty() || out.is_empty() {
                out.extend((gap == 1).then_some(' '));
                out.push_str(&cut);
            }
            out.push('…');
            break;
        }
        out.extend((gap == 1).then_some(' '));
        out.push_str(word);
        left -= chars;
    }
    out
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    #[test]
    fn entries_are_named_as_in_reports() {
        let entries =
            chat().system("s").user("u").call("read", "{}").result("r").assistant("a").entries();
        let mut names = CallTools::default();
        assert!(!names.knows(&entries[3]));
        assert_eq!(names.of(&entries[3]), "tool result");
        entries.iter().for_each(|entry| names.learn(entry));
        assert!(names.knows(&entries[3]));
        let found: Vec<_> = entries.iter().map(|entry| names.of(entry)).collect();
        assert_eq!(found, ["system", "user", "assistant", "read result", "assistant"]);
    }

    #[test]
    fn beginnings_are_one_line() {
        let check = |text: &str, most, line: &str| assert_eq!(opening(text, most), line);
        check("a  b\n c", 9, "a b c");
        check("alpha beta", 10, "alpha beta");
        check("alpha beta", 9, "alpha be…");
        check("alpha beta", 6, "alpha…");
        check("alphabeta", 5, "alph…");
        check("", 5, "");
    }
}
