//! What policies pin within the turn that compresses, and after it.

use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_kernel::{Answer, Job};
use epitome_types::hook::{Fit, MessageNumber, Observe, OpRequest, Orders, PinOrder};
use epitome_types::{EntryId, EntryKey};

use super::asides::{said, with_limit};
use super::*;
use crate::session::known_history::KnownHistory;

/// The messages of a conversation that its window holds a part of; the second one is told of.
fn messages(count: usize) -> Vec<String> {
    let filler = "words to fill the window ".repeat(8);
    let of = |at: usize| {
        let role = if at % 2 == 1 { "assistant" } else { "user" };
        said(role, &format!("Message {at}: {filler}"))
    };
    (0..count).map(of).collect()
}

fn fitting(pins: &[u32]) -> Answer {
    let pin = PinOrder { entries: pins.iter().copied().map(MessageNumber).collect() };
    let fit = Fit { max_tokens: Some(300), ..Fit::default() };
    let ops = vec![OpRequest::Pin(pin), OpRequest::Fit(fit)];
    Answer::Plan(Orders { ops, ..Orders::default() })
}

/// Sends ever more of a conversation, and gives the last prompt with all that was told.
fn play(
    says: impl Fn(&Job<'_>) -> Option<Answer> + Send + Sync + 'static,
) -> (String, Vec<EventKind>) {
    let mut live = with_limit(&Arc::default(), 1_000, says);
    let (mut events, mut last) = (Vec::new(), String::new());
    for count in (1..60).step_by(2) {
        let prompt = now(live.prompt_for(&body(&messages(count)))).unwrap();
        events.extend(prompt.events.iter().map(|event| event.what.clone()));
        last = String::from_utf8(prompt.bytes.to_vec()).unwrap();
    }
    (last, events)
}

fn has(events: &[EventKind], is: impl Fn(&EventKind) -> bool) -> bool {
    events.iter().any(is)
}

fn is_late(event: &EventKind) -> bool {
    matches!(event, EventKind::PolicyWarning { text, .. } if text.contains("not pinned: e3;"))
}

#[test]
fn what_a_plan_pins_is_in_no_plan_of_the_same_turn() {
    let (prompt, events) = play(|job| matches!(job, Job::Plan(_)).then(|| fitting(&[4])));
    assert!(prompt.contains("Message 3:") && !prompt.contains("Message 5:"), "{prompt}");
    assert!(has(
        &events,
        |event| matches!(event, EventKind::Pinned { entry, .. } if entry == "e3")
    ));
    assert!(!has(&events, is_late));
}

#[test]
fn what_is_pinned_as_it_comes_is_in_no_compression_of_that_turn() {
    let (prompt, events) = play(|job| match job {
        Job::Plan(_) => Some(fitting(&[])),
        Job::Observe(job) if job.text.starts_with("Message 3:") => {
            Some(Answer::Observe(Observe { pin: Some(true), ..Observe::default() }))
        }
        _ => None,
    });
    assert!(prompt.contains("Message 3:") && !prompt.contains("Message 5:"), "{prompt}");
    assert!(has(&events, |event| matches!(event, EventKind::Pinned { .. })));
}

#[test]
fn what_left_is_not_pinned_and_that_is_told() {
    let plans = AtomicUsize::new(0);
    let (prompt, events) = play(move |job| match job {
        Job::Plan(_) if plans.fetch_add(1, Ordering::Relaxed) == 0 => Some(fitting(&[])),
        Job::Plan(_) => Some(fitting(&[4])),
        _ => None,
    });
    assert!(!prompt.contains("Message 3:"), "{prompt}");
    assert!(has(&events, is_late), "{events:?}");
    assert!(!has(&events, |event| matches!(event, EventKind::Pinned { .. })));
}

/// A message that is said again and again is pinned once: its newest copy stays.
#[test]
fn what_is_said_again_is_pinned_once() {
    let again = format!("It FAILED again: {}", "words to fill the window ".repeat(8));
    let mut live = with_limit(&Arc::default(), 1_000, |job| match job {
        Job::Observe(job) if job.text.starts_with("It FAILED") => {
            Some(Answer::Observe(Observe { pin: Some(true), ..Observe::default() }))
        }
        _ => None,
    });
    let mut messages = vec![said("user", "Mend the tests.")];
    for round in 0..30 {
        messages.push(said("assistant", &format!("Round {round}.")));
        messages.push(said("user", &again));
        let prompt = now(live.prompt_for(&body(&messages))).unwrap();
        assert!(prompt.fits, "{round}: {:?}", prompt.tokens);
        assert!(prompt.tokens[1] <= 1_000, "{round}: {:?}", prompt.tokens);
    }
}

#[test]
fn the_newest_copy_of_a_message_is_pinned() {
    let [one, two] = [1, 2].map(|byte| EntryKey([byte; 16]));
    let history = KnownHistory {
        keys: Arc::new(vec![one, two, one, two]),
        pins: vec![one],
        ..<_>::default()
    };
    assert_eq!(history.pinned(0), [EntryId(2)]);
    assert!(history.pins_again(2) && !history.pins_again(3));
}
