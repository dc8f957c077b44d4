//! What is said of an experiment beside its figures, so that nobody takes them for more than they are.

use serde_json::Value;

use super::{Serving, begun, printed, profiles, say, shown, talks};
use crate::proxy::page::Browser;

/// The name that a session of an arm is recorded under.
fn session_of(serving: &Serving, arm: &str) -> String {
    let args = ["session", "list", "--all", "--json", "--store", "s.db"];
    let sessions = serving.place.run(args).json();
    let is_of_arm = |it: &&Value| it["profile"] == arm;
    let session = sessions.as_array().unwrap().iter().find(is_of_arm).unwrap();
    session["name"].as_str().unwrap().to_owned()
}

#[test]
fn an_edited_profile_and_a_deleted_session_are_told_of() {
    let table = "[experiment.short]\narms = ['default', 'short']\n[profile.short]\n";
    let mut serving = begun(table, &mut []);
    say(&mut talks(0..8), &serving, "A question.");
    let told = printed(&serving, &["show"]);
    assert!(!told.contains("Pooled") && !told.contains("Deleted"), "{told}");

    serving.stop();
    serving.place.write("x.toml", format!("{table}options.default.trigger.soft = 0.5\n"));
    serving.go_on();
    say(&mut talks(8..16), &serving, "A question.");
    let name = session_of(&serving, "default");
    let args = ["session", "delete", &name, "--forever", "--store", "s.db"];
    assert_eq!(serving.place.run(args).code, 0);

    let told = printed(&serving, &["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("has an experiment of this name: short 2. "), "{told}");
    assert!(told.contains("Deleted are the histories of sessions: default 1. "), "{told}");
    let arms = shown(&serving, &["show", "--json"]).json()["arms"].clone();
    let of = |key: &str| [0, 1].map(|arm: usize| arms[arm][key].as_u64().unwrap());
    // What it came to in money stays in the ledger, and its unit with it.
    assert_eq!((of("units"), of("counted")), ([8, 8], [8, 8]), "{arms:#}");
    assert_eq!((of("versions"), of("unread")), ([1, 2], [1, 0]), "{arms:#}");
    let page = Browser::open(&serving).page("/experiments");
    assert!(page.contains("has an experiment of this name: short 2."), "{page}");
}

#[test]
fn the_page_offers_no_compression_of_what_is_held_out() {
    let serving = begun("[experiment.saved]\narms = ['default', 'none']\n", &mut []);
    let mut all = talks(0..8);
    say(&mut all, &serving, "A question.");
    let browser = Browser::open(&serving);
    for (arm, is_held_out) in [("default", false), ("none", true)] {
        let session = format!("/s/{}", session_of(&serving, arm));
        let page = browser.page(&session);
        assert_eq!(page.contains("held out by its experiment"), is_held_out, "{page}");
        let button = page.split("id=\"do-compress\"").nth(1).unwrap();
        let button = button.split('>').next().unwrap();
        assert_eq!(button.contains("disabled"), is_held_out, "{arm}: {button}");
    }
    // Nor is it done where somebody asks for it all the same.
    let held_out = format!("/s/{}", session_of(&serving, "none"));
    browser.act(&held_out, "do=compress");
    let arms = profiles(&serving);
    let talk = all.iter_mut().find(|talk| arms[&talk.name].0 == "none").unwrap();
    talk.say(&serving, "Another question.", None);
    let last = String::from_utf8(serving.last().raw.to_vec()).unwrap();
    assert!(last.contains("A question.") && last.contains("Another question."), "{last}");
}

/// Arms that do the same in each of two times, with most units of one in the first and of the other in the
/// second.
#[test]
fn units_of_other_weights_are_not_compared() {
    let table = |weights: &str| {
        format!(
            "[profile.short]\n[experiment.short]\narms = ['default', 'short']\nweights = {weights}\n\
             primary = 'requests'\n"
        )
    };
    let mut serving = begun(&table("[3, 1]"), &mut []);
    say(&mut talks(0..64), &serving, "A question.");
    serving.stop();
    serving.place.write("x.toml", table("[1, 3]"));
    serving.go_on();
    let mut busy = talks(64..136);
    for question in ["A first question.", "A second question.", "A third question."] {
        say(&mut busy, &serving, question);
    }
    let report = shown(&serving, &["show", "--json"]).json();
    let arms = report["arms"].as_array().unwrap();
    assert_eq!(arms[1]["verdict"], "too-few", "{report:#}");
    let of = |key: &str| [0, 1].map(|arm: usize| arms[arm][key].as_u64().unwrap());
    let (units, left) = (of("units"), of("not_compared"));
    assert_eq!(left.iter().sum::<u64>(), 64, "{report:#}");
    let metric = |arm: usize| {
        let metrics = arms[arm]["metrics"].as_array().unwrap().iter();
        metrics.clone().find(|it| it["metric"] == "requests").unwrap()["value"].clone()
    };
    assert_eq!([0, 1].map(metric), [3.0, 3.0], "{units:?} {report:#}");
    let told = printed(&serving, &["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Not compared are units that were drawn by other weights"), "{told}");
}

/// Whoever does not have its table is shown the experiment as it is drawn.
#[test]
fn an_experiment_is_shown_where_its_table_is_not() {
    let table = "[profile.short]\n[experiment.short]\narms = ['short', 'default']\n\
                 primary = 'requests'\n";
    let mut serving = begun(table, &mut []);
    say(&mut talks(0..6), &serving, "A question.");
    serving.stop();
    serving.place.write("x.toml", "");
    serving.go_on();
    let told = printed(&serving, &["show"]);
    assert!(
        told.starts_with("short: 6 sessions, not configured here, decided by `requests`"),
        "{told}"
    );
    let arms = shown(&serving, &["show", "--json"]).json()["arms"].clone();
    assert_eq!([0, 1].map(|arm: usize| arms[arm]["arm"].clone()), ["short", "default"], "{arms:#}");
    let page = Browser::open(&serving).page("/experiments");
    assert!(page.contains("not configured here") && page.contains("decided by"), "{page}");
}

/// What is read from histories says nothing once more of one arm are deleted than of another.
#[test]
fn deleted_histories_prove_nothing() {
    let table =
        "[profile.short]\n[experiment.short]\narms = ['default', 'short']\nprimary = 'turns'\n";
    let serving = begun(table, &mut []);
    let mut all = talks(0..120);
    say(&mut all, &serving, "A first question.");
    let args = ["session", "list", "--all", "--json", "--limit", "0", "--store", "s.db"];
    let sessions = serving.place.run(args).json();
    let of_arm = sessions.as_array().unwrap().iter().filter(|it| it["profile"] == "short");
    for session in of_arm.take(45) {
        let name = session["name"].as_str().unwrap();
        let args = ["session", "delete", name, "--forever", "--store", "s.db"];
        assert_eq!(serving.place.run(args).code, 0);
    }
    let report = shown(&serving, &["show", "--json"]).json();
    let arm = &report["arms"][1];
    assert_eq!(
        (&arm["verdict"], &arm["units"], &arm["unread"]),
        (&Value::Null, &60.into(), &45.into())
    );
    let metrics = arm["metrics"].as_array().unwrap();
    for (name, is_known) in [("turns", false), ("repeats", false), ("requests", true)] {
        let metric = metrics.iter().find(|it| it["metric"] == name).unwrap();
        assert_eq!(metric["value"].is_number(), is_known, "{name}: {metric}");
    }
    let told = printed(&serving, &["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("and none is shown"), "{told}");
}
