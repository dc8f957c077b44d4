//! What `compress` takes in memory for each byte of its input.
//!
//! Invariant: what a process takes at most is what the kernel says of it, asked when its work is done
//! and its output waits to be read. The vocabulary and what is bounded are taken out by comparing two
//! sizes.

use serde_json::{Value, json};

use crate::program::{Place, peak_of};

/// The sizes that are compared, in bytes.
const SIZES: [usize; 2] = [2 << 20, 10 << 20];

/// The last message alone is more than a pipe holds, so that the program is still there when its
/// output is read.
const LAST: usize = 80_000;

/// The tokens that an output may have, that message among them.
const OUTPUT: &str = "60000";

/// Lines of code, none like another.
fn code(first: usize, bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 100);
    for line in first.. {
        if out.len() >= bytes {
            break;
        }
        let (value, of) = (line * 7919 % 1000, line * 31 % 97);
        out.push_str(&format!("    let value_{value} = read(config_{of}, \"queue worker\");\n"));
    }
    out
}

fn said(role: &str, content: impl Into<Value>) -> Value {
    json!({"role": role, "content": content.into()})
}

/// A call and its result.
fn exchange(number: usize, bytes: usize) -> [Value; 2] {
    let (id, path) = (format!("t{number}"), format!("src/module_{}.rs", number % 50));
    let call = json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": path}});
    let text = code(number * 100, bytes);
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    [said("assistant", vec![call]), said("user", vec![result])]
}

/// One huge result.
fn huge(bytes: usize) -> Vec<Value> {
    exchange(1, bytes).into()
}

/// Many results of middle length.
fn many(bytes: usize) -> Vec<Value> {
    (0..bytes / 8000).flat_map(|number| exchange(number, 8000)).collect()
}

/// Many short messages.
fn short(bytes: usize) -> Vec<Value> {
    let roles = ["assistant", "user"].into_iter().cycle().zip(0..bytes / 200);
    roles.map(|(role, number)| said(role, code(number * 3, 150))).collect()
}

/// A request of about this size.
fn input(shape: fn(usize) -> Vec<Value>, bytes: usize) -> String {
    let begin = [said("user", "Fix the bug.")];
    let last = format!("What does it say that this does not?\n{}", code(7, LAST));
    let end = [said("assistant", "Done reading all of it."), said("user", last)];
    let messages: Vec<_> = begin.into_iter().chain(shape(bytes)).chain(end).collect();
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages}).to_string()
}

/// A compression takes at most so many hundredths of a byte for each that comes in.
#[track_caller]
fn check(shape: fn(usize) -> Vec<Value>, args: &[&str], most: u64) {
    let [small, large] = SIZES.map(|bytes| {
        let (place, input) = (Place::new(), input(shape, bytes));
        place.write("input.json", &input);
        let all = ["compress", "--quiet", "--max-tokens", OUTPUT, "input.json"];
        let (taken, out) = peak_of(place.command(all.iter().chain(args)));
        assert!(out > 1 << 16, "{out} bytes fit into a pipe");
        [input.len() as u64, taken]
    });
    let [bytes, more] = [0, 1].map(|of| large[of].saturating_sub(small[of]));
    let found = more * 100 / bytes;
    assert!(found <= most, "{found} hundredths of a byte for each that comes in");
}

#[test]
fn one_huge_result_takes_little_more_than_itself_and_its_text() {
    check(huge, &[], 310);
}

#[test]
fn one_huge_result_takes_little_more_where_it_is_kept() {
    check(huge, &["--store", "s.db"], 460);
}

#[test]
fn many_results_take_little_more_than_themselves_and_their_texts() {
    check(many, &[], 310);
}

#[test]
fn many_results_take_little_more_where_they_are_kept() {
    check(many, &["--store", "s.db"], 400);
}

#[test]
fn many_short_messages_take_what_is_known_of_each() {
    check(short, &[], 800);
}
