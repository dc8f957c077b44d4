//! Agents that forget what they are there for, and what is brought back to them (RULES 51 to 53).

use epitome_kernel::{Answer, Job};
use epitome_types::Actor;
use epitome_types::hook::{Budgets, Drift, Observe, Stop};
use serde_json::json;

use super::asides::{called, compress, happened, said, talk, text, with};
use super::*;

/// Says that the agent drifts, and has the original context brought back, where it deploys; and
/// compresses where the conversation has so many messages.
fn watches(at: u32) -> impl Fn(&Job<'_>) -> Option<Answer> + Send + Sync {
    move |job| match job {
        Job::Trigger(job) if job.common.messages == at => compress(),
        Job::Observe(job) if job.common.compressions > 0 => {
            let action = job.actions.iter().find(|action| action.tool == "deploy")?;
            let trigger = "another action".to_owned();
            let intent = job.intent.clone().unwrap_or_default();
            let drift = Drift { trigger, intent, action: action.arguments.clone() };
            Some(Answer::Observe(Observe {
                drift: Some(drift),
                level: Some(Stop::Soft),
                recall: Some("which delimiter does the parser use".to_owned()),
                max_tokens: Some(60),
                ..Observe::default()
            }))
        }
        _ => None,
    }
}

/// A conversation that says early what is asked for later, then has the agent deploy.
fn drifts() -> (Vec<String>, Vec<String>) {
    let mut messages = vec![said("system", "Be brief."), said("user", "Mend the parser.")];
    messages.extend(called(
        "1",
        "read",
        json!({"path": "a"}),
        "the delimiter of the parser is a pipe",
    ));
    messages.extend(talk(20).split_off(2));
    let after: Vec<_> = called("2", "deploy", json!({"to": "production"}), "done").into();
    (messages, after)
}

fn recalled(prompt: &Prompt) -> Vec<(Vec<String>, u64)> {
    let found = happened(prompt).into_iter().filter_map(|what| match what {
        EventKind::Recalled { sources, tokens, .. } => Some((sources.clone(), *tokens)),
        _ => None,
    });
    found.collect()
}

/// RULES 51: drift is a warning with trigger, intent and action, and the original context comes
/// back: in the next state of the work, once, restart or not.
#[test]
fn an_agent_that_drifts_gets_the_context_back() {
    let journal = Arc::new(MemoryStore::new());
    let (mut messages, after) = drifts();
    let first = messages.len() as u32;
    let mut live = with(&journal, None, watches(first));
    assert!(has_epoch(&now(live.prompt_for(&body(&messages))).unwrap()));
    messages.extend(after);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let drift = happened(&prompt).into_iter().find_map(|what| match what {
        EventKind::DriftDetected { policy, drift, level } => {
            Some((policy.clone(), drift.clone(), *level))
        }
        _ => None,
    });
    let (policy, drift, level) = drift.unwrap();
    assert_eq!((&*policy, level), ("says", Some(Stop::Soft)));
    assert!(drift.intent.starts_with("Go on with part 19.") && drift.action.contains("production"));
    let [(sources, tokens)] = &recalled(&prompt)[..] else { panic!("{:?}", prompt.events) };
    assert!(sources.iter().any(|source| source == "e3 read result"), "{sources:?}");
    assert!((1..=60).contains(tokens), "{tokens}");
    // Nothing that was sent changes for it.
    let heading = "found again for: which delimiter";
    assert!(!text(&prompt).contains(heading));
    messages.push(said("user", "Go on."));
    for (again, expected) in [(messages.len() as u32, true), (messages.len() as u32 + 40, false)] {
        messages.extend(talk(20).split_off(2).into_iter().take(again as usize - messages.len()));
        let mut live = with(&journal, None, watches(again));
        let prompt = now(live.prompt_for(&body(&messages))).unwrap();
        assert!(has_epoch(&prompt));
        assert_eq!(text(&prompt).contains(heading), expected, "{}", text(&prompt));
        assert_eq!(text(&prompt).contains("e3 read result"), expected);
    }
    // One that does not drift is left alone.
    let other = Arc::new(MemoryStore::new());
    let (mut messages, _) = drifts();
    let mut live = with(&other, None, watches(first));
    now(live.prompt_for(&body(&messages))).unwrap();
    messages.extend(called("2", "read", json!({"path": "b"}), "fn b() {}"));
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    assert!(happened(&prompt).iter().all(|what| !matches!(what, EventKind::DriftDetected { .. })));
}

/// Where an agent works on, it comes back with the next result of a tool, without a compression: what
/// was sent before stays, restart or not, until what was said is erased.
#[test]
fn it_comes_back_behind_the_next_result() {
    let journal = Arc::new(MemoryStore::new());
    let (mut messages, after) = drifts();
    let first = messages.len() as u32;
    let mut live = with(&journal, None, watches(first));
    assert!(has_epoch(&now(live.prompt_for(&body(&messages))).unwrap()));
    messages.extend(after);
    let mut before = text(&now(live.prompt_for(&body(&messages))).unwrap()).to_owned();
    let heading = "found again for: which delimiter";
    for at in 3..6 {
        messages.extend(called(&at.to_string(), "read", json!({"path": at}), "fn of_its_own() {}"));
        let prompt = now(live.prompt_for(&body(&messages))).unwrap();
        assert!(!has_epoch(&prompt) && recalled(&prompt).is_empty());
        let start = before.trim_end().strip_suffix("]}").unwrap().trim_end();
        let new = text(&prompt).strip_prefix(start).map(str::to_owned).unwrap();
        let is_first = at == 3;
        assert_eq!(new.contains(heading) && new.contains("is a pipe"), is_first, "{new}");
        assert!(new.contains("fn of_its_own() {}"), "{new}");
        assert_eq!(new.contains("fn of_its_own() {}\\n\\n<epitome-note>\\n"), is_first, "{new}");
        let mut other = with(&journal, None, |_| None);
        assert!(now(other.prompt_for(&body(&messages))).unwrap().bytes == prompt.bytes);
        before = text(&prompt).to_owned();
    }
    let scope = epitome_config::scope::scope("default");
    let info = journal.session(&scope, "a").unwrap();
    let said = journal.history(&scope, "a", info.head, 0, usize::MAX).unwrap();
    journal.erase(&scope, said[3].key).unwrap();
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    assert!(!text(&prompt).contains(heading), "{}", text(&prompt));
}

/// Where the prompt is Epitome's own, it comes back at once, at the end.
#[test]
fn in_a_conversation_that_is_pushed_it_comes_back_in_a_note() {
    let journal = Arc::new(MemoryStore::new());
    let (messages, after) = drifts();
    let mut live = with(&journal, None, watches(messages.len() as u32));
    messages.iter().for_each(|message| live.push(message.as_bytes()).unwrap());
    assert!(has_epoch(&now(live.prompt()).unwrap()));
    after.iter().for_each(|message| live.push(message.as_bytes()).unwrap());
    let second = now(live.prompt()).unwrap();
    assert_eq!(recalled(&second).len(), 1);
    let mut live = with(&journal, None, |_| None);
    let third = now(live.prompt()).unwrap();
    let before = text(&second);
    let before = before.trim_end().strip_suffix("]}").unwrap().trim_end();
    let note = text(&third).strip_prefix(before).map(str::to_owned).unwrap();
    assert!(note.contains("found again for: which delimiter"), "{note}");
    assert!(note.contains("e3 read result (") && note.contains("is a pipe"), "{note}");
    assert!(now(live.prompt()).unwrap().bytes == third.bytes);
    assert!(now(with(&journal, None, |_| None).prompt()).unwrap().bytes == third.bytes);
}

/// RULES 53, HARD: "act at once", where a rewrite pays for itself (RULES 17).
#[test]
fn a_hard_stop_compresses_the_next_request() {
    let journal = Arc::new(MemoryStore::new());
    let says = |job: &Job<'_>| match job {
        Job::Budgets(_) => {
            let budgets = Budgets { target: Some(600), ..Budgets::default() };
            Some(Answer::Budgets(budgets))
        }
        Job::Observe(job) => {
            let level = job.text.contains("part 49").then_some(Stop::Hard);
            Some(Answer::Observe(Observe { level, ..Observe::default() }))
        }
        _ => None,
    };
    let mut live = with(&journal, None, says);
    let mut messages = talk(50);
    assert!(!has_epoch(&now(live.prompt_for(&body(&messages))).unwrap()));
    let acts = journal.acts(&epitome_config::scope::scope("default"), "a").unwrap();
    assert_eq!(acts.last().map(|acted| acted.by.clone()), Some(Actor::Policy("says".to_owned())));
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "Thanks."));
    assert!(has_epoch(&now(live.prompt_for(&body(&messages))).unwrap()));
    messages.push(said("assistant", "Good bye."));
    messages.push(said("user", "Bye."));
    assert!(!has_epoch(&now(live.prompt_for(&body(&messages))).unwrap()));
}
