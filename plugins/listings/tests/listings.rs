//! What becomes of listings: folders with counts, the largest entries and those that stand out.
#![allow(clippy::unwrap_used, reason = "a test")]

use epitome_digest_listings::ListingDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, check};
use proptest::prelude::*;

/// `ls -lR` of a toolchain's folder.
const LONG: &str = include_str!("real/ls-lR.txt");
/// `find` in this repository.
const PATHS: &str = include_str!("real/find.txt");
/// `du -a` of a toolchain's folder.
const SIZES: &str = include_str!("real/du.txt");

/// About what a text takes of a model's window.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Of a text in at most so many bytes.
fn asked(text: &str, most: usize, arguments: &str) -> Option<DigestOutput> {
    let job = DigestInput::new(text, most as u64 / 4, &tokens).of("bash", arguments);
    check::digest(&ListingDigester, &job).unwrap()
}

fn digest(text: &str, most: usize) -> Option<DigestOutput> {
    asked(text, most, r#"{"command": "ls"}"#)
}

#[track_caller]
fn holds(digested: &DigestOutput, lines: &[&str]) {
    for line in lines {
        assert!(digested.text.lines().any(|said| said == *line), "{line}: {}", digested.text);
    }
}

/// The sum of what the heads of folders count.
fn counted(digest: &str, noun: &str) -> usize {
    let notes =
        digest.lines().skip(1).filter_map(|line| line.split_once("[… ")?.1.strip_suffix(']'));
    let counts = notes.flat_map(|note| note.split(", ")).filter_map(|part| {
        let (count, counted) = part.split_once(' ')?;
        count
            .replace(',', "")
            .parse::<usize>()
            .ok()
            .filter(|_| counted.trim_end_matches('s') == noun)
    });
    counts.sum()
}

#[test]
fn of_long_entries_the_largest_and_the_odd_stay_and_folders_are_counted() {
    let found = digest(LONG, LONG.len() / 2).unwrap();
    assert_eq!(found.kind, "listing");
    holds(
        &found,
        &[
            "bin/ [… 10 files, 82.7 MB]",
            "-rwxr-xr-x 1 root root 42185192 May 20  2026 cargo",
            "lib/ [… 3 files, 1 folder, 336.9 MB]",
            "199603328 libLLVM.so.22.1-rust-1.95.0-stable",
            "lib/rustlib/x86_64-unknown-linux-gnu/lib/ [… 62 files, 158.9 MB, 27 .rlib 27 .rmeta 7 .a]",
            "62436801 libcore-120cbae4e86ec454.rmeta",
        ],
    );
    let files =
        LONG.lines().filter(|line| line.starts_with("-r") || line.starts_with("lr")).count();
    assert_eq!(counted(&found.text, "file"), files);
}

#[test]
fn of_paths_the_names_stay_and_folders_are_said_once() {
    let found = digest(PATHS, PATHS.len() / 2).unwrap();
    for path in PATHS.lines() {
        let name = path.rsplit('/').next().unwrap();
        assert!(found.text.contains(name), "{path}: {}", found.text);
    }
    assert_eq!(counted(&found.text, "file"), PATHS.lines().count());
}

#[test]
fn of_sizes_the_sum_and_the_largest_stay() {
    let found = digest(SIZES, SIZES.len() / 2).unwrap();
    let mut largest: Vec<&str> = SIZES.lines().collect();
    largest.sort_by_key(|line| {
        let size: u64 = line.split('\t').next().unwrap().parse().unwrap();
        std::cmp::Reverse(size)
    });
    holds(&found, &largest[..5]);
    holds(&found, &[SIZES.lines().last().unwrap()]);
}

#[test]
fn what_was_asked_for_and_what_differs_stays_in_the_smallest_digest() {
    let mut text = "total 900\n".to_owned();
    for at in 0..400 {
        text += &format!("-rw-r--r-- 1 root root {} Nov 22 14:24 part_{at}.txt\n", 1000 + at);
    }
    text += "-rwsr-xr-x 1 root root 31 Nov 22 14:24 helper\n";
    text += "-rw-r--r-- 1 root root 0 Nov 22 14:24 part_900.txt\n";
    text += "ls: cannot open directory 'private': Permission denied\n";
    text += "-rw-r--r-- 1 root root 7340032 Nov 22 14:24 part_901.txt\n";
    text += "-rw-r--r-- 1 root root 77 Nov 22 14:24 changelog.txt\n";
    let found = asked(&text, 700, r#"{"command": "ls -l | what of the changelog"}"#).unwrap();
    holds(
        &found,
        &[
            "[… listing of 404 entries, by folder; files are -rw-r--r-- root root unless shown otherwise]",
            "ls: cannot open directory 'private': Permission denied",
            "[… 404 files, 7.5 MB, 403 .txt]",
            "-rwsr-xr-x 1 root root 31 Nov 22 14:24 helper",
            "0 part_900.txt",
            "7340032 part_901.txt",
            "77 changelog.txt",
        ],
    );
    assert!(
        found.text.contains("1000 part_0.txt [… ×400: 1000–1399, part_0–399]"),
        "{}",
        found.text
    );
}

#[test]
fn drawn_trees_are_read_with_their_folders() {
    let mut text = "src\n".to_owned();
    for folder in ["alpha", "beta", "gamma"] {
        text += &format!("├── {folder}\n");
        for at in 0..9 {
            text += &format!("│   ├── {folder}_part_{at}.rs\n");
        }
        text += "│   └── mod.rs\n";
    }
    text += "└── lib.rs\n\n3 directories, 31 files\n";
    let found = digest(&text, text.len() / 2).unwrap();
    holds(
        &found,
        &[
            "src/ [… 1 file, 3 folders]",
            "src/beta/ [… 10 files, 10 .rs]",
            "mod.rs",
            "lib.rs",
            "3 directories, 31 files",
        ],
    );
    assert!(found.text.contains("beta_part_0.rs [… ×9: beta_part_0–8]"), "{}", found.text);
}

#[test]
fn files_and_other_texts_are_left_alone() {
    assert_eq!(asked(LONG, 2000, r#"{"command": "cat listing.txt"}"#), None);
    let prose = "The committee noted it.\n".repeat(40);
    let code = "let a = b;\nfn c() {\n}\n".repeat(20);
    let words = "one\ntwo\nthree\n".repeat(20);
    for other in ["", &prose, &code, &words, "a/b\nc/d\n"] {
        assert_eq!(digest(other, 1000), None, "{other}");
    }
}

/// `else:` in it looks like the folder that lines of `ls -R` stand under.
#[test]
fn source_code_is_no_listing() {
    let block = "def open(name):\n    try:\n        file = find(name)\n    except KeyError:\n        \
                 return None\n    else:\n        file.read()\n        file.close()\n";
    for arguments in [r#"{"command": "ls"}"#, r#"{"command": "python -m inspect argparse"}"#] {
        assert_eq!(asked(&block.repeat(20), 1200, arguments), None);
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    for (name, text) in [("long", LONG), ("paths", PATHS), ("sizes", SIZES)] {
        samples.push(ConformanceSample::new(name, text).of("bash", r#"{"command":"ls"}"#));
    }
    let report = conformance::check(&ListingDigester, &samples);
    assert_eq!(report.findings, []);
    assert!(report.made.iter().any(|made| made.sample == "listing"), "{:?}", report.made);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Every path is counted with a folder, however little is shown.
    #[test]
    fn no_entry_goes_uncounted(
        paths in proptest::collection::btree_set(
            "(src|tests|docs)/([a-c]/){0,3}[a-z]{1,6}_[0-9]{1,3}\\.(rs|md)", 12..120),
        share in 10usize..90,
    ) {
        let paths: Vec<String> = paths.into_iter().collect();
        let text = paths.join("\n");
        let Some(found) = digest(&text, text.len() * share / 100) else { return Ok(()) };
        prop_assume!(!found.text.lines().any(|line| line.starts_with("[… ") && line.ends_with(" folders]")));
        prop_assert_eq!(counted(&found.text, "file"), paths.len(), "{}", found.text);
    }

    #[test]
    fn no_text_is_too_odd(
        lines in proptest::collection::vec(
            "((-rw-r--r--|drwx------) 1 a b [0-9]{1,3} (Nov 22 14:24|2024-05-01 10:00) ?ä?|\\./?a?/?:?|├── a?|│   └── b|[0-9]K?\tä?/?|total 3|)", 0..40),
        most in 0usize..300,
    ) {
        let text = lines.join("\n");
        if let Some(found) = digest(&text, most) {
            prop_assert!(found.text.len() <= most);
        }
    }
}
