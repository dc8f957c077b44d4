//! Many recordings at once.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;

use epitome::WindowSetting;
use epitome_lab::{PastScan, ReplaySetup, ScanOptions, ScanProgress, given, lost, scan};

use crate::talk::conversation;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let mut file = tempfile::Builder::new().tempfile_in(folder.path()).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.persist(folder.path().join(name)).unwrap();
    }
    folder
}

fn scanned(paths: &[PathBuf], threads: usize) -> (PastScan, usize) {
    let setup = ReplaySetup { window: WindowSetting::Limit(1500), ..ReplaySetup::default() };
    let options = ScanOptions { threads: NonZero::new(threads), max_input: 100_000 };
    let told = Mutex::new(Vec::new());
    let note = |progress: ScanProgress<'_>| told.lock().unwrap().push((progress.done, progress.of));
    let scan = scan(given(paths), &setup, options, note);
    let mut told = told.into_inner().unwrap();
    told.sort_unstable();
    assert!(told.iter().enumerate().all(|(at, told)| *told == (at + 1, told.1)));
    (scan, told.len())
}

#[test]
fn results_are_the_same_however_many_run_at_once() {
    let (short, long) = (conversation(4), conversation(30));
    let files = [("a.json", &*long), ("b.json", &*short), ("c.json", &*long), ("d.json", &*short)];
    let folder = folder(&files);
    let paths = [folder.path().to_owned()];
    let (one, told) = scanned(&paths, 1);
    let (four, _) = scanned(&paths, 4);
    assert_eq!(one, four);
    assert_eq!(told, 4);
    let names = one.sessions.iter().map(|session| session.file.file_name().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["a.json", "b.json", "c.json", "d.json"]);
}

#[test]
fn totals_are_the_sums_of_the_sessions() {
    let (short, long) = (conversation(4), conversation(30));
    let folder = folder(&[("a.json", &long), ("b.json", &short)]);
    let (scan, _) = scanned(&[folder.path().to_owned()], 2);
    let sum = |of: fn(&epitome_lab::ReplayTotals) -> u64| {
        scan.sessions.iter().map(|session| of(&session.figures)).sum::<u64>()
    };
    let totals = &scan.totals;
    assert_eq!(totals.sessions, 2);
    assert_eq!(totals.tokens.raw, sum(|it| it.tokens.raw));
    assert_eq!(totals.tokens.sent, sum(|it| it.tokens.sent));
    assert_eq!(totals.turns as u64, sum(|it| it.requests.turns as u64));
    assert_eq!(totals.tokens.cut, sum(|it| it.tokens.cut));
    assert_eq!(totals.lost, sum(|it| lost(&it.must_keep.kept)));
    assert!(totals.compressions > 0 && totals.tokens.sent < totals.tokens.raw);
    assert_eq!(totals.money.unpriced, 2);
    assert_eq!(scan.worst.least_saved.len(), 1, "only what was compressed can save too little");
    let saved = &scan.sessions[0].figures;
    let share = 1.0 - saved.tokens.sent as f64 / saved.tokens.raw as f64;
    assert!((scan.worst.least_saved[0].figure - share).abs() < 1e-9);
}

#[test]
fn what_cannot_be_read_is_named_and_passed_over() {
    let large = " ".repeat(100_001);
    let folder = folder(&[
        ("a.json", &conversation(2)),
        ("b.md", "# Notes"),
        ("c.json", "{\"contents\":[]}"),
        ("d.json", &large),
        ("e.json", r#"[{"role":"assistant","content":"Nobody asked."}]"#),
    ]);
    let (scan, _) = scanned(&[folder.path().to_owned(), folder.path().join("gone")], 2);
    assert_eq!(scan.sessions.len(), 1);
    assert_eq!(scan.failed, []);
    let skipped = scan.skipped.iter().map(|one| {
        assert!(!one.reason.contains('\n'));
        (one.file.file_name().unwrap().to_str().unwrap(), one.reason.as_str())
    });
    let expected = [
        ("b.md", "byte 0: expected a value"),
        ("c.json", "format not recognised"),
        ("d.json", "is larger than 100000 bytes"),
        ("e.json", "holds no request"),
        ("gone", "no such file or folder"),
    ];
    for ((name, reason), (file, beginning)) in skipped.zip(expected) {
        assert_eq!(name, file);
        assert!(reason.starts_with(beginning), "{name}: {reason}");
    }
    assert_eq!(scan.skipped.len(), expected.len());
}
