//! Whole replays, held to what they came to before: five streams of each recording, under every
//! shipped profile and in three windows.
//!
//! A stream is a hash in `golden/*.txt`. `UPDATE=1` writes the files anew: what they then differ in
//! is what a change does to a conversation, and belongs into a commit that says so.

mod streams;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{Clock, MemoryStore, Profile, WindowSetting};
use epitome_lab::{Recording, Replay, ReplaySetup};

use self::streams::{Hooks, SESSION, Streams};
use crate::corpus::shared;

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];

/// Limits, as shares of the tokens of the largest request.
const SHARES: [f64; 3] = [0.25, 0.5, 1.0];

/// No window is smaller, in tokens.
const SMALLEST: u64 = 1_500;

/// Plays a recording to its end under a limit of this share of its size.
fn play(recording: &Recording, profile: &str, share: f64) -> (u64, Streams) {
    let profile = Profile::shipped(profile).unwrap();
    let clock: Clock = Arc::new(|| "2026-01-02T03:04:05.000Z".to_owned());
    let hooks = Arc::new(Hooks::default());
    let tracer = Some(hooks.clone() as Arc<_>);
    let setup = ReplaySetup { profile, clock: Some(clock), tracer, ..ReplaySetup::default() };
    let store = Arc::new(MemoryStore::new());
    let size = Replay::new(recording, &setup, store.clone(), None).unwrap().tokens();
    let limit = ((size as f64 * share) as u64).max(SMALLEST);
    let setup = ReplaySetup { window: WindowSetting::Limit(limit), ..setup };

    let mut streams = Streams::of(setup.profile.name());
    let mut replay = Replay::new(recording, &setup, store.clone(), Some(SESSION)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    while let Some(turn) = runtime.block_on(replay.step()).unwrap() {
        streams.turn(&turn, replay.prompt());
        streams.journal(&*store);
    }
    streams.history(&*store);
    streams.end(&hooks, &replay.finish().unwrap());
    (limit, streams)
}

/// A line for each window.
#[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
fn lines(path: &Path, profile: &str) -> String {
    let bytes = fs::read(path).unwrap();
    let Ok(recording) = Recording::read(&bytes, None, None) else { return String::new() };
    let name = path.file_stem().unwrap().to_string_lossy();
    let mut lines = String::new();
    for share in SHARES {
        let (limit, streams) = play(&recording, profile, share);
        writeln!(lines, "{name} {profile} {limit} {streams}").unwrap();
    }
    lines
}

/// Plays all of these, and holds them to what the file says.
#[expect(clippy::disallowed_methods, reason = "a test reads its figures")]
fn check(file: &str, recordings: &[PathBuf]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/golden").join(file);
    let each = recordings.iter().flat_map(|one| PROFILES.map(|profile| (one, profile)));
    let each: Vec<_> = each.collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let now: String = std::thread::scope(|scope| {
        let running: Vec<_> = each
            .chunks(each.len().div_ceil(threads))
            .map(|some| {
                scope.spawn(move || {
                    some.iter().map(|(path, profile)| lines(path, profile)).collect::<String>()
                })
            })
            .collect();
        running.into_iter().map(|some| some.join().unwrap()).collect()
    });
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap();
    let differ: Vec<_> = before
        .lines()
        .zip(now.lines())
        .filter(|(before, now)| before != now)
        .map(|(before, now)| format!("- {before}\n+ {now}"))
        .collect();
    assert!(differ.is_empty(), "{} of {file} differ:\n{}", differ.len(), differ.join("\n"));
    assert_eq!(before.lines().count(), now.lines().count(), "{file}");
}

#[test]
fn shipped_recordings_come_to_what_they_came_to() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/transcripts");
    check("shipped.txt", &[folder.join("debugging-session.jsonl")]);
}

/// The recordings of the folder that `EPITOME_SHARED` names.
#[test]
fn shared_recordings_come_to_what_they_came_to() {
    let files = shared();
    if !files.is_empty() {
        check("shared.txt", &files);
    }
}
