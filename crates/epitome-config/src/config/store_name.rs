//! How a store is named: by the path of a file, or by a URL.
//!
//! Invariant: pure. Asked where paths are resolved, and before a store is opened.

/// Returns what a text that names a store by a URL begins with, up to its colon.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    (scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain))
        .then_some(scheme)
}

/// Tells whether a store of this name can be opened: the path of a file, or the address of a database
/// where this build knows them.
///
/// # Errors
///
/// With a scheme that is not known, with what is.
pub fn known(text: &str) -> Result<(), String> {
    let Some(scheme) = scheme(text) else { return Ok(()) };
    let is_database = matches!(scheme.to_ascii_lowercase().as_str(), "postgres" | "postgresql");
    let (what, or_database) = match (is_database, cfg!(feature = "postgres")) {
        (true, true) => return Ok(()),
        (true, false) => ("is not supported by this build", ""),
        (false, true) => ("is no kind of store", ", or `postgres://USER@HOST/DATABASE`"),
        (false, false) => ("is no kind of store", ""),
    };
    Err(format!(
        "`{scheme}://` {what}; expected the path of a file, as `epitome.db`, which SQLite \
         keeps{or_database}; a folder of such a name is written `./{text}`"
    ))
}
