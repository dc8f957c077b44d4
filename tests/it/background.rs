//! Models that write summaries in the background, before the real program as a proxy: whatever they
//! do, no request waits for them.

use std::thread::sleep;
use std::time::Duration;

use epitome_upstream::{Fault, Record, Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::bare;
use crate::measure::{count, faults, readable};
use crate::program::Place;
use crate::proxy::Serving;

const SUMMARY: &str = "The stages of the build were looked at, one after the other, by a model.";

/// Tokens that a prompt may have.
const LIMIT: u64 = 16_000;

/// Under which nothing is lost where a prompt changes at its beginning, and a summary stands alone.
const ALONE: &str = "profile.default.options.default.summaries.extract_heading = \"\"\n";
const CONFIG: &str = "profile.default.options.default.cache = { read = 1.0, write = 1.0 }\n\
                      profile.default.options.default.summaries.extract_heading = \"\"\n";

/// A model that says nothing until it is let go.
fn held() -> Upstream {
    Upstream::start(Script { faults: vec![Fault::Hold; 99], ..speaking() }).unwrap()
}

fn speaking() -> Script {
    let turn = Turn { text: SUMMARY.to_owned(), ..Turn::default() };
    Script { turns: vec![turn], repeat: 99, plain: true, ..Script::default() }
}

/// The conversation up to the question of a turn.
fn up_to(turn: usize) -> Value {
    let mut messages = bare(turn + 1);
    messages.as_array_mut().unwrap().truncate(1 + turn * 4 + 1);
    json!({"model": "gpt-4o", "messages": messages})
}

/// A conversation that goes on turn by turn.
struct Talk {
    serving: Serving,
    turn: usize,
    /// Where its configuration is.
    _config: Place,
}

impl Talk {
    fn new(model: &Upstream) -> Self {
        let place = Place::new();
        place.write("own.toml", CONFIG);
        let (config, limit) = (place.path("own.toml"), LIMIT.to_string());
        let model = format!("openai:m@{}/v1", model.url());
        let args = ["--prompt-limit", &limit, "--summarizer", &model, "--config"];
        let args = [&args[..], &[config.to_str().unwrap()]].concat();
        let serving = Serving::start(Script::default(), &args);
        Self { serving, turn: 0, _config: place }
    }

    /// What is sent of the next turn; it is answered.
    fn next(&mut self) -> Record {
        self.serving.post("/v1/chat/completions", &up_to(self.turn));
        self.turn += 1;
        let sent = self.serving.last();
        assert_eq!(faults(&sent.body), Vec::<String>::new());
        assert!(count(&readable(&sent.body)) < LIMIT);
        sent
    }

    /// The first turn with which something is so.
    fn until(&mut self, what: impl Fn(&Self, &Record) -> bool) -> Record {
        for _ in 0..80 {
            let sent = self.next();
            if what(self, &sent) {
                return sent;
            }
        }
        panic!("it never came to that: {}", self.serving.said());
    }
}

fn is_compressed(talk: &Talk, _: &Record) -> bool {
    talk.serving.compressions() > 0
}

/// Waits until a model was asked so often; whether it was.
fn is_asked(model: &Upstream, times: usize, tries: u32) -> bool {
    (0..tries).any(|_| {
        sleep(Duration::from_millis(50));
        model.prompts().len() >= times
    })
}

fn asked(model: &Upstream, times: usize) {
    assert!(is_asked(model, times, 600), "asked {} times", model.prompts().len());
}

#[test]
fn a_summary_comes_in_when_it_is_there() {
    let model = held();
    let mut talk = Talk::new(&model);
    // All of these are answered while the model says nothing.
    let sent = talk.until(is_compressed);
    assert!(!readable(&sent.body).contains(SUMMARY));
    asked(&model, 1);
    // A new process goes on with the same beginning, and asks again.
    let times = model.prompts().len();
    talk.serving.kill();
    talk.serving.go_on();
    let before = sent.body["messages"].as_array().unwrap().clone();
    let sent = talk.next();
    let after = sent.body["messages"].as_array().unwrap();
    assert_eq!(&after[..before.len()], &before[..]);
    asked(&model, times + 1);
    model.follow(speaking());
    let sent = talk.until(|_, sent| readable(&sent.body).contains(SUMMARY));
    let messages = sent.body["messages"].as_array().unwrap().clone();
    // What a model wrote is in the journal before it is sent.
    talk.serving.kill();
    let verified = talk.serving.place.run(["session", "verify", "--store", "s.db"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
    talk.serving.go_on();
    let sent = talk.next();
    assert_eq!(&sent.body["messages"].as_array().unwrap()[..messages.len()], &messages[..]);
}

#[test]
fn a_model_is_asked_before_there_is_need() {
    let model = Upstream::start(speaking()).unwrap();
    let mut talk = Talk::new(&model);
    talk.until(|_, sent| {
        let fills = count(&readable(&sent.body)) * 10 > LIMIT * 7;
        fills && is_asked(&model, 1, 20)
    });
    assert_eq!(talk.serving.compressions(), 0);
    let question = model.prompts()[0].body["messages"][0]["content"].to_string();
    assert!(question.contains("ERR_STAGE_0"), "{question}");
    let sent = talk.until(is_compressed);
    let later = |talk: &mut Talk| talk.until(|_, sent| readable(&sent.body).contains(SUMMARY));
    let sent = if readable(&sent.body).contains(SUMMARY) { sent } else { later(&mut talk) };
    assert!(readable(&sent.body).contains("The timeout of stage"));
}

/// A summary in which every profile finds what it asks for; each sentence says who wrote it.
const WRITTEN: &str = "## Session intent\nA model wrote that the stages are looked at.\n\n## Artifacts\nnone\n\n\
    ## Key decisions\nA model wrote that each timeout goes up once.\n\n## Progress\nA model wrote that the first \
    stages are done.\n\n## Critical facts\nnone\n\n## Next steps\nA model wrote that there are more.\n\n\
    ## Recovery references\nnone\n\nUnresolved issues\nnone\n\nCurrent state\nA model wrote that it goes on.";

/// What a model wrote stands again in whatever its messages become, and nobody asks for it twice: with a
/// provider that caches, under every profile. Where an extract would stand beside it, it stands alone here:
/// one that tells so little would give way to that.
#[test]
fn the_words_of_a_model_stand_in_the_prompts_that_summaries_are_in() {
    for profile in ["default", "early", "ollm", "tiered"] {
        let turn = Turn { text: WRITTEN.to_owned(), ..Turn::default() };
        let script = Script { turns: vec![turn], repeat: 99, plain: true, ..Script::default() };
        let writer = Upstream::start(script).unwrap();
        let model = format!("openai:m@{}/v1", writer.url());
        let place = Place::new();
        place.write("own.toml", ALONE);
        let config = place.path("own.toml");
        let args = ["--prompt-limit", "9000", "--profile", profile, "--summarizer", &model];
        let args = [&args[..], &["--config", config.to_str().unwrap()]].concat();
        let serving = Serving::start(Script::default(), &args);
        let (mut summed, mut worded, mut turns) = (0, 0, 0);
        for turn in 0..45 {
            serving.post("/v1/chat/completions", &up_to(turn));
            let sent = readable(&serving.last().body);
            let is_summed = serving.compressions() > 0;
            summed += usize::from(is_summed);
            worded += usize::from(is_summed && sent.contains("A model wrote"));
            turns += 1;
            // The person reads the answer.
            let asked = writer.prompts().len();
            is_asked(&writer, asked + 1, 1);
        }
        let questions = writer.prompts().len();
        assert!(summed * 2 > turns, "{profile}: {summed} of {turns} prompts hold a summary");
        assert!(worded * 10 >= summed * 9, "{profile}: {worded} of {summed} in its words");
        assert!(questions * 3 <= turns, "{profile}: asked {questions} times in {turns} turns");
    }
}

/// What a model decides in a summary is a decision under every profile, line by line; what a summary says
/// again that stands there already brings back no goal that was given up since (RULES 57).
#[test]
fn what_a_summary_decides_is_heard_once() {
    let marked =
        format!("{WRITTEN}\n[GOAL] Watch all stages\n[DECISION] Skip none of them - LOCKED");
    for profile in ["default", "early", "ollm", "staged", "tiered"] {
        let turn = Turn { text: marked.clone(), ..Turn::default() };
        let script = Script { turns: vec![turn], repeat: 99, plain: true, ..Script::default() };
        let writer = Upstream::start(script).unwrap();
        let model = format!("openai:m@{}/v1", writer.url());
        let place = Place::new();
        place.write("own.toml", ALONE);
        let config = place.path("own.toml");
        let args = ["--prompt-limit", "9000", "--profile", profile, "--summarizer", &model];
        let args = [&args[..], &["--config", config.to_str().unwrap()]].concat();
        let serving = Serving::start(Script::default(), &args);
        let goal = |args: &[&str]| {
            let more = ["--store", "s.db", "--profile", profile, "--json"];
            serving.place.run([&["goal"], args, &more].concat()).json()
        };
        let turns = |turns: std::ops::Range<usize>| {
            for turn in turns {
                serving.post("/v1/chat/completions", &up_to(turn));
                let asked = writer.prompts().len();
                is_asked(&writer, asked + 1, 1);
            }
        };
        turns(0..30);
        let list = goal(&["list"]);
        assert_eq!(list["goals"][0]["text"], "Watch all stages", "{profile}: {list}");
        let decisions = list["goals"][0]["decisions"].to_string();
        assert!(decisions.contains("\"Skip none of them\""), "{profile}: {list}");
        goal(&["set", "Ship the build"]);
        turns(30..45);
        let list = goal(&["list"]);
        assert_eq!(list["goals"].as_array().unwrap().len(), 1, "{profile}: {list}");
        assert_eq!(list["goals"][0]["text"], "Ship the build", "{profile}: {list}");
    }
}

/// What a policy adds to a model's summary holds of that one alone: a larger one, made of its words, says
/// what holds of itself, and nothing twice.
#[test]
fn what_a_policy_adds_to_a_summary_is_not_summed_up_again() {
    let turn = Turn { text: WRITTEN.to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 99, plain: true, ..Script::default() };
    let writer = Upstream::start(script).unwrap();
    let model = format!("openai:m@{}/v1", writer.url());
    let args = ["--prompt-limit", "9000", "--profile", "tiered", "--summarizer", &model];
    let serving = Serving::start(Script::default(), &args);
    let mut added = 0;
    for turn in 0..60 {
        serving.post("/v1/chat/completions", &up_to(turn));
        let asked = writer.prompts().len();
        is_asked(&writer, asked + 1, 1);
        let sent = serving.last().body;
        for said in sent["messages"].as_array().unwrap() {
            let said = said["content"].as_str().unwrap_or_default();
            for opening in ["Objective, as first stated:", "Current request:", "Also said:"] {
                let times = said.matches(opening).count();
                assert!(times <= 1, "turn {turn}: {times} times {opening}: {said}");
                added += times;
            }
        }
    }
    assert!(added > 30 && serving.compressions() > 2, "{added}, {}", serving.compressions());
}

/// Nobody is told that a model took too long: it was not waited for.
#[test]
fn a_chat_goes_on_while_a_model_says_nothing() {
    let (provider, model, place) = (Upstream::start(speaking()).unwrap(), held(), Place::new());
    let [provider, summarizer] =
        [&provider, &model].map(|upstream| format!("openai:m@{}/v1", upstream.url()));
    let lines: String = (0..60)
        .map(|n| {
            format!("Note {n}: the rule in src/part{n}/mod.rs must stay as it is, all of it.\n")
        })
        .collect();
    let args = ["chat", "--store", "s.db", "--prompt-limit", "1500", "--model", &provider];
    let args = args.into_iter().chain(["--summarizer", &summarizer]);
    let ran = place.feed(args, lines.as_bytes());
    let answers = ran.text().split_terminator("\n\n").count();
    assert_eq!((ran.code, answers), (0, 60), "{}", ran.err);
    assert!(ran.err.contains("compressed (1)") && !ran.err.contains("failed"), "{}", ran.err);
    assert!(!model.prompts().is_empty());
}
