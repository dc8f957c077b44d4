//! In which order what a search found comes back: as a policy says, wherever somebody recalls.

use serde_json::{Value, json};

use crate::cookbook::own_policy;
use crate::mcp::recalled;
use crate::program::Place;

/// What is looked for.
const QUERY: &str = "heron chimney";

const OWN: &str = ".config/epitome/policies/own/policy.lua";

/// A session in which a person says little of herons, and a model much.
fn place() -> Place {
    let place = Place::new();
    let said = |at: usize| match at {
        4 => "A heron sat on the chimney when I came home today, I believe.".to_owned(),
        at if at % 4 == 1 => format!("The heron and the chimney {at}: heron_{at}/chimney_{at}.rs."),
        _ => format!("Stage {at} of the build is done, and number {} waits.", at + 1),
    };
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let body: Vec<_> = (0..40).map(|at| json!({"role": role(at), "content": said(at)})).collect();
    place.write("talk.json", Value::from(body).to_string());
    let import = ["session", "import", "talk.json", "--name", "birds", "--store", "s.db"];
    place.run(import.into_iter().chain(["--profile", "default"])).silent();
    std::fs::create_dir_all(place.path(OWN).parent().unwrap()).unwrap();
    place
}

/// A policy whose hook `recall` does this.
fn ranks(place: &Place, body: &str) {
    let text = format!("--- @api 2\nreturn {{ recall = function(job)\n{body}\nend }}\n");
    place.write(OWN, text);
    place.write("epitome.toml", "[profile.default]\npolicies = [\"own\"]\n");
}

/// Where the excerpts come from that are found in so many tokens, and what is said beside them.
fn found(place: &Place, most: &str) -> (Vec<String>, String) {
    let args = ["recall", "--store", "s.db", "--max-tokens", most, "--json", QUERY];
    let ran = place.run(args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = ran.json();
    let sources = found.as_array().unwrap().iter();
    (sources.map(|it| it["source"].as_str().unwrap().to_owned()).collect(), ran.err)
}

#[test]
fn what_a_person_said_comes_first_where_a_recipe_says_so() {
    let place = place();
    let user = "birds: e4 user";
    let (by_itself, _) = found(&place, "60");
    assert!(by_itself.len() >= 2 && by_itself[0] != user, "{by_itself:?}");
    own_policy(&place, 3);
    place.write("epitome.toml", "[profile.default]\npolicies = [\"own\"]\n");
    let (found_now, said) = found(&place, "60");
    assert_eq!((found_now[0].as_str(), said.as_str()), (user, ""));
    // Beside it there is room for others, in their order.
    assert_eq!(found_now[1], by_itself[0]);
    let searched = place.run(["session", "search", "--store", "s.db", "--json", QUERY]).json();
    assert_eq!((&searched[0]["entry"], &searched[0]["what"]), (&json!("e4"), &json!("user")));
    let asked = json!({"query": QUERY, "max_tokens": 100});
    let recalled = recalled(&place, &asked)["structuredContent"].clone();
    assert_eq!(recalled["found"][0]["source"], user);
}

#[test]
fn what_is_passed_on_is_as_if_nobody_were_asked() {
    let place = place();
    for most in ["0", "15", "40", "100", "1000"] {
        place.write("epitome.toml", "");
        let by_itself = found(&place, most);
        for body in ["return ep.next(job)", "return nil", "return {}", "return { order = { 1 } }"] {
            ranks(&place, body);
            assert_eq!(found(&place, most), by_itself, "{body} in {most}");
        }
        place.write("epitome.toml", "[profile.default]\npolicies = [\"default\"]\n");
        assert_eq!(found(&place, most), by_itself, "in {most}");
    }
}

#[test]
fn a_policy_leaves_out_and_makes_room() {
    let place = place();
    let (by_itself, _) = found(&place, "30");
    ranks(&place, "return { leave_out = { 1 } }");
    let (others, said) = found(&place, "30");
    assert_eq!(said, "");
    assert!(!others.is_empty() && !others.contains(&by_itself[0]), "{others:?}");
}

#[test]
fn a_wrong_order_is_none_and_is_said_once() {
    let place = place();
    let (by_itself, _) = found(&place, "100");
    for (body, what) in [
        ("return { order = { 1, 1 } }", "`order` names the passage 1 a second time"),
        ("return { order = { 0 } }", "`order` names the passage 0; there are "),
        ("return { order = { 0 / 0 } }", "policy.lua:"),
        ("return { order = 'first' }", "policy.lua:"),
        (
            "local a = {} for i in ipairs(job.passages) do a[i] = i end return { leave_out = a }",
            "`leave_out` leaves none of ",
        ),
        ("while true do end", "took longer than 500 ms"),
        ("return { ask = { id = 'q', user = 'Which?' } }", "no model is asked"),
        ("error('none')", "policy.lua:3: none"),
    ] {
        ranks(&place, body);
        let (found, said) = found(&place, "100");
        assert_eq!(found, by_itself, "{body}");
        assert_eq!(said.matches("policy own (recall): ").count(), 1, "{said}");
        assert!(said.contains(what), "{body}: {said}");
    }
}

/// What a policy has brought back comes in the order that it says, and a trace shows who said so.
#[test]
fn excerpts_of_a_session_come_in_that_order() {
    let place = place();
    let ask = "observe = function(job)\n  if job.entry.id == 39 then return { recall = \"heron chimney\", \
               max_tokens = 100 } end\nend";
    let text = |body: &str| {
        format!("--- @api 2\nreturn {{ {ask},\nrecall = function(job)\n{body}\nend }}\n")
    };
    let sources = |body: &str| {
        place.write(OWN, text(body));
        let name = format!("s{}.db", body.len());
        let line =
            format!("replay talk.json --profile own --prompt-limit 600 --store {name} --json -q");
        let (turns, _) = crate::playing::played(&place.run(line.split(' ')));
        let events = turns.iter().flat_map(|turn| turn["events"].as_array().cloned());
        let events: Vec<Value> = events.flatten().collect();
        let told = events.iter().find(|it| it["event"] == "recalled").expect("something");
        let errors = events.iter().filter(|it| it["event"] == "policy-error").count();
        (told["sources"].as_array().unwrap().clone(), errors)
    };
    let (by_itself, errors) = sources("return nil");
    assert!(by_itself.len() >= 2 && errors == 0, "{by_itself:?}");
    assert_eq!(sources("return { order = { 2 } }").0[0], by_itself[1]);
    assert_eq!(sources("return { order = { 1, 1, 1 } }"), (by_itself, 1));
    let line = "policy trace talk.json --profile own --prompt-limit 600 --hook recall --json";
    place.write(OWN, text("return { order = { 2 } }"));
    let traced = place.run(line.split(' '));
    assert!(traced.text().contains("\"recall\""), "{}{}", traced.text(), traced.err);
}
