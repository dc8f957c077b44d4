//! `staged` with a model that writes the summaries: what it is asked, by the level of the summary
//! and the conversation's mode (RULES 27, 29), and what is made of its answers.

use std::sync::Arc;

use epitome::types::EventKind;
use epitome::{
    Compressor, MemoryStore, ModelQuestion, Profile, Prompt, Session, WindowSetting, validate,
};
use epitome_testkit::{FixedCounter, ScriptedModel, now};
use serde_json::json;

const PROMPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/staged/prompts");

/// The text of a file that the policy reads.
#[expect(clippy::disallowed_methods, reason = "a test looks at the files that users edit")]
fn text(name: &str) -> String {
    let text = std::fs::read_to_string(format!("{PROMPTS}/{name}.md")).unwrap();
    text.trim_end().to_owned()
}

/// A live conversation, a token for each word.
fn session(size: u64, mode: &str, model: &ScriptedModel) -> Session {
    Compressor::builder()
        .profile(Profile::shipped("staged").unwrap())
        .counter(FixedCounter::Words)
        .window(WindowSetting::Size(size))
        .mode(mode)
        .model(model.clone())
        .session(Arc::new(MemoryStore::new()), Some("talk"))
}

fn say(session: &mut Session, role: &str, text: &str) {
    session.push(json!({ "role": role, "content": text }).to_string().as_bytes()).unwrap();
}

/// The user asks, the model does its work in so many words, and more is said than stays; then the
/// user asks for a compression.
fn compressed(session: &mut Session, words: usize) -> Prompt {
    say(session, "user", "Find the fault in src/parser.rs.");
    say(session, "assistant", &"word ".repeat(words));
    for turn in 0..5 {
        let role = ["user", "assistant"][turn % 2];
        say(session, role, &format!("And so on, for the turn {turn}."));
    }
    session.request_compression();
    now(session.prompt()).unwrap()
}

fn errors(prompt: &Prompt) -> Vec<String> {
    let error = |what: &EventKind| match what {
        EventKind::CompressionError { cause, .. } | EventKind::PolicyError { cause } => {
            Some(cause.clone())
        }
        _ => None,
    };
    prompt.events.iter().filter_map(|event| error(&event.what)).collect()
}

/// What the model is asked where so many words are summed up in this mode.
fn asked(words: usize, mode: &str) -> ModelQuestion {
    let model = ScriptedModel::saying(&["It was the parser."]);
    let prompt = compressed(&mut session(16_384, mode, &model), words);
    assert_eq!(errors(&prompt), [""; 0]);
    assert!(validate(epitome::Format::OpenAi, &prompt.bytes).is_ok());
    let sent = String::from_utf8(prompt.bytes.to_vec()).unwrap();
    assert!(sent.contains("It was the parser.") && sent.contains("src/parser.rs"), "{sent}");
    let [ask] = <[ModelQuestion; 1]>::try_from(model.asked()).unwrap();
    ask
}

#[test]
fn the_level_and_the_mode_word_the_question() {
    for (words, mode, level) in [
        (1500, "developer", 3),
        (2500, "debugger", 2),
        (4000, "planning", 1),
        (1500, "assistant", 3),
        (2500, "user", 2),
    ] {
        let ask = asked(words, mode);
        let expected = [text(&format!("level-{level}")), text(&format!("mode-{mode}"))];
        assert_eq!(ask.system.as_deref(), Some(&*expected.join("\n\n")), "{words} {mode}");
        let told = "\n\nassistant: word word";
        assert!(ask.user.contains(told) && !ask.user.contains("{conversation}"), "{}", ask.user);
        let most = ask.max_tokens.unwrap();
        assert!(ask.user.contains(&format!("no more than {most} tokens")), "{}", ask.user);
    }
}

/// RULES 25: a summary of class 4 has its sections; one without is written by the next summariser.
#[test]
fn a_large_window_wants_sections() {
    let whole = "## Decisions\nnone\n## State\nFound.\n## Files\nnone\n## Next steps\nnone";
    for (answer, error) in [(whole, None), ("Found.", Some("left out `## Decisions`"))] {
        let model = ScriptedModel::saying(&[answer]);
        let prompt = compressed(&mut session(32_768, "developer", &model), 4000);
        let errors = errors(&prompt);
        assert_eq!(errors.len(), usize::from(error.is_some()), "{errors:?}");
        assert!(error.is_none_or(|error| errors[0].ends_with(error)), "{errors:?}");
        let user = model.asked()[0].user.clone();
        assert!(user.ends_with(&text("sections")), "{user}");
    }
}
