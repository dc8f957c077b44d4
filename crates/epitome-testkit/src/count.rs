//! A counter whose figures can be worked out by hand.

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ImagePart;

/// How many tokens an image is.
const IMAGE: u64 = 100;

/// Counts by a simple rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedCounter {
    /// A token for each word, as white space parts them.
    Words,
    /// A token for every four characters begun. The tokens of a whole are never more than those
    /// of its pieces.
    Quarters,
}

impl TokenCounter for FixedCounter {
    fn id(&self) -> &str {
        match self {
            Self::Words => "words",
            Self::Quarters => "quarters",
        }
    }

    fn count(&self, text: &str) -> u64 {
        match self {
            Self::Words => text.split_whitespace().count() as u64,
            Self::Quarters => text.chars().count().div_ceil(4) as u64,
        }
    }

    fn image(&self, _image: &ImagePart) -> u64 {
        IMAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_rule() {
        assert_eq!(FixedCounter::Words.count("one two\nthree"), 3);
        assert_eq!(FixedCounter::Quarters.count("12345"), 2);
        assert_eq!(FixedCounter::Quarters.count(""), 0);
    }
}
