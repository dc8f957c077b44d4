//! Keys and words of a layer that go by another name today.
//!
//! Invariant: only the table of renames says what was renamed, and the schema says where: a table
//! that has the new key and lacks the old one is a table whose key was renamed. What is handed on
//! holds new names alone. Called before a layer is held to the schema.

use epitome_kernel::renamed_key;
use epitome_types::hook::NameKind;
use figment::value::{Dict, Value};
use serde_json::Value as Json;

use super::schema::{SchemaBreach, TomlSchema, choices, names};
use super::values::TomlPlaces;
use crate::problem::ConfigProblem;

/// What of a layer went by old names.
#[derive(Debug, Default)]
pub struct OldNames {
    /// Every use of an old name, with its place and the new name.
    pub used: Vec<ConfigProblem>,
    /// The keys that were given under both names.
    pub twice: Vec<SchemaBreach>,
}

impl TomlSchema {
    /// Replaces the old names in a layer, and in the paths of its places.
    pub fn renew(&self, layer: &mut Dict, places: &mut TomlPlaces) -> OldNames {
        let mut old = OldNames::default();
        self.renew_table(&[], layer, places, &mut old);
        old
    }

    /// Returns a path of keys with the new name of each. Keys that the schema does not know stay.
    pub fn renewed_path(&self, path: &[String]) -> Vec<String> {
        let mut new = Vec::new();
        for key in path {
            let known = |name: &str| self.has(&new, name);
            let key = renamed_key(NameKind::Key, key, known).map_or(&**key, |name| name.new);
            new.push(key.to_owned());
        }
        new
    }

    fn has(&self, path: &[String], key: &str) -> bool {
        self.at(path).is_ok_and(|node| names(node).any(|name| name == key))
    }

    fn renew_table(
        &self,
        path: &[String],
        table: &mut Dict,
        places: &mut TomlPlaces,
        old: &mut OldNames,
    ) {
        let keys: Vec<String> = table.keys().cloned().collect();
        for key in keys {
            let at = |key: &str| [path, &[key.to_owned()]].concat();
            let known = |name: &str| self.has(path, name);
            let Some(name) = renamed_key(NameKind::Key, &key, known) else { continue };
            let Some(value) = table.remove(&key) else { continue };
            let from = at(name.old);
            if table.contains_key(name.new) {
                let what = format!(
                    "`{}` is given under its old name too: `{}`; expected the new name alone",
                    at(name.new).join("."),
                    name.old
                );
                old.twice.push(SchemaBreach { path: from, what });
                continue;
            }
            let what = renamed(&from.join("."), name.new);
            old.used.push(ConfigProblem::new(places.of(&from), what));
            places.rename(&from, name.new);
            table.insert(name.new.to_owned(), value);
        }
        for (key, value) in table {
            let path = [path, std::slice::from_ref(key)].concat();
            match value {
                Value::Dict(_, inner) => self.renew_table(&path, inner, places, old),
                value => self.renew_words(&path, value, places, old),
            }
        }
    }

    /// Replaces the old words of a value that is one of a few words, or a list of such.
    fn renew_words(
        &self,
        path: &[String],
        value: &mut Value,
        places: &TomlPlaces,
        old: &mut OldNames,
    ) {
        let (Ok(node), texts) = (self.at(path), texts(value)) else { return };
        let one = node.get("items").unwrap_or(node);
        let words: Vec<&str> =
            choices(one).into_iter().flatten().filter_map(Json::as_str).collect();
        for text in texts {
            let known = |name: &str| words.contains(&name);
            let Some(name) = renamed_key(NameKind::KeyWord, text, known) else { continue };
            let what = renamed(&format!("{}` of `{}", name.old, path.join(".")), name.new);
            old.used.push(ConfigProblem::new(places.of(path), what));
            name.new.clone_into(text);
        }
    }
}

/// Returns the warning about an old name.
pub fn renamed(old: &str, new: &str) -> String {
    format!("`{old}` is called `{new}` now; the old name is still accepted")
}

/// The text of a value, or those of a list.
fn texts(value: &mut Value) -> Vec<&mut String> {
    match value {
        Value::String(_, text) => vec![text],
        Value::Array(_, items) => items.iter_mut().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::super::values::read;
    use super::*;

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    #[expect(dead_code, reason = "only its schema is read")]
    enum Rung {
        Chunks,
        FewerRecent,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Whole {
        tool_results: Part,
        /// Not renamed here, although it is elsewhere.
        ask: u64,
        prompt: u64,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Part {
        max_tokens: u64,
        ladder: Vec<Rung>,
    }

    fn renewed(text: &str) -> (Dict, TomlPlaces, OldNames) {
        let (mut says, mut places) = read(text, |line| format!("x.toml:{line}")).unwrap();
        let old = TomlSchema::of::<Whole>().renew(&mut says, &mut places);
        (says, places, old)
    }

    #[test]
    fn old_names_are_replaced_and_told_with_their_place() {
        let (says, places, old) =
            renewed("ask = 1\n[arrive]\nmost = 2\nladder = ['chunks', 'smaller_tail']");
        assert_eq!(
            serde_json::to_string(&says).unwrap(),
            r#"{"ask":1,"tool_results":{"ladder":["chunks","fewer_recent"],"max_tokens":2}}"#
        );
        assert_eq!(places.get(&["tool_results", "max_tokens"]), Some("x.toml:3"));
        let used: Vec<_> = old.used.iter().map(ToString::to_string).collect();
        let end = "; the old name is still accepted";
        assert_eq!(
            used,
            [
                format!("x.toml:2: `arrive` is called `tool_results` now{end}"),
                format!("x.toml:3: `tool_results.most` is called `max_tokens` now{end}"),
                format!(
                    "x.toml:4: `smaller_tail` of `tool_results.ladder` is called `fewer_recent` \
                     now{end}"
                ),
            ]
        );
        assert_eq!(old.twice, []);
    }

    #[test]
    fn a_key_under_both_names_is_one_mistake() {
        let (says, places, old) = renewed("[tool_results]\nmax_tokens = 1\nmost = 2");
        assert_eq!(TomlSchema::of::<Whole>().breaches(&says), []);
        let [twice] = &old.twice[..] else { panic!("{old:?}") };
        assert_eq!(places.of(&twice.path), "x.toml:3");
        assert_eq!(
            twice.what,
            "`tool_results.max_tokens` is given under its old name too: `most`; expected the new \
             name alone"
        );
        assert!(old.used.is_empty(), "{old:?}");
    }

    #[test]
    fn a_path_is_renewed_as_far_as_it_is_known() {
        let schema = TomlSchema::of::<Whole>();
        let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
        let new = |keys: &[&str]| schema.renewed_path(&path(keys));
        assert_eq!(new(&["arrive", "most"]), path(&["tool_results", "max_tokens"]));
        assert_eq!(new(&["ask"]), path(&["ask"]));
        assert_eq!(new(&["else", "most"]), path(&["else", "most"]));
    }
}
