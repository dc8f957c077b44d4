//! The marks that a body stands between: fences, tags, lines of signs.
//!
//! Invariant: a mark is known by its shape in one line. Called by the scanner of file copies.

use super::label;

/// What opens a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence<'t> {
    sign: char,
    length: usize,
    pub(super) info: &'t str,
}

impl<'t> Fence<'t> {
    /// The fence that a line opens.
    pub(super) fn opened(line: &'t str) -> Option<Self> {
        let line = line.trim();
        let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let info = line.trim_start_matches(sign);
        let length = line.len() - info.len();
        (length >= 3 && !info.contains('`')).then_some(Self { sign, length, info: info.trim() })
    }

    /// Whether a line closes it.
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.sign)
    }
}

/// A tag that a line opens, and what follows it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenedTag<'t> {
    pub(super) name: &'t str,
    /// The path that it names, as its name or in an attribute.
    pub(super) path: Option<String>,
    /// What follows on its line.
    pub(super) rest: &'t str,
}

impl<'t> OpenedTag<'t> {
    pub(super) fn of(line: &'t str) -> Option<Self> {
        let inner = line.trim().strip_prefix('<')?;
        let (tag, rest) = inner.split_once('>')?;
        let is_name = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
        let name = tag.split(|c: char| c.is_whitespace() || c == '=').next()?;
        let is_tag = name.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_')
            && name.chars().all(is_name)
            && !tag.ends_with('/');
        let path = quoted(&tag[name.len()..]).into_iter().find_map(label::of_value);
        let path = path.or_else(|| label::of_value(name).filter(|_| name.contains('.')));
        is_tag.then_some(Self { name, path, rest })
    }

    /// What closes it.
    pub(super) fn end(&self) -> String {
        format!("</{}>", self.name)
    }
}

/// The values of attributes.
fn quoted(attributes: &str) -> Vec<&str> {
    let mut values = Vec::new();
    let mut rest = attributes;
    while let Some((_, value)) = rest.split_once('=') {
        let value = value.trim_start();
        let sign = value.chars().next().filter(|sign| matches!(sign, '"' | '\''));
        let (value, behind) = match sign {
            Some(sign) => value[1..].split_once(sign).unwrap_or((&value[1..], "")),
            None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        values.push(value);
        rest = behind;
    }
    values
}

/// What lines of signs are made of.
const SIGNS: &str = "=-#*~+_%>|";

/// A line of signs, with what stands between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignLine<'t> {
    pub(super) sign: char,
    pub(super) inner: &'t str,
}

impl<'t> SignLine<'t> {
    pub(super) fn of(line: &'t str) -> Option<Self> {
        let line = line.trim();
        // A comment may hold it.
        let bare =
            ["//", "#", "--", ";"].iter().find_map(|it| line.strip_prefix(it)?.strip_prefix(' '));
        [Some(line), bare].into_iter().flatten().find_map(|line| {
            let sign = line.chars().next().filter(|sign| SIGNS.contains(*sign))?;
            let inner = line.trim_start_matches(sign);
            // Seven of these stand at a conflict of two versions.
            let run = line.len() - inner.len();
            let is_run = run >= 3 && (run != 7 || !"<=>".contains(sign));
            let inner = inner.trim_end_matches(|c| SIGNS.contains(c) || c == '<').trim();
            is_run.then_some(Self { sign, inner })
        })
    }

    /// Whether it says that something ends.
    pub(super) fn ends(self) -> bool {
        let first = self.inner.split_whitespace().next().unwrap_or_default();
        ["end", "eof", "/file"].iter().any(|word| first.eq_ignore_ascii_case(word))
    }
}
