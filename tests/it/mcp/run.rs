//! Clients that `epitome run` starts are told of the levers.

use epitome_upstream::{Script, Upstream};

use crate::program::{Place, Ran};

/// A client that prints what it was started with, and what it gets where it was told to ask.
const CLIENT: &str = "#!/bin/sh
for word; do
  echo \"$word\"
done
";

fn started(flags: &[&str], client: &[&str]) -> String {
    let (place, upstream) = (Place::new(), Upstream::start(Script::default()).unwrap());
    std::fs::create_dir(place.path("bin")).unwrap();
    let path = format!("bin/{}", client[0]);
    place.write(&path, CLIENT);
    let mode = std::process::Command::new("chmod").arg("+x").arg(place.path(&path)).status();
    assert!(mode.unwrap().success());
    let url = upstream.url();
    let to = ["--anthropic-upstream", url.as_str(), "--openai-upstream", url.as_str(), "-q"];
    let args = [&["run"][..], &to, flags, &["--"], client].concat();
    let ran = Ran::of(place.command(args), b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.text().to_owned()
}

#[test]
fn a_client_is_given_the_levers_for_its_process() {
    let words = started(&[], &["claude", "-p", "hello"]);
    let lines: Vec<_> = words.lines().collect();
    let servers =
        r#"--mcp-config={"mcpServers":{"epitome":{"type":"http","url":"http://127.0.0.1:"#;
    assert!(
        lines[0].starts_with(servers) && lines[0].ends_with(r#"/mcp","alwaysLoad":true}}}"#),
        "{words}"
    );
    assert_eq!(lines[1..], ["-p", "hello"]);
    let words = started(&[], &["codex", "exec", "hello"]);
    assert!(words.contains("-c\nmcp_servers.epitome.url=\"http://127.0.0.1:"), "{words}");
}

#[test]
fn without_them_nothing_is_told() {
    assert_eq!(started(&["--no-mcp"], &["claude", "-p", "hello"]), "-p\nhello\n");
    assert!(!started(&["--no-mcp"], &["codex", "exec", "hello"]).contains("mcp"));
}
