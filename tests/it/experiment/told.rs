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
    assert!(page.contains("were drawn under 2 versions of its profile"), "{page}");
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
