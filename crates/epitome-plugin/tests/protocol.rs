//! The lines of each version of the protocol, as they were recorded, and lines that nobody would
//! record.
//!
//! Invariant: a recorded line is never changed; a new version gets a file of its own.

#![cfg(test)]

use std::io::Cursor;

use epitome_plugin::protocol::{
    DigestAnswer, HOST, HostInfo, HostMessage, PROTOCOL, PluginMessage,
};
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo, serve_over};
use proptest::prelude::*;
use serde_json::{Value, json};

const V1: &str = include_str!("lines/v1.jsonl");

/// Whether the host or the plugin says it.
fn is_hosts(line: &str) -> bool {
    line.contains(r#""host""#) || line.contains(r#""digest":{"#) || line.contains(r#""hook":"#)
}

#[test]
fn recorded_lines_are_read_and_written_as_they_were() {
    assert_eq!(PROTOCOL, 1, "record the lines of the new version beside those of the old one");
    for line in V1.lines() {
        let again = match is_hosts(line) {
            true => serde_json::to_string(&serde_json::from_str::<HostMessage>(line).unwrap()),
            false => serde_json::to_string(&serde_json::from_str::<PluginMessage>(line).unwrap()),
        };
        assert_eq!(again.unwrap(), line);
    }
}

#[test]
fn the_lines_that_authors_are_shown_are_lines_of_the_protocol() {
    let shown = include_str!("../../../plugins/README.md");
    let shown = shown.split("```json lines\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines: Vec<&str> = shown.unwrap().lines().collect();
    for pair in lines.chunks(2) {
        let asked: HostMessage = serde_json::from_str(pair[0]).unwrap();
        assert!(!matches!(asked, HostMessage::Unknown { .. }), "{}", pair[0]);
        let said: PluginMessage = serde_json::from_str(pair[1]).unwrap();
        if let (HostMessage::Digest { digest, .. }, PluginMessage::Done { ok, .. }) = (asked, said)
        {
            let answer: Option<DigestAnswer> = serde_json::from_value(ok).unwrap();
            let left = answer.and_then(|answer| answer.left).unwrap_or_default();
            assert!(left.iter().all(|[start, end]| digest.text.get(*start..*end).is_some()));
        }
    }
    assert_eq!(lines.len(), 8);
}

#[test]
fn fields_that_nobody_knows_are_passed_over_and_others_have_defaults() {
    let hello = r#"{"hello":{"protocol":1,"name":"a","version":"1","mood":"good"},"more":1}"#;
    let PluginMessage::Hello { hello } = serde_json::from_str(hello).unwrap() else {
        panic!("{hello}")
    };
    assert_eq!(PluginInfo::from(hello), PluginInfo::new("a", "1"));
    let answer: DigestAnswer = serde_json::from_str(r#"{"text":"a","why":"so"}"#).unwrap();
    assert_eq!(answer, DigestAnswer { text: "a".into(), ..DigestAnswer::default() });
    let call = r#"{"id":3,"dream":{"of":"sheep"}}"#;
    assert_eq!(serde_json::from_str::<HostMessage>(call).unwrap(), HostMessage::Unknown { id: 3 });
}

/// Keeps the first line where that is small enough, and says what it is asked as a hook.
struct First;

impl Plugin for First {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("first", "2").with_digest().with_hook("trigger").with_option("lines", 1, "")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        let line = job.text.lines().next().ok_or_else(|| PluginFailure::new("no line"))?;
        let fits = job.size(line) <= job.most;
        let left = std::iter::once(line.len()..job.text.len()).collect();
        Ok(fits.then(|| DigestOutput { text: line.into(), kind: "first".into(), left }))
    }

    fn hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        Ok(job["say"].as_bool().unwrap_or(false).then(|| json!([hook, options])))
    }
}

fn check(said: &str, expected: &[&str]) {
    let mut out = Vec::new();
    serve_over(&First, Cursor::new(said), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn each_call_gets_one_line() {
    check("", &[]);
    let hello = HostMessage::Hello { hello: HostInfo { protocol: PROTOCOL, host: HOST.into() } };
    let digest = |text: &str, most: u64| {
        format!(
            r#"{{"id":4,"digest":{{"text":"{text}","tokens":10,"most":1,"most_bytes":{most}}}}}"#
        )
    };
    let said = [
        serde_json::to_string(&hello).unwrap(),
        digest(r"one\ntwo, three", 3),
        digest(r"one\ntwo, three", 2),
        digest("", 2),
        r#"{"id":5,"hook":"trigger","job":{"say":true},"options":{"lines":2}}"#.to_owned(),
        r#"{"id":6,"hook":"trigger","job":{}}"#.to_owned(),
        r#"{"id":7,"dream":1}"#.to_owned(),
    ];
    check(
        &said.join("\n"),
        &[
            r#"{"hello":{"protocol":1,"name":"first","version":"2","features":["digest"],"hooks":["trigger"],"doc":"","options":[{"name":"lines","default":1,"doc":""}]}}"#,
            r#"{"id":4,"ok":{"text":"one","kind":"first","left":[[3,14]]}}"#,
            r#"{"id":4,"ok":null}"#,
            r#"{"id":4,"error":"no line"}"#,
            r#"{"id":5,"ok":["trigger",{"lines":2}]}"#,
            r#"{"id":6,"ok":null}"#,
            r#"{"id":7,"error":"it does not know this call"}"#,
        ],
    );
}

/// Recorded lines, some of whose bytes are others.
fn bent() -> impl Strategy<Value = Vec<u8>> {
    let lines: Vec<&str> = V1.lines().collect();
    let bytes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (proptest::sample::select(lines), bytes, any::<prop::sample::Index>()).prop_map(
        |(line, bends, cut)| {
            let mut line = line.as_bytes().to_vec();
            for (at, byte) in bends {
                let at = at.index(line.len());
                line[at] = byte;
            }
            // Half of them end early.
            let cut = cut.index(2 * line.len());
            line.truncate(cut.max(1));
            line
        },
    )
}

proptest! {
    #[test]
    fn bent_lines_are_read_or_refused(line in bent()) {
        if let Ok(said) = serde_json::from_slice::<PluginMessage>(&line) {
            // What was understood can be said again and means the same.
            let again = serde_json::to_vec(&said).unwrap();
            prop_assert_eq!(serde_json::from_slice::<PluginMessage>(&again).unwrap(), said);
        }
        let mut out = Vec::new();
        let served = serve_over(&First, Cursor::new(&line), &mut out).is_ok();
        prop_assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), usize::from(served));
    }

    #[test]
    fn any_bytes_are_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        serde_json::from_slice::<PluginMessage>(&line).ok();
        serde_json::from_slice::<DigestAnswer>(&line).ok();
        serve_over(&First, Cursor::new(&line), Vec::new()).ok();
    }
}
