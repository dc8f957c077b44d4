//! A store in PostgreSQL: proxies that share it are one, and a server that goes away stops nothing.

use epitome_testkit::PostgresServer;
use epitome_upstream::Script;

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::outage::{SAID, agent, check_prefixes, check_said_once, count, rounds};
use super::page::Browser;
use super::serving::Serving;
use crate::program::Place;
use crate::shipped::recording;

/// Tokens; some rounds of the agent fill it.
const LIMIT: &str = "16000";
/// Rounds of calls that the model asks for.
const ROUNDS: u64 = 11;

/// The name of the store, for as long as the tests run.
fn store(server: &PostgresServer) -> &'static str {
    Box::leak(server.address("postgres").into_boxed_str())
}

fn serving(store: &'static str) -> Serving {
    Serving::on_store(Script::agent(ROUNDS, calls()), &["--prompt-limit", LIMIT], Some(store))
}

/// The bytes of the prompts that the upstream of a proxy got.
fn sent(serving: &Serving) -> Vec<String> {
    let prompts = serving.prompts();
    prompts.iter().map(|prompt| String::from_utf8_lossy(&prompt.raw).into_owned()).collect()
}

#[test]
fn proxies_that_share_a_database_send_what_one_alone_would() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    for api in [Api::Anthropic, Api::Chat] {
        let alone = serving("s.db");
        rounds(&mut agent(api), &alone, usize::MAX);

        let mut one = serving(store(&server));
        let url = one.upstream.url();
        let args =
            ["--prompt-limit", LIMIT, "--anthropic-upstream", &url, "--openai-upstream", &url];
        let mut two = Serving::on_store(Script::default(), &args, Some(store(&server)));
        let mut hopping = agent(api);
        for round in 0..=ROUNDS {
            let next = if round % 2 == 0 { &mut one } else { &mut two };
            if round % 4 == 3 {
                next.kill();
                next.go_on();
            }
            rounds(&mut hopping, next, 1);
        }
        let (expected, found) = (sent(&alone), sent(&one));
        assert_eq!(found.len(), expected.len());
        for (turn, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected, "{api:?} turn {turn}: {found}\n\n{expected}");
        }
        let compressed = [&one, &two].map(|it| count(it, "compressed (")).iter().sum::<usize>();
        assert!(compressed > 0, "{}", one.said());
        // What was done at one of them holds at the other with its next request.
        let listed = one.place.run(["session", "list", "--json", "--store", store(&server)]);
        let sessions = listed.json();
        let newest = &sessions[0];
        assert_eq!(newest["turns"], ROUNDS + 1, "{sessions}");
        for told in [one.said(), two.said()] {
            assert!(!told.contains(" WARN "), "{told}");
        }
    }
}

/// The conversation goes on from a copy as it would have where it was.
#[test]
fn a_conversation_goes_on_in_a_database_that_its_store_was_copied_to() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let api = Api::Anthropic;
    let alone = serving("s.db");
    rounds(&mut agent(api), &alone, usize::MAX);

    let mut one = serving("s.db");
    let mut hopping = agent(api);
    rounds(&mut hopping, &one, 7);
    let before = count(&one, "compressed (");
    one.kill();
    let copied = one.place.run(["store", "copy", "s.db", store(&server)]);
    assert_eq!((copied.code, copied.err.as_str()), (0, ""), "{}", copied.text());
    let url = one.upstream.url();
    let args = ["--prompt-limit", LIMIT, "--anthropic-upstream", &url, "--openai-upstream", &url];
    let two = Serving::on_store(Script::default(), &args, Some(store(&server)));
    rounds(&mut hopping, &two, usize::MAX);
    let (expected, found) = (sent(&alone), sent(&one));
    assert_eq!(found.len(), expected.len());
    for (turn, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!(found == expected, "turn {turn}: {found}\n\n{expected}");
    }
    assert!(before + count(&two, "compressed (") > 0, "{}", two.said());
}

/// What a compression says of its store can be typed, and tells no password.
#[test]
fn what_left_a_prompt_comes_back_from_a_database() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let place = Place::new();
    place.write("work.jsonl", recording());
    let store = store(&server).replace("epitome@", "epitome:secret@");
    let args = ["compress", "--ratio", "8", "--store", &store, "--output", "small.json"];
    let told = place.run([&args[..], &["--report", "report.json", "work.jsonl"]].concat());
    assert_eq!(told.code, 0, "{}", told.err);
    let report = place.read_json("report.json").to_string();
    let all = format!("{}{}{report}", told.text(), told.err);
    assert!(all.contains("epitome recall --store postgres://epitome@") && !all.contains("secret"));
    let small = String::from_utf8(place.read("small.json")).unwrap();
    let id: String = small.split("epitome recall ").nth(1).unwrap().chars().take(8).collect();
    let recalled = place.run(["recall", &id, "--store", &store]);
    assert_eq!(recalled.code, 0, "{}", recalled.err);
    assert!(recalled.text().lines().count() > 20, "{}", recalled.text());
    let found = place.run(["recall", "MOST_NESTED", "--store", &store]);
    assert!(found.text().contains("MOST_NESTED"), "{}", found.text());
    // Nothing says it, and something is near.
    let nothing = place.run(["recall", "MOST_NESTID", "--store", &store]);
    assert!(nothing.err.contains("MOST_NESTED"), "{}{}", nothing.text(), nothing.err);
}

#[test]
fn a_database_that_goes_away_stops_no_compression_and_is_used_again() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let api = Api::Anthropic;
    let address = store(&server);
    let mut serving = serving(address);
    let mut one = agent(api);
    rounds(&mut one, &serving, 6);
    let browser = Browser::open(&serving);
    server.stop().unwrap();
    rounds(&mut one, &serving, usize::MAX);
    check_prefixes(api, &serving, &serving.prompts());
    // The page does not take a store that is away for an empty one.
    for path in ["/", "/s/client-one", "/experiments"] {
        let page = browser.get(path);
        let text = page.text();
        assert!(text.contains("The store cannot be relied on"), "{path} {}: {text}", page.status);
        assert!(text.contains("cannot be reached"), "{path}: {text}");
        assert!(!text.contains("no session"), "{path}: {text}");
    }
    check_said_once(&serving, SAID);
    let outage = &serving.status()["store"];
    assert_eq!(outage["writable"], false, "{outage}");
    let cause = outage["cause"].as_str().unwrap_or_default();
    assert!(
        cause.contains("postgres://epitome@") && cause.contains("cannot be reached"),
        "{outage}"
    );
    server.start_again().unwrap();
    // It is asked every two seconds whether it is back, where somebody writes.
    for _ in 0..60 {
        rounds(&mut Agent::new(api, "Count the rowans of the south."), &serving, 1);
        if count(&serving, "can be written again") > 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let mut other = Agent::new(api, "Look after the invoices of the north.");
    rounds(&mut other, &serving, 4);
    check_said_once(&serving, "can be written again");
    let store = &serving.status()["store"];
    assert_eq!(store["writable"], true, "{store}");
    // What it wrote to memory meanwhile stands before nothing that is newer.
    let answers = || {
        let told = serving.place.run(["savings", "--store", address, "--json"]).json();
        told["all"]["answers"].as_u64().unwrap()
    };
    eventually("the page shows what the store has", || {
        let page = browser.page("/");
        let tile = page.split("All time").nth(1).unwrap_or_default().split("</div>").next();
        tile.unwrap_or_default().contains(&format!("{} answers", answers()))
    });
    serving.stop();
    serving.go_on();
    one.say("Is that all?");
    rounds(&mut one, &serving, usize::MAX);
    serving.stop();
    // What was answered meanwhile was paid as well.
    let told = serving.place.run(["savings", "--store", address, "--json"]).json();
    assert_eq!(told["all"]["answers"], serving.prompts().len(), "{told:#}");
    let verified = serving.place.run(["session", "verify", "--store", address]);
    assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.err);
}
