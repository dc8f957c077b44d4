//! Goals steer the summaries of every profile (RULES 56): what a model is asked says the goal, how
//! much it matters, its steps by state, and what was decided for good.

use std::path::Path;
use std::sync::Arc;

use epitome::types::{Actor, DecisionKind, EventKind, GoalChange, MilestoneState, Priority};
use epitome::{
    Compressor, Config, ConfigSources, LOCAL, MemoryStore, Profile, SessionControls, WindowSetting,
};
use epitome_testkit::{FixedCounter, ScriptedModel, now};
use serde_json::json;

const GOAL: &str = "Ship the parser";
const LOCKED: &str = "Spans stay byte ranges";

/// What a model is asked in a conversation with a goal, of which every question must say this.
fn asked(profile: &str, with_goal: bool) -> Vec<String> {
    let (journal, model) = (Arc::new(MemoryStore::new()), ScriptedModel::saying(&["It went on."]));
    let profile = Profile::shipped(profile).unwrap();
    let mut session = Compressor::builder()
        .profile(profile.clone())
        .counter(FixedCounter::Words)
        .model(model.clone())
        .window(WindowSetting::Size(8192))
        .clock(|| "2026-01-02T03:04:05Z".to_owned())
        .session(journal.clone(), Some("work"));
    let mut messages = vec![json!({ "role": "user", "content": "Let us begin." })];
    let mut compressions = 0;
    for turn in 0..60 {
        let request = json!({ "model": "llama3:70b", "messages": messages }).to_string();
        let prompt = now(session.prompt_for(request.as_bytes())).unwrap();
        let is_one =
            |event: &&epitome::types::Event| matches!(event.what, EventKind::Compressed { .. });
        compressions += prompt.events.iter().filter(is_one).count();
        if compressions == 2 {
            break;
        }
        if turn == 0 && with_goal {
            let controls =
                SessionControls::new(journal.clone(), profile.clone(), LOCAL, Actor::User);
            let milestone =
                |text: &str, state| GoalChange::Milestone { text: text.to_owned(), state };
            for change in [
                GoalChange::Set { text: GOAL.to_owned(), priority: Priority::Medium },
                milestone("the lexer", MilestoneState::Completed),
                milestone("the grammar", MilestoneState::InProgress),
                GoalChange::Decide {
                    text: LOCKED.to_owned(),
                    rationale: None,
                    locked: true,
                    kind: DecisionKind::Plain,
                },
            ] {
                controls.change_goals(Some("work"), vec![change.into()]).unwrap();
            }
        }
        let words = |of: &str, count: usize| {
            let word = |at: usize| format!("{of}{turn}x{at}");
            (0..count).map(word).collect::<Vec<_>>().join(" ")
        };
        messages.push(json!({ "role": "assistant", "content": words("said", 440) }));
        messages.push(json!({ "role": "user", "content": words("asked", 60) }));
    }
    let whole = |one: &epitome::ModelQuestion| {
        format!("{}\n\n{}", one.system.as_deref().unwrap_or_default(), one.user)
    };
    model.asked().iter().map(whole).collect()
}

#[test]
fn every_question_of_every_profile_says_what_for() {
    for profile in ["default", "ollm", "staged", "early", "tiered", "watermark"] {
        let questions = asked(profile, true);
        assert!(!questions.is_empty(), "{profile} asked nothing");
        for question in &questions {
            let expected = [
                "medium priority, active",
                "finished steps",
                "Shorten hard",
                "Goal: Ship the parser",
                "Completed:\n- the lexer",
                "In progress:\n- the grammar",
                "Decided, locked:\n- Spans stay byte ranges",
            ];
            for words in expected {
                assert_eq!(question.matches(words).count(), 1, "{profile}: {words}\n{question}");
            }
            assert!(!question.contains("{goals}"), "{profile}: {question}");
        }
        let without = asked(profile, false);
        let steers = |question: &String| question.contains("works towards a goal");
        assert!(!without.is_empty() && !without.iter().any(steers), "{profile}");
        assert!(!without.iter().any(|question| question.contains("{goals}")), "{profile}");
    }
}

/// The system prompt of a conversation that is given message by message.
fn system(profile: Profile, own: Option<&str>) -> String {
    let mut session = Compressor::builder()
        .profile(profile)
        .counter(FixedCounter::Words)
        .window(WindowSetting::Size(8192))
        .session(Arc::new(MemoryStore::new()), Some("work"));
    let own = own.map(|own| json!({ "role": "system", "content": own }));
    let begin = json!({ "model": "llama3:70b", "messages": Vec::from_iter(own) });
    session.begin(begin.to_string().as_bytes()).unwrap();
    session.push(json!({ "role": "user", "content": "Hello." }).to_string().as_bytes()).unwrap();
    let prompt = now(session.prompt()).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let first = &body["messages"][0];
    match first["role"].as_str() {
        Some("system") => first["content"].as_str().unwrap().to_owned(),
        _ => String::new(),
    }
}

/// Wherever Epitome makes the prompt a model is told of the markers, in every profile.
#[test]
fn markers_are_taught_where_the_prompt_is_ours() {
    for name in ["default", "ollm", "staged", "early", "tiered", "watermark"] {
        let shipped = || Profile::shipped(name).unwrap();
        let taught = system(shipped(), Some("Answer in English."));
        assert_eq!(taught.matches("[GOAL] what is to be reached").count(), 1, "{name}: {taught}");
        assert!(taught.contains("Answer in English."), "{name}: {taught}");
        assert!(system(shipped(), None).contains("[DECISION] what was decided - LOCKED"), "{name}");

        let off = format!(
            "[profile.quiet]\ninherits = \"{name}\"\noptions.default.goals.teach = false\n{}",
            if name == "staged" { "options.staged.goals_teach = false" } else { "" }
        );
        let sources = ConfigSources::default().text(Path::new("epitome.toml"), &off);
        let quiet = Config::load(sources).unwrap().profile("quiet").unwrap();
        let told = system(quiet, Some("Answer in English."));
        assert!(!told.contains("[GOAL]") && told.contains("Answer in English."), "{name}: {told}");
    }
}

/// A goal can be set before the first message: it stands in the first prompt and is recorded with it.
#[test]
fn a_goal_may_be_set_before_the_first_message() {
    for name in ["default", "ollm", "staged", "early", "tiered", "watermark"] {
        let journal = Arc::new(MemoryStore::new());
        let open = || {
            Compressor::builder()
                .profile(Profile::shipped(name).unwrap())
                .counter(FixedCounter::Words)
                .window(WindowSetting::Size(8192))
                .session(journal.clone(), Some("work"))
        };
        let mut session = open();
        let set = |text: &str| GoalChange::Set { text: text.to_owned(), priority: Priority::High };
        let complete = session.change_goals(GoalChange::Complete.into());
        assert!(complete.is_err(), "{name}: no goal is there to be completed");
        session.change_goals(set(GOAL).into()).unwrap();
        assert_eq!(session.goals_ahead().goals.len(), 1, "{name}");
        session.begin(json!({ "model": "m", "messages": [] }).to_string().as_bytes()).unwrap();
        session.push(json!({ "role": "user", "content": "Hi." }).to_string().as_bytes()).unwrap();
        let text = String::from_utf8(now(session.prompt()).unwrap().bytes.to_vec()).unwrap();
        assert_eq!(
            text.matches("Goal (high priority): Ship the parser").count(),
            1,
            "{name}: {text}"
        );
        assert!(session.goals_ahead().goals.is_empty(), "{name}");
        // Another process knows it.
        let again = String::from_utf8(now(open().prompt()).unwrap().bytes.to_vec()).unwrap();
        assert!(again.contains(GOAL), "{name}: {again}");
    }
}
