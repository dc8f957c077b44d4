//! `epitome goal`: goals, milestones and decisions of a recorded session (RULES 56).

use serde_json::json;

use crate::conversation::bare;
use crate::program::{Place, Ran};
use crate::session::{answer, journal};

/// A place with a session `a` in the store `s.db`.
fn recorded() -> Place {
    let place = Place::new();
    place.write("a.json", bare(6).to_string());
    journal(&place, &["session", "import", "a.json"]).silent();
    place
}

fn goal(place: &Place, args: &[&str]) -> Ran {
    journal(place, &[&["goal"], args].concat())
}

#[track_caller]
fn check(place: &Place, args: &[&str], expected: &str) {
    let out = goal(place, args).silent();
    assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}\n"));
}

#[track_caller]
fn check_refused(place: &Place, args: &[&str], expected: &str) {
    let ran = goal(place, args);
    assert_eq!((ran.code, ran.text()), (2, ""));
    assert_eq!(ran.err, format!("epitome: error: {expected}\n"));
}

#[test]
fn a_goal_is_set_and_worked_at_and_reached() {
    let place = recorded();
    check(&place, &["list"], "session a: no goal is set; `epitome goal set TEXT` sets one");
    check(
        &place,
        &["set", "Ship", "the", "importer", "--priority", "high"],
        "session a: 1 goal\ng1 active, high priority: Ship the importer",
    );
    goal(&place, &["set", "Ship the importer and its manual"]).silent();
    goal(&place, &["milestone", "parser"]).silent();
    goal(&place, &["milestone", "Parser", "--state", "completed"]).silent();
    goal(&place, &["decide", "Use", "SQLite", "--because", "one file is enough"]).silent();
    goal(&place, &["decide", "Rows are append-only", "--architecture"]).silent();
    goal(&place, &["lock", "d1"]).silent();
    let expected = "session a: 1 goal\n\
        g1 active, high priority: Ship the importer and its manual\n   \
           first stated as  Ship the importer\n   \
           completed        parser\n   \
           d1 locked        Use SQLite (because one file is enough)\n   \
           d2 architecture  Rows are append-only";
    check(&place, &["list"], expected);
    let again = "session a: nothing changed, it says so already";
    check(&place, &["lock", "use sqlite"], again);
    check(&place, &["set", "Ship the importer and its manual", "--priority", "high"], again);
    let list = answer(&place, &["goal", "list"]);
    assert_eq!((&list["session"], list["goals"].as_array().unwrap().len()), (&json!("a"), 1));
    let told = &list["goals"][0];
    assert_eq!(told["objective"], "Ship the importer");
    assert_eq!(told["revisions"][0]["text"], "Ship the importer and its manual");
    assert_eq!(
        (&told["decisions"][0]["locked"], &told["priority"]),
        (&json!(true), &json!("high"))
    );
    assert_eq!(
        (&told["decisions"][1]["kind"], &told["status"]),
        (&json!("architecture"), &json!("active"))
    );

    goal(&place, &["set", "--new", "Learn to swim"]).silent();
    goal(&place, &["decide", "No lake", "--lock"]).silent();
    goal(&place, &["done"]).silent();
    goal(&place, &["decide", "Water is wet"]).silent();
    check(
        &place,
        &["resume"],
        &format!(
            "{}\ng2 completed: Learn to swim\n   d3 locked        No lake\n\
             decided while no goal was active\n   d4 decided       Water is wet",
            expected.replace("1 goal", "2 goals")
        ),
    );
    goal(&place, &["pause", "g1", "-q"]).silent();
    let list = answer(&place, &["goal", "list", "--session", "a"]);
    assert_eq!(list["goals"][0]["status"], "paused");
    assert_eq!(journal(&place, &["session", "verify"]).text(), "everything is as it was written\n");
}

#[test]
fn what_cannot_be_changed_says_what_to_do() {
    let place = recorded();
    let none = "no goal is active; set one, or name one by its id; \
                `epitome goal set TEXT --store s.db` sets one";
    check_refused(&place, &["done"], none);
    check_refused(&place, &["milestone", "x"], none);
    check_refused(&place, &["resume", "g1"], "no goal `g1`; none was set yet");
    check_refused(&place, &["set", " "], "the goal is empty; say it in a few words");
    goal(&place, &["decide", "No network", "--lock"]).silent();
    check_refused(
        &place,
        &["decide", "No network", "--because", "slow"],
        "the decision `No network` is locked and cannot be changed",
    );
    check_refused(
        &place,
        &["lock", "d2"],
        "no decision `d2`; decide it first, or say it as it was decided; \
         `epitome goal list --store s.db` shows all, \
         `epitome goal decide TEXT --lock --store s.db` decides it",
    );
    check_refused(
        &place,
        &["set", "x", "--session", "aa"],
        "session `aa` has no message yet, and goals belong to one that has: send its first \
         message, then set the goal; did you mean `a`?",
    );
    let ran = goal(&place, &["milestone", "x", "--state", "done"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("possible values: pending, in_progress, completed"), "{}", ran.err);
    // Nothing of that was recorded.
    check(
        &place,
        &["list"],
        "session a: 0 goals\ndecided while no goal was active\n   d1 locked        No network",
    );
}

/// What a person deletes is gone, their goals too.
#[test]
fn goals_go_with_their_session() {
    let place = recorded();
    goal(&place, &["set", "Find the blue heron"]).silent();
    assert!(String::from_utf8_lossy(&place.read("s.db")).contains("blue heron"));
    journal(&place, &["session", "delete", "a", "--forever"]).silent();
    assert!(!String::from_utf8_lossy(&place.read("s.db")).contains("blue heron"));
    check_refused(
        &place,
        &["list"],
        "no session is recorded yet; `epitome session import FILE --store s.db` records one",
    );
}

/// What the configuration hides is not recorded (RULES 1).
#[test]
fn what_is_redacted_is_not_recorded() {
    let place = recorded();
    place.write(
        "epitome.toml",
        "[profile.default.options.default]\nredact.patterns = [\"hunter[0-9]\"]\n",
    );
    let args = ["set", "Log in with hunter2", "--config", "epitome.toml"];
    let out = String::from_utf8(goal(&place, &args).silent()).unwrap();
    assert!(out.contains("g1 active: Log in with [redacted]"), "{out}");
}
