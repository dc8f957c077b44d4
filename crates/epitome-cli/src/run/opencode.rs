//! opencode: a configuration in a variable, merged over the user's files.
//!
//! Invariant: nothing changes but the addresses of providers, at most one for an API, and the one
//! whose model is chosen before all others. Called by the table of clients.

use serde_json::{Value, json};

use super::way::{ClientApi, Surroundings, Way};

/// The variable that is merged over all files.
const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

/// What the file of a folder is called.
const NAMES: [&str; 2] = ["opencode.json", "opencode.jsonc"];

/// How it is started.
pub(super) fn way(arguments: &[String], around: &dyn Surroundings) -> Result<Way, String> {
    let own = around.home("XDG_CONFIG_HOME", ".config").join("opencode");
    let mut files: Vec<_> = NAMES.iter().map(|name| own.join(name)).collect();
    files.extend(around.variable("OPENCODE_CONFIG").map(Into::into));
    let folders: Vec<_> = around.folder().ancestors().collect();
    for folder in folders.into_iter().rev() {
        files.extend(NAMES.iter().map(|name| folder.join(name)));
        files.extend(NAMES.iter().map(|name| folder.join(".opencode").join(name)));
    }
    let mut config = json!({});
    for file in files {
        if let Some(text) = around.file(&file) {
            merge(&mut config, &read(&text).map_err(|why| format!("{}: {why}", file.display()))?);
        }
    }
    let mut content = match around.variable(CONTENT).filter(|text| !text.trim().is_empty()) {
        Some(text) => read(&text).map_err(|why| format!("{CONTENT}: {why}"))?,
        None => json!({}),
    };
    merge(&mut config, &content);

    let mut way = Way::default();
    for api in [ClientApi::Anthropic, ClientApi::OpenAi] {
        let name = chosen(api, &config, arguments);
        if let Some(address) = config["provider"][&name]["options"]["baseURL"].as_str() {
            let place = format!("opencode's provider.{name}.options.baseURL");
            way.upstreams.insert(api, (place, address.to_owned()));
        }
        let options = json!({ "baseURL": way.versioned(api) });
        merge(&mut content, &json!({ "provider": { name: { "options": options } } }));
    }
    way.variables.push((CONTENT, content.to_string()));
    Ok(way)
}

/// The provider of an API that is told another address: that of a chosen model, one that the user
/// gave an address, or else the API's own.
fn chosen(api: ClientApi, config: &Value, arguments: &[String]) -> String {
    let flags = arguments.iter().zip(arguments.iter().skip(1));
    let flag = flags.filter(|(name, _)| ["--model", "-m"].contains(&&***name));
    let models = flag.map(|(_, model)| model.as_str());
    let models =
        models.chain(["model", "small_model"].iter().filter_map(|key| config[key].as_str()));
    let of_models = models.filter_map(|model| Some(model.split_once('/')?.0.to_owned()));
    let given = config["provider"].as_object().into_iter().flat_map(|all| all.keys().cloned());
    let own = match api {
        ClientApi::Anthropic => "anthropic",
        _ => "openai",
    };
    let mut all = of_models.chain(given).filter(|name| speaks(name, config) == Some(api));
    all.next().unwrap_or_else(|| own.to_owned())
}

/// The API of a provider, where its address is known.
fn speaks(name: &str, config: &Value) -> Option<ClientApi> {
    let provider = &config["provider"][name];
    match (name, provider["npm"].as_str()) {
        (_, Some("@ai-sdk/anthropic")) | ("anthropic", None) => Some(ClientApi::Anthropic),
        (_, Some("@ai-sdk/openai")) | ("openai", None) => Some(ClientApi::OpenAi),
        (_, None | Some("@ai-sdk/openai-compatible")) => {
            provider["options"]["baseURL"].is_string().then_some(ClientApi::OpenAi)
        }
        _ => None,
    }
}

/// Puts a configuration over another, as opencode does.
fn merge(below: &mut Value, over: &Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (key, value) in over {
                merge(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, over) => below.clone_from(over),
    }
}

/// JSON, perhaps with comments and with commas behind the last item.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let plain = plain(text);
    serde_json::from_str(&plain).map_err(|error| format!("is no JSON: {error}"))
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = match () {
            () if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            () if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            () if next == ',' && closes(&rest[1..]) => 1,
            () => {
                let length = if next == '"' { literal(rest) } else { next.len_utf8() };
                out.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
        };
        rest = &rest[skipped..];
    }
    out
}

/// Whether nothing but the end of a list or an object follows.
fn closes(rest: &str) -> bool {
    let rest = rest.trim_start();
    match (rest.strip_prefix("//"), rest.strip_prefix("/*")) {
        (Some(line), _) => line.split_once('\n').is_some_and(|(_, rest)| closes(rest)),
        (_, Some(block)) => block.split_once("*/").is_some_and(|(_, rest)| closes(rest)),
        _ => rest.starts_with(['}', ']']),
    }
}

/// The length of the string that a text begins with.
fn literal(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::super::clients::tests::Machine;
    use super::*;

    fn content(machine: &Machine, command: &str) -> Value {
        let way = machine.way(command);
        let [(CONTENT, content)] = &way.variables[..] else { panic!("{way:?}") };
        serde_json::from_str(content).unwrap()
    }

    #[test]
    fn the_usual_providers_are_told() {
        let at = |name| json!({"options": {"baseURL": format!("{{proxy}}/to/{name}/v1")}});
        let expected = json!({"provider": {"anthropic": at("anthropic"), "openai": at("openai")}});
        assert_eq!(content(&Machine::default(), "opencode run hello"), expected);
    }

    #[test]
    fn what_the_user_says_is_kept() {
        let mut machine = Machine {
            files: vec![
                (
                    "/srv/home/.config/opencode/opencode.json",
                    r#"{"model":"local/small","provider":{"local":{"npm":"@ai-sdk/openai-compatible",
                        "options":{"baseURL":"http://box:1/v1","apiKey":"k"}}}}"#,
                ),
                (
                    "/srv/project/opencode.jsonc",
                    "{ // the project's\n \"provider\": {\"anthropic\": {\"options\": {\"baseURL\": \
                     \"https://x.example/a\", /* no key */ }, }, }, \"note\": \"a // b \\\" c,}\" }",
                ),
            ],
            ..Machine::default()
        };
        let way = machine.way("opencode");
        assert_eq!(way.upstreams[&ClientApi::OpenAi].1, "http://box:1/v1");
        assert_eq!(way.upstreams[&ClientApi::Anthropic].1, "https://x.example/a");
        let told = content(&machine, "opencode");
        assert_eq!(
            told["provider"]["local"]["options"],
            json!({"baseURL": "{proxy}/to/openai/v1"})
        );
        assert_eq!(
            told["provider"]["anthropic"]["options"],
            json!({"baseURL": "{proxy}/to/anthropic"})
        );
        assert_eq!(told["provider"]["openai"], Value::Null);
        // What the variable said stays in it.
        machine.variables.push((CONTENT, r#"{"theme":"x","model":"openai/gpt-5"}"#));
        let told = content(&machine, "opencode");
        assert_eq!(told["theme"], "x");
        assert_eq!(told["provider"]["openai"]["options"]["baseURL"], "{proxy}/to/openai/v1");
        let told = content(&machine, "opencode --model local/small");
        assert_eq!(told["provider"]["local"]["options"]["baseURL"], "{proxy}/to/openai/v1");
    }

    #[test]
    fn mistakes_name_their_file() {
        let files = vec![("/srv/project/opencode.json", "{\"a\" 1}")];
        let error = way(&[], &Machine { files, ..Machine::default() }).unwrap_err();
        assert!(error.starts_with("/srv/project/opencode.json: is no JSON: "), "{error}");
    }
}
