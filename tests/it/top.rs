//! `epitome top`: all sessions, on a pipe and on a terminal.

use std::process::{Command, Stdio};

use epitome_upstream::Script;
use serde_json::{Value, json};

use crate::program::{Place, Ran};
use crate::proxy::{Ask, Serving};

fn ask(session: &str, text: &str) -> Ask {
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 4096,
        "messages": [{"role": "user", "content": text}]});
    Ask::post("/v1/messages", body.to_string())
        .header("x-epitome-session", session)
        .header("user-agent", "claude-cli/2.1.197 (external, cli)")
}

/// A store with two sessions, a short one that was used last and a long one.
fn served() -> Serving {
    let mut serving = Serving::start(Script::default(), &["--prompt-limit", "8000"]);
    let long = "The queue grows while the workers wait. ".repeat(300);
    for (name, text) in [("long", &*long), ("short", "One \u{1b}[2J question.")] {
        assert_eq!(serving.send(ask(name, text)).status, 200);
    }
    serving.stop();
    serving
}

fn top(place: &Place, columns: &str, args: &[&str]) -> Ran {
    let mut command = place.command([&["top", "--store", "s.db"], args].concat());
    command.env("COLUMNS", columns);
    Ran::of(command, b"")
}

#[test]
fn a_pipe_gets_one_table() {
    let serving = served();
    for columns in ["80", "50", "200"] {
        for args in [&[][..], &["--once"]] {
            let shown = top(&serving.place, columns, args);
            assert_eq!((shown.code, shown.err.as_str()), (0, ""));
            let lines: Vec<_> = shown.text().lines().collect();
            assert_eq!(lines.len(), 3, "{lines:?}");
            assert!(lines[1].starts_with("One ") && lines[2].starts_with("The queue"), "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= columns.parse().unwrap()));
            assert!(!shown.text().contains('\u{1b}'), "{lines:?}");
        }
    }
    let wide = top(&serving.place, "200", &[]);
    for word in ["claude-cli", "claude-sonnet-4-5", "default", "$0.00", "█", " %"] {
        assert!(wide.text().contains(word), "{word}: {}", wide.text());
    }
    let order = |args: &[&str]| -> Vec<String> {
        let told: Value = top(&serving.place, "80", args).json();
        assert_eq!(told["schema"], "epitome/top@1");
        let sessions = told["sessions"].as_array().unwrap().iter();
        sessions.map(|it| it["session"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(order(&["--json"]), ["short", "long"]);
    assert_eq!(order(&["--json", "--sort", "prompt"]), ["long", "short"]);
    assert_eq!(order(&["--json", "--limit", "1"]), ["short"]);

    // It shows what `status` tells.
    let told = top(&serving.place, "80", &["--json"]).json();
    let status = serving.place.run(["status", "--store", "s.db", "--json"]).json();
    for (row, status) in told["sessions"].as_array().unwrap().iter().zip(status.as_array().unwrap())
    {
        for key in
            ["session", "title", "model", "profile", "turns", "limit", "level", "money", "last"]
        {
            assert_eq!(row[key], status[key], "{key}");
        }
        assert_eq!(json!([row["raw"], row["sent"]]), status["tokens"]);
    }
    assert_eq!(top(&serving.place, "80", &["--sort", "size"]).code, 2);
    assert_eq!(serving.place.run(["top", "--store", "none.db"]).code, 3);
}

/// Opens a terminal of 80 columns and 24 rows, runs the arguments in it, presses keys once the first
/// frame is there and another once that has changed it, and prints what it showed, then how the
/// program ended and whether the terminal is as it was.
const TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
size = struct.pack("HHHH", 24, 80, 0, 0)
parent, child = pty.openpty()
fcntl.ioctl(child, termios.TIOCSWINSZ, size)
before = termios.tcgetattr(parent)
pid = os.fork()
if pid == 0:
    os.login_tty(child)
    os.execv(sys.argv[3], sys.argv[3:])
os.close(child)
shown = b""
def until(text):
    global shown
    start = len(shown)
    while text not in shown[start:]:
        shown += os.read(parent, 65536)
until(b"by last")
os.write(parent, sys.argv[1].encode())
until(b"by prompt")
os.write(parent, sys.argv[2].encode())
until(b"\x1b[?1049l")
_, status = os.waitpid(pid, 0)
os.write(1, shown)
print("\nended", os.waitstatus_to_exitcode(status), termios.tcgetattr(parent) == before)
"#;

#[test]
fn a_terminal_is_live_and_left_as_it_was() {
    let serving = served();
    let ends = [("q", &[][..]), ("\u{3}", &[("NO_COLOR", "1")]), ("\u{1b}", &[]), ("\u{1b}x", &[])];
    for (end, variables) in ends {
        let program = crate::program::path();
        let mut command = Command::new("python3");
        command.current_dir(serving.place.path(".")).args(["-c", TERMINAL, "p", end]);
        command.arg(program).args(["top", "--store", "s.db"]).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", serving.place.path("."));
        command.env("TERM", "xterm").envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = Ran::of(command, b"");
        let text = ran.text();
        assert!(text.ends_with("\nended 0 True\n"), "{end:?}: {text:?} {}", ran.err);
        assert!(text.contains("2 sessions") && text.contains("claude-cli"), "{text:?}");
        assert!(text.contains("q quits"), "{text:?}");
        assert_eq!(text.contains("\u{1b}[1m"), variables.is_empty(), "{text:?}");
        assert!(!text.contains("\u{1b}[2J"), "what was said commands no terminal: {text:?}");
    }
}
