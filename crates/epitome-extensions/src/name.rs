//! The names of extensions.
//!
//! Invariant: pure. Asked wherever one is looked for or made.

/// Whether something may be called so: letters, digits, `-` and `_`, as one can write them in Lua,
/// TOML and a path alike.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    !name.is_empty() && name.chars().all(plain)
}
