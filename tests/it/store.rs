//! `epitome store`: a store that is copied, backed up, restored or salvaged says what it said.

use epitome_testkit::PostgresServer;
use serde_json::{Value, json};

use crate::live::compressed;
use crate::program::{Place, Ran};
use crate::session::journal;
use crate::shipped::recording;

/// A short conversation about something.
fn talk(topic: &str) -> Value {
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    json!([
        said("user", format!("Tell me of {topic}.")),
        said("assistant", format!("There are many {topic}, in the north and in the south.")),
        said("user", format!("Which of the {topic} are open in winter?")),
    ])
}

/// A store `s.db` with sessions, a goal, a lock, pins, compressions, an undo, snapshots and trash.
fn filled() -> Place {
    let place = compressed();
    place.write("work.jsonl", recording());
    place.write("other.json", talk("harbours").to_string());
    for args in [
        &["session", "undo"][..],
        &["goal", "set", "Mend the parser"],
        &["goal", "decide", "Use SQLite", "--lock"],
        &["pin", "e3"],
        &["snapshot", "create", "--name", "start"],
        &["snapshot", "create", "--name", "later"],
        &["session", "import", "work.jsonl"],
        &["session", "import", "other.json"],
        &["session", "delete", "other"],
        &["compress", "--ratio", "8", "-q", "--output", "small.json", "work.jsonl"],
    ] {
        let ran = journal(&place, args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
    place
}

/// What the verbs say of a store.
fn portrait(place: &Place, store: &str) -> Vec<String> {
    let ask = |args: &[&str]| {
        let ran = place.run([args, &["--store", store]].concat());
        assert_eq!(ran.code, 0, "{args:?} {store}: {}", ran.err);
        ran.text().to_owned()
    };
    let lists = ["--all", "--trashed"].map(|which| ask(&["session", "list", which, "--json"]));
    let sessions = lists.each_ref().map(|list| serde_json::from_str::<Value>(list).unwrap());
    let mut told = lists.to_vec();
    let sessions = sessions.iter().flat_map(|list| list.as_array().unwrap());
    for name in sessions.map(|it| it["name"].as_str().unwrap()) {
        told.push(ask(&["session", "export", name, "--format", "json"]));
        told.push(ask(&["session", "show", name, "--json"]));
        told.push(ask(&["goal", "list", "--session", name, "--json"]));
        told.push(ask(&["diff", name, "--json"]));
    }
    told.push(ask(&["snapshot", "list", "--json"]));
    told.push(ask(&["recall", "--json", "--max-tokens", "900", "parser test"]));
    // It begins with the time at which it is asked.
    let mut status: Value = serde_json::from_str(&ask(&["status", "--json"])).unwrap();
    status.as_array_mut().unwrap().iter_mut().for_each(|it| it["at"] = Value::Null);
    told.push(status.to_string());
    told
}

#[track_caller]
fn check_equal(place: &Place, one: &str, other: &str) {
    for (one, other) in portrait(place, one).into_iter().zip(portrait(place, other)) {
        assert_eq!(one, other);
    }
}

/// What an errand reports.
#[track_caller]
fn report(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.err);
    let report = ran.json();
    assert_eq!((&report["equal"], &report["differ"]), (&json!(true), &json!([])));
    report
}

#[test]
fn a_store_is_copied_into_a_database_and_back() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let database = server.address("postgres");
    let place = filled();
    let there = report(&place.run(["store", "copy", "--json", "s.db", &database]));
    assert!(there["copied"].as_u64().unwrap() >= 3, "{there}");
    check_equal(&place, "s.db", &database);
    let again = report(&place.run(["store", "copy", "--json", "s.db", &database]));
    assert_eq!((&again["same"], &again["bytes"]), (&there["sessions"], &json!(0)));
    // What is read page by page is what was copied.
    let salvaged = report(&place.run(["store", "salvage", "--json", "s.db", &database]));
    assert_eq!((&salvaged["same"], &salvaged["missing"]), (&there["sessions"], &json!([])));
    let back = place.run(["store", "copy", &database, "back.db"]);
    assert_eq!((back.code, back.err.as_str()), (0, ""));
    assert!(back.text().ends_with("compared: both hold the same\n"), "{}", back.text());
    check_equal(&place, "s.db", "back.db");
    place.run(["session", "verify", "-q", "--store", "back.db"]).silent();
}

#[test]
fn a_backup_is_brought_up_to_date_and_restored() {
    let place = filled();
    let first = report(&place.run(["store", "backup", "--json", "--store", "s.db", "backup.db"]));
    assert_eq!((&first["copied"], &first["same"]), (&first["sessions"], &json!(0)), "{first}");
    assert!(first["messages"].as_u64().unwrap() > 9, "{first}");
    check_equal(&place, "s.db", "backup.db");
    place.write("new.json", talk("ferries").to_string());
    journal(&place, &["session", "import", "new.json"]).silent();
    journal(&place, &["session", "delete", "other", "--forever"]);
    let next = report(&place.run(["store", "backup", "--json", "--store", "s.db", "backup.db"]));
    assert_eq!((&next["copied"], &next["removed"]), (&json!(1), &json!(1)), "{next}");
    check_equal(&place, "s.db", "backup.db");

    report(&place.run(["store", "restore", "--json", "backup.db", "--store", "restored.db"]));
    check_equal(&place, "s.db", "restored.db");
    journal(&place, &["session", "import", "other.json"]).silent();
    let refused = place.run(["store", "restore", "backup.db", "--store", "s.db"]);
    assert_eq!((refused.code, refused.text()), (2, ""));
    assert!(refused.err.contains("s.db holds sessions; `--force`"), "{}", refused.err);
    report(&place.run(["store", "restore", "--force", "--json", "backup.db", "--store", "s.db"]));
    check_equal(&place, "backup.db", "s.db");
}

/// The damaged copy of a store, salvaged as `new.db`; gives what is said of it.
fn salvaged(place: &Place, damage: impl Fn(&mut Vec<u8>)) -> Value {
    let mut bytes = place.read("s.db");
    damage(&mut bytes);
    place.write("bad.db", bytes);
    drop(std::fs::remove_file(place.path("new.db")));
    let ran = place.run(["store", "salvage", "--json", "bad.db", "new.db"]);
    let report = ran.json();
    assert_eq!(ran.code, if report["missing"] == json!([]) { 0 } else { 6 }, "{}", ran.err);
    assert_eq!((&report["equal"], &report["differ"]), (&json!(true), &json!([])));
    place.run(["session", "verify", "-q", "--store", "new.db"]).silent();
    report
}

#[test]
fn what_is_damaged_costs_the_record_that_it_is_in() {
    let place = filled();
    place.write("new.json", talk("ferries").to_string());
    journal(&place, &["session", "import", "new.json"]).silent();
    let whole = salvaged(&place, |_| {});
    assert_eq!((&whole["missing"], &whole["same"]), (&json!([]), &json!(0)));
    check_equal(&place, "s.db", "new.db");

    // Nothing opens it any more, and all that it holds is read.
    salvaged(&place, |bytes| bytes[..4096].fill(0));
    check_equal(&place, "s.db", "new.db");
    let refused = place.run(["session", "list", "--store", "bad.db"]);
    assert_eq!(refused.code, 3, "{}", refused.err);

    let lost = "There are many ferries, in the north and in the south.";
    let report = salvaged(&place, |bytes| {
        let said = format!(r#""assistant","content":"{lost}"#);
        let at = bytes.windows(said.len()).position(|it| it == said.as_bytes()).unwrap();
        bytes[at + 30] ^= 1;
    });
    let missing = report["missing"].as_array().unwrap();
    assert!(
        missing[0].as_str().unwrap().ends_with("the session `new`: the message e1"),
        "{report}"
    );
    let export = |store: &str| {
        let ran = place.run(["session", "export", "new", "--store", store]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.text().to_owned()
    };
    assert_eq!(export("new.db"), export("s.db").replace(lost, "[erased]"));
}

#[test]
fn stores_that_cannot_be_copied_are_one_error() {
    let place = filled();
    place.write("text.db", "this is no store");
    let unreachable = "postgres://nobody@127.0.0.1:9/none";
    let check = |args: &[&str], code: i32, said: &str| {
        let ran = place.run([&["store"], args].concat());
        assert_eq!((ran.code, ran.text()), (code, ""), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    };
    check(&["copy", "none.db", "to.db"], 3, "no store at none.db");
    check(&["copy", "s.db", "./s.db"], 2, "onto itself");
    check(&["copy", "text.db", "to.db"], 3, "text.db");
    check(&["copy", "s.db", "text.db"], 2, "text.db");
    check(&["copy", unreachable, "to.db"], 3, "nobody@127.0.0.1:9");
    check(&["backup", "--store", "none.db", "b.db"], 3, "no store at none.db");
    check(&["backup", "--store", "s.db", "s.db"], 2, "onto itself");
    let nowhere =
        "no/such/b.db: no such file or folder; name a file in a folder that can be written";
    check(&["backup", "--store", "s.db", "no/such/b.db"], 2, nowhere);
    check(&["salvage", "none.db", "to.db"], 3, "no store at none.db");
    check(&["salvage", "text.db", "to.db"], 3, "nothing of a store is left in it");
    check(&["salvage", unreachable, "to.db"], 3, "nobody@127.0.0.1:9");
    check(&["restore", "none.db", "--store", "to.db"], 3, "no store at none.db");
    assert!(!place.path("to.db").exists(), "nothing is made for nothing");
    assert!(!place.path("no").exists(), "nor is a folder");
}
