//! Serves one request: records it, refuses what the provider would, answers by the script.
//!
//! Invariant: nothing is decided after the first byte of an answer. Called by `lib` for each
//! connection.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::api::{Api, Reply};
use crate::body::{Step, Steps, packed, recut};
use crate::log::{Ended, Record};
use crate::refusal::Refusal;
use crate::rules::{self, Memory};
use crate::script::{Fault, Script};
use crate::state::{Begun, State};
use crate::{canon, reply, template};

/// The longest body that any provider takes, in bytes.
const LONGEST: usize = 32 << 20;
/// The header by which one prompt orders its own fault.
const FAULT: &str = "x-upstream-fault";

/// Why a connection ends without an answer.
#[derive(Debug)]
pub(crate) struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed on purpose")
    }
}

impl std::error::Error for Dropped {}

/// What a request is, once it is read.
struct Asked {
    number: u64,
    place: u64,
    /// Which script it follows.
    follows: u64,
    method: Method,
    path: String,
    accepts_gzip: bool,
    fault: Fault,
    body: Value,
    /// The betas of the provider that it asks for.
    beta: String,
    /// The body as text, unpacked.
    text: String,
    raw: Bytes,
    kind: String,
}

/// A prompt that is answered.
struct Taken {
    /// The most tokens that are read of it.
    limit: Option<u64>,
    /// What of it is dropped as void.
    dropped: Vec<String>,
}

/// Answers one request.
pub(crate) async fn serve(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Steps>, Dropped> {
    let (head, body) = request.into_parts();
    // A client that leaves in the middle of its request has no answer to get.
    let raw = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let path = head.uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
    let route = path.split('?').next().unwrap_or_default().to_owned();
    if let Some(answer) = control(&state, &head.method, &route, &raw) {
        return Ok(answer);
    }
    let value = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let text = unpacked(value("content-encoding"), &raw);
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let prompt = Api::of(&route).filter(|_| head.method == Method::POST);
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let record = Record {
        method: head.method.to_string(),
        path,
        headers: headers.collect(),
        raw: raw.clone(),
        size: raw.len(),
        body: body.clone(),
        ..Record::default()
    };
    let own = value(FAULT).and_then(|text| text.parse().ok());
    let Begun { number, place, follows, fault, script } = state.begin(record, own);
    let asked = Asked {
        number,
        place,
        follows,
        method: head.method.clone(),
        path: route,
        beta: value("anthropic-beta").unwrap_or_default().to_owned(),
        accepts_gzip: value("accept-encoding").is_some_and(|it| it.contains("gzip")),
        fault,
        body,
        text,
        raw,
        kind: value("content-type").unwrap_or("application/octet-stream").to_owned(),
    };
    match prompt {
        Some(api) => self::prompt(&state, api, &script, asked).await,
        None => Ok(other(&state, asked)),
    }
}

fn unpacked(encoding: Option<&str>, raw: &Bytes) -> String {
    let mut text = String::new();
    let read = match encoding {
        Some("gzip") => flate2::read::GzDecoder::new(&raw[..]).read_to_string(&mut text),
        Some("deflate") => flate2::read::ZlibDecoder::new(&raw[..]).read_to_string(&mut text),
        _ => return String::from_utf8_lossy(raw).into_owned(),
    };
    read.map(|_| text).unwrap_or_default()
}

/// The doors for scripts: read the log, clear it, follow another script.
fn control(state: &State, method: &Method, route: &str, raw: &Bytes) -> Option<Response<Steps>> {
    let (status, kind, answer) = match (method.as_str(), route) {
        ("GET", "/__log") => {
            let lines = state.records().iter().map(|it| format!("{}\n", it.to_json())).collect();
            (StatusCode::OK, "application/x-ndjson", lines)
        }
        ("DELETE", "/__log") => {
            state.clear();
            (StatusCode::OK, "application/json", "{}".to_owned())
        }
        ("POST" | "PUT", "/__script") => match serde_json::from_slice(raw) {
            Ok(script) => {
                state.follow(script);
                (StatusCode::OK, "application/json", "{}".to_owned())
            }
            Err(why) => (StatusCode::BAD_REQUEST, "text/plain", format!("no script: {why}\n")),
        },
        _ => return None,
    };
    let mut response = Response::new(Steps::new([Step::Send(answer.into())], |_| {}));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    Some(response)
}

/// A prompt: refused, failed on purpose, or answered.
async fn prompt(
    state: &Arc<State>,
    api: Api,
    script: &Script,
    asked: Asked,
) -> Result<Response<Steps>, Dropped> {
    match asked.fault {
        Fault::Hang => return std::future::pending().await,
        Fault::Hold => state.released(asked.follows).await,
        Fault::Drop => return Err(Dropped),
        Fault::Status(status) => return Ok(refuse(state, api, &asked, &api.failure(status))),
        Fault::Page(status) => {
            let page = "<html><body><h1>Bad gateway</h1></body></html>".to_owned();
            return Ok(finish(state, &asked, status, "text/html", page.into(), false));
        }
        _ => {}
    }
    let taken = check(state, api, &asked).and_then(|dropped| {
        if let Some(template) = &script.template {
            template::rendered(template, &asked.body)?;
        }
        Ok(Taken { limit: measured(state, api, script, &asked)?, dropped })
    });
    Ok(match taken {
        Err(refusal) => {
            state.note(asked.number, |it| it.refused = Some(refusal.message.clone()));
            refuse(state, api, &asked, &refusal)
        }
        Ok(taken) => {
            let reply = reply(state, api, script, &asked, &taken);
            state.note(asked.number, |it| (it.usage, it.dropped) = (reply.usage, taken.dropped));
            answer(state, api, script, &asked, &reply)
        }
    })
}

/// Gives the limit of a request that is not too long, or is cut.
fn measured(
    state: &State,
    api: Api,
    script: &Script,
    asked: &Asked,
) -> Result<Option<u64>, Refusal> {
    let tokens = canon::whole(&asked.body).len() as u64 / 4;
    let room = asked.body["options"]["num_ctx"].as_u64().filter(|_| script.makes_room);
    let limit = room.or(script.limit);
    let Some(most) = limit.filter(|limit| tokens > *limit) else { return Ok(limit) };
    if api == Api::Ollama && asked.body["truncate"] != json!(false) {
        state.note(asked.number, |it| it.cut_short = true);
        return Ok(limit);
    }
    state.note(asked.number, |it| it.too_long = true);
    Err(match &script.wording {
        Some(wording) => Refusal::new(
            wording.replace("{limit}", &most.to_string()).replace("{size}", &tokens.to_string()),
        ),
        None => api.too_long(tokens, most),
    })
}

/// Writes the answer and remembers what must come back of it.
fn reply(state: &State, api: Api, script: &Script, asked: &Asked, taken: &Taken) -> Reply {
    let mut inner = state.lock();
    let usage = match api {
        Api::Anthropic => inner.cache.marked(&asked.body),
        Api::Responses => inner.cache.unmarked(&asked.body, "input"),
        Api::Chat | Api::Ollama => inner.cache.unmarked(&asked.body, "messages"),
    };
    // Of what it cut it reads no more, and reports no more.
    let usage = taken.limit.map_or(usage, |limit| usage.at_most(limit));
    let place = (asked.number, asked.place);
    let mut reply = reply::write(api, script, &asked.body, &asked.text, place, usage);
    if !taken.dropped.is_empty() {
        reply.transformed = rules::binding::report(api, &taken.dropped);
    }
    reply::remember(api, &reply, &asked.body, &mut inner.memory);
    reply
}

/// Gives what of the request is dropped where it is taken.
fn check(state: &State, api: Api, asked: &Asked) -> Result<Vec<String>, Refusal> {
    if asked.raw.len() > LONGEST {
        return Err(api.failure(413));
    }
    if asked.body.is_null() {
        return Err(Refusal::new("The request body is not valid JSON"));
    }
    let inner = state.lock();
    match api {
        Api::Anthropic => rules::anthropic::check(&asked.body, &inner.memory),
        Api::Chat => rules::chat::check(&asked.body),
        Api::Responses => rules::responses::check(&asked.body, &inner.memory),
        Api::Ollama => rules::ollama::check(&asked.body),
    }?;
    rules::binding::check(api, &asked.body, &asked.beta, &inner.memory)
}

fn refuse(state: &Arc<State>, api: Api, asked: &Asked, refusal: &Refusal) -> Response<Steps> {
    let error = Bytes::from(api.error(refusal).to_string());
    let mut response = finish(state, asked, refusal.status, "application/json", error, false);
    if refusal.status == 429 {
        let after = header::HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, after);
    }
    response
}

/// The answer in the way that the request, the script and the fault want.
fn answer(
    state: &Arc<State>,
    api: Api,
    script: &Script,
    asked: &Asked,
    reply: &Reply,
) -> Response<Steps> {
    let gzip = script.gzip && asked.accepts_gzip;
    let mut said = reply.clone();
    if let Fault::Huge(size) = asked.fault {
        said.text.push_str(&" huge".repeat(size / 5 + 1));
    }
    let stream = api.streams(&asked.body);
    let mut chunks: Vec<Bytes> = if stream {
        let mut events = api.events(&said, &asked.body);
        if let Fault::Huge(_) = asked.fault {
            // One event holds the whole text, and the many of its deltas are left out.
            events = api.events(reply, &asked.body);
            let place = events.iter().position(|event| event.contains("Answer tu"));
            if let Some(event) = place.and_then(|at| events.get_mut(at)) {
                *event = event.replace("Answer tu", &format!("{} Answer tu", &said.text));
            }
        }
        if script.pings {
            let ping = api.ping().unwrap_or_default();
            events = events.into_iter().flat_map(|event| [event, ping.to_owned()]).collect();
            events.retain(|event| !event.is_empty());
        }
        if asked.fault == Fault::Error {
            events.truncate(events.len().div_ceil(2));
            events.push(api.error_event(&api.failure(529)));
        }
        events.into_iter().map(Bytes::from).collect()
    } else {
        vec![Bytes::from(api.whole(&said).to_string())]
    };
    if script.chunk > 0 && stream {
        chunks = recut(&chunks, script.chunk);
    }
    if gzip {
        chunks = packed(chunks).unwrap_or_default();
    }
    let half = chunks.len().div_ceil(2);
    let last = match asked.fault {
        Fault::Stall => vec![Step::Never],
        // What came before the cut must be on its way.
        Fault::Cut => vec![Step::Wait(Duration::from_millis(5)), Step::Break],
        _ => Vec::new(),
    };
    if !last.is_empty() {
        if let [only] = &chunks[..] {
            chunks = vec![only.slice(..only.len() / 2)];
        }
        chunks.truncate(half);
    }
    let pause = match asked.fault {
        Fault::Slow(pause) => pause,
        _ => script.pace,
    };
    let wait = (pause > 0).then(|| Step::Wait(Duration::from_millis(pause)));
    let steps = chunks.into_iter().flat_map(|chunk| [wait.clone(), Some(Step::Send(chunk))]);
    let steps: Vec<Step> = steps.flatten().chain(last).collect();
    let kind = if stream { api.stream_type() } else { "application/json" };
    state.note(asked.number, |it| it.status = 200);
    respond(state, asked, 200, kind, steps, gzip)
}

/// What is no prompt: the few paths that clients ask before, and an echo for the rest.
fn other(state: &Arc<State>, asked: Asked) -> Response<Steps> {
    let model = json!({"id": "mock-1", "object": "model", "type": "model", "created": 0,
        "display_name": "mock", "created_at": "2026-01-01T00:00:00Z", "owned_by": "upstream"});
    let tag = json!({"name": "mock-1", "model": "mock-1", "modified_at": "2026-01-01T00:00:00Z",
        "size": 1, "digest": "0".repeat(64), "details": {"family": "mock", "format": "gguf"}});
    let get = asked.method == Method::GET;
    let value = match asked.path.as_str() {
        path if path.ends_with("/messages/count_tokens") => {
            let empty = Memory::default();
            if let Err(refusal) = rules::anthropic::check(&asked.body, &empty) {
                state.note(asked.number, |it| it.refused = Some(refusal.message.clone()));
                return refuse(state, Api::Anthropic, &asked, &refusal);
            }
            json!({"input_tokens": canon::whole(&asked.body).len() / 4})
        }
        path if path.ends_with("/models") && get => {
            json!({"object": "list", "data": [model], "has_more": false})
        }
        path if path.ends_with("/models/mock-1") && get => model,
        path if path.ends_with("/api/tags") && get => json!({"models": [tag]}),
        path if path.ends_with("/api/version") && get => json!({"version": "0.12.0"}),
        path if path.ends_with("/api/ps") && get => {
            json!({"models": state.running()})
        }
        path if path.ends_with("/api/show") => {
            json!({"template": "", "details": {"family": "mock"},
                "model_info": {"mock.context_length": 8192}, "capabilities": ["completion", "tools"]})
        }
        _ => {
            let kind = asked.kind.clone();
            let mut response = finish(state, &asked, 200, &kind, asked.raw.clone(), false);
            for (name, value) in
                [("x-echo-method", asked.method.as_str()), ("x-echo-path", &asked.path)]
            {
                if let Ok(value) = header::HeaderValue::from_str(value) {
                    response.headers_mut().insert(name, value);
                }
            }
            return response;
        }
    };
    finish(state, &asked, 200, "application/json", value.to_string().into(), false)
}

/// A whole answer, noted.
fn finish(
    state: &Arc<State>,
    asked: &Asked,
    status: u16,
    kind: &str,
    answer: Bytes,
    gzip: bool,
) -> Response<Steps> {
    state.note(asked.number, |it| it.status = status);
    let steps = if answer.is_empty() { Vec::new() } else { vec![Step::Send(answer)] };
    respond(state, asked, status, kind, steps, gzip)
}

fn respond(
    state: &Arc<State>,
    asked: &Asked,
    status: u16,
    kind: &str,
    steps: Vec<Step>,
    gzip: bool,
) -> Response<Steps> {
    let (state, number) = (Arc::clone(state), asked.number);
    let body = Steps::new(steps, move |whole| {
        let ended = if whole { Ended::Whole } else { Ended::Left };
        state.note(number, |it| it.ended = ended);
    });
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if let Ok(kind) = header::HeaderValue::from_str(kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    let id = header::HeaderValue::from_str(&format!("req_{number:06}"));
    headers.extend(id.into_iter().map(|id| (header::HeaderName::from_static("request-id"), id)));
    if gzip {
        headers.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
    }
    response
}
