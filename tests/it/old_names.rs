//! Words that the command line and its files had before: each goes on working.

use serde_json::Value;

use crate::program::{Place, Ran};
use crate::shipped::recording;

fn place() -> Place {
    let place = Place::new();
    place.write("talk.jsonl", recording());
    place
}

fn run(place: &Place, line: &str) -> Ran {
    place.run(line.split_whitespace())
}

/// Two lines do the same and say the same.
#[track_caller]
fn same(place: &Place, old: &str, new: &str) {
    let [old, new] = [old, new].map(|line| run(place, line));
    assert_eq!((old.code, old.err.as_str()), (new.code, new.err.as_str()));
    assert_eq!(old.text(), new.text());
}

#[test]
fn old_flags_say_what_the_new_ones_say() {
    let place = place();
    for (old, new) in [
        ("--limit 9000", "--prompt-limit 9000"),
        ("--size 9000", "--context-size 9000"),
        ("--window gpt-4o", "--window-of gpt-4o"),
        ("--window llama3.2 --size 4096", "--window-of llama3.2 --context-size 4096"),
    ] {
        same(&place, &format!("config show {old}"), &format!("config show {new}"));
        let line = "compress -q talk.jsonl";
        same(&place, &format!("{line} {old}"), &format!("{line} {new}"));
    }
    let both = run(&place, "compress talk.jsonl --size 9000 --limit 9000");
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
    let help = run(&place, "compress --help");
    for flag in ["--size ", "--limit ", "--window "] {
        assert!(!help.text().contains(flag), "{flag}");
    }
}

/// The number of sessions in a list is no limit of a prompt.
#[test]
fn the_limit_of_a_list_stays() {
    let listed = run(&Place::new(), "session list --help");
    assert!(listed.text().contains("--limit <N>"), "{}", listed.text());
}

#[test]
fn verbs_have_a_second_name() {
    let place = place();
    same(&place, "compact -q --ratio 4 talk.jsonl", "compress -q --ratio 4 talk.jsonl");
    let figures = |verb: &str| {
        let ran = run(&place, &format!("{verb} -q --json --ratio 4 talk.jsonl"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let lines = ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|line| [line["profile"].clone(), line["tokens_after"].clone()])
            .collect::<Vec<_>>()
    };
    assert_eq!(figures("compare"), figures("ab"));
}

/// The columns of `ab` have new names, and its JSON has both until 0.2.
#[test]
fn figures_of_ab_stand_under_both_keys() {
    let place = place();
    let ran = run(&place, "ab -q --json --ratio 4 talk.jsonl");
    let lines = ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for line in lines {
        let is_summary = line["summary"] == true;
        let figures = if is_summary { &line["all"] } else { &line };
        let score = is_summary.then_some(["score_recall", "score_search"]);
        for [new, old] in
            [["constraints", "directives"], ["in_context", "spanned"]].into_iter().chain(score)
        {
            assert!(!figures[new].is_null(), "{new}: {line}");
            assert_eq!(figures[new], figures[old], "{new}");
        }
    }
    let table = run(&place, "ab --prompt-limit 9000 talk.jsonl");
    let heading = table.text().lines().next().unwrap();
    for column in ["constraints", "compressions", "invalid", "in_context", "+recall"] {
        assert!(heading.split_whitespace().any(|word| word == column), "{column}: {heading}");
    }
}

#[test]
fn an_old_key_of_the_configuration_is_warned_of() {
    let place = place();
    let file = "[profile.default]\nsize = 9000\noptions.default.summaries.ask = \"Sum up.\"\n";
    place.write("epitome.toml", file);
    let size = "epitome: warning: ./epitome.toml:2: `profile.default.size` is called \
                `context_size` now; the old name is still accepted\n";
    let ask = "epitome: warning: ./epitome.toml:3: `profile.default.options.default.summaries.ask` \
               is called `prompt` now; the old name is still accepted\n";
    let at = |text: &str| text.replace("./epitome.toml", &found(&place));
    for key in ["options.default.summaries.prompt", "options.default.summaries.ask"] {
        let shown = run(&place, &format!("config show {key}"));
        assert_eq!((shown.code, shown.text()), (0, "Sum up.\n"));
        assert_eq!(shown.err, at(size) + &at(ask));
    }
    run(&place, "compress -q talk.jsonl").silent();
    let doctor = run(&place, "doctor --json").json();
    let told = doctor.as_array().unwrap().iter().filter(|one| one["verdict"] == "warn");
    let told: Vec<_> = told.filter_map(|one| one["found"].as_str()).collect();
    let is_told = |new: &str| told.iter().any(|line| line.ends_with(&format!("`{new}` now")));
    assert!(is_told("context_size") && is_told("prompt"), "{told:?}");
}

/// The file as warnings name it.
fn found(place: &Place) -> String {
    let folder = place.path("").canonicalize().unwrap();
    folder.join("epitome.toml").display().to_string()
}
