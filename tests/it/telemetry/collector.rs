//! A collector of OpenTelemetry, as far as it takes JSON over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// What was received: the path, and the body.
type Received = Arc<Mutex<Vec<(String, Value)>>>;

/// A collector.
pub(super) struct Collector {
    address: SocketAddr,
    received: Received,
}

impl Collector {
    /// One that takes everything.
    pub(super) fn start() -> Self {
        Self::of(true)
    }

    /// One that never answers.
    pub(super) fn start_mute() -> Self {
        Self::of(false)
    }

    fn of(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Received::default());
        let books = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let books = Arc::clone(&books);
                std::thread::spawn(move || serve(stream, answers, &books));
            }
        });
        Self { address, received }
    }

    /// The variables that name it.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.address)),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json".to_owned()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=secret".to_owned()),
        ]
    }

    /// What came to a path.
    pub(super) fn received(&self, path: &str) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect()
    }
}

fn serve(stream: TcpStream, answers: bool, received: &Received) {
    let mut out = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let (mut path, mut length, mut is_keyed) = (String::new(), 0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or_default() == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("post ") {
                path = rest.split(' ').next().unwrap().to_owned();
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            is_keyed |= line == "x-collector-key: secret";
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        if !answers {
            std::thread::park();
        }
        assert!(is_keyed, "headers of the environment are sent");
        received.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        out.write_all(head.as_bytes()).unwrap();
    }
}

/// The attributes of a span, an event or a point, by name.
pub(super) fn attributes(of: &Value) -> std::collections::BTreeMap<String, Value> {
    let all = of["attributes"].as_array().into_iter().flatten();
    let value = |value: &Value| {
        let (kind, inner) = value.as_object().unwrap().iter().next().unwrap();
        match (kind.as_str(), inner) {
            // Whole numbers are strings in this format.
            ("intValue", Value::String(text)) => text.parse::<i64>().unwrap().into(),
            _ => inner.clone(),
        }
    };
    all.map(|it| (it["key"].as_str().unwrap().to_owned(), value(&it["value"]))).collect()
}
