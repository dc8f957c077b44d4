//! Experiments on live sessions: who gets which arm, that it stays so, and what is shown of it.

use std::collections::BTreeMap;

use epitome_testkit::PostgresServer;
use epitome_upstream::{Call, Script, Upstream};
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
    let mut all = talks(4..104);
    say(&mut all[..49], &serving, "A first question.");
    // The newest conversation has a name, so that it is known without the answer that may get lost.
    serving.kill();
    serving.go_on();
    say(&mut all[49..], &serving, "A first question.");
    let first = profiles(&serving);
    // A second proxy on the same store takes over each second conversation, and all that are new.
    let url = serving.upstream.url();
    let store = serving.place.path("s.db").display().to_string();
    let store: &'static str = Box::leak(store.into_boxed_str());
    let config = serving.place.path("x.toml").display().to_string();
    let args = ["--anthropic-upstream", &url, "--openai-upstream", &url, "--config", &config];
    let mut second = Serving::on_store(Script::default(), &args, Some(store));
    for (number, talk) in all.iter_mut().enumerate() {
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
    assert_eq!(units(&serving).values().sum::<u64>(), 100, "{told:#}");
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
    check_shown(&serving);
    check_broken(&serving);
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
    assert!(text.contains("none against default: too few units; 30 of each are needed"), "{text}");
    let csv = printed(serving, &["export"]);
    assert_eq!(csv.lines().count(), 101, "{csv}");
    assert!(csv.starts_with("unit,arm,at,client,"), "{csv}");
    let units = shown(serving, &["export", "--json"]).json();
    assert_eq!(units.as_array().unwrap().len(), 100);
    let said = units.to_string();
    assert!(!said.contains("session-") && !said.contains("question"), "a unit is a hash");
    let none = serving.place.run([&["experiment", "show", "shrot"], &STORE[..]].concat());
    assert!(none.code != 0 && none.err.contains("did you mean `short`?"), "{}", none.err);
}

/// Something loses most units of an arm: the split says so, and nothing else is said.
fn check_broken(serving: &Serving) {
    let database = rusqlite::Connection::open(serving.place.path("s.db")).unwrap();
    let lost = "DELETE FROM lesson WHERE about IN (SELECT about FROM lesson
        WHERE about LIKE 'unit%' AND lesson LIKE '%\"arm\":\"short\"%' LIMIT 28)";
    assert_eq!(database.execute(lost, []).unwrap(), 28);
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

/// An arm whose requests fail gets no new sessions, and those that go on keep it.
#[test]
fn an_arm_that_breaks_its_guardrail_gets_no_new_sessions() {
    let table = "[profile.bad]\n[experiment.guarded]\narms = ['default', 'bad']\n\
        guardrails.refusals = 0.05\n";
    let serving = begun(table, &mut []);
    let mut all = talks(0..90);
    say(&mut all, &serving, "A first question.");
    let arms = profiles(&serving);
    let is_bad = |talk: &Talk| arms[&talk.name].0 == "bad";
    for talk in &mut all {
        let fault = is_bad(talk).then_some("status 500");
        let answer = talk.say(&serving, "A second question.", fault);
        assert_eq!(answer.status, if fault.is_some() { 500 } else { 200 });
    }
    let before = units(&serving);
    assert!(before.values().all(|count| *count >= 30), "{before:?}");
    let mut later = talks(90..120);
    say(&mut later, &serving, "A first question.");
    let (then, text) = (units(&serving), printed(&serving, &["show"]));
    let drawn = then["bad"] - before["bad"];
    assert!(drawn <= 8, "{drawn} before anybody looked: {text}");
    assert_eq!(then["default"] - before["default"], 30 - drawn);
    assert!(text.contains("guardrail `refusals`"), "{text}");
    assert!(serving.said().contains("an arm is stopped"), "{}", serving.said());
    // Whoever was there stays there.
    let bad = all.iter_mut().find(|talk| is_bad(talk)).unwrap();
    bad.said.pop();
    bad.say(&serving, "A second question.", None);
    assert_eq!(profiles(&serving)[&bad.name].0, "bad");
    assert_eq!(units(&serving), then);
}

#[test]
fn a_stopped_experiment_gets_no_new_sessions() {
    let mut serving = begun(THREE, &mut []);
    let mut all = talks(0..12);
    say(&mut all, &serving, "A first question.");
    let before = profiles(&serving);
    let stop = shown(&serving, &["stop", "short", "--reason", "it is decided"]);
    assert!(stop.text().contains("gets no new sessions"), "{}", stop.text());
    assert!(shown(&serving, &["stop", "short"]).text().contains("was stopped already"));
    let mut later = talks(12..24);
    say(&mut later, &serving, "A first question.");
    serving.stop();
    serving.go_on();
    say(&mut all, &serving, "A second question.");
    let then = profiles(&serving);
    assert!(all.iter().all(|talk| then[&talk.name].0 == before[&talk.name].0), "{then:?}");
    assert!(later.iter().all(|talk| then[&talk.name].0 == "default"), "{then:?}");
    assert_eq!(units(&serving).values().sum::<u64>(), 12);
    assert!(shown(&serving, &["show"]).text().contains("it is decided"));
}

/// What an agent of a model does that reads the same file three times, of which one fails; gives the
/// last body that it sent.
fn work(serving: &Serving, name: &str, found: &str) -> String {
    let mut said = vec![json!({"role": "user", "content": format!("Work. This is about {name}.")})];
    let tool = json!({"name": "read_file", "input_schema": {"type": "object"}});
    for round in 0.. {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 2_000, "tools": [tool],
            "messages": said});
        let body = body.to_string();
        let ask = Ask::post("/v1/messages", body.clone());
        let answer = serving.send(ask.header("x-claude-code-session-id", name));
        assert_eq!(answer.status, 200, "{}\n{}", answer.text(), serving.said());
        let answer = answer.json();
        said.push(json!({"role": "assistant", "content": answer["content"]}));
        let calls = answer["content"].as_array().unwrap().iter();
        let result = |call: &Value| {
            json!({"type": "tool_result", "tool_use_id": call["id"],
                "content": found, "is_error": round == 1})
        };
        let results: Vec<_> =
            calls.filter(|block| block["type"] == "tool_use").map(result).collect();
        if results.is_empty() {
            return body;
        }
        said.push(json!({"role": "user", "content": results}));
    }
    unreachable!()
}

/// Whatever does not fit goes out as it came in the hold-out, and is compressed elsewhere.
#[test]
fn the_hold_out_sends_what_came() {
    let call = Call::new("read_file", json!({"path": "a.txt"}));
    let mut serving = Serving::start(Script::agent(5, vec![call]), &["--prompt-limit", "6000"]);
    serving.stop();
    serving.place.write("x.toml", "[experiment.saved]\narms = ['default', 'none']\n");
    serving.go_on_with(&["--config", "x.toml"]);
    let log: String = (0..400).map(|line| format!("{line}: the build went on {line}\n")).collect();
    for number in 0..8 {
        let name = format!("session-{number}");
        let body = work(&serving, &name, &log);
        let sent = String::from_utf8(serving.last().raw.to_vec()).unwrap();
        match profiles(&serving)[&name].0.as_str() {
            "none" => assert!(sent == body, "{name}: {} of {}", sent.len(), body.len()),
            _ => assert!(sent.len() * 2 < body.len(), "{name}: {} of {}", sent.len(), body.len()),
        }
    }
    let found = units(&serving);
    assert!(found.values().all(|count| *count > 0), "{found:?}");
    serving.stop();
    let told = printed(&serving, &["export"]);
    assert_eq!(told.lines().count(), 9);
    assert!(told.lines().skip(1).all(|line| line.contains(",6,0,0,")), "{told}");
}

/// An experiment that begins later takes nobody over, also not the agents of who is in one.
#[test]
fn a_session_stays_in_its_experiment() {
    let mut serving = begun(THREE, &mut []);
    let mut all = talks(0..12);
    all.retain(|talk| talk.client == Client::Claude);
    say(&mut all, &serving, "A first question.");
    let first = profiles(&serving);
    serving.stop();
    let another = "[experiment.another]\narms = ['short', 'none']\n";
    serving.place.write("x.toml", format!("{THREE}{another}"));
    serving.go_on();
    // An agent of each asks something new under the same id.
    let agent = |talk: &Talk| Talk {
        about: format!("{}-agent", talk.name),
        name: talk.name.clone(),
        ..Talk::new(Client::Claude, 0)
    };
    let mut agents: Vec<_> = all.iter().map(agent).collect();
    say(&mut agents, &serving, "A question of an agent.");
    say(&mut all, &serving, "A second question.");
    let then = profiles(&serving);
    for talk in &all {
        let own = &first[&talk.name].0;
        assert_eq!([&then[&talk.name].0, &then[&format!("{}-agent", talk.name)].0], [own, own]);
    }
    let told = shown(&serving, &["show", "another", "--json"]).json();
    assert!(told["arms"].as_array().unwrap().iter().all(|arm| arm["units"] == 0), "{told:#}");
    // New ones are in the first by name.
    say(&mut talks(20..24), &serving, "A first question.");
    let told = shown(&serving, &["show", "another", "--json"]).json();
    let units = told["arms"].as_array().unwrap().iter().filter_map(|arm| arm["units"].as_u64());
    assert_eq!(units.sum::<u64>(), 4, "{told:#}");
}

#[test]
fn what_agents_do_again_is_counted() {
    let call = Call::new("read_file", json!({"path": "a.txt"}));
    let mut serving = Serving::start(Script::agent(3, vec![call]), &[]);
    serving.stop();
    serving.place.write("x.toml", THREE);
    serving.go_on_with(&["--config", "x.toml"]);
    for number in 0..6 {
        work(&serving, &format!("session-{number}"), "nothing new");
    }
    serving.stop();
    let units = shown(&serving, &["export", "--json"]).json();
    let units = units.as_array().unwrap();
    assert_eq!(units.len(), 6);
    for unit in units {
        let counts = ["requests", "calls", "failed", "repeated", "recalled"].map(|key| &unit[key]);
        assert_eq!(counts.map(|count| count.as_u64().unwrap()), [4, 3, 1, 2, 0], "{unit:#}");
    }
    let told = printed(&serving, &["show"]);
    assert!(told.contains("66.7 %") && told.contains("33.3 %"), "{told}");
}

/// Two proxies on one database meet the same new sessions at the same time.
#[test]
fn proxies_on_a_database_draw_alike() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let store: &'static str = Box::leak(server.address("postgres").into_boxed_str());
    let place = Place::new();
    place.write("x.toml", THREE);
    let upstream = Upstream::start(Script::default()).unwrap();
    let (url, config) = (upstream.url(), place.path("x.toml").display().to_string());
    let args = ["--anthropic-upstream", &url, "--openai-upstream", &url, "--config", &config];
    let proxies = [(), ()].map(|()| Serving::on_store(Script::default(), &args, Some(store)));
    // An agent of the client asks under the same id, through the other proxy.
    let all = |proxy: usize| -> Vec<Talk> {
        let talk = |number| Talk::new(Client::Claude, number);
        let named = |mut talk: Talk| {
            talk.about = format!("{}-{proxy}", talk.name);
            talk
        };
        (0..24).map(talk).map(named).collect()
    };
    std::thread::scope(|scope| {
        for (number, proxy) in proxies.iter().enumerate() {
            scope.spawn(move || say(&mut all(number), proxy, "A first question."));
        }
    });
    let found = profiles_in(&place, store);
    assert_eq!(found.len(), 48, "{found:?}");
    for number in 0..24 {
        let arm = |proxy: usize| &found[&format!("session-{number}-{proxy}")].0;
        assert_eq!(arm(0), arm(1), "session {number}");
    }
    let arms: std::collections::BTreeSet<_> = found.values().map(|(arm, _)| arm).collect();
    assert!(arms.len() > 1, "{arms:?}");
    let args = ["experiment", "show", "--json", "--store", store, "--config", "x.toml"];
    let told = place.run(args).json();
    let units = told["arms"].as_array().unwrap().iter().filter_map(|it| it["units"].as_u64());
    assert_eq!(units.sum::<u64>(), 24, "{told:#}");
}

/// All sessions of a project have one arm, and only the clients that take part have any.
#[test]
fn a_project_gets_one_arm_as_a_whole() {
    let table = "[experiment.projects]\narms = ['default', 'none']\nunit = 'project'\n\
        clients = ['claude-cli']\n";
    let mut serving = Serving::start(Script::default(), &[]);
    serving.stop();
    serving.place.write("x.toml", table);
    let mut arms = BTreeMap::new();
    for project in 0..6 {
        let folder = serving.place.path(&format!("project-{project}"));
        std::process::Command::new("mkdir").arg("-p").arg(folder.join(".git")).status().unwrap();
        let folder = folder.display().to_string();
        serving.go_on_as(&["--config", "x.toml", "--workspace", &folder]);
        let mut all = talks(10 * project..10 * project + 4);
        say(&mut all, &serving, "A first question.");
        serving.stop();
        let args = ["session", "list", "--json", "--store", "../s.db"];
        let mut command = serving.place.command(args);
        command.current_dir(&folder);
        let sessions = Ran::of(command, b"").json();
        let of = |client: &str| -> Vec<String> {
            let sessions = sessions.as_array().unwrap().iter();
            let is_of = |it: &&Value| (it["format"] == "anthropic") == (client == "claude");
            sessions.filter(is_of).map(|it| it["profile"].as_str().unwrap().to_owned()).collect()
        };
        let claude = of("claude");
        assert_eq!(claude.len(), 2, "{sessions:#}");
        assert!(claude.iter().all(|profile| *profile == claude[0]), "{sessions:#}");
        assert_eq!(of("chat"), ["default", "default"], "{sessions:#}");
        *arms.entry(claude[0].clone()).or_default() += 1;
    }
    serving.go_on_as(&["--config", "x.toml"]);
    assert_eq!(arms.values().sum::<u64>(), 6);
    let found: BTreeMap<_, _> = units(&serving).into_iter().filter(|(_, it)| *it > 0).collect();
    assert_eq!(found, arms);
}
