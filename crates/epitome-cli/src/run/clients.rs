//! What is known of each client: how it is told for one run where to send its requests, and what
//! it was told before.
//!
//! Invariant: pure, and nothing of it lasts: variables and arguments of one process. What the user
//! had set becomes the upstream, so that a client reaches the provider that it would have reached
//! without us; each is given the address of that upstream alone. Called by `run`.

use std::path::Path;

use super::way::{ClientApi, PROXY, Surroundings, Way, address};
use super::{codex, opencode};

/// How a command is started.
///
/// # Errors
///
/// When what the user set for it cannot be read.
pub(super) fn way(
    program: &str,
    arguments: &[String],
    around: &dyn Surroundings,
) -> Result<Way, String> {
    let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or(program);
    match name {
        "claude" => claude(arguments, around),
        "codex" => codex::way(arguments, around),
        "opencode" => opencode::way(arguments, around),
        "gemini" => Ok(Way::past("gemini speaks an API that Epitome does not read")),
        "qwen" => Ok(told(&[ClientApi::OpenAi], around)),
        "ollama" if arguments.first().is_some_and(|verb| verb == "serve") => {
            Ok(Way::past("`ollama serve` is a provider; run a client of it"))
        }
        "ollama" => Ok(told(&[ClientApi::Ollama], around)),
        _ => Ok(told(&[ClientApi::Anthropic, ClientApi::OpenAi, ClientApi::Ollama], around)),
    }
}

fn told(apis: &[ClientApi], around: &dyn Surroundings) -> Way {
    let mut way = Way::default();
    apis.iter().for_each(|api| way.told(*api, around));
    way
}

/// Claude Code. Its settings files set variables over those of its process, and only its flag
/// `--settings` is stronger than they.
fn claude(arguments: &[String], around: &dyn Surroundings) -> Result<Way, String> {
    const ADDRESS: &str = "ANTHROPIC_BASE_URL";
    const COMPACTS_IN: &str = "CLAUDE_CODE_AUTO_COMPACT_WINDOW";
    const ELSEWHERE: [&str; 3] =
        ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
    let own = around.home("CLAUDE_CONFIG_DIR", ".claude").join("settings.json");
    let project = around.folder().join(".claude");
    let files = [project.join("settings.local.json"), project.join("settings.json"), own];
    let mut settings = Vec::new();
    for file in files {
        let Some(text) = around.file(&file) else { continue };
        let read: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| format!("{}: is no JSON: {error}", file.display()))?;
        settings.push((file, read));
    }
    let said = |name: &str| {
        let found = settings.iter().find_map(|(file, read)| {
            Some((file.display().to_string(), read["env"][name].as_str()?.to_owned()))
        });
        found.filter(|(_, value)| !value.is_empty())
    };
    let is_on = |value: String| !["", "0", "false"].contains(&&*value.to_ascii_lowercase());
    let on = |name: &&&str| {
        let value = said(name).map(|(_, value)| value).or_else(|| around.variable(name));
        value.is_some_and(is_on)
    };
    if let Some(name) = ELSEWHERE.iter().find(on) {
        return Ok(Way::past(format!(
            "{name} sends Claude Code to an API that Epitome does not read"
        )));
    }
    let mut way = Way::default();
    let has_settings = arguments.iter().any(|argument| argument.starts_with("--settings"));
    if let Some((file, address)) = said(ADDRESS) {
        if has_settings {
            return Err(format!(
                "{file} sets {ADDRESS}, and only `--settings` could say otherwise, which you give \
                 yourself: put `\"env\": {{\"{ADDRESS}\": \"\"}}` into yours, or take it out there"
            ));
        }
        way.upstreams.insert(ClientApi::Anthropic, (file, address));
        let over = serde_json::json!({ ADDRESS: self::address(ClientApi::Anthropic) });
        way.settings.insert("env".to_owned(), over);
    }
    // Nobody looks at one where it only prints, and its user's own flag goes before ours.
    let is_shown = !arguments.iter().any(|argument| ["-p", "--print"].contains(&&**argument));
    if is_shown && !has_settings {
        let own = settings.iter().find_map(|(_, read)| read.get("statusLine"));
        way.status_line = Some(own.cloned().unwrap_or_default());
    }
    let told = said(COMPACTS_IN).map(|(_, value)| value).or_else(|| around.variable(COMPACTS_IN));
    // What lies beyond is brought into these bounds.
    let told = told.and_then(|value| value.trim().parse::<u64>().ok());
    way.compacts_in = told.map(|tokens| tokens.clamp(100_000, 1_000_000));
    // Otherwise its agent would have to search for them first, and does not know that they are there.
    let url = format!("{PROXY}/mcp");
    let server = serde_json::json!({ "type": "http", "url": url, "alwaysLoad": true });
    let servers = serde_json::json!({ "mcpServers": { "epitome": server } });
    // In one word, since the flag takes all words behind it that are no flags.
    way.mcp = vec![format!("--mcp-config={servers}")];
    way.known(ClientApi::Anthropic, ADDRESS, around);
    way.variables.push((ADDRESS, address(ClientApi::Anthropic)));
    // It finds its tools by search where it knows the provider's address, and we hide that.
    let usual = way.upstreams.is_empty() && said("ENABLE_TOOL_SEARCH").is_none();
    if usual && around.variable("ENABLE_TOOL_SEARCH").is_none() {
        way.variables.push(("ENABLE_TOOL_SEARCH", "true".to_owned()));
    }
    Ok(way)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine of the test's own.
    #[derive(Default)]
    pub(in super::super) struct Machine {
        pub(in super::super) variables: Vec<(&'static str, &'static str)>,
        pub(in super::super) files: Vec<(&'static str, &'static str)>,
    }

    impl Surroundings for Machine {
        fn variable(&self, name: &str) -> Option<String> {
            let found = self.variables.iter().find(|(known, _)| *known == name);
            let home = ("HOME", "/srv/home");
            found.or((name == home.0).then_some(&home)).map(|(_, value)| (*value).to_owned())
        }

        fn file(&self, path: &Path) -> Option<String> {
            let found = self.files.iter().find(|(known, _)| Path::new(known) == path);
            found.map(|(_, text)| (*text).to_owned())
        }

        fn folder(&self) -> &Path {
            Path::new("/srv/project")
        }
    }

    impl Machine {
        pub(in super::super) fn way(&self, command: &str) -> Way {
            let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
            way(&words[0], &words[1..], self).unwrap()
        }
    }

    fn variables(way: &Way) -> Vec<String> {
        way.variables.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[track_caller]
    fn check(machine: &Machine, command: &str, told: &[&str], upstreams: &[(ClientApi, &str)]) {
        let way = machine.way(command);
        assert_eq!(variables(&way), told, "{command}");
        let found: Vec<_> =
            way.upstreams.iter().map(|(api, (_, address))| (*api, address.as_str())).collect();
        assert_eq!(found, upstreams, "{command}");
    }

    #[test]
    fn each_client_is_told_in_its_own_way() {
        let machine = Machine::default();
        let claude = ["ANTHROPIC_BASE_URL={proxy}/to/anthropic", "ENABLE_TOOL_SEARCH=true"];
        check(&machine, "claude", &claude, &[]);
        check(&machine, "/usr/local/bin/claude -p hello", &claude, &[]);
        let openai =
            ["OPENAI_BASE_URL={proxy}/to/openai/v1", "OPENAI_API_BASE={proxy}/to/openai/v1"];
        check(&machine, "qwen", &openai, &[]);
        let ollama = ["OLLAMA_HOST={proxy}/to/ollama", "OLLAMA_API_BASE={proxy}/to/ollama"];
        check(&machine, "ollama run llama3", &ollama, &[]);
        let anthropic =
            ["ANTHROPIC_BASE_URL={proxy}/to/anthropic", "ANTHROPIC_API_BASE={proxy}/to/anthropic"];
        let all = [&anthropic[..], &openai, &ollama].concat();
        for command in ["aider", "llm hello", "python agent.py", "bash"] {
            check(&machine, command, &all, &[]);
        }
    }

    #[test]
    fn what_was_set_becomes_the_upstream() {
        let machine = Machine {
            variables: vec![
                ("ANTHROPIC_BASE_URL", "https://gateway.example/anthropic"),
                ("OPENAI_API_BASE", "https://router.example/api/v1"),
                ("OLLAMA_HOST", "0.0.0.0"),
            ],
            ..Machine::default()
        };
        let upstreams = [
            (ClientApi::Anthropic, "https://gateway.example/anthropic"),
            (ClientApi::OpenAi, "https://router.example/api/v1"),
            (ClientApi::Ollama, "http://127.0.0.1:11434"),
        ];
        check(&machine, "claude", &["ANTHROPIC_BASE_URL={proxy}/to/anthropic"], &upstreams[..1]);
        let openai =
            ["OPENAI_BASE_URL={proxy}/to/openai/v1", "OPENAI_API_BASE={proxy}/to/openai/v1"];
        check(&machine, "qwen", &openai, &upstreams[1..2]);
        assert_eq!(machine.way("llm").upstreams.len(), 3);
        // An address without a version is spoken to without one.
        let plain = Machine {
            variables: vec![("OPENAI_BASE_URL", "https://x.example/openai/")],
            ..Machine::default()
        };
        let openai = ["OPENAI_BASE_URL={proxy}/to/openai", "OPENAI_API_BASE={proxy}/to/openai"];
        check(&plain, "qwen", &openai, &[(ClientApi::OpenAi, "https://x.example/openai/")]);
    }

    #[test]
    fn settings_of_claude_code_are_stronger_than_its_environment() {
        let machine = Machine {
            variables: vec![("ANTHROPIC_BASE_URL", "https://weaker.example")],
            files: vec![(
                "/srv/home/.claude/settings.json",
                r#"{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example"}}"#,
            )],
        };
        let way = machine.way("claude -c");
        assert_eq!(way.upstreams[&ClientApi::Anthropic].1, "https://gateway.example");
        let over = r#"{"env":{"ANTHROPIC_BASE_URL":"{proxy}/to/anthropic"}}"#;
        assert_eq!(serde_json::to_string(&way.settings).unwrap(), over);
        let own = ["--settings=x.json".to_owned()];
        let error = super::way("claude", &own, &machine).unwrap_err();
        assert!(error.contains("/srv/home/.claude/settings.json sets ANTHROPIC_BASE_URL"));
        let files = vec![("/srv/project/.claude/settings.json", "{")];
        let error = super::way("claude", &[], &Machine { files, ..Machine::default() });
        assert!(error.unwrap_err().contains("is no JSON"));
    }

    #[test]
    fn a_status_line_goes_beside_the_users_own() {
        let check = |files: &[(&'static str, &'static str)], command: &str, own: Option<&str>| {
            let machine = Machine { files: files.to_vec(), ..Machine::default() };
            let found = machine.way(command).status_line.map(|own| own.to_string());
            assert_eq!(found.as_deref(), own, "{command}");
        };
        check(&[], "claude", Some("null"));
        check(&[], "claude -p hello", None);
        check(&[], "claude --settings x.json", None);
        check(&[], "codex", None);
        let user = ("/srv/home/.claude/settings.json", r#"{"statusLine":{"command":"user"}}"#);
        let local = (
            "/srv/project/.claude/settings.local.json",
            r#"{"statusLine":{"command":"local","padding":0}}"#,
        );
        check(&[user], "claude -c", Some(r#"{"command":"user"}"#));
        check(&[user, local], "claude", Some(r#"{"command":"local","padding":0}"#));
    }

    #[test]
    fn where_claude_code_compacts_is_known_where_it_was_told() {
        let check = |variable: &'static str, file: &'static str, expected: Option<u64>| {
            let variables = vec![("CLAUDE_CODE_AUTO_COMPACT_WINDOW", variable)];
            let files = vec![("/srv/home/.claude/settings.json", file)];
            let found = Machine { variables, files }.way("claude").compacts_in;
            assert_eq!(found, expected, "{variable} {file}");
        };
        check("", "{}", None);
        check("auto", "{}", None);
        check("150000", "{}", Some(150_000));
        check("5000", "{}", Some(100_000));
        let file = r#"{"env":{"CLAUDE_CODE_AUTO_COMPACT_WINDOW":"180000"}}"#;
        check("150000", file, Some(180_000));
        assert_eq!(Machine::default().way("codex").compacts_in, None);
    }

    #[test]
    fn agents_are_given_the_levers() {
        let machine = Machine::default();
        let servers =
            r#"{"mcpServers":{"epitome":{"type":"http","url":"{proxy}/mcp","alwaysLoad":true}}}"#;
        assert_eq!(machine.way("claude -p hello").mcp, [format!("--mcp-config={servers}")]);
        let url = r#"mcp_servers.epitome.url="{proxy}/mcp""#;
        assert_eq!(machine.way("codex exec hello").mcp, ["-c", url]);
        assert_eq!(machine.way("aider").mcp, Vec::<String>::new());
    }

    #[test]
    fn what_the_proxy_would_not_see_goes_past_it() {
        let check = |variables, command: &str, word: &str| {
            let past = Machine { variables, ..Machine::default() }.way(command).past;
            assert!(past.as_ref().is_some_and(|why| why.contains(word)), "{past:?}");
        };
        check(vec![], "gemini", "does not read");
        check(vec![], "ollama serve", "provider");
        check(vec![("CLAUDE_CODE_USE_BEDROCK", "1")], "claude", "CLAUDE_CODE_USE_BEDROCK");
        let off =
            Machine { variables: vec![("CLAUDE_CODE_USE_BEDROCK", "0")], ..Machine::default() };
        assert_eq!(off.way("claude").past, None);
    }
}
