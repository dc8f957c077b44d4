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

/// Tells whether a store of this name can be opened: a path of a file.
///
/// # Errors
///
/// With a scheme that is not known, with what is.
pub fn known(text: &str) -> Result<(), String> {
    let Some(scheme) = scheme(text) else { return Ok(()) };
    let what = match scheme.to_ascii_lowercase().as_str() {
        "postgres" | "postgresql" => "is not supported by this build",
        _ => "is no kind of store",
    };
    Err(format!(
        "`{scheme}://` {what}; expected the path of a file, as `epitome.db`, which SQLite keeps; a \
         folder of such a name is written `./{text}`"
    ))
}
