//! From a request and the script to an answer: which turn it is, what is said, what is remembered.
//!
//! Invariant: the turn is read from the request itself, by marks that earlier answers left in it
//! (`turn7x12`), so any number of conversations can run at once and none needs a name. Called by
//! `server`.

use std::collections::HashMap;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::api::{Api, Called, Reply, Takes, Thought, responses};
use crate::cache::Usage;
use crate::rules::{Memory, binding, items, text};
use crate::script::Script;

/// The turn that a prompt asks for, counted from 1: one more than the latest it holds marks of.
pub(crate) fn turn_of(body: &str) -> u64 {
    let mut latest = 0;
    for (at, word) in body.match_indices("turn") {
        let rest = &body[at + word.len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if rest[digits..].starts_with('x')
            && let Ok(number) = rest[..digits].parse::<u64>()
        {
            latest = latest.max(number);
        }
    }
    latest + 1
}

/// The last `tag:WORD` in a prompt, which its answer names; so a test sees whose answer it got.
pub(crate) fn tag_of(body: &str) -> Option<&str> {
    let rest = &body[body.rfind("tag:")?..];
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Writes the answer that the script has for a turn; `place` is the prompt's among all.
pub(crate) fn write(
    api: Api,
    script: &Script,
    body: &Value,
    raw: &str,
    (number, place): (u64, u64),
    usage: Usage,
) -> Reply {
    let at = if script.plain { place } else { turn_of(raw) };
    let turn = script.turn(at);
    let mark = format!("turn{at}x{number}");
    let to = tag_of(raw).map(|tag| format!(" to {tag}")).unwrap_or_default();
    let said = turn.map_or("That is all.", |turn| &turn.text);
    let declared = declared(body);
    let calls = turn.into_iter().flat_map(|turn| &turn.calls).filter_map(|call| {
        let takes = declared.get(call.name.as_str())?;
        Some((call.name.clone(), call.input_at(at), takes.clone()))
    });
    let calls: Vec<Called> = calls
        .enumerate()
        .map(|(index, (name, input, takes))| Called {
            id: format!("{mark}x{index}"),
            name,
            input,
            takes,
        })
        .collect();
    let thinking = turn.and_then(|turn| turn.thinking.as_ref()).filter(|_| thinks(api, body));
    let thinking = thinking.map(|text| {
        let hash = xxh3_128(format!("{mark} {text}").as_bytes());
        Thought { text: format!("{text} ({mark})"), signature: format!("{hash:032x}{mark}==") }
    });
    let mut reply = Reply {
        number,
        model: body["model"].clone(),
        thinking,
        text: match script.plain {
            true => said.to_owned(),
            false => format!("Answer {mark}{to}. {said}").trim_end().to_owned(),
        },
        calls,
        usage,
        transformed: Value::Null,
    };
    reply.usage.output = api.whole(&reply).to_string().len() as u64 / 4;
    reply
}

/// The tools that a request declares, by name.
fn declared(body: &Value) -> HashMap<&str, Takes> {
    let one = |tool: &Value, namespace: Option<&str>| Takes {
        custom: text(tool, "type") == "custom",
        namespace: namespace.map(str::to_owned),
    };
    let mut all = HashMap::new();
    for tool in items(body, "tools") {
        let named = if tool["function"].is_null() { tool } else { &tool["function"] };
        all.insert(text(named, "name"), one(tool, None));
        let space = text(tool, "name");
        let inner = items(tool, "tools").iter();
        all.extend(inner.map(|inner| (text(inner, "name"), one(inner, Some(space)))));
    }
    all
}

fn thinks(api: Api, body: &Value) -> bool {
    match api {
        Api::Anthropic => matches!(text(&body["thinking"], "type"), "enabled" | "adaptive"),
        Api::Responses => !body["reasoning"].is_null(),
        Api::Ollama => body["think"] == json!(true),
        Api::Chat => false,
    }
}

/// Remembers what must come back as it was given out.
pub(crate) fn remember(api: Api, reply: &Reply, body: &Value, memory: &mut Memory) {
    let Some(thought) = &reply.thinking else { return };
    if let Some(prefix) = binding::of_whole(api, body) {
        memory.bound.insert(thought.signature.clone(), prefix);
    }
    let partner = match api {
        Api::Anthropic => {
            memory.thoughts.insert(thought.signature.clone(), thought.text.clone());
            thought.signature.clone()
        }
        _ => responses::reasoning_id(reply),
    };
    let mut with = |id: String| memory.partners.insert(id, partner.clone());
    for call in &reply.calls {
        with(match api {
            Api::Anthropic => format!("toolu_{}", call.id),
            _ => responses::item_id(call),
        });
    }
    if api == Api::Responses {
        with(responses::message_id(reply));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Call, Turn};

    fn reply(api: Api, body: &Value) -> Reply {
        let calls =
            vec![Call::new("read", json!({"path": "{turn}.txt"})), Call::new("no", json!({}))];
        let thinking = Some("Hm.".to_owned());
        let script = Script {
            turns: vec![Turn { thinking, calls, text: "I read.".to_owned() }],
            ..Script::default()
        };
        write(api, &script, body, &body.to_string(), (12, 1), Usage::default())
    }

    #[test]
    fn a_plain_script_says_its_texts_one_prompt_after_the_other() {
        let turns = ["one", "two"].map(|text| Turn { text: text.to_owned(), ..Turn::default() });
        let script = Script { turns: turns.to_vec(), plain: true, ..Script::default() };
        let said = |place| {
            let body = json!({"messages": [{"role": "user", "content": "turn7x1"}]});
            let raw = body.to_string();
            write(Api::Chat, &script, &body, &raw, (9, place), Usage::default()).text
        };
        assert_eq!([said(1), said(2), said(3)], ["one", "two", "That is all."]);
    }

    #[test]
    fn the_turn_and_the_tag_stand_in_the_prompt() {
        assert_eq!(turn_of("return 5x, turns, turnx"), 1);
        assert_eq!(turn_of("toolu_turn3x9x0 … turn12x40"), 13);
        assert_eq!(tag_of("tag:a, then tag:b-2\" more"), Some("tag:b-2"));
        assert_eq!(tag_of("none"), None);
    }

    #[test]
    fn only_declared_tools_are_called() {
        let body = json!({"model": "m", "tools": [{"name": "read"}], "messages": ["tag:x"],
            "thinking": {"type": "adaptive"}});
        let said = reply(Api::Anthropic, &body);
        assert_eq!(said.text, "Answer turn1x12 to tag:x. I read.");
        assert_eq!(said.calls.len(), 1);
        assert_eq!(said.calls[0].input, json!({"path": "1.txt"}));
        let later = json!({"messages": [{"id": "toolu_turn1x12x0"}]});
        assert_eq!(reply(Api::Anthropic, &later).text, "Answer turn2x12. That is all.");
    }

    #[test]
    fn a_tool_of_a_server_is_called_with_its_server() {
        let server = json!({"type": "namespace", "name": "mcp__files",
            "tools": [{"type": "function", "name": "read"}]});
        let body = json!({"model": "m", "input": [], "tools": [server]});
        let said = reply(Api::Responses, &body);
        let call = &Api::Responses.whole(&said)["output"][1];
        assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__files"), &json!("read")));
        let plain = json!({"model": "m", "input": [], "tools": [{"name": "read"}]});
        let said = reply(Api::Responses, &plain);
        assert_eq!(Api::Responses.whole(&said)["output"][1]["namespace"], Value::Null);
    }

    #[test]
    fn streams_say_what_whole_answers_say() {
        let body = json!({"model": "m", "thinking": {"type": "adaptive"}, "reasoning": {},
            "think": true, "tools": [{"name": "read"}]});
        for api in [Api::Anthropic, Api::Chat, Api::Responses, Api::Ollama] {
            let said = reply(api, &body);
            let whole = api.whole(&said).to_string();
            assert!(whole.contains("turn1x12x0") && whole.contains("1.txt"), "{whole}");
            let stream = api.events(&said, &body).concat();
            for piece in ["Answer tu", "rn1x12. I", "turn1x12x0"] {
                assert!(stream.contains(piece), "{api:?}: {stream}");
            }
            let lines = stream.lines().filter(|line| line.starts_with(['d', '{']));
            let lines = lines.map(|line| line.trim_start_matches("data: "));
            for line in lines.filter(|line| *line != "[DONE]") {
                assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn thoughts_are_remembered_with_what_they_led_to() {
        let body =
            json!({"thinking": {"type": "enabled"}, "reasoning": {}, "tools": [{"name": "read"}]});
        let mut memory = Memory::default();
        let said = reply(Api::Anthropic, &body);
        remember(Api::Anthropic, &said, &body, &mut memory);
        let signature = &memory.partners["toolu_turn1x12x0"];
        assert_eq!(memory.thoughts[signature], "Hm. (turn1x12)");
        remember(Api::Responses, &reply(Api::Responses, &body), &body, &mut memory);
        assert_eq!(memory.partners["fc_turn1x12x0"], "rs_000012");
        assert_eq!(memory.partners["msg_000012"], "rs_000012");
    }
}
