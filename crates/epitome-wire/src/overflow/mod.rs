//! Tells a prompt that is too long from any other refusal, and reads the figures that come with it.
//!
//! Invariant: one table for all providers and servers, each line a wording that was seen; a rate
//! limit, an answer that alone is too large and an image that is too large are no overflow. Called
//! by whoever sends requests, before the refusal reaches the client.

mod pattern;
mod signatures;
mod table;

use epitome_types::ContextOverflow;

use pattern::OverflowFigures;
pub use signatures::{OverflowSignatures, SignatureError};

/// How much of a body is looked at: refusals are short.
const MOST: usize = 16 * 1024;

/// What other refusals say that speak of tokens and limits too.
const OTHERS: [&str; 5] =
    ["tokens per min", "tokens per day", "rate limit", "rate_limit", "tpm limit"];

/// Whether a provider refused a request as too long, judged by the status and the body of its
/// answer. Of an error within a stream give the error's JSON and status 400.
pub fn overflow(status: u16, body: &[u8]) -> Option<ContextOverflow> {
    judge(status, body, std::iter::empty())
}

/// The same with wordings of one's own before those of the table.
fn judge<'s>(
    status: u16,
    body: &[u8],
    own: impl Iterator<Item = &'s str>,
) -> Option<ContextOverflow> {
    if !matches!(status, 400 | 413 | 422 | 500) {
        return None;
    }
    let text = plain(body.get(..MOST).unwrap_or(body));
    if OTHERS.iter().any(|other| text.contains(other)) {
        return None;
    }
    let mut all = own.chain(table::SIGNATURES.iter().copied());
    match all.find_map(|signature| pattern::find(signature, &text)) {
        Some(OverflowFigures { limit: Some(limit), room, .. }) if room >= limit => None,
        Some(OverflowFigures { limit, size, room }) => {
            Some(ContextOverflow { limit, size: size.map(|size| size.saturating_add(room)) })
        }
        None if status == 413 && !text.contains("image") => Some(ContextOverflow::default()),
        None => None,
    }
}

/// The text of a body as the table spells it: small letters, white space as one space, no quotes,
/// and escapes undone, however often JSON was put into JSON.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(mut c) = rest.next() {
        if c == '\\' {
            let unescaped = rest.as_str().trim_start_matches('\\');
            rest = unescaped.chars();
            c = match rest.next() {
                Some('n' | 'r' | 't') => ' ',
                Some('u') => {
                    let digits = rest.as_str().get(..4);
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    rest = rest.as_str().get(4..).unwrap_or_default().chars();
                    code.and_then(char::from_u32).unwrap_or(' ')
                }
                Some(other) => other,
                None => break,
            };
        }
        match c {
            '"' | '\'' | '`' | '\u{2019}' => {}
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

#[cfg(test)]
mod tests;
