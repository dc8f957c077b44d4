//! Tool calls and results leave in every provider's format, and what was said stays: the bytes are
//! valid, no call is without its result, and no text changes (RULES 4, 36, 101 to 107).

use epitome_kernel::types::hook::{ClearToolsOp, MessageNumber, OpRequest, Orders};
use epitome_kernel::types::{Budget, BudgetUnit, Entry, EntryId, Op, PartBody, Plan, Role};
use epitome_kernel::{SizeGauge, Thread, ThreadSizes, apply};
use epitome_plan::{
    CompressOptions, ConstraintState, FitOutcome, KernelTexts, PlanAssembly, PlanMeans,
    RequestEnvelope, assemble,
};
use epitome_testkit::{FixedCounter, now};
use epitome_types::{CheckpointPlacement, SummaryStyle};
use epitome_wire::{Format, RequestDocument, validate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// One reply of a model that may call tools, and what came back.
#[derive(Clone, Debug)]
struct Reply {
    asked: Option<&'static str>,
    thinks: bool,
    /// What it says before it calls.
    says: Option<&'static str>,
    calls: usize,
    /// A call that the provider's side answers.
    server: bool,
    /// Whether reasoning stands right before the calls as well.
    thinks_again: bool,
    /// Whether results are lists, with an image.
    image: bool,
    /// What a person or the harness says beside the results.
    beside: Option<&'static str>,
}

fn reply() -> impl Strategy<Value = Reply> {
    let said = || prop::option::of(select(vec!["I look at it.", "Né \"so\"\n", "42"]));
    let asked = prop::option::weighted(0.4, select(vec!["Go on.", "What of it?"]));
    let beside = prop::option::weighted(0.2, select(vec!["Hurry.", "A note."]));
    let flag = || prop::bool::weighted(0.3);
    let shape = (flag(), flag(), flag(), flag());
    (asked, said(), 0..4_usize, shape, beside).prop_map(|(asked, says, calls, shape, beside)| {
        let (thinks, server, thinks_again, image) = shape;
        Reply { asked, thinks, says, calls, server, thinks_again, image, beside }
    })
}

fn body(format: Format, replies: &[Reply]) -> Value {
    let mut out = vec![json!({ "role": "user", "content": "Begin." })];
    for (number, reply) in replies.iter().enumerate() {
        let ids: Vec<_> = (0..reply.calls).map(|call| format!("c{number}_{call}")).collect();
        out.extend(reply.asked.map(|text| json!({ "role": "user", "content": text })));
        match format {
            Format::Anthropic => anthropic(&mut out, reply, &ids, number),
            Format::Responses => responses(&mut out, reply, &ids),
            _ => chat(&mut out, format == Format::Ollama, reply, &ids),
        }
    }
    out.push(json!({ "role": "user", "content": "And now?" }));
    let key = if format == Format::Responses { "input" } else { "messages" };
    json!({ "model": "m", key: out })
}

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn anthropic(out: &mut Vec<Value>, reply: &Reply, ids: &[String], number: usize) {
    let mut blocks = Vec::new();
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    blocks.extend(reply.thinks.then(|| thinking.clone()));
    blocks.extend(reply.says.map(|text| json!({ "type": "text", "text": text })));
    if reply.server {
        let id = format!("s{number}");
        let input = json!({ "query": "q" });
        blocks.push(
            json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": input }),
        );
        blocks.push(json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }));
    }
    if !ids.is_empty() {
        blocks.extend((reply.thinks_again && reply.thinks).then_some(thinking));
    }
    let call = |id: &String| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
    blocks.extend(ids.iter().map(call));
    if blocks.iter().all(|block| block["type"] == "thinking") {
        return;
    }
    // A text alone is a string as often as a block.
    let content = match &blocks[..] {
        [one] if one["type"] == "text" => one["text"].clone(),
        _ => Value::Array(blocks),
    };
    out.push(json!({ "role": "assistant", "content": content }));
    let source = json!({ "type": "base64", "media_type": "image/png", "data": PIXEL });
    let result = |id: &String| {
        let image =
            json!([{ "type": "text", "text": "seen" }, { "type": "image", "source": source }]);
        let content = if reply.image { image } else { json!("what it says") };
        json!({ "type": "tool_result", "tool_use_id": id, "content": content })
    };
    let mut results: Vec<_> = ids.iter().map(result).collect();
    let beside = reply.beside.map(|text| json!({ "type": "text", "text": text }));
    results.extend(beside.filter(|_| !ids.is_empty()));
    if !results.is_empty() {
        out.push(json!({ "role": "user", "content": results }));
    }
}

fn responses(out: &mut Vec<Value>, reply: &Reply, ids: &[String]) {
    let reasoning =
        || json!({ "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" });
    let speaks = reply.says.is_some() || !ids.is_empty();
    out.extend((reply.thinks && speaks).then(reasoning));
    let says = |text: &str| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    out.extend(reply.says.map(says));
    out.extend((reply.thinks_again && !ids.is_empty()).then(reasoning));
    let call = |id: &String| json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": "{}" });
    out.extend(ids.iter().map(call));
    if !ids.is_empty() {
        out.extend(reply.server.then(|| says("Meanwhile.")));
    }
    let output =
        |id: &String| json!({ "type": "function_call_output", "call_id": id, "output": "done" });
    out.extend(ids.iter().rev().map(output));
    out.extend(reply.beside.map(|text| json!({ "role": "user", "content": text })));
}

fn chat(out: &mut Vec<Value>, ollama: bool, reply: &Reply, ids: &[String]) {
    let call = |id: &String| match ollama {
        true => json!({ "function": { "name": "read", "arguments": { "path": id } } }),
        false => {
            json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } })
        }
    };
    let mut message = json!({ "role": "assistant", "content": reply.says.unwrap_or("") });
    if reply.says.is_none() && !ollama {
        message["content"] = Value::Null;
    }
    if ollama && reply.thinks {
        message["thinking"] = json!("hm");
    }
    if !ids.is_empty() {
        message["tool_calls"] = ids.iter().map(call).collect();
    } else if reply.says.is_none() {
        return;
    }
    out.push(message);
    let result = |id: &String| match (ollama, reply.image) {
        (true, true) => {
            json!({ "role": "tool", "tool_name": "read", "content": "x", "images": [PIXEL] })
        }
        (true, false) => json!({ "role": "tool", "content": "what it says" }),
        (false, true) => {
            let blocks = json!([{ "type": "text", "text": "seen" }]);
            json!({ "role": "tool", "tool_call_id": id, "content": blocks })
        }
        (false, false) => json!({ "role": "tool", "tool_call_id": id, "content": "what it says" }),
    };
    out.extend(ids.iter().map(result));
    out.extend(reply.beside.map(|text| json!({ "role": "user", "content": text })));
}

fn options() -> CompressOptions {
    CompressOptions {
        keep_recent_share: 0.5,
        keep_recent_slack: 0.0,
        newest_results_share: 0.0,
        keep_recent_messages: None,
        minimum_gain: 0.0,
        digest_tokens: 24,
        style: SummaryStyle::Verbatim,
        originals: true,
        passages: true,
        passage_bytes: 400,
        ladder: Vec::new(),
        unbind: false,
        texts: KernelTexts {
            label: String::new(),
            label_short: String::new(),
            label_share: 0.1,
            marker: String::new(),
            stub: String::new(),
            line_chars: 60,
        },
        state: None,
        demands: ConstraintState::default(),
        stand: CheckpointPlacement::default(),
        inputs: Vec::new(),
        envelope: RequestEnvelope::default(),
        policy: "test".to_owned(),
        hook: "plan".to_owned(),
    }
}

/// What was said, with who said it; tool traffic and reasoning left out.
fn talk(entries: &[Entry]) -> Vec<(Role, String)> {
    let said = entries.iter().filter(|entry| entry.role != Role::Tool).flat_map(|entry| {
        entry.parts.iter().filter_map(|part| match &part.body {
            PartBody::Text(text) if part.within.is_none() && !text.is_empty() => {
                Some((entry.role, text.clone()))
            }
            _ => None,
        })
    });
    said.collect()
}

/// The tool blocks that are still there.
fn tools(entries: &[Entry]) -> usize {
    entries.iter().flat_map(|entry| &entry.parts).filter(|part| part.body.is_tool()).count()
}

/// Carries strip orders out; the plan that comes out, none where nothing is left to take.
fn stripped(
    thread: &Thread,
    options: &CompressOptions,
    standing: Plan,
    places: Vec<MessageNumber>,
) -> Plan {
    let ops = vec![OpRequest::ClearTools(ClearToolsOp { entries: places })];
    let orders = Orders { ops, ..Orders::default() };
    let budget = Budget { unit: BudgetUnit::Tokens, most: 1 << 20 };
    let means = PlanMeans { budget, counter: &FixedCounter::Words, summarizers: 0 };
    let made = PlanAssembly::new(thread, options, means, standing, &orders);
    match now(assemble(made.expect("places of the thread"), thread, options, &[])) {
        FitOutcome::Compressed(done) => done.plan,
        FitOutcome::NothingToDo { .. } => Plan::default(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_left_is_valid_and_says_the_same(
        replies in vec(reply(), 1..7),
        format in select(Format::PROVIDERS.to_vec()),
        taken in vec(any::<bool>(), 80),
        pretty in any::<bool>(),
    ) {
        let body = body(format, &replies);
        let body = if pretty { format!("{body:#}") } else { body.to_string() };
        prop_assert_eq!(validate(format, body.as_bytes()), Ok(()), "{}", body);
        let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
        let thread = Thread::new(document.entries().to_vec(), &[]);
        let options = options();
        let all = (1..).map(MessageNumber).take(thread.entries().len());
        let some: Vec<_> = all.clone().zip(&taken).filter(|(_, taken)| **taken).map(|(at, _)| at).collect();
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
        let first = stripped(&thread, &options, Plan::default(), some);
        let whole = stripped(&thread, &options, first.clone(), all.collect());
        // What is done in two goes is what one would do.
        let at_once = stripped(&thread, &options, Plan::default(), (1..).map(MessageNumber).take(thread.entries().len()).collect());
        prop_assert_eq!(&whole.ops, &at_once.ops);
        for plan in [&first, &whole] {
            let view = apply(&thread, &sizes, plan).unwrap();
            let edited = document.edited(&view.edits()).unwrap();
            let shown = String::from_utf8_lossy(&edited);
            prop_assert_eq!(validate(format, &edited), Ok(()), "{} became {}", body, shown);
            let after = RequestDocument::parse(&edited, format).unwrap();
            prop_assert_eq!(talk(after.entries()), talk(document.entries()), "{}", shown);
            prop_assert_eq!(after.entries().len(), view.entries().len(), "{}", shown);
            let sent = ThreadSizes::measure(after.entries(), gauge, 0).total();
            prop_assert_eq!(view.size(&sizes), sent, "{}", shown);
            prop_assert_eq!(view.breakdown(&sizes).sum(), sent);
            let exchanges = Thread::new(after.entries().to_vec(), &[]);
            prop_assert!(exchanges.exchanges().iter().all(|one| !one.broken), "{}", shown);
        }
        // All that is left is what nothing may touch.
        let left = apply(&thread, &sizes, &whole).unwrap();
        let held = thread.exchanges().iter().filter(|one| thread.stripped(one).is_none());
        let held = held.flat_map(|one| &thread.entries()[one.entries.clone()]).cloned();
        prop_assert_eq!(tools(&left.entries()), tools(&held.collect::<Vec<_>>()));
    }
}

/// Checks what a request becomes without the tool traffic of all but its last person's words.
#[track_caller]
fn check(format: Format, messages: &str, expected: &str) {
    let (head, tail) = (r#"{"model":"m","messages":["#, r#","n":1.0}"#);
    let head =
        head.replace("messages", if format == Format::Responses { "input" } else { "messages" });
    let last = r#"{"role":"user","content":"now"}"#;
    let body = format!("{head}{messages},{last}]{tail}");
    assert_eq!(validate(format, body.as_bytes()), Ok(()));
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    let thread = Thread::new(document.entries().to_vec(), &[]);
    let places = (1..).map(MessageNumber).take(thread.entries().len()).collect();
    let plan = stripped(&thread, &options(), Plan::default(), places);
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let view = apply(&thread, &ThreadSizes::measure(thread.entries(), gauge, 0), &plan).unwrap();
    let edited = document.edited(&view.edits()).unwrap();
    let edited = String::from_utf8(edited).unwrap();
    assert_eq!(edited, format!("{head}{expected},{last}]{tail}"));
    assert_eq!(validate(format, edited.as_bytes()), Ok(()));
}

/// RULES 36: text stays, a message left without blocks is dropped with its thinking, thinking in a
/// message whose text stays is kept untouched; RULES 37: strings, parallel calls, images.
#[test]
fn blocks_leave_and_talk_stays() {
    check(
        Format::Anthropic,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"I \u006cook"} , {"type":"tool_use","id":"a","name":"t","input":{"n":1e2}},{"type":"tool_use","id":"b","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"y"}]},{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"text","text":"note"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"tool_use","id":"c","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":""}]},{"role":"assistant","content":"done"}"#,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"I \u006cook"}]},{"role":"user","content":[{"type":"text","text":"note"}]},{"role":"assistant","content":"done"}"#,
    );
    check(
        Format::OpenAi,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":"I look","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"y"},{"role":"tool","tool_call_id":"a","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"z"}"#,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":"I look"}"#,
    );
    check(
        Format::Responses,
        r#"{"role":"user","content":"go"},{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":"I look"},{"type":"reasoning","id":"q","summary":[],"encrypted_content":"x"},{"type":"function_call","call_id":"a","name":"t","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"}"#,
        r#"{"role":"user","content":"go"},{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":"I look"}"#,
    );
    check(
        Format::Ollama,
        r#"{"role":"user","content":"go"},{"role":"assistant","thinking":"h","content":"I look","tool_calls":[{"function":{"name":"t","arguments":{"n":1e2}}}]},{"role":"tool","content":"x"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"t","arguments":{}}}]},{"role":"tool","tool_name":"t","content":"x"}"#,
        r#"{"role":"user","content":"go"},{"role":"assistant","thinking":"h","content":"I look"}"#,
    );
}

/// What may not be touched stays whole: the latest reasoning, what a person typed last, a message
/// that would end with reasoning (RULES 107).
#[test]
fn what_may_not_be_touched_stays_whole() {
    let same = |format, messages: &str| check(format, messages, messages);
    same(
        Format::Anthropic,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"thinking","thinking":"h","signature":"s"},{"type":"tool_use","id":"a","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},{"role":"assistant","content":"done"}"#,
    );
    same(
        Format::Anthropic,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"I look"},{"type":"tool_use","id":"a","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}"#,
    );
}

/// Nothing but whole exchanges leave in two steps of one plan, and a history that goes on sends
/// the same (RULES 10).
#[test]
fn the_ops_of_an_exchange_stand_together() {
    let format = Format::OpenAi;
    let body = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"},{"role":"user","content":"now"}]}"#;
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    let thread = Thread::new(document.entries().to_vec(), &[]);
    let plan = stripped(&thread, &options(), Plan::default(), vec![MessageNumber(3)]);
    let part = epitome_types::PartId { entry: EntryId(1), part: 1 };
    let ops = [Op::Drop { entries: vec![EntryId(2)] }, Op::Strip { parts: vec![part] }];
    assert!(ops.iter().all(|op| plan.ops.contains(op)), "{plan:?}");
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
    for op in ops {
        let alone = Plan { ops: vec![op], ..Plan::default() };
        let error = apply(&thread, &sizes, &alone).unwrap_err();
        assert!(error.to_string().contains("belongs to the exchange e1 to e2"), "{error}");
    }
}
