//! `epitome run`: a client finds the proxy where it looks for its provider, ends as it would have
//! ended, and nothing is left.
//!
//! The client is this test binary: [`client`] does what `IT_CLIENT` says.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use epitome_upstream::{Script, Upstream};
use serde_json::{Value, json};

use crate::program::{Place, Ran};
use crate::proxy::faults::eventually;

/// The key that the client sends.
const KEY: &str = "sk-ant-very-secret-9876543210";

/// What the client asks: a conversation whose tool brought back a long log.
fn question() -> Value {
    let lines: String = (0..3000)
        .map(|line| format!("2026-01-01T00:00:00 INFO worker {line} handled request /a/{line}\n"))
        .collect();
    let log = format!("{lines}2026-01-01T00:00:01 FATAL no space left on /dev/sda7\n{lines}");
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": [
        {"role": "user", "content": "Why did it stop?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat log"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": log}]}]})
}

/// What a client asks late in a long conversation: more than a small window holds.
fn long_question() -> Value {
    let line = "The queue grows while the workers wait for a lease that nobody gives back. ";
    let mut messages = Vec::new();
    for turn in 0..60 {
        messages.push(json!({"role": "user", "content": format!("Step {turn}: look again.")}));
        let said = format!("At step {turn}: {}", line.repeat(12));
        messages.push(json!({"role": "assistant", "content": said}));
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages})
}

/// Host and path of the address that a variable names.
fn address(variable: &str) -> (String, String) {
    let base = env::var(variable).unwrap();
    let rest = base.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    (host.to_owned(), if path.is_empty() { String::new() } else { format!("/{path}") })
}

/// Posts to the provider that the environment names, as a client does; gives the answer.
fn ask() -> String {
    let (host, path) = address("ANTHROPIC_BASE_URL");
    post(&host, &format!("{path}/v1/messages"))
}

fn post(host: &str, path: &str) -> String {
    post_body(host, path, &question())
}

fn post_body(host: &str, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-api-key: {KEY}\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The client; without `IT_CLIENT` it does nothing.
#[test]
fn client() {
    match env::var("IT_CLIENT").as_deref() {
        Ok("ask") => {
            assert!(ask().starts_with("HTTP/1.1 200"));
            std::process::exit(7);
        }
        Ok("talk") => {
            let (host, path) = address("ANTHROPIC_BASE_URL");
            let answer = post_body(&host, &format!("{path}/v1/messages"), &long_question());
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        Ok("try") => {
            let (host, path) = address("ANTHROPIC_BASE_URL");
            // What another program of this machine, or a page, could guess.
            for guess in ["", "/to/anthropic", "/0123456789abcdef0123456789abcdef/to/anthropic"] {
                let answer = post(&host, &format!("{guess}/v1/messages"));
                assert!(answer.starts_with("HTTP/1.1 403"), "{guess}: {answer}");
            }
            let (_, openai) = address("OPENAI_BASE_URL");
            let (_, ollama) = address("OLLAMA_HOST");
            let token = path.split('/').nth(1).unwrap();
            let mut file = std::fs::File::create_new("token").unwrap();
            std::io::Write::write_all(&mut file, token.as_bytes()).unwrap();
            for path in
                [format!("{openai}/chat/completions"), format!("{ollama}/v1/chat/completions")]
            {
                assert!(post(&host, &path).starts_with("HTTP/1.1 200"), "{path}");
            }
        }
        Ok("continue") => {
            let (host, path) = address("ANTHROPIC_BASE_URL");
            let mut body = question();
            body["thread"] = json!({"type": "continue", "previous_message_id": "msg_1"});
            let answer = post_body(&host, &format!("{path}/v1/messages"), &body);
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        }
        Ok("stray") => {
            let (host, path) = address("ANTHROPIC_BASE_URL");
            let token = path.split('/').nth(1).unwrap();
            let answer = post(&host, &format!("/{token}/v1beta/models/gemini:generateContent"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
            assert!(post(&host, "/v1/messages").starts_with("HTTP/1.1 403"));
        }
        Ok("wait") => {
            std::fs::OpenOptions::new().write(true).create_new(true).open("ready").unwrap();
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
        _ => {}
    }
}

/// `epitome run` with these flags, before the client that does this.
fn command(place: &Place, flags: &[&str], task: &str) -> Command {
    let binary = env::current_exe().unwrap();
    let mut args = vec!["run"];
    args.extend(flags);
    args.push("--");
    let mut command = place.command(args);
    command.arg(binary).args(["--exact", "run::client", "--nocapture"]).env("IT_CLIENT", task);
    command
}

fn run(place: &Place, flags: &[&str], task: &str) -> Ran {
    Ran::of(command(place, flags, task), b"")
}

#[test]
fn a_client_is_compressed_and_ends_as_it_ends() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let ran = run(&place, &["--anthropic-upstream", &upstream.url()], "ask");
    assert_eq!(ran.code, 7, "{ran:?}");
    let last = ran.err.lines().last().unwrap();
    assert!(last.starts_with("epitome: ") && last.contains(" tokens raw → "), "{last}");
    assert!(last.contains("% less), net $") && last.ends_with(", 0 skips"), "{last}");

    // The provider got less, with the client's own credential, and was told of the file.
    let prompts = upstream.prompts();
    assert_eq!((prompts.len(), prompts[0].header("x-api-key")), (1, Some(KEY)));
    let sent = prompts[0].body.to_string();
    assert!(sent.len() * 20 < question().to_string().len(), "{}", sent.len());
    assert!(sent.contains("FATAL no space left on /dev/sda7"), "{sent}");
    let at = sent.find(".epitome/offloaded/").unwrap();
    let name = &sent[at..at + ".epitome/offloaded/12345678.md".len()];
    let file = String::from_utf8(place.read(name)).unwrap();
    let log = question()["messages"][2]["content"][0]["content"].as_str().unwrap().to_owned();
    assert!(file.ends_with(&format!("\n\n{log}\n")), "{}", file.len());

    // The id brings the same back, and what is left is the user's journal, the log and the files.
    let id = &name[".epitome/offloaded/".len()..name.len() - 3];
    let recalled = place.run(["recall", "--id", id]);
    assert_eq!(String::from_utf8(recalled.out).unwrap(), log);
    assert_eq!(place.files(), [".epitome", ".local"]);
    let log = String::from_utf8(place.read(".local/share/epitome/run.log")).unwrap();
    assert!(!log.contains(KEY) && !log.contains("FATAL"), "{log}");
}

#[track_caller]
fn check_undo(flags: &[&str]) {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    std::fs::create_dir(place.path("apart")).unwrap();
    let url = upstream.url();
    let all = [&["--anthropic-upstream", &*url, "--prompt-limit", "8000"], flags].concat();
    let ran = run(&place, &all, "talk");
    assert_eq!(ran.code, 0, "{flags:?}: {ran:?}");
    let last = ran.err.lines().last().unwrap();
    let (_, undo) = last.split_once("; undo: ").unwrap_or_else(|| panic!("{flags:?}: {last}"));
    let undone = place.shell(undo);
    assert_eq!(undone.code, 0, "{flags:?}: {undo}: {}", undone.err);
    assert!(undone.text().contains("is taken back"), "{flags:?}: {}", undone.text());
    // Once more there is nothing to undo: it was the only compression.
    assert_eq!(place.shell(undo).code, 2, "{flags:?}: {undo}");

    let log = String::from_utf8(place.read(".local/share/epitome/run.log")).unwrap();
    for line in log.split('`').filter(|part| part.starts_with("epitome ")) {
        let ran = place.shell(line);
        assert_eq!(ran.code, 0, "{flags:?}: the log names {line}: {}", ran.err);
    }
}

#[test]
fn the_closing_line_undoes_as_it_is_printed() {
    check_undo(&[]);
    check_undo(&["--store", "my stores/the first.db"]);
    check_undo(&["--profile", "ollm"]);
    check_undo(&["--workspace", "apart"]);
    check_undo(&["--profile", "staged", "--store", "it's.db"]);
}

/// Other programs of the machine cannot use what a client was given, and nobody is shown it.
#[test]
fn a_client_has_an_address_of_its_own() {
    let (place, openai) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let ollama = Upstream::start(Script::default()).unwrap();
    let anthropic = Upstream::start(Script::default()).unwrap();
    let urls = [anthropic.url(), openai.url(), ollama.url()];
    let flags = [
        "--anthropic-upstream",
        &urls[0],
        "--openai-upstream",
        &urls[1],
        "--ollama-upstream",
        &urls[2],
        "--dump",
        "dumps",
        "-v",
    ];
    let ran = run(&place, &flags, "try");
    assert_eq!(ran.code, 0, "{ran:?}");
    let counts = [&anthropic, &openai, &ollama].map(|upstream| upstream.prompts().len());
    assert_eq!(counts, [0, 1, 1], "each went where its address leads, and no guess did");
    let token = String::from_utf8(place.read("token")).unwrap();
    let token = token.as_str();
    assert_eq!(token.len(), 32);
    // It is the client's alone: the page for people has a secret of its own.
    let secret = String::from_utf8(place.read(".local/share/epitome/page.token")).unwrap();
    assert!(!ran.err.contains(token), "{}", ran.err);
    assert!(ran.err.contains("what it does is shown at http://127.0.0.1:"), "{}", ran.err);
    assert!(ran.err.contains(&format!("/?token={} while it runs", secret.trim())), "{}", ran.err);
    let log = String::from_utf8(place.read(".local/share/epitome/run.log")).unwrap();
    let meta = String::from_utf8(place.read("dumps/000001.meta.json")).unwrap();
    assert!(!log.contains(token) && !meta.contains(token), "{log} {meta}");
    let records = [openai.records(), ollama.records()].concat();
    assert!(
        records
            .iter()
            .all(|it| !it.path.contains(token) && !format!("{:?}", it.headers).contains(token))
    );
}

/// A thread that goes on elsewhere is declined, so that the whole conversation comes.
#[test]
fn what_was_refused_here_did_not_pass() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let ran = run(&place, &["--anthropic-upstream", &upstream.url()], "continue");
    assert_eq!((ran.code, upstream.records().len()), (0, 0), "{ran:?}");
    let last = ran.err.lines().last().unwrap();
    assert_eq!(last, "epitome: no request came through, 1 other request not taken (1 with 400)");

    // Nor did what belongs to no upstream, or came without the token.
    let ran = run(&place, &["--anthropic-upstream", &upstream.url()], "stray");
    assert_eq!((ran.code, upstream.records().len()), (0, 0), "{ran:?}");
    let last = ran.err.lines().last().unwrap();
    let both = "2 other requests not taken (1 with 403, 1 with 404)";
    assert_eq!(last, format!("epitome: no request came through, {both}"));
}

#[test]
fn what_the_user_had_set_is_the_upstream() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let mut command = command(&place, &["-q"], "ask");
    command.env("ANTHROPIC_BASE_URL", upstream.url());
    let ran = Ran::of(command, b"");
    assert_eq!((ran.code, &*ran.err), (7, ""), "{ran:?}");
    assert_eq!(upstream.prompts().len(), 1);
}

#[test]
fn signals_reach_the_client() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let mut command = command(&place, &["--anthropic-upstream", &upstream.url()], "wait");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.path("ready").exists() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(128 + 15), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("no request came through"), "{said}");
}

/// A run whose client waits, and the address of the page that it names: the host, and the path.
fn waiting(place: &Place, upstream: &Upstream) -> (Child, String, String) {
    let mut command = command(place, &["--anthropic-upstream", &upstream.url()], "wait");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let named = lines.filter_map(|line| {
        Some(line.split_once("shown at http://")?.1.split(' ').next()?.to_owned())
    });
    let named = { named }.next().unwrap();
    while !place.path("ready").exists() {
        std::thread::yield_now();
    }
    std::fs::remove_file(place.path("ready")).unwrap();
    let (host, path) = named.split_at(named.find('/').unwrap());
    (child, host.to_owned(), path.to_owned())
}

fn end(mut child: Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    child.wait().unwrap();
}

#[test]
fn runs_beside_each_other_share_the_address_of_the_page() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let (first, host, path) = waiting(&place, &upstream);
    let (second, other_host, other_path) = waiting(&place, &upstream);
    assert_eq!((&other_host, &other_path), (&host, &path));
    let asks = || {
        let mut stream = TcpStream::connect(&*host).ok()?;
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    assert!(asks().unwrap().starts_with("HTTP/1.1 303"), "{:?}", asks());
    // It is the page's alone: nothing is sent on from there.
    assert!(post(&host, "/v1/messages").starts_with("HTTP/1.1 403"));
    end(first);
    // The one that is left takes it over.
    eventually("the page is there again", || {
        asks().is_some_and(|answer| answer.starts_with("HTTP/1.1 303"))
    });
    // A run of another store has a page of its own.
    let elsewhere = Place::new();
    let (third, third_host, third_path) = waiting(&elsewhere, &upstream);
    assert!(third_host != host && third_path != path, "{third_host}{third_path}");
    end(second);
    end(third);
    assert_eq!(upstream.prompts().len(), 0);
}

#[test]
fn a_damaged_store_keeps_no_client_from_its_work() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    let no_database = "no database at all, and longer than any header of one would ever be";
    place.write("s.db", no_database);
    let mut command = command(&place, &["--store", "s.db"], "ask");
    command.env("ANTHROPIC_BASE_URL", upstream.url());
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.err.contains("conversations go on in memory"), "{}", ran.err);
    assert_eq!(upstream.prompts().len(), 1);
    assert_eq!(place.read("s.db"), no_database.as_bytes());
}

#[test]
fn a_data_folder_that_cannot_be_written_keeps_no_client_from_its_work() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    place.write(".local", "a file where a folder should be");
    let mut command = command(&place, &[], "ask");
    command.env("ANTHROPIC_BASE_URL", upstream.url());
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, 7, "{ran:?}");
    let said = ["this run is not logged", "conversations go on in memory"];
    assert!(said.iter().all(|said| ran.err.contains(said)), "{}", ran.err);
    assert_eq!(upstream.prompts().len(), 1);
}

#[test]
fn a_proxy_that_cannot_start_says_so() {
    let place = Place::new();
    // An address that names no port.
    let store = "postgres://team@db:port";
    let ran = run(&place, &["--store", store], "ask");
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("error: the proxy cannot start: "), "{}", ran.err);
    // Without it the client goes where it would have gone.
    let upstream = Upstream::start(Script::default()).unwrap();
    let mut direct = command(&place, &["--store", store, "--or-direct"], "ask");
    direct.env("ANTHROPIC_BASE_URL", upstream.url());
    let ran = Ran::of(direct, b"");
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.err.contains("runs without the proxy"), "{}", ran.err);
    assert_eq!(upstream.prompts()[0].body, question());
}

#[test]
fn a_client_that_is_not_there_is_named() {
    let place = Place::new();
    for flags in [&["run", "--", "no-such-client"][..], &["run", "--or-direct", "no-such-client"]] {
        let ran = place.run(flags);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("there is no command `no-such-client`"), "{}", ran.err);
    }
}

#[test]
fn a_dead_address_is_named_with_its_remedy() {
    let place = Place::new();
    // A port that was free a moment ago.
    let port: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{port}");
    std::fs::create_dir(place.path(".claude")).unwrap();
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": address}});
    place.write(".claude/settings.json", settings.to_string());
    let mut command = place.command(["doctor", "--json"]);
    command.env("OPENAI_BASE_URL", format!("{address}/v1"));
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, 6, "{ran:?}");
    let findings = ran.json();
    let findings = findings.as_array().unwrap().iter().filter(|one| one["about"] == "client");
    let remedies: Vec<_> = findings.map(|one| one["remedy"].as_str().unwrap()).collect();
    assert!(remedies.iter().any(|remedy| remedy.starts_with("unset OPENAI_BASE_URL")));
    let file = "take ANTHROPIC_BASE_URL out of ";
    assert!(remedies.iter().any(|remedy| remedy.starts_with(file)), "{remedies:?}");
}

#[test]
fn files_go_with_their_session() {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    run(&place, &["--anthropic-upstream", &upstream.url()], "ask");
    let offloaded = || std::fs::read_dir(place.path(".epitome/offloaded")).unwrap().count();
    assert_eq!(offloaded(), 2, "the file and `.gitignore`");
    let list = place.run(["session", "list", "--json"]).json();
    let name = list[0]["name"].as_str().unwrap();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let erase = ["session", "erase", name, "e2", "--workspace"];
    let ran = place.run(erase.iter().chain(&["elsewhere"]));
    assert!(ran.err.contains("remain in `.epitome/offloaded`"), "{}", ran.err);
    assert_eq!(offloaded(), 2);
    let ran = place.run(["session", "delete", "--forever", name]);
    assert!(ran.err.contains("1 file with what left the prompts"), "{ran:?}");
    assert_eq!(offloaded(), 1);
}

/// What stands where the client should is no client where it begins like a flag.
#[test]
fn a_flag_that_there_is_not_is_named_with_those_there_are() {
    let ran = Place::new().run(["run", "--listen", "1", "--", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`run` has no flag `--listen`; it has "), "{}", ran.err);
    assert!(ran.err.contains("`--or-direct`") && !ran.err.contains("install"), "{}", ran.err);
}
