//! What elements mean for the text of a page.
//!
//! Invariant: an element that is not named here is part of the line that it stands in. Called by
//! [`crate::page`].

use std::borrow::Cow;

use crate::entity;

/// What an element does to the text in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementRole {
    /// Begins and ends a block of text.
    Block,
    Heading(usize),
    /// The main part of the page.
    Main,
    /// What stands around it on every page of a site.
    Around,
    /// The same, unless it is in the main part.
    AroundMain,
    /// Nothing in it is text of the page.
    Dropped,
    List,
    Item,
    Preformatted,
    Row,
    Cell,
    Link,
    Form,
    Title,
}

/// What an element of this name is; `None` for what is part of a line.
pub(crate) fn role(name: &str) -> Option<(&'static str, ElementRole)> {
    let known = ROLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(*known)
}

/// Elements that have no content.
pub(crate) fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr",
    ];
    VOID.iter().any(|void| void.eq_ignore_ascii_case(name))
}

/// Whether an element that is open ends where this one begins, though nothing closes it.
pub(crate) fn ends(open: &str, next: &str) -> bool {
    match open {
        "p" => role(next)
            .is_some_and(|(_, role)| !matches!(role, ElementRole::Link | ElementRole::Dropped)),
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "tfoot"),
        _ => false,
    }
}

/// Whether the attributes of an element say that it stands around the main part.
pub(crate) fn is_around(attributes: &str) -> bool {
    let is = |name: &str, values: &[&str]| {
        attribute(attributes, name).is_some_and(|value| values.contains(&&*value))
    };
    let worded = |name: &str| {
        attribute(attributes, name).is_some_and(|value| {
            value
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|word| AROUND.iter().any(|around| around.eq_ignore_ascii_case(word)))
        })
    };
    is("role", &["navigation", "banner", "contentinfo", "search", "menu"])
        || is("aria-hidden", &["true"])
        || worded("class")
        || worded("id")
}

/// The value of an attribute, with its entities spelled out; empty where it has none.
pub(crate) fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<Cow<'a, str>> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        // An attribute may even begin with `=`.
        let end =
            rest.char_indices().skip(1).find(|(_, c)| ends(*c)).map_or(rest.len(), |(at, _)| at);
        let (name, behind) = rest.split_at(end);
        let (value, behind) = match behind.trim_start().strip_prefix('=') {
            Some(value) => cut_value(value.trim_start()),
            None => ("", behind),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(entity::decode(value));
        }
        rest = behind;
    }
}

fn cut_value(text: &str) -> (&str, &str) {
    let quoted = text.strip_prefix(['"', '\'']);
    let cut = quoted.and_then(|quoted| quoted.split_once(&text[..1]));
    cut.unwrap_or_else(|| {
        text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
    })
}

/// Words in the classes and ids of what stands around the main part.
const AROUND: &[&str] = &[
    "breadcrumb",
    "breadcrumbs",
    "cookie",
    "cookies",
    "footer",
    "nav",
    "navbar",
    "navigation",
    "sidebar",
    "skip",
    "toc",
];

const ROLES: &[(&str, ElementRole)] = &[
    ("a", ElementRole::Link),
    ("address", ElementRole::Block),
    ("article", ElementRole::Main),
    ("aside", ElementRole::AroundMain),
    ("audio", ElementRole::Dropped),
    ("blockquote", ElementRole::Block),
    ("body", ElementRole::Block),
    ("button", ElementRole::Dropped),
    ("canvas", ElementRole::Dropped),
    ("caption", ElementRole::Block),
    ("center", ElementRole::Block),
    ("datalist", ElementRole::Dropped),
    ("dd", ElementRole::Block),
    ("details", ElementRole::Block),
    ("dialog", ElementRole::Around),
    ("div", ElementRole::Block),
    ("dl", ElementRole::Block),
    ("dt", ElementRole::Block),
    ("fieldset", ElementRole::Block),
    ("figcaption", ElementRole::Block),
    ("figure", ElementRole::Block),
    ("footer", ElementRole::AroundMain),
    ("form", ElementRole::Form),
    ("h1", ElementRole::Heading(1)),
    ("h2", ElementRole::Heading(2)),
    ("h3", ElementRole::Heading(3)),
    ("h4", ElementRole::Heading(4)),
    ("h5", ElementRole::Heading(5)),
    ("h6", ElementRole::Heading(6)),
    ("header", ElementRole::AroundMain),
    ("hgroup", ElementRole::Block),
    ("legend", ElementRole::Block),
    ("li", ElementRole::Item),
    ("main", ElementRole::Main),
    ("menu", ElementRole::List),
    ("nav", ElementRole::Around),
    ("noscript", ElementRole::Around),
    ("object", ElementRole::Dropped),
    ("ol", ElementRole::List),
    ("p", ElementRole::Block),
    ("pre", ElementRole::Preformatted),
    ("search", ElementRole::Around),
    ("section", ElementRole::Block),
    ("select", ElementRole::Dropped),
    ("summary", ElementRole::Block),
    ("svg", ElementRole::Dropped),
    ("table", ElementRole::Block),
    ("tbody", ElementRole::Block),
    ("td", ElementRole::Cell),
    ("template", ElementRole::Dropped),
    ("textarea", ElementRole::Dropped),
    ("tfoot", ElementRole::Block),
    ("th", ElementRole::Cell),
    ("thead", ElementRole::Block),
    ("title", ElementRole::Title),
    ("tr", ElementRole::Row),
    ("ul", ElementRole::List),
    ("video", ElementRole::Dropped),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_however_they_are_written() {
        let check = |name: &str, expected: Option<&str>| {
            let text = r#" hidden HREF = '/a?b=1&amp;c' class="x y"data-z=q/ alt="" x="#;
            assert_eq!(attribute(text, name).as_deref(), expected, "{name}");
        };
        check("hidden", Some(""));
        check("href", Some("/a?b=1&c"));
        check("class", Some("x y"));
        check("data-z", Some("q/"));
        check("alt", Some(""));
        check("id", None);
    }

    #[test]
    fn what_stands_around_the_main_part_is_known_by_its_attributes() {
        assert!(is_around(r#"class="site-footer wide""#));
        assert!(is_around("role=navigation"));
        assert!(!is_around(r#"class="navigate" id="main""#));
    }
}
