//! `epitome compress`: budgets, bytes, formats.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::conversation::{LAST, RULES, SYSTEM, all, bare, claude_code, openai};
use crate::measure::{chars, faults, messages, readable, texts, tokens};
use crate::program::{Place, Ran};

/// What must hold of every compressed conversation.
#[track_caller]
fn check_sound(name: &str, body: &Value) {
    assert_eq!(faults(body), Vec::<String>::new(), "{name}");
    let first = messages(body)[0].clone();
    let system = body.get("system").unwrap_or(&first["content"]);
    assert_eq!(system, SYSTEM, "{name}");
    // A note may be folded in before it; the text itself is whole.
    let last = texts(messages(body).last().unwrap());
    assert_eq!(last.last().map(String::as_str), Some(LAST), "{name}");
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Compresses every conversation with a budget and gives back what came out.
#[track_caller]
fn within(flag: &str, most: u64, size: impl Fn(&[u8], &Value) -> u64) {
    for (name, body) in all(24) {
        let input = body.to_string();
        let args = ["compress", flag, &most.to_string()];
        let out = Place::new().feed(args, input.as_bytes()).silent();
        let body = parsed(&out);
        check_sound(&format!("{name} {flag} {most}"), &body);
        let size = size(&out, &body);
        assert!(size <= most, "{name}: {size} with {flag} {most}");
        assert!(size * 2 > most, "{name}: only {size} with {flag} {most}");
    }
}

#[test]
fn a_budget_in_tokens_holds() {
    for most in [600, 1200, 4000] {
        within("--max-tokens", most, |_, body| tokens(body));
    }
}

#[test]
fn a_budget_in_characters_holds() {
    for most in [2000, 5000, 12_000] {
        within("--max-chars", most, |_, body| chars(body));
    }
}

#[test]
fn a_budget_in_bytes_holds() {
    for most in [3000, 6000, 15_000] {
        within("--max-bytes", most, |out, _| out.len() as u64);
    }
}

#[test]
fn a_ratio_is_taken_of_what_is_not_pinned() {
    for ratio in ["2", "4", "8.000"] {
        for (name, body) in all(24) {
            let out =
                Place::new().feed(["compress", "--ratio", ratio], body.to_string().as_bytes());
            let small = parsed(&out.silent());
            check_sound(name, &small);
            let pinned = crate::measure::count(SYSTEM) + crate::measure::count(LAST) + 8;
            let rest = (tokens(&body) - pinned) as f64;
            // The names of the tools, which the program counts too, are the difference allowed.
            let most = pinned as f64 + (rest / ratio.parse::<f64>().unwrap()) * 1.02;
            let size = tokens(&small) as f64;
            assert!(size <= most && size > most / 2.0, "{name} at {ratio}: {size} of {most}");
        }
    }
}

#[test]
fn without_a_budget_the_window_decides() {
    let input = openai(24).to_string();
    let place = Place::new();
    let run = |args: &[&str]| place.feed([&["compress"], args].concat(), input.as_bytes()).silent();
    assert_eq!(run(&[]), input.as_bytes(), "128,000 tokens are far away");
    assert_eq!(run(&["--prompt-limit", "100000"]), input.as_bytes());
    let small = parsed(&run(&["--context-size", "4000"]));
    check_sound("--context-size", &small);
    assert!(tokens(&small) <= 3400 / 2, "{}", tokens(&small));
}

#[test]
fn what_fits_comes_out_byte_for_byte() {
    // A mark before it is no part of it.
    assert_eq!(Place::new().feed(["compress"], "\u{feff}[]".as_bytes()).silent(), b"[]");
    for input in [
        "[]",
        " [ ] \n",
        "[{\"role\":\"user\",\t\"content\":\"caf\\u00e9 2.50\", \"x\":1e400}]",
        "{\"messages\":[],\"model\":\"m\"}\n",
        "{\"system\":\"s\",\"messages\":[{\"content\":\"hi\",\"role\":\"user\"}],\"max_tokens\":1}",
    ] {
        for budget in
            [&["--max-tokens", "100"][..], &["--ratio", "1"], &["--max-bytes", "500"], &[]]
        {
            let args = [&["compress"], budget].concat();
            assert_eq!(Place::new().feed(args, input.as_bytes()).silent(), input.as_bytes());
        }
    }
}

#[test]
fn messages_that_stay_keep_their_bytes() {
    let last =
        "{ \"content\" : \"Tell me about caf\\u00e9 2.50\",\n  \"role\":\"user\", \"x\": 2.50 }";
    let input = bare(24).to_string();
    let input = format!("{},\n  {last}  ]", input.strip_suffix(']').unwrap());
    let out = Place::new().feed(["compress", "--ratio", "4"], input.as_bytes()).silent();
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains(last), "{out}");
    assert!(out.starts_with("[{\"role\":\"system\""), "{out}");
}

#[test]
fn everything_beside_the_messages_stays() {
    let before = openai(24);
    let out =
        Place::new().feed(["compress", "--ratio", "4"], before.to_string().as_bytes()).silent();
    let after = parsed(&out);
    for key in ["model", "temperature", "tools"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert!(before.as_object().unwrap().keys().eq(after.as_object().unwrap().keys()));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for (name, body) in all(24) {
        let run = |_| {
            Place::new().feed(["compress", "--ratio", "4"], body.to_string().as_bytes()).silent()
        };
        let outputs: Vec<_> = (0..3).map(run).collect();
        assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    }
}

#[test]
fn compressed_once_it_can_be_compressed_again() {
    for (name, body) in all(24) {
        let mut bytes = body.to_string().into_bytes();
        for most in ["2000", "1200", "700"] {
            let ran = Place::new().feed(["compress", "--max-tokens", most], &bytes);
            assert_eq!(ran.code, 0, "{name} {most}: {}", ran.err);
            let is_warning = |line: &str| {
                line.starts_with("epitome: warning: an order left the prompt: \"")
                    && line.ends_with("; `--store PATH` keeps what leaves")
            };
            assert!(ran.err.lines().all(is_warning), "{name} {most}: {}", ran.err);
            let (before, after) = (readable(&parsed(&bytes)), readable(&parsed(&ran.out)));
            for rule in RULES.iter().filter(|rule| before.contains(**rule)) {
                let (kept, told) = (after.contains(rule), ran.err.contains(rule));
                assert!(kept != told, "{name} {most}: {rule}\n{}\n{after}", ran.err);
            }
            bytes = ran.out;
            check_sound(name, &parsed(&bytes));
        }
    }
}

#[test]
fn the_newest_messages_are_left_alone() {
    let body = bare(24);
    let place = Place::new();
    let args = ["compress", "--ratio", "4", "--keep-recent", "8"];
    let out = parsed(&place.feed(args, body.to_string().as_bytes()).silent());
    let tail = |body: &Value| messages(body).iter().rev().take(8).cloned().collect::<Vec<_>>();
    assert_eq!(tail(&out), tail(&body));
}

#[test]
fn what_the_person_forbids_survives() {
    for ratio in ["2", "4", "8"] {
        for (name, body) in all(24) {
            let args = ["compress", "--ratio", ratio];
            let out = Place::new().feed(args, body.to_string().as_bytes()).silent();
            let text = readable(&parsed(&out));
            for rule in RULES {
                assert!(text.contains(rule), "{name} at {ratio}: {rule}");
            }
        }
    }
}

#[test]
fn recordings_become_requests() {
    let recording = claude_code(12);
    let place = Place::new();
    place.write("session.jsonl", &recording);
    let run = |args: &[&str]| {
        parsed(&place.run([&["compress", "session.jsonl"], args].concat()).silent())
    };
    let near = run(&["--max-tokens", "900"]);
    assert!(near["messages"].is_array() && tokens(&near) <= 900);
    assert_eq!(faults(&near), Vec::<String>::new());
    let far = run(&["--max-tokens", "900", "--to", "openai", "--format", "claude-code"]);
    assert_eq!(faults(&far), Vec::<String>::new());
    assert!(
        messages(&far)
            .iter()
            .all(|message| message["content"].is_string() || message["tool_calls"].is_array())
    );
    assert_eq!(texts(messages(&far).last().unwrap()), [LAST]);
}

#[test]
fn an_output_file_takes_the_place_of_the_old_one() {
    let place = Place::new();
    let input = bare(24).to_string();
    place.write("in.json", &input);
    place.write("out.json", "old");
    let args = ["compress", "--ratio", "4", "in.json", "--output", "out.json", "-q"];
    assert_eq!(place.run(args).silent(), b"");
    let direct = place.run(["compress", "--ratio", "4", "in.json"]).silent();
    assert_eq!(place.read("out.json"), direct);
    let same = ["compress", "--ratio", "4", "in.json", "-o", "in.json", "-q"];
    assert_eq!(place.run(same).silent(), b"");
    assert_eq!(place.read("in.json"), direct);
    assert_eq!(place.files(), ["in.json", "out.json"]);
}

#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    place.write("in.json", bare(24).to_string());
    place.write("real.json", "old");
    symlink("real.json", place.path("link.json")).unwrap();
    let args = ["compress", "--ratio", "4", "in.json", "-q", "-o"];
    place.run([&args[..], &["link.json"]].concat()).silent();
    assert!(place.path("link.json").is_symlink());
    assert!(place.read("real.json").starts_with(b"[{"));
    place.run([&args[..], &["/dev/null"]].concat()).silent();
    assert!(!std::path::Path::new("/dev/null").is_file());
    place.run([&args[..], &["new.json"]].concat()).silent();
    place.write("usual", "");
    let mode = |name: &str| place.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("new.json"), mode("usual"));
}

/// What the shell holds open is written where it stands, be it a file: it goes on there.
#[cfg(unix)]
#[test]
fn what_is_given_open_is_not_replaced() {
    use std::io::{Read, Seek, Write};
    let place = Place::new();
    place.write("in.json", bare(24).to_string());
    let args = ["compress", "--ratio", "4", "in.json", "-q", "-o"];
    let piped = place.run([&args[..], &["-"]].concat()).silent();
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let mut shell = tempfile::tempfile().unwrap();
        shell.write_all(b"before ").unwrap();
        let mut command = place.command([&args[..], &[name]].concat());
        command.stdin(Stdio::null()).stdout(shell.try_clone().unwrap());
        assert!(command.status().unwrap().success());
        shell.write_all(b" behind").unwrap();
        shell.rewind().unwrap();
        let mut found = Vec::new();
        shell.read_to_end(&mut found).unwrap();
        assert_eq!(found, [b"before ", &*piped, b" behind"].concat(), "{name}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let input: String = bare(900).to_string();
    place.write("in.json", &input);
    let mut command = place.command(["compress", "in.json", "--prompt-limit", "10000000"]);
    command.stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stderr), (Some(0), Vec::new()));
}

#[test]
fn an_input_that_its_provider_would_refuse_is_warned_of() {
    let mut body = bare(12);
    let lost = serde_json::json!({"role": "tool", "tool_call_id": "gone", "content": "lost"});
    body.as_array_mut().unwrap().insert(1, lost);
    let ran = Place::new().feed(["compress", "--ratio", "4"], body.to_string().as_bytes());
    assert_eq!(ran.code, 0);
    let line = "epitome: warning: its provider would refuse the input: messages[1]: ";
    assert!(ran.err.starts_with(line) && ran.err.lines().count() == 1, "{}", ran.err);
    assert_eq!(faults(&parsed(&ran.out)), Vec::<String>::new());
}

#[test]
fn shorter_wording_is_an_option() {
    let input = bare(24).to_string();
    let run = |style: &str| -> Ran {
        Place::new().feed(["compress", "--ratio", "4", "--style", style], input.as_bytes())
    };
    for style in ["verbatim", "brief"] {
        check_sound(style, &parsed(&run(style).silent()));
    }
}

/// An interrupted agent: what the person typed last stands in one message with the result of a call. It
/// stays, and the call of that result with it, however small the budget.
#[test]
fn what_is_typed_behind_a_result_of_its_message_stays() {
    let calls = (0..24).flat_map(|at| {
        let id = format!("toolu_{at:02}");
        let call = json!([{"type": "text", "text": format!("I look at part {at}.")},
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("make part{at}")}}]);
        let result = json!([{"type": "tool_result", "tool_use_id": id,
            "content": format!("part{at}: compiled in {} ms\n", at * 7 + 3).repeat(20)}]);
        [json!({"role": "assistant", "content": call}), json!({"role": "user", "content": result})]
    });
    let typed = "[Request interrupted by user] Leave the linker alone, and look at part 3 again.";
    let asked = json!({"role": "user", "content": "Build all parts of it, one by one."});
    let mut said: Vec<Value> = std::iter::once(asked).chain(calls).collect();
    let blocks = said.last_mut().and_then(|last| last["content"].as_array_mut()).unwrap();
    blocks.push(json!({"type": "text", "text": typed}));
    let body =
        json!({"model": "claude-sonnet-4-5", "system": SYSTEM, "messages": said}).to_string();
    for budget in
        [["--ratio", "2"], ["--ratio", "30"], ["--max-tokens", "700"], ["--max-tokens", "300"]]
    {
        let ran = Place::new().feed([&["compress"][..], &budget].concat(), body.as_bytes());
        assert!(ran.code == 0 || ran.code == 4 && budget[1] == "300", "{budget:?}: {}", ran.err);
        if ran.code == 0 {
            let small = parsed(ran.text().as_bytes());
            assert_eq!(faults(&small), Vec::<String>::new(), "{budget:?}");
            assert!(readable(&small).contains(typed), "{budget:?}: {small}");
        }
    }
}
