//! `tiered`: a structured summary, and an agent that is asked about where it seems to forget (RULES
//! 46 to 54).

use serde_json::{Value, json};

use super::tape::{Asked, Written, play, tideline};
use super::{saying, stand};

/// "a structured summary: ... session intent (critical), artifacts (name, path, status), key decisions
/// with rationale, progress (phase, completed, remaining), critical facts, next steps, recovery
/// references" (RULES 48).
#[test]
fn tiered_has_a_summary_written_in_sections() {
    let written = play("tiered", "tiered", &tideline(42), "", "--prompt-limit 3000");
    // A small one is written in a few sentences.
    let large = |one: &&Asked| one.body["max_tokens"].as_u64() >= Some(400);
    assert!(written.asked.iter().any(|one| large(&one)));
    for asked in written.asked.iter().filter(large) {
        let question = asked.question();
        for section in [
            "## Session intent",
            "## Artifacts",
            "## Key decisions",
            "## Progress",
            "## Critical facts",
            "## Next steps",
            "## Recovery references",
        ] {
            assert!(question.contains(section), "{section}: {question}");
        }
        assert!(question.contains("- src/zone.rs ("), "{question}");
        assert!(question.contains("it is critical and must not be lost:\n"), "{question}");
    }
    assert!(stand(&written, true) > 0);
    // "the objective as first stated and as revised, and the current request, two fields": quoted,
    // whatever the model made of them.
    let talk = tideline(42);
    let typed = |one: &&Value| one["role"] == "user" && one["content"].is_string();
    let first = talk["messages"].as_array().unwrap().iter().find(typed).unwrap();
    let words: Vec<_> = first["content"].as_str().unwrap().split_whitespace().take(8).collect();
    let objective = format!("Objective, as first stated: {}", words.join(" "));
    let said = written.turns.iter().map(|turn| written.said(turn));
    let with: Vec<_> = said.filter(|said| said.contains("Current request: ")).collect();
    assert!(!with.is_empty() && with.iter().all(|said| said.contains(&objective)), "{objective}");
}

/// An agent that is told to do something, is compressed, says this, and goes on when it is told to.
fn says(messages: usize, told: &str, text: &str) -> Value {
    let mut talk = tideline(messages);
    let messages = talk["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "user", "content": told}));
    for (text, typed) in [(text, "go on"), ("ZoneError comes next.", "Good."), ("Here.", "Good.")] {
        messages.push(json!({"role": "assistant", "content": text}));
        messages.push(json!({"role": "user", "content": typed}));
    }
    talk
}

/// Plays it in a window that its task fills, and gives what the model says to whether the agent
/// forgot what it is there for.
#[track_caller]
fn drifts(name: &str, limit: u64, talk: &Value, [intent, text]: [&str; 2]) -> (Written, String) {
    let config = "[profile.tiered.options.tiered]\nask_drift = true\n";
    let written = play(name, "tiered", talk, config, &format!("--prompt-limit {limit}"));
    let asked = saying(&written, "Has it lost sight of what it is there for?");
    let [asked] = asked[..] else { panic!("asked {} times", asked.len()) };
    let question = asked.question();
    assert!(question.contains(intent) && question.contains(text), "{question}");
    let answer = asked.answer.to_lowercase();
    (written, answer)
}

/// "Drift → a warning with trigger, intent and action, and recovery: search archive and offloaded
/// content for the original context and bring the excerpt back" (RULES 51).
#[test]
fn an_agent_that_forgets_by_the_models_word_is_given_the_excerpt() {
    let task = "Write the limits of a year into docs/limits.md.";
    let text = "Done: everything is finished.";
    let (written, answer) = drifts("tiered-forgets", 3200, &says(41, task, text), [task, text]);
    assert!(answer.starts_with("yes"), "{answer}");
    let [(turn, drift)] = written.told("drift-detected")[..] else { panic!("no drift") };
    let told = ["trigger", "intent", "action"].map(|key| drift[key].as_str().unwrap());
    assert_eq!(told, ["done without the deliverable", task, text]);
    assert_eq!(written.told("recalled").len(), 1);
    let at = written.turns.iter().position(|one| one == turn).unwrap();
    let after = written.said(&written.turns[at + 1]);
    assert!(after.contains(&format!("found again for: {task}]")), "{after}");
}

/// One that only seems to forget is left alone where the model says so. What it is there for is what
/// it was told before it was told to go on.
#[test]
fn an_agent_that_does_not_forget_by_the_models_word_is_left_alone() {
    let task = "Now write it. All errors must name the line of the file.";
    let text = "Shall the error name the line as `line 3:` or as `:3:`?";
    let (written, answer) = drifts("tiered-goes-on", 2400, &says(29, "Go on.", text), [task, text]);
    assert!(answer.starts_with("no"), "{answer}");
    assert!(written.told("drift-detected").is_empty() && written.told("recalled").is_empty());
}
