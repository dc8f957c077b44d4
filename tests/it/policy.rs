//! `epitome policy` and `epitome trust`: from nothing to a changed plan, and nothing that was not
//! trusted.

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::bare;
use crate::playing::played;
use crate::program::{Place, Ran};
use crate::shipped::recording;

/// Where the policy `team` of every place here stands.
pub(crate) const TEAM: &str = ".epitome/policies/team/policy.lua";

/// A place with a conversation of many small turns.
pub(crate) fn talk() -> Place {
    let place = Place::new();
    place.write("talk.json", bare(30).to_string());
    place
}

/// Runs a line that went well.
#[track_caller]
pub(crate) fn done(place: &Place, line: &str) -> Ran {
    let ran = place.run(line.split_whitespace());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{line}: {}", ran.text());
    ran
}

/// Writes a policy of somebody else, by whatever way it came here.
pub(crate) fn brought(place: &Place, name: &str, text: &str) {
    let folder = format!(".epitome/policies/{name}");
    std::fs::create_dir_all(place.path(&folder)).unwrap();
    place.write(&format!("{folder}/policy.lua"), text);
}

/// Replaces something in the policy `team`.
#[track_caller]
pub(crate) fn edit(place: &Place, what: &str, with: &str) {
    let text = String::from_utf8(place.read(TEAM)).unwrap();
    assert!(text.contains(what), "{what}: {text}");
    place.write(TEAM, text.replace(what, with));
}

/// What was said, with the place taken out of it.
fn shown(place: &Place, text: &str) -> String {
    let real = place.path("").canonicalize().unwrap();
    let place = place.path("");
    let [real, place] = [&real, &place].map(|path| path.to_str().unwrap().trim_end_matches('/'));
    text.replace(place, "[home]").replace(real, "[home]")
}

#[track_caller]
fn check(name: &str, lines: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, lines));
}

/// What each line of arguments says, and its exit code.
fn said(place: &Place, lines: &[&str]) -> String {
    let mut said = String::new();
    for line in lines {
        let ran = place.run(line.split_whitespace());
        said += &format!("$ epitome {line}\n{}{}[{}]\n\n", ran.text(), ran.err, ran.code);
    }
    shown(place, said.trim_end())
}

/// What was planned, by the turn in which it was.
fn plans(place: &Place) -> Vec<Value> {
    let ran =
        done(place, "policy trace talk.json --profile team --context-size 3000 --hook plan --json");
    ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn five_commands_lead_from_nothing_to_a_changed_plan() {
    let place = talk();
    done(&place, "policy new team --from ollm");
    let before = plans(&place);
    edit(&place, "default = 0.9", "default = 0.7");
    done(&place, "policy test team");
    let (_, summary) =
        played(&done(&place, "replay talk.json --profile team --context-size 3000 --json -q"));
    let compared = done(&place, "ab talk.json --profiles ollm,team --context-size 3000 --json -q");

    assert!(summary["compressions"].as_u64() > Some(0), "{summary}");
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])));
    let turn = |plans: &[Value]| plans[0]["turn"].as_u64().unwrap();
    let after = plans(&place);
    assert!(turn(&after) < turn(&before), "{} to {}", turn(&before), turn(&after));
    assert!(after.iter().all(|plan| plan["winner"] == "ollm" && plan["hook"] == "plan"));
    for profile in ["ollm", "team", "none", "truncate"] {
        assert!(compared.text().contains(&format!(r#""profile":"{profile}""#)), "{profile}");
    }
}

#[test]
fn a_new_policy_is_whole_and_never_replaces_another() {
    let place = talk();
    let told = done(&place, "policy new team --from ollm");
    check("policy_new", &shown(&place, told.text()));
    for file in [TEAM, ".epitome/policies/team/.luarc.json"] {
        assert!(!place.read(file).is_empty(), "{file}");
    }
    let types = String::from_utf8(place.read(".epitome/policies/types/epitome.d.lua")).unwrap();
    assert!(types.contains("---@class BudgetsJob"), "{types}");
    edit(&place, "0.9", "0.8");
    let text = place.read(TEAM);
    assert_eq!(place.run(["policy", "new", "team"]).code, 2);
    assert_eq!(place.read(TEAM), text);
    // Below the project it is the same one, and another project has its own.
    std::fs::create_dir_all(place.path("src/deep")).unwrap();
    let below = |folder: &str, args: &[&str]| {
        let mut command = place.command(args);
        command.current_dir(place.path(folder));
        Ran::of(command, b"")
    };
    assert_eq!(below("src/deep", &["policy", "new", "other", "-q"]).silent(), b"");
    assert!(place.path(".epitome/policies/other/policy.lua").is_file());
    place.write("src/epitome.toml", "");
    assert_eq!(below("src/deep", &["policy", "new", "team", "-q"]).silent(), b"");
    assert!(place.path("src/.epitome/policies/team/policy.lua").is_file());
    assert_eq!(below("src/deep", &["policy", "check", "-q"]).silent(), b"");
}

#[test]
fn every_base_makes_a_policy_that_passes_its_test() {
    for base in ["default", "early", "none", "ollm", "staged", "tiered", "truncate", "watermark"] {
        let place = Place::new();
        done(&place, &format!("policy new team --from {base} -q"));
        let tested = place.run(["policy", "test", "--json"]).json();
        assert_eq!(tested[0]["tests"][0]["failure"], Value::Null, "{base}");
        for replay in tested[0]["replays"].as_array().unwrap() {
            assert!(replay["compressions"].as_u64() > Some(0), "{base}: {replay}");
        }
        let replays = tested[0]["replays"].as_array().unwrap();
        let is_sound = replays.iter().all(|replay| replay["faults"] == json!([]));
        // What is wrong with that base is wrong with what extends it.
        assert_eq!(is_sound, base != "truncate", "{base}: {tested}");
    }
}

/// Modules that policies share are trusted by themselves: what says so names them, and what it says to do
/// helps.
#[test]
fn a_policy_of_ones_own_says_which_module_is_not_trusted() {
    let place = Place::new();
    done(&place, "policy new team -q");
    brought(&place, "lib", "");
    place.write(".epitome/policies/lib/helper.lua", "return {}\n");
    let (team, lib) = (place.path(".epitome/policies/team"), place.path(".epitome/policies/lib"));
    edit(&place, "local policy", "local helper = require(\"helper\")\nlocal policy");
    std::fs::remove_file(lib.join("policy.lua")).unwrap();
    let ran = place.run(["policy", "check", "team"]);
    let remedy = format!("`epitome trust --author {}`", lib.display());
    let why = "is made with `lib`, which came with the project and is not trusted";
    assert!(ran.text().contains(why) && ran.text().contains(&remedy), "{}", ran.text());
    done(&place, "trust .epitome/policies/lib -q");
    done(&place, "policy check team");
    // A project is its folders; what has none is refused, and not recorded in vain.
    std::fs::create_dir_all(place.path("src")).unwrap();
    let ran = place.run(["trust", "--author", "src"]);
    assert!(ran.code != 0 && ran.err.contains("holds neither policies nor plugins"), "{}", ran.err);
    let own = done(&place, "trust --author . --json").json();
    assert_eq!(own[0]["folder"], json!(team.parent().unwrap().canonicalize().unwrap()));
    brought(&place, "other", "--- @api 2\nreturn { doc = \"New.\" }\n");
    done(&place, "policy check");
}

#[test]
fn names_that_cannot_be_given() {
    let place = talk();
    done(&place, "policy new team -q");
    place.write("epitome.toml", "[profile.small]\ncontext_size = 9000\n");
    let lines = [
        "policy new te.am",
        "policy new ollm",
        "policy new lib",
        "policy new types",
        "policy new team",
        "policy new other --from olm",
        "policy new other --from other",
        "policy new other --from small",
        "policy check teem",
        "policy check ./team",
        "policy check .epitome/policies",
        "policy trace talk.json --hook paln",
        "policy trace talk.json --turns 99",
        "policy trace talk.json --context-size 99999 --hook age",
        "policy trace gone.json",
        "trust gone",
        "trust .epitome",
        "trust . --author .",
    ];
    check("policies_that_are_not_there", &said(&place, &lines));
}

#[test]
fn policies_that_cannot_be_used_are_named_with_file_and_line() {
    let place = Place::new();
    done(&place, "policy new team -q");
    let mut all = String::new();
    for text in [
        "return {}",
        "--- @api 3\nreturn {}",
        "--- @api 2\nreturn {\n  extends =\n}",
        "--- @api 2\nreturn { budgts = function() end }",
        "--- @api 2\nreturn {\n  extends = \"olm\",\n}",
        "--- @api 2\nreturn {\n  extends = \"team\",\n}",
        "--- @api 2\nlocal base = \"ollm\"\nreturn { extends = base }",
        "--- @api 2\nreturn { options = { keep = { type = \"int\", default = 1 } } }",
        "--- @api 2\nlocal numbers = require(\"nubmers\")\nreturn {}",
        "--- @api 2\nstring.rep = nil\nreturn {}",
        "--- @api 2\nreturn { name = \"tame\" }",
        "--- @api 2\nreturn 5",
    ] {
        place.write(TEAM, text);
        all += &format!("{text}\n\n{}\n\n", said(&place, &["policy check team"]));
    }
    check("policies_that_cannot_be_used", all.trim_end());
}

#[test]
fn options_that_cannot_be_used_are_named_where_they_are_set() {
    let place = Place::new();
    done(&place, "policy new team -q");
    let mut all = String::new();
    for option in ["compress_form = 0.5", "compress_from = 5", "compress_from = \"half\""] {
        place.write("epitome.toml", format!("[profile.team.options.team]\n{option}\n"));
        all += &format!("{option}\n{}\n\n", said(&place, &["policy check team"]));
    }
    check("options_of_policies", all.trim_end());
}

#[test]
fn tests_that_fail_are_named() {
    let place = talk();
    done(&place, "policy new team -q");
    // The test asks for half of the bound, and the replay notices that it is none.
    edit(
        &place,
        "  return bounds\n",
        "  bounds.sotf, bounds.soft = bounds.soft, nil\n  return bounds\n",
    );
    check("a_policy_that_errs", &said(&place, &["policy test team --recording talk.json"]));
    edit(&place, "bounds.sotf, bounds.soft = bounds.soft, nil", "bounds.soft = bounds.soft + 1");
    check("a_policy_that_is_off_by_one", &said(&place, &["policy test team -q"]));
    let plan = "function policy.plan(job)\n  return { ops = { { op = \"drop\", entries = { 9999 } } } }\nend\n";
    edit(&place, "return policy\n", &format!("{plan}\nreturn policy\n"));
    let ran = place.run(["policy", "test", "team", "--json"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    let errors = ran.json()[0]["replays"][0]["errors"].to_string();
    assert!(errors.contains("9999"), "{errors}");
}

#[test]
fn a_recording_is_played_in_the_window_that_is_stated() {
    let place = Place::new();
    place.write("session.jsonl", recording());
    done(&place, "policy new team --from ollm -q");
    let line = "policy test team --recording session.jsonl --context-size 8192 --json";
    let tested = done(&place, line).json();
    let replay = &tested[0]["replays"][0];
    assert_eq!((&replay["limit"], &replay["oversized"]), (&json!(6963), &json!(0)));
    assert!(replay["compressions"].as_u64() >= Some(10), "{replay}");
}

#[test]
fn a_trace_shows_who_was_asked_and_who_decided() {
    let place = talk();
    done(&place, "policy new team -q");
    place.write(
        TEAM,
        "--- @api 2\nreturn {\n  extends = \"base\",\n  budgets = function(job)\n    local bounds = \
         ep.next(job)\n    bounds.warn = 900\n    return bounds\n  end,\n  trigger = function(job)\n    \
         return { levle = \"hard\" }\n  end,\n}\n",
    );
    brought(
        &place,
        "base",
        "--- @api 2\nreturn {\n  budgets = function(job) return { soft = 1000, hard = 2000, warn = \
         800 } end,\n  trigger = function(job) return job.tokens.total > 1500 and { level = \"hard\" } \
         end,\n  plan = function(job) return { ops = { { op = \"drop\", entries = { 1 } } } } end,\n  \
         status = function(job) return { text = \"fine\" } end,\n}\n",
    );
    done(&place, "trust -q");
    let line = "policy trace talk.json --profile team --prompt-limit 2000";
    let hooks =
        ["--hook budgets --turns 1", "--hook trigger --turns 2", "--hook observe --turns 1"];
    let hooks: String = hooks
        .iter()
        .map(|more| done(&place, &format!("{line} {more}")).text().to_owned())
        .collect();
    check("a_trace_of_one_hook", &hooks);

    let lines = done(&place, &format!("{line} --json"));
    let lines: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |hook: &str| lines.iter().find(|line| line["hook"] == hook).unwrap();
    let asked = |hook: &str| of(hook)["asked"].as_array().unwrap().len();
    assert_eq!((asked("budgets"), &of("budgets")["winner"]), (2, &json!("team")));
    assert_eq!((asked("trigger"), &of("trigger")["winner"]), (2, &json!("base")));
    assert_eq!(of("status")["asked"][1]["answer"], json!({ "text": "fine" }));
    // Why a plan was refused stands beside it.
    let refused = lines.iter().find(|line| line["event"] == "compression-error").unwrap();
    assert_eq!(refused["stage"], "preparation", "{refused}");
    let failed = lines.iter().find(|line| line["event"] == "policy-error").unwrap();
    assert!(failed["cause"].as_str().unwrap().contains("`level`"), "{failed}");
    let first = lines.iter().filter(|line| line["turn"] == 1).count();
    let turn = done(&place, &format!("{line} --json --turns 1"));
    assert_eq!(turn.text().lines().count(), first);
    let words = done(&place, &format!("{line} --turns 2-8"));
    assert!(words.text().starts_with("turn 2\n"), "{}", words.text());
    assert!(words.text().lines().any(|line| line.starts_with("  compression-error ")));
}

#[test]
fn what_was_not_trusted_never_runs() {
    let place = talk();
    // It would never end.
    brought(&place, "evil", "--- @api 2\nwhile true do end\n");
    brought(&place, "team", "--- @api 2\nreturn {\n  extends = \"evil\",\n}\n");
    let lines = [
        "policy list",
        "policy check",
        "policy test team",
        "policy bench team",
        "policy trace talk.json --profile team",
        "replay talk.json --profile team -q",
        "ab talk.json --profiles team -q",
        "policy check .epitome/policies/team",
    ];
    check("what_is_not_trusted", &said(&place, &lines));
    let shown = place.run(["config", "show", "--profile", "team"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.err.contains("the policy `team` came with the project"), "{}", shown.err);

    // Trusting one runs that one, and what it extends stays out.
    brought(&place, "evil", "--- @api 2\nreturn { doc = \"Fine.\" }\n");
    done(&place, "trust .epitome/policies/team -q");
    let ran = place.run(["policy", "check", "team"]);
    assert_eq!(ran.code, 6, "{}", ran.text());
    assert!(ran.text().contains("policies/evil/policy.lua: "), "{}", ran.text());
    done(&place, "trust");
    done(&place, "policy check");
    done(&place, "replay talk.json --profile team --context-size 8000 -q");

    // An edit asks again, once for those that are not the author.
    brought(&place, "evil", "--- @api 2\nreturn {}\n");
    let again = said(&place, &["policy check evil", "trust --list"]);
    check("an_edit_asks_again", &again);
    done(&place, "trust --author .epitome/policies -q");
    brought(&place, "evil", "--- @api 2\nreturn { doc = \"New.\" }\n");
    done(&place, "policy check");
    let listed = done(&place, "trust --list --json").json();
    let states: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["own", "trusted"]);
}

#[test]
fn a_folder_that_is_named_is_that_policy() {
    let place = talk();
    done(&place, "policy new team -q");
    std::fs::create_dir_all(place.path("elsewhere/team")).unwrap();
    place.write("elsewhere/team/policy.lua", "--- @api 2\nreturn {\n");
    let check = |path: &str| {
        let ran = place.run(["policy", "check", path]);
        (ran.code, shown(&place, ran.text()))
    };
    assert_eq!(check(".epitome/policies/team").0, 0);
    let (code, text) = check("elsewhere/team");
    assert_eq!(code, 6);
    assert!(text.contains("elsewhere/team/policy.lua: ") && text.contains("not trusted"), "{text}");
    done(&place, "trust elsewhere/team -q");
    let (code, text) = check("elsewhere/team");
    assert_eq!(code, 6);
    assert!(text.contains("elsewhere/team/policy.lua:3: "), "{text}");
}

#[test]
fn policies_are_listed_with_where_they_are_from() {
    let place = Place::new();
    done(&place, "policy new team --from ollm -q");
    brought(&place, "other", "--- @api 2\nreturn {}\n");
    let own = ".config/epitome/policies/mine";
    std::fs::create_dir_all(place.path(own)).unwrap();
    place.write(&format!("{own}/policy.lua"), "--- @api 2\nreturn { doc = \"Mine.\" }\n");
    check("policies_that_there_are", &shown(&place, done(&place, "policy list").text()));
    let listed = done(&place, "policy list --json").json();
    let find = |name: &str| {
        listed.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap()
    };
    let team = find("team");
    assert_eq!(team["hides"], json!([]));
    assert_eq!((&team["extends"], &team["trusted"]), (&json!("ollm"), &json!(true)));
    assert_eq!(team["hooks"], json!(["budgets"]));
    let hiding = place.run(["policy", "new", "mine"]);
    let note = "epitome: note: .config/epitome/policies/mine is hidden by the new policy in this project\n";
    assert_eq!((hiding.code, &*shown(&place, &hiding.err)), (0, note));
    let listed = done(&place, "policy list --json").json();
    let mine = listed.as_array().unwrap().iter().find(|one| one["name"] == "mine").unwrap();
    assert_eq!(mine["hides"], json!([own]));
    assert!(done(&place, "policy list").text().contains(&format!("(hides {own})")));
}

#[test]
fn the_doctor_names_policies_that_do_not_run() {
    let place = Place::new();
    done(&place, "policy new team -q");
    brought(&place, "other", "--- @api 2\nreturn {}\n");
    let about = || {
        let ran = place.run(["doctor", "--json"]);
        let all = ran.json();
        let all = all.as_array().unwrap().iter().filter(|one| one["about"] == "policies");
        let pick = |one: &Value| {
            let said = ["verdict", "found", "remedy"].map(|key| one[key].as_str().unwrap_or(""));
            shown(&place, &said.join(" | "))
        };
        all.map(pick).collect::<Vec<_>>()
    };
    let found = about();
    assert_eq!(found[0], "ok | `team` (project) beside the shipped ones | ");
    assert!(
        found[1].starts_with("warn | [home]/.epitome/policies/other/policy.lua: "),
        "{found:?}"
    );
    assert!(found[1].contains("`epitome trust [home]/.epitome/policies`"), "{found:?}");
    place.write(TEAM, "--- @api 2\nreturn {\n");
    assert!(about().iter().any(|line| line.starts_with("fail | ")), "{:?}", about());
}

#[test]
fn what_hooks_take_is_measured() {
    let place = Place::new();
    let costs = done(&place, "policy bench ollm --json").json();
    let costs = costs.as_array().unwrap();
    let hooks: Vec<_> = costs.iter().map(|one| one["hook"].as_str().unwrap()).collect();
    assert_eq!(hooks, ["budgets", "goals", "trigger", "plan", "age", "summary_prompt", "status"]);
    assert!(costs.iter().all(|one| one["error"].is_null()), "{costs:?}");
    assert_eq!(done(&place, "policy bench ollm").text().lines().count(), 8);
}

#[test]
fn policies_are_told_of_the_mode() {
    let place = talk();
    done(&place, "policy new team --from default");
    let text = "--- @api 2\nreturn { extends = \"default\", status = function(job)\n\
                return { text = \"mode \" .. (job.mode or \"none\") } end }";
    place.write(TEAM, text);
    let mode = |line: &str| {
        let ran = done(&place, &format!("replay --json -q --profile team {line} talk.json"));
        let turn: Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
        turn["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(mode(""), "mode none");
    place.write("epitome.toml", "[profile.team]\nmode = \"planning\"");
    assert_eq!(mode(""), "mode planning");
    assert_eq!(mode("--mode debugger"), "mode debugger");
}

/// A trace asks the models that a replay would, in the mode that is named, and plays what was recorded.
#[test]
fn a_trace_goes_by_mode_and_models_as_a_replay_does() {
    let place = talk();
    let turn = Turn { text: "yes".to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 200, plain: true, ..Script::default() };
    let upstream = Upstream::start(script).unwrap();
    let asks = "--- @api 2
return {
  extends = 'default',
  observe = function(job)
    if job.entry.speaker ~= 'human' then return nil end
    local said = job.replies.done
    if not said then return { ask = { id = 'done', user = 'Is it done?' } } end
    return { warn = said .. ' in mode ' .. (job.mode or 'none') }
  end,
}
";
    done(&place, "policy new team -q");
    place.write(TEAM, asks);
    let line = format!(
        "policy trace talk.json --profile team --prompt-limit 2000 --mode debugger --hook observe \
         --turns 1-3 --summarizer openai:m@{}/v1",
        upstream.url()
    );
    let live = done(&place, &format!("{line} --record tape.jsonl"));
    assert!(live.text().contains("yes in mode debugger"), "{}", live.text());
    assert!(!upstream.prompts().is_empty());
    drop(upstream);
    let played = done(&place, &format!("{line} --cassette tape.jsonl"));
    assert_eq!(played.text(), live.text());
    assert_eq!(place.run(["policy", "trace", "talk.json", "--cassette", "tape.jsonl"]).code, 2);
}
