//! Cuts a page into tags and texts, as forgiving as browsers are.
//!
//! Invariant: the spans of the pieces lie one behind the other and together cover the whole text;
//! no bytes make it panic, and its work grows with the text alone. Called by [`crate::page`].

use std::ops::Range;

/// One piece of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HtmlPiece<'a> {
    /// `<name attributes>`
    Open { name: &'a str, attributes: &'a str },
    /// `</name>`
    Close(&'a str),
    /// What stands between tags, with its entities as they are written.
    Text(&'a str),
    /// What is in an element whose content holds no tags, such as a script.
    Raw(&'a str),
    /// A comment, a doctype or the like.
    Aside,
}

/// Elements whose content ends at their closing tag and nowhere else.
const RAW: [&str; 5] = ["script", "style", "iframe", "noembed", "noframes"];

/// The pieces of a page, in order.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<'a> {
    text: &'a str,
    at: usize,
    /// The raw element that was opened last, while its content is still to come.
    raw: Option<&'a str>,
    /// Signs of which none is left, so that nobody looks for them again.
    gone: Vec<&'static str>,
    /// No tag ends any more: the rest is text.
    plain: bool,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0, raw: None, gone: Vec::new(), plain: false }
    }

    /// The place behind the next `sign`, from a place on.
    fn behind(&mut self, from: usize, sign: &'static str) -> Option<usize> {
        if self.gone.contains(&sign) {
            return None;
        }
        let found = self.text.get(from..)?.find(sign).map(|at| from + at + sign.len());
        if found.is_none() {
            self.gone.push(sign);
        }
        found
    }

    /// The content of a raw element: up to its closing tag, or to the end.
    fn raw(&mut self, name: &str) -> usize {
        let bytes = self.text.as_bytes();
        let closes = |at: usize| {
            let end = at + 2 + name.len();
            bytes[at + 1] == b'/'
                && bytes
                    .get(at + 2..end)
                    .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
                && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)
        };
        let starts = self.text[self.at..].match_indices('<').map(|(at, _)| self.at + at);
        let mut starts = starts.filter(|at| at + 1 < bytes.len());
        starts.find(|at| closes(*at)).unwrap_or(self.text.len())
    }

    /// A tag, comment or the like that begins here; `None` where the `<` is only a sign.
    fn markup(&mut self) -> Option<(usize, HtmlPiece<'a>)> {
        let start = self.at;
        let rest = &self.text[start + 1..];
        if rest.starts_with("!--") {
            // `<!-->` is a whole comment.
            let end = self.behind(start + 2, "-->").or_else(|| self.behind(start + 1, ">"))?;
            return Some((end, HtmlPiece::Aside));
        }
        if rest.starts_with("![CDATA[") {
            let end = self.behind(start, "]]>")?;
            return Some((end, HtmlPiece::Text(&self.text[start + 9..end - 3])));
        }
        if rest.starts_with(['!', '?']) {
            return Some((self.behind(start, ">")?, HtmlPiece::Aside));
        }
        let closing = rest.strip_prefix('/');
        let inner = closing.unwrap_or(rest);
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '<');
        let name = &inner[..inner.find(ends).unwrap_or(inner.len())];
        let behind = self.text.len() - inner.len() + name.len();
        let Some(end) = self.tag_end(behind) else {
            self.plain = true;
            return None;
        };
        let piece = match closing {
            Some(_) => HtmlPiece::Close(name),
            None => HtmlPiece::Open { name, attributes: &self.text[behind..end - 1] },
        };
        Some((end, piece))
    }

    /// The place behind the `>` that ends a tag: the first outside of a quoted value.
    fn tag_end(&mut self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        let mut value = false;
        while let Some(byte) = bytes.get(at) {
            let quote = match byte {
                b'>' => return Some(at + 1),
                b'"' if value => "\"",
                b'\'' if value => "'",
                _ => "",
            };
            value = *byte == b'=' || value && byte.is_ascii_whitespace();
            at += 1;
            if !quote.is_empty() {
                at = self.behind(at, quote).unwrap_or(at);
            }
        }
        None
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (Range<usize>, HtmlPiece<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        if let Some(name) = self.raw.take() {
            let end = self.raw(name);
            if end > start {
                self.at = end;
                return Some((start..end, HtmlPiece::Raw(&self.text[start..end])));
            }
        }
        if !self.plain
            && self.text[start..].starts_with('<')
            && let Some((end, piece)) = self.markup()
        {
            if let HtmlPiece::Open { name, .. } = piece {
                self.raw = RAW.iter().any(|raw| name.eq_ignore_ascii_case(raw)).then_some(name);
            }
            self.at = end;
            return Some((start..end, piece));
        }
        // Behind its first character, since that may be a `<` that opens nothing.
        let skip = self.text[start..].chars().next().map_or(1, char::len_utf8);
        let next = self.text[start + skip..].find('<').filter(|_| !self.plain);
        self.at = next.map_or(self.text.len(), |at| start + skip + at);
        Some((start..self.at, HtmlPiece::Text(&self.text[start..self.at])))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[HtmlPiece<'_>]) {
        let found: Vec<HtmlPiece<'_>> = Pieces::of(text).map(|(_, piece)| piece).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn tags_are_told_from_signs() {
        let open = |name, attributes| HtmlPiece::Open { name, attributes };
        check("a<b c='>'>d", &[HtmlPiece::Text("a"), open("b", " c='>'"), HtmlPiece::Text("d")]);
        check("1 < 2 <3", &[HtmlPiece::Text("1 "), HtmlPiece::Text("< 2 "), HtmlPiece::Text("<3")]);
        check("<br/></P >", &[open("br", "/"), HtmlPiece::Close("P")]);
        check("<a b=\"c>d", &[open("a", " b=\"c"), HtmlPiece::Text("d")]);
        check("<a b", &[HtmlPiece::Text("<a b")]);
        check("<!-- <p> --><!-->x", &[HtmlPiece::Aside, HtmlPiece::Aside, HtmlPiece::Text("x")]);
        check("<![CDATA[a<b]]>", &[HtmlPiece::Text("a<b")]);
    }

    #[test]
    fn scripts_end_at_their_closing_tag_only() {
        let open = HtmlPiece::Open { name: "SCRIPT", attributes: "" };
        let code = "if (a</b/.c) '</p>'";
        check(
            &format!("<SCRIPT>{code}</script>x"),
            &[open, HtmlPiece::Raw(code), HtmlPiece::Close("script"), HtmlPiece::Text("x")],
        );
        check("<SCRIPT></scripts>", &[open, HtmlPiece::Raw("</scripts>")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_cover_any_text(text in "(<|>|/|!|--|'|\"|=|a|script|ä| |\\[CDATA\\[|\\]\\]>|.){0,80}") {
            let mut at = 0;
            for (span, _) in Pieces::of(&text) {
                prop_assert_eq!(span.start, at);
                prop_assert!(span.end > at);
                at = span.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
