//! What a repository brings: nothing of it runs, reads, writes or stops anything unasked; and what
//! is recorded for one project is read in no other.

use std::fs::create_dir_all;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::conversation::bare;
use crate::mcp::{call, hello};
use crate::program::{Place, Ran};

/// Runs in a folder of the place.
fn run_in(place: &Place, folder: &str, line: &str) -> Ran {
    let mut command = place.command(line.split(' '));
    command.current_dir(place.path(folder));
    Ran::of(command, b"")
}

/// A clone with a conversation in it, and nothing that anybody trusts.
fn clone(policies: &[(&str, &str)]) -> Place {
    let place = Place::new();
    create_dir_all(place.path("clone/.git")).unwrap();
    place.write("clone/talk.json", bare(24).to_string());
    for (name, text) in policies {
        let folder = format!("clone/.epitome/policies/{name}");
        create_dir_all(place.path(&folder)).unwrap();
        place.write(&format!("{folder}/policy.lua"), text);
    }
    place
}

#[test]
fn a_clone_stops_no_command() {
    let endless = "--- @api 2\nwhile true do end\n";
    let place = clone(&[("default", endless), ("ollm", "no Lua at all (")]);
    create_dir_all(place.path("clone/.epitome/plugins/json")).unwrap();
    place.write("clone/.epitome/plugins/json/plugin.toml", "no = 'manifest'\n");
    for line in [
        "replay talk.json --context-size 4096 -q",
        "compress talk.json --ratio 4 --output out.json",
        "replay talk.json --profile ollm --context-size 4096 -q",
        "session import talk.json --store s.db",
        "policy list",
        "plugin list",
        "config show",
    ] {
        let ran = run_in(&place, "clone", line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
    let told = run_in(&place, "clone", "compress talk.json --ratio 4 --output again.json").err;
    let warnings: Vec<_> = told.lines().filter(|line| line.contains("`default`")).collect();
    assert_eq!(warnings.len(), 1, "{told}");
    assert!(warnings[0].contains("it is passed over, and the shipped one of that name answers"));
    assert!(warnings[0].contains("let it run with `epitome trust "), "{told}");
    // A scan says so, too, of the profile that it plays, and a comparison of those that it measures.
    for line in ["scan talk.json --profile ollm", "ab talk.json --ratio 4 --profiles ollm"] {
        let told = run_in(&place, "clone", line).err;
        let warnings: Vec<_> = told.lines().filter(|line| line.contains("`ollm`")).collect();
        assert_eq!(warnings.len(), 1, "{told}");
        assert!(
            warnings[0].contains("it is passed over, and the shipped one of that name answers")
        );
    }
}

/// What is trusted and broken is passed over as well, and no matter of trust.
#[test]
fn a_broken_policy_is_not_told_of_as_untrusted() {
    let place = clone(&[("ollm", "no Lua at all (")]);
    let trusted = run_in(&place, "clone", "trust .epitome/policies/ollm");
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    let ran =
        run_in(&place, "clone", "replay talk.json --profile ollm --context-size 4096 --json -q");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Vec<&str> =
        ran.text().lines().filter(|line| line.contains("is passed over")).collect();
    assert_eq!(told.len(), 1, "{}", ran.text());
    assert!(!told[0].contains("trust"), "{}", told[0]);
}

/// A policy behind a link does not run with the folder that the link stands in, and `trust` says so.
#[cfg(unix)]
#[test]
fn a_link_that_stays_refused_is_told_of() {
    let place = clone(&[("plain", "--- @api 2\nreturn {}\n")]);
    create_dir_all(place.path("away")).unwrap();
    place.write("away/policy.lua", "--- @api 2\nreturn { extends = \"ollm\", doc = \"Away.\" }\n");
    std::os::unix::fs::symlink(place.path("away"), place.path("clone/.epitome/policies/team"))
        .unwrap();
    let replay = "replay talk.json --profile team --context-size 4096 -q";
    let ran = run_in(&place, "clone", "trust");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("policies/team is a link") && ran.err.contains("does not run"),
        "{}",
        ran.err
    );
    assert_eq!(run_in(&place, "clone", replay).code, 3);
    let listed = run_in(&place, "clone", "trust --json").json();
    let states: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["trusted", "unknown"]);
    // What it says to do lets it run, and there is nothing to tell of any more.
    let remedy = ran.err.split('`').nth(1).unwrap().strip_prefix("epitome ").unwrap();
    assert_eq!(run_in(&place, "clone", remedy).code, 0);
    let ran = run_in(&place, "clone", replay);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(run_in(&place, "clone", "trust").err, "");
}

#[test]
fn the_file_of_a_project_leads_nowhere_else() {
    for store in ["/srv/else.db", "../else.db", "~/else.db"] {
        let place = clone(&[]);
        place.write("clone/epitome.toml", format!("store = '{store}'\n"));
        let ran = run_in(&place, "clone", "session import talk.json");
        assert_eq!(ran.code, 3, "{store}: {}", ran.err);
        assert!(ran.err.contains("epitome.toml:1: `store` is "), "{}", ran.err);
        assert!(ran.err.contains("which leads out of the project"), "{}", ran.err);
        assert!(!place.path("else.db").exists());
    }
    let place = clone(&[]);
    place.write("clone/epitome.toml", "store = 'own.db'\n");
    assert_eq!(run_in(&place, "clone", "session import talk.json").code, 0);
    assert!(place.path("clone/own.db").exists());
}

/// What the user's data folder remembers, it remembers of every program that runs at once.
#[test]
fn what_is_remembered_at_once_is_all_remembered() {
    let place = clone(&[]);
    let at_once = |line: &dyn Fn(usize) -> String| {
        let start = |at: usize| {
            create_dir_all(place.path(&format!("p{at}/.git"))).unwrap();
            let mut command = place.command(line(at).split(' '));
            command.current_dir(place.path(&format!("p{at}"))).spawn().unwrap()
        };
        let started: Vec<_> = (0..8).map(start).collect();
        for child in started {
            let out = child.wait_with_output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
    };
    at_once(&|_| "policy new team --from ollm -q".to_owned());
    let listed = place.run(["trust", "--list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 8, "{listed}");
    assert!(listed.as_array().unwrap().iter().all(|one| one["state"] == "own"), "{listed}");
    at_once(&|at| format!("run --store {at}.db -- true"));
    let stores = place.read(".local/share/epitome/stores");
    assert_eq!(String::from_utf8(stores).unwrap().lines().count(), 8);
}

#[test]
fn a_store_of_an_unknown_kind_is_an_error() {
    let url = "mysql://somebody@localhost/epitome";
    let check = |set: &dyn Fn(&Place, &mut Command), line: &str| {
        let place = clone(&[]);
        let mut command = place.command(line.split(' '));
        command.current_dir(place.path("clone"));
        set(&place, &mut command);
        let ran = Ran::of(command, b"");
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(
            ran.err.contains("`mysql://` is no kind of store; expected the path"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("SQLite"), "{}", ran.err);
        for folder in ["", "clone"] {
            let made = place.path(folder).join("mysql:");
            assert!(!made.exists(), "{line} made {}", made.display());
        }
    };
    for line in ["session import talk.json", "recall words", "status", "serve", "run -- true"] {
        let flag = match line.split_once(" -- ") {
            Some((verb, rest)) => format!("{verb} --store {url} -- {rest}"),
            None => format!("{line} --store {url}"),
        };
        check(&|_, _| (), &flag);
        let variable = |_: &Place, command: &mut Command| {
            command.env("EPITOME_STORE", url);
        };
        check(&variable, line);
        let file = |place: &Place, _: &mut Command| {
            create_dir_all(place.path(".config/epitome")).unwrap();
            place.write(".config/epitome/epitome.toml", format!("store = '{url}'\n"));
        };
        check(&file, line);
    }
}

/// What is nearly the URL of a store is no path.
#[test]
fn a_url_that_lacks_a_slash_makes_no_folder() {
    for (store, told) in [
        ("postgres:/x", "`postgres://"),
        ("postgresql:somebody:secret@localhost/x", "`postgres://"),
        ("sqlite:/x.db", "`sqlite:/` is no kind of store"),
        ("SQLite:x.db", "`SQLite:` is no kind of store"),
    ] {
        for line in ["session import talk.json", "serve --listen 127.0.0.1:0", "mcp", "status"] {
            let check = |ran: &Ran, place: &Place| {
                assert_ne!(ran.code, 0, "{line} {store}: {}", ran.err);
                let all = format!("{}{}", ran.text(), ran.err);
                assert!(all.contains(told) && !all.contains("secret"), "{line} {store}: {all}");
                assert_eq!(place.files(), ["clone"], "{line} {store}");
                assert!(!place.path("clone").join(&store[..store.find(':').unwrap() + 1]).exists());
            };
            let place = clone(&[]);
            check(&run_in(&place, "clone", &format!("{line} --store {store}")), &place);
            let mut command = place.command(line.split(' '));
            command.current_dir(place.path("clone")).env("EPITOME_STORE", store);
            check(&Ran::of(command, b""), &place);
        }
    }
}

#[test]
fn a_project_names_no_database_and_no_password_is_shown() {
    let url = "postgres://somebody:secret@127.0.0.1:1/epitome";
    let place = clone(&[]);
    place.write("clone/epitome.toml", format!("store = '{url}'\n"));
    let ran = run_in(&place, "clone", "session import talk.json");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("epitome.toml:1: `store` is "), "{}", ran.err);
    let check = |line: &str, code: i32, told: &str| {
        let place = clone(&[]);
        let mut command = place.command(line.split(' '));
        command.env("EPITOME_STORE", url);
        let ran = Ran::of(command, b"");
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        let all = format!("{}{}", ran.text(), ran.err);
        assert!(all.contains(told) && !all.contains("secret"), "{line}: {all}");
    };
    let shown = "postgres://somebody@127.0.0.1:1/epitome";
    check("config show store", 0, shown);
    check("session list", 3, shown);
    check("serve --listen 127.0.0.1:0", 2, "cannot be reached");
    check("doctor", 6, shown);
    // One that is no address of a database is named, and not repeated.
    check("session list --store postgres://somebody:secret@127.0.0.1:port/x", 3, "is no address");
}

/// Two projects with a session each, in the usual store, as one user has them.
fn projects() -> Place {
    let place = Place::new();
    for (folder, word) in [("one", "marmalade"), ("two", "xylophone")] {
        create_dir_all(place.path(&format!("{folder}/.git"))).unwrap();
        create_dir_all(place.path(&format!("{folder}/src/deep"))).unwrap();
        let talk = json!([
            {"role": "user", "content": format!("Where is the {word} kept?")},
            {"role": "assistant", "content": format!("The {word} is kept in the cellar.")},
            {"role": "user", "content": "Good."},
        ]);
        place.write(&format!("{folder}/{word}.json"), talk.to_string());
        let ran = run_in(&place, folder, &format!("session import {word}.json"));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    place
}

#[test]
fn one_project_reads_no_other() {
    let place = projects();
    let found = |folder: &str, line: &str| {
        let ran = run_in(&place, folder, line);
        format!("{}{}", ran.text(), ran.err)
    };
    // A question for what only the other one said, in all verbs that look for something.
    for line in ["recall --json cellar", "session search --json cellar", "session list --json"] {
        for folder in ["one", "one/src/deep"] {
            let said = found(folder, line);
            assert!(said.contains("marmalade"), "{line} in {folder}: {said}");
            assert!(!said.contains("xylophone"), "{line} in {folder}: {said}");
        }
        let all = found("one", &format!("{line} --everywhere"));
        assert!(all.contains("marmalade") && all.contains("xylophone"), "{line}: {all}");
    }
    for line in ["session show xylophone", "diff xylophone", "status --session xylophone"] {
        assert_ne!(run_in(&place, "one", line).code, 0, "{line}");
        assert_eq!(run_in(&place, "two", line).code, 0, "{line}");
        assert_eq!(run_in(&place, "one", &format!("{line} --everywhere")).code, 0, "{line}");
    }
    // A project cannot open it, its user can.
    place.write("one/epitome.toml", "everywhere = true\n");
    assert_eq!(run_in(&place, "one", "session list").code, 3);
    std::fs::remove_file(place.path("one/epitome.toml")).unwrap();
    create_dir_all(place.path(".config/epitome")).unwrap();
    place.write(".config/epitome/epitome.toml", "everywhere = true\n");
    assert!(found("one", "session list").contains("xylophone"));
}

/// What an agent's tools say in a project.
fn agent(place: &Place, folder: &str, tool: &str, arguments: &Value) -> String {
    let mut command = place.command(["mcp"]);
    command.current_dir(place.path(folder)).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for line in [hello(1), ready, call(2, tool, arguments)] {
        writeln!(to, "{line}").unwrap();
    }
    let mut lines = BufReader::new(from).lines().map(Result::unwrap);
    let answer = lines.find(|line| line.contains("\"id\":2")).unwrap();
    drop(to);
    child.wait().unwrap();
    answer
}

#[test]
fn an_agent_reads_its_own_project() {
    let place = projects();
    let query = json!({"query": "cellar"});
    let said = agent(&place, "one", "recall", &query);
    assert!(said.contains("marmalade") && !said.contains("xylophone"), "{said}");
    let said = agent(&place, "two/src", "recall", &query);
    assert!(said.contains("xylophone") && !said.contains("marmalade"), "{said}");
}

/// What was kept for no project, as before there were projects, is found in all of them.
#[test]
fn what_belongs_to_no_project_is_found_everywhere() {
    let place = projects();
    let line = "compress --ratio 4 --output out.json --store ../s.db talk.json";
    place.write("one/talk.json", bare(24).to_string());
    assert_eq!(run_in(&place, "one", line).code, 0);
    let line = format!("recall --json --store {} invoice_3_5", place.path("s.db").display());
    for folder in ["one", "two", "two/src"] {
        let ran = run_in(&place, folder, &line);
        assert!(ran.text().contains("invoice_3_5"), "{folder}: {}", ran.err);
    }
}
