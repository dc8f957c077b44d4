//! Files that several sessions write to, block by block: a log of the work, an archive.
//!
//! Invariant: every block begins with a line that names its session, so what a session wrote can be
//! taken out again and nothing else. Called by live sessions.

/// How every block begins.
pub(crate) const BEGINS: &str = "<!-- session ";

/// A text as a block of a session: a line that names the session goes before it.
pub fn block(session: &str, text: &str) -> String {
    // What looks like the beginning of a block is one; a space before it changes nothing in
    // Markdown.
    let text = text.replace(&format!("\n{BEGINS}"), &format!("\n {BEGINS}"));
    let space = if text.starts_with(BEGINS) { " " } else { "" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{}{space}{text}{end}", heading(session))
}

pub(crate) fn heading(session: &str) -> String {
    let session: Vec<_> = session.split_whitespace().collect();
    format!("{BEGINS}{} -->\n", session.join(" ").replace("--", "- -"))
}
