//! Real requests and recordings, from the folder that `EPITOME_SHARED` names: they are read,
//! recognised and accepted as they are.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that reads files"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use epitome_types::{Edit, PartBody, Role, Speaker};
use epitome_wire::{Format, RequestDocument, convert, detect, scan, transcribe, validate};
use serde_json::value::RawValue;

/// The files of a folder with an ending, or nothing where the folder is not named.
fn files(folder: &str, ending: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let Some(shared) = std::env::var_os("EPITOME_SHARED") else {
        eprintln!("skipped: EPITOME_SHARED names no folder");
        return Vec::new();
    };
    let folder = Path::new(&shared).join(folder);
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty(), "no {ending} in {}", folder.display());
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn captured_requests_are_recognised_and_valid() {
    for (path, bytes) in files("captures", ".json") {
        let capture: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&bytes).unwrap();
        let body = capture["body"].get().as_bytes();
        let endpoint: String = serde_json::from_str(capture["path"].get()).unwrap();
        let format = match endpoint.split('?').next().unwrap() {
            "/v1/messages" | "/v1/messages/count_tokens" => Format::Anthropic,
            "/v1/chat/completions" => Format::OpenAi,
            "/v1/responses" => Format::Responses,
            _ => {
                let error = detect(body).unwrap_err().to_string();
                assert!(error.starts_with("format not recognised"), "{}: {error}", path.display());
                continue;
            }
        };
        // A request without a trait of either provider may be named as the plainer one.
        let plain = endpoint.contains("count_tokens");
        assert!(plain || detect(body) == Ok(format), "{}", path.display());
        assert_eq!(validate(format, body), Ok(()), "{}", path.display());
        let document = RequestDocument::parse(body, format).unwrap();
        assert_eq!(document.edited(&[]).unwrap(), body);
        assert!(
            document.entries().iter().any(|entry| entry.has_speaker(Speaker::Human)),
            "{}",
            path.display()
        );
        for (entry, message) in
            document.entries().iter().rev().zip(scan(body, format).unwrap().messages.iter().rev())
        {
            assert_eq!(entry.bytes as usize, message.range.len());
        }
    }
}

/// Converts to both providers; the request must be valid and say what was said.
fn check_recording(path: &Path, bytes: &[u8], format: Format) {
    assert_eq!(detect(bytes), Ok(format), "{}", path.display());
    for to in [Format::Anthropic, Format::OpenAi] {
        let transcript = transcribe(bytes, format, to).unwrap();
        assert_eq!(validate(to, &transcript.request), Ok(()), "{} to {to}", path.display());
        assert_eq!(convert(bytes, format, to).unwrap(), transcript.request);
        let document = RequestDocument::parse(&transcript.request, to).unwrap();
        let messages = scan(&transcript.request, to).unwrap().messages.len();
        assert_eq!(transcript.at.len(), messages);
        let calls = document.entries().iter().flat_map(|entry| entry.calls()).count();
        let results = document.entries().iter().flat_map(|entry| entry.results()).count();
        assert_eq!(calls, results, "{} to {to}", path.display());
        removing_turns_stays_valid(&document);
        beginnings_are_valid(&document);
    }
}

/// Some of the requests that were made on the way, the first and the last among them.
fn beginnings_are_valid(document: &RequestDocument<'_>) {
    let turns = document.turns();
    let step = turns.len() / 8 + 1;
    for count in turns.iter().step_by(step).chain(turns.last()) {
        assert_eq!(validate(document.format(), &document.prefix(*count)), Ok(()), "{count}");
    }
}

/// Removes the whole middle, calls with their results, and puts a note in its place.
fn removing_turns_stays_valid(document: &RequestDocument<'_>) {
    let entries = document.entries();
    let is_start =
        |at: usize| entries[at].role == Role::User && entries[at].results().next().is_none();
    let Some(first) = (1..entries.len()).find(|at| is_start(*at)) else { return };
    let Some(last) = (first + 1..entries.len()).rev().find(|at| is_start(*at)) else { return };
    let kept = first + 1..last;
    let mut edits: Vec<_> = kept.clone().map(|at| Edit::RemoveEntry(entries[at].id)).collect();
    let after = entries[last - 1].id;
    edits.push(Edit::Insert { after: Some(after), role: Role::User, text: "[SUMMARY]".into() });
    let edited = document.edited(&edits).unwrap();
    assert_eq!(validate(document.format(), &edited), Ok(()));
    let after = RequestDocument::parse(&edited, document.format()).unwrap();
    assert_eq!(after.entries().len(), entries.len() - kept.len(), "folded, not added");
}

#[test]
fn pi_sessions_convert() {
    for (path, bytes) in files("data/pi-sessions", ".jsonl") {
        check_recording(&path, &bytes, Format::Pi);
        let transcript = transcribe(&bytes, Format::Pi, Format::Anthropic).unwrap();
        let document = RequestDocument::parse(&transcript.request, Format::Anthropic)
            .unwrap()
            .with_times(&transcript.at);
        assert!(document.entries().iter().all(|entry| entry.at.is_some()));
        let thinking = document.entries().iter().flat_map(|entry| &entry.parts);
        assert_eq!(thinking.filter(|part| matches!(part.body, PartBody::Thinking(_))).count(), 1);
    }
}

#[test]
fn swe_agent_trajectories_convert() {
    for (path, bytes) in files("data/swe-agent", ".traj") {
        check_recording(&path, &bytes, Format::SweAgent);
    }
}
