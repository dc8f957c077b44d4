//! Policies in Lua that mean harm, or do it: each in a whole conversation in a small window. The
//! conversation goes on, each prompt is valid and fits, time and memory are bounded, it costs hardly
//! more than without, and it is said which policy and which hook it was.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::measure::faults;
use crate::playing::{Playing, events, played};
use crate::program::{self, Place, Ran};

/// The policies: a line `--# HOOK NAME EVENT`, then what it does.
const ALL: &str = include_str!("policies.lua");

/// The file of a policy here.
const FILE: &str = ".config/epitome/policies/hostile/policy.lua";

/// What a run may hold and how long it may compute: 64 MB for each machine of a policy, and what
/// the program takes itself.
const BOUNDS: &str = "ulimit -v 3000000; ulimit -t 100; exec \"$0\" \"$@\"";

/// What a person looks for later.
const QUERY: &str = "importer retries";

/// A policy.
#[derive(Clone, Copy)]
struct Hostile {
    hook: &'static str,
    name: &'static str,
    /// The event that tells of it, if any must.
    event: &'static str,
    body: &'static str,
}

fn all() -> Vec<Hostile> {
    let parts = ALL.split("\n--# ").skip(1);
    let parse = |part: &'static str| {
        let (head, body) = part.split_once('\n').unwrap();
        let words: Vec<&str> = head.split(' ').collect();
        let [hook, name, event] = words[..] else { panic!("{head}") };
        Hostile { hook, name, event, body }
    };
    parts.map(parse).collect()
}

/// A talk with calls, a large result, a goal and orders of a person.
fn talk() -> Value {
    let mut messages = vec![json!({"role": "system", "content": "You help with an importer."})];
    for step in 0..14 {
        let lines = if step == 5 { 400 } else { 12 };
        let line =
            |at: usize| format!("row {at} of step {step}: the importer retries {}\n", at % 7);
        let result: String = (0..lines).map(line).collect();
        let call = json!({"id": format!("c{step}"), "type": "function",
            "function": {"name": "read_file", "arguments": format!("{{\"path\":\"src/{step}.rs\"}}")}});
        let said = format!("[goal] Step {step} works.\nI read src/{step}.rs to see what it does. ")
            + &"The importer was calm and its counts agree with what was expected. ".repeat(8);
        messages.extend([
            json!({"role": "user", "content": format!("Never drop table {step}. Go on with step {step}.")}),
            json!({"role": "assistant", "content": said, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": result}),
            json!({"role": "assistant", "content": format!("Step {step} is done: the importer retries less.")}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "Which steps are left?"}));
    json!(messages)
}

/// A policy with one hook that does this.
fn policy(one: Hostile) -> Vec<u8> {
    let body = one.body.trim_end();
    match (one.hook, one.name) {
        ("load", "is_bytes") => b"\x1bLua\x52\x00\x01\x04\xff\xfe".to_vec(),
        ("load", "nests_deep") => format!("--- @api 2\nreturn {}", "{".repeat(200_000)).into(),
        ("load", _) => format!("--- @api 2\n{body}\n").into(),
        // Only whoever makes several checkpoints has some that age.
        ("age", _) => {
            let head = "--- @api 2\nreturn { extends = \"ollm\", age = function(job)";
            format!("{head}\n{body}\nend }}\n").into()
        }
        ("recall", _) => {
            let asks = "function(job)\nif job.entry.id == 40 then\nreturn { recall = 'importer', max_tokens = 50 }\nend\nend";
            format!(
                "--- @api 2\nreturn {{ observe = {asks}, recall = function(job)\n{body}\nend }}\n"
            )
            .into()
        }
        (hook, _) => {
            format!("--- @api 2\nreturn {{ {hook} = function(job)\n{body}\nend }}\n").into()
        }
    }
}

fn placed(text: &[u8]) -> Place {
    let place = Place::new();
    place.write("talk.json", talk().to_string());
    std::fs::create_dir_all(place.path(FILE).parent().unwrap()).unwrap();
    place.write(FILE, text);
    for (file, other) in [("one", "two"), ("two", "one")] {
        let folder = ".config/epitome/policies/hostile";
        place.write(&format!("{folder}/{file}.lua"), format!("return require(\"{other}\")\n"));
    }
    place
}

/// Runs the program within bounds.
fn bounded<'a>(place: &Place, args: impl IntoIterator<Item = &'a str>) -> Ran {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", BOUNDS]).arg(program::path()).args(args);
    command.current_dir(place.path("")).env_clear().env("HOME", place.path(""));
    command.env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ran::of(command, b"")
}

/// What a replay under a profile comes to: its events and what its prompts cost.
fn replay(place: &Place, profile: &str, models: &[&str]) -> (Vec<Value>, f64) {
    let args = [
        "replay",
        "talk.json",
        "--profile",
        profile,
        "--prompt-limit",
        "3000",
        "--json",
        "-q",
        "--dump",
        "prompts",
        "--store",
        "s.db",
    ];
    let ran = bounded(place, args.into_iter().chain(models.iter().copied()));
    assert_eq!(ran.code, 0, "{}", tail(&ran.err));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert!(turns.len() >= 14, "it ended after {} turns", turns.len());
    for turn in 1..=turns.len() {
        let prompt = place.read_json(&format!("prompts/{turn:04}.json"));
        assert_eq!(faults(&prompt), Vec::<String>::new(), "turn {turn}");
    }
    let last = place.read(&format!("prompts/{:04}.json", turns.len()));
    assert!(String::from_utf8(last).unwrap().contains("Which steps are left?"));
    let happened = turns.iter().flat_map(|turn| turn["events"].as_array().cloned());
    let cost = summary["cache_cost"].as_f64().unwrap();
    (happened.flatten().collect(), cost)
}

fn tail(text: &str) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(600))..]
}

/// What is found in a store under a profile, and what is said beside it.
fn recalled(place: &Place) -> (Value, String) {
    let args = ["recall", "--profile", "hostile", "--store", "s.db", "--json", QUERY];
    let ran = bounded(place, args);
    assert_eq!(ran.code, 0, "{}", tail(&ran.err));
    (ran.json(), ran.err)
}

/// What the conversation costs without a hostile policy: under `none`, and under `ollm`.
#[derive(Clone, Copy, Debug)]
struct Baseline {
    by_none: f64,
    by_parent: f64,
}

/// What is wrong with how a policy was borne; nothing where all is well.
fn check(one: Hostile, models: &[&str], none: Baseline) {
    let place = placed(&policy(one));
    let Hostile { hook, event, .. } = one;
    if hook == "load" {
        let ran = bounded(&place, ["replay", "talk.json", "--profile", "hostile", "--json"]);
        assert!([2, 3].contains(&ran.code), "{}: {}", ran.code, tail(&ran.err));
        assert!(ran.err.contains("hostile") && !ran.err.contains("panicked"), "{}", tail(&ran.err));
        return;
    }
    let models = if ["summary_prompt", "verify"].contains(&hook) { models } else { &[] };
    let (happened, cost) = replay(&place, "hostile", models);
    // What stays because a policy finds it is paid for, up to the half of the window that it may
    // fill; what ages is held against the policy that makes several checkpoints.
    let most = match hook {
        "facts" => 1.6 * none.by_none,
        "age" => 1.05 * none.by_parent,
        _ => 1.05 * none.by_none,
    };
    assert!(cost <= most || !models.is_empty(), "it costs {cost}, and {none:?} without it");
    let tells = |it: &&Value| {
        let said = it.to_string();
        it["event"] == event && said.contains("hostile") && said.contains(hook)
    };
    let told = happened.iter().filter(tells).count();
    let names: BTreeSet<_> = happened.iter().map(|it| it["event"].to_string()).collect();
    assert!(event == "-" || told >= 1, "no `{event}` in {names:?}");
    assert!(told <= 8, "`{event}` is told {told} times");
    if hook == "recall" {
        let (found, said) = recalled(&place);
        assert_eq!(said.matches("policy hostile (recall)").count(), 1, "{said}");
        place.write(FILE, "--- @api 2\nreturn {}\n");
        assert_eq!(recalled(&place).0, found);
        assert!(found.as_array().is_some_and(|found| !found.is_empty()));
    }
    let escaped = ["escaped", ".epitome/escaped"].map(|name| place.path(name));
    assert!(escaped.iter().all(|path| std::fs::metadata(path).is_err()), "it wrote a file");
}

/// Several at a time, as there are processors.
#[test]
fn no_policy_stops_a_conversation_or_makes_it_dear() {
    let turn = Turn { text: "All steps went well.".to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 2000, plain: true, ..Script::default() };
    let upstream = Upstream::start(script).unwrap();
    let model = format!("openai:m@{}/v1", upstream.url());
    let models = ["--summarizer", &model];
    let good = placed(b"--- @api 2\nreturn {}\n");
    let cost = |profile| replay(&good, profile, &[]).1;
    let none = Baseline { by_none: cost("none"), by_parent: cost("ollm") };
    let every = all();
    let names: BTreeSet<_> = every.iter().map(|one| (one.hook, one.name)).collect();
    assert!(names.len() == every.len() && every.len() >= 98, "{} policies", every.len());
    let only = std::env::var("EPITOME_HOSTILE").unwrap_or_default();
    let open = Mutex::new(every.into_iter().filter(|one| one.name.contains(&only)));
    let wrong = Mutex::new(Vec::new());
    let next = || open.lock().unwrap().next();
    let work = || {
        while let Some(one) = next() {
            if let Err(panic) = std::panic::catch_unwind(|| check(one, &models, none)) {
                let what = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                wrong.lock().unwrap().push(format!("{} {}: {what}", one.hook, one.name));
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, usize::from);
        (0..workers).for_each(|_| drop(scope.spawn(work)));
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} policies:\n{}", wrong.len(), wrong.join("\n"));
}

/// Of a folder that changes all the time the last good files decide, whatever is written there.
#[test]
fn a_folder_that_changes_all_the_time_stops_nothing() {
    let good = |soft: usize| {
        format!("--- @api 2\nreturn {{ budgets = function() return {{ soft = {soft} }} end }}\n")
    };
    let place = placed(good(2000).as_bytes());
    let args = "replay talk.json --profile hostile --prompt-limit 3000 --pace 150";
    let mut playing = Playing::start(&place, &args.split(' ').collect::<Vec<_>>());
    playing.next().unwrap();
    let broken: Vec<_> = all().into_iter().filter(|one| one.hook == "load").collect();
    let (mut happened, mut at) = (Vec::new(), 0);
    let mut summary = Value::Null;
    while let Some(turn) = playing.next() {
        let other = broken[at % broken.len()];
        // Each is there for a while.
        if at % 4 == 0 {
            place.write(FILE, if at % 8 == 0 { good(1500 + at).into() } else { policy(other) });
        }
        at += 1;
        happened.extend(events(&turn).into_iter().map(str::to_owned));
        summary = turn;
    }
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    assert_eq!(playing.code(), Some(0));
    assert!(happened.iter().any(|it| it == "policy-reloaded"), "{happened:?}");
}
