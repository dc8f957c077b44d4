//! Plugins from outside: which are asked, what is said of mistakes, what may run, and what comes of
//! failures.

mod recorded;

use std::path::Path;
use std::sync::Arc;

use epitome::{
    Compressor, Config, ConfigError, ConfigSources, ExtensionOrigin, MemoryStore, PluginRef,
    Profile, WindowSetting,
};
use epitome_extensions::plugins::{DigestRunner, ExtensionFailures};
use epitome_kernel::{DigestJob, SizeGauge, ToolDigester};
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};
use epitome_testkit::{FixedCounter, now};
use epitome_types::{BudgetUnit, Event, EventKind};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A manifest that can be used.
const TICKETS: &str = "command = [\"python3\", \"plugin.py\"]\nprovides = [\"digest\"]\n\
                       hooks = [\"trigger\"]\n[options.most]\ndefault = 5\n";

/// A folder of plugins: name and manifest.
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn folder(plugins: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in plugins {
        let own = folder.path().join(name);
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("plugin.toml"), text).unwrap();
    }
    folder
}

fn config(folder: &TempDir, text: &str) -> Result<Config, ConfigError> {
    let sources = ConfigSources::default().plugins(folder.path());
    Config::load(sources.text(Path::new("epitome.toml"), text))
}

/// The profile `team`.
fn team(folder: &TempDir, text: &str) -> Result<Profile, ConfigError> {
    config(folder, text)?.profile("team")
}

/// What is said of the profile `team`, with the folder of its plugins taken out.
#[track_caller]
fn refused(manifest: &str, text: &str, expected: &str) {
    let folder = folder(&[("tickets", manifest)]);
    let error = team(&folder, text).unwrap_err().to_string();
    assert_eq!(error.replace(&folder.path().display().to_string(), "[plugins]"), expected);
}

#[test]
fn the_nearest_pattern_says_who_digests() {
    let folder = folder(&[("tickets", TICKETS)]);
    let text = "[profile.team]\ndigests = [\"tickets\", \"json\"]\n[profile.team.digests_by_tool]\n\
                \"*\" = [\"logs\"]\n\"web_*\" = [\"html\"]\n\"web_search\" = []";
    let profile = team(&folder, text).unwrap();
    let check =
        |tool: &str, expected: &[&str]| assert_eq!(profile.digests(tool), expected, "{tool}");
    check("bash", &["logs"]);
    check("web_fetch", &["html"]);
    check("web_search", &[]);
    let named: Vec<_> = profile.plugins().iter().map(PluginRef::name).collect();
    assert_eq!(named, ["tickets", "json", "logs", "html"]);
    let less = team(&folder, &text.replace("\"*\" = [\"logs\"]\n", "")).unwrap();
    assert_eq!(less.digests("bash"), ["tickets", "json"]);
    assert_ne!(less.config(), profile.config());
    // A nearer layer changes one tool, and leaves the others.
    let nearer =
        format!("{text}\n[profile.own]\ninherits = \"team\"\ndigests_by_tool.bash = [\"text\"]");
    let own = config(&folder, &nearer).unwrap().profile("own").unwrap();
    assert_eq!(
        (own.digests("bash"), own.digests("web_fetch")),
        (&["text".to_owned()][..], &["html".to_owned()][..])
    );
}

#[test]
fn the_shipped_ones_digest_where_nobody_says_otherwise() {
    let profile = Profile::default();
    let config = Config::load(ConfigSources::default()).unwrap();
    let names: Vec<_> = config.plugins().into_iter().map(|(name, _)| name).collect();
    assert_eq!(profile.digests("bash"), names);
    assert!(profile.plugins().iter().all(|plugin| plugin.origin() == ExtensionOrigin::Shipped));
    assert!(profile.plugins().iter().all(|plugin| plugin.about().digest));
    assert!(profile.permitted().is_ok());
}

#[test]
fn mistakes_of_a_profile_are_named_with_their_line() {
    let digests = |line: &str| format!("[profile.team]\n{line}");
    refused(
        TICKETS,
        &digests("digests = [\"json\", \"tikets\"]"),
        "epitome.toml:2: there is no plugin `tikets`; did you mean `tickets`?",
    );
    refused(
        TICKETS,
        &digests("[profile.team.digests_by_tool]\n\"a.b*\" = [\"jsn\"]"),
        "epitome.toml:3: there is no plugin `jsn`; did you mean `json`?",
    );
    refused(
        TICKETS,
        &digests("policies = [\"ollm\", \"plugin:json\"]"),
        "epitome.toml:2: the plugin `json` answers no hooks; its `hooks` is empty",
    );
    refused(
        &TICKETS.replace("provides = [\"digest\"]\n", ""),
        &digests("digests = [\"tickets\"]"),
        "epitome.toml:2: the plugin `tickets` digests nothing; its `provides` lacks \"digest\"",
    );
    refused(
        TICKETS,
        &digests("plugins = []"),
        "epitome.toml:2: `profile.team.plugins`: a profile names plugins by what they do; expected \
         those that digest in `digests` and those that answer hooks as `policies = \
         [\"plugin:NAME\"]`",
    );
    let options = |line: &str| {
        digests(&format!("digests = [\"tickets\"]\n[profile.team.options.tickets]\n{line}"))
    };
    refused(
        TICKETS,
        &options("mots = 5"),
        "epitome.toml:4: unknown key `options.tickets.mots`; did you mean `most`?",
    );
    refused(
        TICKETS,
        &options("most = \"5\""),
        "epitome.toml:4: `options.tickets.most` is \"5\"; expected a whole number",
    );
    refused(
        TICKETS,
        "[profile.team.options.tikets]\nmost = 5",
        "epitome.toml:1: unknown key `profile.team.options.tikets`; did you mean `tickets`?",
    );
}

#[test]
fn mistakes_of_a_manifest_are_named_with_their_line() {
    let check = |manifest: &str, expected: &str| {
        let expected = format!("[plugins]/tickets/plugin.toml:{expected}");
        refused(manifest, "profile.team.digests = [\"tickets\"]", &expected);
    };
    let told = |line: &str| format!("provides = [\"digest\"]\n{line}");
    check(&told("comand = [\"x\"]"), "2: unknown key `comand`; did you mean `command`?");
    check(&told("command = \"x\""), "2: `command` is \"x\"; expected a list, each a text");
    check(
        &told("command = [\"x\"]\ndeadline_ms = 0"),
        "3: `deadline_ms` is 0; expected a whole number from 1 to 60000",
    );
    check(
        &told("command = [\"sh\", \"../evil.sh\"]"),
        "2: `command` names `../evil.sh`, which leads out of the plugin's folder; expected a file in \
         it, or a program that is installed",
    );
    check(
        "provides = []",
        "1: names no program; expected `command = [\"python3\", \"plugin.py\"]` (and 1 more)",
    );
    check(
        "command = [\"x\"]\nhooks = [\"tirgger\"]",
        "2: there is no hook `tirgger`; did you mean `trigger`?",
    );
    check(
        "command = [\"x\"]\nprovides = [\"digests\"]",
        "2: `provides` is [\"digests\"]; expected a list, each one of \"digest\"",
    );
    check(
        &told("command = [\"x\"]\n[options.most]\ndoc = \"How many.\""),
        "3: `options.most` has no value; expected `default` with a number, a text, true, false or a \
         list",
    );
}

#[test]
fn options_have_the_values_that_are_set_and_those_that_are_declared() {
    let folder = folder(&[("tickets", TICKETS)]);
    let text = "[profile.team]\ndigests = [\"tickets\"]\n[profile.team.digests_by_tool]\nbash = \
                [\"json\"]\n[profile.team.options.json]\nwhole = 9";
    let config = config(&folder, text).unwrap();
    let values = config.values("team").unwrap();
    let check = |key: &str, value: Value, source: &str| {
        let found = values.iter().find(|found| found.key == key).unwrap();
        let from = found.source.replace(&folder.path().display().to_string(), "[plugins]");
        assert_eq!((&found.value, from.as_str()), (&value, source), "{key}");
    };
    check("digests", json!(["tickets"]), "epitome.toml:2");
    check("digests_by_tool.bash", json!(["json"]), "epitome.toml:4");
    check("options.json.whole", json!(9), "epitome.toml:6");
    check("options.tickets.most", json!(5), "[plugins]/tickets/plugin.toml");
    let set = text.replace("whole = 9", "whole = 10");
    let other =
        Config::load(ConfigSources::default().plugins(folder.path()).text(Path::new("e"), set));
    assert_ne!(
        other.unwrap().profile("team").unwrap().config(),
        config.profile("team").unwrap().config()
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn what_a_project_brings_runs_once_it_is_trusted() {
    let project = tempfile::tempdir().unwrap();
    let own = project.path().join(".epitome/plugins/tickets");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("plugin.toml"), TICKETS).unwrap();
    let config = |untrusted: bool| {
        let sources = ConfigSources::default().with_project_extensions(project.path());
        let sources = if untrusted { sources.untrusted() } else { sources };
        let text = "profile.team.digests = [\"tickets\"]";
        let sources = sources.text(Path::new("epitome.toml"), text);
        Config::load(sources.trust(&project.path().join("data/trusted"))).unwrap()
    };
    let check = |expected: Option<&str>| {
        let profile = config(false).profile("team").unwrap();
        assert_eq!(profile.plugin_runner().running("tickets").is_none(), expected.is_some());
        let said = profile.permitted().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(expected.map_or(said.is_empty(), |part| said.contains(part)), "{said}");
    };
    check(Some("plugin.toml: the plugin `tickets` came with the project and is not trusted"));
    let shelf: Vec<_> = config(false).untrusted_folders().collect();
    config(false).trust().unwrap().trust(&shelf[0]).unwrap();
    check(None);
    std::fs::write(own.join("plugin.py"), "print()").unwrap();
    check(Some("is new, or not what you trusted any more"));
    let error = config(true).profile("team").unwrap_err().to_string();
    assert!(error.ends_with("may not run: only shipped plugins may"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
fn variables_are_the_users_to_grant() {
    let project = tempfile::tempdir().unwrap();
    let file = project.path().join("epitome.toml");
    std::fs::write(&file, "[grants]\ntickets = [\"TOKEN\"]\n").unwrap();
    let found = Config::load(ConfigSources::default().project(project.path()).unwrap());
    let error = found.unwrap_err().to_string();
    assert!(error.contains("epitome.toml:1: `grants` is not read from the file of a project"));
    let named = Config::load(ConfigSources::default().file(&file).unwrap()).unwrap();
    assert_eq!(named.granted("tickets"), ["TOKEN"]);
    assert_eq!(named.granted("other"), [""; 0]);
}

/// Answers as it is told to.
struct Told(&'static str, fn(&DigestInput<'_>) -> Result<Option<&'static str>, PluginFailure>);

impl Plugin for Told {
    fn about(&self) -> PluginInfo {
        PluginInfo::new(self.0, "1").with_digest().with_hook("budgets").with_hook("trigger")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        let text = (self.1)(job)?;
        Ok(text.map(|it| DigestOutput { text: it.into(), kind: self.0.into(), left: Vec::new() }))
    }

    fn hook(&self, hook: &str, job: &Value, _: &Value) -> Result<Option<Value>, PluginFailure> {
        match (self.0, hook) {
            ("firm", "budgets") => Ok(Some(json!({ "soft": job["model"]["limit"] }))),
            ("firm", _) => Ok(Some(json!({ "levle": "soft" }))),
            ("broken", _) => Err(PluginFailure::new("the disk is gone")),
            ("careless", "budgets") => panic!("nobody looked"),
            _ => Ok(None),
        }
    }
}

/// What the desk makes of a text of ten words in five, and what it notes.
#[track_caller]
fn digested(own: Vec<Arc<dyn Plugin>>, expected: Option<(&str, &str)>, failures: &[&str]) {
    let (profile, noted) = (Profile::default(), ExtensionFailures::default());
    let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
    let job = DigestJob {
        tool: "bash",
        arguments: "{}",
        text: "one two three four five six seven eight nine ten",
        error: false,
        most: 5,
        measure: &gauge,
    };
    let found = DigestRunner::new(&own, profile.plugin_runner(), &noted).digest(&job);
    let found = found.as_ref().map(|found| (found.text.as_str(), &*found.kind));
    assert_eq!(found, expected);
    let told = noted.take().into_iter().map(|event| match event {
        EventKind::PluginError { plugin, cause, remedy } => format!("{plugin}: {cause}; {remedy}"),
        other => format!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), failures);
}

#[test]
fn the_first_usable_digest_is_taken_and_failures_are_noted() {
    let told = |name, answer| Arc::new(Told(name, answer)) as Arc<dyn Plugin>;
    let good = || told("good", |_| Ok(Some("one two")));
    digested(vec![good()], Some(("one two", "good")), &[]);
    digested(vec![told("silent", |_| Ok(None)), good()], Some(("one two", "good")), &[]);
    digested(
        vec![told("long", |_| Ok(Some("1 2 3 4 5 6"))), good()],
        Some(("one two", "good")),
        &[],
    );
    digested(
        vec![told("empty", |_| Ok(Some(""))), good()],
        Some(("one two", "good")),
        &["empty: its digest is empty; the next one is asked; `epitome plugin check empty` tells \
           more"],
    );
    digested(
        vec![told("broken", |_| Err(PluginFailure::new("no").with_remedy("mend it"))), good()],
        Some(("one two", "good")),
        &["broken: no; mend it"],
    );
}

/// The events of a conversation in which a plugin answers hooks.
fn events(plugin: Told) -> Vec<Event> {
    let builder = Compressor::builder().plugin(plugin).counter(FixedCounter::Words);
    let mut session = builder
        .window(WindowSetting::Limit(900))
        .clock(|| "2026-01-02T03:04:05Z".to_owned())
        .session(Arc::new(MemoryStore::new()), Some("a"));
    let mut events = Vec::new();
    for turn in 0..3 {
        session
            .push(json!({ "role": "user", "content": format!("{turn}") }).to_string().as_bytes())
            .unwrap();
        events.extend(now(session.prompt()).unwrap().events);
        session.push(br#"{"role":"assistant","content":"Well."}"#).unwrap();
    }
    events
}

#[test]
fn a_plugin_that_answers_hooks_is_a_policy() {
    let told = |plugin| {
        let of = |event: &Event| match &event.what {
            EventKind::PluginError { plugin, cause, .. } => Some(format!("{plugin}: {cause}")),
            _ => None,
        };
        events(plugin).iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(told(Told("silent", |_| Ok(None))), [""; 0]);
    // What it fails at is said once, and the next policy answers.
    assert_eq!(
        told(Told("broken", |_| Ok(None))),
        ["broken: budgets: the disk is gone", "broken: trigger: the disk is gone"]
    );
    // Whoever panics has failed, too.
    let careless = Told("careless", |_| Ok(None));
    assert_eq!(told(careless), ["careless: budgets: it panicked; tell its author"]);
    let said = told(Told("firm", |_| Ok(None)));
    assert_eq!(
        said,
        ["firm: trigger: there is no field `levle`; did you mean `level`; policies/HOOKS.md says \
          what it may answer"]
    );
}
