//! Beginnings of content ids, as people and models write them.
//!
//! Invariant: a beginning names an original only if no other one of the scope begins so. Called by
//! both stores.

use std::ops::RangeInclusive;

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;

/// Fewest digits that are looked up: fewer hit by chance.
const LEAST: usize = 4;

/// A beginning of an id, up to the whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prefix<'a> {
    text: &'a str,
    low: ContentId,
    high: ContentId,
}

impl<'a> Prefix<'a> {
    /// Reads 4 to 32 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] for anything else, since no original has such an id.
    pub(crate) fn parse(text: &'a str) -> Result<Self, StoreError> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect();
        let Some(digits) = digits.filter(|digits| (LEAST..=32).contains(&digits.len())) else {
            return Err(StoreError::Unknown { id: text.to_owned() });
        };
        let fill = |missing: u8| {
            let digit = |at: usize| digits.get(at).copied().unwrap_or(missing);
            let mut id = [0; 16];
            for (at, byte) in id.iter_mut().enumerate() {
                *byte = digit(2 * at) << 4 | digit(2 * at + 1);
            }
            ContentId(id)
        };
        Ok(Self { text, low: fill(0x0), high: fill(0xf) })
    }

    /// The ids that begin so.
    pub(crate) fn range(&self) -> RangeInclusive<ContentId> {
        self.low..=self.high
    }

    /// The only one of those found.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one.
    pub(crate) fn only<T>(&self, found: Vec<T>) -> Result<T, StoreError> {
        let count = found.len() as u64;
        match found.into_iter().next() {
            Some(one) if count == 1 => Ok(one),
            Some(_) => Err(StoreError::Ambiguous { id: self.text.to_owned(), count }),
            None => Err(StoreError::Unknown { id: self.text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, low: &str, high: &str) {
        let prefix = Prefix::parse(text).unwrap();
        assert_eq!(
            (prefix.low.to_string().as_str(), prefix.high.to_string().as_str()),
            (low, high)
        );
    }

    #[test]
    fn a_beginning_spans_the_ids_that_have_it() {
        check("12aB5", "12ab5000000000000000000000000000", "12ab5fffffffffffffffffffffffffff");
        let whole = "00112233445566778899aabbccddeeff";
        check(whole, whole, whole);
    }

    #[test]
    fn anything_else_is_unknown() {
        for text in ["", "12a", "12ag", "überall", "00112233445566778899aabbccddeeff0", "12 45"] {
            let error = Prefix::parse(text).unwrap_err();
            assert!(matches!(error, StoreError::Unknown { id } if id == text));
        }
    }

    #[test]
    fn only_one_may_match() {
        let prefix = Prefix::parse("abcd").unwrap();
        assert_eq!(prefix.only(vec![7]).unwrap(), 7);
        assert!(matches!(prefix.only(vec![7, 8]), Err(StoreError::Ambiguous { count: 2, .. })));
        assert!(matches!(prefix.only::<i32>(vec![]), Err(StoreError::Unknown { .. })));
    }
}
