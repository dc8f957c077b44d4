//! What left a prompt comes back: by `epitome recall`, and by reading the file that the marker
//! names.

use std::net::SocketAddr;

use epitome_upstream::{Script, Upstream};
use serde_json::{Value, json};

use super::agent::result_of;
use super::http::Ask;
use super::serving::{KEY, Serving};
use crate::program::{Place, read_file};

/// A line that the digest of the log leaves out.
const CUT: &str = "run 7 item 55 took";

fn body() -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Why does run 7 fail?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "read_log", "input": {"n": "7"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result_of("read_log", "7")}]}]})
}

/// The text of the result as it was sent.
#[track_caller]
fn sent(upstream: &Upstream) -> String {
    let prompt = upstream.prompts().pop().unwrap();
    let text = prompt.body["messages"][2]["content"][0]["content"].to_string();
    assert!(text.contains("FATAL w3 run 7") && !text.contains(CUT), "{text}");
    text
}

/// The word after a phrase.
#[track_caller]
fn word_after<'a>(text: &'a str, phrase: &str) -> &'a str {
    let rest = text.split(phrase).nth(1).unwrap_or_else(|| panic!("no `{phrase}` in {text}"));
    rest.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).next().unwrap()
}

#[test]
fn a_line_that_was_cut_comes_back_by_recall() {
    let serving = Serving::start(Script::default(), &[]);
    serving.post("/v1/messages", &body());
    let text = sent(&serving.upstream);
    let id = word_after(&text, "epitome recall ");
    let recall = |args: &[&str]| {
        let ran = serving.place.run([&["recall", "--store", "s.db"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.text().to_owned()
    };
    assert!(recall(&["item 55"]).contains(CUT));
    assert!(recall(&[id]).contains(CUT), "`epitome recall {id}` finds nothing");
    assert_eq!(recall(&["--id", id]).trim_end(), result_of("read_log", "7"));
    assert!(recall(&["--id", id, "--lines", "56-56"]).contains(CUT));
}

#[test]
fn a_line_that_was_cut_stands_in_the_file_that_the_marker_names() {
    let upstream = Upstream::start(Script::default()).unwrap();
    let place = Place::new();
    let tests = std::env::current_exe().unwrap();
    let mut args = vec!["run", "--store", "s.db"];
    let url = upstream.url();
    args.extend(["--anthropic-upstream", &url, "--", tests.to_str().unwrap()]);
    args.extend(["proxy::back::the_client_of_run", "--exact", "--nocapture"]);
    let mut command = place.command(args);
    command.env("IT_IS_A_CLIENT", "yes");
    let ran = crate::program::Ran::of(command, b"");
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.err);
    let text = sent(&upstream);
    let id = word_after(&text, ".epitome/offloaded/");
    let whole = read_file(place.path(&format!(".epitome/offloaded/{id}.md"))).unwrap();
    let whole = String::from_utf8(whole).unwrap();
    assert!(whole.contains(&result_of("read_log", "7")), "{whole}");
    let ignored = read_file(place.path(".epitome/offloaded/.gitignore")).unwrap();
    assert_eq!(String::from_utf8(ignored).unwrap().trim(), "*");
    // One closing line: tokens raw → sent.
    assert!(ran.err.contains('→'), "{}", ran.err);
}

/// Not a test by itself: the program that `epitome run` starts above.
#[test]
fn the_client_of_run() {
    if std::env::var_os("IT_IS_A_CLIENT").is_none() {
        return;
    }
    let base = std::env::var("ANTHROPIC_BASE_URL").unwrap();
    let (host, path) = base.trim_start_matches("http://").split_once('/').unwrap();
    let address: SocketAddr = host.parse().unwrap();
    let path = format!("/{path}/v1/messages");
    let ask = Ask::post(&path, body().to_string()).header("x-api-key", KEY);
    let answer = ask.send(address).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn run_ends_as_its_client_ends() {
    let place = Place::new();
    let run = |command: &[&str]| {
        let args = ["run", "--anthropic-upstream", "http://127.0.0.1:9", "--"];
        place.run([&args, command].concat())
    };
    assert_eq!(run(&["sh", "-c", "exit 7"]).code, 7);
    let missing = run(&["no-such-client-here"]);
    assert_ne!(missing.code, 0);
    assert!(missing.err.contains("no-such-client-here"), "{}", missing.err);
}
