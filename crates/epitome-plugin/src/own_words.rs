//! Whether a digest speaks in the text's own words.
//!
//! Invariant: what stands in `[… ]` is the plugin's, each word outside of it has to be a word of
//! the text; a word that a note cuts has to be a part of one. Called at each
//! digest, whoever made it, and by the laws.

use rustc_hash::FxHashSet;

use crate::text::shape;

/// Begins a note.
const OPEN: &str = "[…";
/// Stands where a note was.
const NOTE: char = '\u{0}';

/// The first word that is not the text's.
pub(crate) fn check(text: &str, digest: &str) -> Result<(), String> {
    let said = without_notes(text, digest)?;
    // The text is much longer than its digest, so what is remembered is what the digest says.
    let mut strange: FxHashSet<&str> = words(&said).collect();
    remove(&mut strange, text);
    if !strange.is_empty() {
        remove(&mut strange, &shape::plain(text));
        remove(&mut strange, &unescaped(text));
    }
    if strange.is_empty() {
        return Ok(());
    }
    let plain = shape::plain(text);
    // What a format writes in ASCII may be said in the letters that it stands for.
    let escapes = text.contains('&') || text.contains("\\u");
    let invented = words(&said).filter(|word| strange.contains(word)).find(|word| {
        let cut = |c: Option<char>| c == Some(NOTE) || c == Some('…');
        let start = word.as_ptr() as usize - said.as_ptr() as usize;
        let is_cut = cut(said[..start].chars().next_back())
            || cut(said[start + word.len()..].chars().next());
        !(is_cut && (text.contains(*word) || plain.contains(*word)) || escapes && !word.is_ascii())
    });
    match invented {
        None => Ok(()),
        Some(word) => Err(format!(
            "`{word}` stands in its digest and not in the text: mark what is not the text's own \
             as `[… {word}]`"
        )),
    }
}

/// Takes the words of a text out of some words.
fn remove(words_left: &mut FxHashSet<&str>, text: &str) {
    for word in words(text) {
        if words_left.is_empty() {
            return;
        }
        words_left.remove(word);
    }
}

/// The digest with a sign in the place of each note. A text may hold what begins like one.
fn without_notes(text: &str, digest: &str) -> Result<String, String> {
    let mut out = String::with_capacity(digest.len());
    let mut rest = digest;
    while let Some((before, note)) = rest.split_once(OPEN) {
        out.push_str(before);
        out.push(NOTE);
        let mut depth = 1;
        let end = note.find(|c: char| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0 || c == '\n'
        });
        let closed = end.filter(|end| note.as_bytes()[*end] == b']');
        let Some(end) = closed else {
            if !text.contains(OPEN) {
                let begun: String = note.chars().take(30).collect();
                return Err(format!("a note is not closed on its line: `{OPEN}{begun}`"));
            }
            rest = note;
            continue;
        };
        rest = &note[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The text without the escapes of strings between its words.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
            out.push(' ');
        } else {
            out.push(c);
        }
    }
    out
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn check(text: &str, digest: &str, expected: bool) {
        assert_eq!(super::check(text, digest).is_ok(), expected, "{digest}");
    }

    #[test]
    fn words_are_the_texts_and_notes_are_not() {
        check("one two three", "[… 3 words]\ntwo one", true);
        check("one two three", "one four", false);
        check("took 512 ms", "took 12 ms", false);
        check("a [x] b", "a [… see [x] again] b", true);
        check("a b", "a [… b", false);
        check("a [… b", "a [… [… 3 lines]\nb", true);
        check("a b", "a [… b\n]", false);
    }

    #[test]
    fn cut_words_are_parts_of_words() {
        check("unbelievable", "unb[… 6 characters]able", true);
        check("unbelievable", "unb able", false);
        check("unbelievable", "unb…", true);
    }

    #[test]
    fn formats_may_be_undone() {
        check("\u{1b}[31mred\u{1b}[0m", "red", true);
        check(r#""one\ntwo""#, "two", true);
        check("caf&eacute;", "café", true);
        check("cafe", "café", false);
    }

    proptest! {
        #[test]
        fn a_text_is_in_its_own_words(text in "[a-z0-9 .,\\n\"é]{0,200}") {
            prop_assert!(super::check(&text, &text).is_ok());
        }

        #[test]
        fn no_digest_is_too_odd(text in "\\PC{0,60}", digest in "[\\[\\]…a\\n\u{0}é]{0,40}") {
            super::check(&text, &digest).ok();
        }
    }
}
