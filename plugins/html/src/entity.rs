//! Entities such as `&amp;` as the characters that they stand for.
//!
//! Invariant: what is no known entity stays as it is written. Called by [`crate::page`].

use std::borrow::Cow;

/// Names are at most so long; what stands further behind a `&` belongs to no entity.
const LONGEST: usize = 10;

/// The text with its entities spelled out.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(LONGEST + 1).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((character(&after[..end])?, &after[end + 1..])));
        match known {
            Some((character, behind)) => {
                out.push(character);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.into()
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || c.is_whitespace());
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

/// Those that pages use; all others may be written as the character itself.
const NAMES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("shy", '\u{ad}'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("lsaquo", '‹'),
    ("rsaquo", '›'),
    ("bull", '•'),
    ("middot", '·'),
    ("sect", '§'),
    ("para", '¶'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("times", '×'),
    ("divide", '÷'),
    ("minus", '−'),
    ("ne", '≠'),
    ("le", '≤'),
    ("ge", '≥'),
    ("infin", '∞'),
    ("frac12", '½'),
    ("frac14", '¼'),
    ("frac34", '¾'),
    ("sup2", '²'),
    ("sup3", '³'),
    ("micro", 'µ'),
    ("cent", '¢'),
    ("pound", '£'),
    ("yen", '¥'),
    ("euro", '€'),
    ("larr", '←'),
    ("rarr", '→'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("harr", '↔'),
    ("check", '✓'),
    ("agrave", 'à'),
    ("aacute", 'á'),
    ("acirc", 'â'),
    ("auml", 'ä'),
    ("Auml", 'Ä'),
    ("aring", 'å'),
    ("aelig", 'æ'),
    ("ccedil", 'ç'),
    ("egrave", 'è'),
    ("eacute", 'é'),
    ("Eacute", 'É'),
    ("ecirc", 'ê'),
    ("euml", 'ë'),
    ("iacute", 'í'),
    ("icirc", 'î'),
    ("ntilde", 'ñ'),
    ("oacute", 'ó'),
    ("ocirc", 'ô'),
    ("ouml", 'ö'),
    ("Ouml", 'Ö'),
    ("oslash", 'ø'),
    ("szlig", 'ß'),
    ("uacute", 'ú'),
    ("uuml", 'ü'),
    ("Uuml", 'Ü'),
    ("alpha", 'α'),
    ("beta", 'β'),
    ("pi", 'π'),
    ("sigma", 'σ'),
    ("lambda", 'λ'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_become_characters_and_the_rest_stays() {
        let check = |text: &str, expected: &str| assert_eq!(decode(text), expected);
        check("a &amp; b &lt;c&gt;&nbsp;&#8212; &#x2014;", "a & b <c> — —");
        check("R&D, &unknown; & &; &#xZZ; &#1114112;", "R&D, &unknown; & &; &#xZZ; &#1114112;");
        check("&#0;&#10;x", "&#0;\nx");
        check("&amp;lt;", "&lt;");
        check("&ü;", "&ü;");
    }
}
