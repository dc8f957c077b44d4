//! What a turn has a server in PostgreSQL do: over a network each statement is waited for.

#![expect(clippy::print_stdout, reason = "tells the figures")]

use std::sync::Arc;

use epitome::{
    Compressor, FallbackStore, Format, LOCAL, ModelResponse, PostgresAddress, PostgresLog,
    PostgresStore, RoutedRequest, SessionArchive, SessionRouter, WindowSetting, scope,
};
use epitome_testkit::{FixedCounter, PostgresRelay, PostgresServer, SentStatements, now};
use epitome_wire::ResponseParser;
use serde_json::{Value, json};

/// A conversation, and the network between the processes that serve it and the server.
struct Talk {
    relay: PostgresRelay,
    label: Option<String>,
    messages: Vec<Value>,
    compressed: usize,
}

impl Talk {
    fn store(&self) -> Arc<FallbackStore> {
        let address = PostgresAddress::parse(&self.relay.address("postgres")).unwrap();
        Arc::new(FallbackStore::over(PostgresStore::over(PostgresLog::open(address).unwrap())))
    }

    fn process(&self) -> SessionRouter {
        SessionRouter::new(self.store(), || {
            let clock = || "2026-01-02T03:04:05Z".to_owned();
            let compressor = Compressor::builder().counter(FixedCounter::Words).clock(clock);
            compressor.window(WindowSetting::Limit(900))
        })
    }

    /// What a turn has the server do: for its prompt, and for its answer.
    fn turn(&mut self, process: &SessionRouter) -> SentStatements {
        let turn = self.messages.len();
        let text = format!("Now mend part {turn}. {}", "It is long. ".repeat(20));
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "m", "max_tokens": 9, "system": "Be brief.",
            "messages": self.messages});
        let ask = RoutedRequest {
            bytes: body.to_string().into(),
            format: Format::Anthropic,
            tenant: LOCAL.to_owned(),
            label: self.label.clone(),
            window: None,
            told: None,
            cuts: false,
            client: None,
        };
        let said = json!([{"type": "text", "text": format!("Part {turn} is whole again.")}]);
        let answer = json!({"type": "message", "role": "assistant", "content": said,
            "stop_reason": "end_turn"});
        let mut parser = ResponseParser::new(Format::Anthropic);
        parser.hear(answer.to_string().as_bytes());
        let messages = parser.end().messages.into_iter().map(Into::into).collect();
        let answer = ModelResponse { messages, ..ModelResponse::default() };

        let before = self.relay.sent();
        let sent = now(process.prompt_for(&ask)).unwrap();
        now(process.record_response(&sent, &answer));
        let after = self.relay.sent();
        self.messages.push(json!({"role": "assistant", "content": said}));
        self.compressed += usize::from(sent.prompt.tokens[1] < sent.prompt.tokens[0]);
        SentStatements {
            statements: after.statements - before.statements,
            round_trips: after.round_trips - before.round_trips,
        }
    }
}

fn talks(each: impl Fn(Talk)) {
    for label in [None, Some("client".to_owned())] {
        let Some(server) = PostgresServer::start().unwrap() else { return };
        let relay = PostgresRelay::start(&server).unwrap();
        each(Talk { relay, label, messages: Vec::new(), compressed: 0 });
    }
}

/// One statement before a request is sent, and one for its answer. One that compresses has three more: the
/// restore point, the compression and what it stands behind are recorded one after the other. A turn that
/// takes long on a busy machine asks once whether others went on.
#[test]
fn a_turn_that_goes_on_is_two_statements() {
    talks(|mut talk| {
        let process = talk.process();
        let turns: Vec<_> = (0..40).map(|_| talk.turn(&process)).collect();
        // Without an id of the client the first answer is the proof of all that follows.
        let mut counted: Vec<_> = turns[2..].iter().map(|turn| turn.statements).collect();
        counted.sort_unstable();
        println!(
            "{} prompts compressed; statements of each turn, sorted: {counted:?}",
            talk.compressed
        );
        assert_eq!(counted[0], 2);
        assert_eq!(counted[counted.len() / 2], 2, "the median");
        assert!(counted.iter().all(|count| *count <= 6), "{counted:?}");
        // Each is waited for once, when its connection has it parsed.
        assert!(turns.iter().rev().take(9).any(|turn| turn.round_trips == 2), "{turns:?}");
        assert!(talk.compressed > 9);
    });
}

/// A process that takes a conversation over finds it and reads it with two more.
#[test]
fn the_first_turn_of_another_process_is_four_statements() {
    talks(|mut talk| {
        let turns: Vec<_> = (0..9).map(|_| talk.turn(&talk.process())).collect();
        let counted: Vec<_> = turns[1..].iter().map(|turn| turn.statements).collect();
        println!("statements of the first turn of a process: {counted:?}");
        assert!(counted.iter().all(|count| *count <= 4), "{turns:?}");
        let all = talk.store().sessions(&scope("default"), 0, 9, false).unwrap();
        assert_eq!(all.len(), 1);
    });
}
