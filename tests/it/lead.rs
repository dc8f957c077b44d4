//! What the lead of a team wants of a policy, in a few lines of `epitome.toml`.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::keep::{check, lost, recording};
use crate::policy::done;
use crate::program::Place;

/// Every SQL statement and every name of a migration stays, from 60 % on, with a text for debugging.
const VERBATIM: &str = r"default_profile = 'team'

[profile.team]
inherits = 'ollm'
mode = 'debugger'
keep = ['(?is)\b(select|update|insert into)\b[^;]*;', '\b\d{8}_\d{4}_\w+']
budgets.0 = { soft = 0.6 }
prompts.debugger = 'focus.md'
";

/// Three levels of ageing, other markers, budgets by turns, rules by tool.
const SCHEDULE: &str = "default_profile = 'team'

[profile.team]
inherits = 'ollm'
ageing.1 = { level = 2, share = 0.7 }
ageing.2 = { level = 1, share = 0.5 }
ageing.4 = { level = 0, share = 0.4 }
budgets = { 0 = { soft = 0.8, checkpoints = 0.6 }, 30 = { soft = 0.55, target = 0.35 } }
markers = { goal = '## Goal:', next = '## Next:' }
tools.vault_read.mask = '[a secret of {tokens} tokens]'
tools.'web_*'.max_tokens = 300
tools.run_sql.digest = false
";

/// A model says of everything that a person types whether it is a rule.
const RULES: &str = r#"--- @api 2
local policy = { extends = "watermark" }

function policy.observe(job)
  local behind = ep.next(job)
  if job.entry.speaker ~= "human" then return behind end
  local said = job.replies.rule
  if not said then
    return { ask = { id = "rule", user = "Is this a rule? Yes or no.\n" .. job.entry:text() } }
  end
  if said == "yes" then
    behind = behind or {}
    behind.pin = true
  end
  return behind
end

return policy
"#;

/// The tests of that policy: of the hook, and of a whole conversation in which summaries are nobody's
/// matter.
const RULES_TESTS: &str = r#"return {
  test_a_rule_is_pinned = function(t)
    t.reply("rule", "yes")
    t.eq(t.hook("observe", { entry = { speaker = "human", text = "Never push." } }).pin, true)
  end,
  test_all_else_is_not = function(t)
    t.reply("rule", "no")
    t.ok(not (t.hook("observe", { entry = { speaker = "human", text = "Hello." } }) or {}).pin)
  end,
  test_a_conversation_keeps_its_rule = function(t)
    t.reply("rule", function(ask) return ask.user:find("Never") and "yes" or "no" end)
    local played = t.replay("agent")
    t.ok(played.asked > 0 and played.compressions > 0)
    t.ok(played.prompt:find("Never push to main", 1, true))
    t.eq(played.errors, {})
  end,
}
"#;

fn place(config: &str) -> Place {
    assert!(config.lines().count() <= 12);
    let place = Place::new();
    place.write("epitome.toml", config);
    place.write("focus.md", "Dwell on what failed and why.\n");
    place
}

#[test]
fn statements_and_names_stay_in_eight_lines() {
    let place = place(VERBATIM);
    place.write("sql.json", recording());
    let (_, summary, text) = check(&place, 8_000, &["-q"]);
    assert_eq!(lost(&text), Vec::<String>::new());
    assert_eq!(summary["must_keep"]["kept"], json!([180, 180]));
    let cost = summary["cache_cost"].as_f64().unwrap()
        / summary["cache_cost_uncompressed"].as_f64().unwrap();
    assert!(cost <= 0.6, "{cost}");
    // Compressed at 60 % of the limit, where it pays, and not before.
    let traced = done(&place, "policy trace sql.json --context-size 8000 --hook budgets --json");
    let first: Value = serde_json::from_str(traced.text().lines().next().unwrap()).unwrap();
    let own = first["asked"].as_array().unwrap().iter().find(|said| said["policy"] == "profile");
    assert_eq!(
        (&first["winner"], &own.unwrap()["answer"]["soft"]),
        (&json!("profile"), &json!(4080))
    );

    // A model is told what its summaries dwell on in this mode.
    let turn = Turn { text: "All steps went well.".to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 50, plain: true, ..Script::default() };
    let upstream = Upstream::start(script).unwrap();
    let model = format!("openai:m@{}/v1", upstream.url());
    let args = ["compress", "sql.json", "--ratio", "2", "-o", "out.json", "--summarizer", &model];
    assert_eq!(place.run(args).code, 0);
    assert!(upstream.prompts()[0].body.to_string().contains("Dwell on what failed and why."));
}

/// Calls of four tools, with a demand on the way.
fn with_tools() -> String {
    let tools = ["run_sql", "web_search", "vault_read", "read_file"];
    let mut messages = vec![json!({"role": "system", "content": "You help to move a database."})];
    for step in 0..70 {
        let (tool, id) = (tools[step % 4], format!("c{step}"));
        let goal = if step == 2 { "## Goal: Move the orders\n" } else { "" };
        let call = json!({"id": id, "type": "function",
            "function": {"name": tool, "arguments": json!({"q": step}).to_string()}});
        let rows = (0..40).map(|row| format!("{tool} {step} row {row} of worker {}", row * 7 % 13));
        messages.extend([
            json!({"role": "user", "content": format!("Step {step}: what is left of part {step}?")}),
            json!({"role": "assistant", "content": format!("{goal}I ask {tool}."), "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": rows.collect::<Vec<_>>().join("\n")}),
            json!({"role": "assistant", "content": format!(
                "Part {step} reads its rows twice. I decided to keep one reader in src/part{step}.rs and to \
                 drop the other one, which nobody has called since step {}.", step / 2)}),
        ]);
        if step == 5 {
            messages.push(json!({"role": "user", "content": "Never touch the table ledger."}));
            messages.push(json!({"role": "assistant", "content": "Understood."}));
        }
    }
    messages.push(json!({"role": "user", "content": "Which steps are left?"}));
    json!(messages).to_string()
}

/// What a hook answered last in each turn, and who.
fn answers(place: &Place, hook: &str) -> Vec<(u64, String, Value)> {
    let line = format!("policy trace sql.json --context-size 20000 --hook {hook} --json");
    let traced = done(place, &line);
    let notes = traced.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = notes.filter_map(|note| {
        let asked = note["asked"].as_array()?;
        let answer = asked.iter().rev().find(|said| !said["answer"].is_null())?;
        let policy = answer["policy"].as_str()?.to_owned();
        Some((note["turn"].as_u64()?, policy, answer["answer"].clone()))
    });
    said.collect()
}

#[test]
fn a_policy_that_asks_a_model_passes_its_tests() {
    let place = Place::new();
    done(&place, "policy new rules --from watermark -q");
    place.write(".epitome/policies/rules/policy.lua", RULES);
    place.write(".epitome/policies/rules/tests/budgets.lua", RULES_TESTS);
    let told = done(&place, "policy test rules");
    let passed = told.text().matches("ok    tests/").count();
    assert_eq!((passed, told.text().contains("fail")), (4, false), "{}", told.text());
}

#[test]
fn ageing_budgets_markers_and_tools_are_said_in_twelve_lines() {
    let place = place(SCHEDULE);
    place.write("sql.json", with_tools());
    let (_, summary, text) = check(&place, 20_000, &["-q", "--store", "s.db"]);
    assert!(summary["compressions"].as_u64() > Some(3), "{summary}");
    // A demand stays, also where the window forces it.
    assert!(text.contains("Never touch the table ledger."), "{text}");
    assert!(!text.contains("vault_read 66 row"), "{text}");
    let goals = done(&place, "goal list --store s.db");
    assert!(goals.text().contains("Move the orders"), "{}", goals.text());

    let budgets = answers(&place, "budgets");
    let in_turn = |turn: u64| &budgets.iter().find(|(at, ..)| *at == turn).unwrap().2;
    assert_eq!(in_turn(1)["soft"], 13_600);
    let last = &budgets.last().unwrap().2;
    assert_eq!(
        (&last["soft"], &last["target"], &last["checkpoints"]),
        (&json!(9_350), &json!(5_950), &json!(10_200))
    );
    assert!(budgets.iter().all(|(_, policy, _)| policy == "profile"));

    let steps = answers(&place, "age");
    let levels: std::collections::BTreeSet<u64> = steps
        .iter()
        .filter(|(_, policy, _)| policy == "profile")
        .flat_map(|(_, _, answer)| answer.as_array().unwrap())
        .map(|step| step["to"].as_u64().unwrap())
        .collect();
    assert!(levels.contains(&2) && levels.contains(&1), "{steps:?}");
    let shown = done(&place, "config show");
    for (key, line) in [("ageing.2.level", 6), ("budgets.30.soft", 8), ("tools.run_sql.digest", 12)]
    {
        let says = |shown: &str| shown.starts_with(key) && shown.ends_with(&format!(":{line}"));
        assert!(shown.text().lines().any(says), "{key}: {}", shown.text());
    }
}

#[test]
fn steps_that_cannot_be_meant_are_errors_with_their_lines() {
    let check = |line: &str, expected: &str| {
        let place = Place::new();
        place.write("epitome.toml", format!("[profile.team]\n{line}\n"));
        let ran = place.run(["compress", "--profile", "team", "-"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("epitome.toml:") && ran.err.contains(expected), "{}", ran.err);
    };
    check("budgets.soft = 0.5", "expected a table");
    check("budgets.late = { soft = 0.5 }", "expected a number of messages that a person typed");
    check("budgets.0 = { soft = 1.5 }", "expected a number from 0 to 1");
    check("budgets.0 = { sotf = 0.5 }", "did you mean `soft`?");
    check("budgets.0 = { soft = 0.5, target = 0.7 }", "`target` is above `soft`");
    check("ageing.03 = { level = 2, share = 0.5 }", "expected an age in compressions");
    check("ageing.3 = { level = 3, share = 0.5 }", "expected a whole number from 0 to 2");
    check("ageing.3 = { level = 2 }", "share");
    check(
        "ageing = { 3 = { level = 1, share = 0.5 }, 5 = { level = 2, share = 0.5 } }",
        "an older checkpoint is no more detailed",
    );
}
