//! What replays must keep by every shipped policy, over the recordings of the folder that
//! `EPITOME_SHARED` names: what people demanded and what was set as the goal, word for word.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use epitome::types::{Actor, GoalChange, Priority};
use epitome::{Clock, LOCAL, MemoryStore, Profile, SessionControls, WindowSetting, validate};
use epitome_lab::{Recording, Replay, ReplaySetup, ReplayTotals};

use crate::corpus::shared;

const PROFILES: [&str; 6] = ["default", "ollm", "staged", "watermark", "early", "tiered"];

const SIZES: [u64; 3] = [8192, 16_384, 32_768];

const GOAL: &str = "The work is done without any loss, and the public API stays as it is.";

/// Plays a recording with a goal that is set after the first prompt. Every prompt is valid where
/// the recording is. Gives the last prompt, too.
fn play(recording: &Recording, profile: &str, size: u64) -> (ReplayTotals, String) {
    let profile = Profile::shipped(profile).unwrap();
    let clock: Clock = Arc::new(|| "2026-01-02T03:04:05.000Z".to_owned());
    let (window, store) = (WindowSetting::Size(size), Arc::new(MemoryStore::new()));
    let levers = SessionControls::new(store.clone(), profile.clone(), LOCAL, Actor::User);
    let setup = ReplaySetup { profile, window, clock: Some(clock), ..ReplaySetup::default() };
    let is_valid = validate(recording.format(), recording.request()).is_ok();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut replay = Replay::new(recording, &setup, store, Some("played")).unwrap();
    let mut has_goal = false;
    while let Some(turn) = runtime.block_on(replay.step()).unwrap() {
        if turn.refused.is_some() {
            continue;
        }
        if is_valid {
            validate(recording.format(), replay.prompt()).unwrap();
        }
        if !has_goal {
            let set = GoalChange::Set { text: GOAL.to_owned(), priority: Priority::Medium };
            levers.change_goals(Some("played"), vec![set.into()]).unwrap();
            has_goal = true;
        }
    }
    let last = String::from_utf8(replay.prompt().to_vec()).unwrap();
    (replay.finish().unwrap(), last)
}

#[track_caller]
fn check(file: &Path, profile: &str, size: u64) {
    #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
    let bytes = fs::read(file).unwrap();
    let Ok(recording) = Recording::read(&bytes, None, None) else { return };
    let (figures, last) = play(&recording, profile, size);
    let name = format!("{} by {profile} in {size}", file.display());
    assert_eq!(figures.requests.oversized, 0, "{name}");
    let [kept, all] = figures.must_keep.kept.constraints;
    assert_eq!(kept, all, "{name}");
    assert!(figures.requests.compressions == 0 || last.contains(GOAL), "{name}: the goal is lost");
}

#[test]
fn shared_recordings_keep_what_was_demanded_by_every_policy() {
    let files = shared();
    std::thread::scope(|scope| {
        for profile in PROFILES {
            let files = &files;
            scope.spawn(move || {
                for (file, size) in files.iter().flat_map(|file| SIZES.map(|size| (file, size))) {
                    check(file, profile, size);
                }
            });
        }
    });
}
