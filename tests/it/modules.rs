//! Plugins that are modules of WebAssembly, in a conversation: what one makes, that none does harm, and that
//! an edit of one acts.

#![expect(clippy::disallowed_methods, reason = "it waits for what runs beside it")]

use std::process::Command;
use std::time::{Duration, Instant};

use epitome_testkit::module::{GOOD, does, hostile_modules, parts, says};
use serde_json::{Value, json};

use crate::playing::Playing;
use crate::plugins::{ASKED, TICKETS, brought, check, desk, done, replayed, said, steps};
use crate::program::Place;

/// What a module is held to here.
const MANIFEST: &str =
    "module = \"plugin.wat\"\nprovides = [\"digest\"]\nfuel = 3\nmemory_mb = 4\n";

/// A module of somebody else, who is trusted.
fn boxed(place: &Place, manifest: &str, bytes: &[u8]) {
    std::fs::create_dir_all(place.path(TICKETS)).unwrap();
    place.write(&format!("{TICKETS}/plugin.toml"), manifest);
    let file = if manifest.contains("plugin.wasm") { "plugin.wasm" } else { "plugin.wat" };
    place.write(&format!("{TICKETS}/{file}"), bytes);
    done(place, "trust -q");
}

#[test]
fn a_new_module_is_whole_passes_its_check_and_digests() {
    let place = desk(ASKED);
    let lines = ["plugin new tickets --lang wat", "plugin check tickets", "plugin list"];
    let all = said(&place, &lines);
    // Failures with nothing between them that a note would be shorter than.
    let failures = |line: i32| format!("fail: {line}\n\n");
    place.write(
        &format!("{TICKETS}/samples/Bash.txt"),
        (0..16_000).map(failures).collect::<String>(),
    );
    done(&place, "plugin check tickets");
    let own: Vec<&str> = all.lines().filter(|line| !line.contains("shipped")).collect();
    check("module_new", &own.join("\n"));
    let (results, happened) = replayed(&place);
    let digest = &results[0];
    assert!(digest.starts_with("step 1: done"), "{digest}");
    assert!(digest.contains("[… 73 lines]\nstep 77: FAILED, part 3 is broken\n[… 120 lines]"));
    assert!(digest.len() * 5 < steps().len(), "{digest}");
    assert_eq!(results[1], steps());
    let told = happened.iter().filter(|it| it["event"] == "tool-result-digested");
    assert_eq!(told.map(|it| &it["tool"]).collect::<Vec<_>>(), ["tickets"]);
}

/// A module that nobody trusts beside a shipped plugin of its name: the shipped one is looked at, and that is
/// told.
#[test]
fn whoever_looks_at_a_name_hears_that_another_is_passed_over() {
    let place = desk(ASKED);
    for folder in ["plugins/tables", "policies/ollm"] {
        std::fs::create_dir_all(place.path(&format!(".epitome/{folder}"))).unwrap();
    }
    place.write(".epitome/plugins/tables/plugin.toml", MANIFEST);
    place.write(".epitome/plugins/tables/plugin.wat", "(module");
    place.write(".epitome/policies/ollm/policy.lua", "--- @api 2\nreturn {}\n");
    for line in ["plugin check tables", "policy check ollm", "doctor"] {
        let said = said(&place, &[line]);
        let about = if line.starts_with("policy") { "policy `ollm`" } else { "plugin `tables`" };
        assert!(
            said.contains(&format!("the {about} came with the project and is not trusted")),
            "{said}"
        );
    }
}

/// What one in Rust is made of compiles to a module.
#[test]
fn a_new_module_in_rust_digests() {
    let targets = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let target = "wasm32-unknown-unknown";
    if !targets.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains(target)) {
        let is_required = std::env::var_os("EPITOME_WASM").is_some();
        assert!(!is_required, "Rust cannot compile for {target}: `rustup target add {target}`");
        return;
    }
    let place = desk(ASKED);
    let told = done(&place, "plugin new tickets --lang rust-wasm").text().to_owned();
    let sdk = told.split("epitome-plugin.path='").nth(1).unwrap().split('\'').next().unwrap();
    // The same packages as ours, which are here already.
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    std::fs::copy(lock, place.path(TICKETS).join("Cargo.lock")).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--release", "--target", target, "--config"])
        .arg(format!("patch.crates-io.epitome-plugin.path='{sdk}'"))
        .current_dir(place.path(TICKETS))
        .env("CARGO_TARGET_DIR", place.path("target"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let module = place.path(&format!("target/{target}/release/plugin.wasm"));
    std::fs::copy(module, place.path(TICKETS).join("plugin.wasm")).unwrap();
    assert_eq!(done(&place, "plugin check tickets").text(), "ok    tickets   digests tickets\n");
    let (results, _) = replayed(&place);
    assert!(results[0].contains("[… 73 lines]\nstep 77: FAILED, part 3 is broken\n[… 120 lines]"));
}

/// Files that are no module that may run.
fn broken_files() -> Vec<(&'static str, Vec<u8>)> {
    let import = "(import \"env\" \"fetch\" (func (param i32 i32) (result i32)))";
    let text = |text: String| text.into_bytes();
    vec![
        ("plugin.wasm: is empty", Vec::new()),
        ("plugin.wasm: is garbage", b"<html>404</html>".to_vec()),
        ("plugin.wasm: is garbage behind the magic", b"\0asm\x01\0\0\0\xff\xff\xff".to_vec()),
        ("plugin.wasm: was cut", b"\0asm\x01\0\0\0\x01\x20\x60".to_vec()),
        ("plugin.wasm: is a text", text(says(GOOD))),
        ("plugin.wat: is empty", Vec::new()),
        ("plugin.wat: is binary", vec![0xfe; 64]),
        ("plugin.wat: imports", text(parts(&[import]))),
        ("plugin.wat: exports nothing", b"(module)".to_vec()),
        ("plugin.wat: exports another type", text(parts(&["(func (export \"answer\"))"]))),
        ("plugin.wat: does not type-check", text(parts(&["(func (i32.add))"]))),
    ]
}

/// What a conversation with a module is told, one line for each event.
#[track_caller]
fn told(name: &str, manifest: &str, bytes: &[u8]) -> Vec<String> {
    let place = desk(&ASKED.replace("[\"tickets\"]", "[\"tickets\", \"logs\"]"));
    boxed(&place, manifest, bytes);
    let (results, happened) = replayed(&place);
    let errors = happened.iter().filter(|event| event["event"] == "plugin-error");
    let told = errors.map(|error| {
        let [plugin, cause, remedy] =
            ["plugin", "cause", "remedy"].map(|key| error[key].as_str().unwrap());
        format!("{plugin}: {cause}; {remedy}")
    });
    let told: Vec<_> = told.collect();
    // The next one answers, unless it is well, and no result is lost.
    let is_well = name == "is well";
    let expected = if is_well { "[… all is well]" } else { "step 77: FAILED, part 3 is broken" };
    assert!(results[0].contains(expected), "{name}: {}", results[0]);
    assert!(results[0].len() * 5 < steps().len(), "{name}: {}", results[0]);
    assert_eq!(results[1], steps(), "{name}");
    told
}

#[test]
fn a_hostile_module_stops_nothing_and_costs_one_event() {
    let silent = ["answers what is too large", "has no answer", "is well"];
    let hostile = hostile_modules()
        .into_iter()
        .map(|(name, text)| (name, MANIFEST.to_owned(), text.into_bytes()));
    let broken = broken_files().into_iter().map(|(name, bytes)| {
        let file = name.split(':').next().unwrap();
        (name, MANIFEST.replace("plugin.wat", file), bytes)
    });
    let all: Vec<_> = hostile.chain(broken).collect();
    let mut lines = String::new();
    for (name, manifest, bytes) in &all {
        let told = told(name, manifest, bytes);
        assert_eq!(told.len(), usize::from(!silent.contains(name)), "{name}: {told:?}");
        lines += &format!("{name}\n  {}\n", told.first().map_or("", String::as_str));
    }
    assert!(all.len() >= 40, "{}", all.len());
    check("modules_that_fail", lines.trim_end());
}

/// A conversation in which the tool is called in each of many turns.
fn long_talk() -> String {
    let turn = |at: usize| {
        let call = json!({"id": format!("c{at}"), "type": "function",
            "function": {"name": "tickets", "arguments": "{}"}});
        [
            json!({"role": "user", "content": format!("Which steps failed now, at {at}?")}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": steps()}),
            json!({"role": "assistant", "content": format!("Step 77 did, at {at}.")}),
        ]
    };
    let messages: Vec<Value> = (0..200).flat_map(turn).collect();
    json!({ "model": "gpt-5", "messages": messages }).to_string()
}

/// The event of a name in the next turn that has one.
#[track_caller]
fn next_event(replay: &mut Playing, name: &str) -> Value {
    let turn = replay.until(name);
    let events = turn["events"].as_array().unwrap();
    events.iter().find(|event| event["event"] == name).unwrap().clone()
}

/// The newest prompt that was sent.
fn newest_prompt(place: &Place) -> String {
    let sent = std::fs::read_dir(place.path("sent")).unwrap();
    let newest = sent.map(|file| file.unwrap().file_name().into_string().unwrap()).max().unwrap();
    String::from_utf8(place.read(&format!("sent/{newest}"))).unwrap()
}

/// A replay that goes on for a while.
const EDITED: &str =
    "replay talk.json --profile desk --prompt-limit 900000 --pace 60 --dump sent -q";

/// Edits a plugin while a replay goes on: first to what is good, then to what is not.
fn edited(place: &Place, file: &str, better: &str, broken: &str, cause: &str) {
    place.write("talk.json", long_talk());
    let mut replay = Playing::start(place, &EDITED.split(' ').collect::<Vec<_>>());
    replay.until("tool-result-digested");
    replay.until("tool-result-digested");
    assert!(newest_prompt(place).contains("all is well"));
    place.write(&format!("{TICKETS}/{file}"), better);
    let reloaded = next_event(&mut replay, "policy-reloaded");
    assert_eq!(
        (&reloaded["policy"], &reloaded["generation"]),
        (&json!("plugin:tickets"), &json!(2))
    );
    replay.until("tool-result-digested");
    replay.until("tool-result-digested");
    assert!(newest_prompt(place).contains("all is better"));
    place.write(&format!("{TICKETS}/{file}"), broken);
    let error = next_event(&mut replay, "plugin-error");
    assert_eq!(error["plugin"], "tickets");
    assert!(error["cause"].as_str().unwrap().contains(cause), "{error}");
    assert!(error["remedy"].as_str().unwrap().contains("the one from before goes on"), "{error}");
    // The one from before goes on, and that is told once.
    let mut after = 0;
    while after < 4 {
        let turn = replay.next().unwrap();
        let events = turn["events"].as_array().cloned().unwrap_or_default();
        assert!(events.iter().all(|event| event["event"] != "plugin-error"), "{events:?}");
        after += events.iter().filter(|event| event["event"] == "tool-result-digested").count();
    }
    assert!(newest_prompt(place).matches("all is better").count() > 4);
    replay.kill();
}

#[test]
fn an_edit_of_a_module_acts_at_once_and_a_broken_one_changes_nothing() {
    let place = desk(ASKED);
    boxed(&place, MANIFEST, says(GOOD).as_bytes());
    done(&place, "trust --author .epitome/plugins -q");
    let better = says(&GOOD.replace("all is well", "all is better"));
    edited(&place, "plugin.wat", &better, "(module", "`plugin.wat` cannot be loaded");
}

#[test]
fn an_edit_of_a_program_acts_at_once_and_a_broken_one_changes_nothing() {
    let program = |said: &str| {
        crate::plugins::hostile(&format!(
            "print(json.dumps({{'id': json.loads(line)['id'], 'ok': {{'text': '{said}', 'kind': \
             'x'}}}}), flush=True)"
        ))
    };
    let place = desk(ASKED);
    brought(&place, &program("[… all is well]"));
    done(&place, "trust --author .epitome/plugins -q");
    let broken = "import sys\nsys.exit('no ticket system here')\n";
    edited(&place, "plugin.py", &program("[… all is better]"), broken, "no ticket system here");
}

/// Of somebody else's module runs what was trusted, and nothing that came later.
#[test]
fn an_edit_of_a_module_that_is_not_yours_waits_for_trust() {
    let place = desk(ASKED);
    boxed(&place, MANIFEST, says(GOOD).as_bytes());
    place.write("talk.json", long_talk());
    let mut replay = Playing::start(&place, &EDITED.split(' ').collect::<Vec<_>>());
    replay.until("tool-result-digested");
    let other = says(&GOOD.replace("all is well", "all is other"));
    place.write(&format!("{TICKETS}/plugin.wat"), other);
    let error = next_event(&mut replay, "plugin-error");
    let cause = error["cause"].as_str().unwrap();
    assert!(cause.contains("is new, or not what you trusted any more"), "{cause}");
    replay.until("tool-result-digested");
    replay.until("tool-result-digested");
    assert!(!newest_prompt(&place).contains("all is other"));
    replay.kill();
}

/// Whoever kills the host leaves nothing of a plugin running, nor of what that started.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_running_where_the_host_is_killed() {
    let place = desk(ASKED);
    let program = "import os, subprocess, time\n\
                   child = subprocess.Popen(['sleep', '600'])\n\
                   open('pids', 'w').write(f'{os.getpid()} {child.pid} ')\n\
                   time.sleep(600)\n";
    brought(&place, program);
    done(&place, "trust -q");
    let mut host = place.command(crate::plugins::REPLAY.split(' ')).spawn().unwrap();
    let pids = || {
        let said = std::fs::read_dir(place.path(TICKETS)).unwrap();
        let is_there = said.filter_map(Result::ok).any(|file| file.file_name() == "pids");
        let said = if is_there { place.read(&format!("{TICKETS}/pids")) } else { Vec::new() };
        let said = String::from_utf8(said).unwrap();
        said.ends_with(' ').then(|| said.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let until = Instant::now() + Duration::from_secs(60);
    let pids = loop {
        assert!(Instant::now() < until, "it was not started");
        if let Some(pids) = pids() {
            break pids;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    host.kill().unwrap();
    host.wait().unwrap();
    // Between its end and its burial a process is a zombie.
    let lives = |pid: &String| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
        open.is_ok_and(|mut open| open.next().is_some())
    };
    while pids.iter().any(lives) {
        assert!(Instant::now() < until, "{pids:?} is left running");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A manifest that says of a module what only a program can do.
#[test]
fn what_no_module_can_do_is_refused_with_its_line() {
    let place = desk(ASKED);
    boxed(&place, MANIFEST, does("(nop)").as_bytes());
    let mut all = String::new();
    for line in [
        "command = [\"python3\"]",
        "env = [\"TOKEN\"]",
        "needs = [\"network\"]",
        "fuel = 0",
        "memory_mb = 0",
        "deadline_ms = 100",
    ] {
        let manifest = MANIFEST.replace("fuel = 3", "").replace("memory_mb = 4", line);
        place.write(&format!("{TICKETS}/plugin.toml"), manifest);
        all += &format!("{line}\n{}\n\n", said(&place, &["plugin check tickets"]));
    }
    for file in ["../plugin.wat", "/etc/plugin.wasm", "plugin.py", ""] {
        place.write(&format!("{TICKETS}/plugin.toml"), MANIFEST.replace("plugin.wat", file));
        all += &format!("{file:?}\n{}\n\n", said(&place, &["plugin check tickets"]));
    }
    check("modules_that_cannot_be_used", all.trim_end());
}
