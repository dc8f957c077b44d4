//! Sizes, breakdowns, ratios and floors.

use epitome_kernel::types::{Budget, BudgetUnit, EntryId, TokenBreakdown};
use epitome_kernel::{SizeGauge, TextMeasure, Thread, ThreadSizes};
use epitome_plan::{budget_for_ratio, prompt_floor};
use epitome_testkit::{Chat, FixedCounter, chat, conversation};
use proptest::prelude::*;

use crate::help;

#[track_caller]
fn check_total(chat: Chat, unit: BudgetUnit, expected: u64) {
    let thread = Thread::new(chat.entries(), &[]);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit };
    assert_eq!(ThreadSizes::measure(thread.entries(), gauge, 0).total(), expected);
}

#[test]
fn tokens_are_text_calls_images_and_four_a_message() {
    check_total(chat().user("one two").assistant("three"), BudgetUnit::Tokens, 2 + 1 + 8);
    check_total(chat().call("read", "a b").result("x y z"), BudgetUnit::Tokens, 1 + 2 + 3 + 8);
    check_total(chat().image(10, 10), BudgetUnit::Tokens, 104);
}

#[test]
fn characters_are_texts_joined_by_newlines() {
    check_total(chat().user("näh").assistant("ab"), BudgetUnit::Chars, 3 + 1 + 2);
    check_total(chat().assistant("ab").call("read", "{}"), BudgetUnit::Chars, 2 + 1 + 2);
    check_total(chat(), BudgetUnit::Chars, 0);
}

#[test]
fn bytes_are_the_messages_and_the_commas_between() {
    let entries = chat().user("a").assistant("b").entries();
    let sum: u64 = entries.iter().map(|entry| u64::from(entry.bytes)).sum();
    check_total(chat().user("a").assistant("b"), BudgetUnit::Bytes, sum + 1);
}

#[test]
fn bytes_of_a_text_are_those_of_its_json() {
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Bytes };
    assert_eq!(gauge.size("a\"b\\c\nd\u{1}é"), 1 + 2 + 1 + 2 + 1 + 2 + 1 + 6 + 2);
}

#[test]
fn a_breakdown_names_what_each_part_is() {
    let chat =
        chat().system("s s").user("u").assistant("a").call("t", "x").result("r r r").image(1, 1);
    let thread = Thread::new(chat.entries(), &[]);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
    let mut by = TokenBreakdown::default();
    thread.entries().iter().for_each(|entry| sizes.add_to(&mut by, entry));
    let expected = TokenBreakdown {
        system: 6,
        user: 5 + 4,
        assistant: 5,
        tool_calls: 2,
        tool_results: 7,
        images: 100,
        ..TokenBreakdown::default()
    };
    assert_eq!(by, expected);
}

#[test]
fn a_ratio_spares_the_system_and_the_last_typed_text() {
    let chat =
        chat().system("s").user("a b c d e f").assistant("1 2 3 4").user("x y").note("later");
    let thread = Thread::new(chat.entries(), &[]);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(thread.entries(), gauge, 10);
    let budget = budget_for_ratio(&thread, &sizes, 4.0);
    // 10 around, 5 and 6 pinned; 10 + 8 + 5 are left, and a quarter of them is 5.75.
    assert_eq!(budget, Budget { unit: BudgetUnit::Tokens, most: 10 + 5 + 6 + 6 });
}

#[test]
fn a_ratio_does_not_spare_results_beside_the_typed_text() {
    let chat = chat().user("u").call("t", "{}").user_result("r r r r r r r r").and("typed");
    let thread = Thread::new(chat.entries(), &[]);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let budget = budget_for_ratio(&thread, &ThreadSizes::measure(thread.entries(), gauge, 0), 2.0);
    assert_eq!(budget.most, 5 + (5 + 6 + 8_u64).div_ceil(2));
}

#[test]
fn the_floor_names_what_cannot_shrink_largest_first() {
    let chat = chat().system("a system prompt").user("old").assistant("x").user("do it");
    let thread = Thread::new(chat.entries(), &[]);
    let floor = prompt_floor(&thread, &help::sizes(&thread, BudgetUnit::Tokens), |_| 0);
    assert_eq!(floor.size, 4 + 4 + 2 + 4);
    let items: Vec<_> = floor.items.iter().map(|(id, what, size)| (id.0, &**what, *size)).collect();
    assert_eq!(
        items,
        [
            (0, "e0 system: the system prompt", 8),
            (3, "e3 user: the last text that a person typed", 6),
        ]
    );
}

proptest! {
    #[test]
    fn the_breakdown_adds_up(entries in conversation(20)) {
        let thread = Thread::new(entries, &[]);
        let sizes = help::sizes(&thread, BudgetUnit::Tokens);
        let mut by = TokenBreakdown::default();
        thread.entries().iter().for_each(|entry| sizes.add_to(&mut by, entry));
        prop_assert_eq!(by.sum(), sizes.total());
    }

    #[test]
    fn the_whole_is_the_sum_of_its_entries(entries in conversation(20)) {
        let thread = Thread::new(entries, &[]);
        for unit in [BudgetUnit::Tokens, BudgetUnit::Chars, BudgetUnit::Bytes] {
            let sizes = help::sizes(&thread, unit);
            let ids = (0..thread.entries().len() as u32).map(EntryId);
            prop_assert_eq!(sizes.request(sizes.sum(ids)), sizes.total());
        }
    }
}
