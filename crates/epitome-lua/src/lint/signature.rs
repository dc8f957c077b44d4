//! What a declared function takes and gives, from the words that stubs and reference have.
//!
//! Invariant: what a type says that is not understood counts as anything.

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature {
    pub(super) params: Vec<Parameter>,
    /// Whether it is given the table that it stands in.
    pub(super) is_method: bool,
    pub(super) returns: String,
}

/// What one argument may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    pub(super) name: String,
    kinds: Vec<String>,
    pub(super) is_optional: bool,
}

/// What an argument is, as far as types tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentKind<'a> {
    Number,
    Text(Option<&'a str>),
    Bool,
    Table,
    Function,
}

impl Signature {
    /// Of names and types, as `ep` declares them.
    pub(super) fn of_params(params: &[(&str, &str)], returns: &str) -> Self {
        let params = params.iter().map(|(name, kind)| Parameter::of_type(name, kind)).collect();
        Self { params, is_method: false, returns: returns.to_owned() }
    }

    /// Of a type such as `fun(self: Columns, place: integer): string?`; the table itself, which a
    /// method is given, is no parameter.
    pub(super) fn of_stub(text: &str) -> Self {
        let inner = text.strip_prefix("fun(").unwrap_or_default();
        let end = closing(inner);
        let returns = inner.get(end..).unwrap_or_default().trim_start_matches([')', ':', ' ']);
        let params = split(&inner[..end], ',').into_iter().filter_map(|one| {
            let (name, kind) = one.split_once(':')?;
            let (name, kind) = (name.trim(), kind.trim());
            let optional = name.strip_suffix('?');
            let mut parameter = Parameter::of_type(optional.unwrap_or(name), kind);
            parameter.is_optional |= optional.is_some();
            (name != "self").then_some(parameter)
        });
        let params = params.collect();
        let is_method = inner.starts_with("self:");
        Self { params, is_method, returns: returns.to_owned() }
    }

    /// How few arguments it takes.
    pub(super) fn least(&self) -> usize {
        self.params.iter().filter(|parameter| !parameter.is_optional).count()
    }
}

impl Parameter {
    fn of_type(name: &str, kind: &str) -> Self {
        let (kind, is_optional) = match kind.strip_suffix('?') {
            Some(kind) => (kind, true),
            None => (kind, kind == "any"),
        };
        let kinds = split(kind, '|').into_iter().map(str::to_owned).collect();
        Self { name: name.to_owned(), kinds, is_optional }
    }

    /// Whether an argument may be given; numbers count as texts, as everywhere in Lua.
    pub(super) fn takes(&self, argument: ArgumentKind<'_>) -> bool {
        self.kinds.iter().any(|kind| match (kind.as_str(), argument) {
            ("integer" | "number", ArgumentKind::Number)
            | ("string", ArgumentKind::Text(_) | ArgumentKind::Number)
            | ("boolean", ArgumentKind::Bool)
            | ("table", ArgumentKind::Table) => true,
            // A text may say a number.
            ("integer" | "number", ArgumentKind::Text(None)) => true,
            ("integer" | "number", ArgumentKind::Text(Some(text))) => text.parse::<f64>().is_ok(),
            ("integer" | "number" | "string" | "boolean" | "table", _) => false,
            (word, ArgumentKind::Text(text)) if word.starts_with('\'') => {
                text.is_none_or(|text| word.trim_matches('\'') == text)
            }
            (word, _) if word.starts_with('\'') => false,
            (kind, argument) if kind.starts_with("fun(") => argument == ArgumentKind::Function,
            _ => true,
        })
    }

    /// What it takes, in words.
    pub(super) fn expected(&self) -> String {
        let words = self.kinds.iter().map(|kind| match kind.as_str() {
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "string" => "a text".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            kind if kind.starts_with("fun(") => "a function".to_owned(),
            kind if kind.starts_with('\'') => format!("`{}`", kind.trim_matches('\'')),
            kind => format!("a {kind}"),
        });
        words.collect::<Vec<_>>().join(" or ")
    }

    /// The words that it takes, where it takes words only.
    pub(super) fn words(&self) -> Vec<&str> {
        let words = self.kinds.iter().filter(|kind| kind.starts_with('\''));
        words.map(|kind| kind.trim_matches('\'')).collect()
    }
}

/// The place of the bracket that closes what was opened before a text.
fn closing(text: &str) -> usize {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return at,
            ')' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The pieces of a text between letters that stand outside of brackets.
fn split(text: &str, by: char) -> Vec<&str> {
    let (mut pieces, mut start, mut open) = (Vec::new(), 0, 0_usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            letter if letter == by && open == 0 => {
                pieces.push(text[start..at].trim());
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        pieces.push(text[start..].trim());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_says_what_a_function_takes() {
        let one = Signature::of_stub("fun(self: Columns, place: integer, lines: integer): string?");
        let names: Vec<&str> = one.params.iter().map(|param| &*param.name).collect();
        assert_eq!((names, one.least(), &*one.returns), (vec!["place", "lines"], 2, "string?"));
        let two = Signature::of_stub("fun(id: string, text: string|fun(ask: Ask): string)");
        assert!(two.params[1].takes(ArgumentKind::Function));
        assert!(!two.params[1].takes(ArgumentKind::Table));
        assert_eq!(two.params[1].expected(), "a text or a function");
        let three = Signature::of_stub("fun(name: string, job?: table)");
        assert_eq!((three.params.len(), three.least()), (2, 1));
    }

    #[test]
    fn words_are_told_from_types() {
        let level = Signature::of_params(&[("level", "'info'|'warn'")], "nil");
        assert!(level.params[0].takes(ArgumentKind::Text(Some("warn"))));
        assert!(!level.params[0].takes(ArgumentKind::Text(Some("wran"))));
        assert!(level.params[0].takes(ArgumentKind::Text(None)));
    }
}
