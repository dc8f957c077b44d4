//! Which session gets which arm, and that nothing takes it away again.

use std::collections::{BTreeMap, BTreeSet};

use epitome_testkit::PostgresServer;
use epitome_upstream::{Script, Upstream};
use serde_json::Value;

use super::{Client, THREE, Talk, begun, profiles, profiles_in, say, shown, talks, units};
use crate::program::{Place, Ran};
use crate::proxy::Serving;

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
    let told = shown(&serving, &["show"]).text().to_owned();
    assert!(told.contains("it is decided"), "{told}");
    assert!(told.contains("none against default: too few units; 30 of each are needed"), "{told}");
}

/// What is asked of new sessions takes nobody out that goes on, and a session that is resumed under
/// another id goes on in its arm.
#[test]
fn a_session_keeps_its_arm_whatever_is_asked_of_new_ones() {
    let mut serving = begun(THREE, &mut []);
    let mut all = talks(0..12);
    all.retain(|talk| talk.client == Client::Claude);
    say(&mut all, &serving, "A first question.");
    say(&mut all, &serving, "A second question.");
    let first = profiles(&serving);
    assert!(first.values().any(|(arm, _)| arm != "default"), "{first:?}");
    let counted = units(&serving);
    serving.stop();
    serving.place.write("x.toml", format!("{THREE}clients = ['chatter']\n"));
    serving.go_on();
    say(&mut all, &serving, "A third question.");
    let then = profiles(&serving);
    assert!(all.iter().all(|talk| then[&talk.name].0 == first[&talk.name].0), "{then:?}");
    // The same conversation under another id.
    serving.stop();
    serving.place.write("x.toml", THREE);
    serving.go_on();
    for talk in &mut all {
        let (own, about) = (first[&talk.name].0.clone(), format!("{}-again", talk.name));
        talk.name.clone_from(&about);
        talk.say(&serving, "A fourth question.", None);
        let sessions = serving
            .place
            .run(["session", "list", "--all", "--json", "--limit", "0", "--store", "s.db"]);
        let sessions = sessions.json();
        let mut found = sessions.as_array().unwrap().iter();
        let resumed =
            found.find(|it| it["name"] == about.as_str()).unwrap_or_else(|| panic!("{sessions:#}"));
        assert_eq!(resumed["profile"], own.as_str(), "{resumed:#}");
    }
    assert_eq!(units(&serving), counted, "a resumed session is no unit of its own");
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

/// Changed weights hold for new sessions alone, and break no split.
#[test]
fn changed_weights_are_for_new_sessions() {
    let mut serving = begun(&THREE.replace("45, 35, 20", "1, 1, 0"), &mut []);
    let mut all = talks(0..24);
    say(&mut all, &serving, "A first question.");
    let before = profiles(&serving);
    assert_eq!(units(&serving)["none"], 0);
    serving.stop();
    serving.place.write("x.toml", THREE.replace("45, 35, 20", "0, 1, 6"));
    serving.go_on();
    let mut later = talks(24..72);
    say(&mut later, &serving, "A first question.");
    say(&mut all, &serving, "A second question.");
    let then = profiles(&serving);
    assert!(all.iter().all(|talk| then[&talk.name].0 == before[&talk.name].0), "{then:?}");
    assert!(later.iter().all(|talk| then[&talk.name].0 != "default"), "{then:?}");
    let told = shown(&serving, &["show", "--json"]).json();
    assert_eq!(told["split"]["is_broken"], false, "{told:#}");
    let expected = told["split"]["expected"]["default"].as_f64().unwrap();
    assert!((expected - 12.0).abs() < 1e-9, "{told:#}");
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
    let arms: BTreeSet<_> = found.values().map(|(arm, _)| arm).collect();
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
