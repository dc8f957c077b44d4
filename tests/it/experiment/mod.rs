//! Experiments on live sessions: who gets which arm, that it stays so, and what is shown of it.

mod assigned;
mod measured;
mod told;

use std::collections::BTreeMap;

use epitome_upstream::Script;
use serde_json::{Value, json};

use crate::program::{Place, Ran};
use crate::proxy::{Answer, Ask, Serving};

/// Three arms, and an experiment over them.
const THREE: &str = "[profile.short]\n\
    [experiment.short]\n\
    arms = ['default', 'short', 'none']\n\
    weights = [45, 35, 20]\n";

const STORE: [&str; 2] = ["--store", "s.db"];

/// A program that asks through the proxy.
#[derive(Clone, Copy, PartialEq)]
enum Client {
    /// Names its sessions, and speaks Anthropic's API.
    Claude,
    /// Says nothing of its sessions, and speaks OpenAI's API.
    Chat,
}

/// A conversation of a client.
struct Talk {
    client: Client,
    name: String,
    /// What it says of itself, by which it is found again.
    about: String,
    said: Vec<Value>,
}

impl Talk {
    fn new(client: Client, number: usize) -> Self {
        let name = format!("session-{number}");
        Self { client, about: name.clone(), name, said: Vec::new() }
    }

    /// Says something, and takes the answer along.
    fn say(&mut self, serving: &Serving, text: &str, fault: Option<&str>) -> Answer {
        let text = format!("{text} This is about {}.", self.about);
        self.said.push(json!({"role": "user", "content": text}));
        let (path, agent) = match self.client {
            Client::Claude => ("/v1/messages", "claude-cli/2.1.197 (external, cli)"),
            Client::Chat => ("/v1/chat/completions", "chatter/1.0"),
        };
        let mut body = json!({"model": "claude-sonnet-4-5", "messages": self.said});
        if self.client == Client::Claude {
            body["max_tokens"] = json!(2_000);
        }
        let mut ask = Ask::post(path, body.to_string()).header("user-agent", agent);
        if self.client == Client::Claude {
            ask = ask.header("x-claude-code-session-id", &self.name);
        }
        if let Some(fault) = fault {
            ask = ask.header("x-upstream-fault", fault);
        }
        let answer = serving.send(ask);
        if answer.status == 200 {
            let told = answer.json();
            self.said.push(match self.client {
                Client::Claude => json!({"role": "assistant", "content": told["content"]}),
                Client::Chat => told["choices"][0]["message"].clone(),
            });
        }
        answer
    }
}

/// Conversations of both clients.
fn talks(numbers: std::ops::Range<usize>) -> Vec<Talk> {
    let client = |number| if number % 2 == 0 { Client::Claude } else { Client::Chat };
    numbers.map(|number| Talk::new(client(number), number)).collect()
}

#[track_caller]
fn say(talks: &mut [Talk], serving: &Serving, text: &str) {
    for talk in talks {
        let answer = talk.say(serving, text, None);
        assert_eq!(answer.status, 200, "{}\n{}", answer.text(), serving.said());
    }
}

/// A proxy that went on for a while before its experiment began.
fn begun(table: &str, before: &mut [Talk]) -> Serving {
    let mut serving = Serving::start(Script::default(), &[]);
    say(before, &serving, "It began before.");
    serving.stop();
    serving.place.write("x.toml", table);
    serving.go_on_with(&["--config", "x.toml"]);
    serving
}

fn shown(serving: &Serving, errand: &[&str]) -> Ran {
    let args = [&["experiment"], errand, &STORE, &["--config", "x.toml"]].concat();
    let ran = serving.place.run(args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.text());
    ran
}

/// The same as text.
fn printed(serving: &Serving, errand: &[&str]) -> String {
    shown(serving, errand).text().to_owned()
}

/// The profile that each session is recorded with, by what its client calls it, and its turns.
fn profiles(serving: &Serving) -> BTreeMap<String, (String, u64)> {
    profiles_in(&serving.place, "s.db")
}

fn profiles_in(place: &Place, store: &str) -> BTreeMap<String, (String, u64)> {
    let listed = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let title = text("title");
        let name = title.split("about ").nth(1).unwrap_or_default();
        let name = name.trim_end_matches('.').to_owned();
        (name, (text("profile"), it["turns"].as_u64().unwrap()))
    };
    let args = ["session", "list", "--all", "--json", "--limit", "0", "--store", store];
    let sessions = place.run(args).json();
    let sessions = sessions.as_array().unwrap().clone();
    let all: BTreeMap<_, _> = sessions.iter().map(listed).collect();
    assert_eq!(all.len(), sessions.len(), "each conversation is one session: {sessions:#?}");
    all
}

/// How many units each arm has.
fn units(serving: &Serving) -> BTreeMap<String, u64> {
    let told = shown(serving, &["show", "--json"]).json();
    let arms = told["arms"].as_array().unwrap().iter();
    arms.map(|arm| (arm["arm"].as_str().unwrap().to_owned(), arm["units"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_session_keeps_its_arm_through_restarts_and_on_other_proxies() {
    let mut before = talks(0..4);
    let mut serving = begun(THREE, &mut before);
    let mut all = talks(4..204);
    say(&mut all[..99], &serving, "A first question.");
    // The newest conversation has a name, so that it is known without the answer that may get lost.
    serving.kill();
    serving.go_on();
    // A second proxy on the same store takes every second new one, and then takes over.
    let url = serving.upstream.url();
    let store = serving.place.path("s.db").display().to_string();
    let store: &'static str = Box::leak(store.into_boxed_str());
    let config = serving.place.path("x.toml").display().to_string();
    let args = ["--anthropic-upstream", &url, "--openai-upstream", &url, "--config", &config];
    let mut second = Serving::on_store(Script::default(), &args, Some(store));
    for (number, talk) in all.iter_mut().enumerate().skip(99) {
        let proxy = if number / 2 % 2 == 0 { &serving } else { &second };
        say(std::slice::from_mut(talk), proxy, "A first question.");
    }
    let first = profiles(&serving);
    for (number, talk) in all.iter_mut().enumerate() {
        if number == 100 {
            serving.stop();
            serving.go_on();
        }
        let proxy = if number % 2 == 0 { &serving } else { &second };
        say(std::slice::from_mut(talk), proxy, "A second question.");
        let other = if number % 2 == 0 { &second } else { &serving };
        say(std::slice::from_mut(talk), other, "A third question.");
    }
    say(&mut before, &second, "It goes on.");
    // Whoever ends keeps everything.
    second.stop();
    serving.stop();
    let then = profiles(&serving);
    for (name, (profile, turns)) in &then {
        assert_eq!((profile, 1), (&first[name].0, first[name].1), "{name}");
        let number: usize = name.trim_start_matches("session-").parse().unwrap();
        assert_eq!(*turns, if number < 4 { 2 } else { 3 }, "{name}");
        assert!(number >= 4 || profile == "default", "{name} went on before: {profile}");
    }

    let told = shown(&serving, &["show", "--json"]).json();
    assert_eq!(told["schema"], "epitome/experiment@1");
    assert_eq!(units(&serving).values().sum::<u64>(), 200, "{told:#}");
    for (arm, count) in units(&serving) {
        let there = then.iter().filter(|(name, (profile, _))| {
            let number: usize = name.trim_start_matches("session-").parse().unwrap();
            number >= 4 && *profile == arm
        });
        assert_eq!(there.count() as u64, count, "{arm}: {told:#}");
    }
    let split = &told["split"];
    assert_eq!(split["is_broken"], false, "{told:#}");
    assert!(split["chance"].as_f64() > Some(0.001), "{told:#}");
    assert_eq!(split["by_client"].as_object().unwrap().len(), 2, "{told:#}");
    for arm in told["arms"].as_array().unwrap() {
        assert_eq!(arm["counted"], arm["units"], "{told:#}");
        let of = |name: &str| {
            let metrics = arm["metrics"].as_array().unwrap().iter();
            metrics.clone().find(|it| it["metric"] == name).unwrap()["value"].as_f64().unwrap()
        };
        // The proxy that was killed may have lost its last one.
        assert!((2.9..=3.0).contains(&of("requests")) && of("refusals") == 0.0, "{told:#}");
        assert!(of("paid") > 0.0 && of("latency") > 0.0, "{told:#}");
    }
    check_divided(&serving);
    check_shown(&serving);
    check_broken(&serving);
}

/// Each client's sessions are divided in blocks of twenty, whichever proxy draws.
fn check_divided(serving: &Serving) {
    let units = shown(serving, &["export", "--json"]).json();
    let mut counts = BTreeMap::<String, BTreeMap<String, u64>>::new();
    for unit in units.as_array().unwrap() {
        let [client, arm] = ["client", "arm"].map(|key| unit[key].as_str().unwrap().to_owned());
        *counts.entry(client).or_default().entry(arm).or_default() += 1;
    }
    assert_eq!(counts.len(), 2, "{counts:?}");
    for arms in counts.values() {
        // Five whole blocks.
        let of = |arm: &str| arms.get(arm).copied().unwrap_or_default();
        assert_eq!([of("default"), of("short"), of("none")], [45, 35, 20], "{counts:?}");
    }
}

/// People are told the same, in the width that they have.
fn check_shown(serving: &Serving) {
    for columns in ["80", "50"] {
        for errand in ["show", "list"] {
            let args = [&["experiment", errand], &STORE[..], &["--config", "x.toml"]].concat();
            let mut command = serving.place.command(args);
            command.env("COLUMNS", columns);
            let ran = Ran::of(command, b"");
            let text = ran.text();
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{text}");
            let most = columns.parse::<usize>().unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= most), "{text}");
            assert!(text.contains("short"), "{text}");
        }
    }
    let text = printed(serving, &["show", "short"]);
    assert!(text.contains("split: as drawn (p = "), "{text}");
    // Nothing was done to any of them.
    for arm in ["short", "none"] {
        assert!(text.contains(&format!("{arm} against default is undecided: paid ")), "{text}");
    }
    let csv = printed(serving, &["export"]);
    assert_eq!(csv.lines().count(), 201, "{csv}");
    assert!(csv.starts_with("unit,arm,at,client,"), "{csv}");
    let units = shown(serving, &["export", "--json"]).json();
    assert_eq!(units.as_array().unwrap().len(), 200);
    let said = units.to_string();
    assert!(!said.contains("session-") && !said.contains("question"), "a unit is a hash");
    let none = serving.place.run([&["experiment", "show", "shrot"], &STORE[..]].concat());
    assert!(none.code != 0 && none.err.contains("did you mean `short`?"), "{}", none.err);
}

/// Something loses most units of an arm: the split says so, and nothing else is said.
fn check_broken(serving: &Serving) {
    let database = rusqlite::Connection::open(serving.place.path("s.db")).unwrap();
    let lost = "DELETE FROM lesson WHERE about IN (SELECT about FROM lesson
        WHERE about LIKE 'unit%' AND lesson LIKE '%\"arm\":\"short\"%' LIMIT 50)";
    assert_eq!(database.execute(lost, []).unwrap(), 50);
    let told = shown(serving, &["show", "--json"]).json();
    assert_eq!(told["split"]["is_broken"], true, "{told:#}");
    for arm in told["arms"].as_array().unwrap() {
        assert_eq!((&arm["verdict"], &arm["metrics"]), (&Value::Null, &json!([])), "{told:#}");
    }
    let text = printed(serving, &["show"]);
    assert!(text.contains("split: BROKEN."), "{text}");
    for word in ["better", "worse", "undecided", "too few", "paid $"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert!(shown(serving, &["list"]).text().contains("broken"));
}
