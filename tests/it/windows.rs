//! How large a prompt may be, and how it is counted: who says so, what is asked for by name, what
//! servers tell and what refusals and answers teach, over the end of a process.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::playing::played;
use crate::program::{Place, Ran};

/// A model whose provider takes prompts of so many of its own tokens.
fn taking(limit: u64) -> Upstream {
    let turns = vec![Turn { text: "Noted.".to_owned(), ..Turn::default() }];
    Upstream::start(Script { turns, limit: Some(limit), ..Script::default() }).unwrap()
}

/// So many messages of about thirty tokens, in long words.
fn lines(messages: std::ops::Range<usize>) -> String {
    let line = |n| {
        format!(
            "Understandably, international conversations concerning department number {n} require \
             considerable preparation: administrative representatives traditionally recommend \
             straightforward communication throughout the organisation.\n"
        )
    };
    messages.map(line).collect()
}

/// Says them in a place.
fn chat(place: &Place, model: &str, args: &str, messages: std::ops::Range<usize>) -> Ran {
    let all = ["chat", "--store", "s.db", "--model", model, "--session", "long"].into_iter();
    place.feed(all.chain(args.split_whitespace()), lines(messages).as_bytes())
}

fn run(place: &Place, line: &str) -> Ran {
    place.run(line.split_whitespace())
}

fn status(place: &Place) -> Value {
    run(place, "status --session long --store s.db --json").json()
}

/// What a check of the doctor found.
fn found(place: &Place, args: &str, about: &str) -> Vec<String> {
    let ran = run(place, &format!("doctor --json {args}"));
    let all: Vec<Value> = serde_json::from_str(ran.text()).unwrap();
    let of = all.iter().filter(|one| one["about"] == about);
    of.map(|one| format!("{} {}", one["verdict"].as_str().unwrap(), one["found"].as_str().unwrap()))
        .collect()
}

fn refused(upstream: &Upstream) -> usize {
    upstream.prompts().iter().filter(|prompt| prompt.refused.is_some()).count()
}

/// What a request to Ollama says of the size of its context holds before every guess, and no
/// further than somebody states another.
#[test]
fn a_request_states_its_own_window() {
    let place = Place::new();
    let long =
        |n: usize| format!("Item {n}: {}", "the keel of the boat was laid in May. ".repeat(6));
    let said = (0..160).map(|n| {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        json!({"role": role, "content": long(n)})
    });
    let said: Vec<_> = said.chain([json!({"role": "user", "content": "Go on."})]).collect();
    let write = |size: u64| {
        let talk = json!({"model": "somebodys", "messages": said, "options": {"num_ctx": size}});
        place.write("in.json", talk.to_string());
    };
    for (size, flags, limit) in [
        (2048, "", 2048),
        (4096, "", 4096),
        (4096, "--prompt-limit 3000", 3000),
        (4096, "--profile ollm", 4096),
        (0, "", 6800),
    ] {
        write(size);
        let ran = run(&place, &format!("compress in.json --json -o out.json {flags}"));
        let report = ran.json();
        assert_eq!(report["limit"], limit, "{size} {flags}");
        assert!(report["after"]["tokens"].as_u64() <= Some(limit), "{size} {flags}");
        let summary = run(&place, &format!("replay in.json --json {flags}"));
        let (turns, summary) = played(&summary);
        assert!(turns.iter().all(|turn| turn["limit"] == limit), "{size} {flags}");
        assert!(summary["max_tokens_sent"].as_u64() <= Some(limit), "{size} {flags}");
        assert_eq!(summary["oversized"], 0);
    }
}

#[test]
fn a_window_is_asked_for_by_the_name_of_its_model() {
    let place = Place::new();
    let talk = json!({"model": "m", "messages": [{"role": "user", "content": "Hello."}]});
    place.write("in.json", talk.to_string());
    let limit = |args: &str| run(&place, &format!("compress in.json --json -o out.json {args}"));
    let check = |args: &str, expected: u64| {
        assert_eq!(limit(args).json()["limit"], expected, "{args}");
    };
    check("--window-of llama3.2 --context-size 4096", 3482);
    check("--context-size 4096", 3481);
    check("--context-size 4096 --model llama3.2:3b", 3482);
    check("--context-size 8192 --model anybodys", 6963);
    check("--window-of gpt-4o", 128_000);
    let refused = |args: &str, expected: &str| {
        let ran = limit(args);
        assert!(ran.code != 0 && ran.err.contains(expected), "{args}: {} {}", ran.code, ran.err);
    };
    refused("--window-of lama3.2", "no `lama3.2`; did you mean `llama3.2`? there is `chatgpt-4o`");
    refused(
        "--window-of llama3.2 --context-size 5000",
        "no context size 5000; the nearest is 4096, there is",
    );
    refused("--window-of gpt-4o --prompt-limit 5", "cannot be used with");
}

#[test]
fn a_table_and_wordings_of_ones_own_are_read_and_checked() {
    let place = Place::new();
    place.write("own.toml", "models = 'models.toml'\n[profile.default]\nwindow = 'ours'\n");
    place.write("models.toml", "[[model]]\nname = 'ours'\nwindow = 5000\n");
    let show = || run(&place, "config show --config own.toml");
    assert!(show().text().contains("limit    5,000 tokens, stated by the user\n"));
    place.write("models.toml", "[[model]]\nname = 'ours'\nwindow = 0\n");
    assert!(show().err.contains("models.toml:3: 0 tokens hold no prompt"), "{}", show().err);
    place.write("own.toml", "[profile.default.options.default.limit]\nsignatures = ['{most}!']\n");
    let expected = "own.toml:2: profile `default`: the wording `{most}!` has `{most}`; expected";
    assert!(show().err.contains(expected), "{}", show().err);
}

#[test]
fn whoever_states_a_limit_is_named() {
    let place = Place::new();
    let show = |args: &str| run(&place, &format!("config show {args}")).text().to_owned();
    let guessed = "200,000 for anthropic, 128,000 for openai, 6,800 for ollama tokens, \
                   guessed by the API";
    assert!(show("").contains(&format!("limit    {guessed}\n")), "{}", show(""));
    assert!(show("--context-size 8192").contains("limit    6,963 tokens, stated by the user\n"));
    let [found] = &found(&place, "", "window")[..] else { panic!("one window") };
    assert!(found.starts_with("ok 200,000 for anthropic, 128,000 for openai, 6,800 for ollama"));
}

#[test]
fn the_doctor_asks_the_servers_whose_models_are_named() {
    let (place, upstream) = (Place::new(), taking(1000));
    let models = format!("['ollama:m@{}', 'openai:m@http://127.0.0.1:9']", upstream.url());
    place.write("own.toml", format!("[profile.default]\nsummarizers = {models}\n"));
    let found = found(&place, "--config own.toml", "window");
    assert!(found[1].contains("trained for 8,192 tokens"), "{found:?}");
    assert!(found[2].starts_with("warn openai:m@http://127.0.0.1:9"), "{found:?}");
    assert!(upstream.prompts().is_empty(), "nothing is said to them");
}

#[test]
fn a_limit_that_a_refusal_taught_outlives_the_process() {
    let (place, upstream) = (Place::new(), taking(1500));
    let model = format!("openai:m@{}/v1", upstream.url());
    let ran = chat(&place, &model, "", 0..40);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let taught = refused(&upstream);
    assert!((1..=3).contains(&taught), "{taught} refusals");
    let known = status(&place);
    assert!(known["limit"].as_u64().unwrap() <= 1500, "{known:#}");
    assert_eq!(known["limit_source"], "learned");
    assert_eq!(chat(&place, &model, "", 40..80).code, 0);
    assert_eq!(refused(&upstream), taught, "nothing is refused after the restart");
    let found = found(&place, "--store s.db", "window");
    let is_told = |one: &String| one.contains("tokens, learned from a refusal");
    assert!(found.iter().any(is_told), "{found:?}");
}

#[test]
fn what_a_refusal_taught_holds_in_every_project() {
    let (place, upstream) = (Place::new(), taking(1500));
    let model = format!("openai:m@{}/v1", upstream.url());
    let talk = |folder: &str| {
        std::fs::create_dir_all(place.path(&format!("{folder}/.git"))).unwrap();
        let mut command = place.command(["chat", "--model", &model]);
        command.current_dir(place.path(folder)).stdin(std::process::Stdio::piped());
        let ran = Ran::of(command, lines(0..40).as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    talk("one");
    let taught = refused(&upstream);
    assert!((1..=3).contains(&taught), "{taught} refusals");
    talk("two");
    assert_eq!(refused(&upstream), taught, "the other project had to learn it again");
}

#[test]
fn counts_are_corrected_by_what_answers_report() {
    // It counts four characters of JSON as a token, more of them than we do.
    let (place, upstream) = (Place::new(), taking(2000));
    let model = format!("openai:m@{}/v1", upstream.url());
    let ran = chat(&place, &model, "--prompt-limit 2000", 0..60);
    assert_eq!((ran.code, refused(&upstream)), (0, 0), "{}", ran.err);
    let known = status(&place);
    let factor = known["counted"]["factor"].as_f64().unwrap();
    assert!((1.05..2.0).contains(&factor), "{known:#}");
    let limit = known["limit"].as_u64().unwrap() as f64;
    assert!((1800.0..=2000.0 + factor).contains(&(limit * factor)), "{known:#}");
    let text = run(&place, "status --session long --store s.db");
    assert!(text.text().contains("of theirs for 1 of ours, ±"), "{}", text.text());
}

/// Between compressions each prompt begins with the one before, though its bounds were corrected.
#[test]
fn a_correction_changes_no_prompt_but_by_a_compression() {
    let (place, upstream) = (Place::new(), taking(100_000));
    let model = format!("openai:m@{}/v1", upstream.url());
    assert_eq!(chat(&place, &model, "--prompt-limit 4000", 0..30).code, 0);
    assert!(status(&place)["counted"].is_object());
    assert_eq!(status(&place)["compressions"], 0);
    let messages = |body: &Value| body["messages"].as_array().unwrap().clone();
    let all: Vec<_> = upstream.prompts().iter().map(|prompt| messages(&prompt.body)).collect();
    assert!(all.windows(2).all(|pair| pair[1].starts_with(&pair[0])));
}

#[test]
fn a_prompt_that_ollama_cut_is_told_with_the_remedy() {
    let (place, upstream) = (Place::new(), taking(1200));
    let model = format!("ollama:m@{}", upstream.url());
    let ran = chat(&place, &model, "--prompt-limit 6000", 0..70);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let known = status(&place);
    assert_eq!(known["shortened"]["evaluated"], 1200, "{known:#}");
    assert_eq!(ran.err.matches("OLLAMA_CONTEXT_LENGTH").count(), 1, "told once: {}", ran.err);
    let found = found(&place, "--store s.db", "window");
    assert!(found[1].starts_with("warn m (ollama): its server read 1,200 of"), "{found:?}");
}
