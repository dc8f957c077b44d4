//! Results of tools through the real program: each is smaller by what is promised, holds what
//! matters in it, and its original comes back.

use serde_json::{Value, json};

use crate::measure::{count, faults, messages, texts};
use crate::playing::played;
use crate::program::Place;
use crate::samples::{Sample, all};

/// A conversation in which a tool gave this.
fn talk(sample: &Sample) -> Value {
    let function = json!({"name": sample.tool, "arguments": sample.arguments});
    json!({"model": "gpt-4o", "messages": [
        {"role": "user", "content": "Look into it, please."},
        {"role": "assistant", "content": null,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call_1", "content": sample.text},
        {"role": "assistant", "content": "I have looked into it."},
        {"role": "user", "content": "And what follows?"},
    ]})
}

/// What the result was sent as at last.
fn sent(place: &Place, sample: &Sample) -> String {
    place.write("talk.json", talk(sample).to_string());
    let line = "replay talk.json --prompt-limit 100000 --store s.db --dump sent --json -q";
    let ran = place.run(line.split(' '));
    assert_eq!(ran.code, 0, "{}: {}", sample.name, ran.err);
    let (turns, _) = played(&ran);
    let last = place.read_json(&format!("sent/{:04}.json", turns.len()));
    assert_eq!(faults(&last), Vec::<String>::new(), "{}", sample.name);
    let result = messages(&last).iter().find(|message| message["role"] == "tool").unwrap();
    texts(result).join("\n")
}

/// The address of an original, as the digest gives it.
fn address(digest: &str) -> &str {
    let behind = digest.split("epitome recall ").nth(1).unwrap_or_else(|| panic!("{digest}"));
    behind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap()
}

fn recall(place: &Place, args: &[&str]) -> String {
    let out = place.run([&["recall", "--store", "s.db"], args].concat()).silent();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_is_smaller_holds_what_matters_and_comes_back() {
    for sample in all() {
        let Sample { name, text, .. } = &sample;
        let place = Place::new();
        let digest = sent(&place, &sample);
        let saved = |before: usize, after: usize| 100 - (after * 100).div_ceil(before);
        assert!(digest.len() <= text.len() && count(&digest) <= count(text), "{name}: {digest}");
        let (bytes, tokens) =
            (saved(text.len(), digest.len()), saved(count(text) as usize, count(&digest) as usize));
        assert!(
            bytes >= sample.saved && tokens >= sample.saved,
            "{name}: {bytes} {tokens} {digest}"
        );
        for part in &sample.keeps {
            assert!(digest.contains(part), "{name}: {part}\n{digest}");
        }
        if digest == *text {
            continue;
        }
        let id = address(&digest);
        assert_eq!(recall(&place, &["--id", id]), *text, "{name}");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (from, to) = (lines.len().div_ceil(3), lines.len().div_ceil(2));
        let range = recall(&place, &["--id", id, "--lines", &format!("{from}-{to}")]);
        assert_eq!(range, lines[from - 1..to].concat(), "{name}");
        if !sample.hidden.is_empty() {
            assert!(!digest.contains(sample.hidden), "{name}: {digest}");
            let found = recall(&place, &["--max-tokens", "2000", "--", sample.hidden]);
            assert!(found.contains(sample.hidden), "{name}: {found}");
        }
    }
}
