//! A profile says in a few lines what stays, and so it is, whoever decides.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::measure::{count, faults, readable};
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
pub(crate) fn recording() -> String {
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
pub(crate) fn check(place: &Place, size: u64, args: &[&str]) -> (Ran, Value, String) {
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
pub(crate) fn lost(text: &str) -> Vec<String> {
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

/// The same wish as a policy says it that is asked for facts.
const FINDS: &str = r#"--- @api 2
return {
  extends = "BASE",
  facts = function(job)
    local lines = {}
    for place = 1, job.covered.count do
      local text = job.covered:text(place) or ""
      for _, found in ipairs(ep.re.all("(?is)\\b(?:select|update|insert into)\\b[^;]*;", text)) do
        lines[#lines + 1] = found
      end
      for _, found in ipairs(ep.re.all("\\b\\d{8}_\\d{4}_\\w+", text)) do
        lines[#lines + 1] = found
      end
    end
    return lines
  end,
}
"#;

/// What a policy finds stays as what a profile names does, and reports count it.
#[test]
fn what_a_policy_finds_stays_under_every_policy() {
    for base in ["default", "ollm", "staged", "early", "tiered", "watermark"] {
        let place = Place::new();
        place.write("sql.json", recording());
        let policies = ".config/epitome/policies/sql";
        std::fs::create_dir_all(place.path(policies)).unwrap();
        place.write(&format!("{policies}/policy.lua"), FINDS.replace("BASE", base));
        place.write("epitome.toml", "default_profile = 'sql'\n");
        let (_, summary, text) = check(&place, 8_000, &["-q"]);
        assert_eq!(lost(&text), Vec::<String>::new(), "{base}");
        assert_eq!(summary["must_keep"]["kept"], json!([3 * STEPS, 3 * STEPS]), "{base}");
        assert!(summary["compressions"].as_u64().unwrap() >= 3, "{base}");
    }
}

/// Checkpoints that age further than words can follow come as near as they can, so that the lines that
/// stay have room beside them.
#[test]
fn what_a_profile_keeps_stays_beside_checkpoints_that_age() {
    for base in ["ollm", "staged"] {
        let place = place(base);
        let ages = "\nageing.1 = { level = 0, share = 0.01 }\n";
        place.write("epitome.toml", WISH.replace("BASE", base) + ages);
        let (ran, summary, text) = check(&place, 8_000, &[]);
        assert!(!ran.err.contains("no room for"), "{base}: {}", ran.err);
        assert!(summary["compressions"].as_u64().unwrap() >= 3, "{base}");
        assert_eq!(lost(&text), Vec::<String>::new(), "{base}");
    }
}

/// A policy that wants every line to stay gets what pays, and costs about what no compression does.
#[test]
fn a_policy_that_finds_every_line_costs_no_more_than_none() {
    const ALL: &str = "--- @api 2\nlocal policy = { extends = \"ollm\" }\n\
        function policy.facts(job)\n  local lines = {}\n  for place = 1, job.covered.count do\n\
        for line in (job.covered:text(place) or \"\"):gmatch(\"[^\\n]+\") do lines[#lines + 1] = line end\n\
        end\n  return lines\nend\nreturn policy\n";
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/epitome/policies/all")).unwrap();
    place.write(".config/epitome/policies/all/policy.lua", ALL);
    let ran = place.run(["policy", "test", "all"]);
    // In so little room that each result takes half of it, more is paid: `tight`.
    for conversation in ["chat", "agent", "marks"] {
        let line = format!("ok    replay of {conversation}: ");
        assert!(ran.text().contains(&line), "{conversation}: {} {}", ran.text(), ran.err);
    }
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

/// A model that says nothing of them takes none of them out.
#[test]
fn what_a_profile_keeps_stays_beside_what_a_model_writes() {
    for base in ["default", "staged"] {
        let place = place(base);
        let turn = Turn { text: "All steps went well so far.".to_owned(), ..Turn::default() };
        let script = Script { turns: vec![turn], repeat: 50, plain: true, ..Script::default() };
        let upstream = Upstream::start(script).unwrap();
        let model = format!("openai:m@{}/v1", upstream.url());
        let args = ["compress", "sql.json", "--ratio", "4", "-o", "out.json", "--summarizer"];
        let ran = place.run(args.into_iter().chain([&*model]));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(!upstream.prompts().is_empty());
        let text = readable(&place.read_json("out.json"));
        assert_eq!(lost(&text), Vec::<String>::new(), "{base}");
        // Of those that have no room beside it the model is told.
        let before = upstream.prompts().len();
        let args = ["compress", "sql.json", "--max-tokens", "3000", "-o", "out.json"];
        let ran = place.run(args.into_iter().chain(["--summarizer", &*model]));
        assert_eq!(ran.code, 0, "{}", ran.err);
        let question = upstream.prompts()[before].body["messages"].to_string();
        assert!(question.contains("\\n- Apply migration "), "{question}");
    }
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

/// What `epitome.toml` says of results, goals and summaries.
const RULES: &str = r"default_profile = 'team'

[profile.team]
inherits = 'ollm'
never = ['migrations/*.sql']
markers.goal = '## Goal:'
prompts.developer = 'focus.md'

[profile.team.tools.vault_read]
mask = '[a secret of {tokens} tokens]'

[profile.team.tools.'web_*']
max_tokens = 300
";

/// The tools of the recording, in turns, with the argument of each.
const TOOLS: [(&str, &str, &str); 4] = [
    ("read_file", "path", "/srv/app/migrations/7.sql"),
    ("web_search", "query", "how"),
    ("vault_read", "key", "token"),
    ("run", "command", "make"),
];

pub(crate) fn result(step: usize) -> String {
    let tool = TOOLS[step % 4].0;
    (0..90).map(|at| format!("{tool} {step} line {at}: {} words of it\n", at * step)).collect()
}

pub(crate) fn with_tools() -> String {
    let mut messages = vec![json!({"role": "system", "content": "You help."})];
    for step in 0..28 {
        let (tool, key, value) = TOOLS[step % 4];
        let call = json!({"id": format!("c{step}"), "type": "function",
            "function": {"name": tool, "arguments": json!({key: value}).to_string()}});
        let says = if step == 3 { "## Goal: Ship the importer" } else { "I look at it." };
        messages.extend([
            json!({"role": "user", "content": format!("Go on with step {step}.")}),
            json!({"role": "assistant", "content": says, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": result(step)}),
            json!({"role": "assistant", "content": "It is as it should be."}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    json!(messages).to_string()
}

fn ruled() -> Place {
    let place = Place::new();
    place.write("sql.json", with_tools());
    place.write("epitome.toml", RULES);
    place.write("focus.md", "Dwell on what the importer lacks.\n");
    place
}

#[test]
fn results_stay_or_shrink_by_the_rules_of_the_profile() {
    let place = ruled();
    let (ran, summary, text) = check(&place, 14_000, &["--store", "s.db"]);
    assert!(summary["compressions"].as_u64() > Some(0), "{summary}");
    for step in (0..28).step_by(4) {
        assert!(text.contains(result(step).trim_end()), "result {step} is not whole");
    }
    assert!(text.contains("[a secret of ") && !text.contains("vault_read 26 line 1:"), "{text}");
    assert!(ran.text().contains(r#""tool":"web_search""#), "{}", ran.text());
    let goals = place.run(["goal", "list", "--store", "s.db"]);
    assert!(String::from_utf8_lossy(&goals.out).contains("Ship the importer"), "{goals:?}");
    let traced = place.run(["policy", "trace", "sql.json", "--context-size", "14000"]);
    assert!(String::from_utf8_lossy(&traced.out).contains("profile"), "{}", traced.err);
    let shown = place.run(["config", "show"]);
    let shown = String::from_utf8_lossy(&shown.out).into_owned();
    for (key, line) in [("never", 5), ("markers.goal", 6), ("prompts.developer", 7)] {
        let says = |shown: &str| shown.starts_with(key) && shown.ends_with(&format!(":{line}"));
        assert!(shown.lines().any(says), "{key}: {shown}");
    }
    assert!(shown.contains("tools.vault_read.mask") && shown.contains("tools.web_*.max_tokens"));
}

/// Results that are never touched may take most of a window: what is kept has its part of the rest, and each
/// compression leaves room for the next turns.
#[test]
fn what_is_kept_has_its_part_beside_what_is_never_touched() {
    for base in ["default", "staged", "ollm"] {
        let place = ruled();
        let rules = format!(
            "default_profile = 'team'\n[profile.team]\ninherits = '{base}'\nnever = ['read_file']\n\
             keep = ['run \\d+ line 4:', 'web_search \\d+ line 4:']\n"
        );
        place.write("epitome.toml", rules);
        let (ran, summary, text) = check(&place, 13_000, &[]);
        assert!(!ran.err.contains("no room for"), "{base}: {}", ran.err);
        for step in (0..28).filter(|step| step % 2 == 1) {
            assert!(
                text.contains(&format!("{} {step} line 4:", TOOLS[step % 4].0)),
                "{base}: {step}"
            );
        }
        let cost = |key: &str| summary[key].as_f64().unwrap();
        let cost = cost("cache_cost") / cost("cache_cost_uncompressed");
        assert!(cost <= 1.0, "{base}: {cost} in {} compressions", summary["compressions"]);
    }
}

/// What is masked is shown to no hook that comes after, and in no report.
#[test]
fn what_is_masked_is_said_nowhere() {
    const SEES: &str = "--- @api 2\nlocal policy = { extends = \"ollm\" }\n\
        function policy.facts(job)\n  for place = 1, job.covered.count do\n\
        print(job.covered:text(place) or \"\")\n  end\n  return {}\nend\nreturn policy\n";
    let place = ruled();
    let policies = ".config/epitome/policies/sees";
    std::fs::create_dir_all(place.path(policies)).unwrap();
    place.write(&format!("{policies}/policy.lua"), SEES);
    let rules = RULES.replace("'ollm'", "'sees'").replace("never =", "keep = ['line 1:']\nnever =");
    place.write("epitome.toml", rules);
    let (ran, summary, _) = check(&place, 14_000, &["--report", "report.json"]);
    assert!(
        ran.err.contains("run 3 line 2") && !ran.err.contains("vault_read 2 line"),
        "{}",
        ran.err
    );
    let report = place.read_json("report.json").to_string();
    assert!(!report.contains("vault_read 2 line") && !report.contains("vault_read 26 line"));
    let kept = &summary["must_keep"]["kept"];
    assert_eq!(kept[1], json!(21), "seven of 28 results are masked: {kept}");
    // Where no result comes any more there is nothing to decide, which is said.
    let ran = place.run(["compress", "sql.json", "--ratio", "2", "-o", "out.json"]);
    assert!(ran.err.contains("7 results of tools that the profile masks stay"), "{}", ran.err);
}

/// What is said of a tool holds beside `keep`: the newest of its lines have half of the room, and none of
/// the others makes the result larger.
#[test]
fn the_most_of_a_tool_holds_beside_lines_that_are_kept() {
    let place = Place::new();
    place.write("sql.json", with_tools());
    let rules = "default_profile = 'team'\n[profile.team]\nkeep = ['line \\d+:']\n\
                 [profile.team.tools.'web_*']\nmax_tokens = 300\n";
    place.write("epitome.toml", rules);
    let args = ["replay", "sql.json", "--context-size", "60000", "--dump", "prompts", "--json"];
    let turns = played(&place.run(args)).0.len();
    let last = place.read_json(&format!("prompts/{turns:04}.json"));
    let results = last.as_array().unwrap().iter();
    let results =
        results.filter(|it| it["content"].as_str().is_some_and(|it| it.contains("web_search ")));
    let sizes: Vec<_> = results.map(|it| count(it["content"].as_str().unwrap())).collect();
    assert!(sizes.len() == 7 && sizes.iter().all(|size| *size <= 300), "{sizes:?}");
}

/// A pipe, into which nobody writes, is refused and not waited for.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_of_the_team() {
    let place = ruled();
    std::fs::remove_file(place.path("focus.md")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.path("focus.md")).status();
    assert!(made.unwrap().success());
    let ran = place.run(["compress", "sql.json", "--ratio", "2", "-o", "out.json"]);
    assert!(ran.code == 3 && ran.err.contains("is a pipe or a device"), "{}", ran.err);
}

/// A mask hides all of a result, however short it is, whether it failed, and whatever else is said of the
/// tool; no way back stands in the prompt.
#[test]
fn a_mask_hides_whatever_it_stands_for() {
    let place = Place::new();
    let rules = "default_profile = 'team'\n[profile.team]\ninherits = 'ollm'\nnever = ['vault_*']\n\
                 [profile.team.tools.'vault_*']\nmask = '[a secret of {tokens} tokens]'\n\
                 [profile.team.tools.vault_read]\nmax_tokens = 40\n";
    place.write("epitome.toml", rules);
    let secrets =
        ["hunter2-SECRETA", "error: permission denied for SECRETB", "DB_PASSWORD=SECRETC\nx"];
    let mut messages = vec![json!({"role": "user", "content": "Go on."})];
    for (at, secret) in secrets.iter().enumerate() {
        let call = json!({"id": format!("c{at}"), "type": "function",
            "function": {"name": "vault_read", "arguments": "{}"}});
        messages.extend([
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": secret}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    place.write("talk.json", json!(messages).to_string());
    let args =
        ["replay", "talk.json", "--context-size", "16000", "--dump", "d", "--store", "s.db", "-q"];
    let ran = place.run(args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for turn in 1..=4 {
        let text = place.read_json(&format!("d/{turn:04}.json")).to_string();
        assert!(!text.contains("SECRET") && !text.contains("epitome recall"), "{text}");
    }
}

/// What is never touched and does not fit is named, as what is pinned.
#[test]
fn what_is_never_touched_and_does_not_fit_is_named() {
    let place = ruled();
    let ran = place.run(["compress", "sql.json", "--max-tokens", "4000", "-o", "out.json"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("e3 read_file result: kept whole by `never` of the profile"));
}

/// Summaries of a mode dwell on what the team's file says, whichever policy words the question.
#[test]
fn a_file_of_the_team_says_what_summaries_dwell_on() {
    for base in ["default", "ollm", "staged"] {
        let place = ruled();
        place.write("epitome.toml", RULES.replace("'ollm'", &format!("'{base}'")));
        let turn = Turn { text: "All steps went well.".to_owned(), ..Turn::default() };
        let script = Script { turns: vec![turn], repeat: 50, plain: true, ..Script::default() };
        let upstream = Upstream::start(script).unwrap();
        let model = format!("openai:m@{}/v1", upstream.url());
        let args = ["compress", "sql.json", "--ratio", "2", "-o", "out.json", "--summarizer"];
        for (mode, expected) in [("developer", 1), ("planning", 0)] {
            let before = upstream.prompts().len();
            let ran = place.run(args.into_iter().chain([&*model, "--mode", mode]));
            assert_eq!(ran.code, 0, "{}", ran.err);
            let asked = upstream.prompts();
            let question = asked[before].body["messages"].to_string();
            let said = question.matches("Dwell on what the importer lacks.").count();
            assert_eq!(said, expected, "{base} {mode}: {question}");
            let shipped = question.contains("is about the development of software");
            assert!(!(shipped && expected == 1), "{question}");
        }
    }
}

#[test]
fn a_rule_that_cannot_be_meant_is_an_error_with_its_line() {
    let check = |rule: &str, expected: &str| {
        let place = Place::new();
        place.write("epitome.toml", format!("[profile.team]\nkeep = [{rule}]\n"));
        let ran = place.run(["compress", "--profile", "team", "-"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(ran.err.contains("epitome.toml:") || expected == "no such file", "{}", ran.err);
    };
    check("'(a'", "`keep`: `(a` is no regular expression: ");
    check("'pathes'", "did you mean `path`?");
    check("''", "expected a regular expression or one of `constraint`, `path`, `error`");
    check("7", "expected a list, each a text");
    check("]\nnever = [''", "`never`: a pattern is empty");
    check("]\ntools.bash.digests = 1\nmode = 'x'\nnever = [", "did you mean `digest`?");
    check("]\nmarkers.gaol = 'x'\nnever = [", "did you mean `goal`?");
    check("]\nmarkers.goal = '[NEXT]'\nnever = [", "stands for two kinds of markers");
    check("]\ntools.bash = { mask = 'x', digest = true }\nnever = [", "expected it without");
    check("]\ntools.bash = { mask = ' ' }\nnever = [", "`mask` is empty");
    check("]\ntools.bash = { mask = '{foo}' }\nnever = [", "`{foo}`, which nothing fills in");
    check("]\ntools.'' = { mask = 'x' }\nnever = [", "the name is empty");
    check("]\nprompts.planning = 'no.md'\nnever = [", "no such file");
    check("]\nprompts.planning = '../a.md'\nnever = [", "which leads out of the project");
}
