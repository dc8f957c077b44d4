//! What calls wrote to files leaves the prompt, in every format, once it is on disk (RULES 47).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use epitome::types::hook::{How, Input, MessageNumber, OpRequest, Orders, Replace};
use epitome::{
    Answer, Format, Job, MemoryStore, NextPolicies, Profile, Session, SessionAdmin, Workspace,
    validate,
};
use epitome_kernel::WorkspaceError;
use epitome_testkit::now;
use serde_json::{Value, json};

use crate::talk::with;

const WITH: &str = "[written: {id}]";

/// Files by their paths.
struct Disk(BTreeMap<&'static str, String>);

impl Workspace for Disk {
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool {
        self.0.get(path).is_some_and(|file| file.as_bytes() == bytes)
    }

    fn holds(&self, path: &str, piece: &str) -> bool {
        self.0.get(path).is_some_and(|file| file.contains(piece))
    }

    fn export(&self, path: &str, _bytes: &[u8]) -> Result<(), WorkspaceError> {
        Err(WorkspaceError { path: path.to_owned(), cause: "read only".to_owned() })
    }
}

fn content(name: &str) -> String {
    (0..40).map(|line| format!("let {name}_{line} = \"{line}\";\n")).collect()
}

/// What the model calls: as it was written, changed since, and edited.
fn calls() -> [(&'static str, Value); 3] {
    let edit = |name: &str| json!({"path": "c.rs", "oldText": "x", "newText": content(name)});
    [
        ("write", json!({"path": "a.rs", "content": content("a")})),
        ("write", json!({"path": "b.rs", "content": content("b")})),
        ("edit", edit("c")),
    ]
}

fn disk() -> Disk {
    let around = format!("// first\n{}// last\n", content("c"));
    Disk(BTreeMap::from([("a.rs", content("a")), ("b.rs", content("new")), ("c.rs", around)]))
}

/// A request in which three calls are made and answered, with so many questions behind them.
fn request(format: Format, questions: usize) -> Vec<u8> {
    let user = |text: &str| json!({"role": "user", "content": text});
    let calls = calls();
    let ids = ["i1", "i2", "i3"];
    let named = || calls.iter().zip(ids);
    let function = |name: &str, input: &Value| match format {
        Format::Ollama => json!({"name": name, "arguments": input}),
        _ => json!({"name": name, "arguments": input.to_string()}),
    };
    let mut messages = vec![user("Write the files.")];
    match format {
        Format::Anthropic => {
            let of = |((name, input), id): (&(&str, Value), &str)| json!({"type": "tool_use", "id": id, "name": name, "input": input});
            let result =
                |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
            let calls = named().map(of).collect::<Vec<_>>();
            messages.push(json!({"role": "assistant", "content": calls}));
            messages.push(json!({"role": "user", "content": ids.map(result)}));
        }
        Format::Responses => {
            let of = |((name, input), id): (&(&str, Value), &str)| json!({"type": "function_call", "call_id": id, "name": name, "arguments": input.to_string()});
            messages.extend(named().map(of));
            let result =
                |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "ok"});
            messages.extend(ids.map(result));
        }
        _ => {
            let of = |((name, input), id): (&(&str, Value), &str)| json!({"id": id, "type": "function", "function": function(name, input)});
            let all = named().map(of).collect::<Vec<_>>();
            messages.push(json!({"role": "assistant", "content": "", "tool_calls": all}));
            let result = |((name, _), id): (&(&str, Value), &str)| json!({"role": "tool", "tool_call_id": id, "tool_name": name, "content": "ok"});
            messages.extend(named().map(result));
        }
    }
    for turn in 0..questions {
        messages.push(json!({"role": "assistant", "content": format!("Done {turn}.")}));
        messages.push(user(&format!("And what about {turn}?")));
    }
    let key = if format == Format::Responses { "input" } else { "messages" };
    json!({ key: messages, "model": "m" }).to_string().into_bytes()
}

/// What policies were told of the calls.
type Told = Arc<Mutex<Vec<Input>>>;

fn session(format: Format, journal: &Arc<MemoryStore>, told: &Told) -> Session {
    let seen = told.clone();
    let policy = move |job: &Job<'_>, _: &NextPolicies<'_>| {
        let Job::Plan(job) = job else { return Ok(None) };
        let all = (1..).map(MessageNumber).zip(&job.entries.inputs);
        let all: Vec<_> = all.flat_map(|(at, it)| it.iter().map(move |one| (at, one))).collect();
        *seen.lock().unwrap() = all.iter().map(|(_, input)| (*input).clone()).collect();
        let ops = all.into_iter().filter(|(_, input)| input.persisted && input.ok);
        let ops = ops.map(|(entry, input)| {
            let (how, with, call) = (How::TruncateInput, Some(WITH.to_owned()), Some(input.call));
            OpRequest::Replace(Replace { entry, how, text: with, target: None, call })
        });
        Ok(Some(Answer::Plan(Orders { ops: ops.collect(), ..Orders::default() })))
    };
    let builder = with(9000, policy).input_format(format).workspace(disk());
    builder.session(journal.clone(), Some("talk"))
}

/// What stands in the place of what is not on disk any more, by the text that leaves.
fn shortened(body: &[u8], journal: &Arc<MemoryStore>) -> String {
    let keeper = SessionAdmin::new(journal.clone(), Profile::default());
    let body = String::from_utf8(body.to_vec()).unwrap();
    let marks = body.match_indices("[written: ").map(|(at, mark)| &body[at + mark.len()..][..8]);
    let texts: Vec<_> =
        marks.map(|id| keeper.original(&**journal, id, |_| ()).unwrap().text).collect();
    texts.join("\n")
}

#[track_caller]
fn check(format: Format) {
    let (journal, told) = (Arc::new(MemoryStore::new()), Told::default());
    let mut live = session(format, &journal, &told);
    live.request_compression();
    let before = request(format, 1);
    let prompt = now(live.prompt_for(&before)).unwrap();
    validate(format, &prompt.bytes).unwrap();
    let seen: Vec<_> = told.lock().unwrap().clone();
    let facts = |input: &Input| (input.path.clone(), input.persisted, input.ok);
    let expected = [("a.rs", true), ("b.rs", false), ("c.rs", true)];
    let expected = expected.map(|(path, there)| (path.to_owned(), there, true));
    assert_eq!(seen.iter().map(facts).collect::<Vec<_>>(), expected, "{format}");
    assert!(seen.iter().all(|input| input.tokens > 100), "{format} {seen:?}");

    // All that is not on disk is there to the byte; what is, can be had again.
    let after = String::from_utf8(prompt.bytes.to_vec()).unwrap();
    let whole = String::from_utf8(before).unwrap();
    let said = |body: &str, name: &str| body.contains(&format!("let {name}_39 = "));
    assert_eq!(["a", "b", "c"].map(|name| said(&after, name)), [false, true, false], "{format}");
    assert!(["a", "b", "c"].iter().all(|name| said(&whole, name)));
    let left = shortened(&prompt.bytes, &journal);
    let [(_, write), _, (_, edit)] = calls();
    assert_eq!(left, format!("{write}\n{edit}"), "{format}");
    assert!(after.contains(r#"oldText"#) && after.contains("i3") == whole.contains("i3"));

    // It stands so when the conversation goes on, and after a restart.
    let longer = request(format, 3);
    let on = now(live.prompt_for(&longer)).unwrap();
    let again = now(session(format, &journal, &told).prompt_for(&longer)).unwrap();
    assert_eq!(on.bytes, again.bytes, "{format}");
    let end = after.rfind(']').unwrap();
    assert!(on.bytes.starts_with(&after.as_bytes()[..end]), "{format}");
}

#[test]
fn what_is_on_disk_leaves_the_arguments_in_every_format() {
    Format::PROVIDERS.iter().for_each(|format| check(*format));
}
