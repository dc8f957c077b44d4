//! `epitome session`: what was said is recorded once, listed, found, written out and deleted.

use serde_json::{Value, json};

use crate::conversation::{LAST, SYSTEM, anthropic, bare, claude_code, openai, turns};
use crate::program::{Place, Ran};
use crate::shipped::run_line;

/// A place with the store `s.db`, into which this was imported.
fn recorded(file: &str, contents: impl AsRef<[u8]>) -> Place {
    let place = Place::new();
    place.write(file, contents);
    journal(&place, &["session", "import", file]).silent();
    place
}

/// Runs a verb of the journal over `s.db`.
pub(crate) fn journal(place: &Place, args: &[&str]) -> Ran {
    place.run([args, &["--store", "s.db"]].concat())
}

/// What a verb prints as JSON.
#[track_caller]
pub(crate) fn answer(place: &Place, args: &[&str]) -> Value {
    let out = journal(place, &[args, &["--json"]].concat()).silent();
    serde_json::from_slice(&out).unwrap()
}

fn show(place: &Place, name: &str) -> Value {
    answer(place, &["session", "show", name])
}

#[test]
fn every_format_becomes_a_session() {
    let ollm = recorded("a.json", bare(6).to_string());
    let ollm = journal(&ollm, &["session", "export", "a", "--format", "ollm"]).silent();
    let codex = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n\
        {\"type\":\"response_item\",\"timestamp\":\"2025-03-01T10:00:00Z\",\"payload\":\
        {\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Hi.\"}]}}\n";
    let check = |file: &str, bytes: &[u8], format: &str, messages: usize, title: &str| {
        let place = recorded(file, bytes);
        let info = show(&place, "one");
        assert_eq!(
            (&info["format"], &info["messages"]),
            (&json!(format), &json!(messages)),
            "{file}"
        );
        assert!(info["title"].as_str().unwrap().starts_with(title), "{file}: {info}");
    };
    let title = "Never touch the production database.";
    check("one.json", bare(6).to_string().as_bytes(), "openai", 26, title);
    check("one.json", openai(6).to_string().as_bytes(), "openai", 26, title);
    check("one.json", anthropic(6).to_string().as_bytes(), "anthropic", 26, title);
    check("one.jsonl", claude_code(6).as_bytes(), "anthropic", 25, title);
    check("one.json", &ollm, "openai", 26, title);
    check("one.jsonl", codex.as_bytes(), "openai", 1, "Hi.");
}

#[test]
fn what_is_recorded_already_is_not_recorded_again() {
    let lines = claude_code(6);
    let place = recorded("work.jsonl", &lines);
    let before = answer(&place, &["session", "list"]);
    assert_eq!(before[0]["name"], "work");
    assert_eq!(
        (&before[0]["turns"], &before[0]["started"]),
        (&json!(13), &json!("2025-03-01T10:00:00.000Z"))
    );
    place.write("copy.jsonl", &lines);
    for file in ["work.jsonl", "copy.jsonl"] {
        let ran = journal(&place, &["session", "import", file]);
        assert_eq!(ran.text(), "session work has all 25 messages of it already\n");
    }
    assert_eq!(answer(&place, &["session", "list"]), before);

    place.write("work.jsonl", claude_code(8).lines().collect::<Vec<_>>().join("\n"));
    let ran = journal(&place, &["session", "import", "work.jsonl"]);
    assert_eq!(ran.text(), "session work: 9 new messages recorded of 33\n");
    assert_eq!(answer(&place, &["session", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn all_that_was_said_is_written_out_with_its_times() {
    let place = recorded("work.jsonl", claude_code(4));
    let json = answer(&place, &["session", "export", "work"]);
    assert_eq!(
        (&json["sessionId"], &json["startTime"]),
        (&json!("work"), &json!("2025-03-01T10:00:00.000Z"))
    );
    assert_eq!(json["messages"][0]["timestamp"], "2025-03-01T10:00:00.000Z");
    assert_eq!(json["metadata"]["messageCount"], 17);
    let calls = json["toolCalls"].as_array().unwrap();
    for (turn, call) in turns(4).zip(calls) {
        assert_eq!(
            (&call["args"], &call["result"]["llmContent"]),
            (&turn.call, &json!(turn.result))
        );
    }
    journal(&place, &["session", "export", "work", "--output", "work.md", "-q"]).silent();
    let text = String::from_utf8(place.read("work.md")).unwrap();
    assert!(text.starts_with("# Session work\n"), "{text}");
    assert_eq!(text.matches("\n## ").count(), 17);
    assert!(text.contains(" User (2025-03-01T10:04:00.000Z)\n"), "{text}");
    assert!(turns(4).all(|turn| text.contains(&turn.ask) && text.contains(&turn.result)));
}

#[test]
fn the_list_fits_its_terminal_and_goes_on_page_by_page() {
    let place = recorded("first.json", bare(2).to_string());
    for at in 0..5 {
        let text = format!("Question {at} about 日本語 and a long tail of words that go on and on");
        let body = json!([{"role": "user", "content": text}]);
        place.write(&format!("conversation-number-{at}.json"), body.to_string());
        journal(&place, &["session", "import", &format!("conversation-number-{at}.json")]).silent();
    }
    let names = |args: &[&str]| -> Vec<String> {
        let list = answer(&place, &[&["session", "list"], args].concat());
        list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let newest = ["conversation-number-4", "conversation-number-3"];
    assert_eq!(names(&["--limit", "2"]), newest);
    assert_eq!(names(&["--limit", "0"]).len(), 6);
    for columns in [50_usize, 80, 120] {
        let mut command = place.command(["session", "list", "--limit", "3", "--store", "s.db"]);
        command.env("COLUMNS", columns.to_string());
        let ran = Ran::of(command, b"");
        // Each of the three wide letters is in one place of two cells.
        let cells = |line: &str| line.chars().count() + line.matches(['日', '本', '語']).count();
        assert!(ran.text().lines().all(|line| cells(line) <= columns), "{columns}: {}", ran.text());
        assert!(ran.text().ends_with("and older ones; `--limit 0` shows all\n"), "{}", ran.text());
        assert!(ran.text().contains("conversat") && !ran.text().contains('\u{1b}'));
    }
    let mut command = place.command(["session", "list", "--store", "s.db"]);
    command.env("CLICOLOR_FORCE", "1");
    assert!(Ran::of(command, b"").text().contains('\u{1b}'));
}

#[test]
fn a_search_names_session_and_entry() {
    let place = recorded("work.jsonl", claude_code(6));
    place.write(
        "other.json",
        json!([{"role": "user", "content": "Where is the zebra crossing?"}]).to_string(),
    );
    journal(&place, &["session", "import", "other.json"]).silent();
    let found = answer(&place, &["session", "search", "zebra crossing"]);
    assert_eq!((&found[0]["session"], &found[0]["entry"]), (&json!("other"), &json!("e0")));
    let found = answer(&place, &["session", "search", "ERR_STAGE_4"]);
    assert_eq!(
        (&found[0]["session"], &found[0]["what"]),
        (&json!("work"), &json!("read_file result"))
    );
    assert_eq!(found[0]["entry"], "e18", "{found}");
    let recalled = answer(&place, &["recall", "zebra crossing"]);
    assert_eq!(recalled[0]["source"], "other: e0 user");
    let whole = journal(&place, &["recall", recalled[0]["id"].as_str().unwrap()]).silent();
    assert_eq!(whole, b"Where is the zebra crossing?");
}

/// What nobody looked for yet is found by its id too.
#[test]
fn an_id_is_found_before_any_search() {
    let place = recorded("one.json", json!([{"role": "user", "content": "alpha"}]).to_string());
    let recalled = Place::new();
    recalled.write("one.json", place.read("one.json"));
    journal(&recalled, &["session", "import", "one.json"]).silent();
    let id = answer(&recalled, &["recall", "alpha"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(journal(&place, &["recall", "--id", &id]).silent(), b"alpha");
}

#[test]
fn what_is_in_the_trash_comes_back_until_it_is_deleted_for_good() {
    let place = recorded("a.json", bare(2).to_string());
    place.write("b.json", json!([{"role": "user", "content": "unrepeatable"}]).to_string());
    journal(&place, &["session", "import", "b.json"]).silent();
    let names = |args: &[&str]| {
        let list = answer(&place, &[&["session", "list"], args].concat());
        list.as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    };
    journal(&place, &["session", "delete", "b"]).silent();
    assert_eq!(
        (names(&[]), names(&["--trashed"])),
        (vec![json!("a")], vec![json!("b"), json!("a")])
    );
    let again = journal(&place, &["session", "import", "b.json"]);
    let line = "epitome: error: session b is in the trash; `epitome session restore --store s.db b` \
                takes it out of it\n";
    assert_eq!((again.code, again.err.as_str()), (2, line));
    journal(&place, &["session", "restore", "b"]).silent();
    assert_eq!(names(&[]), [json!("b"), json!("a")]);
    journal(&place, &["session", "import", "b.json"]).silent();
    journal(&place, &["session", "delete", "b"]).silent();
    let ran = journal(&place, &["session", "delete", "--forever"]);
    assert_eq!(ran.text(), "deleted for good: 1 session, 1 message\n");
    assert_eq!(names(&["--trashed"]), [json!("a")]);
    let found = answer(&place, &["session", "search", "unrepeatable"]);
    assert!(!found.to_string().contains("unrepeatable"), "{found}");
    let ran = journal(&place, &["session", "delete", "a", "--forever"]);
    assert_eq!(ran.text(), "session a is deleted for good, 10 messages with it\n");
    assert_eq!(names(&["--trashed"]), [Value::Null; 0]);
}

/// The trash is what the list shows of it, whatever profile recorded that.
#[test]
fn the_trash_is_emptied_as_it_is_listed() {
    let place = recorded("a.json", bare(2).to_string());
    place.write("b.json", json!([{"role": "user", "content": "unrepeatable"}]).to_string());
    journal(&place, &["session", "import", "b.json", "--profile", "ollm"]).silent();
    for name in ["a", "b"] {
        journal(&place, &["session", "delete", name]).silent();
    }
    let listed = || answer(&place, &["session", "list", "--trashed"]).as_array().unwrap().len();
    assert_eq!(listed(), 2);
    let ran = journal(&place, &["session", "delete", "--forever"]);
    assert_eq!(ran.text(), "deleted for good: 2 sessions, 11 messages\n");
    assert_eq!(listed(), 0);
}

/// What two conversations say is found in both, and called by its place in each.
#[test]
fn what_two_sessions_say_is_found_under_both() {
    let place = Place::new();
    let said = "The heron nests in the third chimney.";
    for (name, first) in [("a", "About birds."), ("b", "About chimneys."), ("c", "Nothing.")] {
        let text = if name == "c" { "Another matter altogether." } else { said };
        let body = json!([{"role": "user", "content": first},
            {"role": "assistant", "content": format!("Well, {first}")},
            {"role": "user", "content": text}]);
        place.write(&format!("{name}.json"), body.to_string());
        journal(&place, &["session", "import", &format!("{name}.json")]).silent();
    }
    let found = || -> Vec<String> {
        let found = answer(&place, &["session", "search", "\"third chimney\""]);
        let found = found.as_array().unwrap().clone();
        let named = |one: &Value| {
            assert_eq!(one["content"], said);
            let place = format!("{}: {} ", one["session"].as_str()?, one["entry"].as_str()?);
            Some(place + one["what"].as_str()?)
        };
        let also = |one: &Value| one["also"].as_array().cloned().unwrap_or_default();
        let also = found.iter().flat_map(also).map(|it| it.as_str().unwrap().to_owned());
        let mut all: Vec<_> = found.iter().filter_map(named).chain(also).collect();
        all.sort();
        all
    };
    assert_eq!(found(), ["a: e2 user", "b: e2 user"]);
    let recalled = place.run(["recall", "--store", "s.db", "heron"]);
    assert!(recalled.text().contains("a: e2 user, b: e2 user\n"), "{}", recalled.text());
    journal(&place, &["session", "delete", "a"]).silent();
    assert_eq!(found(), ["b: e2 user"]);
    journal(&place, &["session", "delete", "a", "--forever"]);
    assert_eq!(found(), ["b: e2 user"]);
}

#[test]
fn what_is_erased_is_nowhere() {
    let place = recorded("work.jsonl", claude_code(6));
    assert_eq!(answer(&place, &["session", "search", "ERR_STAGE_4"])[0]["entry"], "e18");
    let secret = b"ERR_STAGE_4: timeout after 252 ms";
    let holds = |place: &Place| {
        let files = place.files().into_iter().filter(|name| name.starts_with("s.db"));
        files
            .map(|name| place.read(&name))
            .any(|file| file.windows(secret.len()).any(|window| window == secret))
    };
    assert!(holds(&place));
    let ran = journal(&place, &["session", "erase", "work", "e18", "e18"]);
    assert!(ran.text().starts_with("erased e18 ("), "{}", ran.text());
    assert_eq!(ran.text().lines().count(), 1);
    assert!(!holds(&place));
    let text = journal(&place, &["session", "export", "work"]).silent();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("[erased]") && !text.contains("ERR_STAGE_4"), "{text}");
    assert!(text.contains("ERR_STAGE_3") && text.contains(LAST));
    assert!(
        !answer(&place, &["session", "search", "ERR_STAGE_4"]).to_string().contains("after 252")
    );
    assert_eq!(journal(&place, &["session", "verify"]).text(), "everything is as it was written\n");
}

#[test]
fn pins_go_by_place_and_by_key() {
    let place = recorded("a.json", bare(6).to_string());
    let ran = journal(&place, &["pin", "e1", "e5"]);
    assert_eq!(ran.text(), "session a: pinned by hand are e1 e5\n");
    let pins = show(&place, "a")["pins"].clone();
    assert_eq!((&pins[0]["entry"], &pins[1]["role"]), (&json!("e1"), &json!("user")));
    let key = pins[0]["key"].as_str().unwrap();
    let ran = journal(&place, &["unpin", key, "--session", "a"]);
    assert_eq!(ran.text(), "session a: pinned by hand are e5\n");
    assert_eq!(journal(&place, &["unpin", "e5"]).text(), "session a: nothing is pinned by hand\n");
}

/// What left the prompt already comes back with a pin, and the compression that took it out goes: that
/// is said, with the way back.
#[test]
fn a_pin_says_which_compressions_no_longer_apply() {
    let place = Place::new();
    place.write("a.json", bare(60).to_string());
    let args = ["replay", "a.json", "--prompt-limit", "3000", "--session", "a", "-q"];
    assert_eq!(journal(&place, &args).code, 0);
    let ran = journal(&place, &["pin", "e2"]);
    assert!(ran.text().starts_with("session a: pinned by hand are e2\n"), "{}", ran.text());
    assert!(ran.text().contains("no longer apply"), "{}", ran.text());
    let back = "`epitome unpin e2 --session a --store s.db` brings them back";
    assert!(ran.text().contains(back), "{}", ran.text());
    // They are out of force already, and are back once it is unpinned.
    let again = journal(&place, &["pin", "e3"]);
    assert_eq!(again.text(), "session a: pinned by hand are e2 e3\n");
    let unpinned = journal(&place, &["unpin", "e2", "e3"]);
    assert_eq!(unpinned.text(), "session a: nothing is pinned by hand\n");
    assert_eq!(journal(&place, &["pin", "e2"]).text(), ran.text());
}

#[test]
fn damage_is_found() {
    let place = recorded("a.json", bare(24).to_string());
    assert_eq!(
        journal(&place, &["session", "verify"]).silent(),
        b"everything is as it was written\n"
    );
    let mut store = place.read("s.db");
    let needle = SYSTEM.as_bytes();
    let at = store.windows(needle.len()).position(|window| window == needle).unwrap();
    store[at + 4] ^= 1;
    place.write("s.db", store);
    let ran = journal(&place, &["session", "verify"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(!ran.text().is_empty() && ran.err.lines().count() == 1, "{ran:?}");
    assert!(ran.err.starts_with("epitome: error: ") && ran.err.contains(" left"), "{ran:?}");
    let ran = journal(&place, &["doctor"]);
    assert_eq!(ran.code, 6);
    assert!(ran.text().contains("fail  store") && ran.text().contains("epitome session verify"));
}

/// What is derived from the records is thrown away and made anew: everything is as it was, though somebody
/// changed it by hand.
#[test]
fn what_is_made_anew_is_as_it_was() {
    let place = recorded("work.jsonl", claude_code(6));
    let shown = || {
        let all =
            [&["session", "list", "--json"][..], &["session", "show"], &["recall", "ERR_STAGE_4"]];
        all.map(|args| journal(&place, args).text().to_owned())
    };
    answer(&place, &["session", "search", "ERR_STAGE_4"]);
    let before = shown();
    let rebuilt = journal(&place, &["session", "verify", "--rebuild"]).silent();
    assert_eq!(String::from_utf8(rebuilt).unwrap(), "everything is as it was written\n");
    assert_eq!(shown(), before);

    let damage = "UPDATE session SET messages = 3; DROP INDEX message_chain;
        INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')";
    let store = rusqlite::Connection::open(place.path("s.db")).unwrap();
    store.execute_batch(damage).unwrap();
    drop(store);
    assert_ne!(shown(), before);
    assert_eq!(journal(&place, &["session", "verify"]).code, 6);
    let rebuilt = journal(&place, &["session", "verify", "--rebuild"]);
    let told = rebuilt.text();
    assert_eq!((rebuilt.code, told.lines().count()), (0, 3), "{rebuilt:?}");
    assert!(told.lines().all(|line| line.starts_with("repaired: ")), "{told}");
    assert_eq!(shown(), before);
    let verified = journal(&place, &["session", "verify"]).silent();
    assert_eq!(String::from_utf8(verified).unwrap(), "everything is as it was written\n");
}

/// In the order in which somebody would try them.
#[test]
fn the_examples_of_the_help_run() {
    let place = Place::new();
    place.write("session.jsonl", claude_code(30));
    let args = [
        "replay",
        "--prompt-limit",
        "3000",
        "--session",
        "debugging-session",
        "session.jsonl",
        "-q",
    ];
    let store = ["--store", ".local/share/epitome/epitome.db"];
    assert_eq!(place.run(args.into_iter().chain(store)).code, 0);
    let verbs = [
        "session",
        "session list",
        "session show",
        "session import",
        "session export",
        "session search",
        "status",
        "diff",
        "doctor",
        "session undo",
        "session redo",
        "pin",
        "unpin",
        "goal",
        "goal list",
        "goal set",
        "goal milestone",
        "goal decide",
        "goal lock",
        "goal pause",
        "goal resume",
        "goal done",
        "snapshot",
        "snapshot list",
        "snapshot restore",
        "snapshot prune",
        "session verify",
        "session delete",
        "session restore",
        "session erase",
    ];
    for verb in verbs {
        let help = place.run(verb.split(' ').chain(["--help"])).silent();
        let help = String::from_utf8(help).unwrap();
        let example = help.lines().skip_while(|line| *line != "Example:").nth(1);
        let example = example.unwrap_or_else(|| panic!("no example in {help}"));
        let ran = run_line(&place, example);
        assert_eq!(ran.code, 0, "{example}: {}", ran.err);
    }
}

/// A file that does not open any more is looked at all the same: what is wrong with it is said line
/// by line, and that it cannot be mended.
#[test]
fn a_store_that_does_not_open_is_examined() {
    let check = |damage: fn(&mut Vec<u8>)| {
        let place = Place::new();
        place.write("talk.json", bare(80).to_string());
        place.run(["session", "import", "talk.json", "--store", "s.db"]).silent();
        let mut bytes = place.read("s.db");
        damage(&mut bytes);
        place.write("s.db", &bytes);
        let shown = place.run(["session", "list", "--store", "s.db"]);
        for repair in [&[][..], &["--repair"][..]] {
            let args = [&["session", "verify", "--store", "s.db"], repair].concat();
            let ran = place.run(args);
            assert_eq!(ran.code, 6, "{}", ran.err);
            assert!(ran.text().lines().count() > 0, "{}", ran.err);
            assert!(ran.err.contains(" left"), "{}", ran.err);
            let each = |line: &str| line.contains("this cannot be mended: restore a backup");
            assert!(ran.text().lines().all(each), "{}", ran.text());
        }
        assert_eq!(place.read("s.db"), bytes, "what is left is left alone");
        shown.code
    };
    let cut = check(|bytes| bytes.truncate(20_000));
    let schema = check(|bytes| bytes[100..2_000].fill(0x55));
    assert_eq!([cut, schema], [3, 3]);
}

/// What its reader may not write is read all the same.
#[test]
fn a_store_of_somebody_else_is_read() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let place = Place::new();
    place.write("talk.json", bare(30).to_string());
    place.run(["session", "import", "talk.json", "--store", "s.db"]).silent();
    place.run(["session", "search", "invoice", "--store", "s.db"]).silent();
    let written = place.read("s.db");
    let guard = |mode: [u32; 2]| {
        for (name, mode) in ["s.db", ""].into_iter().zip(mode) {
            std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
        }
    };
    guard([0o444, 0o555]);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
    let run = |line: &str| {
        let mut command = place.command(line.split(' ').chain(["--store", "s.db"]));
        if is_root {
            // Nothing is forbidden to root.
            command.uid(65534).gid(65534);
        }
        Ran::of(command, b"")
    };
    let reads = ["session list", "session export talk", "status", "diff talk", "recall invoice"];
    for line in reads.into_iter().chain(["session verify", "session search invoice"]) {
        let ran = run(line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        assert!(!ran.out.is_empty(), "{line}");
    }
    let ran = run("pin e1");
    assert!(ran.code == 2 && ran.err.contains("cannot be written"), "{} {}", ran.code, ran.err);
    guard([0o600, 0o700]);
    assert_eq!(place.files(), ["s.db", "talk.json"]);
    assert_eq!(place.read("s.db"), written);
}
