//! The recipes of the manual of policies: each does what its wish says.

use epitome_upstream::{Script, Turn, Upstream};

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
    let [keep, never, goals, asks] = &all[..] else { panic!("{all:?}") };
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

#[test]
fn a_budget_of_a_mode_is_a_policy_of_a_few_lines() {
    let all = recipes("lua");
    assert_eq!(all.len(), 1);
    let place = place("", &recording());
    std::fs::create_dir_all(place.path(".config/epitome/policies/patient")).unwrap();
    place.write(".config/epitome/policies/patient/policy.lua", &all[0]);
    let compressions = |mode: &str| {
        let args = ["-q", "--profile", "patient", "--mode", mode];
        check(&place, 10_000, &args).1["compressions"].as_u64().unwrap()
    };
    let (debugging, planning) = (compressions("debugger"), compressions("planning"));
    assert!(debugging < planning, "{debugging} and {planning}");
}
