//! Real conversations, where the folder named by `EPITOME_SHARED` has some: whatever comes in, a
//! valid request of a quarter comes out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::measure::{faults, messages, tokens};
use crate::program::{Place, read_file};

/// The files in a folder below the shared one, `None` (and a word about it) without that.
fn files(folder: &str, ending: &str) -> Option<Vec<PathBuf>> {
    let Some(shared) = std::env::var_os("EPITOME_SHARED") else {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: EPITOME_SHARED names no folder with conversations");
        }
        return None;
    };
    let folder = Path::new(&shared).join(folder);
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    assert!(!files.is_empty(), "nothing in {}", folder.display());
    Some(files)
}

/// Compresses to a quarter and gives back what came out, or the line that says why nothing did.
fn quarter(name: &Path, input: &[u8]) -> Result<Value, String> {
    let place = Place::new();
    let args = ["compress", "--ratio", "4", "--store", "s.db", "--report", "r.json"];
    let ran = place.feed(args, input);
    if ran.code == 4 {
        return Err(ran.err);
    }
    assert_eq!(ran.code, 0, "{}: {}", name.display(), ran.err);
    let body = ran.json();
    assert_eq!(faults(&body), Vec::<String>::new(), "{}", name.display());
    let report = place.read_json("r.json");
    let budget = report["budget"].as_u64().unwrap();
    assert!(tokens(&body) <= budget, "{}: {} of {budget}", name.display(), tokens(&body));
    Ok(body)
}

#[test]
fn recordings_come_out_as_a_quarter() {
    for (folder, ending) in [("data/pi-sessions", ".jsonl"), ("data/swe-agent", ".traj")] {
        for file in files(folder, ending).into_iter().flatten() {
            let body = quarter(&file, &read_file(&file).unwrap());
            assert!(messages(&body.unwrap()).len() > 1, "{}", file.display());
        }
    }
}

/// Captured requests are short: some have nothing that could shrink.
#[test]
fn captured_requests_come_out_valid_or_are_refused() {
    let mut done = 0;
    for file in files("captures", ".json").into_iter().flatten() {
        let capture: Value = serde_json::from_slice(&read_file(&file).unwrap()).unwrap();
        let body = &capture["body"];
        if !body["messages"].is_array() {
            continue;
        }
        match quarter(&file, body.to_string().as_bytes()) {
            Ok(_) => done += 1,
            Err(line) => assert!(line.contains("cannot shrink"), "{line}"),
        }
    }
    assert!(done > 0 || std::env::var_os("EPITOME_SHARED").is_none());
}

#[test]
fn chats_come_out_as_a_quarter() {
    for file in files("data/tau-bench-airline", ".json").into_iter().flatten() {
        let cases: Value = serde_json::from_slice(&read_file(&file).unwrap()).unwrap();
        for case in cases.as_array().unwrap() {
            quarter(&file, case["traj"].to_string().as_bytes()).unwrap();
        }
    }
}
