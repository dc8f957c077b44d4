//! What a provider made of the conversation before is the new start of it: it is forwarded as it came,
//! whatever leaves around it (RULES 125).

use epitome::{CompressionTarget, Compressor, Error, Format, validate};
use epitome_testkit::now;

const BLOCK: &str =
    r#"{ "type":"compaction", "content":"What was said so far.", "encrypted_content":"x+/=" }"#;
const ITEM: &str = r#"{"type":"compaction","id":"cmp_1", "encrypted_content":"x+/="}"#;

fn words(count: usize) -> String {
    (0..count).map(|word| format!("word{word} ")).collect()
}

fn anthropic() -> String {
    let said = |role: &str, count| format!(r#"{{"role":"{role}","content":"{}"}}"#, words(count));
    let mut messages: Vec<_> =
        (0..6).flat_map(|_| [said("user", 40), said("assistant", 90)]).collect();
    messages.push(said("user", 5));
    messages.push(format!(
        r#"{{"role":"assistant","content":[{BLOCK},{{"type":"text","text":"I go on."}}]}}"#
    ));
    messages.extend((0..6).flat_map(|_| [said("user", 40), said("assistant", 90)]));
    messages.push(said("user", 8));
    format!(r#"{{"model":"claude-opus-5-5","max_tokens":9,"messages":[{}]}}"#, messages.join(","))
}

fn responses() -> String {
    let said = |role: &str, count| {
        format!(r#"{{"type":"message","role":"{role}","content":"{}"}}"#, words(count))
    };
    let talk = || (0..6).flat_map(move |_| [said("user", 40), said("assistant", 90)]);
    let mut items: Vec<_> = talk().collect();
    items.push(ITEM.to_owned());
    items.extend(talk());
    items.push(said("user", 8));
    format!(r#"{{"model":"gpt-6.2","input":[{}]}}"#, items.join(","))
}

#[track_caller]
fn check(format: Format, body: &str, block: &str) {
    let mut fitted = 0;
    for most in (40..1500).step_by(70) {
        let compressor = Compressor::builder()
            .input_format(format)
            .target(CompressionTarget::Tokens(most))
            .build();
        match now(compressor.compress(body.as_bytes())) {
            Ok(made) => {
                assert_eq!(validate(format, &made.bytes), Ok(()), "{most}");
                let text = String::from_utf8(made.bytes).unwrap();
                assert_eq!(text.matches(block).count(), 1, "{most}: {text}");
                fitted += usize::from(text.len() < body.len());
            }
            Err(Error::CannotFit { .. }) => {}
            Err(error) => panic!("{most}: {error}"),
        }
    }
    assert!(fitted > 10, "{fitted}");
}

#[test]
fn a_block_of_anthropic_stays_as_it_came() {
    check(Format::Anthropic, &anthropic(), BLOCK);
}

#[test]
fn an_item_of_the_responses_api_stays_as_it_came() {
    check(Format::Responses, &responses(), ITEM);
}
