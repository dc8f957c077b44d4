//! `epitome chat` on a pipe: past its window, past failures, over sessions and cassettes.

use epitome_upstream::{Fault, Script, Turn, Upstream};

use serde_json::Value;

use crate::program::{Place, Ran, read_file};

/// The APIs, each with what its base address ends with.
const APIS: [(&str, &str); 3] = [("ollama", ""), ("openai", "/v1"), ("anthropic", "")];

/// A model that answers a first message so, and others with `That is all.`
fn answering(text: &str) -> Script {
    Script { turns: vec![Turn { text: text.to_owned(), ..Turn::default() }], ..Script::default() }
}

/// How the model of an upstream is named.
fn model((api, path): (&str, &str), upstream: &Upstream) -> String {
    format!("{api}:m@{}{path}", upstream.url())
}

/// Talks in a place, a message a line.
fn chat(place: &Place, model: &str, args: &str, lines: &str) -> Ran {
    let all = ["chat", "--store", "s.db", "--model", model].into_iter();
    place.feed(all.chain(args.split_whitespace()), lines.as_bytes())
}

/// A line of about forty tokens that no other is like.
fn told(n: usize) -> String {
    format!(
        "Note {n}: the file src/part{n}/mod.rs holds the rule {}, which must stay as it is; \
         rename nothing there, and see to it that test number {} still passes tomorrow.\n",
        n * 7919 % 1009,
        n * 31 + 4
    )
}

/// The answers on standard output: an empty line stands behind each.
fn answers(ran: &Ran) -> Vec<&str> {
    ran.text().split_terminator("\n\n").collect()
}

#[track_caller]
fn check(name: &str, lines: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, lines));
}

#[test]
fn a_conversation_goes_on_past_three_times_its_window() {
    for api in APIS {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let place = Place::new();
        let lines: String = (0..80).map(told).collect();
        let ran =
            chat(&place, &model(api, &upstream), "--prompt-limit 1500 --session long", &lines);
        assert_eq!((ran.code, answers(&ran).len()), (0, 80), "{}: {}", api.0, ran.err);
        let prompts = upstream.prompts();
        assert_eq!(prompts.len(), 80, "{}", api.0);
        assert!(prompts.iter().all(|prompt| prompt.refused.is_none()), "{}", api.0);
        assert!(prompts.iter().all(|it| it.raw.len() < 1500 * 8), "{}", api.0);
        let compressed = ran.err.matches("compressed (").count();
        assert!(compressed >= 2 && ran.err.contains("/1,500"), "{}: {}", api.0, ran.err);
        let shown = place.run(["session", "show", "long", "--store", "s.db", "--json"]).json();
        assert!(shown["tokens"][0].as_u64() > Some(3 * 1500), "{shown}");
        assert_eq!(shown["messages"], 160, "{}", api.0);
    }
}

#[test]
fn every_command_does_what_it_says() {
    let upstream =
        Upstream::start(answering("Sure.\n[GOAL] Ship the importer\nLet us go.")).unwrap();
    let place = Place::new();
    std::fs::create_dir_all(place.path("augments/style")).unwrap();
    place.write("augments/style/brief.md", "# Be brief\n\nAnswer in one line.\n");
    let notes: String = (0..24).map(told).collect();
    let commands = "/help\n/mode\n/mode debugger\n/model\n/goal\n/goal Ship it all\n/snapshot first\n\
        /context\n/pin\n/pin e2\n/unpin e2\n/augments\n/augments style/brief\n/compact\n/status\n\
        /undo\n/redo\n/recall rule of part3\n/export said.md\n/export said.json\n/quit\nnot said\n";
    let lines = format!("Hello there\n{notes}{commands}");
    let ran = chat(&place, &model(APIS[1], &upstream), "--prompt-limit 1200 --session all", &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The marker is recorded and not shown.
    assert!(ran.text().contains("Let us go.") && !ran.text().contains("[GOAL]"), "{}", ran.text());
    for said in [
        "  /compress                 makes the prompt smaller now; so does /compact\n",
        "no mode is set",
        "mode debugger\n",
        " tokens, stated by the user\n",
        "g1 active: Ship the importer\n",
        "g1 active: Ship it all\n",
        "goes back to it\n",
        "as said   as sent\n",
        "  e49   assistant          Answer turn25x25. That is all.\n",
        "pinned by hand are e2\n",
        "nothing is pinned by hand\n",
        "style/brief  Be brief\n",
        "loaded 1 augment\n",
        "  window ",
        "is taken back",
        "is in force again\n",
        "src/part3/mod.rs",
        "said.md was written\n",
        "said.json was written\n",
    ] {
        assert!(ran.err.contains(said), "{said:?} is missing in:\n{}", ran.err);
    }
    assert_eq!(upstream.prompts().len(), 25);
    let said = String::from_utf8(place.read("said.md")).unwrap();
    assert!(said.contains("Hello there") && said.contains("[GOAL] Ship the importer"), "{said}");
    assert!(place.read_json("said.json")["messages"].as_array().unwrap().len() >= 50);
}

#[test]
fn commands_that_cannot_be_done_are_one_line_each() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let place = Place::new();
    let lines = "/compres\n/nothing\n/status\n/context\n/recall\n/undo\n/pin e9\nHello\n/undo\n/redo\n\
        /pin e99\n/goal done\n/model gpt\n/model ollama:x@http://127.0.0.1:9\n/augments no/such\n";
    let ran =
        chat(&place, &model(APIS[1], &upstream), "--prompt-limit 4000 -q --session errs", lines);
    assert_eq!((ran.code, answers(&ran).len()), (2, 1), "{}", ran.err);
    check("chat_commands_that_cannot_be_done", &ran.err);
}

#[test]
fn answers_that_break_off_and_models_that_fail_do_not_end_a_pipe() {
    let faults = vec![Fault::Cut, Fault::Status(400), Fault::None];
    let upstream = Upstream::start(Script { faults, ..answering("some words") }).unwrap();
    let place = Place::new();
    let ran = chat(&place, &model(APIS[0], &upstream), "--prompt-limit 4000", "one\ntwo\nthree\n");
    assert_eq!((ran.code, answers(&ran).len()), (5, 2), "{}", ran.err);
    assert!(ran.err.contains("the answer is not whole, "), "{}", ran.err);
    assert!(ran.err.contains("the provider refuses with 400: scripted failure"), "{}", ran.err);
    let last = upstream.prompts().pop().unwrap().body;
    // Behind the system prompt, which says how goals are marked.
    let said: Vec<_> = last["messages"].as_array().unwrap().iter().skip(1).collect();
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(said[1]["content"], answers(&ran)[0]);
    assert_eq!((&said[2]["content"], &said[3]["content"]), (&"two".into(), &"three".into()));
}

#[test]
fn what_would_go_wrong_again_ends_a_pipe() {
    let place = Place::new();
    let upstream =
        Upstream::start(Script { faults: vec![Fault::Status(401)], ..answering("x") }).unwrap();
    let ran = chat(&place, &model(APIS[1], &upstream), "--prompt-limit 4000", "one\ntwo\n");
    assert_eq!((ran.code, upstream.prompts().len()), (5, 1), "{}", ran.err);
    assert!(
        ran.err.contains("refuses with 401") && ran.err.contains("check the key"),
        "{}",
        ran.err
    );
    let faults = vec![Fault::Status(404)];
    let upstream = Upstream::start(Script { faults, ..answering("x") }).unwrap();
    let named = format!("openai:mock-2@{}/v1", upstream.url());
    let ran = chat(&place, &named, "--prompt-limit 4000", "one\ntwo\n");
    assert_eq!((ran.code, upstream.prompts().len()), (5, 1), "{}", ran.err);
    assert!(ran.err.contains("did you mean `mock-1`?; it has mock-1\n"), "{}", ran.err);
}

#[test]
fn a_prompt_that_is_refused_is_made_smaller_and_sent_again() {
    let upstream = Upstream::start(Script { limit: Some(1200), ..answering("Noted.") }).unwrap();
    let place = Place::new();
    let lines: String = (0..40).map(told).collect();
    let ran = chat(&place, &model(APIS[1], &upstream), "--session small", &lines);
    assert_eq!((ran.code, answers(&ran).len()), (0, 40), "{}", ran.err);
    let refused = ran.err.matches("the model refused the prompt as too long").count();
    assert!((1..=6).contains(&refused), "{refused}: {}", ran.err);
    assert_eq!(upstream.prompts().len(), 40 + refused);
}

#[test]
fn what_cannot_fit_is_said_and_the_next_line_goes_on() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let place = Place::new();
    let lines = format!("{}\nHello again\n", "a word and another ".repeat(900));
    let ran = chat(&place, &model(APIS[2], &upstream), "--prompt-limit 1000", &lines);
    assert_eq!((ran.code, answers(&ran).len()), (4, 1), "{}", ran.err);
    assert!(ran.err.contains("it cannot fit into 1000 tokens: "), "{}", ran.err);
    assert_eq!(upstream.prompts().len(), 1);
}

#[test]
fn a_session_is_gone_on_with_in_another_process() {
    for api in APIS {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let (place, model) = (Place::new(), model(api, &upstream));
        place.write("system.md", "You answer briefly.\n");
        let args = "--prompt-limit 4000 --session s --system system.md";
        let ran = chat(&place, &model, args, "My name is Ada.\n");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let ran = chat(&place, &model, "--prompt-limit 4000 --session s", "What is my name?\n");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("session s goes on, with "), "{}", ran.err);
        let prompts: Vec<_> = upstream.prompts().into_iter().map(|it| it.body).collect();
        let [before, after] =
            [&prompts[0], &prompts[1]].map(|it| it["messages"].as_array().unwrap().clone());
        assert_eq!(after[..before.len()], before[..], "{}", api.0);
        assert_eq!(after.len(), before.len() + 2, "{}", api.0);
        assert_eq!(prompts[0]["system"], prompts[1]["system"], "{}", api.0);
        assert!(prompts[1].to_string().contains("You answer briefly."), "{}", api.0);
        assert_eq!(prompts[0]["stream"], prompts[1]["stream"], "{}", api.0);
    }
}

#[test]
fn another_profile_begins_a_session_of_its_own_and_says_so() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let (place, model) = (Place::new(), model(APIS[0], &upstream));
    let args = |profile: &str| format!("--prompt-limit 4000 --session s --profile {profile}");
    let ran = chat(&place, &model, &args("ollm"), "My name is Ada.\n");
    assert!(!ran.err.contains("begins here"), "{}", ran.err);
    let ran = chat(&place, &model, &args("staged"), "What is my name?\n");
    assert!(ran.err.contains("that the profile `ollm` recorded is another"), "{}", ran.err);
    assert!(!upstream.prompts()[1].body.to_string().contains("Ada"));
    let ran = chat(&place, &model, &args("ollm"), "What is my name?\n");
    assert!(ran.err.contains("session s goes on, with "), "{}", ran.err);
}

#[test]
fn another_model_goes_on_with_the_conversation() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let place = Place::new();
    let other = format!("openai:larger@{}/v1", upstream.url());
    let lines = format!("My name is Ada.\n/model {other}\nWhat is my name?\n");
    let ran = chat(&place, &model(APIS[1], &upstream), "--prompt-limit 4000", &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains(&format!("goes on with {other}, 4,000 tokens, stated")),
        "{}",
        ran.err
    );
    let prompts: Vec<_> = upstream.prompts().into_iter().map(|it| it.body).collect();
    assert_eq!((&prompts[0]["model"], &prompts[1]["model"]), (&"m".into(), &"larger".into()));
    assert_eq!(prompts[1]["messages"][0], prompts[0]["messages"][0]);
}

/// "Summaries are written by the model that talks unless the profile names another" (RULES 21).
#[test]
fn in_ollm_the_model_that_talks_writes_the_summaries() {
    let lines: String = (0..60).map(told).collect();
    let summaries = |flags: &str| {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let args = format!("--prompt-limit 1500 --profile ollm --session s {flags}");
        let ran = chat(&Place::new(), &model(APIS[1], &upstream), &args, &lines);
        assert_eq!((ran.code, answers(&ran).len()), (0, 60), "{}", ran.err);
        let prompts = upstream.prompts().into_iter();
        prompts.filter(|one| one.body.to_string().contains("Sum up this part")).count()
    };
    assert!(summaries("") > 0);
    assert_eq!(summaries("--summarizer extractive"), 0);
}

/// The compressions go on behind those that are advised: whoever talks is told of it once.
#[test]
fn advice_is_given_once() {
    let lines: String = (0..120).map(told).collect();
    for profile in ["ollm", "staged"] {
        let upstream = Upstream::start(answering("Noted.")).unwrap();
        let args = format!("--prompt-limit 1500 --summarizer extractive --profile {profile}");
        let ran = chat(&Place::new(), &model(APIS[1], &upstream), &args, &lines);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let made = ran.err.matches("compressed (").count();
        let advised = ran.err.matches("advised").count();
        assert!(made > 5 && advised == 1, "{profile}, {made}, {advised}: {}", ran.err);
    }
}

/// The last answer fills the window: it is compressed behind it, though nobody says anything after it.
#[test]
fn what_an_answer_fills_is_compressed_in_the_pause_behind_it() {
    let long = "The greenhouse has a pump that runs at night and a valve by the door. ".repeat(30);
    let upstream = Upstream::start(Script { repeat: 99, ..answering(&long) }).unwrap();
    let (place, named) = (Place::new(), model(APIS[1], &upstream));
    let made = |place: &Place| {
        let shown = place.run(["session", "show", "s", "--store", "s.db", "--json"]).json();
        shown["compressions"].as_u64().unwrap()
    };
    let mut said = 0;
    let last = loop {
        let line = told(said);
        let ran = chat(&place, &named, "--prompt-limit 4000 --profile ollm --session s", &line);
        assert_eq!(ran.code, 0, "{}", ran.err);
        said += 1;
        if made(&place) > 0 {
            break ran;
        }
        assert!(said < 20, "{}", ran.err);
    };
    // No request was made smaller so far: all that was said is in the last one.
    let prompts = upstream.prompts().into_iter().map(|prompt| prompt.body.to_string());
    let prompts: Vec<_> = prompts.filter(|it| !it.contains("Sum up this part")).collect();
    assert_eq!(prompts.len(), said);
    assert!(prompts[said - 1].contains("Note 0: ") && prompts[said - 1].contains("Note 1: "));
    let status = last.err.find("Context: ").unwrap();
    assert!(last.err.find("compressed (").is_some_and(|at| at < status), "{}", last.err);
    // The next message finds it done.
    let ran = chat(&place, &named, "--prompt-limit 4000 --profile ollm --session s", "Thanks.\n");
    assert!(!ran.err.contains("compressed ("), "{}", ran.err);
    assert_eq!(made(&place), 1);
}

/// The status line behind an answer counts it: what is sent next is that and what was typed.
#[test]
fn the_status_line_counts_the_answer_that_it_stands_behind() {
    let long = "words of an answer ".repeat(200);
    let upstream = Upstream::start(answering(&long)).unwrap();
    let place = Place::new();
    let ran =
        chat(&place, &model(APIS[1], &upstream), "--prompt-limit 4000 --session s", "Hello\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let status = ran.err.lines().find_map(|line| line.split("Context: ").nth(1)).unwrap();
    let counted: u64 = status.split('/').next().unwrap().replace(',', "").parse().unwrap();
    let ran =
        chat(&place, &model(APIS[1], &upstream), "--prompt-limit 4000 --session s", "Go on\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shown = place.run(["session", "show", "s", "--store", "s.db", "--json"]).json();
    let sent = shown["tokens"][1].as_u64().unwrap();
    assert!(counted > 800 && (counted..counted + 20).contains(&sent), "{counted} {sent}");
}

/// Key decisions need no marker in `ollm`: what a person and the model settle stands in every prompt from
/// then on, though the messages that said it left long ago. What they only weigh does not.
#[test]
fn what_is_settled_in_a_chat_is_a_decision() {
    let answer = "Good. We agreed on UTF-8 for every export. Should we go with YAML?";
    let upstream = Upstream::start(answering(answer)).unwrap();
    let place = Place::new();
    let notes: String = (0..60).map(told).collect();
    let lines =
        format!("Let's go with SQLite instead of Postgres. Maybe we use Redis, too.\n{notes}");
    let args = "--prompt-limit 2500 --profile ollm --session s --summarizer extractive";
    let ran = chat(&place, &model(APIS[1], &upstream), args, &lines);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let last = upstream.prompts().pop().unwrap().body.to_string();
    assert!(!last.contains("Note 3: "), "{last}");
    for decided in
        ["Let's go with SQLite instead of Postgres.", "We agreed on UTF-8 for every export."]
    {
        assert!(last.contains(decided), "{decided}: {last}");
    }
    let known =
        place.run(["goal", "list", "--session", "s", "--store", "s.db", "--profile", "ollm"]);
    assert!(known.text().contains("SQLite instead of Postgres"), "{}", known.text());
    assert!(!known.text().contains("Redis") && !known.text().contains("YAML"), "{}", known.text());
}

/// What the user's own table says of the model is what the trigger reckons with.
#[test]
fn the_prices_are_the_users_own() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let place = Place::new();
    place.write("own.toml", "prices = \"prices.toml\"\n");
    place.write("prices.toml", "[[model]]\nname = \"m\"\ninput = 3\nread = 0.375\nwrite = 1.625\n");
    let policy = "--- @api 2\nlocal function trigger(job)\n  \
                  print(\"read\", job.cache.read, \"write\", job.cache.write)\nend\n\
                  return { extends = \"default\", trigger = trigger }\n";
    place.run(["policy", "new", "team", "-q"]).silent();
    place.write(crate::policy::TEAM, policy);
    let named = model(APIS[1], &upstream);
    let ran = chat(&place, &named, "--profile team --config own.toml --session s", "Hello\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("read 0.375 write 1.625"), "{}", ran.err);
}

#[test]
fn a_cassette_plays_what_was_recorded_and_nothing_else() {
    let upstream = Upstream::start(answering("Noted.")).unwrap();
    let (place, lines) = (Place::new(), "Hello\nAnd now?\n");
    let named = model(APIS[2], &upstream);
    let first = chat(&place, &named, "--record tape.jsonl --session a", lines);
    assert_eq!(first.code, 0, "{}", first.err);
    drop(upstream);
    let again = chat(&place, "anthropic:m", "--cassette tape.jsonl --session b", lines);
    assert_eq!((again.code, again.text()), (0, first.text()), "{}", again.err);
    let other = chat(&place, "anthropic:m", "--cassette tape.jsonl --session c", "Hallo\n");
    assert_eq!((other.code, other.text()), (5, ""));
    let apart = "`.messages[0].content` was recorded as \"Hello\", and is \"Hallo\"";
    assert!(other.err.contains(apart), "{}", other.err);
    let tape = String::from_utf8(place.read("tape.jsonl")).unwrap();
    assert!(!tape.contains("127.0.0.1"), "{tape}");
}

#[test]
fn what_is_wrong_with_the_arguments_is_said_before_anything_is_recorded() {
    let place = Place::new();
    place.write("tape.jsonl", "{}\n");
    let mut said = String::new();
    for (model, args) in [
        ("llama3", ""),
        ("openai:gpt-5", ""),
        ("anthropic:claude", ""),
        ("openai:x@nowhere", "--prompt-limit 5"),
        ("ollama:x@http://127.0.0.1:9", ""),
        ("ollama:x", "--cassette tape.jsonl"),
        ("ollama:x", "--cassette none.jsonl"),
        ("ollama:x", "--record no/such/tape.jsonl"),
        ("ollama:x", "--system prompt.md"),
        ("ollama:x", "--profile nobody"),
        ("ollama:x", "--summarizer gpt"),
    ] {
        let ran = chat(&place, model, args, "Hello\n");
        let line = ran.err.trim_end();
        assert_eq!((line.lines().count(), ran.text()), (1, ""), "{model} {args}: {}", ran.err);
        said += &format!("{model} {args}\n  {} {line}\n", ran.code);
    }
    assert_eq!(place.files(), ["s.db", "tape.jsonl"]);
    check("chat_arguments_that_make_no_sense", &said);
}

#[test]
fn the_help_of_chat() {
    let ran = Place::new().run(["chat", "--help"]);
    check("chat_help", std::str::from_utf8(&ran.silent()).unwrap());
}

/// A file beside the cassettes.
pub(crate) fn cassette(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cassettes").join(name);
    String::from_utf8(read_file(path).unwrap()).unwrap()
}

/// What a real server of a model with 135 million parameters counted and said, in a window of 2048
/// tokens. `cassettes/record.sh` records it anew where what is asked has changed.
#[test]
fn a_conversation_with_a_real_model_is_played_past_three_times_its_window() {
    let (place, window) = (Place::new(), 2048);
    let tape = cassette("greenhouse.jsonl");
    place.write("tape.jsonl", &tape);
    let all = ["chat", "--store", "s.db", "--session", "g", "--cassette", "tape.jsonl"];
    let model = ["--model", "openai:smollm2@http://127.0.0.1:1/v1", "--system"];
    let system = "You keep the log of a greenhouse and answer in one short sentence.";
    let lines = cassette("greenhouse.txt");
    let args = all.into_iter().chain(model).chain([system]);
    let asked: Vec<_> = lines.lines().flat_map(|line| [line, "/status"]).collect();
    let ran = place.feed(args.clone(), asked.join("\n").as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = "2,048 tokens, told by the server";
    assert!(ran.err.contains(told), "{}", ran.err);
    let resumed = place.feed(args, b"/quit\n");
    assert!(resumed.err.contains(told), "what was learned of its counts: {}", resumed.err);
    let ours: Vec<u64> = ran.err.lines().filter_map(used).collect();
    assert_eq!(ours.len(), lines.lines().count(), "{}", ran.err);
    let theirs: Vec<u64> = tape.lines().filter_map(counted).collect();
    assert_eq!(theirs.len(), ours.len());
    assert!(theirs.iter().all(|theirs| *theirs <= window), "{theirs:?}");
    // What is stated after an answer holds for the next prompt.
    let stated: Vec<_> = ran.err.lines().filter_map(band).collect();
    let first = ours.len() - stated.len();
    assert!((1..=3).contains(&first), "stated {} times: {}", stated.len(), ran.err);
    let prompts = ours.iter().zip(&theirs).skip(first + 1);
    for ((ours, theirs), (least, most)) in prompts.zip(&stated) {
        let ratio = *theirs as f64 / *ours as f64;
        assert!((*least..*most).contains(&ratio), "{ours}, {theirs}: {least} to {most}");
    }
    assert!(ran.err.matches("compressed (").count() >= 3, "{}", ran.err);
    let shown = place.run(["session", "show", "g", "--store", "s.db", "--json"]).json();
    assert!(shown["tokens"][0].as_u64() > Some(3 * window), "{shown}");
}

/// The tokens that a status line tells.
fn used(line: &str) -> Option<u64> {
    line.strip_prefix("Context: ")?.split('/').next()?.replace(',', "").parse().ok()
}

/// The least and the most tokens of theirs for one of ours that a line of `/status` states, with what is
/// lost of both figures where they are rounded.
fn band(line: &str) -> Option<(f64, f64)> {
    let (factor, line) = line.trim().strip_prefix("counted")?.trim().split_once(' ')?;
    let factor: f64 = factor.parse().ok()?;
    let band: f64 = line.split_once('±')?.1.split_once(' ')?.0.parse().ok()?;
    let off = 0.005 + factor * (band + 0.5) / 100.0;
    Some((factor - off, factor + off))
}

/// The tokens of a prompt as the server counted them; of a question about the server none.
fn counted(exchange: &str) -> Option<u64> {
    let exchange: Value = serde_json::from_str(exchange).unwrap();
    let said: String =
        exchange["response"]["chunks"].as_array()?.iter().filter_map(Value::as_str).collect();
    let events = said.lines().filter_map(|line| line.strip_prefix("data: {"));
    let events = events.map(|event| serde_json::from_str::<Value>(&format!("{{{event}")).unwrap());
    events.filter_map(|event| event["usage"]["prompt_tokens"].as_u64()).next_back()
}
