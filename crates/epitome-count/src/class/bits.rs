//! The classes of characters that the patterns of the vocabularies tell apart, one bit each, so
//! that a set of classes is a mask. Shared by the build script and the scanner.

/// `\p{Lu}` and `\p{Lt}`.
pub(crate) const UPPER: u8 = 1;
/// `\p{Ll}`.
pub(crate) const LOWER: u8 = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`: letters that count as upper and as lower case.
pub(crate) const UNCASED: u8 = 1 << 2;
/// `\p{M}`.
pub(crate) const MARK: u8 = 1 << 3;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 1 << 4;
/// `\s` without line ends.
pub(crate) const SPACE: u8 = 1 << 5;
/// Carriage return and line feed.
pub(crate) const NEWLINE: u8 = 1 << 6;
/// Everything else.
pub(crate) const OTHER: u8 = 1 << 7;
