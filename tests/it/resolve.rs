//! What a prompt, `diff`, `status` or a closing line names brings the original back exactly as it is
//! printed, whatever profile or store it was made under (RULES 14).

use std::fs::create_dir_all;

use crate::conversation::bare;
use crate::program::{Place, Ran, path};

/// The user's data folder.
const DATA: &str = ".local/share/epitome";

/// A session that profile `ollm` recorded in the usual store.
fn imported() -> Place {
    let place = Place::new();
    place.write("talk.json", bare(24).to_string());
    let ran = place.run(["session", "import", "--profile", "ollm", "talk.json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    place
}

#[test]
fn sessions_and_what_was_said_are_found_without_their_profile() {
    let place = imported();
    for line in [
        "session show talk",
        "session show",
        "session list --json",
        "session export talk",
        "session search invoice_3_5",
        "recall invoice_3_5",
        "diff talk",
        "diff",
        "status",
        "status --session talk",
        "pin e3 --session talk",
        "unpin e3",
        "goal set --session talk the invoices are paid",
        "goal list",
        "snapshot create --session talk --name noon",
        "snapshot list",
        "snapshot restore noon",
        "session erase talk e3",
        "session delete talk",
        "session restore talk",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = place.run(&words);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        let found = ["talk", "invoice_3_5", "e3", "noon"].iter().any(|it| ran.text().contains(it));
        assert!(found, "{line}: {}", ran.text());
        // A profile that is named is meant, and no other.
        let named = place.run([&words[..], &["--profile", "early"]].concat());
        let nothing = named.code != 0
            || ["", "[]\n"].contains(&named.text())
            || named.text().starts_with("no s");
        assert!(nothing, "{line} --profile early: {}", named.text());
    }
    let listed = place.run(["session", "list", "--json"]).json();
    assert_eq!(listed[0]["profile"], "ollm");
}

/// Two projects of one user; the first one recorded a conversation in a store of its own.
fn two_projects() -> Place {
    let place = Place::new();
    for folder in ["one/.git", "two/.git", "data"] {
        create_dir_all(place.path(folder)).unwrap();
    }
    place.write("one/talk.json", bare(24).to_string());
    place
}

fn run_in(place: &Place, folder: &str, words: &[&str]) -> Ran {
    let mut command = place.command(words);
    command.current_dir(place.path(folder));
    Ran::of(command, b"")
}

/// The id of something that a store holds.
fn id_in(place: &Place, folder: &str, store: &str) -> String {
    let ran = run_in(place, folder, &["recall", "--store", store, "--json", "invoice_3_5"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.json()[0]["id"].as_str().unwrap()[..8].to_owned()
}

#[test]
fn an_id_of_another_project_is_found_once_its_user_opens_it() {
    let place = two_projects();
    let replayed = ["replay", "--store", "own.db", "--ratio", "4", "-q", "talk.json"];
    assert_eq!(run_in(&place, "one", &replayed).code, 0);
    let id = id_in(&place, "one", "own.db");
    assert_eq!(run_in(&place, "two", &["recall", &id]).code, 3);
    let ran = run_in(&place, "two", &["recall", "--everywhere", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_store_beside_the_usual_one_is_remembered() {
    let compress: &[&str] = &["compress", "-o", "out.json"];
    for verb in [compress, &["replay", "-q"]] {
        let place = two_projects();
        let store = place.path(&format!("{DATA}/other.db")).display().to_string();
        let rest = ["--ratio", "4", "--store", &store, "talk.json"];
        assert_eq!(run_in(&place, "one", &[verb, &rest].concat()).code, 0);
        let id = id_in(&place, "one", &store);
        let ran = run_in(&place, "one", &["recall", &id]);
        assert_eq!(ran.code, 0, "{verb:?}: {}", ran.err);
    }
}

#[test]
fn what_the_usual_store_holds_is_found_in_a_project_with_its_own() {
    let place = two_projects();
    let usual = place.path(&format!("{DATA}/epitome.db")).display().to_string();
    let line = ["compress", "--ratio", "4", "-o", "out.json", "--store", &usual, "talk.json"];
    assert_eq!(run_in(&place, "one", &line).code, 0);
    let id = id_in(&place, "one", &usual);
    place.write("two/epitome.toml", "store = 'own.db'\n");
    let ran = run_in(&place, "two", &["recall", &id]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_store_that_a_repository_names_is_not_remembered() {
    let place = two_projects();
    let list = place.path(&format!("{DATA}/stores"));
    place.write("two/epitome.toml", "store = 'own.db'\n");
    let ran = run_in(&place, "two", &["run", "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(place.path("two/own.db").is_file() && !list.exists());
    // The same file, named by its user.
    assert_eq!(run_in(&place, "two", &["run", "--store", "own.db", "--", "true"]).code, 0);
    assert!(list.is_file());
}

#[test]
fn a_printed_command_reaches_as_far_as_the_one_that_printed_it() {
    let place = two_projects();
    let store = place.path("data/my store.db").display().to_string();
    let imported = ["session", "import", "--store", &store, "talk.json"];
    assert_eq!(run_in(&place, "one", &imported).code, 0);
    let gone = ["session", "delete", "talk", "--everywhere", "--store", &store];
    let ran = run_in(&place, "two", &gone);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let printed = ran.text().split('`').nth(1).unwrap();
    let printed = printed.replace("epitome ", &format!("{} ", path().display()));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &printed]).current_dir(place.path("two"));
    command.env_clear().env("HOME", place.path("")).env("PATH", "/usr/bin:/bin");
    let back = command.output().unwrap();
    assert!(back.status.success(), "{printed}: {}", String::from_utf8_lossy(&back.stderr));
}
