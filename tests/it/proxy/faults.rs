//! What goes wrong on either side: every failure reaches the client in its own protocol, and the
//! next request finds the proxy as it was.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use epitome_upstream::{Ended, Fault, Script, Upstream};
use serde_json::{Value, json};

use super::agent::{APIS, Agent, Api, calls};
use super::http::{Answer, Ask};
use super::serving::Serving;

/// An answer of a failure is what a client of the path's API can read.
#[track_caller]
pub(super) fn check_protocol(path: &str, answer: &Answer) {
    let body = answer.json();
    let message = match path {
        "/v1/messages" => {
            assert_eq!(body["type"], "error", "{}", answer.text());
            assert!(body["error"]["type"].is_string(), "{}", answer.text());
            &body["error"]["message"]
        }
        "/api/chat" => &body["error"],
        _ => &body["error"]["message"],
    };
    assert!(message.as_str().is_some_and(|it| !it.is_empty()), "{path}: {}", answer.text());
}

/// The last event of a stream tells of a failure in the API's words.
#[track_caller]
fn check_last_words(api: Api, text: &str) {
    let last = text.trim_end().lines().last().unwrap_or_default();
    let event: Value =
        serde_json::from_str(last.strip_prefix("data: ").unwrap_or(last)).unwrap_or_default();
    let told = match api {
        Api::Anthropic => event["type"] == "error" && event["error"]["message"].is_string(),
        Api::Chat => event["error"]["message"].is_string(),
        Api::Responses => event["type"] == "response.failed" || event["type"] == "error",
        Api::Ollama => event["error"].is_string(),
    };
    assert!(told, "{api:?} ends with {last}");
}

fn prompt(api: Api, streams: bool) -> Ask {
    let mut agent = Agent::new(api, "tag:mine Look.");
    agent.streams = streams;
    Ask::post(api.path(), agent.request().to_string())
}

fn with(fault: &str, api: Api, streams: bool) -> Ask {
    prompt(api, streams).header("x-upstream-fault", fault)
}

/// Waits until something holds; for what happens on the other side.
#[track_caller]
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never: {what}");
}

#[track_caller]
fn check_alive(serving: &Serving) {
    for api in APIS {
        let answer = serving.send(prompt(api, false));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains("to tag:mine"), "{}", answer.text());
    }
}

#[test]
fn a_providers_errors_come_through_once() {
    let serving = Serving::start(Script::default(), &[]);
    for api in APIS {
        for status in [400, 401, 403, 404, 413, 429, 500, 529] {
            for streams in [false, true] {
                serving.upstream.clear();
                let answer = serving.send(with(&format!("status {status}"), api, streams));
                assert_eq!(answer.status, status, "{api:?}: {}", answer.text());
                check_protocol(api.path(), &answer);
                let wait = (status == 429).then_some("1");
                assert_eq!(answer.header("retry-after"), wait, "{api:?} {status}");
                assert_eq!(serving.upstream.prompts().len(), 1, "{api:?} {status}: tried again");
            }
        }
        let answer = serving.send(with("page 502", api, true));
        assert_eq!(answer.status, 502, "{}", answer.text());
        check_protocol(api.path(), &answer);
    }
    check_alive(&serving);
}

#[test]
fn a_connection_that_breaks_before_the_answer_is_an_error() {
    let serving = Serving::start(Script::default(), &[]);
    for api in APIS {
        for streams in [false, true] {
            let answer = serving.send(with("drop", api, streams));
            assert!((500..600).contains(&answer.status), "{} {}", answer.status, answer.text());
            check_protocol(api.path(), &answer);
        }
    }
    check_alive(&serving);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nowhere = format!("http://{closed}");
    let serving = Serving::start(Script::default(), &["--anthropic-upstream", &nowhere]);
    let answer = serving.send(prompt(Api::Anthropic, true));
    assert!((500..600).contains(&answer.status), "{} {}", answer.status, answer.text());
    check_protocol("/v1/messages", &answer);
    assert_eq!(serving.send(prompt(Api::Chat, false)).status, 200);
}

#[test]
fn a_stream_that_breaks_ends_with_an_event() {
    let serving = Serving::start(Script { pings: true, ..Script::default() }, &[]);
    for api in APIS {
        for fault in ["cut", "error"] {
            let answer = serving.send(with(fault, api, true));
            assert_eq!(answer.status, 200);
            assert!(answer.whole, "{api:?}: the connection was cut, too");
            check_last_words(api, &answer.text());
        }
        // Half of an answer that is no stream cannot pass for a whole one.
        let answer = serving.send(with("cut", api, false));
        assert!(!answer.whole || answer.status >= 500, "{api:?}: {}", answer.text());
    }
    check_alive(&serving);
}

#[test]
fn streams_are_relayed_as_they_come() {
    for chunk in [0, 7] {
        for api in APIS {
            let script = Script { pings: true, chunk, ..Script::agent(1, calls()) };
            // Nothing but the prompts arrives: answers are numbered.
            let serving = Serving::start(script.clone(), &["--prompt-limit", "100000"]);
            let direct = Upstream::start(script).unwrap();
            let through = serving.send(prompt(api, true));
            let expected = prompt(api, true).send(direct.address()).unwrap();
            assert_eq!(through.text(), expected.text(), "{api:?}");
            assert_eq!(through.header("content-type"), expected.header("content-type"));
            // What is there arrives, though no more will come.
            let mut half = with("stall", api, true);
            half.leaves_after = Some(200);
            let answer = serving.send(half);
            assert!(answer.body.len() >= 200 && !answer.whole);
            let left = || serving.upstream.prompts().pop().unwrap().ended == Ended::Left;
            eventually("the upstream learns that the client left", left);
            let huge = serving.send(with("huge 3000000", api, true));
            assert!(huge.whole && huge.body.len() > 3_000_000, "{api:?} {}", huge.body.len());
        }
    }
}

#[test]
fn packed_answers_stay_packed() {
    let script = Script { gzip: true, pings: true, ..Script::default() };
    let serving = Serving::start(script, &[]);
    for api in APIS {
        for streams in [false, true] {
            let answer = serving.send(prompt(api, streams).header("accept-encoding", "gzip, br"));
            let mut text = String::new();
            let packed = answer.header("content-encoding") == Some("gzip");
            let unpacked = if packed {
                let mut reader = flate2::read::GzDecoder::new(&answer.body[..]);
                std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
                text
            } else {
                answer.text()
            };
            assert!(unpacked.contains("tag:mine") || streams, "{api:?}: {unpacked}");
            let plain = serving.send(prompt(api, streams));
            assert_eq!(plain.header("content-encoding"), None);
        }
    }
    check_alive(&serving);
}

#[test]
fn an_upstream_that_hangs_holds_up_nobody_else() {
    let serving = Serving::start(Script::default(), &[]);
    let address = serving.address();
    let mut waiting = Vec::new();
    for api in APIS {
        for _ in 0..8 {
            let mut ask = with("hang", api, true);
            ask.patience = Duration::from_millis(300);
            waiting.push(std::thread::spawn(move || ask.send(address)));
        }
    }
    eventually("all hang", || serving.upstream.prompts().len() == 32);
    check_alive(&serving);
    for waits in waiting {
        assert!(waits.join().unwrap().is_err(), "an answer from nowhere");
    }
    check_alive(&serving);
}

#[test]
fn half_a_request_holds_up_nobody_else() {
    let serving = Serving::start(Script::default(), &[]);
    let whole = prompt(Api::Anthropic, true).bytes();
    let mut open: Vec<TcpStream> = Vec::new();
    for at in 0..60 {
        let mut stream = TcpStream::connect(serving.address()).unwrap();
        let most = [0, 1, 20, whole.len() / 2, whole.len() - 1][at % 5];
        stream.write_all(&whole[..most]).unwrap();
        open.push(stream);
    }
    check_alive(&serving);
    // Half of them leave, the others stay as they are.
    open.truncate(30);
    check_alive(&serving);
    assert_eq!(serving.prompts().len(), 8, "half a request was sent on");
}

#[test]
fn a_client_that_dies_in_mid_stream_leaves_nothing_behind() {
    let serving = Serving::start(Script::default(), &[]);
    for api in APIS {
        for _ in 0..5 {
            let mut ask = with("slow 20", api, true);
            ask.leaves_after = Some(1);
            serving.send(ask);
        }
    }
    let left = || serving.upstream.prompts().iter().all(|it| it.ended != Ended::Open);
    eventually("all streams ended", left);
    let left = serving.upstream.prompts().iter().filter(|it| it.ended == Ended::Left).count();
    assert!(left >= 15, "{left} of 20 streams ended early");
    check_alive(&serving);
}

#[test]
fn the_proxy_dies_in_mid_stream_and_goes_on() {
    let mut serving = Serving::start(Script::agent(6, calls()), &["--prompt-limit", "16000"]);
    // What is asked again has no answer yet that could prove it: the client's id says whose it is.
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    for round in 0..6 {
        let streaming = Agent { streams: true, ..agent.clone() }.request().to_string();
        let mut ask = Ask::post(agent.api.path(), streaming).header("x-upstream-fault", "stall");
        ask.headers.extend(agent.headers.iter().cloned());
        let address = serving.address();
        let hangs = std::thread::spawn(move || ask.send(address));
        eventually("the stream began", || serving.upstream.prompts().len() > round * 2);
        serving.kill();
        // What came is all there is; the connection is gone.
        assert!(hangs.join().unwrap().map_or(true, |answer| !answer.whole));
        serving.go_on();
        agent.round(&serving);
    }
    let verified = serving.place.run(["session", "verify", "--store", "s.db"]);
    assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.err);
    assert_eq!(serving.sessions().len(), 1, "{:?}", serving.sessions());
    serving.prompts();
}

#[cfg(unix)]
#[test]
fn a_graceful_end_finishes_streams() {
    let mut serving = Serving::start(Script::default(), &[]);
    let address = serving.address();
    let ask = with("slow 30", Api::Anthropic, true);
    let streaming = std::thread::spawn(move || ask.send(address).unwrap());
    eventually("the stream began", || serving.upstream.prompts().len() == 1);
    serving.stop();
    let answer = streaming.join().unwrap();
    assert!(answer.whole && answer.text().contains("message_stop"), "{}", answer.text());
}

#[test]
fn a_prompt_that_is_too_long_is_compressed_and_tried_once_more() {
    for api in [Api::Anthropic, Api::Chat, Api::Responses] {
        let script = Script { limit: Some(14_000), ..Script::agent(8, calls()) };
        // Nothing tells the proxy of this limit.
        let serving = Serving::start(script, &[]);
        let mut agent = Agent::new(api, "Find out why the deployment fails.");
        agent.streams = api == Api::Chat;
        agent.work(&serving);
        let prompts = serving.upstream.prompts();
        let refused: Vec<_> = prompts.iter().filter(|it| it.refused.is_some()).collect();
        assert!(refused.iter().all(|it| it.too_long), "{:?}", refused[0].refused);
        assert!(!refused.is_empty(), "{api:?}: the limit was never met");
        assert!(
            refused.len() <= 3,
            "{api:?}: the limit is not learned: {} refusals",
            refused.len()
        );
    }
}

#[test]
fn what_cannot_be_made_to_fit_comes_back_in_the_providers_words() {
    let serving = Serving::start(Script { limit: Some(2000), ..Script::default() }, &[]);
    for api in [Api::Anthropic, Api::Chat, Api::Responses] {
        serving.upstream.clear();
        // A person's last word is never shortened.
        let agent = Agent::new(api, &"Keep every word of this. ".repeat(1000));
        let ask = Ask::post(api.path(), agent.request().to_string());
        let answer = serving.send(ask);
        assert_eq!(answer.status, 400, "{}", answer.text());
        check_protocol(api.path(), &answer);
        let words = ["prompt is too long", "maximum context length", "exceeds the context window"];
        assert!(words.iter().any(|it| answer.text().contains(it)), "{}", answer.text());
        assert!(serving.upstream.prompts().len() <= 2, "tried more than once more");
    }
}

#[test]
fn faults_of_the_script_do_not_end_a_session() {
    let faults = [Fault::Status(529), Fault::None, Fault::Drop, Fault::Status(429)];
    let faults = faults.iter().cycle().take(40).cloned().collect();
    let script = Script { faults, ..Script::agent(8, calls()) };
    let serving = Serving::start(script, &["--prompt-limit", "16000"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.");
    let (mut rounds, mut failed) = (0, 0);
    while rounds < 9 {
        let answer = serving.send(Ask::post(agent.api.path(), agent.request().to_string()));
        if answer.status == 200 {
            agent.take(&answer);
            rounds += 1;
        } else {
            check_protocol(agent.api.path(), &answer);
            failed += 1;
        }
    }
    assert!(failed >= 9, "{failed}");
    assert!(serving.compressions() >= 1);
    let broken = super::sessions::breaks(Api::Anthropic, &serving.prompts());
    assert!(broken as u64 <= serving.compressions(), "{broken}");
}

#[test]
fn json_is_told_when_nothing_is_there() {
    let serving = Serving::start(Script::default(), &[]);
    let answer = serving.send(Ask::post("/v1/messages", json!({"model": "m"}).to_string()));
    assert_eq!(answer.status, 400);
    check_protocol("/v1/messages", &answer);
}
