//! A session that OLLM compressed before it came here: how often counts for its reliability.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::program::Place;

/// A session file of OLLM's.
fn ollm(compressions: u32, said: usize) -> String {
    let message = |at: usize| {
        let (role, text) = match at % 2 {
            0 => ("user", format!("What does shelf {at} hold?")),
            _ => ("model", format!("Shelf {at} holds {} jars.", at * 7)),
        };
        json!({"role": role, "parts": [{"type": "text", "text": text}],
            "timestamp": format!("2025-03-01T10:{at:02}:00Z")})
    };
    let messages: Vec<_> = (0..said).map(message).collect();
    json!({"sessionId": "s", "startTime": "2025-03-01T10:00:00Z",
        "lastActivity": "2025-03-01T10:09:00Z", "model": "llama3:70b", "provider": "ollama",
        "messages": messages, "toolCalls": [],
        "metadata": {"tokenCount": 900, "compressionCount": compressions}})
    .to_string()
}

fn done(place: &Place, line: &str) -> String {
    let ran = place.run(line.split_whitespace().chain(["--store", "s.db", "--profile", "ollm"]));
    assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    ran.text().to_owned()
}

#[test]
fn compressions_of_an_ollm_session_count_for_its_reliability() {
    let place = Place::new();
    place.write("jars.json", ollm(3, 8));
    done(&place, "session import jars.json");
    // 0.95 × (1 − 0.15 × 3), which is 52 %, and not the 95 % of a session that begins.
    let shown = done(&place, "status --session jars");
    assert!(shown.contains("🟠 52%  (3 compressions)"), "{shown}");
    // So in a chat that goes on with it; its own compressions are counted on top.
    let turn = Turn { text: "It holds jars.".to_owned(), ..Turn::default() };
    let upstream = Upstream::start(Script { turns: vec![turn], ..Script::default() }).unwrap();
    let model = format!("openai:llama3:70b@{}/v1", upstream.url());
    let chat = |lines: &str| {
        let args = ["chat", "--store", "s.db", "--profile", "ollm", "--session", "jars"];
        let args = [&args[..], &["--prompt-limit", "8000", "--model", &model]].concat();
        let ran = place.feed(args, lines.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    assert!(chat("And shelf 9?\n").contains("52%  (3 compressions)"));
    // It goes out as it came in, and what is imported again counts once.
    let file = done(&place, "session export jars --format ollm");
    let written: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(written["metadata"]["compressionCount"], 3);
    place.write("jars.json", ollm(3, 8));
    done(&place, "session import jars.json");
    assert!(done(&place, "status --session jars").contains("(3 compressions)"));
    // OLLM went on with it and compressed it once more.
    let place = Place::new();
    for (compressions, said) in [(0, 6), (2, 8)] {
        place.write("jars.json", ollm(compressions, said));
        done(&place, "session import jars.json");
    }
    let shown = done(&place, "status --session jars");
    assert!(shown.contains("(2 compressions)"), "{shown}");
}

/// A client whose clock is wrong, or that writes a year of five digits: what it said is there, whatever is
/// asked of it.
#[test]
fn times_outside_of_four_digits_of_a_year_stop_nothing() {
    let shipped = include_str!("../../examples/transcripts/debugging-session.jsonl");
    let (head, tail) = shipped.split_once("\"timestamp\":\"").unwrap();
    let (_, tail) = tail.split_once('"').unwrap();
    for time in [
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
    ] {
        let place = Place::new();
        place.write("t.jsonl", format!("{head}\"timestamp\":\"{time}\"{tail}"));
        for line in [
            "session import t.jsonl --store s.db",
            "session list --store s.db",
            "session show --store s.db",
            "session export t --store s.db",
            "recall --store s.db test",
            "session verify --store s.db",
            "scan t.jsonl",
            "replay t.jsonl --prompt-limit 20000 -q",
            "compress t.jsonl --ratio 4 --profile tiered -o out.json",
        ] {
            let ran = place.run(line.split(' '));
            assert_eq!(ran.code, 0, "{time}: {line}: {}", ran.err);
        }
    }
}
