//! How a store is named: by the path of a file, or by a URL.
//!
//! Invariant: pure. Asked where paths are resolved, and before a store is opened.

/// What begins a URL and no path, whatever follows the colon: nobody calls a file so, and a slash is
/// soon left out.
const SCHEMES: [&str; 6] = ["postgres", "postgresql", "sqlite", "sqlite3", "mysql", "file"];

/// Returns what a text that names a store by a URL begins with, up to its colon. A URL that lacks a
/// slash is one, too: taken for a path it would make a folder that is called like the scheme.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_plain =
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(plain);
    let is_known = || SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    // One letter is a drive.
    let is_url = rest.starts_with("//") || (scheme.len() > 1 && rest.starts_with('/'));
    (is_plain && (is_url || is_known())).then_some(scheme)
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
    let rest = &text[scheme.len() + 1..];
    let slashes = ["//", "/"].into_iter().find(|slashes| rest.starts_with(slashes));
    let slashes = slashes.unwrap_or_default();
    Err(format!(
        "`{scheme}:{slashes}` {what}; expected the path of a file, as `epitome.db`, which SQLite \
         keeps{or_database}; a folder of such a name is written `./{text}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths_are_told_apart() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(scheme(text), expected);
        check("postgres://db/notes", Some("postgres"));
        check("mysql://db", Some("mysql"));
        for near in ["postgres:/x", "postgres:x", "postgres:", "POSTGRESQL:/db/x"] {
            check(near, near.split(':').next());
        }
        check("sqlite:/srv/a.db", Some("sqlite"));
        check("other:/srv/a.db", Some("other"));
        for path in ["a.db", "./postgres:/x", "/srv/a:/b.db", "C:/a.db", "9:00/a.db", "notes:9.db"]
        {
            check(path, None);
        }
    }
}
