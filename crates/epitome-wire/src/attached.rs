//! What a model is shown of data that is attached to a message: a text, or the pages of a document.
//!
//! Invariant: reads the data once, in its order; data of a kind that it does not know shows nothing.
//! Called where blocks are passed through.

use std::ops::AddAssign;

use crate::base64::decode;

/// How the data of a document begins.
const PDF: &[u8] = b"%PDF-";

/// What begins the entry of one page in a document, blanks left out.
const PAGE: &[u8] = b"/Type/Page";

/// A document whose pages are listed in compressed form has a page for so many bytes.
const BYTES_PER_PAGE: usize = 64 << 10;

/// What a model reads of attached data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Its text, where it is one.
    pub(crate) text: String,
    /// Pages that are shown as images with their text.
    pub(crate) pages: u32,
}

impl Attached {
    /// A text that stands there as it is.
    pub(crate) fn text(text: &str) -> Self {
        Self { text: text.to_owned(), pages: 0 }
    }

    /// Reads what stands in a string of a request: Base64, maybe behind the head of a data URL, or
    /// the text itself.
    pub(crate) fn read(data: &str) -> Self {
        let encoded = data.split_once(";base64,").map_or(data, |(_, encoded)| encoded);
        if !is_base64(encoded) {
            return Self::text(data);
        }
        let bytes = decode(encoded, usize::MAX);
        if bytes.starts_with(PDF) {
            return Self { text: String::new(), pages: pages(&bytes) };
        }
        let is_text =
            |text: &String| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
        let text = String::from_utf8(bytes).ok().filter(is_text);
        Self { text: text.unwrap_or_default(), pages: 0 }
    }
}

impl AddAssign for Attached {
    fn add_assign(&mut self, other: Self) {
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&other.text);
        self.pages = self.pages.saturating_add(other.pages);
    }
}

fn is_base64(data: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-\r\n".contains(&byte);
    data.bytes().all(is_letter)
}

/// The pages of a document, at least one.
fn pages(pdf: &[u8]) -> u32 {
    let names = (0..pdf.len()).filter(|at| pdf[*at] == b'/' && is_page(&pdf[*at..]));
    let pages = match names.count() {
        0 => pdf.len().div_ceil(BYTES_PER_PAGE),
        listed => listed,
    };
    u32::try_from(pages).unwrap_or(u32::MAX)
}

/// Whether the entry of one page begins here: `/Type /Page`, and not `/Type /Pages`.
fn is_page(rest: &[u8]) -> bool {
    let mut letters = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
    PAGE.iter().all(|byte| letters.next() == Some(byte))
        && letters.next().is_some_and(|next| !next.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base64::encode;

    #[track_caller]
    fn check(data: &str, text: &str, pages: u32) {
        assert_eq!(Attached::read(data), Attached { text: text.to_owned(), pages });
    }

    #[test]
    fn a_text_is_read_however_it_is_written() {
        check("Two words.", "Two words.", 0);
        let encoded = encode("key = 1\nother = ü\n".as_bytes());
        check(&encoded, "key = 1\nother = ü\n", 0);
        check(&format!("data:text/plain;base64,{encoded}"), "key = 1\nother = ü\n", 0);
    }

    #[test]
    fn the_pages_of_a_document_are_counted() {
        let pdf =
            b"%PDF-1.4\n<</Type /Pages /Count 2>>\n<</Type /Page >>\n<< /Type\n/Page/Parent 1>>";
        check(&encode(pdf), "", 2);
        let mut packed = b"%PDF-1.7\n".to_vec();
        packed.resize(3 * BYTES_PER_PAGE, 7);
        check(&encode(&packed), "", 3);
    }

    #[test]
    fn other_data_shows_nothing() {
        check("", "", 0);
        check(&encode(b"RIFF\0\0\0\0WAVE"), "", 0);
        check(&encode(&[0xFF, 0xFE, 0xFA]), "", 0);
    }
}
