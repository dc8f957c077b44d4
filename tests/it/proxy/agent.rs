//! An agent at work in each API, as its clients are: the history grows, calls are parallel,
//! results are large.

use serde_json::{Value, json};

use super::http::{Answer, Ask};
use super::serving::Serving;

/// An API that takes prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Chat,
    Responses,
    Ollama,
}

pub(crate) const APIS: [Api; 4] = [Api::Anthropic, Api::Chat, Api::Responses, Api::Ollama];

/// A client with its history.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) api: Api,
    /// The request that it sends next, without `stream`.
    pub(crate) body: Value,
    pub(crate) streams: bool,
    /// Moves a marker to the end of each request (Anthropic).
    pub(crate) marks: bool,
    pub(crate) headers: Vec<(String, String)>,
}

impl Api {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Ollama => "/api/chat",
        }
    }

    /// The member that holds the history.
    pub(crate) fn history(self) -> &'static str {
        if self == Self::Responses { "input" } else { "messages" }
    }

    pub(crate) fn tool(self, name: &str) -> Value {
        let schema = json!({"type": "object", "properties": {"n": {"type": "string"}}});
        match self {
            Self::Anthropic => json!({"name": name, "input_schema": schema}),
            Self::Responses => json!({"type": "function", "name": name, "parameters": schema}),
            _ => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        }
    }
}

/// What the upstream is scripted to call in each round.
pub(crate) fn calls() -> Vec<epitome_upstream::Call> {
    let input = json!({"n": "{turn}"});
    ["read_log", "read_file"].map(|name| epitome_upstream::Call::new(name, input.clone())).to_vec()
}

/// What the tools say: a log with one fatal line, which can be made small, and a file of source code,
/// which stays as it is, because an edit may need it word for word.
pub(crate) fn result_of(name: &str, n: &str) -> String {
    let line = |i: usize| match i {
        97 => format!("10:01:37 FATAL w3 run {n} out of memory: killed pid 80{n}"),
        _ => format!(
            "10:{:02}:{:02} INFO w{} run {n} item {i} took {}ms",
            i / 60,
            i % 60,
            i % 7,
            i * 37 % 900
        ),
    };
    let code = |i: usize| {
        format!(
            "def lease_{n}_{i}(ledger, amount: int, retries: int = {i}) -> int:\n    \"\"\"Renews \
             lease {i} of cluster {n}.\"\"\"\n    if amount < {}:\n        raise \
             LeaseError(\"{n}-{i} is too small\")\n    return ledger.post(\"rowan-{n}-{i}\", \
             amount * {})\n",
            i * 31 % 97,
            i + 3
        )
    };
    match name {
        "read_log" => (0..160).map(line).collect::<Vec<_>>().join("\n"),
        _ => (0..30).map(code).collect::<Vec<_>>().join("\n"),
    }
}

impl Agent {
    /// A conversation that begins with a system prompt and a task.
    pub(crate) fn new(api: Api, task: &str) -> Self {
        let system = "You keep the billing service running. cwd=/srv/billing";
        let tools = json!(["read_log", "read_file"].map(|name| api.tool(name)));
        let said = json!({"role": "user", "content": task});
        // The history stands last, so that one request's bytes begin with the last one's.
        let body = match api {
            Api::Anthropic => json!({"model": "claude-sonnet-4-5", "max_tokens": 900,
                "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
                "tools": tools, "messages": [said]}),
            Api::Responses => json!({"model": "gpt-5", "instructions": system, "store": false,
                "tools": tools, "input": [said]}),
            Api::Chat => json!({"model": "gpt-4o", "tools": tools,
                "messages": [{"role": "system", "content": system}, said]}),
            Api::Ollama => json!({"model": "llama3.2", "tools": tools,
                "messages": [{"role": "system", "content": system}, said]}),
        };
        Self { api, body, streams: false, marks: false, headers: Vec::new() }
    }

    /// The same under an id of its own, as coding agents send one with each request.
    pub(crate) fn with_id(mut self) -> Self {
        self.headers.push(("x-claude-code-session-id".to_owned(), "client-one".to_owned()));
        self
    }

    pub(crate) fn messages(&mut self) -> &mut Vec<Value> {
        self.body[self.api.history()].as_array_mut().unwrap()
    }

    /// Says something.
    pub(crate) fn say(&mut self, text: &str) {
        self.messages().push(json!({"role": "user", "content": text}));
    }

    /// The request as it would be sent now.
    pub(crate) fn request(&self) -> Value {
        let mut body = self.body.clone();
        let messages = body.as_object_mut().unwrap().shift_remove(self.api.history()).unwrap();
        body["stream"] = json!(self.streams);
        body[self.api.history()] = messages;
        if self.marks {
            let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
            if let Some(text) = last["content"].as_str() {
                last["content"] = json!([{"type": "text", "text": text}]);
            }
            let block = last["content"].as_array_mut().unwrap().last_mut().unwrap();
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        body
    }

    /// Sends bytes as the request.
    #[track_caller]
    pub(crate) fn send(&self, serving: &Serving, bytes: Vec<u8>) -> Answer {
        let mut ask = Ask::post(self.api.path(), bytes);
        ask.headers.extend(self.headers.iter().cloned());
        let answer = serving.send(ask);
        assert_eq!(answer.status, 200, "{}\nit said: {}", answer.text(), serving.said());
        assert!(answer.whole, "not whole: {}", answer.text());
        answer
    }

    /// One round: asks, remembers the answer, runs what it calls. False once nothing was called.
    #[track_caller]
    pub(crate) fn round(&mut self, serving: &Serving) -> bool {
        let answer = self.send(serving, self.request().to_string().into_bytes());
        self.take(&answer)
    }

    /// Rounds until nothing is called any more; gives how many.
    #[track_caller]
    pub(crate) fn work(&mut self, serving: &Serving) -> usize {
        let mut rounds = 1;
        while self.round(serving) {
            rounds += 1;
        }
        rounds
    }

    /// Remembers an answer and what its calls give.
    pub(crate) fn take(&mut self, answer: &Answer) -> bool {
        let said = said(self.api, self.streams, answer);
        let called = called(self.api, &said);
        match self.api {
            Api::Responses => self.messages().extend(said),
            _ => self.messages().extend(said.into_iter().take(1)),
        }
        let results: Vec<Value> = called
            .iter()
            .map(|(id, name, n)| {
                let text = result_of(name, n);
                match self.api {
                    Api::Anthropic => {
                        json!({"type": "tool_result", "tool_use_id": id, "content": text})
                    }
                    Api::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
                    Api::Responses => {
                        json!({"type": "function_call_output", "call_id": id, "output": text})
                    }
                    Api::Ollama => json!({"role": "tool", "tool_name": name, "content": text}),
                }
            })
            .collect();
        match self.api {
            Api::Anthropic if !results.is_empty() => {
                self.messages().push(json!({"role": "user", "content": results}));
            }
            Api::Anthropic => {}
            _ => self.messages().extend(results),
        }
        !called.is_empty()
    }
}

/// The calls of an answer: id, name, and the argument.
fn called(api: Api, said: &[Value]) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| match value {
        Value::String(json) => serde_json::from_str(json).unwrap(),
        other => other.clone(),
    };
    let empty = Vec::new();
    let calls: Vec<(String, String, Value)> = match api {
        Api::Anthropic => said[0]["content"]
            .as_array()
            .unwrap_or(&empty)
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|call| (text(&call["id"]), text(&call["name"]), call["input"].clone()))
            .collect(),
        Api::Responses => said
            .iter()
            .filter(|item| item["type"] == "function_call")
            .map(|call| (text(&call["call_id"]), text(&call["name"]), parsed(&call["arguments"])))
            .collect(),
        _ => said[0]["tool_calls"]
            .as_array()
            .unwrap_or(&empty)
            .iter()
            .map(|call| {
                let function = &call["function"];
                (text(&call["id"]), text(&function["name"]), parsed(&function["arguments"]))
            })
            .collect(),
    };
    calls.into_iter().map(|(id, name, input)| (id, name, text(&input["n"]))).collect()
}

/// What an answer adds to the history.
fn said(api: Api, streams: bool, answer: &Answer) -> Vec<Value> {
    if !streams {
        let whole = answer.json();
        return match api {
            Api::Anthropic => vec![json!({"role": "assistant", "content": whole["content"]})],
            Api::Chat => vec![whole["choices"][0]["message"].clone()],
            Api::Responses => whole["output"].as_array().unwrap().clone(),
            Api::Ollama => vec![whole["message"].clone()],
        };
    }
    let text = answer.text();
    let events: Vec<Value> = text
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    match api {
        Api::Anthropic => vec![json!({"role": "assistant", "content": blocks(&events)})],
        Api::Responses => {
            let done = events.iter().filter(|it| it["type"] == "response.output_item.done");
            done.map(|event| event["item"].clone()).collect()
        }
        Api::Chat => vec![chat(&events)],
        Api::Ollama => {
            let said = |event: &Value| event["message"]["content"].as_str().unwrap().to_owned();
            let mut message = json!({"role": "assistant", "content": events.iter().map(said).collect::<String>()});
            let calls = events.iter().map(|event| &event["message"]["tool_calls"]);
            if let Some(calls) = calls.into_iter().find(|it| !it.is_null()) {
                message["tool_calls"] = calls.clone();
            }
            vec![message]
        }
    }
}

/// The blocks of a stream of Anthropic's.
fn blocks(events: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        if event["type"] == "content_block_start" {
            blocks.push(event["content_block"].clone());
            inputs.push(String::new());
        }
        let Some((at, delta)) = event["index"].as_u64().zip(event["delta"].as_object()) else {
            continue;
        };
        let at = usize::try_from(at).unwrap();
        for (key, piece) in delta.iter().filter(|(key, _)| *key != "type") {
            let piece = piece.as_str().unwrap();
            if key == "partial_json" {
                inputs[at].push_str(piece);
            } else {
                let so_far = blocks[at][key].as_str().unwrap_or_default().to_owned();
                blocks[at][key] = json!(so_far + piece);
            }
        }
    }
    for (block, input) in blocks.iter_mut().zip(inputs) {
        if block["type"] == "tool_use" {
            block["input"] = serde_json::from_str(&input).unwrap();
        }
    }
    blocks
}

/// The message of a stream of OpenAI's.
fn chat(events: &[Value]) -> Value {
    let mut text = String::new();
    let mut calls: Vec<Value> = Vec::new();
    for delta in events.iter().map(|event| &event["choices"][0]["delta"]) {
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
            if at == calls.len() {
                let mut call = piece.clone();
                call.as_object_mut().unwrap().shift_remove("index");
                calls.push(call);
            } else {
                let more = piece["function"]["arguments"].as_str().unwrap();
                let so_far = calls[at]["function"]["arguments"].as_str().unwrap().to_owned();
                calls[at]["function"]["arguments"] = json!(so_far + more);
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}
