//! Addresses of the page: what is asked for, and how links say it.
//!
//! Invariant: what a link writes is what is read of it; a name of a session may hold any character.

use std::fmt::Write;

/// A page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PagePath {
    /// The sessions.
    Sessions,
    /// One of them.
    Session(String),
    /// A compression of one.
    Compaction(String, String),
    /// A message of one.
    Entry(String, String),
    /// Something is to be done to one.
    Act(String),
    /// Experiments.
    Experiments,
    /// Policies.
    Policies,
    /// How the proxy does.
    Health,
    /// What changes, as it does.
    Events,
    /// The icon.
    Icon,
}

impl PagePath {
    /// The page of a path; none where the path is none of the page's.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        if path.contains("//") {
            return None;
        }
        let mut parts = path.split('/').skip(1);
        let part = [parts.next()?, parts.next().unwrap_or(""), parts.next().unwrap_or("")];
        let (last, more) = (parts.next(), parts.next());
        Some(match (part, last, more) {
            (["", "", ""], None, _) => Self::Sessions,
            (["experiments", "", ""], None, _) => Self::Experiments,
            (["policies", "", ""], None, _) => Self::Policies,
            (["health", "", ""], None, _) => Self::Health,
            (["events", "", ""], None, _) => Self::Events,
            (["epitome.svg", "", ""], None, _) => Self::Icon,
            (["s", name, ""], None, _) if !name.is_empty() => Self::Session(decoded_name(name)),
            (["s", name, "act"], None, _) => Self::Act(decoded_name(name)),
            (["s", name, "c"], Some(id), None) => Self::Compaction(decoded_name(name), decoded(id)),
            (["s", name, "e"], Some(id), None) => Self::Entry(decoded_name(name), decoded(id)),
            _ => return None,
        })
    }
}

/// The questions behind a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageQuery(Vec<(String, String)>);

impl PageQuery {
    /// Reads what stands behind the question mark, or a form.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
        };
        Self(pairs.map(pair).collect())
    }

    /// The first value of a name; none where it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The number of a name.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// The same without a name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(it, _)| it != name);
        self
    }

    /// The same with a value in the place of what a name had.
    pub(crate) fn with(self, name: &str, value: impl Into<String>) -> Self {
        let mut query = self.without(name);
        query.0.push((name.to_owned(), value.into()));
        query
    }

    /// The address of a path with these questions.
    pub(crate) fn behind(&self, path: &str) -> String {
        let mut out = path.to_owned();
        let said = self.0.iter().filter(|(_, value)| !value.is_empty());
        for (at, (name, value)) in said.enumerate() {
            out.push(if at == 0 { '?' } else { '&' });
            out.push_str(&encoded(name));
            out.push('=');
            out.push_str(&encoded(value));
        }
        out
    }
}

/// The questions behind a path as they stand there, without those that hold such a value; none where
/// none does.
pub(crate) fn without_values(text: &str, is_such: impl Fn(&str) -> bool) -> Option<String> {
    let holds = |pair: &&str| {
        let value = pair.split_once('=').map_or(*pair, |(_, value)| value);
        is_such(&decoded(&value.replace('+', " ")))
    };
    let left: Vec<_> = text.split('&').filter(|pair| !holds(pair)).collect();
    (left.len() < text.split('&').count()).then(|| left.join("&"))
}

/// A session as links name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionLink {
    /// Its path.
    path: String,
    /// The scope that it is in, without the tenant.
    scope: String,
}

impl SessionLink {
    /// The links of a session in a scope.
    pub(crate) fn new(tenant: &str, scope: &str, name: &str) -> Self {
        let scope = scope.strip_prefix(tenant).and_then(|rest| rest.strip_prefix('/'));
        Self {
            path: format!("/s/{}", encoded_name(name)),
            scope: scope.unwrap_or_default().to_owned(),
        }
    }

    /// The address of something of it: `/e/e4`; of itself where that is empty.
    pub(crate) fn to(&self, what: &str) -> String {
        self.query().behind(&format!("{}{what}", self.path))
    }

    /// The question that names its scope.
    pub(crate) fn query(&self) -> PageQuery {
        PageQuery::default().with("in", self.scope.clone())
    }

    /// Its path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// A text in an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            // Writing to a string does not fail.
            _ => write!(out, "%{byte:02X}").unwrap_or_default(),
        }
    }
    out
}

/// Stands before names of dots alone: browsers take those for folders, however they are written.
const DOTS: char = '~';

/// The name of a session in an address.
fn encoded_name(name: &str) -> String {
    let bare = name.trim_start_matches(DOTS);
    let is_dots = !bare.is_empty() && bare.bytes().all(|byte| byte == b'.');
    match is_dots {
        true => format!("{DOTS}{}", encoded(name)),
        false => encoded(name),
    }
}

/// The name of a session that stands so in an address.
fn decoded_name(part: &str) -> String {
    let name = decoded(part);
    let bare = name.trim_start_matches(DOTS);
    let is_dots = !bare.is_empty() && bare.bytes().all(|byte| byte == b'.');
    match name.strip_prefix(DOTS).filter(|_| is_dots) {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// The text of a part of an address; what is no UTF-8 is replaced.
fn decoded(part: &str) -> String {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    let mut bytes = part.bytes();
    let mut out = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<PagePath>) {
        assert_eq!(PagePath::parse(path), expected, "{path}");
    }

    #[test]
    fn paths_name_pages() {
        let (name, id) = ("a/b".to_owned(), "e4".to_owned());
        check("/", Some(PagePath::Sessions));
        check("/health", Some(PagePath::Health));
        check("/s/a%2Fb", Some(PagePath::Session(name.clone())));
        check("/s/a%2Fb/e/e4", Some(PagePath::Entry(name.clone(), id.clone())));
        check("/s/a%2Fb/c/e4", Some(PagePath::Compaction(name.clone(), id)));
        check("/s/a%2Fb/act", Some(PagePath::Act(name)));
        for path in
            ["/v1/messages", "/status", "/s/", "/s/a/b", "/s/a/e/b/c", "/experiments/a", "//"]
        {
            check(path, None);
        }
    }

    #[test]
    fn what_a_link_says_is_read() {
        let link = SessionLink::new("local", "local/default@/srv/a b", "x y/é%");
        let address = link.to("/e/e4");
        assert_eq!(address, "/s/x%20y%2F%C3%A9%25/e/e4?in=default%40%2Fsrv%2Fa%20b");
        let (path, query) = address.split_once('?').unwrap();
        check(path, Some(PagePath::Entry("x y/é%".to_owned(), "e4".to_owned())));
        assert_eq!(PageQuery::parse(query).get("in"), Some("default@/srv/a b"));
    }

    /// No part of a path is `.` or `..`, which browsers resolve before they send it.
    #[test]
    fn names_of_dots_are_names() {
        for name in [".", "..", "...", "~..", "~", "~~.", ".a", "a.."] {
            let link = SessionLink::new("local", "local/default", name);
            let path = link.path();
            assert!(!path.ends_with("/.") && !path.ends_with("/.."), "{path}");
            check(path, Some(PagePath::Session(name.to_owned())));
        }
        check("/s/..", Some(PagePath::Session("..".to_owned())));
    }

    #[test]
    fn a_value_is_taken_out_and_the_rest_stands_as_it_stood() {
        let check = |text: &str, left: Option<&str>| {
            let found = without_values(text, |value| value == "the secret");
            assert_eq!(found.as_deref(), left, "{text}");
        };
        check("beta=true&token=another", None);
        check("", None);
        check("token=the+secret", Some(""));
        check("a=%2f&token=%74he%20secret&b", Some("a=%2f&b"));
        check("the%20secret&x=the+secret&c=1", Some("c=1"));
    }

    #[test]
    fn forms_are_read_as_browsers_write_them() {
        let query = PageQuery::parse("q=never+push%21&empty=&page=3&flag");
        assert_eq!(query.get("q"), Some("never push!"));
        assert_eq!((query.get("empty"), query.number("page")), (None, Some(3)));
        assert_eq!(
            query.with("page", "4").without("flag").behind("/"),
            "/?q=never%20push%21&page=4"
        );
        assert_eq!(PageQuery::parse("a=%zz%4").get("a"), Some("%zz%4"));
    }
}
