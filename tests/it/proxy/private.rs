//! Credentials go to the one upstream of their API and nowhere else; what is only watched is not
//! changed.

use std::path::Path;

use epitome_upstream::{Record, Script, Upstream};
use serde_json::{Value, json};

use super::agent::{APIS, Agent, Api, calls};
use super::http::Ask;
use super::serving::{KEY, Serving};
use crate::program::{Place, Ran, read_file};

/// Every file under a folder, with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), read_file(&path).unwrap()));
        }
    }
    found
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|it| it == word.as_bytes())
}

#[test]
fn credentials_are_nowhere_but_at_the_upstream() {
    let mut serving = Serving::start(Script::agent(2, calls()), &["--dump", "dump", "-v"]);
    for api in APIS {
        let mut agent = Agent::new(api, "A task that is dumped.");
        agent.headers.push(("authorization".to_owned(), format!("Bearer {KEY}-bearer")));
        agent.headers.push(("cookie".to_owned(), format!("session={KEY}-cookie")));
        agent.headers.push(("x-goog-api-key".to_owned(), format!("{KEY}-goog")));
        agent.work(&serving);
    }
    serving.send(Ask::new("GET", &format!("/v1beta/models?key={KEY}-query")));
    serving.send(Ask::post("/v1/messages", "not json at all"));
    let faulty = Ask::post("/v1/messages", "{}").header("x-upstream-fault", "drop");
    serving.send(faulty);
    let arrived = serving.upstream.records();
    // What Ollama is asked about itself is asked without one.
    let is_ours = |it: &Record| ["/api/show", "/api/ps"].contains(&it.path.as_str());
    assert!(arrived.iter().all(|it| it.header("x-api-key") == (!is_ours(it)).then_some(KEY)));
    assert_eq!(arrived[0].header("authorization"), Some(&*format!("Bearer {KEY}-bearer")));
    for page in ["/status", "/metrics"] {
        assert!(!serving.send(Ask::new("GET", page)).text().contains(KEY), "{page}");
    }
    let said = serving.said();
    serving.kill();
    assert!(!said.contains(KEY), "{said}");
    let root = serving.place.path("");
    let files = files(&root);
    assert!(files.iter().any(|(_, bytes)| holds(bytes, "A task that is dumped")));
    assert!(files.iter().any(|(path, _)| path.contains("dump/")), "nothing was dumped");
    for (path, bytes) in files {
        assert!(!holds(&bytes, KEY), "{path} holds the key");
    }
}

/// What looks like a key of a provider goes to the model that it was told to, and to no disk: not by
/// what was typed, what a tool brought, a compression, a search or an export.
#[test]
fn a_key_that_is_pasted_is_not_recorded() {
    for api in APIS {
        let key = ["sk-ant-api03-", "x7Qm2kP9vL4tR8wZ1nB6yH3jD5sF0gA-cE"].concat();
        let mut serving = Serving::start(Script::agent(24, calls()), &["--prompt-limit", "16000"]);
        let mut agent = Agent::new(api, &format!("Deploy it with {key}, as agreed."));
        agent.work(&serving);
        serving.kill();
        serving.go_on();
        agent.say("Is it deployed?");
        agent.round(&serving);
        assert!(serving.compressions() > 0, "{api:?}: nothing was compressed");
        let prompts = serving.prompts();
        assert!(prompts[0].body.to_string().contains(&key), "{api:?}: the model was not told it");
        let name = serving.sessions()[0]["name"].as_str().unwrap().to_owned();
        let of_session = |args: &[&str]| {
            let ran = serving.place.run([args, &["--store", "s.db"]].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.text().to_owned()
        };
        assert!(
            of_session(&["status", "--session", &name]).contains("masked       1 text recorded as")
        );
        assert!(of_session(&["session", "export", &name]).contains("with [redacted], as agreed"));
        assert!(!of_session(&["recall", "deploy it with"]).contains(&key));
        serving.kill();
        for (path, bytes) in files(&serving.place.path("")) {
            assert!(!holds(&bytes, &key), "{api:?}: {path} holds the key");
        }
    }
}

/// Lines of a private key, and a key of a provider, none of which is one.
fn secrets() -> (String, Vec<String>) {
    let key = ["sk-ant-api03-", "x7Qm2kP9vL4tR8wZ1nB6yH3jD5sF0gA-cE"].concat();
    let line =
        |at: usize| format!("{at:02}MIIEvQIBADANBgkqhkiG9w0BAQEFAASCMIIEvQIBADANBgkqhkiG9w0B");
    (key, (0..30).map(line).collect())
}

/// A conversation whose tool results hold keys in the ways in which tools show them.
fn conversation_with_keys(turns: usize) -> Value {
    let (key, lines) = secrets();
    let [head, end] = ["BEGIN", "END"].map(|it| format!("-----{it} RSA PRIVATE {}-----", "KEY"));
    let private = [&[head][..], &lines, &[end]].concat();
    let shown: [String; 4] = [
        format!("API_KEY=\n{key}\nREGION=eu\n"),
        private.join("\n"),
        private.iter().enumerate().map(|(at, line)| format!("{at:6}→{line}\n")).collect(),
        json!({"env": format!("A=1\n\t{key}"), "pem": private.join("\n")}).to_string(),
    ];
    let mut messages = vec![json!({"role": "user", "content": "Deploy it."})];
    for turn in 0..turns {
        let log = |from: usize| -> String {
            let line = |at: usize| format!("step {at} of unit {turn} took {} ms\n", at * 7 % 113);
            (from..from + 60).map(line).collect()
        };
        let text = [log(0), shown[turn % shown.len()].clone(), "\n".to_owned(), log(60)].concat();
        let (id, input) = (format!("t{turn}"), json!({"command": format!("echo\n{key}")}));
        let call = json!({"type": "tool_use", "id": id, "name": "bash", "input": input});
        let told = (0..40).map(|at| format!("Part {turn}x{at} needs value {}. ", at * turn));
        let told = json!({"type": "text", "text": format!("{}{key}", told.collect::<String>())});
        messages.push(json!({"role": "assistant", "content": [told, call]}));
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        messages.push(json!({"role": "user", "content": [result]}));
    }
    messages.push(json!({"role": "assistant", "content": "It is deployed."}));
    messages.push(json!({"role": "user", "content": "Is anything left to do?"}));
    json!({"model": "claude-sonnet-4-5", "max_tokens": 90, "messages": messages})
}

/// No file of a folder holds a key, or a line of one.
#[track_caller]
fn check_files(folder: &Path) {
    let (key, lines) = secrets();
    for (path, bytes) in files(folder) {
        let held = lines.iter().chain([&key]).find(|secret| holds(&bytes, secret));
        assert_eq!(held, None, "{path}");
    }
}

/// What is made of messages that hold keys holds none, and the store is as sound as any other.
#[test]
fn what_holds_a_key_is_compressed_searched_and_kept_without_it() {
    let mut serving = Serving::start(Script::default(), &["--prompt-limit", "6000"]);
    let whole = conversation_with_keys(20);
    let all = whole["messages"].as_array().unwrap();
    for end in (0..20).map(|turn| 2 * turn + 1).chain([all.len()]) {
        let body = json!({"messages": all[..end], "model": whole["model"], "max_tokens": 90});
        serving.post_one("/v1/messages", &body);
    }
    assert!(serving.compressions() > 1, "{}", serving.said());
    let (key, _) = secrets();
    let newest = serving.prompts().pop().unwrap().body.to_string();
    assert!(newest.contains(&key) && newest.contains("[redacted]"), "{newest}");
    serving.kill();
    check_files(&serving.place.path(""));
    for args in [
        &["session", "verify", "--store", "s.db"][..],
        &["store", "backup", "--store", "s.db", "backup.db"],
        &["store", "copy", "s.db", "copy.db"],
        &["session", "verify", "--store", "copy.db"],
        &["recall", "--store", "s.db", "API_KEY region"],
    ] {
        let ran = serving.place.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.text(), ran.err);
        assert!(!ran.text().contains(&key), "{args:?}");
    }
    check_files(&serving.place.path(""));
    // It goes on as one session after the restart.
    serving.go_on();
    serving.post_one("/v1/messages", &whole);
    assert_eq!(serving.sessions().len(), 1);
}

#[test]
fn a_store_of_compress_holds_no_key() {
    for ratio in ["1.5", "2.4"] {
        let place = Place::new();
        let folder = Place::new();
        place.write("in.json", conversation_with_keys(12).to_string());
        let store = folder.path("s.db");
        let store = store.to_str().unwrap();
        let ran = place.run(["compress", "--ratio", ratio, "--store", store, "in.json"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        check_files(&folder.path(""));
        let verified = place.run(["session", "verify", "--store", store]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.err);
        let found = place.run(["recall", "--store", store, "step unit"]);
        assert!(found.text().contains("took"), "{}{}", found.text(), found.err);
    }
}

#[test]
fn each_api_has_its_own_upstream() {
    let other = Upstream::start(Script::default()).unwrap();
    let serving = Serving::start(Script::default(), &["--openai-upstream", &other.url()]);
    for api in APIS {
        let agent = Agent::new(api, "Hello.");
        agent.send(&serving, agent.request().to_string().into_bytes());
    }
    let paths = |upstream: &Upstream| -> Vec<String> {
        upstream.prompts().iter().map(|it| it.path.clone()).collect()
    };
    assert_eq!(paths(&serving.upstream), ["/v1/messages", "/api/chat"]);
    assert_eq!(paths(&other), ["/v1/chat/completions", "/v1/responses"]);
}

#[test]
fn headers_of_the_connection_stay_on_it() {
    let serving = Serving::start(Script::default(), &[]);
    let agent = Agent::new(Api::Chat, "Hello.");
    let ask = Ask::post(agent.api.path(), agent.request().to_string())
        .header("te", "trailers")
        .header("keep-alive", "timeout=5")
        .header("proxy-authorization", "Basic abc")
        .header("upgrade", "h2c")
        .header("x-kept", "yes");
    assert_eq!(serving.send(ask).status, 200);
    let arrived = serving.last();
    for name in ["te", "keep-alive", "proxy-authorization", "upgrade", "proxy-connection"] {
        assert_eq!(arrived.header(name), None, "{name}");
    }
    assert_eq!(arrived.header("x-kept"), Some("yes"));
    assert_eq!(arrived.header("host"), Some(&*serving.upstream.address().to_string()));
}

#[test]
fn a_shadow_changes_nothing() {
    let serving =
        Serving::start(Script::agent(6, calls()), &["--prompt-limit", "16000", "--shadow"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    let mut sent = Vec::new();
    loop {
        let request = agent.request().to_string();
        sent.push(request.clone());
        let answer = agent.send(&serving, request.into_bytes());
        if !agent.take(&answer) {
            break;
        }
    }
    let arrived: Vec<String> =
        serving.prompts().iter().map(|it| String::from_utf8_lossy(&it.raw).into_owned()).collect();
    assert_eq!(arrived, sent);
    let status = serving.status();
    assert!(status.to_string().contains("shadow"), "{status}");
}

#[test]
fn strangers_need_a_token() {
    let place = crate::program::Place::new();
    let ran =
        place.run(["serve", "--listen", "0.0.0.0:0", "--anthropic-upstream", "http://127.0.0.1:9"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("token file"), "{}", ran.err);
}

/// Two teams behind one proxy: each token is shown its own sessions and sums, on every page.
#[test]
fn a_token_shows_nothing_of_another() {
    const TOKENS: [(&str, &str); 2] = [("anna", "0123456789abcdef"), ("ben", "fedcba9876543210")];
    let mut serving = Serving::start(Script::agent(2, calls()), &[]);
    let file = TOKENS.map(|(name, token)| format!("{name} {token}\n")).concat();
    serving.place.write("tokens", file);
    serving.go_on_as(&["--token-file", "tokens"]);
    for (rounds, (name, token)) in TOKENS.iter().enumerate() {
        let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
        agent.headers.push(("x-epitome-token".to_owned(), (*token).to_owned()));
        agent.headers.push(("x-claude-code-session-id".to_owned(), format!("heron-of-{name}")));
        for _ in 0..=rounds {
            agent.round(&serving);
        }
    }
    for (name, _) in TOKENS {
        let mut list = serving.place.command(["session", "list", "--store", "s.db"]);
        let listed = |ran: std::process::Output| String::from_utf8(ran.stdout).unwrap();
        assert!(!listed(list.output().unwrap()).contains("heron"));
        let own = listed(list.env("EPITOME_TENANT", name).output().unwrap());
        let others = own.lines().filter(|line| line.contains("heron"));
        assert_eq!(others.count(), 1, "{own}");
        assert!(own.contains(&format!("heron-of-{name}")), "{own}");
    }
    for restarted in [false, true] {
        for (at, (name, token)) in TOKENS.iter().enumerate() {
            let ask = |path| serving.send(Ask::new("GET", path).header("x-epitome-token", token));
            let status = ask("/status.json").json();
            assert_eq!(status["all"]["requests"], at + 1, "{name}: {status}");
            for path in ["/status", "/status.json", "/metrics"] {
                let page = ask(path).text();
                let other = TOKENS[1 - at].0;
                assert!(!page.contains(&format!("heron-of-{other}")), "{path} of {name}: {page}");
                let is_named = page.contains(&format!("heron-of-{name}"));
                assert_eq!(is_named, path != "/metrics" && !restarted, "{path} of {name}: {page}");
            }
            let metrics = ask("/metrics").text();
            let sent =
                format!("epitome_requests_total{{api=\"anthropic\",status=\"200\"}} {}", at + 1);
            assert!(metrics.contains(&sent), "{name}: {metrics}");
        }
        if !restarted {
            serving.stop();
            serving.go_on();
        }
    }
    for (tenant, answers) in [("anna", 1), ("ben", 2), ("local", 0), ("", 0)] {
        let mut savings = serving.place.command(["savings", "--store", "s.db", "--json"]);
        if !tenant.is_empty() {
            savings.env("EPITOME_TENANT", tenant);
        }
        let told = Ran::of(savings, b"").json();
        assert_eq!(told["all"]["answers"], answers, "{tenant}: {told:#}");
    }
}
