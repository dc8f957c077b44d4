//! Laws of system prompts that are put together: they hold for an epoch, say what the host says,
//! and are no part of the history (RULES 33, 10).

use epitome_kernel::{HookResult, NextPolicies, Policy};
use epitome_types::hook::{Budgets, BudgetsJob, Render, RenderJob, Section, Wording};
use epitome_types::{Actor, GoalAction, GoalChange, Priority, RecordedAction, SessionAction};
use serde_json::{Value, json};

use super::*;

/// Puts a system prompt together of all that there is, behind a word of its own.
struct Parts(&'static str);

impl Policy for Parts {
    fn name(&self) -> &str {
        "parts"
    }

    fn budgets(&self, _: &BudgetsJob, _: &NextPolicies<'_>) -> HookResult<Budgets> {
        Ok(Some(Budgets { system: Some(8), ..Budgets::default() }))
    }

    fn render(&self, job: &RenderJob, _: &NextPolicies<'_>) -> HookResult<Render> {
        let Some(makings) = job.system.clone().filter(|_| job.part == Wording::System) else {
            return Ok(None);
        };
        let part = |name: &str, text: String| Section { name: name.to_owned(), text };
        let parts = vec![
            part("core", self.0.to_owned()),
            part("goal", makings.goal),
            part("tools", makings.tools.join(" ")),
            part("instructions", makings.instructions.unwrap_or_default()),
        ];
        Ok(Some(Render { parts: Some(parts), ..Render::default() }))
    }
}

fn open(journal: &Arc<MemoryStore>, limit: u64, begin: &str) -> Session {
    let mut profile = Profile::default();
    profile.options.cache.read = Some(0.0);
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.window(WindowSetting::Limit(limit)).clock(|| AT.to_owned());
    let mut live = builder.policy(Parts("Help.")).session(journal.clone(), Some("a"));
    live.begin(begin.as_bytes()).unwrap();
    live
}

const OPENAI: &str = r#"{"tools":[{"type":"function","function":{"name":"read"}}],"messages":[]}"#;

fn push(live: &mut Session, messages: &[String]) {
    messages.iter().for_each(|message| live.push(message.as_bytes()).unwrap());
}

fn set_goal(journal: &MemoryStore, text: &str) {
    set_goal_by(journal, text, Actor::User);
}

fn set_goal_by(journal: &MemoryStore, text: &str, by: Actor) {
    let change = GoalChange::Set { text: text.to_owned(), priority: Priority::High };
    let act = SessionAction::Goal(GoalAction::new(None, change));
    let acted = RecordedAction { act, by, at: AT.to_owned() };
    journal.act(&epitome_config::scope::scope("default"), "a", &[acted]).unwrap();
}

/// The system prompt of a prompt, and what its messages say.
fn sent(prompt: &Prompt) -> (String, String) {
    let sent: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let texts = sent["messages"].as_array().unwrap().iter();
    let mut texts: Vec<_> = texts.map(|one| one["content"].as_str().unwrap_or_default()).collect();
    let system = match sent["system"].as_str() {
        Some(system) => system.to_owned(),
        None => texts.remove(0).to_owned(),
    };
    (system, texts.join("\n"))
}

fn warnings(prompt: &Prompt) -> Vec<String> {
    let warning = |event: &Event| match &event.what {
        EventKind::PolicyWarning { policy, text, .. } => Some(format!("{policy}: {text}")),
        _ => None,
    };
    prompt.events.iter().filter_map(warning).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_stays_between_epochs_and_after_a_restart(
        steps in steps(20), limit in 300u64..600, restarts in vec(any::<bool>(), 20),
        goals in vec(prop::option::weighted(0.2, words(1..6)), 20),
    ) {
        let journal = Arc::new(MemoryStore::new());
        let mut live = open(&journal, limit, OPENAI);
        let messages = history(&steps);
        let (mut from, mut last) = (0, None::<Prompt>);
        for ((end, restart), goal) in requests(&messages).into_iter().zip(restarts).zip(goals) {
            push(&mut live, &messages[from..end]);
            from = end;
            if let Some(goal) = goal {
                set_goal(&journal, &goal);
            }
            if restart {
                live = open(&journal, limit, OPENAI);
            }
            let Ok(prompt) = now(live.prompt()) else { break };
            prop_assert_eq!(prompt.by.map(|by| by.sum()), prompt.tokens);
            prop_assert!(prompt.tokens[1] <= limit);
            prop_assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
            let (system, _) = sent(&prompt);
            prop_assert!(system.starts_with("Help."), "{system}");
            prop_assert!(system.ends_with("read\n\nBe brief."), "{system}");
            if let Some(last) = last.filter(|_| !has_epoch(&prompt)) {
                prop_assert!(prompt.bytes.starts_with(super::open(&last.bytes)));
            }
            prop_assert_eq!(now(open(&journal, limit, OPENAI).prompt()).unwrap().bytes, prompt.bytes.clone());
            last = Some(prompt);
        }
    }
}

#[test]
fn a_goal_is_a_note_until_the_next_epoch() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = open(&journal, 1000, OPENAI);
    let messages = history(&[Step::Say("word ".repeat(150)), Step::Say("more ".repeat(150))]);
    push(&mut live, &messages[..2]);
    set_goal(&journal, "Mend it all");
    let prompt = now(live.prompt()).unwrap();
    let (system, rest) = sent(&prompt);
    // What the system prompt says from the start is no news.
    assert!(system.contains("Mend it all") && !rest.contains("Mend it all"), "{rest}");
    push(&mut live, &messages[2..4]);
    set_goal(&journal, "Ship it now");
    let next = now(live.prompt()).unwrap();
    let (same, rest) = sent(&next);
    assert_eq!(same, system);
    assert!(rest.contains("<epitome-note>") && rest.contains("Ship it now"), "{rest}");
    push(&mut live, &messages[4..]);
    live.request_compression();
    let next = now(live.prompt()).unwrap();
    assert!(has_epoch(&next), "{:?}", next.events);
    let (anew, rest) = sent(&next);
    assert!(anew.contains("Ship it now"), "{anew}");
    // The state of the work does not say it again.
    let state = rest.split("[State of the work]").nth(1).unwrap_or_default();
    assert!(
        !state.split("<epitome-note>").next().unwrap_or_default().contains("Ship it"),
        "{rest}"
    );
    // Taken back, what was said before it is said again.
    let all =
        CompactionUndo::of(journal.clone(), &epitome_config::scope::scope("default"), "a").unwrap();
    all.undo(AT).unwrap();
    assert_eq!(sent(&now(live.prompt()).unwrap()).0, system);
}

#[test]
fn what_the_host_says_stays_in_it() {
    let journal = Arc::new(MemoryStore::new());
    let begin = r#"{"max_tokens":9,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[]}"#;
    let mut live = open(&journal, 500, begin);
    live.push(json!({"role": "user", "content": "Hello."}).to_string().as_bytes()).unwrap();
    let prompt = now(live.prompt()).unwrap();
    let sent: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let expected = json!([{"type": "text", "text": "Help.\n\nBe brief.", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(sent["system"], expected);
    assert_eq!(validate(Format::Anthropic, &prompt.bytes), Ok(()));
    // The history says what was said.
    let info = live.info().unwrap();
    assert_eq!(info.figures.messages, 2);
    // Other words of the host make another one.
    let mut live = open(&journal, 500, &begin.replace("Be brief.", "Be exact."));
    let prompt = now(live.prompt()).unwrap();
    let sent: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    assert_eq!(sent["system"][0]["text"], "Help.\n\nBe exact.");
}

#[test]
fn a_part_beyond_the_bound_is_named_once() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = open(&journal, 500, OPENAI);
    push(&mut live, &history(&[])[..2]);
    set_goal(&journal, "one two three four five six seven");
    let prompt = now(live.prompt()).unwrap();
    let told = warnings(&prompt);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("parts: the system prompt takes "), "{told:?}");
    assert!(told[0].contains("of 8; the part `goal`"), "{told:?}");
    assert_eq!(warnings(&now(live.prompt()).unwrap()), [""; 0]);
}

#[test]
fn what_was_erased_is_no_longer_in_it() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = open(&journal, 500, OPENAI);
    let said = "Tell hunter2 to them";
    let ask = json!({"role": "user", "content": format!("[GOAL] {said}")}).to_string();
    push(&mut live, &[history(&[])[0].clone(), ask]);
    set_goal_by(&journal, said, Actor::Model);
    let (system, _) = sent(&now(live.prompt()).unwrap());
    assert!(system.contains(said), "{system}");
    let scope = epitome_config::scope::scope("default");
    let key = journal.history(&scope, "a", live.info().unwrap().head, 1, 1).unwrap()[0].key;
    journal.erase(&scope, key).unwrap();
    let (anew, rest) = sent(&now(open(&journal, 500, OPENAI).prompt()).unwrap());
    assert!(!anew.contains("hunter2") && !rest.contains("hunter2"), "{anew}\n{rest}");
    assert!(anew.starts_with("Help."), "{anew}");
}

#[test]
fn a_whole_request_is_left_alone() {
    let journal = Arc::new(MemoryStore::new());
    let builder = Compressor::builder().counter(FixedCounter::Words).policy(Parts("Help."));
    let mut live = builder.window(WindowSetting::Limit(500)).session(journal, Some("a"));
    let request = body(&history(&[]));
    assert_eq!(&*now(live.prompt_for(&request)).unwrap().bytes, &request[..]);
}
