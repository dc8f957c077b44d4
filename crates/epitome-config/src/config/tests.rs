//! The configuration from outside: what is layered over what, and what is said of mistakes.

mod old_names;

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;
use crate::limits::WindowSetting;

/// Sources with the user's file, the project's and one variable a line.
fn sources(user: &str, project: &str, variables: &[(&str, &str)]) -> ConfigSources {
    let files = [("user.toml", user), ("epitome.toml", project)];
    let files = files.into_iter().filter(|(_, text)| !text.is_empty());
    let sources = files.fold(ConfigSources::default(), |sources, (name, text)| {
        sources.text(Path::new(name), text)
    });
    variables.iter().fold(sources, |sources, (name, value)| sources.variable(name, value))
}

fn load(user: &str, project: &str, variables: &[(&str, &str)]) -> Config {
    Config::load(sources(user, project, variables)).unwrap()
}

/// The value of a key and its source.
#[track_caller]
fn check(config: &Config, profile: &str, key: &str, value: &str, source: &str) {
    let values = config.values(profile).unwrap();
    let found = values.iter().find(|found| found.key == key);
    let found = found.map(|found| (found.value.to_string(), found.source.clone()));
    assert_eq!(found, Some((value.to_owned(), source.to_owned())), "{key}");
}

/// What is said of a file that cannot be used.
#[track_caller]
fn refused(project: &str, expected: &str) {
    let config = Config::load(sources("", project, &[]));
    let error = config.and_then(|config| config.profile("team").map(drop)).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

/// What is said of a variable that cannot be used.
#[track_caller]
fn refused_variable(name: &str, value: &str, expected: &str) {
    let config = Config::load(sources("", "[profile.My-Team]\n", &[(name, value)]));
    assert_eq!(config.unwrap_err().to_string(), expected);
}

const SOFT: &str = "options.default.trigger.soft";

#[test]
fn later_layers_win_and_say_where() {
    let user = "[profile.team.options.default.trigger]\nsoft = 0.6\ntarget = 0.3\nwarn = 0.2";
    let project = "[profile.team.options.default]\ntrigger.soft = 0.7\ntrigger.target = 0.4";
    let variables = [("EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT", "0.9")];
    let config = load(user, project, &variables);
    check(&config, "team", SOFT, "0.9", variables[0].0);
    check(&config, "team", "options.default.trigger.target", "0.4", "epitome.toml:3");
    check(&config, "team", "options.default.trigger.warn", "0.2", "user.toml:4");
    check(&config, "team", "options.default.cache.ttl", "300", "built-in");
    check(&config, "default", SOFT, "0.8", "built-in");
    let options = config.profile("team").unwrap().options;
    assert_eq!((options.trigger.soft, options.trigger.target), (0.9, 0.4));
}

#[test]
fn flags_win_over_everything_for_whichever_profile_is_asked_for() {
    let sources = sources("", "[profile.team]\ncontext_size = 9000", &[("EPITOME_STORE", "a.db")]);
    let sources =
        sources.flag("--store", "store", "b.db").flag("--profile", "default_profile", "team");
    let sources = sources.flag_of_profile("--prompt-limit", "prompt_limit", 5000);
    let config = Config::load(sources).unwrap();
    check(&config, "team", "store", "\"b.db\"", "--store");
    check(&config, "team", "default_profile", "\"team\"", "--profile");
    check(&config, "team", "prompt_limit", "5000", "--prompt-limit");
    assert_eq!(config.store(), Some(Path::new("b.db")));
    assert_eq!(config.profile_in_use().unwrap().window(), WindowSetting::Limit(5000));
    assert_eq!(config.profile("default").unwrap().window(), WindowSetting::Limit(5000));
    assert!(config.values("team").unwrap().iter().all(|value| value.key != "context_size"));
}

#[test]
fn a_profile_says_what_it_does_differently() {
    let text = "[profile.base]\nmodel = \"gpt-5\"\noptions.default.trigger.soft = 0.6\n\
                [profile.team]\ninherits = \"base\"\noptions.default.trigger.target = 0.2\n\
                [profile.default.options.default.cache]\nwrite = 2";
    let config = load("", text, &[]);
    assert_eq!(config.inherited("team").unwrap(), ["base", "default"]);
    assert_eq!(config.profiles()[..3], ["default", "base", "team"]);
    check(&config, "team", SOFT, "0.6", "epitome.toml:3");
    check(&config, "team", "model", "\"gpt-5\"", "epitome.toml:2");
    check(&config, "team", "options.default.trigger.target", "0.2", "epitome.toml:6");
    check(&config, "team", "options.default.cache.write", "2", "epitome.toml:8");
    let [default, team] = ["default", "team"].map(|name| config.profile(name).unwrap());
    assert_eq!((team.name(), team.model()), ("team", Some("gpt-5")));
    assert_eq!(default.model(), None);
    assert_ne!(default.config(), team.config());
    assert_ne!(default.config(), Profile::default().config());
}

/// The nearer profile wins over the layer, and of one profile the later layer.
#[test]
fn a_window_is_stated_once() {
    let check = |user: &str, project: &str, window| {
        let profile = load(user, project, &[]).profile("team").unwrap();
        assert_eq!(profile.window(), window, "{user} {project}");
    };
    check("", "[profile.team]", WindowSetting::Guessed);
    check(
        "[profile.team]\ncontext_size = 1",
        "[profile.team]\nprompt_limit = 2",
        WindowSetting::Limit(2),
    );
    check(
        "[profile.team]\nprompt_limit = 1",
        "[profile.team]\ncontext_size = 2",
        WindowSetting::Size(2),
    );
    check(
        "[profile.team]\nprompt_limit = 1",
        "[profile.default]\ncontext_size = 2",
        WindowSetting::Limit(1),
    );
}

#[test]
fn paths_start_from_the_file_that_names_them() {
    let check = |text: &str, path: &str| {
        let mut sources = ConfigSources::default().text(Path::new("/team/epitome.toml"), text);
        sources.home = Some("/srv/ada".into());
        let config = Config::load(sources).unwrap();
        assert_eq!(config.store().or(config.prices()), Some(Path::new(path)), "{text}");
    };
    check("store = \"a.db\"", "/team/a.db");
    check("store = \"/b/a.db\"", "/b/a.db");
    check("store = \"~/a.db\"", "/srv/ada/a.db");
    check("prices = \"b/p.toml\"", "/team/b/p.toml");
    let config = load("", "", &[("EPITOME_STORE", "a.db"), ("EPITOME_DURABILITY", "full")]);
    assert_eq!((config.store(), config.durability()), (Some(Path::new("a.db")), Durability::Full));
}

/// The later layer wins, and in one layer the profile.
#[test]
fn a_profile_may_have_a_store_of_its_own() {
    let check = |user: &str, project: &str, variables: &[(&str, &str)], store: &str| {
        let chosen = format!("default_profile = \"team\"\n{user}");
        let config = load(&chosen, project, variables);
        assert_eq!(config.store(), Some(Path::new(store)), "{user} {project}");
        assert_eq!(config.profile("team").unwrap().store(), config.store());
        let values = config.values("team").unwrap();
        let shown = values.iter().filter(|value| value.key == "store");
        assert_eq!(shown.map(|value| value.value.clone()).collect::<Vec<_>>(), [store]);
    };
    let own = "profile.team.store = \"own.db\"";
    check("", &format!("store = \"all.db\"\n{own}"), &[], "own.db");
    check("profile.team.context_size = 1", "store = \"all.db\"", &[], "all.db");
    check(own, "store = \"all.db\"", &[], "all.db");
    check("", own, &[("EPITOME_STORE", "a.db")], "a.db");
    check("", "profile.base.store = \"b.db\"\nprofile.team.inherits = \"base\"", &[], "b.db");
}

#[test]
fn variables_name_profiles_as_well_as_they_can() {
    let text = "[profile.My-Team]\ncontext_size = 1\n";
    let name = "EPITOME_PROFILE__MY_TEAM__CONTEXT_SIZE";
    let config = load("", text, &[(name, "7")]);
    check(&config, "My-Team", "context_size", "7", name);
    let lists = [("EPITOME_PROFILE__NEW__OPTIONS__DEFAULT__COMPRESS__LADDER", "[\"chunks\"]")];
    let config = load("", "", &lists);
    let name = "EPITOME_PROFILE__OLLM__OPTIONS__OLLM__PRESERVE_RECENT";
    check(&load("", "", &[(name, "5")]), "ollm", "options.ollm.preserve_recent", "5", name);
    check(&config, "new", "options.default.compress.ladder", "[\"chunks\"]", lists[0].0);
}

#[test]
fn variables_of_others_are_left_alone_and_told() {
    let config = load("", "", &[("EPITOME_SHARED", "/data"), ("EPITOME_STORE", "12")]);
    assert_eq!(config.unused(), ["EPITOME_SHARED"]);
    assert_eq!(config.store(), Some(Path::new("12")), "what looks like a number is text here");
}

#[test]
fn what_is_built_in_needs_no_files() {
    let config = load("", "", &[]);
    assert_eq!((config.store(), config.chosen_name()), (None, "default"));
    assert_eq!(config.profile_in_use().unwrap(), Profile::default());
    check(&config, "default", "durability", "\"normal\"", "built-in");
    let home = |name: &str, value: &str| (name.into(), value.into());
    let sources =
        ConfigSources::from_env([home("HOME", "/none"), home("XDG_CONFIG_HOME", "relative")]);
    let config = Config::load(sources.unwrap()).unwrap();
    assert_eq!(config.store(), Some(Path::new("/none/.local/share/epitome/epitome.db")));
    assert!(config.is_usual_store());
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    refused("\nstroe = \"a.db\"", "epitome.toml:2: unknown key `stroe`; did you mean `store`?");
    refused(
        "[profile.team.options.default.trigger]\nsift = 0.7",
        "epitome.toml:2: unknown key `profile.team.options.default.trigger.sift`; did you mean `soft`?",
    );
    refused(
        "[profile.team]\nflavour = []",
        "epitome.toml:2: unknown key `profile.team.flavour`; there is `inherits`, \
         `policies`, `digests`, `digests_by_tool`, `keep`, `never`, `tools`, `markers`, `prompts`, `budgets`, `ageing`, `summarizers`, `mode`, `model`, `counter`, `store`, `window`, \
         `context_size`, `prompt_limit`, `options`; options of a policy stand in \
         `profile.team.options.POLICY`",
    );
    refused(
        "store = \"a\"\nstore.path = 1",
        "epitome.toml:2: cannot extend value of type string with a dotted key, in `store.path = 1`; \
         expected TOML, with texts in quotes",
    );
}

#[test]
fn wrong_values_are_named_with_what_was_expected() {
    let option = |line: &str| format!("[profile.team.options.default]\n{line}");
    let check = |line: &str, expected: &str| {
        refused(
            &option(line),
            &format!("epitome.toml:2: `profile.team.options.default.{expected}"),
        );
    };
    check("trigger.soft = 1.5", "trigger.soft` is 1.5; expected a number from 0 to 1");
    check("trigger.soft = \"0.5\"", "trigger.soft` is \"0.5\"; expected a number from 0 to 1");
    check("trigger.soft = nan", "trigger.soft` is null; expected a number from 0 to 1");
    check("cache.write = inf", "cache.write` is null; expected a number from 0 on");
    check("limit.openai = 0", "limit.openai` is 0; expected a whole number from 1 on");
    check("limit.openai = 1.0", "limit.openai` is 1.0; expected a whole number from 1 on");
    check("snapshots.auto = 1", "snapshots.auto` is 1; expected true or false");
    check("trigger = 1", "trigger` is 1; expected a table of `warn`, `prefetch`, `soft`, `target`");
    check("redact.patterns = [1]", "redact.patterns` is [1]; expected a list, each a text");
    check(
        "compress.style = \"terse\"",
        "compress.style` is \"terse\"; expected one of \"verbatim\", \"brief\"",
    );
    refused(
        "profile.team = 1",
        "epitome.toml:1: `profile.team` is 1; expected a table of `inherits`, `policies`, \
         `digests`, `digests_by_tool`, `keep`, `never`, `tools`, `markers`, `prompts`, `budgets`, `ageing`, `summarizers`, `mode`, `model`, `counter`, `store`, `window`, \
         `context_size`, `prompt_limit`, `options`",
    );
    refused("profile = 1", "epitome.toml:1: `profile` is 1; expected a table for each name");
    refused(
        "[profile.team]\ncontext_size = 1\nprompt_limit = 2",
        "epitome.toml:3: `profile.team` states both `context_size` and `prompt_limit`; expected one of them",
    );
    refused(
        "[profile.team]\ncontext_size = 99999999999999999999",
        "epitome.toml:2: 99999999999999999999 is out of range; expected a number of 64 bits",
    );
    refused(
        "[profile.team\ncontext_size = 1",
        "epitome.toml:1: unclosed table, expected `]`, in `[profile.team`; expected TOML, with texts \
         in quotes",
    );
}

#[test]
fn every_mistake_of_a_file_is_found_at_once() {
    let error = Config::load(sources("", "stroe = 1\ndurability = 2", &[])).unwrap_err();
    let ConfigError::Invalid(problems) = &error else { panic!("{error}") };
    assert_eq!(problems.len(), 2);
    assert!(error.to_string().ends_with("(and 1 more)"), "{error}");
}

#[test]
fn values_that_contradict_each_other_are_named_with_their_places() {
    refused(
        "[profile.team.options.default]\ntrigger.soft = 0.4",
        "epitome.toml:2: profile `team`: `trigger.soft` is 0.4 and `trigger.target` is 0.5 \
         (built-in); a prompt would be compressed to more than it takes; raise `soft` or lower \
         `target`",
    );
    refused(
        "[profile.team.options.default]\nredact.patterns = [\"a\", \"(\"]",
        "epitome.toml:2: profile `team`: the pattern `(` cannot be read: error: unclosed group",
    );
}

#[test]
fn what_a_profile_inherits_from_must_be_there_and_lead_to_an_end() {
    refused(
        "[profile.team]\ninherits = \"base\"\n[profile.bass]",
        "epitome.toml:2: `team` inherits from `base`, which is not there; did you mean `bass`?",
    );
    refused(
        "[profile.a]\ninherits = \"b\"\n[profile.b]\ninherits = \"a\"\n\
         [profile.team]\ninherits = \"a\"",
        "epitome.toml:4: profiles inherit in a circle: team → a → b → a",
    );
    refused(
        "[profile.team]\n[profile.default]\ninherits = \"team\"",
        "epitome.toml:3: profiles inherit in a circle: team → default → team",
    );
}

#[test]
fn a_profile_that_is_chosen_must_be_there() {
    let check = |sources: ConfigSources, expected: &str| {
        let error = Config::load(sources).unwrap().profile_in_use().unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let file = "default_profile = \"taem\"\n[profile.team]";
    let unknown = "unknown profile `taem`; did you mean `team`?";
    check(sources("", file, &[]), &format!("epitome.toml:1: {unknown}"));
    check(sources("", file, &[]).flag("--profile", "default_profile", "taem"), unknown);
    let variable = [("EPITOME_DEFAULT_PROFILE", "other")];
    check(
        sources("", "[profile.team]", &variable),
        "EPITOME_DEFAULT_PROFILE: unknown profile `other`; there is `default`, `team`, \
         `early`, `none`, `ollm`, `staged`, `tiered`, `truncate`, `watermark`",
    );
}

#[test]
fn mistakes_in_variables_name_the_variable() {
    refused_variable(
        "EPITOME_STOR",
        "a",
        "EPITOME_STOR: unknown key `stor`; did you mean `store`?",
    );
    refused_variable(
        "EPITOME_PROFILE__MY_TEAM__OPTIONS__DEFAULT__TRIGGER__SFT",
        "1",
        "EPITOME_PROFILE__MY_TEAM__OPTIONS__DEFAULT__TRIGGER__SFT: unknown key \
         `profile.My-Team.options.default.trigger.sft`; did you mean `soft`?",
    );
    refused_variable(
        "EPITOME_PROFILE__MY_TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT",
        "much",
        "EPITOME_PROFILE__MY_TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT: `profile.My-Team.options.default.trigger.soft` \
         is \"much\"; expected a number from 0 to 1",
    );
    refused_variable(
        "EPITOME_PROFILE",
        "team",
        "EPITOME_PROFILE: `profile` is a table; a variable sets one value in it, as \
         EPITOME_PROFILE__NAME__OPTIONS__DEFAULT__TRIGGER__SOFT does, and EPITOME_DEFAULT_PROFILE chooses \
         a profile",
    );
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let error = ConfigSources::default().file(Path::new("/none/epitome.toml")).unwrap_err();
    let expected = "/none/epitome.toml: no such file; `--config` names an epitome.toml";
    assert_eq!(error.to_string(), expected);
    let folder = ConfigSources::default().file(Path::new("/")).unwrap_err();
    assert_eq!(folder.to_string(), "/: is a folder; expected an epitome.toml");
}

/// What the schema promises is what is taken: the shipped options pass the check, and the check
/// knows every word that the schema uses.
#[test]
fn the_schema_is_what_is_checked() {
    for (name, options) in SHIPPED {
        let options = options.replace("\n[", &format!("\n[profile.{name}.options.default."));
        let text = format!("[profile.{name}]\n{options}");
        let config = Config::load(sources("", &text, &[])).unwrap();
        assert_eq!(config.profile(name).unwrap(), Profile::shipped(name).unwrap());
    }
    const WORDS: [&str; 12] = [
        "$schema",
        "$ref",
        "$defs",
        "title",
        "description",
        "type",
        "format",
        "properties",
        "additionalProperties",
        "items",
        "enum",
        "minimum",
    ];
    fn words(node: &Json, is_schema: bool, found: &mut Vec<String>) {
        match node {
            Json::Object(keys) => keys.iter().for_each(|(key, value)| {
                if is_schema {
                    found.push(key.clone());
                }
                words(value, !is_schema || !["properties", "$defs"].contains(&&**key), found);
            }),
            Json::Array(items) => items.iter().for_each(|item| words(item, true, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    words(&Config::schema(), true, &mut found);
    found.retain(|word| !WORDS.contains(&word.as_str()) && word != "maximum");
    assert_eq!(found, [""; 0]);
}

/// The README of the profile explains each option, and each option that it explains is there.
#[test]
fn every_option_is_documented_and_every_documented_one_is_there() {
    let readme = include_str!("../../../../policies/default/README.md");
    let explained: Vec<_> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| cell.split(", "))
        .filter_map(|key| key.strip_prefix('`')?.strip_suffix('`'))
        .collect();
    assert!(explained.len() > 20, "{explained:?}");
    let declared = declared::schema().leaves(&["profile", "default", "options", "default"]);
    let is_below = |key: &str, table: &str| key == table || key.starts_with(&format!("{table}."));
    let alone = |key: &&String| !explained.iter().any(|explained| is_below(key, explained));
    assert_eq!(declared.iter().filter(alone).collect::<Vec<_>>(), [""; 0]);
    let gone = |name: &&&str| !declared.iter().any(|key| is_below(key, name));
    assert_eq!(explained.iter().filter(gone).collect::<Vec<_>>(), [&""; 0]);
}

/// Keys of numbers that contradict nothing, whatever they are.
const FREE: [&str; 6] = [
    "cache.ttl",
    "tool_results.offload_above",
    "tool_results.preview",
    "limit.openai",
    "compress.line_chars",
    "snapshots.keep",
];

/// One thing that is said: of which profile, in which layer, which key, which value.
fn said() -> impl Strategy<Value = (usize, usize, usize, u64)> {
    (0..3usize, 0..3usize, 0..FREE.len(), 1..1000u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However things are spread over profiles and layers, what is in force is what one finds by
    /// looking for it: in the profile itself first, in the latest layer first.
    #[test]
    fn layers_merge_as_one_would_by_hand(
        all in proptest::collection::vec(said(), 0..40),
        way in subsequence(vec!["a", "b"], 0..=2).prop_shuffle(),
    ) {
        const PROFILES: [&str; 3] = ["default", "a", "b"];
        let mut said: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
        let mut texts = ["profile.a.context_size = 1\nprofile.b.context_size = 1\n", ""].map(str::to_owned);
        for (child, parent) in way.iter().zip(way.iter().skip(1)) {
            texts[0] += &format!("profile.{child}.inherits = \"{parent}\"\n");
        }
        for (profile, layer, key, value) in all {
            said.insert((profile, layer, key), value);
        }
        let mut sources = ConfigSources::default();
        for ((profile, layer, key), value) in &said {
            let (profile, key) = (PROFILES[*profile], FREE[*key]);
            match layer {
                2 => {
                    let key = key.to_ascii_uppercase().replace('.', "__");
                    let profile = profile.to_ascii_uppercase();
                    let name = format!("EPITOME_PROFILE__{profile}__OPTIONS__DEFAULT__{key}");
                    sources = sources.variable(&name, &value.to_string());
                }
                _ => texts[*layer] += &format!("profile.{profile}.options.default.{key} = {value}\n"),
            }
        }
        for (at, text) in texts.iter().enumerate() {
            sources = sources.text(Path::new(&format!("{at}.toml")), text.as_str());
        }
        let config = Config::load(sources).unwrap();
        let built_in = load("", "", &[]).values("default").unwrap();
        let asked = way.first().copied().unwrap_or("default");
        let values = config.values(asked).unwrap();
        for (at, key) in FREE.iter().enumerate() {
            let place = |name: &&str| PROFILES.iter().position(|known| known == name).unwrap();
            let chain = way.iter().map(place).chain([0]);
            let mut spots = chain.flat_map(|profile| [2, 1, 0].map(|layer| (profile, layer, at)));
            let name = format!("options.default.{key}");
            let of = |values: &[EffectiveValue]| {
                values.iter().find(|value| value.key == name).unwrap().value.as_f64().unwrap()
            };
            let expected = spots.find_map(|spot| said.get(&spot));
            let expected = expected.map_or_else(|| of(&built_in), |value| *value as f64);
            prop_assert_eq!(of(&values), expected, "{} of {}", key, asked);
        }
    }
}
