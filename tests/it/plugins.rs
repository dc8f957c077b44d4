//! `epitome plugin`, and plugins in a conversation: one that a project brings digests a result,
//! what nobody trusts does not run, and one that fails or lies in wait stops nothing.

use serde_json::{Value, json};

use crate::measure::faults;
use crate::pages::{all_blocks, block_commands};
use crate::playing::played;
use crate::program::{self, Place, Ran};
use crate::tutorial::{examples, typed};

/// Where the plugin `tickets` of every place here stands.
pub(crate) const TICKETS: &str = ".epitome/plugins/tickets";

/// Asks it for what its tool gives, and nobody for anything else.
pub(crate) const ASKED: &str =
    "[profile.desk]\ndigests = []\ndigests_by_tool.tickets = [\"tickets\"]\n";

/// What the tool prints: many steps, of which one fails.
pub(crate) fn steps() -> String {
    let step = |at| match at {
        77 => "step 77: FAILED, part 3 is broken\n".to_owned(),
        at => format!("step {at}: done, part {} took {} ms\n", at % 7, at * 13 % 90),
    };
    (1..=200).map(step).collect()
}

/// A place with a conversation in which the tool is called twice, and with these settings.
pub(crate) fn desk(settings: &str) -> Place {
    let call = |id: &str, tool: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": tool, "arguments": "{}"}}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": steps()});
    let messages = json!([
        {"role": "user", "content": "Which steps failed?"},
        call("c1", "tickets"), result("c1"),
        {"role": "assistant", "content": "Step 77 did."},
        {"role": "user", "content": "And now?"},
        call("c2", "other"), result("c2"),
        {"role": "assistant", "content": "Still that one."},
    ]);
    let place = Place::new();
    place.write("talk.json", json!({ "model": "gpt-5", "messages": messages }).to_string());
    place.write("epitome.toml", settings);
    place
}

/// A plugin of somebody else, by whatever way it came here.
pub(crate) fn brought(place: &Place, program: &str) {
    std::fs::create_dir_all(place.path(TICKETS)).unwrap();
    let manifest = "command = [\"python3\", \"plugin.py\"]\nprovides = [\"digest\"]\n\
                    needs = [\"files\"]\ndeadline_ms = 300\n";
    place.write(&format!("{TICKETS}/plugin.toml"), manifest);
    place.write(&format!("{TICKETS}/plugin.py"), program);
}

/// Runs a line that went well.
#[track_caller]
pub(crate) fn done(place: &Place, line: &str) -> Ran {
    let ran = place.run(line.split_whitespace());
    assert_eq!(ran.code, 0, "{line}: {}{}", ran.text(), ran.err);
    ran
}

pub(crate) const REPLAY: &str =
    "replay talk.json --profile desk --prompt-limit 100000 --dump sent --json -q";

/// The results of the conversation as they were sent at last, and all events.
#[track_caller]
pub(crate) fn replayed(place: &Place) -> (Vec<String>, Vec<Value>) {
    let (turns, summary) = played(&done(place, REPLAY));
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    let last = std::fs::read_dir(place.path("sent")).unwrap();
    let last = last.map(|file| file.unwrap().path()).max().unwrap();
    let sent: Value = serde_json::from_slice(&program::read_file(last).unwrap()).unwrap();
    assert_eq!(faults(&sent), [""; 0]);
    let results = sent["messages"].as_array().unwrap().iter();
    let results = results.filter(|message| message["role"] == "tool");
    let results = results.map(|it| it["content"].as_str().unwrap().to_owned()).collect();
    let happened = turns.iter().flat_map(|turn| turn["events"].as_array().cloned());
    (results, happened.flatten().collect())
}

/// What was said, with the place and the program's folder taken out of it.
fn shown(place: &Place, text: &str) -> String {
    let real = place.path("").canonicalize().unwrap();
    let program = crate::program::path();
    let text = text.replace(program.parent().unwrap().to_str().unwrap(), "[bin]");
    text.replace(real.to_str().unwrap().trim_end_matches('/'), "[home]")
}

#[track_caller]
pub(crate) fn check(name: &str, lines: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, lines));
}

/// What each line of arguments says, and its exit code.
pub(crate) fn said(place: &Place, lines: &[&str]) -> String {
    let mut said = String::new();
    for line in lines {
        let ran = place.run(line.split_whitespace());
        said += &format!("$ epitome {line}\n{}{}[{}]\n\n", ran.text(), ran.err, ran.code);
    }
    shown(place, said.trim_end())
}

#[test]
fn a_new_plugin_is_whole_passes_its_check_and_digests() {
    let place = desk(ASKED);
    check("plugin_new", &said(&place, &["plugin new tickets", "plugin check tickets"]));
    let (results, happened) = replayed(&place);
    let digest = &results[0];
    assert!(digest.starts_with("step 1: done"), "{digest}");
    assert!(digest.contains("[… 73 lines]\nstep 77: FAILED, part 3 is broken\n[… 120 lines]"));
    assert!(digest.len() * 5 < results[1].len(), "{digest}");
    // The other tool's result is nobody's.
    assert_eq!(results[1], steps());
    let told = happened.iter().filter(|it| it["event"] == "tool-result-digested");
    assert_eq!(told.map(|it| &it["tool"]).collect::<Vec<_>>(), ["tickets"]);
    // An option of the project acts, and an edit of the plugin does.
    place.write("epitome.toml", format!("{ASKED}[profile.desk.options.tickets]\nends = 1\n"));
    assert!(replayed(&place).0[0].starts_with("step 1: done, part 1 took 13 ms\n[… 75 lines]"));
    let program = String::from_utf8(place.read(&format!("{TICKETS}/plugin.py"))).unwrap();
    place.write(&format!("{TICKETS}/plugin.py"), program.replace("[… ", "[… hidden: "));
    assert!(replayed(&place).0[0].contains("[… hidden: 75 lines]"));
    assert!(!place.path(&format!("{TICKETS}/__pycache__")).exists());
}

/// What the digest leaves out comes back, by id and by range.
#[test]
fn the_original_of_a_digest_is_kept() {
    let place = desk(ASKED);
    done(&place, "plugin new tickets -q");
    let ran = done(&place, &format!("{REPLAY} --store talk.db"));
    drop(ran);
    let (results, _) = replayed(&place);
    let id = results[0].split("recall ").nth(1).unwrap().split(']').next().unwrap().trim();
    let recall = |more: &str| {
        done(&place, &format!("recall --store talk.db --profile desk --id {id} {more}"))
    };
    assert_eq!(recall("").text(), steps());
    assert!(recall("--lines 76-78").text().contains("step 76: done"));
}

#[test]
fn what_nobody_trusts_does_not_run() {
    let place = desk(ASKED);
    brought(&place, "open('ran', 'w').close()\n");
    let lines = [
        "replay talk.json --profile desk --prompt-limit 100000 -q",
        "plugin check",
        "plugin list",
        "doctor --quiet",
        "replay talk.json --profile desk --prompt-limit 100000 --untrusted -q",
        "trust --json",
    ];
    check("a_plugin_that_nobody_trusts", &said(&place, &lines));
    assert!(!place.path(&format!("{TICKETS}/ran")).exists());
    // Trusted it runs, until it is another one.
    assert!(!said(&place, &["plugin check tickets"]).contains("not trusted"));
    assert!(place.path(&format!("{TICKETS}/ran")).exists());
    place.write(&format!("{TICKETS}/plugin.py"), "pass\n");
    assert!(
        said(&place, &["plugin check tickets"])
            .contains("is new, or not what you trusted any more")
    );
}

/// Says hello, and then does this with each line.
pub(crate) fn hostile(then: &str) -> String {
    format!(
        "import json, sys, time\nprint(json.dumps({{'hello': {{'protocol': 1, 'name': 'tickets', \
         'version': '1', 'features': ['digest']}}}}), flush=True)\nsys.stdin.readline()\n\
         for line in sys.stdin:\n    {then}\n"
    )
}

#[test]
fn a_hostile_plugin_stops_nothing_and_is_told_of() {
    let settings = ASKED.replace("[\"tickets\"]", "[\"tickets\", \"logs\"]");
    let mut told = String::new();
    for (name, program) in [
        ("ends before hello", "import sys\nsys.exit('no ticket system here')\n".to_owned()),
        ("speaks another version", hostile("pass").replace("'protocol': 1", "'protocol': 9")),
        ("says what is no answer", hostile("print('Here you are!', flush=True)")),
        ("hangs", hostile("time.sleep(60)")),
        ("ends in mid-call", hostile("sys.exit(3)")),
        (
            "invents a place",
            hostile(
                "print(json.dumps({'id': json.loads(line)['id'], 'ok': {'text': 'gone', 'kind': 'x', \
             'left': [[0, 10**9]]}}), flush=True)",
            ),
        ),
    ] {
        let place = desk(&settings);
        brought(&place, &program);
        done(&place, "trust -q");
        let (results, happened) = replayed(&place);
        let errors = happened.iter().filter(|event| event["event"] == "plugin-error");
        for error in errors {
            let [plugin, cause, remedy] =
                ["plugin", "cause", "remedy"].map(|key| error[key].as_str().unwrap());
            told += &format!("{name}\n  {plugin}: {cause}; {remedy}\n");
        }
        // The next one answers, and no result is lost.
        assert!(results[0].contains("step 77: FAILED, part 3 is broken"), "{name}");
        assert!(results[0].len() * 5 < steps().len(), "{name}: {}", results[0]);
        assert_eq!(results[1], steps(), "{name}");
    }
    check("plugins_that_fail", told.trim_end());
}

#[test]
fn a_plugin_among_the_policies_decides() {
    let place = desk("[profile.desk]\npolicies = [\"plugin:tickets\"]\n");
    let program = hostile(
        "asked = json.loads(line); hook = asked.get('hook')\n    \
         ok = {'how': 'mask', 'with': 'Nothing to see.'} if 'entry' in asked.get('job', {}) and \
         asked['job']['entry']['tool'] == 'other' else None\n    \
         print(json.dumps({'id': asked['id'], 'ok': ok}), flush=True)",
    )
    .replace("'features': ['digest']", "'features': [], 'hooks': ['tool_result']");
    brought(&place, &program);
    let manifest = format!("{TICKETS}/plugin.toml");
    let text = String::from_utf8(place.read(&manifest)).unwrap();
    place.write(&manifest, text.replace("provides = [\"digest\"]", "hooks = [\"tool_result\"]"));
    done(&place, "trust -q");
    let (results, happened) = replayed(&place);
    assert!(happened.iter().all(|event| event["event"] != "plugin-error"), "{happened:?}");
    assert!(results[1].starts_with("Nothing to see."), "{}", results[1]);
    let warned = done(&place, &REPLAY.replace(" -q", "")).err;
    assert_eq!(warned.matches("`with` is called `text` since api 2").count(), 1, "{warned}");
    let shown = done(&place, "config show --profile desk");
    assert!(shown.text().contains("policies plugin:tickets (project)"), "{}", shown.text());
    let checked = done(&place, "plugin check tickets");
    assert!(checked.text().contains("hook tool_result"), "{}", checked.text());
}

#[test]
fn plugins_that_cannot_be_used_are_named_with_file_and_line() {
    let place = desk("");
    let lines = [
        "plugin new Tickets",
        "plugin new json",
        "plugin new ollm",
        "plugin check tikets",
        "plugin check ./gone",
        "plugin check .epitome/plugins",
    ];
    let mut all = said(&place, &lines) + "\n\n";
    done(&place, "plugin new tickets -q");
    let manifest = format!("{TICKETS}/plugin.toml");
    let text = String::from_utf8(place.read(&manifest)).unwrap();
    for (what, with) in [
        ("command = [", "comand = ["),
        ("[\"digest\"]", "[\"digests\"]"),
        ("\"python3\"", "\"no-such-python\""),
        ("\"plugin.py\"", "\"../plugin.py\""),
    ] {
        assert!(text.contains(what), "{what}");
        place.write(&manifest, text.replace(what, with));
        all += &format!("{with}\n{}\n\n", said(&place, &["plugin check tickets"]));
    }
    place.write(&manifest, &text);
    let program = String::from_utf8(place.read(&format!("{TICKETS}/plugin.py"))).unwrap();
    for (what, with) in [
        ("\"name\": \"tickets\"", "\"name\": \"tackets\""),
        ("[… {left} lines]", "({left} more lines)"),
        ("return [f", "sys.exit('no ticket system here')\n    return [f"),
    ] {
        assert!(program.contains(what), "{what}");
        place.write(&format!("{TICKETS}/plugin.py"), program.replace(what, with));
        all += &format!("{with}\n{}\n\n", said(&place, &["plugin check tickets"]));
    }
    check("plugins_that_cannot_be_used", all.trim_end());
    place.write(&format!("{TICKETS}/plugin.py"), program);
    let doctor = place.run(["doctor"]);
    assert!(
        doctor.text().contains("`tickets` (project) beside the shipped ones"),
        "{}",
        doctor.text()
    );
}

#[test]
fn the_commands_of_the_manual_lead_to_a_digest() {
    let commands = block_commands("sh plugin");
    assert_eq!(commands.len(), 4, "{commands:?}");
    let place = examples();
    let replay = &commands[3];
    let digested = |said: &str| {
        let lines = said.lines().filter(|line| line.contains(" of Bash: ")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let before = digested(&typed(&place, "", replay));
    let said: Vec<_> = commands.iter().map(|command| typed(&place, "", command)).collect();
    let after = digested(&said[3]);
    assert!(said[1].contains("digests builds"), "{}", said[1]);
    assert!(!after.is_empty() && after != before, "{after:?}");
}

/// The manifest that the manual shows starts the plugin of the example.
#[test]
fn the_manifest_of_the_manual_is_taken() {
    let manifests = all_blocks("toml").into_iter().filter(|block| block.starts_with("doc = "));
    let manifests: Vec<_> = manifests.collect();
    assert_eq!(manifests.len(), 1, "{manifests:?}");
    let place = examples();
    let folder = "examples/plugin-in-python";
    place.write(&format!("{folder}/plugins/tickets/plugin.toml"), &manifests[0]);
    typed(&place, folder, "epitome trust");
    let said = typed(&place, folder, "epitome plugin check tickets");
    assert!(said.contains("digests tickets"), "{said}");
}

/// What is made for Rust goes to other machines: nothing of this one stands in it. Whoever works in
/// a clone is told how cargo finds what it is built with.
#[test]
fn a_new_plugin_in_rust_names_nothing_of_this_machine() {
    let place = desk(ASKED);
    let told = done(&place, "plugin new tickets --lang rust").text().to_owned();
    let told = told.split("epitome-plugin.path='").nth(1).unwrap().split('\'').next().unwrap();
    let sdk = std::path::Path::new(told);
    assert!(sdk.join("Cargo.toml").is_file(), "{told}");
    for file in ["Cargo.toml", "src/main.rs", "plugin.toml", ".gitignore"] {
        let text = String::from_utf8(place.read(&format!("{TICKETS}/{file}"))).unwrap();
        assert!(!text.contains("path ="), "{file}: {text}");
        let top = sdk.ancestors().nth(2).unwrap().display().to_string();
        assert!(!text.contains(&top), "{file}: {text}");
    }
    let manifest = String::from_utf8(place.read(&format!("{TICKETS}/Cargo.toml"))).unwrap();
    assert!(manifest.contains("epitome-plugin = \"0."), "{manifest}");
    let checked = place.run(["plugin", "check", "tickets"]);
    assert_eq!(checked.code, 6);
    assert!(checked.text().contains("target/release/tickets"), "{}", checked.text());
}
