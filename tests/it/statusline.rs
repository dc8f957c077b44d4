//! `epitome statusline`: a session in one line, and `run`, which gives it to Claude Code.
//!
//! Claude Code is a script here: it writes down what it is told and has this test binary ask for it.

use std::env;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use epitome_testkit::PostgresServer;
use epitome_upstream::{Script, Upstream};
use serde_json::{Value, json};

use crate::conversation::anthropic;
use crate::program::{Place, Ran};
use crate::proxy::{Ask, Serving};

/// The session, as Claude Code names it.
const SESSION: &str = "7f3c1f6e-0000-4000-8000-1234567890ab";

fn ask(path: &str, turns: usize) -> Ask {
    Ask::post(path, anthropic(turns).to_string())
        .header("x-claude-code-session-id", SESSION)
        .header("x-api-key", "key")
        .header("user-agent", "claude-cli/2.1.197 (external, cli)")
}

/// The client; without `IT_CLAUDE`, the turns that it went on for before, it does nothing.
#[test]
fn client() {
    let Ok(before) = env::var("IT_CLAUDE") else { return };
    let before: usize = before.parse().unwrap();
    let base = env::var("ANTHROPIC_BASE_URL").unwrap();
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let address: SocketAddr = host.parse().unwrap();
    for turns in [before, before + 1] {
        let answer = ask(&format!("/{path}/v1/messages"), turns).send(address).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

/// What Claude Code sends.
fn input(session: &str) -> String {
    let window = json!({"context_window_size": 200_000, "used_percentage": null});
    json!({"session_id": session, "model": {"id": "x"}, "context_window": window}).to_string()
}

/// The line once it has something to say.
fn line(run: impl Fn() -> Ran) -> String {
    line_that(run, |line| line.contains(" of 200k"))
}

/// The line once it is as wanted: on a machine that is busy it may be that of a call before.
#[track_caller]
fn line_that(run: impl Fn() -> Ran, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut shown = String::new();
    for _ in 0..100 {
        let ran = run();
        assert_eq!(ran.code, 0, "{ran:?}");
        shown = ran.text().to_owned();
        if is_wanted(&shown) {
            return shown;
        }
    }
    panic!("the line is still {shown:?}");
}

#[test]
fn a_session_is_shown_in_one_line() {
    let mut serving = Serving::start(Script::default(), &["--prompt-limit", "8000"]);
    // What the client asks first under its id is not the conversation.
    let first = json!({"model": "claude-sonnet-4-5", "max_tokens": 64,
        "messages": [{"role": "user", "content": "Which files are there?"}]});
    let first = Ask::post("/v1/messages", first.to_string());
    assert_eq!(serving.send(first.header("x-claude-code-session-id", SESSION)).status, 200);
    assert_eq!(serving.send(ask("/v1/messages", 20)).status, 200);
    serving.stop();
    let place = &serving.place;
    let sessions = serving.sessions();
    let largest = sessions.iter().max_by_key(|it| it["tokens"][0].as_u64()).unwrap();
    let name = largest["name"].as_str().unwrap();
    assert!(sessions.len() == 2 && name.len() > SESSION.len(), "{sessions:?}");
    let feed = || place.feed(["statusline", "--store", "s.db"], input(SESSION).as_bytes());
    let shown = line(feed);
    let parts: Vec<_> = shown.trim_end().split(" · ").collect();
    let [window, kept, money, compressed] = parts[..] else { panic!("{shown}") };
    assert!(window.ends_with("k of 200k") && kept.starts_with("kept "), "{shown}");
    assert!(money.starts_with("saved $") || money.starts_with("lost $"), "{shown}");
    assert!(compressed.starts_with("↶ ") && compressed.ends_with(" UTC"), "{shown}");
    // It is what `status` says.
    let status = place.run(["status", "--session", name, "--store", "s.db", "--json"]).json();
    let sent = status["tokens"][1].as_f64().unwrap();
    assert!(shown.starts_with(&format!("{:.0}k of", sent / 1e3)), "{shown}: {status}");
    let saved = &status["money"]["saved"];
    let middle = (saved["least"].as_f64().unwrap() + saved["most"].as_f64().unwrap()) / 2.0;
    assert!(money.contains(&format!("${:.2}", middle.abs())), "{shown}: {status}");
    // The provider's count goes before ours, since it has the tools in it.
    let counted = |usage: Value| {
        let mut told: Value = serde_json::from_str(&input(SESSION)).unwrap();
        told["context_window"]["current_usage"] = usage;
        let input = told.to_string();
        move || place.feed(["statusline", "--store", "s.db"], input.as_bytes())
    };
    let usage =
        json!({"input_tokens": 2_000, "cache_read_input_tokens": 40_000, "output_tokens": 9});
    line_that(counted(usage), |line| line.starts_with("42k of 200k · "));
    line_that(counted(Value::Null), |line| line == shown);
    // What is not told takes nothing else with it.
    for unknown in [json!(null), json!("many"), json!(-1), json!({})] {
        let usage = json!({"input_tokens": unknown, "cache_read_input_tokens": 40_000});
        line_that(counted(usage), |line| line.starts_with("40k of 200k · "));
        line_that(counted(json!({"input_tokens": unknown})), |line| line == shown);
    }
    for unknown in [json!(7), json!("none"), json!(true)] {
        line_that(counted(unknown), |line| line == shown);
    }
    for window in [json!(null), json!({"context_window_size": null}), json!(200_000)] {
        let told = json!({"session_id": SESSION, "context_window": window}).to_string();
        let feed = || place.feed(["statusline", "--store", "s.db"], told.as_bytes());
        line_that(feed, |line| line.contains(" of 8k · kept "));
    }

    // A line of the user's own gets the same input and stands before it.
    let own = "read input; case $input in *session_id*) echo mine;; esac; echo below";
    let both = || {
        let args = ["statusline", "--store", "s.db", "--", "sh", "-c", own];
        place.feed(args, input(SESSION).as_bytes())
    };
    line_that(both, |line| line == format!("mine · {shown}below\n"));
    // After an undo nothing is compressed any more.
    assert_eq!(place.run(["session", "undo", name, "--store", "s.db"]).code, 0);
    line_that(feed, |line| line.contains(" of 200k") && !line.contains('↶'));
}

/// Where the store takes longer than a line may, the line is that of the call before.
#[test]
fn a_session_in_a_database_is_shown() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let store: &str = Box::leak(server.address("postgres").into_boxed_str());
    let mut serving =
        Serving::on_store(Script::default(), &["--prompt-limit", "8000"], Some(store));
    assert_eq!(serving.send(ask("/v1/messages", 20)).status, 200);
    serving.stop();
    let args = ["statusline", "--store", store];
    let shown = line(|| serving.place.feed(args, input(SESSION).as_bytes()));
    assert!(shown.contains(" · kept "), "{shown}");
    let both = [&args[..], &["--", "echo", "mine"]].concat();
    let shown = line(|| serving.place.feed(&both, input(SESSION).as_bytes()));
    assert!(shown.starts_with("mine · "), "{shown}");
}

#[test]
fn what_is_not_known_is_a_blank_line_and_no_fault() {
    let place = Place::new();
    let check = |store: &str, input: &str| {
        let ran = place.feed(["statusline", "--store", store], input.as_bytes());
        assert_eq!((ran.code, ran.text()), (0, ""), "{store} {input}: {ran:?}");
        let args = ["statusline", "--store", store, "--", "echo", "mine"];
        let ran = place.feed(args, input.as_bytes());
        assert_eq!((ran.code, ran.text()), (0, "mine\n"), "{store} {input}: {ran:?}");
    };
    place.write("broken.db", "no database at all, and longer than any header of one would ever be");
    place.write("a.json", json!({"messages": [{"role": "user", "content": "Hello."}]}).to_string());
    assert_eq!(place.run(["session", "import", "a.json", "--store", "s.db"]).code, 0);
    for store in ["none.db", "broken.db", "s.db", "postgres://127.0.0.1:1/none"] {
        for input in [&*input(SESSION), "", "{", "[]", "null", r#"{"session_id":7}"#, "{}"] {
            check(store, input);
        }
    }
    place.write("epitome.toml", "stroe = 1");
    check("s.db", &input(SESSION));
    // A command that is not there, or fails, takes nothing else with it.
    for command in [&["no-such-command"][..], &["sh", "-c", "exit 3"]] {
        let args = [&["statusline", "--store", "none.db", "--"][..], command].concat();
        let ran = place.feed(args, input(SESSION).as_bytes());
        assert_eq!((ran.code, ran.text()), (0, ""), "{command:?}: {ran:?}");
    }
    assert!(!place.path("none.db").exists());

    // An input that never ends is not waited for.
    let mut command = place.command(["statusline", "--store", "s.db"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
}

/// `epitome run -- claude` in a place where Claude Code is the script, and goes on from a session of 20
/// turns; gives what it was told.
fn claude(place: &Place, flags: &[&str], arguments: &[&str]) -> (Ran, Vec<String>) {
    claude_after(20, place, flags, arguments)
}

/// The same after so many turns.
fn claude_after(
    turns: usize,
    place: &Place,
    flags: &[&str],
    arguments: &[&str],
) -> (Ran, Vec<String>) {
    let upstream = Upstream::start(Script::default()).unwrap();
    let tests = env::current_exe().unwrap();
    std::fs::create_dir_all(place.path("bin")).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done > told\n\
         IT_CLAUDE={turns} exec '{}' --exact statusline::client\n",
        tests.display()
    );
    place.write("bin/claude", script);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("bin/claude"), executable).unwrap();
    let url = upstream.url();
    let args = ["run", "--prompt-limit", "8000", "--anthropic-upstream", &url];
    let ran = place.run([&args[..], flags, &["--", "claude"], arguments].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = String::from_utf8(place.read("told")).unwrap();
    (ran, told.lines().map(str::to_owned).collect())
}

/// The settings among what it was told.
fn settings(told: &[String]) -> Option<Value> {
    let at = told.iter().position(|word| word == "--settings")?;
    Some(serde_json::from_str(&told[at + 1]).unwrap())
}

#[test]
fn claude_code_is_given_the_line_for_one_run() {
    for flags in [&[][..], &["--store", "my stores/it's.db"], &["--profile", "ollm"]] {
        let place = Place::new();
        std::fs::create_dir_all(place.path("elsewhere")).unwrap();
        std::fs::create_dir_all(place.path("my stores")).unwrap();
        let own =
            json!({"statusLine": {"type": "command", "command": "echo 'my own'", "padding": 0}});
        std::fs::create_dir(place.path(".claude")).unwrap();
        place.write(".claude/settings.json", own.to_string());
        let (_, told) = claude(&place, flags, &["-c"]);
        let status_line = settings(&told).unwrap()["statusLine"].clone();
        assert_eq!((&status_line["type"], &status_line["padding"]), (&json!("command"), &json!(0)));
        assert_eq!(told.last().unwrap(), "-c");
        // Wherever Claude Code runs it.
        let command = status_line["command"].as_str().unwrap();
        let shown = line(|| {
            let input = format!("cd elsewhere && printf '%s' '{}' | {command}", input(SESSION));
            place.shell(&input)
        });
        assert!(shown.starts_with("my own · "), "{flags:?}: {shown}");
        assert!(shown.contains(" · kept "), "{flags:?}: {shown}");
        // No file of the user's was changed.
        assert_eq!(place.read_json(".claude/settings.json"), own);
    }
}

#[test]
fn the_line_shows_a_session_of_an_experiment() {
    let place = Place::new();
    let table = "[profile.short]\n[experiment.short]\narms = ['default', 'short']\n\
                 weights = [1, 999]\n";
    place.write("x.toml", table);
    let (_, told) = claude_after(0, &place, &["--config", "x.toml", "--store", "s.db"], &[]);
    let sessions = place.run(["session", "list", "--json", "--store", "s.db"]).json();
    assert_eq!(sessions[0]["profile"], "short", "{sessions:#}");
    let status_line = settings(&told).unwrap()["statusLine"].clone();
    let command = status_line["command"].as_str().unwrap();
    // A session that is not found has no line.
    line(|| place.shell(&format!("printf '%s' '{}' | {command}", input(SESSION))));
}

#[test]
fn a_line_that_the_user_wants_is_left_alone() {
    let place = Place::new();
    for (flags, arguments) in [
        (&["--no-statusline"][..], &[][..]),
        (&[], &["--settings", r#"{"statusLine":{"type":"command","command":"mine"}}"#]),
        (&[], &["-p", "hello"]),
    ] {
        let (_, told) = claude(&place, flags, arguments);
        assert!(told.iter().all(|word| !word.contains("epitome statusline")), "{told:?}");
        let given = arguments.contains(&"--settings");
        assert_eq!(settings(&told).is_some(), given, "{told:?}");
    }
}
