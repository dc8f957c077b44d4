//! What sessions of an arm come to, and what follows from it.

use epitome_upstream::{Call, Script, Turn, Upstream};
use serde_json::{Value, json};

use super::{THREE, Talk, begun, printed, profiles, say, shown, talks, units};
use crate::conversation::openai;
use crate::proxy::{Ask, Serving};

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
    let compared = then["default"] - before["default"];
    assert!(compared <= 8, "an arm that is alone has nothing to be compared with: {text}");
    assert!(text.contains("no session is drawn"), "{text}");
    assert!(text.contains("guardrail `refusals`"), "{text}");
    assert!(serving.said().contains("an arm is stopped"), "{}", serving.said());
    let (list, bad) = (printed(&serving, &["list"]), then["bad"]);
    assert!(list.contains(&format!("bad {bad} (stopped)")), "{list}");
    // Whoever was there stays there.
    let bad = all.iter_mut().find(|talk| is_bad(talk)).unwrap();
    bad.said.pop();
    bad.say(&serving, "A second question.", None);
    assert_eq!(profiles(&serving)[&bad.name].0, "bad");
    assert_eq!(units(&serving), then);
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
                "content": found.replace("{path}", call["input"]["path"].as_str().unwrap()),
                "is_error": round == 1})
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
    // Nothing is told of the hold-out that did not happen to it.
    let args = ["session", "list", "--all", "--json", "--store", "s.db"];
    for session in serving.place.run(args).json().as_array().unwrap() {
        let is_whole = session["tokens"][0] == session["tokens"][1];
        assert_eq!(is_whole, session["profile"] == "none", "{session}");
    }
    serving.stop();
    let told = printed(&serving, &["export"]);
    assert_eq!(told.lines().count(), 9);
    assert!(told.lines().skip(1).all(|line| line.contains(",6,0,0,")), "{told}");
}

/// The same files are read in turn, so what a compression took out of the first comes again.
#[test]
fn what_left_and_is_read_again_is_regretted() {
    let turn = |name: &str| Turn {
        calls: vec![Call::new("read_file", json!({"path": format!("{name}.rs")}))],
        ..Turn::default()
    };
    let turns = ["a", "b", "c", "d", "e", "f", "g", "h"].map(turn).to_vec();
    let script = Script { turns, repeat: 2, ..Script::default() };
    let mut serving = Serving::start(script, &["--prompt-limit", "6000"]);
    serving.stop();
    serving.place.write("x.toml", "[experiment.saved]\narms = ['default', 'none']\n");
    serving.go_on_with(&["--config", "x.toml"]);
    let file: String =
        (0..60).map(|line| format!("let {{path}}_{line} = work({line});\n")).collect();
    for number in 0..4 {
        work(&serving, &format!("session-{number}"), &file);
    }
    let serving = &serving;
    let told = shown(serving, &["show", "--json"]).json();
    let arms = told["arms"].as_array().unwrap();
    let of = |arm: &Value, name: &str| {
        let metrics = arm["metrics"].as_array().unwrap().iter();
        metrics.clone().find(|it| it["metric"] == name).unwrap()["value"].clone()
    };
    // The hold-out reads again, too, what would have left it: the arm adds nothing to that.
    for name in ["regret", "regret-tokens"] {
        let [own, shadow] = [0, 1].map(|arm| of(&arms[arm], name).as_f64().unwrap_or_default());
        assert!(own > 0.0 && (own - shadow).abs() < 0.1, "{name}: {own} {shadow} {told:#}");
    }
    // What the replay of the hold-out came to is kept, until its sessions go on or the profile is another.
    let left = || -> u64 {
        let units = shown(serving, &["export", "--json"]).json();
        let held_out = units.as_array().unwrap().iter().filter(|unit| unit["arm"] == "none");
        held_out.map(|unit| unit["left_tokens"].as_u64().unwrap()).sum()
    };
    let before = left();
    assert_eq!(left(), before);
    let table = "[profile.default]\noptions.default.trigger = { soft = 0.5, target = 0.2 }\n\
        [experiment.saved]\narms = ['default', 'none']\n";
    serving.place.write("x.toml", table);
    assert_ne!(left(), before);
    let compressed = profiles(serving).into_iter().find(|(_, (arm, _))| arm == "default");
    let args = ["session", "list", "--all", "--json", "--store", "s.db"];
    let sessions = serving.place.run(args).json();
    let (about, _) = compressed.unwrap();
    let is_it = |it: &&Value| it["title"].as_str().unwrap().contains(&about);
    let session = sessions.as_array().unwrap().iter().find(is_it).unwrap();
    let name = session["name"].as_str().unwrap();
    let args = ["session", "show", name, "--json", "--store", "s.db"];
    let told = serving.place.run(args).json();
    let again = |epoch: &Value| epoch["regret"]["again_tokens"].as_u64().unwrap();
    let epochs = told["epochs"].as_array().unwrap();
    assert!(epochs.iter().map(again).sum::<u64>() > 1_000, "{told:#}");
    let args = ["session", "show", name, "--store", "s.db"];
    let text = serving.place.run(args).text().to_owned();
    assert!(text.contains(": fetched again "), "{text}");
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

/// What a model wrote for the sessions of an arm is paid by that arm, and nobody else.
#[test]
fn summaries_are_paid_by_their_arm() {
    let turn = Turn { text: "The stages were looked at.".into(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 999, plain: true, ..Script::default() };
    let writer = Upstream::start(script).unwrap();
    let mut serving = Serving::start(Script::default(), &["--prompt-limit", "8000"]);
    serving.stop();
    let model = format!("openai:writes@{}/v1", writer.url());
    let prices = ["talks", "writes"].map(|name| {
        format!("[[model]]\nname = '{name}'\ninput = 2\nread = 0.5\nwrite = 1\noutput = 4\n")
    });
    serving.place.write("prices.toml", prices.concat());
    let table = format!(
        "prices = 'prices.toml'\n[profile.summed]\nsummarizers = ['{model}']\n\
         options.default.summaries.background = false\n\
         [experiment.summed]\narms = ['default', 'summed']\n"
    );
    serving.place.write("x.toml", table);
    serving.go_on_with(&["--config", "x.toml"]);
    for number in 0..6 {
        for turns in 0..40 {
            let mut body = openai(turns);
            body["model"] = json!("talks");
            let ask = Ask::post("/v1/chat/completions", body.to_string());
            let answer = serving.send(ask.header("x-session-id", &format!("session-{number}")));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    serving.stop();
    assert!(!writer.prompts().is_empty(), "no model was asked");
    let args = ["savings", "--json", "--store", "s.db", "--config", "x.toml"];
    let told = serving.place.run(args).json();
    let all = &told["all"];
    assert_eq!(all["summaries"]["answers"], writer.prompts().len(), "{told:#}");
    let units = shown(&serving, &["export", "--json"]).json();
    let paid = |arm: &str| -> f64 {
        let units = units.as_array().unwrap().iter().filter(|unit| unit["arm"] == arm);
        units.filter_map(|unit| unit["dollars"].as_f64()).sum()
    };
    let profiles = told["by"]["profile"].as_array().unwrap();
    for arm in ["default", "summed"] {
        let profile = profiles.iter().find(|profile| profile["name"] == arm).unwrap();
        let (paid, expected) = (paid(arm), profile["paid"].as_f64().unwrap());
        assert!((paid - expected).abs() < 1e-6, "{arm}: {paid}, {told:#}");
        let summaries = profile["summaries"]["answers"].as_u64().unwrap();
        assert_eq!(summaries > 0, arm == "summed", "{told:#}");
    }
}
