//! A plugin that does everything that a plugin should not, one fault per start.
//!
//! `hostile-plugin FAULT` misbehaves as its argument says; without one it is well-behaved. It
//! shares no code with the host, so that it can be wrong in ways that the host's types cannot say.
//!
//! Invariant: each fault is one arm below, and has its test in `tests/hostile.rs`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it speaks and logs as plugins do")]

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, ExitCode, Stdio, abort};
use std::thread::sleep;
use std::time::Duration;

/// Longer than any deadline.
const FOREVER: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let fault = args.first().map_or("none", String::as_str);
    match fault {
        "exit-before-hello" => {
            eprintln!("no licence found");
            return ExitCode::from(3);
        }
        "silent" => sleep(FOREVER),
        "wrong-version" => hello(9),
        "hello-of-garbage" => println!("Welcome to the plugin!"),
        "answer-for-hello" => said(0, "null"),
        _ => hello(1),
    }
    eprintln!("ready to be {fault}");
    for line in io::stdin().lock().lines().skip(1) {
        let id = line.as_deref().map(id).unwrap_or_default();
        answer(fault, id, args.get(1..).unwrap_or_default());
    }
    ExitCode::SUCCESS
}

/// Answers one call.
fn answer(fault: &str, id: u64, files: &[String]) {
    match fault {
        "hang" => sleep(FOREVER),
        "crash" => abort(),
        "exit" => std::process::exit(7),
        "garbage" => println!("<html>502 Bad Gateway</html>"),
        "binary" => bytes(b"\xff\xfe\x00\x1b[2J\x07{\"id\":\n"),
        "half-a-line" => {
            bytes(br#"{"id":0,"ok":{"text":"#);
            std::process::exit(0);
        }
        "huge-line" => flood(br#"{"id":0,"ok":{"text":"xxxxxxxx"#),
        "flood" => flood(b"{\"id\":4096,\"ok\":null}\n"),
        "flood-of-logs" => loop {
            eprintln!("{}", "working on it ".repeat(100));
        },
        "other-id" => println!(r#"{{"id":{},"ok":null}}"#, id + 1),
        "no-id" => println!(r#"{{"ok":null}}"#),
        "deep" => println!(r#"{{"id":{id},"ok":{}}}"#, "[".repeat(100_000)),
        "second-hello" => hello(1),
        "wrong-shape" => println!(r#"{{"id":{id},"ok":{{"digest":"text"}}}}"#),
        "wrong-type" => println!(r#"{{"id":{id},"ok":{{"text":["a","b"]}}}}"#),
        "negative-range" => said(id, r#"{"text":"a","kind":"x","left":[[-4,2]]}"#),
        "wild-range" => said(id, r#"{"text":"a","kind":"x","left":[[5,99999999]]}"#),
        "empty" => said(id, r#"{"text":" ","kind":"x"}"#),
        "larger" => said(id, &format!(r#"{{"text":"{}","kind":"x"}}"#, "more ".repeat(9999))),
        "refuses" => println!(r#"{{"id":{id},"error":"no ticket in the text"}}"#),
        // Answers with the number of a process that lives on unless somebody ends it.
        "offspring" => {
            let mut sh = Command::new("sh");
            sh.args(["-c", "echo $$; exec sleep 600"]).stdout(Stdio::piped());
            let mut number = String::new();
            if let Some(out) = sh.spawn().ok().and_then(|child| child.stdout) {
                BufReader::new(out).read_line(&mut number).ok();
            }
            said(id, &format!(r#"{{"text":"[… {}]","kind":"x"}}"#, number.trim()));
        }
        // Is gone itself, but leaves its pipes to what nobody can find.
        "escape" => {
            let mut sleeper = Command::new("sleep");
            sleeper.arg("20");
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut sleeper, 0);
            sleeper.spawn().ok();
            std::process::exit(0);
        }
        // Takes memory and writes to it, as long as it gets any.
        "greedy" => {
            let mut taken: Vec<Vec<u8>> = Vec::new();
            while taken.len() < 4096 {
                taken.push(vec![1; 1 << 20]);
            }
            said(id, &format!(r#"{{"text":"[… took {} MiB]","kind":"x"}}"#, taken.len()));
        }
        // Writes a file and calls an address.
        "reach" => {
            let [path, address] = files else { return };
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
            let line = TcpStream::connect(address);
            said(id, &format!(r#"{{"text":"[… {} {}]","kind":"x"}}"#, file.is_ok(), line.is_ok()));
        }
        // The first that makes the file.
        "late-once"
            if files.first().is_some_and(|flag| {
                OpenOptions::new().write(true).create_new(true).open(flag).is_ok()
            }) =>
        {
            sleep(FOREVER)
        }
        "slow" => {
            sleep(Duration::from_millis(50));
            said(id, "null");
        }
        "environment" => {
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort();
            said(id, &format!(r#"{{"text":"[… {}]","kind":"x"}}"#, names.join(" ")));
        }
        _ => said(id, r#"{"text":"[… all is well]","kind":"well","left":[[0,4]]}"#),
    }
}

fn hello(version: u32) {
    println!(
        r#"{{"hello":{{"protocol":{version},"name":"hostile","version":"0","features":["digest","telepathy"],"mood":"bad"}}}}"#
    );
}

fn said(id: u64, ok: &str) {
    println!(r#"{{"id":{id},"ok":{ok}}}"#);
}

/// The same bytes until the host has enough of them.
fn flood(piece: &[u8]) {
    let block = piece.repeat(256);
    while io::stdout().lock().write_all(&block).is_ok() {}
}

fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).ok();
}

/// The number of a call, of which nothing else is read.
fn id(line: &str) -> u64 {
    let rest = line.split_once("\"id\":").map_or("", |(_, rest)| rest);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_default()
}
