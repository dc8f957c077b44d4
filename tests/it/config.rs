//! `epitome.toml` and its variables, as every verb goes by them.

use serde_json::Value;

use crate::conversation::bare;
use crate::pages::all_blocks;
use crate::program::{Place, Ran};

/// The user's own file, in every place here.
const USER: &str = "\
store = \"own.db\"

[profile.team]
context_size = 9000
options.default.trigger.soft = 0.6
options.default.trigger.target = 0.3
";

/// The file of the project.
const PROJECT: &str = "\
default_profile = \"team\"

[profile.base]
options.default.compress.style = \"brief\"

[profile.team]
inherits = \"base\"
options.default.trigger.target = 0.4
";

const SOFT: (&str, &str) = ("EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT", "0.7");

/// A project with a folder in it, and a user with a file of their own.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("project/src")).unwrap();
    std::fs::create_dir_all(place.path(".config/epitome")).unwrap();
    place.write(".config/epitome/epitome.toml", USER);
    place.write("project/epitome.toml", PROJECT);
    place.write("project/src/long.json", bare(80).to_string());
    place
}

/// Runs in the folder within the project.
#[track_caller]
fn run(place: &Place, line: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = place.command(line.split_whitespace());
    command.current_dir(place.path("project/src")).envs(variables.iter().copied());
    Ran::of(command, b"")
}

/// What was said, with the place taken out of it.
fn shown(place: &Place, text: &str) -> String {
    text.replace(place.path("").to_str().unwrap(), "[home]/")
}

#[track_caller]
fn check(name: &str, lines: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, lines));
}

#[test]
fn every_value_is_shown_with_its_source() {
    // The width of the table is not to depend on where the place is.
    const SHOW: &str = "config show --prompt-limit 7000 --model gpt-4o --store other.db";
    let place = place();
    let ran = run(&place, SHOW, &[SOFT]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    check("what_is_in_force", &shown(&place, ran.text()));

    let json = run(&place, &format!("{SHOW} --json"), &[SOFT]).json();
    let values = json["values"].as_array().unwrap();
    let rows = ran.text().lines().skip_while(|line| !line.starts_with("key ")).skip(1);
    let keys = rows.map(|line| line.split_whitespace().next().unwrap());
    assert_eq!(
        values.iter().map(|one| one["key"].as_str().unwrap()).collect::<Vec<_>>(),
        keys.collect::<Vec<_>>()
    );
    assert_eq!(json["inherits"], serde_json::json!(["base", "default"]));
    let soft = values.iter().find(|one| one["key"] == "options.default.trigger.soft").unwrap();
    assert_eq!((&soft["value"], &soft["source"]), (&Value::from(0.7), &Value::from(SOFT.0)));
}

/// The table keeps to its width; what has no room in it is shown whole by its key.
#[test]
fn a_long_value_is_clipped_and_shown_whole_by_its_key() {
    let place = place();
    let cells = |line: &str| line.chars().count();
    let widest = |columns: &str| {
        let ran = run(&place, "config show", &[("COLUMNS", columns)]);
        let widest = ran.text().lines().map(cells).max().unwrap();
        assert!(ran.text().contains("options.default.summaries.prompt"), "{}", ran.text());
        widest
    };
    assert!(widest("100") <= 100 && widest("120") <= 120);
    let table = run(&place, "config show options.default.summaries", &[("COLUMNS", "120")]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    check("what_is_in_force_for_summaries", &shown(&place, table.text()));

    let all = run(&place, "config show --json", &[]).json();
    let values = all["values"].as_array().unwrap();
    let of = |key: &str| values.iter().find(|one| one["key"] == key).unwrap();
    let ask = "options.default.summaries.prompt";
    let whole = run(&place, &format!("config show {ask}"), &[]);
    assert_eq!(whole.text().trim_end(), of(ask)["value"].as_str().unwrap().trim_end());
    assert!(whole.text().lines().count() > 1, "it has several lines");
    let soft = run(&place, "config show options.default.trigger.soft", &[SOFT]);
    assert_eq!(soft.text(), "0.7\n");
    let json = run(&place, &format!("config show {ask} --json"), &[]).json();
    assert_eq!(json["values"], serde_json::json!([of(ask)]));

    let wrong = run(&place, "config show options.default.summaries.promt", &[]);
    assert_eq!((wrong.code, wrong.text()), (2, ""));
    assert!(
        wrong.err.contains("did you mean `options.default.summaries.prompt`?"),
        "{}",
        wrong.err
    );
}

#[test]
fn the_files_of_the_manual_are_taken() {
    let mut blocks = all_blocks("toml");
    let place = Place::new();
    // Two are manifests of plugins, which tests of plugins read, one is a model table.
    blocks.retain(|it| !["doc = ", "module = "].iter().any(|key| it.starts_with(key)));
    assert!(blocks.len() > 2, "{blocks:?}");
    let (tables, blocks): (Vec<_>, Vec<_>) =
        blocks.into_iter().partition(|it| it.starts_with("[[model]]"));
    place.write("models.toml", tables.concat());
    place.write("epitome.toml", "models = 'models.toml'\nprofile.default.window = 'our-llama'\n");
    let limits = place.run(["config", "show", "--json", "--context-size", "8192"]).json();
    assert_eq!(limits["limits"][0]["limit"], 6963, "the flag names no model");
    let limits = place.run(["config", "show", "--json"]).json();
    assert_eq!(limits["limits"][0]["limit"], 32_768);
    for block in blocks {
        place.write("epitome.toml", &block);
        // As the user's own, which may name models.
        let json = place.run(["config", "show", "--json", "--config", "epitome.toml"]).json();
        assert_eq!(json["profile"], "team", "{block}");
        let values = json["values"].as_array().unwrap();
        assert!(values.iter().any(|one| one["source"].as_str().unwrap().contains("epitome.toml:")));
    }
}

/// The file that is named takes the place of the project's, and of that one alone.
#[test]
fn a_file_that_is_named_replaces_the_projects() {
    let place = place();
    place.write(
        "project/src/other.toml",
        "default_profile = \"other\"\n[profile.other]\nprompt_limit = 9",
    );
    let json = run(&place, "config show --json --config other.toml", &[]).json();
    assert_eq!(json["profile"], "other");
    let files = shown(&place, &json["files"].to_string());
    assert_eq!(files, "[\"[home]/.config/epitome/epitome.toml\",\"other.toml\"]");
}

#[test]
fn every_verb_goes_by_the_configuration() {
    let place = place();
    let report = |line: &str| {
        let ran = run(&place, &format!("compress long.json --dry-run --json {line}"), &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json()
    };
    let [plain, team] = [report("--profile default"), report("")];
    assert_eq!((&team["profile"], &team["limit"]), (&"team".into(), &7650.into()));
    assert_eq!(report("--prompt-limit 5000")["limit"], 5000);
    assert_ne!(plain["config"], team["config"]);
    assert_eq!(report("--style brief")["config"], team["config"], "it is brief already");
    assert_ne!(report("--style verbatim")["config"], team["config"]);
    assert_eq!(place.files(), [".config", "project"], "a store is not made where none is named");

    // The store is beside the file that names it.
    let ran = run(&place, "session import long.json", &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(place.path(".config/epitome/own.db").is_file());
    let sessions = |line: &str, variables: &[(&str, &str)]| {
        run(&place, &format!("session list --json {line}"), variables).json()
    };
    assert_eq!(sessions("", &[]).as_array().unwrap().len(), 1);
    assert_eq!(run(&place, "status --json", &[]).json()[0]["limit"], 7650);
    assert_eq!(sessions("--profile base", &[]), serde_json::json!([]), "another scope");
    let other = place.path("other.db");
    let other = ("EPITOME_STORE", other.to_str().unwrap());
    let missing = run(&place, "session list", &[other]);
    assert!(missing.err.contains("other.db"), "{}", missing.err);
    assert_eq!(missing.code, 3);
    let found = run(&place, "recall --json invoice", &[]);
    assert_ne!(found.json(), serde_json::json!([]));

    let replay = |line: &str| {
        let ran = run(&place, &format!("replay long.json --json {line}"), &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let last = ran.text().lines().last().unwrap().to_owned();
        serde_json::from_str::<Value>(&last).unwrap()
    };
    assert!(replay("")["max_tokens_sent"].as_u64().unwrap() <= 7650);
    assert!(replay("--context-size 6000")["max_tokens_sent"].as_u64().unwrap() <= 5100);

    let scan = run(&place, "scan --json long.json", &[]);
    let last: Value = serde_json::from_str(scan.text().lines().last().unwrap()).unwrap();
    assert_eq!(last["profile"], "team");
}

#[test]
fn prices_are_read_from_the_file_that_is_configured() {
    let place = place();
    place.write("project/prices.toml", "[default]\ninput = 1000\nread = 1\nwrite = 1\n");
    let money = |variables: &[(&str, &str)]| {
        let ran = run(&place, "scan --json long.json", variables);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let last: Value = serde_json::from_str(ran.text().lines().last().unwrap()).unwrap();
        last["totals"].to_string()
    };
    let usual = money(&[]);
    assert_ne!(money(&[("EPITOME_PRICES", "../prices.toml")]), usual);
    place.write("project/prices.toml", "[default]\nimput = 1\n");
    let ran = run(&place, "scan long.json", &[("EPITOME_PRICES", "../prices.toml")]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("../prices.toml: line 2 of the price table"), "{}", ran.err);
}

/// A configuration, the variable beside it and what the program says to it.
#[test]
fn configurations_that_cannot_be_used() {
    let place = place();
    let mut lines = String::new();
    let mut refuse = |project: &str, variable: Option<(&str, &str)>, line: &str| {
        place.write("project/epitome.toml", project);
        let ran = run(&place, line, variable.as_slice());
        assert_eq!(ran.text(), "");
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let variable = variable.map(|(name, value)| format!("{name}={value} "));
        let shell = format!("$ {}epitome {line}", variable.unwrap_or_default());
        let said = shown(&place, ran.err.trim_end());
        lines += &format!("{project}\n{shell}\n{} {said}\n\n", ran.code);
    };
    const SHOW: &str = "config show";
    refuse("default_profil = \"team\"", None, SHOW);
    refuse("[profile.team]\npolicies = [\"olm\"]", None, "config show --profile team");
    refuse("[profile.team]\nplugins = [\"a\"]", None, SHOW);
    refuse("[profile.team.options.trigger]\nsoft = 0.7", None, SHOW);
    refuse("[profile.ollm.options.ollm]\npreserve_recnt = 1", None, "config show --profile ollm");
    refuse("[profile.team]\ncounter = \"p50k_base\"", None, SHOW);
    refuse("[profile.team.options.default.trigger]\nsofd = 0.7", None, "compress long.json");
    refuse("[profile.team.options.default.trigger]\nsoft = 70", None, "session list");
    refuse("[profile.team.options.default]\nlimit.openai = \"128k\"", None, "recall words");
    refuse(
        "[profile.team.options.default.trigger]\nsoft = 0.2",
        None,
        "replay long.json --profile team",
    );
    refuse("[profile.team]\ncontext_size = 1\nprompt_limit = 1", None, "scan .");
    refuse("[profile.team]\ninherits = \"best\"\n[profile.rest]", None, "status --profile team");
    refuse("profile.a.inherits = \"b\"\nprofile.b.inherits = \"a\"", None, "diff --profile a");
    refuse("default_profile = \"taem\"\n[profile.team]", None, "session list");
    refuse("durability = full", None, SHOW);
    refuse("[profile.team]", None, "compress long.json --profile taem");
    refuse("", Some(("EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT", "1.7")), SHOW);
    refuse("", Some(("EPITOME_PROFILE__TEAM__OPTION__DEFAULT__TRIGGER__SOFT", "0.7")), SHOW);
    refuse("", Some(("EPITOME_DURABILTY", "full")), SHOW);
    refuse("", None, "config show --config missing.toml");
    refuse("", None, "config show --config ..");
    check("configurations_that_cannot_be_used", lines.trim_end());
}

/// A policy that a project brings does not run before it is trusted, and nothing takes its place in
/// silence; verbs that ask no policy go on.
#[test]
fn policies_of_a_project_are_not_run_unasked() {
    let place = place();
    std::fs::create_dir_all(place.path("project/.epitome/policies/team")).unwrap();
    std::fs::create_dir_all(place.path(".config/epitome/policies/mine")).unwrap();
    place.write("project/.epitome/policies/team/policy.lua", "--- @api 2\nreturn {}\n");
    for line in ["compress long.json --ratio 4", "replay long.json", "scan long.json"] {
        let ran = run(&place, line, &[]);
        assert_eq!((ran.code, ran.text()), (3, ""), "{line}");
        let expected = "epitome: error: [home]/project/.epitome/policies/team/policy.lua: the policy \
                        `team` came with the project and is not trusted; read it, then let it run \
                        with `epitome trust [home]/project/.epitome/policies`, or go on with \
                        shipped policies with `--untrusted`\n";
        assert_eq!(shown(&place, &ran.err), expected, "{line}");
    }
    place.write(".config/epitome/policies/mine/policy.lua", "--- @api 2\nreturn {\n");
    let ran = run(&place, "compress long.json --ratio 4 --profile mine", &[]);
    assert_eq!((ran.code, ran.text()), (3, ""));
    assert!(
        shown(&place, &ran.err).contains("epitome/policies/mine/policy.lua:3: "),
        "{}",
        ran.err
    );

    let show = run(&place, "config show", &[]);
    assert_eq!(show.code, 0, "{}", show.err);
    assert!(show.text().contains("\npolicies team (project)\n"), "{}", show.text());
    assert_eq!(run(&place, "compress long.json --ratio 4 --untrusted", &[]).code, 3);
    let ran = run(&place, "compress long.json --ratio 4 --untrusted --profile base", &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// What stands in the schema is what may stand in the file.
#[test]
fn the_schema_is_printed() {
    let place = place();
    let schema = run(&place, "config schema", &[]).json();
    let keys = schema["properties"].as_object().unwrap().keys();
    let keys: Vec<_> = keys.map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "default_profile",
            "store",
            "store_key_file",
            "durability",
            "everywhere",
            "tenant",
            "prices",
            "models",
            "policies",
            "plugins",
            "grants",
            "proxy",
            "experiment",
            "profile"
        ]
    );
    let soft = &schema["$defs"]["TriggerOptions"]["properties"]["soft"];
    assert_eq!((&soft["minimum"], &soft["maximum"]), (&0.0.into(), &1.0.into()));
    assert!(soft["description"].is_string());
}

#[test]
fn doctor_says_what_is_wrong_with_the_configuration_and_goes_on() {
    let place = place();
    let findings = |variables: &[(&str, &str)]| {
        let ran = run(&place, "doctor --json", variables);
        let all: Vec<Value> = serde_json::from_slice(&ran.out).unwrap();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        let all: Vec<[String; 3]> =
            all.iter().map(|one| ["about", "verdict", "found"].map(|key| text(one, key))).collect();
        (ran.code, all)
    };
    let of = |all: &[[String; 3]], about: &str| {
        let found = all.iter().filter(|one| one[0] == about);
        found.map(|one| format!("{} {}", one[1], shown(&place, &one[2]))).collect::<Vec<_>>()
    };
    let (code, all) = findings(&[("EPITOME_FLAVOUR", "mint")]);
    let read = "ok read [home]/.config/epitome/epitome.toml, then [home]/project/epitome.toml";
    assert_eq!((code, of(&all, "config")), (0, vec![read.to_owned()]));
    let unused = "warn EPITOME_FLAVOUR is set and says nothing to this program";
    assert_eq!(of(&all, "variable"), [unused]);
    assert_eq!(of(&all, "window"), ["ok 7,650 tokens of a size of 9,000 stated by the user"]);

    place.write("project/epitome.toml", "stor = \"a\"\nprice = 1\n");
    let (code, all) = findings(&[]);
    assert_eq!(code, 6);
    assert_eq!(
        of(&all, "config"),
        [
            "fail [home]/project/epitome.toml:2: unknown key `price`; did you mean `prices`?",
            "fail [home]/project/epitome.toml:1: unknown key `stor`; did you mean `store`?",
        ]
    );
    assert_eq!(of(&all, "store").len(), 1, "the other checks go on");

    place.write("project/epitome.toml", "[profile.odd.options.default.trigger]\nsoft = 0.1");
    let (code, all) = findings(&[]);
    assert_eq!((code, of(&all, "profile").len()), (6, 2), "{all:?}");
}
