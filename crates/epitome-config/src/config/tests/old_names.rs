//! Keys by their old names: accepted, told once with their place, and the same as the new ones.

use epitome_types::hook::{NameKind, RENAMED};

use super::*;

const END: &str = "now; the old name is still accepted";

/// One line of the profile `team` by its old name and by its new one.
const ROWS: [[&str; 2]; 17] = [
    ["options.default.arrive.preview = 7", "options.default.tool_results.preview = 7"],
    ["options.default.state.goals = 7", "options.default.work_state.goals = 7"],
    ["size = 9000", "context_size = 9000"],
    ["limit = 9000", "prompt_limit = 9000"],
    ["digest_tools.bash = [\"text\"]", "digests_by_tool.bash = [\"text\"]"],
    ["options.default.trigger.ahead = 0.6", "options.default.trigger.prefetch = 0.6"],
    ["options.default.summaries.seconds = 7", "options.default.summaries.timeout_seconds = 7"],
    ["options.default.summaries.at_once = 7", "options.default.summaries.max_concurrent = 7"],
    ["options.default.summaries.ask = \"x\"", "options.default.summaries.prompt = \"x\""],
    [
        "options.default.summaries.beside = \"x\"",
        "options.default.summaries.extract_heading = \"x\"",
    ],
    [
        "options.default.summaries.forgotten = \"x\"",
        "options.default.summaries.missing_facts_heading = \"x\"",
    ],
    [
        "options.default.summaries.above = \"x\"",
        "options.default.summaries.conversation_reference = \"x\"",
    ],
    [
        "options.default.compress.ladder = [\"smaller_tail\"]",
        "options.default.compress.ladder = [\"fewer_recent\"]",
    ],
    ["options.default.texts.files.stub = \"x\"", "options.default.texts.files.placeholder = \"x\""],
    [
        "options.default.texts.stored.stub = \"x\"",
        "options.default.texts.stored.placeholder = \"x\"",
    ],
    ["options.default.texts.bare.stub = \"x\"", "options.default.texts.bare.placeholder = \"x\""],
    ["options.default.work_state.most = 7", "options.default.work_state.max_tokens = 7"],
];

fn key_and_value(line: &str) -> (&str, &str) {
    line.split_once(" = ").unwrap()
}

fn told(config: &Config) -> Vec<String> {
    config.renamed().map(ToString::to_string).collect()
}

/// The last key of a path that another path names otherwise, and its name there.
fn difference<'k>(old: &'k str, new: &'k str) -> Option<(&'k str, &'k str)> {
    old.split('.').zip(new.split('.')).find(|(old, new)| old != new)
}

#[test]
fn each_old_key_is_told_once_and_means_the_new_one() {
    for [old_line, new_line] in ROWS {
        let text = |line: &str| format!("[profile.team]\n{line}\n");
        let (old, new) = (load("", &text(old_line), &[]), load("", &text(new_line), &[]));
        let (key, value) = key_and_value(new_line);
        check(&old, "team", key, value, "epitome.toml:2");
        check(&new, "team", key, value, "epitome.toml:2");
        assert_eq!(old.profile("team").unwrap(), new.profile("team").unwrap(), "{old_line}");
        assert_eq!(told(&new), [""; 0], "{new_line}");
        let (old_key, _) = key_and_value(old_line);
        assert_eq!(old.renewed_key(old_key), key);
        assert_eq!(old.renewed_key(key), key);
        let (told_key, new_name) = match difference(old_key, key) {
            Some((old_name, new_name)) => {
                (&old_key[..old_key.find(old_name).unwrap() + old_name.len()], new_name)
            }
            None => (key, "fewer_recent"),
        };
        let word = if old_key == key { "smaller_tail` of `" } else { "" };
        let expected =
            format!("epitome.toml:2: `{word}profile.team.{told_key}` is called `{new_name}` {END}");
        assert_eq!(told(&old), [expected], "{old_line}");
    }
}

#[test]
fn every_renamed_key_and_word_is_tried() {
    let is_of_options = |kind| matches!(kind, NameKind::Key | NameKind::KeyWord);
    for name in RENAMED.iter().filter(|name| is_of_options(name.kind)) {
        let has = |line: &str, name: &str| {
            line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
                .any(|it| it == name)
        };
        let is_tried = |[old, new]: &[&str; 2]| has(old, name.old) && has(new, name.new);
        assert!(ROWS.iter().any(is_tried), "{name}");
    }
}

#[test]
fn variables_and_flags_may_go_by_old_names() {
    let old = "EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__ARRIVE__PREVIEW";
    let ladder = "EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__COMPRESS__LADDER";
    let variables = [(ladder, "[\"smaller_tail\"]"), (old, "7")];
    let sources = sources("", "[profile.team]\n", &variables);
    let config = Config::load(sources.flag_of_profile("--limit", "limit", 5000)).unwrap();
    check(&config, "team", "options.default.tool_results.preview", "7", old);
    check(&config, "team", "options.default.compress.ladder", "[\"fewer_recent\"]", ladder);
    check(&config, "team", "prompt_limit", "5000", "--limit");
    assert_eq!(
        told(&config),
        [
            format!(
                "{old}: `profile.team.options.default.arrive.preview` is called \
                 `profile.team.options.default.tool_results.preview` {END}"
            ),
            format!(
                "{ladder}: `smaller_tail` of `profile.team.options.default.compress.ladder` is \
                 called `fewer_recent` {END}"
            ),
            format!("--limit: `limit` is called `prompt_limit` {END}"),
        ]
    );
    let silent = ConfigSources::default().flag_of_profile("--prompt-limit", "prompt_limit", 5000);
    assert_eq!(told(&Config::load(silent).unwrap()), [""; 0]);
}

#[test]
fn a_key_under_both_names_is_refused() {
    refused(
        "[profile.team]\ncontext_size = 1\nsize = 2",
        "epitome.toml:3: `profile.team.context_size` is given under its old name too: `size`; \
         expected the new name alone",
    );
    refused(
        "[profile.team.options.default]\narrive.preview = 1\n\
         [profile.team.options.default.tool_results]\npreview = 2",
        "epitome.toml:2: `profile.team.options.default.tool_results` is given under its old name \
         too: `arrive`; expected the new name alone",
    );
    let variables =
        [("EPITOME_PROFILE__TEAM__CONTEXT_SIZE", "1"), ("EPITOME_PROFILE__TEAM__SIZE", "2")];
    let error = Config::load(sources("", "[profile.team]\n", &variables)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "EPITOME_PROFILE__TEAM__SIZE: `profile.team.size` is given as `profile.team.context_size` \
         too, which is another name of it; expected one of them"
    );
}

/// The later layer wins, whichever name it uses.
#[test]
fn layers_may_use_either_name() {
    for (user, project) in [("size", "context_size"), ("context_size", "size"), ("limit", "size")] {
        let text = |key: &str, value| format!("[profile.team]\n{key} = {value}\n");
        let config = load(&text(user, 1), &text(project, 2), &[]);
        check(&config, "team", "context_size", "2", "epitome.toml:2");
    }
    refused(
        "[profile.team]\nsize = 1\nlimit = 2",
        "epitome.toml:3: `profile.team` states both `context_size` and `prompt_limit`; expected one \
         of them",
    );
}
