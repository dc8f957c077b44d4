//! How large a prompt a server takes, as it says itself.
//!
//! Invariant: pure readers of what servers tell; a figure that is not a positive number is none.
//! Called by the client.

use serde_json::Value;

/// What a server says of a model's window, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbedWindow {
    /// What it makes room for now, or would unless told otherwise.
    pub window: Option<u64>,
    /// What the model was trained for: the most that it could be told to make room for.
    pub trained: Option<u64>,
}

impl ProbedWindow {
    /// What is not said here, as it is said there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { window: self.window.or(other.window), trained: self.trained.or(other.trained) }
    }
}

/// Ollama's `/api/show`.
pub(crate) fn ollama(shown: &Value) -> ProbedWindow {
    let infos = shown.get("model_info").and_then(Value::as_object);
    let trained = infos.into_iter().flatten().find(|(key, _)| key.ends_with(".context_length"));
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let window = parameters.lines().find_map(|line| {
        line.trim().strip_prefix("num_ctx")?.trim().parse().ok().filter(|size| *size > 0)
    });
    ProbedWindow { window, trained: trained.and_then(|(_, value)| figure(value)) }
}

/// Ollama's `/api/ps`: what it makes room for where it has the model at hand.
pub(crate) fn running(list: &Value, name: &str) -> ProbedWindow {
    let full = |name: &str| match name.rsplit('/').next().is_some_and(|last| last.contains(':')) {
        true => name.to_owned(),
        false => format!("{name}:latest"),
    };
    let is_it = |model: &&Value| {
        let names = ["name", "model"].into_iter().filter_map(|key| model.get(key)?.as_str());
        names.map(full).any(|one| one == full(name))
    };
    let models = list.get("models").and_then(Value::as_array);
    let model = models.and_then(|all| all.iter().find(is_it));
    let window = model.and_then(|model| model.get("context_length")).and_then(figure);
    ProbedWindow { window, trained: None }
}

/// llama-server's `/props`.
pub(crate) fn llama(props: &Value) -> ProbedWindow {
    let window = props.pointer("/default_generation_settings/n_ctx").and_then(figure);
    ProbedWindow { window, trained: None }
}

/// What `/v1/models` and LM Studio's `/api/v0/models` say of a model: vLLM, OpenRouter, LM Studio,
/// Anthropic (of one model by itself).
pub(crate) fn listed(list: &Value, name: &str) -> ProbedWindow {
    let all = list.get("data").and_then(Value::as_array);
    let has_name = |model: &&Value| model.get("id").and_then(Value::as_str) == Some(name);
    let model = match all {
        // A server of one model answers to any name.
        Some(all) => all.iter().find(has_name).or((all.len() == 1).then(|| &all[0])),
        None => Some(list),
    };
    let read = |keys: &[&str]| keys.iter().find_map(|key| model?.pointer(key).and_then(figure));
    ProbedWindow {
        window: read(&[
            "/max_model_len",
            "/loaded_context_length",
            "/max_input_tokens",
            "/top_provider/context_length",
            "/context_length",
        ]),
        trained: read(&["/max_context_length", "/meta/n_ctx_train"]),
    }
}

/// The names of the models that a server has.
pub(crate) fn names(list: &Value) -> Vec<String> {
    let all = ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
    let name = |model: &Value| {
        let name = ["id", "name", "model"].iter().find_map(|key| model.get(key)?.as_str());
        name.map(str::to_owned)
    };
    all.into_iter().flatten().filter_map(name).collect()
}

fn figure(value: &Value) -> Option<u64> {
    value.as_u64().filter(|figure| *figure > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(found: ProbedWindow, window: u64, trained: u64) {
        let said = |figure| (figure != 0).then_some(figure);
        assert_eq!(found, ProbedWindow { window: said(window), trained: said(trained) });
    }

    #[test]
    fn ollama_tells_what_was_set_and_what_was_trained() {
        let info = json!({"general.architecture": "llama", "llama.context_length": 131_072});
        let set = "stop \"x\"\nnum_ctx                        8192\ntemperature 1";
        check(ollama(&json!({"model_info": info, "parameters": set})), 8192, 131_072);
        check(ollama(&json!({"model_info": info})), 0, 131_072);
        check(ollama(&json!({"parameters": "num_ctx many"})), 0, 0);
        check(ollama(&json!([])), 0, 0);
    }

    #[test]
    fn ollama_tells_what_it_has_at_hand() {
        let list = json!({"models": [{"name": "other:7b", "context_length": 1},
            {"name": "a:latest", "model": "a:latest", "context_length": 4096},
            {"name": "hub:80/b:3b", "context_length": 8192}, {"name": "old:latest"}]});
        for (name, window) in
            [("a", 4096), ("a:latest", 4096), ("hub:80/b:3b", 8192), ("hub:80/b", 0), ("old", 0)]
        {
            check(running(&list, name), window, 0);
        }
        check(running(&json!({"models": 3}), "a"), 0, 0);
    }

    #[test]
    fn other_servers_tell_it_in_their_lists() {
        check(llama(&json!({"default_generation_settings": {"n_ctx": 2048}})), 2048, 0);
        let list = |model: Value| json!({"object": "list", "data": [{"id": "other"}, model]});
        check(listed(&list(json!({"id": "m", "max_model_len": 4096})), "m"), 4096, 0);
        let studio =
            json!({"id": "m", "max_context_length": 32_768, "loaded_context_length": 4096});
        check(listed(&list(studio), "m"), 4096, 32_768);
        let router = json!({"id": "m", "context_length": 9, "top_provider": {"context_length": 8}});
        check(listed(&list(router), "m"), 8, 0);
        check(listed(&list(json!({"id": "n", "max_model_len": 4096})), "m"), 0, 0);
        let only = json!({"data": [{"id": "file.gguf", "meta": {"n_ctx_train": 8192}}]});
        check(listed(&only, "m"), 0, 8192);
        check(listed(&json!({"id": "c", "max_input_tokens": 200_000}), "c"), 200_000, 0);
        check(listed(&json!({"data": [{"id": "m", "context_length": -1}]}), "m"), 0, 0);
    }

    #[test]
    fn the_models_of_a_server_have_names() {
        assert_eq!(names(&json!({"models": [{"name": "a:1"}, {"model": "b"}, 3]})), ["a:1", "b"]);
        assert_eq!(names(&json!({"data": [{"id": "x"}]})), ["x"]);
        assert_eq!(names(&json!({})), [""; 0]);
    }
}
