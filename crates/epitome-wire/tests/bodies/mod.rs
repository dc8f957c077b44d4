//! Requests in every provider's format, as odd as clients write them, and valid.

use epitome_wire::Format;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// String literals as clients write them: odd escapes, lone surrogates, anything.
pub(crate) fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            r#""caf\u00e9\/x""#,
            r#""\ud800 lone""#,
            r#""\ud83d\ude00""#,
            r#""a\"b\\c\n""#,
            "\"1.0\"",
            r#""<system-reminder>x</system-reminder>""#,
            "\"中文\u{7f}\"",
        ])
        .prop_map(str::to_owned),
        "[a-z][a-z \u{e9}]{0,12}".prop_map(|text| format!("\"{text}\"")),
    ]
}

/// Members that no reader knows, with numbers and keys that a re-encoder would change.
fn unknown() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        r#","x":1.0"#,
        r#","x" : 1e2"#,
        r#","n":12345678901234567890123,"n":2"#,
        r#", "\u0079\/":[ {"b":null,"a":[]} , "\ud800" ]"#,
    ])
}

/// What is said in one go; an exchange is a reply with calls and their results.
#[derive(Clone, Debug)]
enum Unit {
    User { blocks: bool, text: String, more: &'static str },
    Reply { blocks: bool, text: String, more: &'static str },
    Exchange { text: Option<String>, results: Vec<(String, bool)>, more: &'static str },
}

fn unit() -> impl Strategy<Value = Unit> {
    let exchange =
        (proptest::option::of(literal()), vec((literal(), any::<bool>()), 1..4), unknown());
    prop_oneof![
        (any::<bool>(), literal(), unknown()).prop_map(|(blocks, text, more)| Unit::User {
            blocks,
            text,
            more
        }),
        (any::<bool>(), literal(), unknown()).prop_map(|(blocks, text, more)| Unit::Reply {
            blocks,
            text,
            more
        }),
        exchange.prop_map(|(text, results, more)| Unit::Exchange { text, results, more }),
    ]
}

/// A body and the unit that each of its messages belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) format: Format,
    pub(crate) json: String,
    pub(crate) messages: Vec<String>,
    pub(crate) units: Vec<usize>,
}

pub(crate) fn body() -> impl Strategy<Value = Body> {
    let format = select(Format::PROVIDERS.to_vec());
    (format, vec(unit(), 0..8), select(vec![",", " ,\n ", ", "]), unknown()).prop_map(
        |(format, mut units, comma, more)| {
            units.insert(0, Unit::User { blocks: false, text: "\"task\"".into(), more: "" });
            let (mut messages, mut owners) = (Vec::new(), Vec::new());
            for (number, unit) in units.iter().enumerate() {
                let written = match format {
                    Format::Anthropic => anthropic(unit, number),
                    Format::Responses => responses(unit, number),
                    Format::Ollama => ollama(unit, number),
                    _ => openai(unit, number),
                };
                owners.extend(written.iter().map(|_| number));
                messages.extend(written);
            }
            let key = key(format);
            let json = format!("{{\"{key}\" : [ {} ]{more}}}\n", messages.join(comma));
            Body { format, json, messages, units: owners }
        },
    )
}

/// The member that holds the messages.
pub(crate) fn key(format: Format) -> &'static str {
    if format == Format::Responses { "input" } else { "messages" }
}

fn responses(unit: &Unit, number: usize) -> Vec<String> {
    let message = |role: &str, kind: &str, blocks: &bool, text: &str, more: &str| match blocks {
        true => format!(
            r#"{{"type":"message","content":[{{"text":{text},"type":"{kind}"{more}}}],"role":"{role}"{more}}}"#
        ),
        false => format!(r#"{{"content":{text},"role":"{role}"{more}}}"#),
    };
    let reasoning =
        r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"\u00e9"}]}"#;
    match unit {
        Unit::User { blocks, text, more } => {
            vec![message("user", "input_text", blocks, text, more)]
        }
        Unit::Reply { blocks, text, more } => {
            vec![reasoning.to_owned(), message("assistant", "output_text", blocks, text, more)]
        }
        Unit::Exchange { text, results, more } => {
            let mut items = vec![reasoning.to_owned()];
            items.extend(
                text.iter().map(|text| message("assistant", "output_text", &true, text, more)),
            );
            items.extend((0..results.len()).map(|place| {
                format!(r#"{{"type":"function_call","call_id":"{number}_{place}","name":"t","arguments":"{{\"p\":2.50}}"{more}}}"#)
            }));
            items.push(format!(r#"{{"type":"unheard_of","x":1.0{more}}}"#));
            items.extend(results.iter().enumerate().map(|(place, (result, list))| {
                let output = match list {
                    true => format!(r#"[ {{"type":"input_text","text":{result}}} , {{"type":"input_image","image_url":"u"}} ]"#),
                    false => result.clone(),
                };
                format!(r#"{{"output":{output},"type":"function_call_output","call_id":"{number}_{place}"{more}}}"#)
            }));
            items
        }
    }
}

fn ollama(unit: &Unit, _: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => {
            let images = if *blocks { r#","images":[ "AA==" , "AB=="]"# } else { "" };
            vec![format!(r#"{{"content":{text},"role":"user"{images}{more}}}"#)]
        }
        Unit::Reply { text, more, .. } => vec![said("assistant", false, text, more)],
        Unit::Exchange { text, results, more } => {
            let call =
                format!(r#"{{"function":{{"name":"t","arguments":{{"p":2.50{more}}}}}{more}}}"#);
            let calls = vec![call; results.len()].join(" ,");
            let text = text.as_deref().unwrap_or("\"\"");
            let mut messages = vec![format!(
                r#"{{"tool_calls":[ {calls} ],"content":{text},"role":"assistant"{more}}}"#
            )];
            messages.extend(results.iter().map(|(result, named)| {
                let tool = if *named { r#","tool_name":"t""# } else { "" };
                format!(r#"{{"role":"tool","content":{result}{tool}{more}}}"#)
            }));
            messages
        }
    }
}

fn said(role: &str, blocks: bool, text: &str, more: &str) -> String {
    match blocks {
        true => format!(
            r#"{{"role":"{role}", "content":[{{"type":"text","text":{text}{more}}}]{more}}}"#
        ),
        false => format!(r#"{{"content":{text},"role":"{role}"{more}}}"#),
    }
}

fn anthropic(unit: &Unit, number: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => vec![said("user", *blocks, text, more)],
        Unit::Reply { blocks, text, more } => vec![said("assistant", *blocks, text, more)],
        Unit::Exchange { text, results, more } => {
            let mut reply =
                vec![r#"{"type":"thinking","thinking":"\u00e9","signature":"s"}"#.to_owned()];
            reply.extend(text.iter().map(|text| format!(r#"{{"type":"text","text":{text}}}"#)));
            reply.push(format!(r#"{{"type":"unheard_of","x":1.0{more}}}"#));
            let mut answers = Vec::new();
            for (place, (result, list)) in results.iter().enumerate() {
                reply.push(format!(r#"{{"type":"tool_use","id":"{number}_{place}","name":"t","input":{{"p":2.50{more}}}{more}}}"#));
                let content = match list {
                    true => format!(
                        r#"[ {{"type":"text","text":{result}}} , {{"type":"image","source":{{}}}} ]"#
                    ),
                    false => result.clone(),
                };
                answers.push(format!(r#"{{"type":"tool_result","content":{content},"tool_use_id":"{number}_{place}"{more}}}"#));
            }
            vec![
                format!(r#"{{"role":"assistant","content":[{}]}}"#, reply.join(", ")),
                format!(r#"{{"content":[{}],"role":"user"{more}}}"#, answers.join(" ,")),
            ]
        }
    }
}

fn openai(unit: &Unit, number: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => vec![said("user", *blocks, text, more)],
        Unit::Reply { blocks, text, more } => vec![said("assistant", *blocks, text, more)],
        Unit::Exchange { text, results, more } => {
            let calls: Vec<_> = (0..results.len())
                .map(|place| format!(r#"{{"id":"{number}_{place}","type":"function","function":{{"name":"t","arguments":"{{\"p\":2.50}}"}}{more}}}"#))
                .collect();
            let text = text.as_deref().unwrap_or("null");
            let mut messages = vec![format!(
                r#"{{"tool_calls":[ {} ],"content":{text},"role":"assistant"{more}}}"#,
                calls.join(" ,")
            )];
            messages.extend(results.iter().enumerate().map(|(place, (result, list))| {
                let content = match list {
                    true => format!(r#"[{{"type":"text","text":{result}}}]"#),
                    false => result.clone(),
                };
                format!(r#"{{"role":"tool","content":{content},"tool_call_id":"{number}_{place}"{more}}}"#)
            }));
            messages
        }
    }
}
