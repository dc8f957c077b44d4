//! What a compression makes of a conversation is valid in every provider's format: whichever
//! exchanges leave, calls keep their results and reasoning keeps what it led to (RULES 101 to 106).

use epitome_kernel::types::{
    BudgetUnit, Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, Op, Plan,
};
use epitome_kernel::{SizeGauge, Thread, ThreadSizes, apply};
use epitome_testkit::FixedCounter;
use epitome_wire::{Format, RequestDocument, validate};
use proptest::prelude::*;

/// One reply: reasoning first or not, how many calls, and a text behind the results or not.
type Reply = (bool, usize, bool);

fn request(format: Format, replies: &[Reply]) -> String {
    let mut messages = Vec::new();
    for (number, (thinks, calls, says)) in replies.iter().enumerate() {
        let user = format!("What of {number}?");
        let ids: Vec<_> = (0..*calls).map(|call| format!("c{number}_{call}")).collect();
        match format {
            Format::Responses => responses(&mut messages, &user, *thinks, &ids, *says),
            Format::Anthropic => anthropic(&mut messages, &user, *thinks, &ids, *says),
            _ => chat(&mut messages, format, &user, &ids, *says),
        }
    }
    messages.push(r#"{"role":"user","content":"And now?"}"#.to_owned());
    let key = if format == Format::Responses { "input" } else { "messages" };
    format!(r#"{{"model":"m","{key}":[{}]}}"#, messages.join(" ,"))
}

fn responses(out: &mut Vec<String>, user: &str, thinks: bool, ids: &[String], says: bool) {
    let message = |role: &str, text: &str| {
        format!(r#"{{"type":"message","role":"{role}","content":"{text}"}}"#)
    };
    out.push(message("user", user));
    let calls = ids.iter().map(|id| {
        format!(r#"{{"type":"function_call","call_id":"{id}","name":"t","arguments":"{{}}"}}"#)
    });
    let outputs = ids
        .iter()
        .rev()
        .map(|id| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"done"}}"#));
    if thinks && (says || !ids.is_empty()) {
        let reasoning = r#"{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}"#;
        out.push(reasoning.to_owned());
    }
    out.extend(calls.chain(outputs));
    if says {
        out.push(message("assistant", "It is done."));
    }
}

fn anthropic(out: &mut Vec<String>, user: &str, thinks: bool, ids: &[String], says: bool) {
    out.push(format!(r#"{{"role":"user","content":"{user}"}}"#));
    if !ids.is_empty() {
        let thinking = r#"{"type":"thinking","thinking":"hm","signature":"s"},"#;
        let thinking = if thinks { thinking } else { "" };
        let calls = ids
            .iter()
            .map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}"#));
        let results = ids
            .iter()
            .map(|id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"done"}}"#));
        let [calls, results] =
            [calls.collect::<Vec<_>>(), results.collect()].map(|it| it.join(","));
        out.push(format!(r#"{{"role":"assistant","content":[{thinking}{calls}]}}"#));
        out.push(format!(r#"{{"role":"user","content":[{results}]}}"#));
    }
    if says {
        out.push(r#"{"role":"assistant","content":"It is done."}"#.to_owned());
    }
}

fn chat(out: &mut Vec<String>, format: Format, user: &str, ids: &[String], says: bool) {
    out.push(format!(r#"{{"role":"user","content":"{user}"}}"#));
    if !ids.is_empty() {
        let ollama = format == Format::Ollama;
        let calls = ids.iter().map(|id| match ollama {
            true => r#"{"function":{"name":"t","arguments":{}}}"#.to_owned(),
            false => format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":"{{}}"}}}}"#
            ),
        });
        let calls = calls.collect::<Vec<_>>().join(",");
        out.push(format!(r#"{{"role":"assistant","content":"","tool_calls":[{calls}]}}"#));
        out.extend(ids.iter().map(|id| match ollama {
            true => r#"{"role":"tool","tool_name":"t","content":"done"}"#.to_owned(),
            false => format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"done"}}"#),
        }));
    }
    if says {
        out.push(r#"{"role":"assistant","content":"It is done."}"#.to_owned());
    }
}

proptest! {
    #[test]
    fn whatever_leaves_what_stays_is_valid(
        replies in proptest::collection::vec((any::<bool>(), 0usize..4, any::<bool>()), 1..7),
        format in proptest::sample::select(Format::PROVIDERS.to_vec()),
        taken in proptest::collection::vec(any::<bool>(), 64),
        (front, assistant) in any::<(bool, bool)>(),
    ) {
        let body = request(format, &replies);
        prop_assert_eq!(validate(format, body.as_bytes()), Ok(()), "{}", body);
        let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
        let thread = Thread::new(document.entries().to_vec(), &[]);
        prop_assert!(thread.exchanges().iter().all(|exchange| !exchange.broken), "{}", body);
        let free = thread.exchanges().iter().zip(&taken).filter(|(exchange, taken)| {
            let pinned = |at: usize| thread.pinned(EntryId(at as u32)).is_some();
            **taken && !exchange.entries.clone().any(pinned)
        });
        let covers: Vec<_> =
            free.flat_map(|(exchange, _)| exchange.entries.clone()).map(|at| EntryId(at as u32)).collect();
        prop_assume!(!covers.is_empty());
        let text = "S".to_owned();
        let checkpoint = Checkpoint { id: ContentId::for_text(&text), covers, text, level: CheckpointLevel::Detailed, stand: CheckpointPlacement { front, assistant }, model: None };
        let plan = Plan { ops: vec![Op::Summarize(checkpoint)], ..Plan::default() };
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
        let view = apply(&thread, &sizes, &plan).unwrap();
        let edited = document.edited(&view.edits()).unwrap();
        let shown = String::from_utf8_lossy(&edited);
        prop_assert_eq!(validate(format, &edited), Ok(()), "{} became {}", body, shown);
    }
}
