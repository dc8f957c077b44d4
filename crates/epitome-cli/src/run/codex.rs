//! Codex: its provider is told another address by arguments; key, login and model stay the user's.
//!
//! Invariant: the provider that would have been asked is asked, whoever the user is logged in as.
//! Called by the table of clients.

use std::path::Path;

use toml::Table;

use super::way::{ClientApi, PROXY, Surroundings, Way};

/// The provider that is built in.
const BUILT_IN: &str = "openai";

/// Where it sends the requests of those who logged in with ChatGPT.
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";

/// How it is started.
pub(super) fn way(arguments: &[String], around: &dyn Surroundings) -> Result<Way, String> {
    if arguments.iter().any(|argument| argument == "--oss") {
        let past = "`codex --oss` asks a provider of its own; name one in config.toml";
        return Ok(Way { past: Some(past.to_owned()), ..Way::default() });
    }
    let home = around.home("CODEX_HOME", ".codex");
    let mut config = table(&home.join("config.toml"), around)?;
    if let Some(profile) = value(arguments, &["--profile", "-p"]) {
        config.extend(table(&home.join(format!("{profile}.config.toml")), around)?);
    }
    let said = |key: &str| {
        let said = overrides(arguments).rev().find(|(known, _)| *known == key);
        said.map(|(_, value)| value.trim_matches('"').to_owned())
    };
    let text = |key: &str| said(key).or_else(|| Some(config.get(key)?.as_str()?.to_owned()));
    let provider = text("model_provider").unwrap_or_else(|| BUILT_IN.to_owned());
    let key = match &*provider {
        BUILT_IN => "openai_base_url".to_owned(),
        _ => format!("model_providers.{provider}.base_url"),
    };
    let of_provider = || {
        let providers = config.get("model_providers")?.as_table()?;
        Some(providers.get(&provider)?.get("base_url")?.as_str()?.to_owned())
    };
    let address = match &*provider {
        BUILT_IN => text(&key).or_else(|| {
            logged_in_with_chatgpt(&home.join("auth.json"), around).then(|| CHATGPT.to_owned())
        }),
        _ => match said(&key).or_else(of_provider) {
            Some(address) => Some(address),
            None => {
                let past = format!(
                    "codex asks the provider `{provider}`, whose address it knows by itself"
                );
                return Ok(Way { past: Some(past), ..Way::default() });
            }
        },
    };
    let mut way = Way::default();
    if let Some(address) = address {
        way.upstreams.insert(ClientApi::OpenAi, (format!("codex's {key}"), address));
    }
    let address = way.versioned(ClientApi::OpenAi);
    way.arguments = vec!["-c".to_owned(), format!("{key}=\"{address}\"")];
    way.mcp = vec!["-c".to_owned(), format!("mcp_servers.epitome.url=\"{PROXY}/mcp\"")];
    Ok(way)
}

/// The keys that arguments set, with their values.
fn overrides(arguments: &[String]) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    arguments.iter().enumerate().filter_map(|(at, argument)| {
        let pair = match argument.strip_prefix("--config=").or_else(|| argument.strip_prefix("-c="))
        {
            Some(pair) => pair,
            None if ["-c", "--config"].contains(&&**argument) => arguments.get(at + 1)?,
            None => return None,
        };
        pair.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
    })
}

/// The value of a flag.
fn value<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut pairs = arguments.iter().zip(arguments.iter().skip(1).map(Some).chain([None]));
    pairs.find_map(|(name, next)| {
        if names.contains(&&**name) {
            return next.map(String::as_str);
        }
        names.iter().find_map(|known| name.strip_prefix(known)?.strip_prefix('='))
    })
}

fn table(path: &Path, around: &dyn Surroundings) -> Result<Table, String> {
    let text = around.file(path).unwrap_or_default();
    text.parse()
        .map_err(|error: toml::de::Error| format!("{}: {}", path.display(), error.message()))
}

/// Whether requests carry a login and not a key.
fn logged_in_with_chatgpt(path: &Path, around: &dyn Surroundings) -> bool {
    if around.variable("CODEX_API_KEY").is_some_and(|key| !key.is_empty()) {
        return false;
    }
    let text = around.file(path).unwrap_or_default();
    let login: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    match login["auth_mode"].as_str() {
        Some(mode) => mode.eq_ignore_ascii_case("chatgpt"),
        None => login["tokens"].is_object() && !login["OPENAI_API_KEY"].is_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::clients::tests::Machine;
    use super::*;

    const CONFIG: &str = "/srv/home/.codex/config.toml";
    const LOGIN: &str = "/srv/home/.codex/auth.json";

    #[track_caller]
    fn check(machine: Machine, command: &str, argument: &str, upstream: Option<&str>) {
        let way = machine.way(command);
        assert_eq!(way.arguments, ["-c", argument], "{command}");
        let found = way.upstreams.get(&ClientApi::OpenAi).map(|(_, address)| address.as_str());
        assert_eq!(found, upstream, "{command}");
        assert_eq!((way.variables.len(), way.past), (0, None));
    }

    fn with(files: Vec<(&'static str, &'static str)>) -> Machine {
        Machine { files, ..Machine::default() }
    }

    #[test]
    fn a_key_goes_to_the_usual_address() {
        let usual = r#"openai_base_url="{proxy}/to/openai/v1""#;
        check(Machine::default(), "codex exec hello", usual, None);
        let key = (LOGIN, r#"{"OPENAI_API_KEY":"sk-x","tokens":null}"#);
        check(with(vec![key]), "codex", usual, None);
    }

    #[test]
    fn a_login_goes_where_it_is_known() {
        let login = r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}"#;
        check(
            with(vec![(LOGIN, login)]),
            "codex",
            r#"openai_base_url="{proxy}/to/openai""#,
            Some(CHATGPT),
        );
        let older = r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}"#;
        check(
            with(vec![(LOGIN, older)]),
            "codex",
            r#"openai_base_url="{proxy}/to/openai""#,
            Some(CHATGPT),
        );
        let mut keyed = with(vec![(LOGIN, login)]);
        keyed.variables.push(("CODEX_API_KEY", "sk-x"));
        check(keyed, "codex", r#"openai_base_url="{proxy}/to/openai/v1""#, None);
    }

    #[test]
    fn the_users_own_provider_is_kept() {
        let config = "model_provider = 'x'\n[model_providers.x]\nbase_url = 'http://box:1/v1'\n\
                      [model_providers.y]\nbase_url = 'http://other:2/api'";
        let of = |provider: &str, end: &str| {
            format!("model_providers.{provider}.base_url=\"{PROXY}/to/openai{end}\"")
        };
        let machine = || with(vec![(CONFIG, config)]);
        check(machine(), "codex", &of("x", "/v1"), Some("http://box:1/v1"));
        let other = "codex -c model_provider=\"y\" exec hello";
        check(machine(), other, &of("y", ""), Some("http://other:2/api"));
        let named = with(vec![
            (CONFIG, config),
            ("/srv/home/.codex/fast.config.toml", "model_provider = 'y'"),
        ]);
        check(named, "codex --profile fast", &of("y", ""), Some("http://other:2/api"));
        let own = with(vec![(CONFIG, "openai_base_url = 'https://eu.example/v1'")]);
        check(
            own,
            "codex",
            r#"openai_base_url="{proxy}/to/openai/v1""#,
            Some("https://eu.example/v1"),
        );
    }

    #[test]
    fn what_cannot_be_told_goes_past() {
        let config = with(vec![(CONFIG, "model_provider = 'amazon-bedrock'")]);
        assert!(config.way("codex").past.is_some_and(|why| why.contains("`amazon-bedrock`")));
        assert!(Machine::default().way("codex --oss").past.is_some());
        let broken = with(vec![(CONFIG, "model = ")]);
        assert!(way(&[], &broken).unwrap_err().starts_with("/srv/home/.codex/config.toml: "));
    }
}
