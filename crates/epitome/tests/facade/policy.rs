//! Policies in Rust, asked for every decision of a live conversation.

use std::sync::{Arc, Mutex};

use epitome::types::hook::{
    Budgets, Due, Found, FoundKind, Noted, Observe, Passed, Render, Status, Strength,
    ToolResultAnswer, TriggerAnswer, Way, Wording,
};
use epitome::types::{CompactionCause, EventKind, SkipReason};
use epitome::{
    Answer, HookInterrupt, Job, MemoryStore, ModelQuestion, NextPolicies, OriginalStore,
    PolicyError, WindowSetting, scope,
};
use epitome_testkit::ScriptedModel;

use crate::talk::{AT, By, Talk, builder, errors, is_valid, names, text, texts, with};

/// What was written down while policies were asked.
type Notes<T> = Arc<Mutex<Vec<T>>>;

fn taken<T>(notes: &Notes<T>) -> Vec<T> {
    std::mem::take(&mut *notes.lock().unwrap())
}

#[test]
fn budgets_of_a_policy_bound_the_prompt_and_never_exceed_the_limit() {
    let check = |said: Budgets, expected: [u64; 3], sent: u64| {
        let asked: Notes<Budgets> = Notes::default();
        let notes = asked.clone();
        let builder = with(1000, move |job, _| {
            if let Job::Trigger(job) = job {
                notes.lock().unwrap().push(job.budgets.clone());
            }
            Ok(matches!(job, Job::Budgets(_)).then(|| Answer::Budgets(said.clone())))
        });
        let mut talk = Talk::new(builder);
        talk.chat(30);
        let prompt = talk.prompt();
        let budgets = taken(&asked).remove(0);
        assert_eq!([budgets.soft, budgets.hard, budgets.target], expected.map(Some));
        assert!(prompt.tokens[0] > 1000 && prompt.tokens[1] <= sent, "{:?}", prompt.tokens);
        assert!(is_valid(&prompt));
    };
    let said = Budgets { soft: Some(200), hard: Some(300), target: Some(150), ..<_>::default() };
    check(said, [200, 300, 150], 150);
    let said = Budgets { soft: Some(4000), hard: Some(5000), target: Some(9000), ..<_>::default() };
    check(said, [1000, 1000, 1000], 1000);
    // What is left open is the built-in policy's.
    check(Budgets { class: Some(2), ..<_>::default() }, [800, 875, 500], 500);
}

#[test]
fn a_trigger_says_when_and_why_not() {
    let passes = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let passed = Passed { skip: SkipReason::Disabled };
        Ok(matches!(job, Job::Trigger(_)).then_some(Answer::Trigger(TriggerAnswer::Pass(passed))))
    };
    let mut talk = Talk::new(with(1000, passes));
    talk.chat(16);
    let prompt = talk.prompt();
    assert_eq!((prompt.tokens[0], prompt.epoch), (prompt.tokens[1], None));
    assert!(prompt.tokens[0] > 800, "{:?}", prompt.tokens);
    let skipped = EventKind::CompressionSkipped { reason: SkipReason::Disabled };
    assert!(prompt.events.iter().any(|event| event.what == skipped));
    // The window forces it whatever anybody says.
    talk.chat(10);
    let prompt = talk.prompt();
    let forced = prompt.events.iter().any(
        |event| matches!(&event.what, EventKind::Compressed { cause, .. } if *cause == CompactionCause::Hard),
    );
    assert!(forced && prompt.tokens[1] <= 1000);

    let now = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let due = Due { level: Strength::Soft, target: Some(120), reason: None };
        Ok(matches!(job, Job::Trigger(_)).then_some(Answer::Trigger(TriggerAnswer::Compress(due))))
    };
    let mut talk = Talk::new(with(100_000, now));
    talk.chat(10);
    let prompt = talk.prompt();
    assert!(prompt.tokens[0] > 400 && prompt.tokens[1] <= 120, "{:?}", prompt.tokens);
}

#[test]
fn what_arrives_is_made_smaller_as_a_policy_says() {
    let journal = Arc::new(MemoryStore::new());
    let builder = with(9000, |job, _| {
        let Job::ToolResult(job) = job else { return Ok(None) };
        let (how, with, max_tokens) = match job.text.split_whitespace().next().unwrap_or_default() {
            "mask" => (Way::Mask, Some("It is masked."), None),
            "digest" => (Way::Digest, Some("It says digest."), None),
            "offload" => (Way::Offload, None, Some(40)),
            "keep" => (Way::Keep, None, None),
            _ => return Ok(None),
        };
        Ok(Some(Answer::ToolResult(ToolResultAnswer {
            how,
            text: with.map(str::to_owned),
            max_tokens,
        })))
    });
    let mut talk = Talk::of(builder, &journal);
    talk.say("user", "Read them.");
    for first in ["mask", "digest", "offload", "keep"] {
        let lines: Vec<_> = (0..300).map(|line| format!("{first} line {line} of it")).collect();
        talk.read(&lines.join("\n"));
    }
    let prompt = talk.prompt();
    assert_eq!(
        names(&prompt.events),
        ["tool-result-digested", "tool-result-digested", "tool-result-offloaded"]
    );
    let said = texts(&prompt);
    assert!(said[2] == "It is masked." && said[4].starts_with("It says digest."));
    assert!(said[6].contains("offload line 0") && !said[6].contains("offload line 150"));
    assert_eq!(said[8].lines().count(), 300);
    // The originals are kept, under the ids that stand there; a mask names none.
    let ids = [&said[4], &said[6]].map(|one| {
        let id = one.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 8);
        id.unwrap_or_else(|| panic!("{one}")).to_owned()
    });
    for (id, first) in ids.iter().zip(["digest", "offload"]) {
        let original = journal.original(&scope("default"), id).unwrap();
        assert!(original.text.starts_with(&format!("{first} line 0 of it\n{first} line 1")));
    }
    // It is decided once.
    talk.say("assistant", "Read.");
    talk.say("user", "On.");
    let next = talk.prompt();
    assert_eq!(texts(&next)[..9], said[..9]);
    assert!(next.events.is_empty());
}

/// What matters of a large result is known when it leaves, not when it comes.
#[test]
fn what_was_made_smaller_is_summed_up_as_it_was_said_unless_it_was_masked() {
    let builder = with(9000, |job, _| {
        Ok(Some(match job {
            Job::ToolResult(job) if job.text.starts_with("secret") => {
                let with = Some("It is masked.".to_owned());
                Answer::ToolResult(ToolResultAnswer {
                    how: Way::Mask,
                    text: with,
                    max_tokens: None,
                })
            }
            Job::ToolResult(_) => Answer::ToolResult(ToolResultAnswer {
                how: Way::Offload,
                text: None,
                max_tokens: Some(40),
            }),
            Job::Trigger(job) if job.common.messages > 10 => {
                let due = Due { level: Strength::Soft, target: Some(260), reason: None };
                Answer::Trigger(TriggerAnswer::Compress(due))
            }
            _ => return Ok(None),
        }))
    });
    let mut talk = Talk::new(builder);
    talk.say("user", "Read them.");
    for first in ["secret", "public"] {
        let name = |line| if line == 150 { format!("sets {first}_limit") } else { "is".into() };
        let lines = (0..300).map(|line| format!("{first} line {line} {}", name(line)));
        talk.read(&lines.collect::<Vec<_>>().join("\n"));
    }
    let before = text(&talk.prompt());
    talk.say("assistant", "It must be secret_limit or public_limit.");
    talk.chat(6);
    let after = text(&talk.prompt());
    let said = ["public line 150 sets public_limit", "secret line 150 sets secret_limit"];
    assert_eq!(
        said.map(|it| [&before, &after].map(|prompt| prompt.contains(it))),
        [[false, true], [false, false]]
    );
}

#[test]
fn the_wording_is_a_policys() {
    let words = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let Job::Render(job) = job else { return Ok(None) };
        assert!(job.in_store);
        let text = match job.part {
            Wording::Checkpoint => "<{messages} messages, {id}>\n",
            _ => return Ok(None),
        };
        Ok(Some(Answer::Render(Render { text: Some(text.to_owned()), ..Render::default() })))
    };
    let mut talk = Talk::new(with(1000, words));
    talk.chat(30);
    let prompt = talk.prompt();
    let checkpoint = texts(&prompt).into_iter().find(|one| one.contains(" messages, ")).unwrap();
    let label = checkpoint.lines().next().unwrap();
    let (messages, id) = label.trim_matches(['<', '>']).split_once(" messages, ").unwrap();
    assert!(messages.parse::<u32>().unwrap() > 30 && id.len() == 8, "{label}");
}

/// A checkpoint begins with shorter words where the whole ones would take more of its room than their policy
/// lets them.
#[test]
fn in_little_room_a_checkpoint_begins_with_shorter_words() {
    for (share, begins) in [(0.0, "<{id}>"), (1.0, "<of so many messages: {id}>")] {
        let words = move |job: &Job<'_>, _: &NextPolicies<'_>| match job {
            Job::Render(job) if job.part == Wording::Checkpoint => {
                let said = ["<of so many messages: {id}>", "<{id}>"].map(|it| Some(it.to_owned()));
                let [text, short] = said;
                let share = Some(share);
                Ok(Some(Answer::Render(Render { text, short, share, ..Render::default() })))
            }
            _ => Ok(None),
        };
        let mut talk = Talk::new(with(1000, words));
        talk.chat(30);
        let prompt = talk.prompt();
        let (before, after) = begins.split_once("{id}").unwrap();
        let first = |said: &String| said.lines().next().unwrap_or_default().to_owned();
        let begun = |line: &String| line.starts_with(before) && line.ends_with(after);
        let labels: Vec<_> = texts(&prompt).iter().map(first).filter(begun).collect();
        let id = labels[0][before.len()..].trim_end_matches('>');
        assert!(labels.len() == 1 && id.len() == 8, "{share}: {labels:?}");
    }
}

#[test]
fn a_wording_that_leaves_no_room_is_not_taken() {
    for part in [Wording::Checkpoint, Wording::Reference, Wording::Placeholder, Wording::State] {
        let words = move |job: &Job<'_>, _: &NextPolicies<'_>| match job {
            Job::Render(job) if job.part == part => {
                let text = Some("many words ".repeat(2000));
                Ok(Some(Answer::Render(Render { text, ..Render::default() })))
            }
            _ => Ok(None),
        };
        let mut talk = Talk::new(with(1000, words));
        talk.say("user", "Mend the parser.");
        talk.prompt();
        talk.say("assistant", "[GOAL] Have the parser mended.");
        let mut told = Vec::new();
        for _ in 0..3 {
            talk.chat(20);
            let prompt = talk.prompt();
            told.extend(errors(&prompt));
            assert!(prompt.tokens[1] <= 1000, "{part:?}: {:?}", prompt.tokens);
            assert!(!text(&prompt).contains("many words"), "{part:?}");
        }
        let refused =
            |error: &String| error.contains("its text for `state` leaves the prompt no room");
        assert_eq!(told.iter().any(refused), part == Wording::State, "{part:?}: {told:?}");
    }
}

#[test]
fn what_a_policy_sees_in_a_message_is_told_and_pinned() {
    let watches = |job: &Job<'_>, _: &NextPolicies<'_>| match job {
        Job::Observe(job) if job.text.contains("Answer 3:") => {
            assert!(job.typed.as_deref().is_some_and(|text| text.starts_with("Question 3:")));
            let goal = (job.common.messages > 30).then_some("the fifth");
            assert_eq!(job.intent.as_deref(), goal.or(job.typed.as_deref()));
            let warn = Some("it wanders off".to_owned());
            Ok(Some(Answer::Observe(Observe { warn, pin: Some(true), ..Observe::default() })))
        }
        Job::Goals(job) if job.text.starts_with("Question 5:") => {
            let (kind, text) = (FoundKind::Goal, "the fifth".to_owned());
            Ok(Some(Answer::Goals(vec![Found { kind, text, state: None }])))
        }
        Job::Status(job) => {
            let text = Some(format!("{:.0} % of {}", job.used * 100.0, job.common.model.limit));
            Ok(Some(Answer::Status(Status { text, ..Status::default() })))
        }
        _ => Ok(None),
    };
    let mut talk = Talk::new(with(1000, watches));
    talk.chat(10);
    let prompt = talk.prompt();
    assert_eq!(names(&prompt.events), ["goal-updated", "policy-warning", "pinned"]);
    let (policy, warning) = ("team".into(), "it wanders off".into());
    let warning = EventKind::PolicyWarning { policy, text: warning, level: None };
    assert_eq!(prompt.events[1].what, warning);
    let pinned = EventKind::Pinned { entry: "e7".into(), policy: "team".into() };
    assert_eq!(prompt.events[2].what, pinned);
    let used = format!("{:.0} % of 1000", prompt.tokens[1] as f64 / 10.0);
    assert_eq!(prompt.status.and_then(|status| status.text), Some(used));
    talk.chat(30);
    let prompt = talk.prompt();
    let said = text(&prompt);
    assert!(said.contains(&"word3 ".repeat(20)) && !said.contains(&"word4 ".repeat(20)));
}

#[test]
fn every_policy_is_told_what_happened() {
    let told: Notes<String> = Notes::default();
    let hears = |name: &'static str| {
        let notes = told.clone();
        By(name, move |job: &Job<'_>, _: &NextPolicies<'_>| {
            let Job::Event(job) = job else { return Ok(None) };
            let event = serde_json::to_value(&job.event.what).unwrap();
            notes.lock().unwrap().push(format!("{name} {}", event["event"].as_str().unwrap()));
            Ok(Some(Answer::Event(Noted::default())))
        })
    };
    let mut talk = Talk::new(builder(1000).policy(hears("one")).policy(hears("other")));
    talk.chat(30);
    talk.prompt();
    let stage = "checkpoint-progress";
    let made = ["auto-snapshot-created", stage, "compressed", "auto-summary-created", stage];
    let expected: Vec<_> = [stage; 4]
        .iter()
        .chain(&made)
        .flat_map(|event| [format!("one {event}"), format!("other {event}")])
        .collect();
    assert_eq!(taken(&told), expected);
}

#[test]
fn what_a_policy_notes_survives_a_restart() {
    let journal = Arc::new(MemoryStore::new());
    let read: Notes<Option<String>> = Notes::default();
    let open = || {
        let notes = read.clone();
        let builder = with(1000, move |job, rest| {
            if let Job::Status(_) = job {
                let memo = rest.memo("team");
                let count: u32 = memo.as_deref().map_or(0, |memo| memo.parse().unwrap());
                notes.lock().unwrap().push(memo);
                rest.set_memo("team", (count + 1).to_string());
            }
            Ok(None)
        });
        Talk::of(builder, &journal)
    };
    let mut talk = open();
    talk.say("user", "Hello");
    talk.prompt();
    talk.prompt();
    drop(talk);
    open().prompt();
    assert_eq!(taken(&read), [None, Some("1".to_owned()), Some("2".to_owned())]);
}

/// The built-in policy answers in the place of one that fails, and each failure is told once.
#[test]
fn a_policy_that_fails_everywhere_changes_nothing() {
    let hooks: Notes<&'static str> = Notes::default();
    let notes = hooks.clone();
    let fails = move |job: &Job<'_>, _: &NextPolicies<'_>| {
        notes.lock().unwrap().push(job.hook());
        let (policy, what) = ("team".to_owned(), "line 3: no such function".to_owned());
        Err(HookInterrupt::Error(PolicyError { policy, hook: job.hook(), what }))
    };
    let talks = [with(1000, fails), builder(1000)].map(|builder| {
        let mut talk = Talk::new(builder);
        let mut prompts = Vec::new();
        for round in 0..6 {
            talk.chat(6);
            talk.read(&format!("result {round} ").repeat(40));
            talk.say("user", "Go on.");
            prompts.push(talk.prompt());
        }
        prompts
    });
    for (failing, plain) in talks[0].iter().zip(&talks[1]) {
        assert_eq!(text(failing), text(plain));
    }
    let mut asked = taken(&hooks);
    asked.sort_unstable();
    asked.dedup();
    let expected = [
        "budgets",
        "facts",
        "goals",
        "observe",
        "on_event",
        "plan",
        "render",
        "status",
        "tool_result",
        "trigger",
    ];
    assert_eq!(asked, expected);
    let mut told: Vec<_> = talks[0].iter().flat_map(errors).collect();
    told.sort_unstable();
    assert_eq!(told, expected.map(|hook| format!("team: `{hook}`: line 3: no such function")));
}

#[test]
fn several_engines_live_in_one_process() {
    let mut talks: Vec<_> = [300, 3000]
        .into_iter()
        .map(|hard| {
            Talk::new(with(5000, move |job, _| {
                assert_eq!(job.common().now, AT);
                let said = Budgets { soft: Some(hard), hard: Some(hard), ..<_>::default() };
                Ok(matches!(job, Job::Budgets(_)).then_some(Answer::Budgets(said)))
            }))
        })
        .collect();
    talks.iter_mut().for_each(|talk| talk.chat(20));
    let sent: Vec<_> = talks.iter_mut().map(|talk| talk.prompt().tokens).collect();
    assert!(sent[0][1] <= 300 && sent[1][0] == sent[1][1], "{sent:?}");
    let limited = builder(5000).window(WindowSetting::Limit(800));
    let mut third = Talk::new(limited);
    third.chat(20);
    assert!(third.prompt().tokens[1] <= 800);
}

/// What a policy asks is answered by the next model where one cannot, and the session says so once.
#[test]
fn the_next_model_answers_a_policy_where_one_cannot() {
    let asking = |job: &Job<'_>, _: &NextPolicies<'_>| match job {
        Job::Status(job) => match job.common.replies.get("mood") {
            Some(text) => {
                let text = Some(text.clone());
                Ok(Some(Answer::Status(Status { text, ..Status::default() })))
            }
            None => {
                let (id, user) = ("mood".to_owned(), "How is it?".to_owned());
                Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                    id,
                    user,
                    ..ModelQuestion::default()
                })))
            }
        },
        _ => Ok(None),
    };
    let (down, up) = (ScriptedModel::failing("it is down"), ScriptedModel::saying(&["fine"]));
    let builder = builder(2000).model(down.clone()).model(up).policy(By("asks", asking));
    let mut talk = Talk::new(builder);
    for expected in [true, false] {
        talk.chat(1);
        let prompt = talk.prompt();
        assert_eq!(prompt.status.and_then(|status| status.text).as_deref(), Some("fine"));
        let told = prompt.events.into_iter().map(|event| event.what);
        let told: Vec<_> =
            told.filter(|what| matches!(what, EventKind::ModelFallback { .. })).collect();
        let passed_over = EventKind::ModelFallback {
            policy: "asks".into(),
            hook: "status".into(),
            ask: "mood".into(),
            model: "scripted".into(),
            cause: "the model `scripted` did not answer: it is down".into(),
            next: "scripted".into(),
        };
        assert_eq!(told, if expected { vec![passed_over] } else { vec![] });
    }
    assert_eq!(down.asked().len(), 2);
}

/// What a policy locks in the words of a person is bounded as what a model locks is: the conversation
/// goes on. What a person locks by a marker stays, however much.
#[test]
fn a_policy_that_locks_all_that_is_said_stops_nothing() {
    let locks = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let Job::Goals(job) = job else { return Ok(None) };
        let text = format!("{}{}", job.text, " long".repeat(40));
        let found = Found { kind: FoundKind::Decision, text, state: Some("locked".to_owned()) };
        Ok(Some(Answer::Goals(vec![found; 200])))
    };
    let mut talk = Talk::new(with(2000, locks));
    let mut told = Vec::new();
    for turn in 0..60 {
        talk.say("user", &format!("Question {turn} of the day."));
        talk.say("assistant", &format!("Answer {turn}."));
        let prompt = talk.prompt();
        assert!(prompt.tokens[1] <= 2000, "{:?}", prompt.tokens);
        told.extend(prompt.events.into_iter().filter_map(|event| match event.what {
            EventKind::PolicyWarning { text, .. } => Some(text),
            _ => None,
        }));
    }
    let says = |word: &str| told.iter().any(|text| text.contains(word));
    assert!(
        says("is recorded without its lock") && says("finds 200 things in one text"),
        "{told:?}"
    );
}
