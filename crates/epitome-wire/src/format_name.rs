//! The name of a format, read.
//!
//! Invariant: it is inverse to how formats are displayed. Called by whoever is given a name.

use std::str::FromStr;

use crate::{Format, WireError};

impl FromStr for Format {
    type Err = WireError;

    fn from_str(name: &str) -> Result<Self, WireError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| WireError::UnknownName { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(!format.nearest().is_recording());
        }
        let error = "gemini".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("`gemini`") && error.contains("`swe-agent`"), "{error}");
    }
}
