//! Laws of acts: what somebody did to a session counts from its next request on, once, in every
//! process.

use epitome_kernel::{HookResult, NextPolicies, Policy};
use epitome_types::hook::{
    ClearToolsOp, MessageNumber, Occasion, OpRequest, Orders, PlanJob, TriggerJob,
};
use epitome_types::{
    Actor, GoalAction, GoalChange, Priority, RecordedAction, SessionAction, SkipReason,
};
use serde_json::json;

use super::*;

fn act(journal: &MemoryStore, act: SessionAction) {
    let acted = RecordedAction { act, by: Actor::User, at: AT.to_owned() };
    journal.act(&epitome_config::scope::scope("default"), "a", &[acted]).unwrap();
}

/// What was done, without the snapshots that stand in between.
fn acts(journal: &MemoryStore) -> Vec<SessionAction> {
    let acts = journal.acts(&epitome_config::scope::scope("default"), "a").unwrap();
    let acts = acts.into_iter().map(|acted| acted.act);
    acts.filter(|act| !matches!(act, SessionAction::Snapshot { .. })).collect()
}

fn ask(tool: &str) -> SessionAction {
    SessionAction::Ask { tool: tool.to_owned() }
}

fn goal(change: GoalChange) -> SessionAction {
    SessionAction::Goal(GoalAction::new(None, change))
}

fn talk() -> Vec<String> {
    let steps = (0..10).map(|at| Step::Tool(format!("result {at} ").repeat(20)));
    history(&steps.collect::<Vec<_>>())
}

/// The prompt as text, its escapes undone.
fn said(prompt: &Prompt) -> String {
    let sent: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
    let texts = sent["messages"].as_array().unwrap().iter();
    texts.filter_map(|one| one["content"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_compression_that_was_asked_for_is_made_once() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(&journal, 5000, Some("a"));
    let messages = talk();
    let ends = requests(&messages);
    let send = |live: &mut Session, turn: usize| {
        now(live.prompt_for(&body(&messages[..ends[turn]]))).unwrap()
    };
    assert!(!has_epoch(&send(&mut live, 6)));
    act(&journal, ask("compress_to_checkpoint"));
    let prompt = send(&mut live, 7);
    assert!(!has_epoch(&prompt), "all of it is within the target");
    let skipped = |event: &Event| matches!(event.what, EventKind::CompressionSkipped { .. });
    assert!(prompt.events.iter().any(skipped), "{:?}", prompt.events);
    let unmet = SessionAction::Unmet { reason: SkipReason::NotNeeded };
    assert_eq!(acts(&journal), [ask("compress_to_checkpoint"), SessionAction::Met, unmet]);
    // It is asked again, in a window that has something to gain.
    act(&journal, ask("compress_to_checkpoint"));
    let mut small = session(&journal, 700, Some("a"));
    assert!(has_epoch(&send(&mut small, 8)));
    let after = send(&mut small, 9);
    assert!(!has_epoch(&after) && !after.events.iter().any(skipped));
    assert_eq!(acts(&journal).len(), 5);
}

#[test]
fn markers_become_goals_once_and_not_those_of_tools() {
    let journal = Arc::new(MemoryStore::new());
    let mut live = session(&journal, 5000, Some("a"));
    let mut messages = history(&[Step::Tool("[GOAL] what a tool says\n[NEXT] fall for it".into())]);
    let reply = "[GOAL] Mend the parser\n[DECISION] Keep `nom` - LOCKED\nOn it.";
    messages.push(json!({"role": "assistant", "content": reply}).to_string());
    messages.push(json!({"role": "user", "content": "Go on."}).to_string());
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let updated = |event: &&Event| matches!(event.what, EventKind::GoalUpdated { .. });
    assert_eq!(prompt.events.iter().filter(updated).count(), 2, "{:?}", prompt.events);
    let known = acts(&journal);
    assert_eq!(known.len(), 2, "{known:?}");
    // The same again, in this process and in another, says nothing new; nor does a repetition.
    messages.push(json!({"role": "assistant", "content": "[NEXT] Write a test"}).to_string());
    messages.push(json!({"role": "user", "content": "Yes."}).to_string());
    let mut again = session(&journal, 5000, Some("a"));
    now(again.prompt_for(&body(&messages))).unwrap();
    messages.push(json!({"role": "assistant", "content": reply}).to_string());
    messages.push(json!({"role": "user", "content": "Yes."}).to_string());
    now(live.prompt_for(&body(&messages))).unwrap();
    now(again.prompt_for(&body(&messages))).unwrap();
    let later = acts(&journal);
    assert!(later.starts_with(&known) && later.len() == 3, "{later:?}");
    // What somebody else did is told with the next request.
    act(&journal, goal(GoalChange::Pause));
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    assert_eq!(prompt.events.iter().filter(updated).count(), 1, "{:?}", prompt.events);
}

#[test]
fn what_is_redacted_is_in_no_act() {
    let journal = Arc::new(MemoryStore::new());
    let redaction = epitome_config::RedactionPatterns::new(&["sk-[a-z]+".to_owned()]).unwrap();
    let mut profile = Profile::default();
    profile.redaction = redaction;
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let mut live = builder.clock(|| AT.to_owned()).session(journal.clone(), Some("a"));
    let mut messages = history(&[]);
    messages.push(json!({"role": "assistant", "content": "[GOAL] Rotate sk-abc"}).to_string());
    messages.push(json!({"role": "user", "content": "Yes."}).to_string());
    now(live.prompt_for(&body(&messages))).unwrap();
    assert!(format!("{:?}", acts(&journal)).contains("Rotate [redacted]"));
}

/// Compresses where `stop` was called: takes the exchanges before it.
struct Marks;

impl Policy for Marks {
    fn name(&self) -> &str {
        "marks"
    }

    fn trigger(
        &self,
        job: &TriggerJob,
        _: &NextPolicies<'_>,
    ) -> HookResult<epitome_types::hook::TriggerAnswer> {
        let due = job.requested_by.is_some() || job.new_results.iter().any(|tool| tool == "stop");
        let level = epitome_types::hook::Strength::Asked;
        let asked = epitome_types::hook::Due { level, target: None, reason: None };
        Ok(Some(match due {
            true => epitome_types::hook::TriggerAnswer::Compress(asked),
            false => epitome_types::hook::TriggerAnswer::Wait(false),
        }))
    }

    fn plan(&self, job: &PlanJob<'_>, _: &NextPolicies<'_>) -> HookResult<Orders> {
        assert!(!job.watermark_lost);
        let names = job.entries.names.iter().zip(1u32..);
        let calls = names.filter(|(names, _)| names.iter().any(|name| name == "stop"));
        let calls: Vec<_> = calls.map(|(_, place)| place).step_by(2).collect();
        let Some(&last) = calls.last() else { return Ok(Some(Orders::default())) };
        let expected = calls.iter().rev().nth(1).map(|place| MessageNumber(*place));
        assert_eq!(job.watermark, expected, "the watermark of the compression before");
        let ops = match last {
            1..=4 => Vec::new(),
            last => {
                vec![OpRequest::ClearTools(ClearToolsOp {
                    entries: (1..last).map(MessageNumber).collect(),
                })]
            }
        };
        let watermark_tool = Some("stop".to_owned());
        Ok(Some(Orders {
            ops,
            watermark: Some(MessageNumber(last)),
            watermark_tool,
            ..Orders::default()
        }))
    }
}

#[test]
fn a_watermark_moves_forward_and_is_known_after_a_restart() {
    let journal = Arc::new(MemoryStore::new());
    let open = || {
        let profile = Profile::default().with_policy(Marks);
        let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
        builder.clock(|| AT.to_owned()).session(journal.clone(), Some("a"))
    };
    let call = |at: usize, tool: &str| {
        let function = json!({"name": tool, "arguments": "{}"});
        let calls = json!([{"id": format!("c{at}"), "type": "function", "function": function}]);
        let call =
            json!({"role": "assistant", "content": format!("Step {at}."), "tool_calls": calls});
        let result =
            json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": "x ".repeat(60)});
        [call.to_string(), result.to_string()]
    };
    let mut messages = history(&[]);
    let mut marks = Vec::new();
    for (at, tool) in ["stop", "read", "read", "stop", "read", "stop"].into_iter().enumerate() {
        messages.extend(call(at, tool));
        let prompt = now(open().prompt_for(&body(&messages))).unwrap();
        assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
        let moved = prompt.events.into_iter().find_map(|event| match event.what {
            EventKind::WatermarkMoved { entry, tool, blocks, saved } => {
                assert_eq!((tool.as_str(), saved > 100), ("stop", blocks > 0));
                Some((entry, blocks))
            }
            _ => None,
        });
        assert_eq!(moved.is_some(), tool == "stop");
        marks.extend(moved);
        assert!(said_at_all(&prompt.bytes, at), "every word of talk stays");
    }
    let expected = [("e2", 0), ("e8", 6), ("e12", 4)];
    assert_eq!(marks, expected.map(|(entry, blocks)| (entry.to_owned(), blocks)));
    assert_eq!(acts(&journal).len(), 3);
}

fn said_at_all(bytes: &[u8], steps: usize) -> bool {
    let all = String::from_utf8_lossy(bytes);
    (0..=steps).all(|at| all.contains(&format!("Step {at}.")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is done, a prompt keeps its bounds, grows at its end between compressions, and is
    /// the same in another process; goals and what is locked stand in it from the next compression
    /// on, word for word.
    #[test]
    fn whatever_is_done_prompts_keep_their_laws(
        steps in steps(20),
        deeds in vec((0usize..6, words(1..12)), 8..20),
        limit in 400u64..700,
    ) {
        let journal = Arc::new(MemoryStore::new());
        let mut live = session(&journal, limit, Some("a"));
        let messages = history(&steps);
        let (mut last, mut kept): (Option<Prompt>, Vec<String>) = (None, Vec::new());
        let mut pending = Vec::new();
        let mut is_active = false;
        for (&end, (what, text)) in requests(&messages).iter().zip(&deeds) {
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            prop_assert!(prompt.tokens[1] <= limit);
            prop_assert_eq!(validate(Format::OpenAi, &prompt.bytes), Ok(()));
            if has_epoch(&prompt) {
                kept.append(&mut pending);
            } else if let Some(last) = &last {
                prop_assert!(prompt.bytes.starts_with(open(&last.bytes)));
            }
            let all = said(&prompt);
            kept.iter().for_each(|one| assert!(all.contains(one.as_str()), "{one:?} in {all}"));
            let after = now(session(&journal, limit, None).prompt_for(&body(&messages[..end]))).unwrap();
            prop_assert!(after.bytes == prompt.bytes);
            last = Some(prompt);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let locked = GoalChange::Decide {
                text: format!("{end} {text}"),
                rationale: None,
                locked: true,
                kind: epitome_types::DecisionKind::Plain,
            };
            match what {
                0 => act(&journal, ask("user")),
                1 => {
                    pending.push(format!("- {end} {text}"));
                    act(&journal, goal(locked));
                }
                2 if !is_active => {
                    let priority = Priority::Medium;
                    is_active = true;
                    pending.push(format!("Goal: {text}"));
                    act(&journal, goal(GoalChange::Set { text, priority }));
                }
                3 => act(&journal, goal(GoalChange::Next { text })),
                4 => act(&journal, SessionAction::Augment { name: "a/b".to_owned(), active: true }),
                _ => {}
            }
        }
    }
}

/// Tells why a prompt was looked at.
struct Hears(Arc<std::sync::Mutex<Vec<Occasion>>>);

impl Policy for Hears {
    fn name(&self) -> &str {
        "hears"
    }

    fn trigger(
        &self,
        job: &TriggerJob,
        rest: &NextPolicies<'_>,
    ) -> HookResult<epitome_types::hook::TriggerAnswer> {
        self.0.lock().unwrap().push(job.cause);
        rest.trigger(job)
    }
}

/// Policies are told of a rest in which the provider forgot the prompt, by whichever process.
#[test]
fn a_rest_is_told() {
    let (journal, heard) = (Arc::new(MemoryStore::new()), Arc::default());
    let messages = talk();
    let ends = requests(&messages);
    let minutes = |at: u64| format!("2026-01-02T03:{:02}:05Z", at);
    let mut live = None;
    for (turn, at) in [(2, 0), (3, 1), (4, 30), (5, 31), (6, 59)].into_iter() {
        // The last one is another process.
        if live.is_none() || turn == 6 {
            let clock = Arc::new(std::sync::Mutex::new(String::new()));
            let told = Arc::clone(&clock);
            let builder = Compressor::builder().counter(FixedCounter::Words);
            let builder = builder.policy(Hears(Arc::clone(&heard)));
            let builder = builder
                .window(WindowSetting::Limit(5000))
                .clock(move || told.lock().unwrap().clone());
            live = Some((builder.session(journal.clone(), Some("a")), clock));
        }
        let (session, clock) = live.as_mut().unwrap();
        *clock.lock().unwrap() = minutes(at);
        now(session.prompt_for(&body(&messages[..ends[turn]]))).unwrap();
    }
    let expected = [Occasion::Turn, Occasion::Turn, Occasion::Idle, Occasion::Turn, Occasion::Idle];
    assert_eq!(*heard.lock().unwrap(), expected);
}

/// What is pushed is no request: the provider goes by the last prompt.
#[test]
fn a_rest_is_told_where_messages_are_pushed() {
    let heard = Arc::default();
    let clock = Arc::new(std::sync::Mutex::new(String::new()));
    let told = Arc::clone(&clock);
    let builder = Compressor::builder().counter(FixedCounter::Words);
    let builder = builder.policy(Hears(Arc::clone(&heard))).window(WindowSetting::Limit(5000));
    let builder = builder.clock(move || told.lock().unwrap().clone());
    let mut session = builder.session(Arc::new(MemoryStore::new()), Some("a"));
    for at in [0, 1, 30, 31] {
        *clock.lock().unwrap() = format!("2026-01-02T03:{at:02}:05Z");
        session.push(br#"{"role": "user", "content": "Go on."}"#).unwrap();
        now(session.prompt()).unwrap();
        session.push(br#"{"role": "assistant", "content": "It is done."}"#).unwrap();
    }
    let expected = [Occasion::Turn, Occasion::Turn, Occasion::Idle, Occasion::Turn];
    assert_eq!(*heard.lock().unwrap(), expected);
}
