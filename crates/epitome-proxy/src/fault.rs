//! Errors in the shape that the client's protocol has for them.
//!
//! Invariant: one sentence that says what, where, and what to do; never a status that asks a client
//! to come back for what will not change. Called wherever an answer is our own.

use bytes::Bytes;
use epitome_types::ContextOverflow;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{ApiDialect, Manner};

/// The most characters that are quoted of a page.
const QUOTED: usize = 200;

/// An error of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyFault {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// What clients of Anthropic's API know it by, where they do something about it.
    pub(crate) code: Option<&'static str>,
}

impl ProxyFault {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None }
    }

    /// The body of an answer.
    pub(crate) fn body(&self, dialect: ApiDialect) -> Bytes {
        let body = match dialect {
            ApiDialect::Messages => {
                let mut body = anthropic(anthropic_kind(self.status), &self.message);
                if let Some(code) = self.code {
                    body["error"]["details"] = json!({"error_code": code});
                }
                body
            }
            ApiDialect::Chat | ApiDialect::Responses => {
                openai(openai_kind(self.status), None, &self.message)
            }
            ApiDialect::Ollama => json!({"error": self.message}),
        };
        body.to_string().into()
    }

    /// The same for a client of any API that is told apart.
    pub(crate) fn in_the_manner(&self, manner: Manner) -> Bytes {
        let body = match manner {
            Manner::Of(dialect) => return self.body(dialect),
            Manner::Google => google(self.status, &self.message),
            Manner::Amazon => json!({"message": self.message}),
        };
        body.to_string().into()
    }

    /// What ends a stream that cannot be finished; `inside` says that a line or event is still open
    /// (RULES 130), `id` which answer it is: clients of Responses take no end of another one.
    pub(crate) fn last_words(&self, dialect: ApiDialect, inside: bool, id: Option<&str>) -> Bytes {
        let body = self.body(dialect);
        let body = String::from_utf8_lossy(&body);
        let words = match dialect {
            ApiDialect::Messages => format!("event: error\ndata: {body}\n\n"),
            ApiDialect::Chat => format!("data: {body}\n\n"),
            ApiDialect::Responses => {
                let error = json!({"code": "server_error", "message": self.message});
                let mut response =
                    json!({"object": "response", "status": "failed", "error": error});
                if let Some(id) = id {
                    response["id"] = id.into();
                }
                let event = json!({"type": "response.failed", "response": response});
                format!("event: response.failed\ndata: {event}\n\n")
            }
            ApiDialect::Ollama => format!("{body}\n"),
        };
        match (inside, dialect) {
            (false, _) => words.into(),
            (true, ApiDialect::Ollama) => format!("\n{words}").into(),
            (true, _) => format!("\n\n{words}").into(),
        }
    }
}

/// An upstream's error in the client's protocol, where it came in another one's; `told` is what it
/// says about a prompt that is too long. A server that speaks several APIs may know one shape only,
/// and what stands before it may answer with a page.
pub(crate) fn translated(
    dialect: ApiDialect,
    status: StatusCode,
    body: &[u8],
    told: Option<ContextOverflow>,
) -> Option<Bytes> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Some(ProxyFault::new(status, page(status, body)).body(dialect));
    };
    let error = body.get("error")?;
    let wrapped = body.get("type").and_then(Value::as_str) == Some("error");
    let shape = match error {
        Value::Object(_) if wrapped => ApiDialect::Messages,
        Value::Object(_) => ApiDialect::Chat,
        Value::String(_) => ApiDialect::Ollama,
        _ => return None,
    };
    let wanted = if dialect == ApiDialect::Responses { ApiDialect::Chat } else { dialect };
    if shape == wanted {
        return None;
    }
    let message = error.get("message").unwrap_or(error).as_str()?;
    let told = told.and_then(|told| Some((told.size?, told.limit?)));
    let translated = match wanted {
        ApiDialect::Messages => {
            let known = error.get("type").and_then(Value::as_str).filter(|kind| is_anthropic(kind));
            let kind = known.unwrap_or_else(|| anthropic_kind(status));
            // The words by which clients of this API know that it is time to compact.
            let message = match told {
                Some((size, limit)) => {
                    format!("prompt is too long: {size} tokens > {limit} maximum ({message})")
                }
                None => message.to_owned(),
            };
            anthropic(kind, &message)
        }
        ApiDialect::Chat | ApiDialect::Responses => {
            let code = told.map(|_| "context_length_exceeded");
            openai(openai_kind(status), code, message)
        }
        ApiDialect::Ollama => json!({"error": message}),
    };
    Some(translated.to_string().into())
}

/// What is told of an answer that is no error of any API.
fn page(status: StatusCode, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    // Of a page its words, without what stands between angle brackets.
    let pieces = body.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let words: Vec<_> = pieces.flat_map(str::split_whitespace).collect();
    let words: String = words.join(" ").chars().take(QUOTED).collect();
    let status = status.as_u16();
    match words.is_empty() {
        true => format!("the upstream answered {status} and said nothing; its log may say why"),
        false => format!("the upstream answered {status} with what its API does not say: {words}"),
    }
}

fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn google(status: StatusCode, message: &str) -> Value {
    let word = match status.as_u16() {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        501 => "UNIMPLEMENTED",
        _ => "UNAVAILABLE",
    };
    json!({"error": {"code": status.as_u16(), "message": message, "status": word}})
}

fn openai(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn anthropic_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    }
}

fn is_anthropic(kind: &str) -> bool {
    matches!(
        kind,
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "request_too_large"
            | "rate_limit_error"
            | "timeout_error"
            | "overloaded_error"
            | "billing_error"
            | "api_error"
    )
}

fn openai_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ApiDialect; 4] =
        [ApiDialect::Messages, ApiDialect::Chat, ApiDialect::Responses, ApiDialect::Ollama];

    #[track_caller]
    fn check(dialect: ApiDialect, status: u16, body: &str, told: [u64; 2], expected: Option<&str>) {
        let [size, limit] = told;
        let told = (limit > 0).then_some(ContextOverflow { limit: Some(limit), size: Some(size) });
        let status = StatusCode::from_u16(status).unwrap();
        let found = translated(dialect, status, body.as_bytes(), told);
        let found = found.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(found.as_deref(), expected, "{dialect:?} {body}");
    }

    #[test]
    fn each_protocol_has_its_shape() {
        let fault = ProxyFault::new(StatusCode::PAYLOAD_TOO_LARGE, "it is \"too\" large");
        let bodies = ALL.map(|dialect| String::from_utf8(fault.body(dialect).to_vec()).unwrap());
        let openai = r#"{"error":{"message":"it is \"too\" large","type":"invalid_request_error","param":null,"code":null}}"#;
        assert_eq!(
            bodies,
            [
                r#"{"type":"error","error":{"type":"request_too_large","message":"it is \"too\" large"}}"#,
                openai,
                openai,
                r#"{"error":"it is \"too\" large"}"#,
            ]
        );
        let fault = ProxyFault::new(StatusCode::NOT_FOUND, "gone");
        let others = [Manner::Google, Manner::Amazon].map(|manner| fault.in_the_manner(manner));
        let google = r#"{"error":{"code":404,"message":"gone","status":"NOT_FOUND"}}"#;
        assert_eq!(others, [google, r#"{"message":"gone"}"#]);
    }

    #[test]
    fn a_page_of_whoever_stands_before_an_upstream_is_put_in_words() {
        let message = "the upstream answered 502 with what its API does not say: Bad Gateway nginx";
        let page = "<html>\n<body><h1>Bad  Gateway</h1><hr>nginx</body></html>";
        let expected = format!(r#"{{"error":"{message}"}}"#);
        check(ApiDialect::Ollama, 502, page, [0, 0], Some(&expected));
        let expected = r#"{"type":"error","error":{"type":"authentication_error","message":"the upstream answered 401 and said nothing; its log may say why"}}"#;
        check(ApiDialect::Messages, 401, "", [0, 0], Some(expected));
    }

    #[test]
    fn a_stream_ends_with_an_event_of_its_protocol() {
        let fault = ProxyFault::new(StatusCode::BAD_GATEWAY, "gone");
        let words = ALL
            .map(|dialect| fault.last_words(dialect, false, None).to_vec())
            .map(|words| String::from_utf8(words).unwrap());
        assert_eq!(
            words,
            [
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"gone\"}}\n\n",
                "data: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
                "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"gone\"}}}\n\n",
                "{\"error\":\"gone\"}\n",
            ]
        );
        let inside = |dialect| fault.last_words(dialect, true, Some("resp_1"));
        assert!(inside(ApiDialect::Messages).starts_with(b"\n\nevent"));
        assert!(inside(ApiDialect::Ollama).starts_with(b"\n{"));
        let failed = String::from_utf8(inside(ApiDialect::Responses).to_vec()).unwrap();
        assert!(failed.contains(r#""id":"resp_1""#), "{failed}");
    }

    #[test]
    fn an_error_in_the_clients_own_shape_is_left_alone() {
        let anthropic = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
        check(ApiDialect::Messages, 529, anthropic, [0, 0], None);
        let openai = r#"{"error":{"message":"m","type":"t","code":"c"}}"#;
        check(ApiDialect::Chat, 400, openai, [9, 5], None);
        check(ApiDialect::Responses, 400, openai, [0, 0], None);
        check(ApiDialect::Ollama, 400, r#"{"error":"m"}"#, [0, 0], None);
        for other in ["{}", r#"{"error":7}"#, r#"{"error":{}}"#] {
            check(ApiDialect::Messages, 502, other, [0, 0], None);
        }
    }

    #[test]
    fn an_error_of_another_protocol_is_translated() {
        let llama =
            r#"{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}"#;
        check(
            ApiDialect::Messages,
            400,
            llama,
            [3031, 2048],
            Some(
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3031 tokens > 2048 maximum (too big)"}}"#,
            ),
        );
        check(ApiDialect::Ollama, 400, llama, [0, 0], Some(r#"{"error":"too big"}"#));
        check(
            ApiDialect::Responses,
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
            [0, 0],
            Some(
                r#"{"error":{"message":"slow","type":"rate_limit_error","param":null,"code":null}}"#,
            ),
        );
        check(
            ApiDialect::Messages,
            404,
            r#"{"error":"model \"x\" not found"}"#,
            [0, 0],
            Some(
                r#"{"type":"error","error":{"type":"not_found_error","message":"model \"x\" not found"}}"#,
            ),
        );
    }
}
