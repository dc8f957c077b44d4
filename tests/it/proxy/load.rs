//! Many requests at once, faults among them: each answer belongs to its request, every failure is
//! in the client's protocol, and memory is bounded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use epitome_upstream::Script;
use serde_json::{Value, json};

use super::agent::{APIS, Api, result_of};
use super::faults::check_protocol;
use super::http::{Answer, Ask};
use super::serving::{KEY, Serving};

/// How many requests where `EPITOME_REQUESTS` says nothing else.
const REQUESTS: usize = 1500;
/// How many are under way at the same time.
const AT_ONCE: usize = 64;
/// Most memory that the proxy may ever have taken, in bytes.
const MOST: u64 = 700 << 20;

/// What goes wrong, by the number of the request; most often nothing.
const FAULTS: [&str; 12] = [
    "status 429",
    "status 529",
    "status 500",
    "status 400",
    "drop",
    "cut",
    "error",
    "slow 1",
    "page 502",
    "huge 200000",
    "stall",
    "hang",
];

fn fault_of(number: usize) -> &'static str {
    if number % 5 == 2 { FAULTS[number / 5 % FAULTS.len()] } else { "none" }
}

/// The most memory that a process ever took, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn peak(pid: u32) -> u64 {
    let status = crate::program::read_file(format!("/proc/{pid}/status")).unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The request with a number: another API, size and manner each time.
fn body(number: usize, api: Api) -> Value {
    let task = format!("conversation {} tag:t{number} what happened?", number % 97);
    let result = result_of("read_log", &(number % 13).to_string());
    let large = number.is_multiple_of(4);
    let stream = !number.is_multiple_of(3);
    let said = |text: &str| json!({"role": "user", "content": text});
    let mut history = vec![said(&format!("task {}", number % 97))];
    if large {
        history.extend(match api {
            Api::Anthropic => vec![
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read_log", "input": {}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": result}]}),
                json!({"role": "assistant", "content": "I see."}),
            ],
            Api::Responses => vec![
                json!({"type": "function_call", "call_id": "c", "name": "read_log", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": "c", "output": result}),
                json!({"role": "assistant", "content": "I see."}),
            ],
            Api::Chat => vec![
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}]}),
                json!({"role": "tool", "tool_call_id": "c", "content": result}),
                json!({"role": "assistant", "content": "I see."}),
            ],
            Api::Ollama => vec![
                json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read_log", "arguments": {}}}]}),
                json!({"role": "tool", "tool_name": "read_log", "content": result}),
                json!({"role": "assistant", "content": "I see."}),
            ],
        });
    }
    history.push(said(&task));
    json!({"model": "m", "max_tokens": 9, "stream": stream, api.history(): history})
}

/// What a client sees of an answer, judged by what was meant to go wrong.
#[track_caller]
fn check(number: usize, api: Api, streams: bool, fault: &str, answer: std::io::Result<Answer>) {
    let context = format!("request {number} ({api:?}, streams: {streams}, {fault})");
    if ["hang", "stall"].contains(&fault) {
        // The client gave up by itself, or left in the middle.
        assert!(answer.is_err() || answer.is_ok_and(|it| !it.whole), "{context}");
        return;
    }
    let answer = answer.unwrap_or_else(|why| panic!("{context}: {why}"));
    let text = answer.text();
    let mine = format!("tag:t{number}.");
    // Deltas are short, so only an answer in one piece shows the whole tag.
    let is_mine = || text.contains(&mine) || streams && spoken(&text).contains(&mine);
    match fault {
        "drop" => {
            assert!(answer.status >= 500, "{context}: {text}");
            check_protocol(api.path(), &answer);
        }
        "cut" if !streams => assert!(!answer.whole || answer.status >= 500, "{context}: {text}"),
        "cut" | "error" if streams => {
            assert!(answer.whole && text.contains("error"), "{context}: {text}");
        }
        "page 502" => {
            assert_eq!(answer.status, 502, "{context}");
            check_protocol(api.path(), &answer);
        }
        fault if fault.starts_with("status") => {
            assert_eq!(fault, format!("status {}", answer.status), "{context}: {text}");
            check_protocol(api.path(), &answer);
        }
        _ => {
            assert!(answer.status == 200 && answer.whole, "{context}: {} {text}", answer.status);
            assert!(is_mine(), "{context}: {text}");
        }
    }
}

/// The texts of a stream's deltas, joined.
fn spoken(stream: &str) -> String {
    let events = stream.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let texts = events.filter_map(|line| serde_json::from_str::<Value>(line).ok()).map(|event| {
        let said = [
            &event["delta"]["text"],
            &event["choices"][0]["delta"]["content"],
            &event["message"]["content"],
            &event["delta"],
        ];
        said.iter().find_map(|it| it.as_str()).unwrap_or_default().to_owned()
    });
    texts.collect()
}

#[test]
fn many_requests_with_faults_among_them() {
    let all = std::env::var("EPITOME_REQUESTS").ok().map_or(REQUESTS, |it| it.parse().unwrap());
    let script = Script { forget: true, pings: true, ..Script::default() };
    let serving = Serving::start(script, &["--prompt-limit", "20000"]);
    let address = serving.address();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= all {
                        return;
                    }
                    let api = APIS[number / 5 % 4];
                    let body = body(number, api);
                    let fault = fault_of(number);
                    let mut ask = Ask::post(api.path(), body.to_string());
                    ask = ask.header("x-api-key", KEY).header("x-upstream-fault", fault);
                    if ["hang", "stall"].contains(&fault) {
                        ask.patience = Duration::from_millis(150);
                    }
                    let answer = ask.send(address);
                    check(number, api, body["stream"] == true, fault, answer);
                }
            });
        }
    });
    let prompts = serving.upstream.prompts();
    // A client that gives up at once may be gone before its request is on its way.
    let gave_up = (0..all).filter(|number| ["hang", "stall"].contains(&fault_of(*number))).count();
    let arrived = prompts.len();
    assert!((all - gave_up..=all).contains(&arrived), "{arrived} of {all} requests arrived");
    let invalid = prompts.iter().filter(|it| it.refused.is_some()).count();
    assert_eq!(invalid, 0, "{:?}", prompts.iter().find_map(|it| it.refused.clone()));
    #[cfg(target_os = "linux")]
    assert!(peak(serving.pid()) < MOST, "{} bytes", peak(serving.pid()));
    let answer = serving.send(Ask::post("/v1/messages", body(1, Api::Anthropic).to_string()));
    assert_eq!(answer.status, 200, "{}", answer.text());
}
