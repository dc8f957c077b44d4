//! Models that write summaries, over HTTP: good ones, and bad ones of every kind. Whatever a model
//! does, what is sent is valid, within its budget, made in time, and somebody says what happened.

use epitome_upstream::{Fault, Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::openai;
use crate::measure::{count, faults, readable, tokens};
use crate::program::{Place, Ran};
use crate::proxy::Serving;

/// Tokens that the conversation shrinks to.
const MOST: u64 = 900;

/// Has summaries stand alone: nothing of the conversation's own words beside them.
const ALONE: &str = "profile.default.options.default.summaries.extract_heading = \"\"\n";

fn saying(texts: &[&str]) -> Script {
    let turn = |text: &&str| Turn { text: (*text).to_owned(), ..Turn::default() };
    let turns = texts.iter().map(turn).collect();
    Script { turns, repeat: 50, plain: true, ..Script::default() }
}

fn failing(fault: &Fault) -> Script {
    Script { faults: vec![fault.clone(); 9], ..saying(&["All was said."]) }
}

/// Compresses a conversation; the model may take so many seconds.
fn compressed(place: &Place, script: Script, seconds: u64, more: &[&str]) -> (Ran, Upstream) {
    let upstream = Upstream::start(script).unwrap();
    place.write("in.json", openai(40).to_string());
    let model = format!("openai:m@{}/v1", upstream.url());
    let most = MOST.to_string();
    let args = ["compress", "--max-tokens", &most, "--summarizer", &model, "-o", "out.json"];
    let mut command = place.command([&args[..], more, &["in.json"]].concat());
    let key = "EPITOME_PROFILE__DEFAULT__OPTIONS__DEFAULT__SUMMARIES__SECONDS";
    command.env(key, seconds.to_string());
    (Ran::of(command, b""), upstream)
}

/// What is sent, which is valid and within its budget whatever the model did.
#[track_caller]
fn prompt(place: &Place) -> Value {
    let prompt = place.read_json("out.json");
    assert_eq!(faults(&prompt), Vec::<String>::new());
    assert!(tokens(&prompt) <= MOST, "{}", tokens(&prompt));
    prompt
}

/// A bad model: what stands in its place is written without one, and a warning says why.
#[track_caller]
fn check_bad(script: Script, seconds: u64, expected: &str) {
    let place = Place::new();
    let without = place.command(["compress", "--max-tokens", "900", "-q", "in.json"]);
    let (ran, _upstream) = compressed(&place, script, seconds, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let warnings: Vec<_> = ran.err.lines().filter(|line| line.contains("warning: ")).collect();
    assert!(warnings.iter().any(|line| line.contains(expected)), "{expected}: {}", ran.err);
    assert!(ran.err.contains("\nsummed up by   no model\n"), "{}", ran.err);
    let without: Value = serde_json::from_slice(&Ran::of(without, b"").out).unwrap();
    assert_eq!(prompt(&place), without);
}

#[test]
fn a_model_writes_what_leaves() {
    let place = Place::new();
    let summary = "The person has the stages of the build looked at, one after the other.";
    let (ran, upstream) = compressed(&place, saying(&[summary]), 60, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("gave up"), "{}", ran.err);
    let sent = readable(&prompt(&place));
    let (summed, beside) = sent.split_once("In the words of the conversation:").unwrap();
    assert!(summed.contains(summary) && beside.contains("ERR_STAGE_"), "{sent}");
    let asked = upstream.prompts();
    assert_eq!(asked.len(), 1);
    let question = asked[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(question.contains("\n\nuser: "), "{question}");
    assert_eq!(asked[0].body["temperature"], json!(0));
}

/// A sentence that names what nobody said leaves; a summary that does so all the time is not believed.
#[test]
fn what_a_model_made_up_is_in_no_prompt() {
    let place = Place::new();
    let said = "The person has the stages of the build looked at. None of them is to be changed.";
    let made_up = "They were moved to src/ghost/oracle.rs.";
    let (ran, _upstream) = compressed(&place, saying(&[&format!("{said} {made_up}")]), 60, &[]);
    assert!(!ran.err.contains("gave up"), "{}", ran.err);
    let sent = readable(&prompt(&place));
    assert!(sent.contains(said) && !sent.contains("ghost"), "{sent}");
    let forged = format!("{made_up} The limit is 77123 now. None is to be changed.");
    check_bad(saying(&[&forged]), 60, "names what nobody said, in 2 of 3 sentences: `src/ghost");
}

#[test]
fn a_model_that_says_nothing_of_use_is_not_believed() {
    check_bad(saying(&[" \n"]), 60, "wrote nothing");
    let sorry = "I'm sorry, but I can't help with that.";
    check_bad(saying(&[sorry]), 60, "refused: “I'm sorry, but I can't help with that.”");
    let error = "{\"error\": {\"message\": \"overloaded\"}}";
    check_bad(saying(&[error]), 60, "answered with an error: “{\"error\"");
    check_bad(saying(&["<think>What is there to sum up?"]), 60, "it thought and said nothing");
    let german = "Der Mensch will, dass der Bau geprüft wird, und die Stufen sind nicht zu ändern; \
                  es ist auch noch nicht alles mit dem Lexer fertig.";
    check_bad(saying(&[german]), 60, "writes another language than the conversation (de)");
}

#[test]
fn a_model_that_never_ends_is_not_waited_for() {
    let endless = "and so it went on and on ".repeat(2000);
    check_bad(saying(&[&endless]), 60, "writes more than ");
    let slow = Script { faults: vec![Fault::Slow(300); 9], ..saying(&[&endless]) };
    check_bad(slow, 2, "no whole answer within ");
    check_bad(failing(&Fault::Hang), 2, "no whole answer within ");
}

#[test]
fn a_model_that_fails_is_told_of() {
    check_bad(failing(&Fault::Status(500)), 20, "the provider refuses with 500");
    check_bad(failing(&Fault::Cut), 20, "the answer broke off");
    check_bad(failing(&Fault::Error), 20, "the answer broke off");
    check_bad(failing(&Fault::Status(401)), 20, "check the key in the environment");
}

/// A model whose window does not take the history is asked piece by piece.
#[test]
fn a_window_smaller_than_the_history_is_no_hindrance() {
    let place = Place::new();
    place.write("epitome.toml", ALONE);
    let parts: Vec<_> = (1..99).map(|part| format!("Part {part} was looked at.")).collect();
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    let script = Script { limit: Some(1200), ..saying(&parts) };
    let (ran, upstream) = compressed(&place, script, 60, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("gave up"), "{}", ran.err);
    assert!(readable(&prompt(&place)).contains("Part 9 was looked at."));
    let asked = upstream.prompts();
    let refused: Vec<_> = asked.iter().map(|one| one.too_long).collect();
    assert!(refused[0] && !refused[1..].contains(&true) && refused.len() > 3, "{refused:?}");
}

/// So small a window that not even the question has room in it.
#[test]
fn a_window_that_is_too_small_is_told_of() {
    let script = Script { limit: Some(40), ..saying(&["no"]) };
    check_bad(script, 60, "has no room for the question");
}

#[test]
fn the_next_model_is_asked_where_one_fails() {
    let place = Place::new();
    let good = Upstream::start(saying(&["The stages were looked at."])).unwrap();
    let next = format!("openai:n@{}/v1", good.url());
    let (ran, _bad) =
        compressed(&place, failing(&Fault::Status(404)), 60, &["--summarizer", &next]);
    assert!(ran.err.contains("refuses with 404"), "{}", ran.err);
    assert!(ran.err.contains(&format!("\nsummed up by   {next}\n")), "{}", ran.err);
    assert!(readable(&prompt(&place)).contains("The stages were looked at."));
    assert_eq!(good.prompts().len(), 1);
}

/// A replay says behind each compression who wrote, and why the others did not.
#[test]
fn a_replay_tells_who_sums_up() {
    let place = Place::new();
    place.write("in.json", openai(40).to_string());
    let good = Upstream::start(saying(&["The stages were looked at."])).unwrap();
    let next = format!("openai:n@{}/v1", good.url());
    let check = |script: Script, more: &[&str], who: &str, why: &str| {
        let bad = Upstream::start(script).unwrap();
        let model = format!("openai:m@{}/v1", bad.url());
        let args = ["replay", "in.json", "--prompt-limit", "2000", "--summarizer", &model];
        let ran = place.run([&args[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let told = format!("{}{}", ran.text(), ran.err);
        let lines: Vec<_> = told.lines().map(|line| line.get(11..).unwrap_or_default()).collect();
        // So little was said before the first ones that the answer tells nothing of its own.
        let at = lines.iter().position(|line| line.starts_with("compressed (3)")).unwrap();
        assert_eq!(lines[at + 1], who, "{told}");
        assert!(lines[at + 2].contains(why), "{why}: {told}");
        assert!(!told.contains("compression failed"), "{told}");
    };
    let sorry = "I'm sorry, but I can't help with that.";
    check(saying(&[sorry]), &[], "summed up without a model", "I can't help with that.”");
    check(failing(&Fault::Status(404)), &[], "summed up without a model", "name and the address");
    let more = ["--summarizer", &next];
    check(saying(&[" \n"]), &more, &format!("summed up by {next}"), "wrote nothing");
}

/// Behind the conversation itself, where that is with the same model: its bytes stay as they are,
/// and the provider reads them from its cache.
#[test]
fn the_model_of_the_conversation_is_asked_behind_it() {
    let provider = Upstream::start(saying(&["The stages were looked at."])).unwrap();
    let (url, model) = (provider.url(), format!("openai:m@{}/v1", provider.url()));
    let config = Place::new();
    let waits = "profile.default.options.default.summaries.background = false\n";
    config.write("alone.toml", format!("{ALONE}{waits}"));
    let config = config.path("alone.toml");
    let args = ["--openai-upstream", &url, "--summarizer", &model, "--prompt-limit", "8000"];
    let args = [&args[..], &["--config", config.to_str().unwrap()]].concat();
    let serving = Serving::start(Script::default(), &args);
    let is_question = |body: &Value| body.to_string().contains("Sum up this part");
    for turns in 1..60 {
        let mut body = openai(turns);
        body["model"] = json!("m");
        serving.post("/v1/chat/completions", &body);
        let prompts = provider.prompts();
        let Some(at) = prompts.iter().position(|one| is_question(&one.body)) else { continue };
        let (question, before) = (&prompts[at], &prompts[at - 1]);
        let messages = question.body["messages"].as_array().unwrap();
        let asked = messages.last().unwrap()["content"].as_str().unwrap();
        // Nothing but the question was added to what the client sent, and behind it all what its
        // answer may take.
        let said = format!(r#",{{"role":"user","content":{}}}"#, json!(asked));
        let bound = format!(r#","max_tokens":{}"#, question.body["max_tokens"]);
        let without = String::from_utf8_lossy(&question.raw).replace(&said, "");
        assert_eq!(without.replace(&bound, ""), body.to_string());
        assert!(without.ends_with(&format!("{bound}}}")), "{bound}");
        assert!(asked.contains("the conversation above, up to and with the message that begins:"));
        // All that was sent before is read.
        let [read, sent] = [question.usage.read, before.usage.prompt()];
        assert!(read * 10 > sent * 9, "{read} of {sent}: {:?}", question.usage);
        let sent = prompts.last().unwrap();
        assert!(readable(&sent.body).contains("The stages were looked at."));
        assert!(count(&readable(&sent.body)) < 8000 && faults(&sent.body).is_empty());
        return;
    }
    panic!("no model was asked: {}", serving.said());
}
