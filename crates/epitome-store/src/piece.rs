//! A passage of what was said, as it is ranked.
//!
//! Invariant: plain data; which passage follows which is decided here alone. Made by both stores.

use epitome_kernel::types::ContentId;

/// A passage as the ranking sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Its text.
    pub(crate) text: &'a str,
    /// The original it was cut from.
    pub(crate) origin: ContentId,
    /// Its place: neighbours of the same origin differ by one and are returned as one excerpt, where
    /// the same others said them.
    pub(crate) order: i64,
    /// Who else said it, as a hash; 0 for nobody.
    pub(crate) also: u64,
    /// Whether it goes on where the one before it ended, without so much as a line end between them.
    pub(crate) goes_on: bool,
}

#[cfg(test)]
impl<'a> Piece<'a> {
    /// A passage that nobody else said.
    pub(crate) fn alone(text: &'a str, origin: ContentId, order: i64) -> Self {
        Self { text, origin, order, also: 0, goes_on: false }
    }
}

impl Piece<'_> {
    /// Whether `next` continues this one.
    pub(crate) fn precedes(&self, next: &Self) -> bool {
        self.origin == next.origin && self.order + 1 == next.order
    }

    /// Whether `next` continues this one in all who said it.
    pub(crate) fn leads_to(&self, next: &Self) -> bool {
        self.precedes(next) && self.also == next.also
    }
}
