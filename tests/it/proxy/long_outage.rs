//! A disk or a database that is away for long, under load: nothing goes out as it came, and all that was
//! said is recorded once it is back.
//!
//! `EPITOME_OUTAGE_SECONDS=300` lasts five minutes; without the variable it is a short one.

#![expect(clippy::disallowed_methods, reason = "turns come at a rate")]
#![expect(clippy::print_stdout, reason = "tells how many there were")]

use std::time::{Duration, Instant};

use epitome_testkit::PostgresServer;
use epitome_upstream::Script;

use super::agent::{Agent, Api};
use super::faults::eventually;
use super::outage::{SAID, check_said_once, count, hold};
use super::serving::Serving;

/// Seconds that it lasts where nothing else is said.
const SECONDS: u64 = 5;

/// Turns in a second.
const RATE: u64 = 20;

/// Turns of each of the conversations that go on at the same time: enough to be compressed.
const TURNS: u64 = 100;

/// Tokens; some turns of a conversation fill it.
const LIMIT: u64 = 2_000;

/// A conversation with what was said in it.
struct Talk {
    agent: Agent,
    number: usize,
    said: Vec<String>,
}

impl Talk {
    fn new(number: usize) -> Self {
        let task = format!("Count the lights of harbour {number}.");
        let mut agent = Agent::new(Api::Chat, &task);
        let id = format!("client-{number}");
        agent.headers.push(("x-claude-code-session-id".to_owned(), id));
        Self { agent, number, said: vec![task] }
    }

    /// One more turn: it is answered, from a prompt within the window.
    #[track_caller]
    fn go_on(&mut self, serving: &Serving) {
        let answer = self.agent.send(serving, self.agent.request().to_string().into_bytes());
        assert_eq!(answer.status, 200, "{}", serving.said());
        assert_eq!(answer.header("x-epitome-skip"), None, "{}", serving.said());
        let tokens = answer.header("x-epitome-tokens").unwrap_or_default();
        let sent = tokens.split_once('/').and_then(|(_, sent)| sent.parse::<u64>().ok());
        assert!(sent.is_some_and(|sent| sent <= LIMIT), "{tokens} in {}", serving.said());
        self.agent.take(&answer);
        let (number, turn) = (self.number, self.said.len());
        let more = "the tide came in and went out again over the quay of the town. ".repeat(6);
        let next = format!("Light {turn} of harbour {number} is lit: {more}");
        self.agent.say(&next);
        self.said.push(next);
    }
}

/// Conversations go on at their rate through an outage, and behind a restart all of them are recorded.
#[track_caller]
fn check(
    serving: &mut Serving,
    store: &str,
    begin: impl FnOnce(&Serving),
    end: impl FnOnce(&Serving),
) {
    let told = std::env::var("EPITOME_OUTAGE_SECONDS").ok();
    let seconds = told.as_ref().map_or(SECONDS, |all| all.parse().unwrap());
    let all = usize::try_from((seconds * RATE).div_ceil(TURNS)).unwrap().max(4);
    let mut talks: Vec<_> = (0..all).map(Talk::new).collect();
    talks.iter_mut().for_each(|talk| talk.go_on(serving));
    begin(serving);
    let (start, pause) = (Instant::now(), Duration::from_millis(1_000 / RATE));
    let mut turns: u32 = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        talks[turns as usize % all].go_on(serving);
        turns += 1;
        std::thread::sleep((pause * turns).saturating_sub(start.elapsed()));
    }
    check_said_once(serving, SAID);
    assert_eq!(serving.status()["store"]["writable"], false);
    // A short one may run beside others, on a machine that has no time for its rate.
    let is_at_rate = u64::from(turns) >= seconds * RATE * 9 / 10;
    assert!(told.is_none() || is_at_rate, "{turns} turns in {seconds} seconds");
    end(serving);
    let compressions = count(serving, "compressed (");
    serving.stop();
    serving.go_on();
    talks.iter_mut().for_each(|talk| talk.go_on(serving));
    serving.stop();

    let run = |args: &[&str]| serving.place.run([args, &["--store", store]].concat());
    let listed = run(&["session", "list", "--all", "--json"]).json();
    let names = listed.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
    let exported = names.map(|name| {
        let ran = run(&["session", "export", &name, "--format", "json"]);
        ran.text().to_owned()
    });
    let exported: Vec<_> = exported.collect();
    for talk in &talks {
        // The last one was not sent.
        for said in &talk.said[..talk.said.len() - 1] {
            assert!(exported.iter().any(|all| all.contains(said)), "not recorded: {said}");
        }
    }
    assert_eq!(run(&["session", "verify"]).code, 0);
    assert!(compressions > 0, "nothing was compressed");
    println!("{turns} turns in {seconds} s without the store, {compressions} compressions");
}

fn serving(store: &'static str) -> Serving {
    Serving::on_store(Script::default(), &["--prompt-limit", &LIMIT.to_string()], Some(store))
}

#[test]
fn minutes_without_a_disk_send_nothing_raw_and_lose_nothing() {
    let mut serving = serving("s.db");
    check(&mut serving, "s.db", |it| hold(it, Some(64 << 10)), |it| hold(it, None));
}

#[test]
fn minutes_without_a_database_send_nothing_raw_and_lose_nothing() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let store: &'static str = Box::leak(server.address("postgres").into_boxed_str());
    let mut serving = serving(store);
    let server = std::cell::RefCell::new(&mut server);
    let stop = |_: &Serving| server.borrow_mut().stop().unwrap();
    let start = |serving: &Serving| {
        server.borrow_mut().start_again().unwrap();
        let list = || serving.place.run(["session", "list", "--store", store]).code;
        eventually("the database is back", || list() == 0);
    };
    check(&mut serving, store, stop, start);
}
