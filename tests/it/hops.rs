//! `epitome recall` with several queries, with who said a passage when, and by names that lead on.

use serde_json::{Value, json};

use crate::mcp::recalled;
use crate::measure::count;
use crate::program::Place;

/// Messages of a session `talk` in a store, with something that nobody asks for between them.
fn talk(said: &[(&str, &str)]) -> Place {
    let place = Place::new();
    let idle = |at: usize| match at % 3 {
        0 => format!("stage {at} of the build is done and the next one waits"),
        1 => format!("the tests of part {at} pass again, as they did before"),
        _ => format!("nothing happened on day {at}, so there is little to say"),
    };
    let mut body: Vec<Value> = Vec::new();
    for (at, (role, text)) in said.iter().enumerate() {
        body.push(json!({"role": role, "content": text}));
        let other = if *role == "user" { "assistant" } else { "user" };
        body.push(json!({"role": other, "content": idle(at)}));
    }
    place.write("talk.json", Value::from(body).to_string());
    place.run(["session", "import", "talk.json", "--name", "talk", "--store", "s.db"]).silent();
    place
}

const HERONS: [(&str, &str); 6] = [
    ("user", "the heron nests in the third chimney of the mill"),
    ("assistant", "the ferry leaves the harbour at a quarter past nine"),
    ("user", "a heron was seen on the ferry with a fish in its beak"),
    ("assistant", "the walnut tree has to be felled before the winter"),
    ("user", "the invoice of the roofer comes to four thousand"),
    ("assistant", "the chimney sweep charges by the hour and comes on foot"),
];

/// What is found, and what is said beside it.
#[track_caller]
fn recall(place: &Place, args: &[&str]) -> (Vec<Value>, String) {
    let ran = place.run([&["recall", "--store", "s.db", "--json"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    (ran.json().as_array().unwrap().clone(), ran.err)
}

fn contents(found: &[Value]) -> Vec<&str> {
    found.iter().map(|it| it["content"].as_str().unwrap()).collect()
}

#[test]
fn several_queries_are_answered_at_once_and_each_passage_comes_once() {
    let place = talk(&HERONS);
    let (found, said) =
        recall(&place, &["heron", "--also", "ferry", "--also", "walnut tree", "--also", "quokka"]);
    let mut texts = contents(&found);
    texts.sort_unstable();
    assert_eq!(texts, [HERONS[2].1, HERONS[1].1, HERONS[0].1, HERONS[3].1]);
    assert_eq!(said, "epitome: note: `quokka`: nothing on `quokka`\n");
    let both = found.iter().find(|it| it["content"] == HERONS[2].1).unwrap();
    assert_eq!(both["queries"], json!(["heron", "ferry"]));
    let one = found.iter().find(|it| it["content"] == HERONS[3].1).unwrap();
    assert_eq!(one["queries"], json!(["walnut tree"]));
    // Query by query, in their order.
    let first = |it: &Value| it["queries"][0].as_str().unwrap().to_owned();
    let order: Vec<String> = found.iter().map(first).collect();
    assert_eq!(order, ["heron", "heron", "ferry", "walnut tree"]);
    let text = place.run(["recall", "--store", "s.db", "heron", "--also", "ferry"]);
    assert!(text.text().contains("  for heron; ferry\n"), "{}", text.text());
}

/// One query with little to say leaves its share to the others, and none is crowded out.
#[test]
fn queries_share_the_tokens() {
    let told = |at: usize| format!("the ledger of region {at} was closed with a surplus of {at}00");
    let told: Vec<String> = (0..40).map(told).collect();
    let kept = |at: usize| format!("the boiler in house {at} was checked and its valve replaced");
    let kept: Vec<String> = (0..40).map(kept).collect();
    let mut said: Vec<(&str, &str)> = told.iter().map(|text| ("user", &**text)).collect();
    said.extend(kept.iter().map(|text| ("assistant", &**text)));
    said.push(("user", HERONS[0].1));
    let place = talk(&said);
    let of = |found: &[Value], word: &str| -> u64 {
        contents(found).iter().filter(|text| text.contains(word)).map(|text| count(text)).sum()
    };
    for most in ["60", "200", "400"] {
        let limit: u64 = most.parse().unwrap();
        let (found, _) = recall(
            &place,
            &["--max-tokens", most, "ledger", "--also", "boiler", "--also", "heron"],
        );
        let shares = ["ledger", "boiler", "heron"].map(|word| of(&found, word));
        let all: u64 = shares.iter().sum();
        assert!(all <= limit && all + 40 > limit, "{shares:?} of {most}");
        assert!(shares[2] > 0 && shares[0].abs_diff(shares[1]) <= 20, "{shares:?} of {most}");
    }
    let (same, _) = recall(&place, &["heron"]);
    assert!(same[0]["queries"].is_null(), "one query is as it always was: {same:?}");
}

#[test]
fn an_agent_asks_for_several_things_in_one_call() {
    let place = talk(&HERONS);
    let asked = json!({"queries": ["heron", "walnut tree", "quokka"], "max_tokens": 300});
    let answer = recalled(&place, &asked);
    let data = &answer["structuredContent"];
    assert_eq!(data["more"], "`quokka`: nothing on `quokka`");
    let texts: Vec<&Value> = data["found"].as_array().unwrap().iter().collect();
    assert!(
        texts.iter().any(|it| it["text"] == HERONS[3].1 && it["queries"] == json!(["walnut tree"]))
    );
    let words = answer["content"][0]["text"].as_str().unwrap();
    assert!(
        words.contains("talk: e6 assistant; ") && words.contains("; for: walnut tree]"),
        "{words}"
    );
    for (asked, wrong) in [
        (json!({"queries": []}), "the list is empty"),
        (json!({"queries": ["a", " "]}), "`queries` is empty"),
        (json!({"queries": ["a"], "id": "9ac89c67"}), "one of `query`, `queries` and `id`"),
        (json!({"queries": vec!["a"; 13]}), "there are 13 queries"),
    ] {
        let answer = recalled(&place, &asked);
        assert_eq!(answer["isError"], true, "{answer}");
        let said = answer["content"][0]["text"].as_str().unwrap();
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn a_passage_says_who_said_it_when_and_where() {
    let pasted = "[2024-03-02 18:03] Nora: I signed the lease of the bakery.\n\
                  [2024-03-02 18:05] Tom: And the oven?\n\
                  It is a heavy one.\n[2024-03-09 10:15] Nora: The oven is a Miwe.";
    let place = talk(&[("user", pasted), ("assistant", "a bakery needs a licence from the town")]);
    let (found, _) = recall(&place, &["\"heavy one\""]);
    let tom = json!(["Tom", "2024-03-02 18:05", "talk", "e0"]);
    let fields = |it: &Value| json!([it["speaker"], it["at"], it["session"], it["entry"]]);
    // The passage begins with the turn of Nora where it is not cut between them.
    let first = found[0]["content"].as_str().unwrap();
    let nora = json!(["Nora", "2024-03-02 18:03", "talk", "e0"]);
    assert_eq!(fields(&found[0]), if first.contains("lease") { nora } else { tom });
    let (found, _) = recall(&place, &["licence"]);
    assert_eq!(fields(&found[0])[0], "assistant");
    assert_eq!(fields(&found[0])[3], "e2");
    let head = place.run(["recall", "--store", "s.db", "lease of the bakery"]);
    assert!(head.text().contains("talk: e0 user  Nora, 2024-03-02 18:03\n"), "{}", head.text());
}

const VAN: [(&str, &str); 5] = [
    ("user", "for the move at Easter we take the van that belongs to Leif and nobody else"),
    ("assistant", "the oven was ordered from a dealer in the north"),
    ("user", "you can reach Leif at 555 0199 after six in the evening"),
    ("assistant", "she plays the drums now and no longer swims"),
    ("user", "the lease runs for ten years and can be ended in five"),
];

#[test]
fn a_name_in_what_was_found_leads_on() {
    let place = talk(&VAN);
    let (found, _) = recall(&place, &["whose van"]);
    assert_eq!(contents(&found), [VAN[0].1, VAN[2].1]);
    assert!(found[0]["through"].is_null());
    assert_eq!(found[1]["through"], "Leif");
    let text = place.run(["recall", "--store", "s.db", "whose van"]);
    assert!(text.text().contains("  through Leif\n"), "{}", text.text());
    // What was asked for by name is found as such, and what nothing leads to stays alone.
    let (found, _) = recall(&place, &["Leif"]);
    assert!(found.iter().all(|it| it["through"].is_null()) && found.len() == 2, "{found:?}");
    assert_eq!(contents(&recall(&place, &["drums"]).0), [VAN[3].1]);
    // It takes no token from what answers, and no more than its share.
    let (found, _) = recall(&place, &["--max-tokens", "30", "whose van"]);
    assert_eq!(contents(&found), [VAN[0].1]);
}

#[test]
fn a_profile_and_its_policies_say_how_far_names_lead() {
    let place = talk(&VAN);
    let led = |config: &str| {
        place.write("epitome.toml", config);
        let (found, said) = recall(&place, &["whose van"]);
        assert_eq!(said, "");
        assert_eq!(found[0]["content"], VAN[0].1);
        found.len() - 1
    };
    assert_eq!(led(""), 1);
    assert_eq!(led("[profile.default]\noptions.default.recall.hop_words = 0\n"), 0);
    assert_eq!(led("[profile.default]\noptions.default.recall.hop_share = 0.0\n"), 0);
    assert_eq!(led("[profile.default]\noptions.default.recall.hop_passages = 1\n"), 0);
    let own = ".config/epitome/policies/own/policy.lua";
    std::fs::create_dir_all(place.path(own).parent().unwrap()).unwrap();
    let policy = "--- @api 2\nreturn { recall = function(job)\n  local out = {}\n  \
                  for place, one in ipairs(job.passages) do\n    \
                  if one.through == 'Leif' then out[#out + 1] = place end\n  end\n  \
                  return { leave_out = out }\nend }\n";
    place.write(own, policy);
    assert_eq!(led("[profile.default]\npolicies = [\"own\"]\n"), 0);
}

/// A name that is on everybody's lips leads nowhere.
#[test]
fn a_common_name_leads_nowhere() {
    let mut said: Vec<(&str, &str)> = vec![VAN[0]];
    let other = |at: usize| format!("on day {at} we talked to Leif about page {at} of the plan");
    let others: Vec<String> = (0..12).map(other).collect();
    said.extend(others.iter().map(|text| ("user", &**text)));
    let place = talk(&said);
    assert_eq!(contents(&recall(&place, &["whose van"]).0), [VAN[0].1]);
}
