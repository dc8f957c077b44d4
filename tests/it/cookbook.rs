//! The recipes of the manual of policies: each does what its wish says.

use std::collections::BTreeSet;

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::json;

use crate::keep::{check, lost, recording, result, with_tools};
use crate::pages::{fenced, pages};
use crate::program::Place;

/// The blocks of the recipes, in their order.
fn recipes(info: &str) -> Vec<String> {
    let page = pages().into_iter().find(|page| page.path == "policies/README.md").unwrap();
    let recipes = page.text.split("## By wish").nth(1).unwrap().split("\n## ").next().unwrap();
    fenced(recipes, info).into_iter().map(str::to_owned).collect()
}

fn place(config: &str, recording: &str) -> Place {
    let place = Place::new();
    place.write("sql.json", recording);
    place.write("epitome.toml", config);
    place
}

#[test]
fn each_recipe_does_what_its_wish_says() {
    let all = recipes("toml");
    let [keep, never, goals, ages, asks] = &all[..] else { panic!("{all:?}") };
    let (_, _, text) = check(&place(keep, &recording()), 8_000, &["-q"]);
    assert_eq!(lost(&text), Vec::<String>::new());

    let (_, _, text) = check(&place(never, &with_tools()), 14_000, &["-q"]);
    for step in (0..28).step_by(4) {
        assert!(text.contains(result(step).trim_end()), "result {step} is not whole");
    }
    assert!(text.contains("[a secret of ") && !text.contains("vault_read 26 line 1:"));

    let place_of_goals = place(goals, &with_tools());
    check(&place_of_goals, 14_000, &["-q", "--store", "s.db"]);
    let listed = place_of_goals.run(["goal", "list", "--store", "s.db"]);
    assert!(String::from_utf8_lossy(&listed.out).contains("Ship the importer"));

    let place_of_ages = place(ages, &recording());
    let args =
        ["policy", "trace", "sql.json", "--context-size", "8000", "--hook", "budgets", "--json"];
    let traced = place_of_ages.run(args);
    assert!(traced.text().contains("\"soft\":5440") && traced.text().contains("\"soft\":3740"));

    let turn = Turn { text: "no".to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 500, plain: true, ..Script::default() };
    let upstream = Upstream::start(script).unwrap();
    let asks = asks.replace("http://127.0.0.1:8080", &upstream.url());
    let place_of_asks = place("", &with_tools());
    place_of_asks.write("own.toml", asks);
    check(&place_of_asks, 14_000, &["-q", "--config", "own.toml"]);
    let asked = upstream.prompts();
    let is_about_tasks =
        |body: String| body.contains("Go on with step 5.") && body.contains("task");
    assert!(asked.iter().any(|one| is_about_tasks(one.body.to_string())), "{}", asked.len());
}

/// Makes a recipe in Lua the user's own policy.
pub(crate) fn own_policy(place: &Place, number: usize) {
    let all = recipes("lua");
    assert_eq!(all.len(), 4);
    std::fs::create_dir_all(place.path(".config/epitome/policies/own")).unwrap();
    place.write(".config/epitome/policies/own/policy.lua", &all[number]);
}

/// Tickets that go through many states, between talk of other things.
fn tickets() -> String {
    let mut messages = vec![json!({"role": "user", "content": "Work through the tickets."})];
    for step in 0..120 {
        let (ticket, state) = (step % 12, ["opened", "in review", "blocked", "merged"][step / 30]);
        let said = format!("I had a look at it.\nTICKET-{ticket} is {state} since step {step}.");
        let other = format!("Step {step}: the weather was calm and nobody complained. ").repeat(8);
        messages.push(json!({"role": "assistant", "content": format!("{said}\n{other}")}));
        messages.push(json!({"role": "user", "content": format!("Go on with step {step}.")}));
    }
    json!(messages).to_string()
}

#[test]
fn the_last_word_on_each_ticket_stays() {
    let place = place("", &tickets());
    own_policy(&place, 1);
    let (_, summary, text) = check(&place, 8_000, &["-q", "--profile", "own"]);
    assert!(summary["compressions"].as_u64() >= Some(2), "{summary}");
    for step in 108..120 {
        let last = format!("TICKET-{} is merged since step {step}.", step % 12);
        assert!(text.contains(&last), "{last}: {text}");
    }
    assert_eq!(summary["must_keep"]["kept"], json!([12, 12]));
}

#[test]
fn a_policy_says_which_model_writes() {
    let turn = Turn { text: "All steps went well.".to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 500, plain: true, ..Script::default() };
    let upstream = Upstream::start(script).unwrap();
    let place = place("", &tickets());
    own_policy(&place, 2);
    let models = ["large", "small"].map(|name| format!("openai:{name}@{}/v1", upstream.url()));
    let config = format!("[profile.own]\nsummarizers = {models:?}\n");
    place.write("own.toml", config);
    let asked = |size: u64| {
        let before = upstream.prompts().len();
        check(&place, size, &["-q", "--profile", "own", "--config", "own.toml"]);
        let asked = upstream.prompts().split_off(before);
        asked.iter().map(|one| one.body["model"].to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(asked(4_000), BTreeSet::from(["\"small\"".to_owned()]));
    assert_eq!(asked(12_000), BTreeSet::from(["\"large\"".to_owned()]));
}

#[test]
fn a_budget_of_a_mode_is_a_policy_of_a_few_lines() {
    let place = place("", &recording());
    own_policy(&place, 0);
    let compressions = |mode: &str| {
        let args = ["-q", "--profile", "own", "--mode", mode];
        check(&place, 10_000, &args).1["compressions"].as_u64().unwrap()
    };
    let (debugging, planning) = (compressions("debugger"), compressions("planning"));
    assert!(debugging < planning, "{debugging} and {planning}");
}

/// Each example of the reference is a policy that somebody begins with.
#[test]
fn each_example_of_the_reference_passes_its_check_and_its_test() {
    let page = pages().into_iter().find(|page| page.path == "policies/HOOKS.md").unwrap();
    let is_policy = |text: &&str| !text.starts_with("assert(") && !text.contains("test_");
    let examples = fenced(&page.text, "lua").into_iter().filter(is_policy);
    let mut tried = 0;
    for text in examples {
        let place = Place::new();
        std::fs::create_dir_all(place.path(".config/epitome/policies/own")).unwrap();
        // In front of the default, and of one with orders and ages of its own.
        let over_ollm = text.replacen("return {", "return {\n  extends = \"ollm\",", 1);
        for (text, verbs) in [(text, &["check", "test"][..]), (&*over_ollm, &["test"])] {
            place.write(".config/epitome/policies/own/policy.lua", format!("--- @api 2\n{text}"));
            for verb in verbs {
                let ran = place.run(["policy", verb, "own"]);
                assert_eq!(ran.code, 0, "{text}\n{}{}", ran.text(), ran.err);
            }
        }
        tried += 1;
    }
    assert_eq!(tried, 14);
}
