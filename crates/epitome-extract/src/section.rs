//! What the lines of a text stand under.
//!
//! Invariant: lines of one section stand under the same heading and the same names of columns. Called by
//! [`crate::sections`], and by whoever writes lines down.

use std::rc::Rc;

/// What lines stand under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextSection {
    /// The line that opens the section, or the keys that lead to it.
    pub(crate) heading: String,
    /// The line that names the columns.
    pub(crate) header: String,
    /// Whether its lines say too little without the heading: rows and fields, unlike sentences.
    pub(crate) is_leaning: bool,
}

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionLine<'t> {
    /// Where it begins.
    pub(crate) start: usize,
    /// Itself, without its end and the number that a reader puts in front.
    pub(crate) text: &'t str,
}

/// The section of each line, and whether the line is a head of it.
pub(crate) type LineSections = Vec<(Option<Rc<TextSection>>, bool)>;
