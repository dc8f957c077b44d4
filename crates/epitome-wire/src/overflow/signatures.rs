//! Wordings of one's own beside the table's.
//!
//! Invariant: a wording says enough to tell a prompt that is too long from other refusals; one that
//! was taken in can be looked for in any text. Made from the options of a profile.

use std::sync::Arc;

use epitome_types::ContextOverflow;

use super::{judge, plain};

/// A wording has so many letters at least: fewer of them stand in refusals of any kind.
const LEAST: usize = 8;

/// How the prompt that is too long is told: the wordings that are built in, and before them those
/// that were given.
///
/// ```
/// use epitome_wire::OverflowSignatures;
///
/// let own = OverflowSignatures::new(["Zu viele Zeichen: {size}, erlaubt sind {limit}"]).unwrap();
/// let told = own.overflow(400, "Zu viele Zeichen: 5000, erlaubt sind 4096".as_bytes()).unwrap();
/// assert_eq!((told.limit, told.size), (Some(4096), Some(5000)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverflowSignatures {
    own: Arc<[String]>,
}

/// A wording cannot be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the wording `{wording}` {what}; expected words of the refusal, with `{{limit}}`, `{{size}}`, \
     `{{room}}` or `{{}}` for numbers and `…` for any text"
)]
pub struct SignatureError {
    wording: String,
    what: String,
}

impl OverflowSignatures {
    /// With these wordings: small and capital letters, quotes and the kind of white space make no
    /// difference.
    ///
    /// # Errors
    ///
    /// When one has a brace that names no number, or hardly any words.
    pub fn new<S: AsRef<str>>(
        wordings: impl IntoIterator<Item = S>,
    ) -> Result<Self, SignatureError> {
        let own = wordings.into_iter().map(|wording| checked(wording.as_ref()));
        Ok(Self { own: own.collect::<Result<_, _>>()? })
    }

    /// As [`overflow`](super::overflow).
    pub fn overflow(&self, status: u16, body: &[u8]) -> Option<ContextOverflow> {
        judge(status, body, self.own.iter().map(String::as_str))
    }
}

/// A wording, as the texts are spelt that it is looked for in.
fn checked(wording: &str) -> Result<String, SignatureError> {
    let refused = |what: String| SignatureError { wording: wording.to_owned(), what };
    let plain = plain(wording.trim().as_bytes());
    let mut rest = &*plain;
    let mut letters = 0;
    while let Some(at) = rest.find(['{', '}', '…']) {
        letters += rest[..at].chars().filter(|c| c.is_alphanumeric()).count();
        rest = match rest[at..].strip_prefix('{').map(|slot| slot.split_once('}')) {
            Some(Some((name, behind))) if ["limit", "size", "room", ""].contains(&name) => behind,
            Some(Some((name, _))) => return Err(refused(format!("has `{{{name}}}`"))),
            Some(None) => return Err(refused("has a brace that is not closed".to_owned())),
            None if rest[at..].starts_with('}') => {
                return Err(refused("has a brace that is not opened".to_owned()));
            }
            None => &rest[at + '…'.len_utf8()..],
        };
    }
    letters += rest.chars().filter(|c| c.is_alphanumeric()).count();
    match letters < LEAST {
        true => Err(refused(format!("has {letters} letters, and needs {LEAST}"))),
        false => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wording: &str, body: &str, limit: Option<u64>) {
        let told = OverflowSignatures::new([wording]).unwrap().overflow(400, body.as_bytes());
        assert_eq!(told.map(|told| told.limit), Some(limit), "{wording}");
    }

    #[test]
    fn wordings_of_ones_own_are_found() {
        check("Das ist ZU LANG", "Fehler: \"das ist\nzu lang\"", None);
        check("\"at most\" {limit} of … letters", "AT MOST 4,096 of any letters", Some(4096));
        // Those that are built in are there as well, behind them.
        check("something else", "prompt is too long: 9 tokens > 8 maximum", Some(8));
        check("tokens > {limit} maximum", "prompt is too long: 9 tokens > 8 maximum", Some(8));
    }

    #[test]
    fn what_is_no_overflow_stays_none() {
        let own = OverflowSignatures::new(["too many letters"]).unwrap();
        assert_eq!(own.overflow(200, b"too many letters"), None);
        assert_eq!(own.overflow(400, b"rate limit: too many letters"), None);
        assert_eq!(own.overflow(400, b"bad key"), None);
        assert_eq!(OverflowSignatures::default().overflow(400, b"too many letters"), None);
    }

    #[track_caller]
    fn check_refused(wording: &str, expected: &str) {
        let error = OverflowSignatures::new([wording]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the wording `{wording}` {expected};")), "{error}");
    }

    #[test]
    fn what_says_too_little_or_names_no_number_is_refused() {
        check_refused("", "has 0 letters, and needs 8");
        check_refused("…{limit}…", "has 0 letters, and needs 8");
        check_refused("too long", "has 7 letters, and needs 8");
        check_refused("the most is {most} here", "has `{most}`");
        check_refused("the most is {limit here", "has a brace that is not closed");
        check_refused("the most is limit} here", "has a brace that is not opened");
    }
}
