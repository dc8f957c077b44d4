//! A Chromium of a test's own, driven by the DevTools protocol over a pipe.
//!
//! Invariant: it keeps everything in a folder of its own, and ends with the test.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Where there has to be a Chromium: a test that finds none then fails.
const REQUIRED: &str = "EPITOME_CHROMIUM";

/// Its names.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is said where a page goes while it is asked; there is no answer then.
const BETWEEN_PAGES: &str = "Inspected target navigated or closed";

/// Commands come in at 3 and messages go out at 4, each with a zero behind it.
const START: &str = r#"exec "$0" --headless --remote-debugging-pipe --no-sandbox \
    --disable-dev-shm-usage --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --disable-extensions --hide-scrollbars \
    --user-data-dir="$1" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>"$1/log""#;

/// A running Chromium.
pub(super) struct Chromium {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Messages that are no answers and were not looked at yet.
    pub(super) events: VecDeque<Value>,
    number: u64,
    folder: TempDir,
}

impl Chromium {
    /// Starts one; none where there is none on this machine.
    pub(super) fn start() -> Option<Self> {
        let is_there = |name: &&str| {
            let mut found = Command::new(name);
            found.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            found.status().is_ok_and(|status| status.success())
        };
        let Some(name) = NAMES.into_iter().find(is_there) else {
            assert!(std::env::var_os(REQUIRED).is_none(), "Chromium is not installed");
            #[expect(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!(
                    "SKIPPED: Chromium is not installed, so nothing of the page was looked at"
                );
            }
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", START, name]).arg(folder.path()).env("HOME", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (commands, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell, messages) = channel();
        std::thread::spawn(move || {
            let pieces = BufReader::new(output).split(0).map_while(Result::ok);
            for message in pieces.filter_map(|it| serde_json::from_slice(&it).ok()) {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let events = VecDeque::new();
        Some(Self { child, commands, messages, events, number: 0, folder })
    }

    /// Sends a command, to a tab where one is named, and waits for its answer.
    #[track_caller]
    pub(super) fn call(&mut self, tab: Option<&str>, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut command = json!({"id": self.number, "method": method, "params": params});
        if let Some(tab) = tab {
            command["sessionId"] = json!(tab);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let message = self.next().unwrap_or_else(|| panic!("{method}: {}", self.log()));
            if message["id"] == self.number {
                // Whoever waits for a page asks again.
                let is_between = message["error"]["message"] == BETWEEN_PAGES;
                assert!(is_between || message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// The next message; none where it does not come in time.
    fn next(&self) -> Option<Value> {
        match self.messages.recv_timeout(PATIENCE) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("Chromium ended: {}", self.log()),
        }
    }

    /// What it printed.
    fn log(&self) -> String {
        let log = crate::program::read_file(self.folder.path().join("log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
