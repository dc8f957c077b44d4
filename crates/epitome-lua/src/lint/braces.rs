//! Words in braces: what Epitome fills in where a policy words a text.
//!
//! Invariant: only what is nearly such a word is a mistake; any other text in braces may be meant as it
//! stands. Called by the check of answers.

use epitome_kernel::nearest;

/// The words that are filled in, by the table and the field that hold the text.
const FILLED: &[(&str, &[&str], &[&str])] = &[
    ("SummaryPrompt", &["system", "user"], &["conversation", "must_keep", "goals"]),
    ("ToolResultAnswer", &["text"], &["id", "tokens", "lines", "saved", "file"]),
    ("Render", &["text"], &["id", "messages", "lines", "tokens", "call"]),
];

/// The first word in braces that nobody fills and that is nearly one that is filled in.
pub(super) fn unfilled(table: &str, field: &str, text: &str) -> Option<String> {
    let (.., words) = FILLED.iter().find(|one| one.0 == table && one.1.contains(&field))?;
    braced(text).filter(|word| !words.contains(word)).find_map(|word| {
        let near = nearest(word, words.iter().copied())?;
        Some(format!("nobody fills `{{{word}}}`; did you mean `{{{near}}}`?"))
    })
}

/// The words that stand in braces, alone.
fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| {
        let word = rest.split_once('}')?.0;
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        (!word.is_empty() && word.bytes().all(is_word)).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use epitome_kernel::HOOKS;
    use epitome_types::hook::{TableShape, ValueShape};

    use super::*;

    fn tables(shape: &ValueShape, found: &mut Vec<&'static TableShape>) {
        match shape {
            ValueShape::Table(table) => found.push(table),
            ValueShape::Optional(inner) | ValueShape::List(inner) => tables(inner, found),
            ValueShape::Either(shapes) => shapes.iter().for_each(|shape| tables(shape, found)),
            _ => {}
        }
    }

    /// The docs are what authors read: they name the same words.
    #[test]
    fn the_docs_name_what_is_filled_in() {
        let mut found = Vec::new();
        HOOKS.iter().for_each(|hook| tables(&hook.answer, &mut found));
        for (name, fields, words) in FILLED {
            let table = found.iter().find(|table| table.name == *name).unwrap();
            let docs = table.fields.iter().filter(|field| fields.contains(&field.name));
            let docs: String = [table.doc].into_iter().chain(docs.map(|it| it.doc)).collect();
            let mut said: Vec<&str> = braced(&docs).collect();
            let mut words = words.to_vec();
            said.sort_unstable();
            words.sort_unstable();
            assert_eq!(said, words, "{name}: {docs}");
        }
    }
}
