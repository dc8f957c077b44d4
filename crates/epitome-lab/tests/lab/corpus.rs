//! What replays must cost and keep, over recordings: those of the repository always, those of a
//! folder named by `EPITOME_SHARED` where there is one.

use std::path::{Path, PathBuf};
use std::{env, fs};

use epitome_lab::{Recording, ReplaySetup, at_share, given};

/// Replays all recordings at a share of each one's size, and holds them to the rules: nothing is
/// sent that is too large, prompts only grow between epochs, and all together cost no more than
/// they do without compression.
#[track_caller]
fn check(files: &[PathBuf], share: f64) {
    let (mut raw, mut cost, mut worst) = (0.0, 0.0, (0.0, String::new()));
    let mut played = 0;
    for file in files {
        #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
        let bytes = fs::read(file).unwrap();
        let Ok(recording) = Recording::read(&bytes, None, None) else { continue };
        let name = file.display().to_string();
        let figures = at_share(&recording, &ReplaySetup::default(), share).unwrap();
        assert_eq!(figures.requests.oversized, 0, "{name}");
        assert!(figures.prefix_kept >= 1.0, "{name}: {}", figures.prefix_kept);
        played += figures.requests.turns - figures.requests.refused.len();
        (raw, cost) = (raw + figures.cache.cost_uncompressed, cost + figures.cache.cost);
        let ratio = figures.cache.cost / figures.cache.cost_uncompressed;
        if ratio > worst.0 {
            worst = (ratio, name);
        }
    }
    assert!(played > 0);
    let (ratio, worst) = (cost / raw, format!("{:.3} for {}", worst.0, worst.1));
    assert!(ratio <= 1.0, "{ratio:.3} of the cost without compression; worst {worst}");
}

fn of_the_repository() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    given(&[top.join("examples/transcripts/debugging-session.jsonl")]).files
}

/// The raw recordings of the shared folder; without one nothing is checked.
pub(crate) fn shared() -> Vec<PathBuf> {
    let Some(folder) = env::var_os("EPITOME_SHARED").map(PathBuf::from) else {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: EPITOME_SHARED names no folder");
        }
        return Vec::new();
    };
    let kinds = ["pi-sessions", "swe-agent"].map(|kind| folder.join("data").join(kind));
    given(&kinds).files
}

#[test]
fn at_half_of_its_size_a_recording_costs_no_more() {
    check(&of_the_repository(), 0.5);
}

#[test]
fn at_its_full_size_a_recording_costs_no_more() {
    check(&of_the_repository(), 1.0);
}

#[test]
fn shared_recordings_cost_no_more_either() {
    let files = shared();
    if !files.is_empty() {
        check(&files, 0.5);
        check(&files, 1.0);
    }
}
