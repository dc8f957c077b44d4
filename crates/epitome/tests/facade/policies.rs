//! Policies from outside: what a profile's chain is, what its policies are told, what may run.

use std::path::Path;
use std::sync::Arc;

use epitome::{
    CompressionTarget, Compressor, Config, ConfigError, ConfigSources, ExtensionOrigin, PolicyRef,
    Profile,
};
use epitome_count::VocabularyCounter;
use epitome_extensions::policies::{FILE, LIBRARY};
use epitome_kernel::{Job, Policy, TokenCounter};
use epitome_types::hook::{BudgetsJob, Common};
use tempfile::TempDir;

/// A policy that only says what it extends.
const TEAM: &str = "--- @api 2\nlocal team = {}\nteam.extends = \"ollm\"\nreturn team\n";
/// A policy with options.
const BASE: &str = "--- @api 2\nreturn {\n  options = {\n    keep = { type = 'integer', default = 4, \
                    min = 0 },\n    style = { type = 'string', default = 'brief' },\n  },\n}\n";

/// A folder of policies: name and text.
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn folder(policies: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in policies {
        let own = folder.path().join(name);
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(FILE), text).unwrap();
    }
    folder
}

fn config(folder: &TempDir, text: &str) -> Result<Config, ConfigError> {
    let sources = ConfigSources::default().policies(folder.path());
    Config::load(sources.text(Path::new("epitome.toml"), text))
}

fn counter() -> Arc<dyn TokenCounter> {
    Arc::new(VocabularyCounter::default())
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.policies().into_iter().map(PolicyRef::name).collect()
}

/// The chain of the profile `team`.
#[track_caller]
fn check(policies: &[(&str, &str)], text: &str, chain: &[&str]) {
    let folder = folder(policies);
    let profile = config(&folder, text).unwrap().profile("team").unwrap();
    assert_eq!(names(&profile), chain, "{text}");
}

/// What is said of the profile `team`, with the folder of its policies taken out.
#[track_caller]
fn refused(policies: &[(&str, &str)], text: &str, expected: &str) {
    let folder = folder(policies);
    let profile = config(&folder, text).and_then(|config| config.profile("team"));
    let error = profile.and_then(|profile| profile.load(&counter()).map(drop)).unwrap_err();
    let said = error.to_string().replace(&folder.path().display().to_string(), "[policies]");
    assert_eq!(said, expected);
}

#[test]
fn a_policy_is_a_profile_and_a_profile_is_a_chain_of_policies() {
    let [team, base] = [("team", TEAM), ("base", BASE)];
    check(&[team], "", &["team", "ollm"]);
    check(&[], "profile.team.inherits = \"ollm\"", &["ollm"]);
    check(&[], "profile.team.inherits = \"own\"\nprofile.own.inherits = \"ollm\"", &["ollm"]);
    check(&[team], "profile.team.context_size = 9000", &["team", "ollm"]);
    check(&[team, base], "profile.team.inherits = \"base\"", &["team", "ollm", "base"]);
    check(&[team], "profile.team.inherits = \"ollm\"", &["team", "ollm"]);
    check(&[], "profile.team.context_size = 9000", &[]);
}

#[test]
fn a_list_of_policies_takes_the_place_of_the_chain() {
    let [team, base] = [("team", TEAM), ("base", BASE)];
    check(&[team, base], "profile.team.policies = [\"base\", \"team\"]", &["base", "team"]);
    check(&[team], "profile.team.policies = []", &[]);
    check(
        &[team],
        "profile.team.inherits = \"own\"\nprofile.own.policies = [\"none\"]",
        &["team", "ollm", "none"],
    );
    check(&[], "profile.team.policies = [\"default\"]", &["default"]);
}

#[test]
fn a_nearer_folder_decides() {
    let (user, configured) = (folder(&[("ollm", BASE)]), folder(&[("ollm", TEAM), ("own", BASE)]));
    let text = format!("policies = '{}'", configured.path().display());
    let origin = |config: &Config, name: &str| {
        config.profile(name).unwrap().policies().first().map(|policy| policy.origin())
    };
    let config = config(&user, &text).unwrap();
    assert_eq!(origin(&config, "ollm"), Some(ExtensionOrigin::User));
    assert_eq!(origin(&config, "own"), Some(ExtensionOrigin::Config));
    assert_eq!(origin(&config, "none"), Some(ExtensionOrigin::Shipped));
    assert!(config.profiles().contains(&"own".to_owned()));
    assert!(!config.profiles().contains(&LIBRARY.to_owned()));
}

#[test]
fn policies_are_found_whether_or_not_a_profile_asks_them() {
    let folder = folder(&[("team", TEAM), ("base", BASE)]);
    let text = "profile.team.policies = [\"base\"]";
    let listed = config(&folder, text).unwrap();
    let all: Vec<_> = listed.policies().iter().map(|one| one.name().to_owned()).collect();
    let shipped = ["default", "early", "none", "ollm", "staged", "tiered", "truncate", "watermark"];
    assert_eq!(all, [&shipped[..], &["base", "team"]].concat());
    assert_eq!(listed.policies()[9].extends().as_deref(), Some("ollm"));
    assert_eq!(names(&listed.profile_of_policy("team").unwrap()), ["team", "ollm"]);
    assert_eq!(names(&listed.profile_of_policy("default").unwrap()), ["default"]);
    let error = listed.profile_of_policy("teem").unwrap_err();
    assert!(error.to_string().ends_with("did you mean `team`?"), "{error}");
}

#[test]
fn a_policy_that_is_given_comes_first_and_alone() {
    let [shelf, other] = [folder(&[("base", BASE)]), folder(&[("base", TEAM), ("team", TEAM)])];
    let sources = ConfigSources::default().policies(shelf.path());
    let config = Config::load(sources.policy(&other.path().join("base"))).unwrap();
    let profile = config.profile_of_policy("base").unwrap();
    let base = &profile.policies()[0];
    assert_eq!((base.origin(), base.extends().as_deref()), (ExtensionOrigin::Given, Some("ollm")));
    assert!(profile.refusal(base).is_some(), "nobody trusts it yet");
    assert!(config.profile_of_policy("team").is_err());
}

#[test]
fn policies_that_are_not_there_are_named_where_they_are_asked_for() {
    let extending = |name: &str| format!("--- @api 2\nreturn {{ extends = \"{name}\" }}\n");
    refused(
        &[],
        "[profile.team]\npolicies = [\"olm\"]",
        "epitome.toml:2: there is no policy `olm`; did you mean `ollm`?",
    );
    refused(
        &[("team", &extending("olm"))],
        "",
        "[policies]/team/policy.lua:2: there is no policy `olm`; did you mean `ollm`?",
    );
    refused(
        &[("team", &extending("base")), ("base", &extending("team"))],
        "",
        "[policies]/base/policy.lua:2: policies extend each other in a circle: team → base → team",
    );
}

/// What a chain is must be known before anything runs.
#[test]
fn what_a_policy_extends_is_written_plainly() {
    refused(
        &[("team", "--- @api 2\nlocal base = \"ollm\"\nreturn { extends = base }\n")],
        "",
        "[policies]/team/policy.lua: `team` extends `ollm`, which cannot be seen before it runs; \
         expected the line `extends = \"NAME\"` with the name itself in it",
    );
}

#[test]
fn options_are_held_against_what_their_policy_declares() {
    let base = ("base", BASE);
    let set = |line: &str| {
        format!("[profile.team]\ninherits = \"base\"\n[profile.team.options.base]\n{line}")
    };
    refused(
        &[base],
        &set("keeep = 5"),
        "epitome.toml:4: unknown key `options.base.keeep`; did you mean `keep`?",
    );
    let ollm = |line: &str| format!("[profile.team]\ninherits = \"ollm\"\n{line}");
    let meant = "did you mean `compression_enabled`?";
    for (line, at, key) in [
        ("[profile.team.options.ollm.compression]\nenabled = false", 3, "compression"),
        ("[profile.team.options.ollm]\nenabled = false", 4, "enabled"),
        ("[profile.team.options.ollm]\n\"compression.enabled\" = false", 4, "compression.enabled"),
    ] {
        let expected = format!("epitome.toml:{at}: unknown key `options.ollm.{key}`; {meant}");
        refused(&[], &ollm(line), &expected);
    }
    refused(
        &[base],
        &set("keep = -1"),
        "epitome.toml:4: `options.base.keep` is -1; expected at least 0",
    );
    refused(
        &[base],
        "[profile.team.options.bass]\nkeep = 1",
        "epitome.toml:1: unknown key `profile.team.options.bass`; did you mean `base`?",
    );
    refused(
        &[base],
        "[profile.team.options.trigger]\nsoft = 0.5",
        "epitome.toml:1: unknown key `profile.team.options.trigger`; did you mean \
         `profile.team.options.default.trigger`?",
    );
    refused(
        &[base],
        "[profile.team.options]\nbase = 1",
        "epitome.toml:2: `profile.team.options.base` is 1; expected a table of options",
    );
}

#[test]
fn the_options_of_policies_are_shown_with_their_defaults() {
    let folder = folder(&[("base", BASE)]);
    let text = "[profile.team]\ninherits = \"base\"\noptions.base.keep = 5";
    let values = config(&folder, text).unwrap().values("team").unwrap();
    let value = |key: &str| {
        let found = values.iter().find(|value| value.key == key).unwrap();
        (found.value.to_string(), found.source.clone())
    };
    let file = folder.path().join("base").join(FILE).display().to_string();
    assert_eq!(value("options.base.keep"), ("5".to_owned(), "epitome.toml:3".to_owned()));
    assert_eq!(value("options.base.style"), ("\"brief\"".to_owned(), file));
    assert_eq!(value("options.default.trigger.soft").1, "built-in");
}

/// A policy that asks for the options of what is built in has those of the profile.
#[test]
fn the_built_in_options_reach_whoever_asks_for_them() {
    let text = "--- @api 2\nlocal options = 'default'\nreturn {\n  options = options,\n  budgets = \
                function(job)\n    return { soft = 1000 * job.options.trigger.soft }\n  end,\n}\n";
    let folder = folder(&[("team", text)]);
    let config = config(&folder, "profile.team.options.default.trigger.soft = 0.7").unwrap();
    let loaded = config.profile("team").unwrap().load(&counter()).unwrap();
    let chain = epitome_kernel::PolicyChain::new(loaded.current(), Default::default());
    let job = BudgetsJob { common: Common::default() };
    let reply = chain.ask().reply(&Job::Budgets(&job)).of_job::<BudgetsJob>();
    let answer = reply.result.unwrap();
    assert_eq!(answer.and_then(|budgets| budgets.soft), Some(700), "{:?}", reply.notes);
}

#[test]
fn shipped_policies_load() {
    let config = Config::load(ConfigSources::default()).unwrap();
    for name in ["default", "early", "none", "ollm", "staged", "tiered", "truncate", "watermark"] {
        let profile = config.profile(name).unwrap();
        let loaded = profile.load(&counter()).unwrap();
        // The profile `default` is what is built in.
        assert_eq!(loaded.current().len(), usize::from(name != "default"), "{name}");
    }
}

/// Nothing runs until it is asked for: what a profile is can be said of a policy that is broken.
#[test]
fn nothing_runs_before_it_is_asked_for() {
    let broken = "--- @api 2\nreturn {\n";
    let folder = folder(&[("team", broken)]);
    let profile = config(&folder, "").unwrap().profile("team").unwrap();
    assert_eq!(names(&profile), ["team"]);
    assert!(profile.config().starts_with("b3:"));
    assert!(profile.permitted().is_ok());
    let error = profile.load(&counter()).unwrap_err().to_string();
    assert!(error.contains("/team/policy.lua:3: Expected"), "{error}");
}

#[test]
fn clones_of_a_profile_load_their_policies_once() {
    let folder = folder(&[("team", TEAM)]);
    let profile = config(&folder, "").unwrap().profile("team").unwrap();
    let first = |profile: &Profile| profile.load(&counter()).unwrap().current()[0].clone();
    let one: Arc<dyn Policy> = first(&profile);
    assert!(Arc::ptr_eq(&one, &first(&profile.clone())));
    let again = config(&folder, "").unwrap().profile("team").unwrap();
    assert!(!Arc::ptr_eq(&one, &first(&again)));
}

#[test]
fn the_hash_of_a_profile_covers_its_policies() {
    let hash = |policies: &[(&str, &str)], text: &str| {
        let folder = folder(policies);
        config(&folder, text).unwrap().profile("team").unwrap().config()
    };
    let (team, base) = (("team", BASE), ("base", BASE));
    let usual = hash(&[team], "");
    assert_eq!(usual, hash(&[team, base], ""), "wherever it stands, whatever stands beside it");
    assert_ne!(usual, hash(&[("team", &BASE.replace("= 4", "= 5"))], ""));
    assert_ne!(usual, hash(&[team], "profile.team.options.team.keep = 5"));
    assert_ne!(usual, hash(&[team, base], "profile.team.inherits = \"base\""));
}

/// A policy that a project brings runs once the user trusts it, and is asked for again when it is
/// not what it was; what came between is never replaced by another policy.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn what_a_project_brings_runs_once_it_is_trusted() {
    let project = tempfile::tempdir().unwrap();
    let team = project.path().join(".epitome/policies/team");
    std::fs::create_dir_all(&team).unwrap();
    std::fs::write(team.join(FILE), BASE).unwrap();
    let config = || {
        let sources = ConfigSources::default().with_project_extensions(project.path());
        Config::load(sources.trust(&project.path().join("data/trusted"))).unwrap()
    };
    let check = |expected: Option<&str>| {
        let profile = config().profile("team").unwrap();
        let error = profile.permitted().err();
        assert_eq!(error.is_none(), profile.load(&counter()).is_ok());
        let said = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(expected.map_or(said.is_empty(), |part| said.contains(part)), "{said}");
    };
    check(Some("policy.lua: the policy `team` came with the project and is not trusted; read it"));
    let shelf: Vec<_> = config().untrusted_folders().collect();
    config().trust().unwrap().trust(&shelf[0]).unwrap();
    check(None);
    std::fs::write(team.join(FILE), BASE.replace("= 4", "= 5")).unwrap();
    check(Some("is new, or not what you trusted any more"));
    config().trust().unwrap().own(&team).unwrap();
    check(None);
    let library = shelf[0].join(LIBRARY);
    std::fs::create_dir_all(&library).unwrap();
    check(Some("is new, or not what you trusted any more"));
    assert!(config().profile("ollm").unwrap().permitted().is_ok());
}

/// What a trusted policy extends may be left out, and that is said.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn what_is_only_extended_may_be_left_out() {
    let team = TEAM.replace("ollm", "base");
    let (own, project) = (folder(&[("team", &team)]), tempfile::tempdir().unwrap());
    let base = project.path().join(".epitome/policies/base");
    std::fs::create_dir_all(&base).unwrap();
    std::fs::write(base.join(FILE), BASE).unwrap();
    let sources =
        ConfigSources::default().policies(own.path()).with_project_extensions(project.path());
    let sources = sources.trust(&project.path().join("data/trusted"));
    let profile = Config::load(sources).unwrap().profile("team").unwrap();
    let loaded = profile.load(&counter()).unwrap();
    assert_eq!(loaded.current().len(), 1);
    assert!(loaded.left_out()[0].to_string().contains("`base` came with the project"));

    let words = "word ".repeat(900);
    let message = format!(
        r#"[{{"role":"assistant","content":"{words}"}},{{"role":"user","content":"On."}}]"#
    );
    let compressor = Compressor::builder().profile(profile).target(CompressionTarget::Ratio(4.0));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let report = runtime.block_on(compressor.build().compress(message.as_bytes())).unwrap().report;
    let told = |line: &String| line.contains("`base` came with the project");
    assert!(report.warnings.iter().any(told), "{:?}", report.warnings);
}

/// A folder that a project's file names came with the project, too.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn a_folder_is_as_foreign_as_the_file_that_names_it() {
    let policies = folder(&[("team", BASE)]);
    let text = format!("policies = '{}'", policies.path().display());
    let file = policies.path().join("epitome.toml");
    std::fs::write(&file, &text).unwrap();
    let foreign = Config::load(ConfigSources::default().file(&file).unwrap()).unwrap();
    assert!(foreign.profile("team").unwrap().permitted().is_err());
    let own = Config::load(ConfigSources::default().text(&file, text)).unwrap();
    assert!(own.profile("team").unwrap().permitted().is_ok());
}

#[test]
fn only_what_is_shipped_runs_where_that_is_asked_for() {
    let folder = folder(&[("team", TEAM), ("ollm", BASE)]);
    let sources = ConfigSources::default().policies(folder.path()).untrusted();
    let config = Config::load(sources).unwrap();
    assert_eq!(config.profile("ollm").unwrap().policies()[0].origin(), ExtensionOrigin::Shipped);
    let error = config.profile("team").unwrap_err().to_string();
    assert!(error.ends_with("may not run: only shipped policies may"), "{error}");
}

/// What a clone brings of a shipped name neither runs unasked nor stops anything: it is passed over,
/// untrusted or broken, and that is said.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn what_is_not_trusted_hides_nothing() {
    let project = tempfile::tempdir().unwrap();
    let brought = |name: &str, text: &str| {
        let folder = project.path().join(".epitome/policies").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE), text).unwrap();
        folder
    };
    let config = || {
        let sources = ConfigSources::default().with_project_extensions(project.path());
        Config::load(sources.trust(&project.path().join("data/trusted"))).unwrap()
    };
    let check = |name: &str, from: Option<ExtensionOrigin>, told: &str| {
        let profile = config().profile(name).unwrap();
        assert!(profile.permitted().is_ok(), "{name}");
        let loaded = profile.load(&counter()).unwrap();
        let told_of: Vec<_> = loaded.passed_over().iter().map(ToString::to_string).collect();
        assert_eq!(told_of.len(), usize::from(!told.is_empty()), "{told_of:?}");
        assert!(told_of.iter().all(|line| line.contains(told)), "{told_of:?}");
        assert_eq!(profile.policies().first().map(|it| it.origin()), from, "{name}");
        loaded.current().len()
    };
    let ollm = brought("ollm", BASE);
    let default = brought("default", "--- @api 2\nreturn { options = \"default\" }\n");
    let says = |name: &str| {
        format!(
            "{name}/policy.lua: the policy `{name}` came with the project and is not trusted: it is \
             passed over, and the shipped one of that name answers; read it, then let it run with \
             `epitome trust "
        )
    };
    check("ollm", Some(ExtensionOrigin::Shipped), &says("ollm"));
    // What is built in needs no policy, and says that there is one.
    assert_eq!(check("default", None, &says("default")), 0);
    check("early", Some(ExtensionOrigin::Shipped), "");
    config().trust().unwrap().trust(&ollm).unwrap();
    config().trust().unwrap().trust(&default).unwrap();
    check("ollm", Some(ExtensionOrigin::Project), "");
    assert_eq!(check("default", Some(ExtensionOrigin::Project), ""), 1);
    // Trusted and broken it stops nothing, either.
    brought("ollm", "--- @api 2\nreturn {\n");
    config().trust().unwrap().trust(&ollm).unwrap();
    check("ollm", Some(ExtensionOrigin::Project), "ollm/policy.lua:3: Expected");
}

/// What the nearest folder says holds, and the user's own comes behind the project's.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn the_nearest_folder_decides() {
    let top = tempfile::tempdir().unwrap();
    let put = |folder: &str| {
        let team = top.path().join(folder).join("team");
        std::fs::create_dir_all(&team).unwrap();
        std::fs::write(team.join(FILE), BASE).unwrap();
    };
    let near = top.path().join("far/near");
    put("far/.epitome/policies");
    put("far/near/ours");
    put("own");
    std::fs::write(near.join("epitome.toml"), "policies = 'ours'\n").unwrap();
    let config = || {
        let sources = ConfigSources::default().policies(&top.path().join("own"));
        let sources = sources.trust(&top.path().join("data/trusted"));
        Config::load(sources.project(&near).unwrap()).unwrap()
    };
    let found = || {
        let config = config();
        let policy = config.policies().into_iter().find(|it| it.name() == "team").unwrap();
        let shown = |policy: &PolicyRef| {
            let folder = policy.folder().unwrap().strip_prefix(top.path()).unwrap();
            folder.display().to_string()
        };
        let hides: Vec<_> = policy.hides().map(|it| shown(&it)).collect();
        [vec![shown(&policy)], hides].concat()
    };
    // None of them is trusted: each is passed over for the next, and the user's own answers.
    assert_eq!(found(), ["own/team"]);
    let trust = config();
    let trust = trust.trust().unwrap();
    trust.trust(&top.path().join("far/.epitome/policies")).unwrap();
    assert_eq!(found(), ["far/.epitome/policies/team", "own/team"]);
    trust.trust(&near.join("ours")).unwrap();
    assert_eq!(found(), ["far/near/ours/team", "far/.epitome/policies/team", "own/team"]);
}
