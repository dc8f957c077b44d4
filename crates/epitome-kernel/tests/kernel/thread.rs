//! Exchanges, pins and what may be rewritten.

use epitome_kernel::types::{
    BoundReply, BudgetUnit, Edit, Entry, EntryId, EntryKey, Op, PartBody, PartId, Plan, Role,
    Stays, TOMBSTONE,
};
use epitome_kernel::{FreezeReason, PinReason, SizeGauge, Thread, ThreadSizes, apply};
use epitome_testkit::{Chat, FixedCounter, chat, conversation};
use proptest::prelude::*;

fn thread(chat: Chat) -> Thread {
    Thread::new(chat.entries(), &[])
}

#[track_caller]
fn check_exchanges(chat: Chat, expected: &[(std::ops::Range<usize>, bool)]) {
    let found: Vec<_> = thread(chat)
        .exchanges()
        .iter()
        .map(|exchange| (exchange.entries.clone(), exchange.broken))
        .collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_pins(chat: Chat, expected: &[Option<PinReason>]) {
    let thread = thread(chat);
    let found: Vec<_> = thread.entries().iter().map(|entry| thread.pinned(entry.id)).collect();
    assert_eq!(found, expected);
}

#[test]
fn parallel_calls_and_their_results_are_one_exchange() {
    let parallel = chat().user("u").call("a", "{}").call("b", "{}").result("1").result("2");
    check_exchanges(parallel.assistant("done"), &[(0..1, false), (1..4, false), (4..5, false)]);
    let in_user =
        chat().user("u").call("a", "{}").call("b", "{}").user_result("1").user_result("2");
    check_exchanges(in_user.and("go on"), &[(0..1, false), (1..3, false)]);
}

#[test]
fn a_note_between_call_and_result_belongs_to_the_exchange() {
    check_exchanges(chat().call("a", "{}").note("meanwhile").result("1"), &[(0..3, false)]);
}

#[test]
fn server_tools_pair_inside_their_message() {
    check_exchanges(chat().user("u").server_tool("q", "r"), &[(0..1, false), (1..2, false)]);
}

#[test]
fn reasoning_alone_belongs_to_what_follows() {
    let mut entries =
        chat().user("u").thinking("hm").user("x").call("a", "{}").result("1").entries();
    entries.remove(2);
    let found = Thread::new(entries, &[]);
    assert_eq!(found.exchanges()[1].entries, 1..4);
}

/// One message for each part, as in formats where each is an item of its own.
fn items(entries: Vec<Entry>) -> Vec<Entry> {
    let apart = entries.into_iter().flat_map(|entry| {
        let parts = entry.parts.clone().into_iter();
        parts.map(move |part| Entry { parts: vec![part], ..entry.clone() })
    });
    apart.collect()
}

#[test]
fn items_of_one_reply_stay_with_its_reasoning() {
    let chat = chat().user("u").thinking("hm").and("first").call("a", "{}").call("b", "{}");
    let chat = chat.result("1").result("2").thinking("so").and("last").user("on");
    let entries = items(chat.entries());
    assert_eq!(entries.len(), 10);
    let found = Thread::new(entries, &[]);
    let ranges: Vec<_> = found.exchanges().iter().map(|one| one.entries.clone()).collect();
    assert_eq!(ranges, [0..1, 1..7, 7..9, 9..10]);
    assert!(found.exchanges().iter().all(|one| !one.broken));
}

#[test]
fn calls_without_reasoning_are_exchanges_by_themselves() {
    let chat = chat().user("u").assistant("first").call("a", "{}").call("b", "{}");
    let found = Thread::new(items(chat.result("1").result("2").entries()), &[]);
    let ranges: Vec<_> = found.exchanges().iter().map(|one| one.entries.clone()).collect();
    assert_eq!(ranges, [0..1, 1..2, 2..6]);
}

#[test]
fn results_of_calls_that_share_an_id_answer_them_in_order() {
    for id in ["w", ""] {
        let chat = chat().user("u").call("w", "1").call("w", "2").result("x").result("y");
        let mut entries = chat.entries();
        for part in entries.iter_mut().flat_map(|entry| &mut entry.parts) {
            match &mut part.body {
                PartBody::Call(call) => call.id = "w".to_owned(),
                PartBody::Result(result) => result.call = id.to_owned(),
                _ => {}
            }
        }
        let found = Thread::new(entries, &[]);
        let asked = |entry: u32, part: u32| {
            let call = found.call_of(PartId { entry: EntryId(entry), part });
            call.map(|call| call.arguments.clone())
        };
        let results: Vec<_> = found
            .entries()
            .iter()
            .flat_map(|entry| (0..entry.parts.len() as u32).map(|part| (entry.id.0, part)))
            .filter_map(|(entry, part)| asked(entry, part))
            .collect();
        assert_eq!(results, ["1", "2"], "{id:?}");
    }
}

#[test]
fn orphans_and_abandoned_calls_are_broken() {
    check_exchanges(chat().orphan("x").user("u"), &[(0..1, true), (1..2, false)]);
    let abandoned = chat().abandoned("a", "{}").user("stop").assistant("ok");
    check_exchanges(abandoned, &[(0..1, true), (1..2, false), (2..3, false)]);
}

#[test]
fn a_pending_call_pins_its_exchange() {
    check_pins(
        chat().user("u").assistant("a").call("x", "{}").call("y", "{}").result("1"),
        &[Some(PinReason::Typed), Some(PinReason::Pending), Some(PinReason::Partner)],
    );
}

#[test]
fn the_last_typed_text_and_a_later_note_are_pinned() {
    check_pins(
        chat().system("s").user("old").user("new").assistant("a").note("n").assistant("b"),
        &[Some(PinReason::System), None, Some(PinReason::Typed), None, Some(PinReason::Note), None],
    );
    check_pins(chat().note("n").user("u"), &[None, Some(PinReason::Typed)]);
}

#[test]
fn the_newest_note_of_a_subject_is_pinned_and_older_ones_are_stale() {
    let talk = chat().system("s").states(Role::User, "files", "one").assistant("a").user("u");
    let talk = talk.and_states("todo", "1").assistant("b").states(Role::User, "files", "two");
    let talk = talk.assistant("c").user("v").and_states("todo", "2");
    let thread = thread(talk.clone());
    let pins: Vec<_> = thread.entries().iter().map(|entry| thread.pinned(entry.id)).collect();
    let [state, typed] = [Some(PinReason::State), Some(PinReason::Typed)];
    assert_eq!(pins, [Some(PinReason::System), None, None, None, None, state, None, typed]);
    let part = |entry, part| PartId { entry: EntryId(entry), part };
    assert_eq!(thread.stale().collect::<Vec<_>>(), [part(1, 0), part(3, 1)]);
    assert_eq!(thread.frozen(part(5, 0)), Some(FreezeReason::Pinned(PinReason::State)));
    // The conversation begins with the message that it began with.
    let left = thread.restated(thread.entries().len());
    assert_eq!((left.entries, left.parts), (vec![], vec![part(3, 1)]));
    let left = self::thread(chat().user("t").assistant("x").states(Role::User, "files", "0"));
    assert_eq!(left.restated(9).entries, []);
}

#[test]
fn behind_the_first_block_the_system_only_notes() {
    let talk = chat().system("s").states(Role::System, "agents", "of the prompt").user("u");
    let talk = talk.states(Role::System, "todo", "1").assistant("a").system("said for ever");
    check_pins(
        talk.states(Role::System, "todo", "2").user("v"),
        &[
            Some(PinReason::System),
            Some(PinReason::System),
            None,
            None,
            None,
            Some(PinReason::System),
            Some(PinReason::State),
            Some(PinReason::Typed),
        ],
    );
}

#[test]
fn what_points_to_a_note_takes_the_place_of_none_that_stays() {
    let talk = chat().system("s").user("u").states(Role::System, "mode", "all rules");
    let points = |talk: Chat| talk.states(Role::System, "mode", "still").staying(Stays::Nothing);
    let talk = points(points(talk.assistant("a").user("v")).assistant("b").user("w"));
    let found = thread(talk.clone());
    assert_eq!(found.pinned(EntryId(2)), Some(PinReason::State));
    let stale = |thread: &Thread| thread.stale().map(|part| part.entry.0).collect::<Vec<_>>();
    assert_eq!(stale(&found), [5]);
    assert_eq!(found.pinned(EntryId(8)), None);
    let found = thread(talk.assistant("c").states(Role::System, "mode", "none"));
    assert_eq!(stale(&found), [2, 5, 8]);
}

#[test]
fn of_notes_that_nobody_knows_the_last_few_stay() {
    let mut talk = chat().system("s").user("u");
    for turn in 0..12 {
        let subject = format!("note {turn}");
        talk = talk.states(Role::System, &subject, "Ticket 4711.").staying(Stays::Recent);
        talk = talk.assistant("a").user("u");
    }
    let pinned = |thread: &Thread, entries: std::ops::RangeInclusive<u32>| {
        let pinned = entries.step_by(3).filter(|at| thread.pinned(EntryId(*at)).is_some());
        pinned.collect::<Vec<_>>()
    };
    let found = thread(talk.clone());
    assert_eq!(pinned(&found, 2..=35), [14, 17, 20, 23, 26, 29, 32, 35]);
    assert_eq!(found.stale().next(), None);
    // They take a bounded room, and one that is said again is the newest.
    let long = "x".repeat(4036);
    let talk = talk.states(Role::System, "note 11", &long).staying(Stays::Recent).user("v");
    assert_eq!(pinned(&thread(talk), 2..=38), [20, 23, 26, 29, 32, 38]);
}

#[test]
fn without_any_user_text_the_newest_message_is_pinned() {
    check_pins(
        chat().system("s").assistant("a").assistant("b"),
        &[Some(PinReason::System), None, Some(PinReason::Newest)],
    );
}

#[test]
fn pins_by_hand_hold_and_unknown_ones_do_nothing() {
    let entries = chat().user("a").assistant("b").user("c").entries();
    let thread = Thread::new(entries, &[EntryId(1), EntryId(9)]);
    assert_eq!(thread.pinned(EntryId(1)), Some(PinReason::ByHand));
    assert_eq!(thread.pinned(EntryId(9)), None);
}

#[test]
fn what_may_be_rewritten() {
    let chat = chat().system("s").user("old").thinking("t").and("said");
    let chat = chat.call("a", "{}").user_result("r").and("typed").thinking("t2").and("last");
    let thread = thread(chat);
    let frozen = |entry, part| thread.frozen(PartId { entry: EntryId(entry), part });
    assert_eq!(frozen(0, 0), Some(FreezeReason::System));
    assert_eq!(frozen(1, 0), None);
    assert_eq!(frozen(2, 0), Some(FreezeReason::Thinking));
    assert_eq!(frozen(2, 1), None, "older reasoning does not freeze the text beside it");
    assert_eq!(frozen(2, 2), Some(FreezeReason::NotText));
    assert_eq!(frozen(3, 0), None, "the result beside the typed text");
    assert_eq!(frozen(3, 1), Some(FreezeReason::Pinned(PinReason::Typed)));
    assert_eq!(frozen(4, 1), Some(FreezeReason::Thinking), "beside the latest reasoning");
}

#[test]
fn results_know_their_tool() {
    let chat = chat().user("u").call("read", "{}").call("grep", "{}");
    let thread = thread(chat.user_result_blocks("1").user_result("2"));
    let tool = |part| thread.tool_of(PartId { entry: EntryId(2), part });
    assert_eq!([tool(0), tool(1), tool(2)], [Some("read"), Some("read"), Some("grep")]);
}

proptest! {
    #[test]
    fn exchanges_part_the_entries_and_hold_every_pair(entries in conversation(20)) {
        let thread = Thread::new(entries, &[]);
        let places: Vec<_> =
            thread.exchanges().iter().flat_map(|exchange| exchange.entries.clone()).collect();
        prop_assert_eq!(places, (0..thread.entries().len()).collect::<Vec<_>>());
        for exchange in thread.exchanges().iter().filter(|exchange| !exchange.broken) {
            let parts = || thread.entries()[exchange.entries.clone()].iter().flat_map(|e| &e.parts);
            for part in parts() {
                let PartBody::Result(result) = &part.body else { continue };
                let answers = |part: &epitome_kernel::types::Part| {
                    matches!(&part.body, PartBody::Call(call) if call.id == result.call)
                };
                prop_assert!(parts().any(answers), "{} has no call", result.call);
            }
        }
    }

    #[test]
    fn a_pin_holds_for_the_whole_exchange(entries in conversation(20)) {
        let thread = Thread::new(entries, &[]);
        prop_assert!(thread.entries().iter().any(|entry| thread.pinned(entry.id).is_some()));
        for exchange in thread.exchanges() {
            let pins = exchange.entries.clone().filter(|&at| thread.pinned(EntryId(at as u32)).is_some());
            prop_assert!([0, exchange.entries.len()].contains(&pins.count()));
        }
    }
}

/// A plan took the reasoning out of the second message; by now that says `thoughts`.
#[track_caller]
fn check_unbound(thoughts: &str, leaves: bool) {
    let said = |thoughts: &str| chat().user("u").thinking(thoughts).and("a").user("x").entries();
    let key = EntryKey::for_entry(&said("hm")[1]);
    let replies = vec![BoundReply { key, entry: EntryId(1) }];
    let plan = Plan { ops: vec![Op::Unbind { replies }], reason: String::new() };
    let entries = said(thoughts);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(&entries, gauge, 0);
    let thread = Thread::new(entries.clone(), &[]);
    let edits = apply(&thread, &sizes, &plan).unwrap().edits();
    let thought = PartId { entry: EntryId(1), part: 0 };
    assert_eq!(edits.contains(&Edit::RemovePart(thought)), leaves, "{thoughts}: {edits:?}");
}

#[test]
fn bound_reasoning_stays_out_after_its_message_was_erased() {
    check_unbound("hm", true);
    check_unbound(TOMBSTONE, true);
    // Somebody else's, in a history that was rewound.
    check_unbound("well", false);
}
