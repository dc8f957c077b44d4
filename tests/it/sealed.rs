//! A store that is encrypted, with the key that the user's own file names.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::{Place, Ran};
use crate::session::journal;

/// What is said in these conversations.
const SAID: [&str; 4] = ["lighthouses", "in the north", "Mend the lantern", "SQLite format"];

fn talk(topic: &str) -> Value {
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    json!([
        said("user", format!("Tell me of {topic}.")),
        said("assistant", format!("There are many {topic}, in the north and in the south.")),
        said("user", format!("Which of the {topic} are open in winter?")),
    ])
}

/// A place whose user has a key for stores.
pub(crate) fn keyed() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/epitome")).unwrap();
    place.run(["store", "key", "-q", ".config/epitome/store.key"]).silent();
    place.write(".config/epitome/epitome.toml", "store_key_file = \"store.key\"\n");
    place
}

/// What of these words can be read in the files of a place whose names begin with those of stores.
pub(crate) fn readable(place: &Place, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in place.files().iter().filter(|name| name.contains(".db")) {
        let bytes = place.read(name);
        for words in words {
            if bytes.windows(words.len()).any(|it| it == words.as_bytes()) {
                found.push(format!("{name}: {words}"));
            }
        }
    }
    found
}

/// The store `s.db` with a session and a goal.
fn fill(place: &Place) {
    place.write("one.json", talk("lighthouses").to_string());
    journal(place, &["session", "import", "one.json"]).silent();
    let ran = journal(place, &["goal", "set", "Mend the lantern"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

fn exported(place: &Place, store: &str, more: &[&str]) -> String {
    let args = ["session", "export", "one", "--format", "json", "--store", store];
    let ran = place.run([&args[..], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.text().to_owned()
}

#[track_caller]
fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!((ran.code, ran.text()), (code, ""), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(words.iter().all(|words| ran.err.contains(words)), "{}", ran.err);
}

#[test]
fn whoever_has_a_key_has_encrypted_stores() {
    let place = keyed();
    fill(&place);
    assert_eq!(readable(&place, &SAID), [""; 0]);
    assert!(exported(&place, "s.db", &[]).contains("in the north and in the south"));
    let found = journal(&place, &["recall", "winter lighthouses"]);
    assert!(found.text().contains("lighthouses"), "{}{}", found.text(), found.err);
    journal(&place, &["session", "verify", "-q"]).silent();
    let doctor = journal(&place, &["doctor"]);
    assert!(doctor.text().contains("its schema is known"), "{}", doctor.text());

    // A backup is encrypted as well, and restored under the same key.
    for args in [
        &["store", "backup", "backup.db", "--store", "s.db"][..],
        &["store", "restore", "backup.db", "--store", "restored.db"],
        &["store", "salvage", "s.db", "salvaged.db"],
        &["compress", "--ratio", "2", "--store", "kept.db", "-o", "small.json", "-q", "one.json"],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
    assert_eq!(exported(&place, "restored.db", &[]), exported(&place, "s.db", &[]));
    assert_eq!(exported(&place, "salvaged.db", &[]), exported(&place, "s.db", &[]));
    assert_eq!(readable(&place, &SAID), [""; 0], "{:?}", place.files());
    let names = place.files();
    assert!(names.iter().filter(|name| name.ends_with(".db")).count() >= 5, "{names:?}");
}

#[test]
fn a_plain_store_becomes_an_encrypted_one_and_back() {
    let place = Place::new();
    fill(&place);
    place.run(["store", "key", "-q", "a.key"]).silent();
    place.run(["store", "key", "-q", "b.key"]).silent();
    let was = exported(&place, "s.db", &[]);
    let copy = |args: &[&str]| {
        let ran = place.run([&["store", "copy"], args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        assert!(ran.text().ends_with("compared: both hold the same\n"), "{}", ran.text());
    };
    copy(&["s.db", "sealed.db", "--store-key-file", "a.key"]);
    assert!(readable(&place, &SAID).iter().all(|found| found.starts_with("s.db")));
    assert_eq!(exported(&place, "sealed.db", &["--store-key-file", "a.key"]), was);
    // Under another key, and again under none.
    copy(&["sealed.db", "other.db", "--from-key-file", "a.key", "--store-key-file", "b.key"]);
    assert_eq!(exported(&place, "other.db", &["--store-key-file", "b.key"]), was);
    copy(&["other.db", "plain.db", "--store-key-file", "b.key", "--plain"]);
    assert_eq!(exported(&place, "plain.db", &[]), was);
    let sealed = |found: &String| found.starts_with("sealed.db") || found.starts_with("other.db");
    assert!(!readable(&place, &SAID).iter().any(sealed));
}

#[test]
fn a_key_that_is_missing_or_another_one_is_one_error() {
    let place = keyed();
    fill(&place);
    place.run(["store", "key", "-q", "other.key"]).silent();
    let ask = |more: &[&str]| journal(&place, &[&["session", "list"], more].concat());
    let words = ["s.db", "does not open under the key", "store_key_file"];
    refused(&ask(&["--store-key-file", "other.key"]), 3, &words);
    refused(&ask(&["--store-key-file", "none.key"]), 3, &["none.key", "epitome store key"]);
    place.write("short.key", "abc");
    let open = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(place.path("short.key"), open).unwrap();
    refused(&ask(&["--store-key-file", "short.key"]), 3, &["short.key", "64 hexadecimal digits"]);
    let shared = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.path("other.key"), shared).unwrap();
    refused(&ask(&["--store-key-file", "other.key"]), 3, &["other.key", "chmod 600"]);

    place.write(".config/epitome/epitome.toml", "");
    refused(&ask(&[]), 3, &["s.db", "is encrypted", "store_key_file"]);
    assert_eq!(place.run(["store", "key", "other.key"]).code, 2, "a key is never overwritten");

    // The other way round: a plain store, and a key.
    let plain = Place::new();
    fill(&plain);
    plain.run(["store", "key", "-q", "a.key"]).silent();
    let ran = journal(&plain, &["session", "list", "--store-key-file", "a.key"]);
    refused(&ran, 3, &["s.db", "is not encrypted", "epitome store copy"]);
    let mut asked = plain.command(["session", "list", "--store", "s.db"]);
    asked.env("EPITOME_STORE_KEY_FILE", "a.key");
    refused(&Ran::of(asked, b""), 3, &["is not encrypted"]);
}

#[test]
fn the_file_of_a_project_names_no_key() {
    let place = Place::new();
    place.run(["store", "key", "-q", "a.key"]).silent();
    std::fs::create_dir_all(place.path("project/.git")).unwrap();
    place.write("project/epitome.toml", "store_key_file = \"../a.key\"\n");
    let mut command = place.command(["session", "list"]);
    command.current_dir(place.path("project"));
    let ran = Ran::of(command, b"");
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("store_key_file"), "{}", ran.err);
}
