//! A profile says in a few lines what stays, and so it is, whoever decides.

use serde_json::{Value, json};

use crate::measure::{faults, readable};
use crate::playing::played;
use crate::program::{Place, Ran};

/// The steps of the recording; each runs two statements and one migration.
const STEPS: usize = 60;

/// A team lead's wish: every SQL statement and every name of a migration, word for word.
const WISH: &str = r"default_profile = 'team'

[profile.team]
inherits = 'BASE'
keep = [
  '(?is)\b(select|update|insert into)\b[^;]*;',
  '\b\d{8}_\d{4}_\w+',
]
";

fn statement(number: usize) -> String {
    let table = ["orders", "invoices", "users", "sessions", "payments"][number % 5];
    match number % 3 {
        0 => format!("SELECT id, total_{number} FROM {table} WHERE state = 'open';"),
        1 => format!("UPDATE {table}\n   SET checked_{number} = true\n WHERE batch = {number};"),
        _ => format!("INSERT INTO {table}_log (batch, note) VALUES ({number}, 'it''s done');"),
    }
}

fn migration(step: usize) -> String {
    format!("202601{:02}_{step:04}_move_{}", step % 28 + 1, ["orders", "users"][step % 2])
}

/// What workers log, of which nobody needs a line later.
fn log(seed: usize) -> String {
    let line = |at: usize| {
        let (worker, rows) = ((seed * 7 + at) % 13, at * seed % 997);
        format!("2026-03-{:02} worker-{worker} handled {rows} rows in {at} ms\n", at % 28 + 1)
    };
    (0..30).map(line).collect()
}

/// Statements and names in tool results and talk, among much that is neither.
fn recording() -> String {
    let mut messages = vec![json!({"role": "system", "content": "You help to move a database."})];
    for step in 0..STEPS {
        let (first, second) = (statement(2 * step), statement(2 * step + 1));
        let ask = format!("Apply migration {} and tell me how it went.", migration(step));
        let arguments = json!({"database": "main", "step": step}).to_string();
        let call = json!({"id": format!("c{step}"), "type": "function",
            "function": {"name": "run_sql", "arguments": arguments}});
        let result = format!("{}{second}\n{}ok", log(step + 1), log(step + 2));
        messages.extend([
            json!({"role": "user", "content": ask}),
            json!({"role": "assistant", "content": format!("I run it:\n{first}\nThen I look."),
                "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": result}),
            json!({"role": "assistant", "content": "The workers were calm and nothing failed, so \
                the counts agree with what was expected. We can go on whenever you like."}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "Which steps are left?"}));
    json!(messages).to_string()
}

/// Plays the recording in a window, and gives the summary and the text of the last prompt.
fn check(place: &Place, size: u64, args: &[&str]) -> (Ran, Value, String) {
    let size = size.to_string();
    let played_as = ["replay", "sql.json", "--context-size", &size, "--dump", "prompts", "--json"];
    let ran = place.run(played_as.iter().chain(args));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    let last = place.read_json(&format!("prompts/{:04}.json", turns.len()));
    assert_eq!(faults(&last), Vec::<String>::new());
    let text = readable(&last);
    (ran, summary, text)
}

fn place(base: &str) -> Place {
    let place = Place::new();
    place.write("sql.json", recording());
    place.write("epitome.toml", WISH.replace("BASE", base));
    place
}

/// The statements and names that a text does not say.
fn lost(text: &str) -> Vec<String> {
    let all = (0..2 * STEPS).map(statement).chain((0..STEPS).map(migration));
    all.filter(|one| !text.contains(one)).collect()
}

#[test]
fn what_a_profile_keeps_stays_under_every_policy() {
    assert!(WISH.lines().count() <= 12);
    for base in ["default", "ollm", "staged", "early", "tiered", "watermark"] {
        let (_, summary, text) = check(&place(base), 8_000, &["-q"]);
        assert_eq!(lost(&text), Vec::<String>::new(), "{base}");
        assert_eq!(summary["must_keep"]["kept"], json!([3 * STEPS, 3 * STEPS]), "{base}");
        let cost = summary["cache_cost"].as_f64().unwrap()
            / summary["cache_cost_uncompressed"].as_f64().unwrap();
        let compressions = summary["compressions"].as_u64().unwrap();
        assert!(cost <= 0.6 && compressions >= 3, "{base}: {cost} in {compressions}");
    }
    let kept_by_none = lost(&check(&place("default"), 8_000, &["-q", "--profile", "default"]).2);
    assert!(kept_by_none.len() > STEPS / 2, "the recording needs no rule: {kept_by_none:?}");
}

/// A policy that fails at every hook leaves the built-in one to decide, and the rules hold.
#[test]
fn what_a_profile_keeps_stays_where_a_policy_fails() {
    let place = place("default");
    place.write("epitome.toml", WISH.replace("'BASE'", "'broken'"));
    let policy = "--- @api 2\nlocal policy = { extends = \"ollm\" }\n\
        function policy.plan(job) error(\"no plan\") end\n\
        function policy.tool_result(job) return { how = \"shrink\" } end\n\
        function policy.verify(job) return 7 end\nreturn policy\n";
    std::fs::create_dir_all(place.path(".config/epitome/policies/broken")).unwrap();
    place.write(".config/epitome/policies/broken/policy.lua", policy);
    let (ran, _, text) = check(&place, 8_000, &[]);
    assert!(ran.err.contains("no plan"), "{}", ran.err);
    assert_eq!(lost(&text), Vec::<String>::new());
}

/// Where a budget cannot hold all of them the newest stay, and the report names the others with the
/// command that brings each back.
#[test]
fn what_has_no_room_is_said() {
    let place = place("default");
    let args = ["compress", "sql.json", "--max-tokens", "3000", "--store", "s.db", "--output"];
    let ran = place.run(args.into_iter().chain(["out.json", "--report", "report.json"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (report, text) = (place.read_json("report.json"), readable(&place.read_json("out.json")));
    assert!(report["after"]["tokens"].as_u64() <= Some(3000));
    let lines = report["must_keep"]["lost"].as_array().unwrap().iter();
    let lines: Vec<_> = lines.filter(|one| one["kind"] == "kept").collect();
    assert_eq!(report["must_keep"]["kept"], json!([3 * STEPS - lines.len(), 3 * STEPS]));
    assert!(lines.len() > STEPS / 2 && lines.iter().all(|one| one["recall"].is_string()));
    let lost = lost(&text);
    assert_eq!(lost.len(), lines.len(), "{lost:?}");
    assert!(!lost.contains(&statement(2 * STEPS - 2)) && lost.contains(&statement(1)), "{lost:?}");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("profile: no room for "), "{warnings}");
}

#[test]
fn a_rule_that_cannot_be_meant_is_an_error_with_its_line() {
    let check = |rule: &str, expected: &str| {
        let place = Place::new();
        place.write("epitome.toml", format!("[profile.team]\nkeep = [{rule}]\n"));
        let ran = place.run(["compress", "--profile", "team", "-"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("epitome.toml:2: ") && ran.err.contains(expected), "{}", ran.err);
    };
    check("'(a'", "`keep`: `(a` is no regular expression: ");
    check("'pathes'", "did you mean `path`?");
    check("''", "expected a regular expression or one of `constraint`, `path`, `error`");
    check("7", "expected a list, each a text");
}
