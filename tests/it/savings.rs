//! `epitome savings`: what each answer cost, over all processes that write to one store.

use std::env;

use epitome_upstream::{Record, Script, Upstream};
use serde_json::{Value, json};

use crate::program::{Place, Ran};
use crate::proxy::Serving;

/// Dollars for a million tokens of `claude-sonnet-4-5`: not cached, written, read, of the answer.
const PRICES: [f64; 4] = [3.0, 3.75, 0.3, 15.0];

fn savings(place: &Place, args: &[&str]) -> Value {
    place.run([&["savings", "--store", "s.db", "--json"], args].concat()).json()
}

/// `epitome run` with a client that asks once, with these flags.
fn run(place: &Place, upstream: &Upstream, task: &str, flags: &[&str]) -> Ran {
    let (tests, url) = (env::current_exe().unwrap(), upstream.url());
    let args = ["run", "--store", "s.db", "--anthropic-upstream", &url];
    let client = ["--", tests.to_str().unwrap(), "--exact", "run::client"];
    let mut command = place.command([&args[..], flags, &client].concat());
    command.env("IT_CLIENT", task);
    Ran::of(command, b"")
}

/// What the provider itself counted, in answers and dollars.
fn billed(upstream: &Upstream) -> (u64, f64) {
    let prompts = upstream.prompts();
    let dollars = |prompt: &Record| {
        let usage = prompt.usage;
        let [input, written, read, output] = PRICES;
        let cost = usage.uncached as f64 * input + usage.written as f64 * written;
        (cost + usage.read as f64 * read + usage.output as f64 * output) / 1e6
    };
    (prompts.len() as u64, prompts.iter().map(dollars).sum())
}

#[track_caller]
fn check_all(place: &Place, upstream: &Upstream) -> Value {
    let told = savings(place, &[]);
    let (answers, dollars) = billed(upstream);
    let all = &told["all"];
    assert_eq!(all["answers"], answers, "{told:#}");
    let paid = all["paid"].as_f64().unwrap();
    assert!((paid - dollars).abs() < 1e-9, "{paid} and {dollars}: {told:#}");
    told
}

fn question(text: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 9,
        "messages": [{"role": "user", "content": text}]})
}

/// Several clients at once, a proxy beside them, one that is killed, and a restart: each answer is
/// in the ledger once, at the price of its provider's own count.
#[test]
fn all_processes_add_up_and_nothing_is_counted_twice() {
    let mut serving = Serving::start(Script::default(), &[]);
    serving.post("/v1/messages", &question("One question."));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (place, upstream) = (&serving.place, &serving.upstream);
            scope.spawn(move || assert_eq!(run(place, upstream, "ask", &[]).code, 7));
        }
    });
    serving.stop();
    serving.go_on();
    serving.post("/v1/messages", &question("Another one."));
    serving.stop();
    let told = check_all(&serving.place, &serving.upstream);
    assert_eq!(told["schema"], "epitome/savings@1");
    assert_eq!((&told["today"]["answers"], &told["seven_days"]["answers"]), (&json!(5), &json!(5)));

    // The log of each run is in its prompt no more, and that is the saving.
    let saved = told["all"]["saved"]["least"].as_f64().unwrap();
    assert!(saved > 0.1, "{told:#}");
    let groups = |by: &str| told["by"][by].as_array().unwrap().clone();
    let [of_folder, of_none] = &groups("project")[..] else { panic!("{told:#}") };
    assert_eq!((&of_folder["answers"], &of_none["answers"]), (&json!(3), &json!(2)));
    assert!(of_folder["name"].as_str().unwrap().starts_with('/'), "{told:#}");
    assert_eq!(of_none["name"], Value::Null);
    for by in ["project", "client", "model", "profile"] {
        let sum: u64 = groups(by).iter().map(|group| group["answers"].as_u64().unwrap()).sum();
        assert_eq!(sum, 5, "{by}: {told:#}");
    }
    assert_eq!(groups("model")[0]["name"], "claude-sonnet-4-5");
    assert_eq!(groups("profile")[0]["name"], "default");

    // A session that is deleted for good was paid for all the same.
    for name in serving
        .place
        .run(["session", "list", "--store", "s.db", "--json"])
        .json()
        .as_array()
        .unwrap()
    {
        let name = name["name"].as_str().unwrap();
        let args = ["session", "delete", name, "--forever", "--store", "s.db"];
        assert_eq!(serving.place.run(args).code, 0);
    }
    assert_eq!(check_all(&serving.place, &serving.upstream)["all"], told["all"]);
    // A copy of the store has the same, and once.
    for _ in 0..2 {
        assert_eq!(serving.place.run(["store", "copy", "s.db", "copy.db"]).code, 0);
    }
    let copied = serving.place.run(["savings", "--store", "copy.db", "--json"]).json();
    assert_eq!(copied["all"], told["all"]);
    assert_eq!(serving.place.run(["session", "verify", "--store", "s.db"]).code, 0);
}

#[test]
fn a_proxy_that_is_killed_loses_nothing_that_it_kept() {
    let mut serving = Serving::start(Script::default(), &[]);
    for number in 1..=3 {
        serving.post("/v1/messages", &question(&format!("Question {number}.")));
        let kept = || savings(&serving.place, &[])["all"]["answers"] == number;
        assert!((0..200).any(|_| kept()), "question {number} is kept while the proxy runs");
        serving.kill();
        serving.go_on();
    }
    check_all(&serving.place, &serving.upstream);
}

#[test]
fn a_model_without_a_price_costs_tokens_and_no_dollars() {
    let mut serving = Serving::start(Script::default(), &[]);
    let mut body = question("One question.");
    serving.post("/v1/messages", &body);
    body["model"] = json!("claude-sonnet-4-5-and-a-half");
    serving.post("/v1/messages", &body);
    serving.stop();
    let told = savings(&serving.place, &["--since", "2d"]);
    let all = &told["asked"];
    assert_eq!((&all["answers"], &all["unpriced"]), (&json!(2), &json!(1)), "{told:#}");
    let [one] = &told["unpriced"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!(one["model"], "claude-sonnet-4-5-and-a-half");
    assert!(one["provider"]["output"].as_u64() > Some(0), "{told:#}");
    let dollars = told["by"]["model"].as_array().unwrap();
    let unpriced = dollars.iter().find(|group| group["name"] == one["model"]).unwrap();
    assert_eq!(unpriced["paid"], 0.0, "{told:#}");

    // People are told the same, in the width that they have.
    for columns in ["80", "50"] {
        let mut command = serving.place.command(["savings", "--store", "s.db"]);
        command.env("COLUMNS", columns);
        let shown = Ran::of(command, b"");
        assert_eq!((shown.code, shown.err.as_str()), (0, ""));
        let text = shown.text();
        for word in ["today", "7 days", "all since 20", "project", "unpriced", "estimate,"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let width = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    let status = serving.place.run(["status", "--store", "s.db"]);
    let last = status.text().lines().last().unwrap();
    assert!(last.contains(" paid, $") && last.contains("1 answer unpriced in all"), "{last}");
    let command = last.split('`').nth(1).unwrap();
    let savings = serving.place.shell(command);
    assert!(savings.code == 0 && savings.text().contains("unpriced"), "{command}: {savings:?}");
}

#[test]
fn a_store_without_answers_says_so() {
    let place = Place::new();
    let missing = place.run(["savings"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(missing.err.contains("no store at "), "{missing:?}");
    for span in ["7", "d", "-7d", "0d", "7y", "99999999999999999999d", "7ä"] {
        let refused = place.run(["savings", "--since", span]);
        assert_eq!(refused.code, 2, "{span}: {refused:?}");
    }
    let input = json!({"messages": [{"role": "user", "content": "Hello."}]}).to_string();
    place.write("a.json", input);
    assert_eq!(place.run(["session", "import", "a.json"]).code, 0);
    let empty = place.run(["savings"]);
    assert!(empty.code == 0 && empty.text().starts_with("no answer is recorded"), "{empty:?}");
    assert_eq!(place.run(["savings", "--json"]).json()["all"]["answers"], 0);
}
