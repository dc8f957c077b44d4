//! `epitome doctor`: what is wrong is said with its remedy, and nothing is changed.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::conversation::bare;
use crate::program::{Place, Ran};

/// The findings that are not as they should be: what about, and whether it is a failure.
#[track_caller]
fn check(place: &Place, code: i32, expected: &[(&str, &str)]) -> Vec<Value> {
    let mut command = place.command(["doctor", "--json"]);
    command.env("PATH", crate::program::path().parent().unwrap());
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, code, "{ran:?}");
    let all: Vec<Value> = serde_json::from_slice(&ran.out).unwrap();
    let bad: Vec<_> = all.into_iter().filter(|one| one["verdict"] != "ok").collect();
    let found: Vec<_> = bad
        .iter()
        .map(|one| (one["about"].as_str().unwrap(), one["verdict"].as_str().unwrap()))
        .filter(|(about, _)| *about != "room")
        .collect();
    assert_eq!(found, expected);
    assert!(bad.iter().all(|one| one["remedy"].is_string()), "{bad:?}");
    bad
}

#[test]
fn a_sound_place_is_sound_with_and_without_a_store() {
    let place = Place::new();
    check(&place, 0, &[]);
    assert_eq!(place.files(), [""; 0], "no store is made");
    place.write("a.json", bare(4).to_string());
    place.run(["session", "import", "a.json"]).silent();
    check(&place, 0, &[]);
}

#[test]
fn files_that_others_may_read_are_named() {
    let place = Place::new();
    place.write("a.json", bare(4).to_string());
    place.run(["session", "import", "a.json"]).silent();
    let store = place.path(".local/share/epitome/epitome.db");
    std::fs::set_permissions(&store, PermissionsExt::from_mode(0o644)).unwrap();
    let bad = check(&place, 6, &[("files", "fail")]);
    let remedy = format!("chmod 600 {}", store.display());
    assert_eq!(bad[0]["remedy"], Value::from(remedy));
}

#[test]
fn a_store_that_is_none_is_named() {
    let place = Place::new();
    let folder = place.path(".local/share/epitome");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    place.write(".local/share/epitome/epitome.db", "no store");
    let file = place.path(".local/share/epitome/epitome.db");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
    check(&place, 6, &[("store", "fail")]);
}

#[test]
fn a_store_that_cannot_be_made_is_named() {
    let place = Place::new();
    place.write(".local", "a file where a folder should be");
    check(&place, 6, &[("store", "fail")]);
}

#[test]
fn a_program_that_is_not_found_is_a_warning() {
    let ran = Place::new().run(["doctor", "-q"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.text().starts_with("warn  program   epitome "), "{}", ran.text());
}

/// What a profile inherits is never asked where a shipped policy has its name.
#[test]
fn a_profile_with_the_name_of_a_shipped_policy_is_a_warning() {
    const INHERITS: &str = "[profile.early]\ninherits = \"ollm\"\n";
    let place = Place::new();
    place.write("epitome.toml", INHERITS);
    let bad = check(&place, 0, &[("profile", "warn")]);
    let found = bad[0]["found"].as_str().unwrap();
    assert!(found.contains("epitome.toml:2: profile `early` has the name of a ship"), "{found}");
    let shown = place.run(["config", "show", "--profile", "early"]);
    assert!(shown.err.contains("which is asked before those of `ollm`"), "{}", shown.err);

    place.write("epitome.toml", format!("{INHERITS}policies = [\"early\", \"ollm\"]\n"));
    check(&place, 0, &[]);
    assert_eq!(place.run(["config", "show", "--profile", "early"]).err, "");
}

/// What the proxy would not start with is found here, in the same words: key, file and line.
#[test]
fn what_no_proxy_starts_with_is_named() {
    let place = Place::new();
    let cases = [
        ("prices = \"nope.toml\"\n", "own.toml:1: prices: ", "nope.toml: no such file or folder"),
        ("[proxy]\nlisten = \"bogus\"\n", "own.toml:2: proxy.listen: ", "`bogus` is no address"),
    ];
    for (text, start, end) in cases {
        place.write("own.toml", text);
        let ran = place.run(["doctor", "--config", "own.toml", "--json"]);
        let all: Vec<Value> = serde_json::from_slice(&ran.out).unwrap();
        let mut bad = all.iter().filter(|one| one["verdict"] == "fail");
        let found = bad.next().unwrap()["found"].as_str().unwrap();
        assert!(found.starts_with(start) && found.contains(end), "{found}");
        assert_eq!((ran.code, bad.next()), (6, None));
        let serve = place.run(["serve", "--config", "own.toml", "--store", "s.db"]);
        assert_eq!((serve.code, &*serve.err), (3, &*format!("epitome: error: {found}\n")));
    }
    let serve = place.run(["serve", "--listen", "bogus", "--store", "s.db"]);
    assert_eq!(serve.code, 2, "{serve:?}");
}
