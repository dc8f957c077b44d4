//! Jobs and answers of native plugins, in the names of api 1.
//!
//! Invariant: a plugin states no api, so it may use either name of each rename, as a policy of api 1
//! in Lua; the renames are those of [`ApiNames`]. Nothing is logged here. Called where a plugin
//! answers a hook.

use epitome_kernel::ApiNames;
use epitome_types::hook::{NameKind, RenamedName, TableShape, ValueShape};
use serde_json::{Map, Value as Json};

/// Adds each renamed field of a job under its old name. A field that a plugin does not know is one
/// that it ignores.
pub(super) fn add_old_fields(names: &ApiNames, job: &mut Json, shape: &TableShape) {
    let Json::Object(job) = job else { return };
    for field in shape.all_fields() {
        if let Some(value) = job.get_mut(field.name) {
            add_within(names, value, &field.shape);
        }
    }
    for name in names.in_table(NameKind::Field, |wanted| has_field(shape, wanted)) {
        if let Some(value) = job.get(name.new).cloned() {
            job.insert(name.old.to_owned(), value);
        }
    }
}

fn add_within(names: &ApiNames, value: &mut Json, shape: &ValueShape) {
    match (shape, value) {
        (ValueShape::Optional(inner), value) => add_within(names, value, inner),
        (ValueShape::List(inner), Json::Array(items)) => {
            items.iter_mut().for_each(|item| add_within(names, item, inner));
        }
        (ValueShape::Table(shape), value) => add_old_fields(names, value, shape),
        _ => {}
    }
}

/// Translates one answer to the names of today.
pub(super) struct AnswerTranslator<'a> {
    names: &'a ApiNames,
    /// The old names that the answer uses.
    pub(super) used: Vec<&'static RenamedName>,
}

impl<'a> AnswerTranslator<'a> {
    pub(super) fn new(names: &'a ApiNames) -> Self {
        Self { names, used: Vec::new() }
    }

    /// Returns the value with the new names. What fits no shape stays as it is.
    pub(super) fn translate(&mut self, value: Json, shape: &ValueShape) -> Json {
        match (shape, value) {
            (ValueShape::Optional(inner), value) => self.translate(value, inner),
            (ValueShape::Word(words), Json::String(word)) => {
                self.word(word, |known| words.contains(&known)).into()
            }
            (ValueShape::List(inner), Json::Array(items)) => {
                items.into_iter().map(|item| self.translate(item, inner)).collect()
            }
            (ValueShape::Map(inner), Json::Object(items)) => {
                items.into_iter().map(|(key, item)| (key, self.translate(item, inner))).collect()
            }
            (ValueShape::Table(shape), Json::Object(fields)) => {
                Json::Object(self.table(fields, shape, None))
            }
            (ValueShape::Tagged { tag, variants, .. }, Json::Object(mut fields)) => {
                let Some(Json::String(word)) = fields.remove(*tag) else {
                    return Json::Object(fields);
                };
                let word = self.word(word, |known| variants.iter().any(|(word, _)| *word == known));
                if let Some((_, shape)) = variants.iter().find(|(known, _)| *known == word) {
                    fields = self.table(fields, shape, Some(tag));
                }
                fields.insert((*tag).to_owned(), word.into());
                Json::Object(fields)
            }
            (ValueShape::Either(shapes), value) => self.either(value, shapes),
            (_, value) => value,
        }
    }

    fn word(&mut self, word: String, known: impl Fn(&str) -> bool) -> String {
        self.now(NameKind::Word, &word, known).map_or(word, str::to_owned)
    }

    fn table(
        &mut self,
        fields: Map<String, Json>,
        shape: &TableShape,
        tag: Option<&str>,
    ) -> Map<String, Json> {
        let known = |name: &str| tag == Some(name) || has_field(shape, name);
        let mut translated = Map::new();
        for (name, value) in fields {
            let name = self.now(NameKind::Field, &name, known).map_or(name, str::to_owned);
            let field = shape.all_fields().find(|field| field.name == name);
            let value = match field {
                Some(field) => self.translate(value, &field.shape),
                None => value,
            };
            translated.insert(name, value);
        }
        translated
    }

    /// Translates by the shape that knows the most of the fields; of equals the first.
    fn either(&mut self, value: Json, shapes: &[ValueShape]) -> Json {
        let Json::Object(fields) = &value else { return value };
        let known = |shape: &TableShape| {
            let has = |name: &str| has_field(shape, name);
            let is_known = |name: &&String| {
                has(name) || self.names.renamed(NameKind::Field, name, has).is_some()
            };
            fields.keys().filter(is_known).count()
        };
        let tables = shapes.iter().filter_map(|shape| match shape {
            ValueShape::Table(table) => Some((known(table), shape)),
            _ => None,
        });
        let best = tables.rev().max_by_key(|(known, _)| *known).map(|(_, shape)| shape);
        match best {
            Some(shape) => self.translate(value, shape),
            None => value,
        }
    }

    fn now(
        &mut self,
        kind: NameKind,
        old: &str,
        known: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let name = self.names.renamed(kind, old, known)?;
        self.used.push(name);
        Some(name.new)
    }
}

fn has_field(shape: &TableShape, name: &str) -> bool {
    shape.all_fields().any(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use epitome_kernel::{HOOKS, PolicyChain};
    use epitome_plugin::{Plugin, PluginFailure, PluginInfo};
    use epitome_types::hook::{Arriving, Common, OLD_API, RENAMED, ToolResultJob, Way};
    use serde_json::json;

    use super::*;
    use crate::plugins::{LoadedPlugin, PluginPolicy};

    /// A plugin that knows the old names only. It hides the results of the tool it is asked about.
    struct OldPlugin;

    impl Plugin for OldPlugin {
        fn about(&self) -> PluginInfo {
            PluginInfo::new("old", "1").with_hook(Cow::from("arrive"))
        }

        fn hook(&self, hook: &str, _: &Json, _: &Json) -> Result<Option<Json>, PluginFailure> {
            assert_eq!(hook, "arrive");
            Ok(Some(json!({ "how": "mask", "with": "gone" })))
        }
    }

    #[test]
    fn a_hook_is_asked_by_the_name_that_the_plugin_declares() {
        let policy = PluginPolicy::new(LoadedPlugin::of_host(Arc::new(OldPlugin)));
        let chain = PolicyChain::new(vec![Arc::new(policy)], BTreeMap::new());
        let (common, original, file) = (Common::default(), String::new(), None);
        let entry = Arriving::default();
        let job = ToolResultJob { common, entry, original, file, text: "first" };
        let answer = chain.ask().tool_result(&job).unwrap().unwrap();
        assert_eq!((answer.how, answer.text.as_deref()), (Way::Mask, Some("gone")));
    }

    #[track_caller]
    fn check(hook: &str, answer: Json, expected: Json, used: &[&str]) {
        let shape = HOOKS.iter().find(|known| known.name == hook).unwrap().answer;
        let names = ApiNames::new(OLD_API);
        let mut translator = AnswerTranslator::new(&names);
        assert_eq!(translator.translate(answer, &shape), expected);
        assert_eq!(translator.used.iter().map(|name| name.old).collect::<Vec<_>>(), used);
    }

    #[test]
    fn an_answer_may_use_the_old_names() {
        check(
            "plan",
            json!({ "ops": [
                { "op": "strip", "entries": [1] }, { "op": "fold_user", "entries": [2], "target": 9 },
                { "op": "export", "name": "a.md", "with": "x" }, { "op": "fit", "most": 9 },
            ], "mark": 1, "marked_by": "mark" }),
            json!({ "ops": [
                { "op": "clear_tools", "entries": [1] },
                { "op": "summarize_user", "entries": [2], "target": 9 },
                { "op": "write_file", "name": "a.md", "text": "x" }, { "op": "fit", "max_tokens": 9 },
            ], "watermark": 1, "watermark_tool": "mark" }),
            &["strip", "fold_user", "export", "with", "most", "mark", "marked_by"],
        );
        let exported = json!({ "export": { "name": "log.md", "text": "x" } });
        let written = json!({ "write_file": { "name": "log.md", "text": "x" } });
        check("on_event", exported, written, &["export"]);
    }

    #[test]
    fn an_answer_with_the_new_names_stays() {
        let answer = json!({ "how": "mask", "text": "gone", "max_tokens": 7 });
        check("tool_result", answer.clone(), answer, &[]);
        for answer in [json!({ "skip": "disabled" }), json!({ "level": "soft" }), json!(true)] {
            check("trigger", answer.clone(), answer, &[]);
        }
        let strange = json!({ "ops": [{ "op": "strange", "with": 1 }, 7], "other": null });
        check("plan", strange.clone(), strange, &[]);
    }

    #[test]
    fn a_job_has_both_names_of_each_renamed_field() {
        let names = ApiNames::new(OLD_API);
        for hook in HOOKS {
            let fields = hook.job.all_fields().map(|field| (field.name.to_owned(), json!(1)));
            let mut job = Json::Object(fields.collect());
            add_old_fields(&names, &mut job, hook.job);
            for name in RENAMED.iter().filter(|name| name.kind == NameKind::Field) {
                if has_field(hook.job, name.new) && !has_field(hook.job, name.old) {
                    assert_eq!(job[name.old], job[name.new], "{}: {name}", hook.name);
                }
            }
        }
        let mut job = json!({ "cache": { "forgone_cost": 5 }, "tokens": 3 });
        let trigger = HOOKS.iter().find(|hook| hook.name == "trigger").unwrap();
        add_old_fields(&names, &mut job, trigger.job);
        let cache = json!({ "forgone_cost": 5, "forgone": 5 });
        assert_eq!(job, json!({ "cache": cache, "tokens": 3 }));
    }
}
