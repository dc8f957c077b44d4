//! Who may say what: which keys the file of a project may set.
//!
//! Whoever clones a repository reads its `epitome.toml` unasked. So each key has a class, and what
//! could read, write or send something somewhere else is the user's own to say.
//!
//! Invariant: every key of the schema has one class; a test holds the two together. Called for each
//! file that nobody named.

use std::path::{Component, Path, PathBuf};

use epitome_extensions::toml_file::{SchemaBreach, said};
use figment::value::{Dict, Value};

use super::sources::ConfigFile;
use super::store_name;

/// Who may say a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeySource {
    /// Anybody: it decides how prompts are made, and nothing of where anything goes.
    Anybody,
    /// Anybody: what it names runs once the user trusts it.
    Trusted,
    /// A project for paths within its own folder; anything else is the user's to say.
    Inside,
    /// The user alone, since:
    User(&'static str),
}

use KeySource::{Anybody, Inside, Trusted, User};

/// The keys by their class; `*` is any name, and what stands below a key has its class.
const KEYS: [(&str, KeySource); 32] = [
    ("default_profile", Anybody),
    ("store", Inside),
    ("store_key_file", User("it says whether what is said is kept encrypted")),
    ("durability", Anybody),
    ("everywhere", User("it opens what was said in other projects")),
    ("tenant", User("it opens what others said")),
    ("prices", Inside),
    ("models", Inside),
    ("policies", Trusted),
    ("plugins", Trusted),
    ("grants", User("it hands out variables of your environment")),
    ("proxy", User("it says where credentials go")),
    ("experiment", Anybody),
    ("profile.*.inherits", Anybody),
    ("profile.*.policies", Trusted),
    ("profile.*.digests", Trusted),
    ("profile.*.digests_by_tool", Trusted),
    ("profile.*.keep", Anybody),
    ("profile.*.never", Anybody),
    ("profile.*.tools", Anybody),
    ("profile.*.markers", Anybody),
    ("profile.*.prompts", Inside),
    ("profile.*.budgets", Anybody),
    ("profile.*.ageing", Anybody),
    ("profile.*.summarizers", User("conversations go to the models that it names")),
    ("profile.*.mode", Anybody),
    ("profile.*.model", Anybody),
    ("profile.*.counter", Anybody),
    ("profile.*.store", Inside),
    ("profile.*.window", Anybody),
    ("profile.*.context_size", Anybody),
    ("profile.*.prompt_limit", Anybody),
];

/// What policies and the built-in one are told: numbers and words.
const OPTIONS: (&str, KeySource) = ("profile.*.options", Anybody);

/// Everything in the file of a project that is not a project's to say.
pub(super) fn foreign(file: &ConfigFile, says: &Dict) -> Vec<SchemaBreach> {
    let mut breaches = Vec::new();
    if file.found {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        look(folder, &mut Vec::new(), says, &mut breaches);
    }
    breaches
}

fn look(folder: &Path, path: &mut Vec<String>, says: &Dict, breaches: &mut Vec<SchemaBreach>) {
    for (key, value) in says {
        path.push(key.clone());
        match (class(path), value) {
            (Some(User(why)), _) => breaches.push(of_user(path, why)),
            (Some(Inside), Value::String(_, text)) if !is_inside(folder, text) => {
                breaches.push(outside(path, value));
            }
            (Some(Inside), Value::Dict(_, table)) => {
                for (name, value) in table {
                    let leads_out =
                        matches!(value, Value::String(_, text) if !is_inside(folder, text));
                    if leads_out {
                        path.push(name.clone());
                        breaches.push(outside(path, value));
                        path.pop();
                    }
                }
            }
            (None, Value::Dict(_, table)) => look(folder, path, table, breaches),
            _ => {}
        }
        path.pop();
    }
}

/// The class of a key, by its path; of a table around keys of several classes there is none.
fn class(path: &[String]) -> Option<KeySource> {
    let is = |pattern: &str| {
        let mut steps = pattern.split('.');
        let same = |step: &String| steps.next().is_some_and(|it| it == "*" || it == step);
        path.iter().all(same) && steps.next().is_none()
    };
    KEYS.iter().chain([&OPTIONS]).find(|(pattern, _)| is(pattern)).map(|(_, class)| *class)
}

fn of_user(path: &[String], why: &str) -> SchemaBreach {
    let what = format!(
        "`{}` is not read from the file of a project, since {why}; expected it in your own \
         epitome.toml, in the file that `--config` names, or in flags",
        path.join(".")
    );
    SchemaBreach { path: path.to_vec(), what }
}

fn outside(path: &[String], value: &Value) -> SchemaBreach {
    let what = format!(
        "`{}` is {}, which leads out of the project; its file names what is inside of its folder, \
         with a relative path; expected another path in your own epitome.toml, in the file that \
         `--config` names, or in flags",
        path.join("."),
        said(value)
    );
    SchemaBreach { path: path.to_vec(), what }
}

/// Whether a path stays in the folder of the file that says it, links followed.
fn is_inside(folder: &Path, text: &str) -> bool {
    let path = Path::new(text);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    // The address of a database leads to another machine, or to another user of this one.
    let leads_out = text.starts_with('~') || store_name::scheme(text).is_some();
    if leads_out || !path.components().all(is_plain) {
        return false;
    }
    let joined = folder.join(path);
    // A link that leads nowhere yet would be followed by whoever writes there.
    let there = joined.ancestors().find(|path| path.symlink_metadata().is_ok());
    let real = |path: &Path| path.canonicalize().ok();
    match (there.and_then(real), real(&own(folder))) {
        (Some(there), Some(folder)) => there.starts_with(folder),
        _ => false,
    }
}

/// A folder that may be written as nothing.
fn own(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
}

#[cfg(test)]
mod tests {
    use crate::config::declared::schema;
    use crate::config::{Config, ConfigSources};

    use super::*;

    /// No key is left without somebody who may say it, and no class is of a key that is gone.
    #[test]
    fn every_key_has_a_class() {
        let keys = |path: &[&str]| schema().keys_at(path);
        let mut known: Vec<String> = keys(&[]);
        known.retain(|key| key != "profile");
        known.extend(keys(&["profile", "x"]).iter().map(|key| format!("profile.x.{key}")));
        let mut used = std::collections::BTreeSet::new();
        for key in &known {
            let path: Vec<_> = key.split('.').map(str::to_owned).collect();
            let found = (1..=path.len()).filter(|end| class(&path[..*end]).is_some()).count();
            assert_eq!(found, 1, "`{key}` has {found} classes");
            let of = |(pattern, _): &&(&str, KeySource)| {
                let pattern = pattern.replace('*', "x");
                *key == pattern || key.starts_with(&format!("{pattern}."))
            };
            used.extend(KEYS.iter().chain([&OPTIONS]).find(of).map(|(pattern, _)| *pattern));
        }
        assert_eq!(used.len(), KEYS.len() + 1, "{used:?}");
    }

    #[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let top = tempfile::tempdir().unwrap();
        let project = top.path().join("project");
        std::fs::create_dir_all(project.join("within")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink("../elsewhere.db", project.join("link.db")).unwrap();
            symlink(top.path(), project.join("out")).unwrap();
        }
        std::fs::write(project.join("epitome.toml"), text).unwrap();
        let found = Config::load(ConfigSources::default().project(&project).unwrap());
        let said = found.err().map(|error| error.to_string()).unwrap_or_default();
        match expected {
            Some(part) => assert!(said.contains(part), "{text}: {said}"),
            None => assert_eq!(said, "", "{text}"),
        }
        // Whoever names the file says so.
        let named = ConfigSources::default().file(&project.join("epitome.toml")).unwrap();
        assert!(Config::load(named).is_ok(), "{text}");
    }

    #[test]
    fn the_file_of_a_project_names_nothing_outside_of_it() {
        let out = Some("which leads out of the project");
        for store in ["/srv/other.db", "../other.db", "~/other.db", "within/../../x.db", "out/x.db"]
        {
            check(&format!("store = '{store}'\n"), out);
        }
        check("store = 'link.db'\n", out);
        check("[profile.default]\nstore = '../other.db'\n", out);
        check("store = 'within/own.db'\n", None);
        check("[profile.team]\nprompts.planning = '../other.md'\n", out);
        check("store = './new/own.db'\n", None);
        check("[profile.team]\nstore = 'own.db'\nmode = 'developer'\n", None);
        check("everywhere = true\n", Some("`everywhere` is not read from the file of a project"));
        let proxy = "[proxy]\nopenai_upstream = 'https://elsewhere.example'\n";
        check(proxy, Some("`proxy` is not read from the file of a project"));
    }

    /// A clone cannot have recorded what its user never wants recorded.
    #[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
    #[test]
    fn a_project_redacts_more_and_never_less() {
        let project = tempfile::tempdir().unwrap();
        let file = project.path().join("epitome.toml");
        let own = "[profile.default.options.default.redact]\npatterns = ['hunter2']\n";
        for patterns in ["[]", "['token-[0-9]+']"] {
            std::fs::write(&file, own.replace("['hunter2']", patterns)).unwrap();
            let sources = ConfigSources::default().text(Path::new("own.toml"), own);
            let config = Config::load(sources.project(project.path()).unwrap()).unwrap();
            let said =
                config.profile_in_use().unwrap().redaction.text("hunter2 token-7").into_owned();
            assert!(!said.contains("hunter2"), "{said}");
            assert_eq!(said.contains("token-7"), patterns == "[]", "{said}");
        }
        std::fs::write(&file, "[profile.default.options.default.redact]\nkeys = []\n").unwrap();
        let config = Config::load(ConfigSources::default().project(project.path()).unwrap());
        let redaction = config.unwrap().profile_in_use().unwrap().redaction;
        let key = ["hf_", "abcdefghijklmnopqrstuvwxyz0123456789"].concat();
        assert_eq!(redaction.text(&key), "[redacted]");
        let sources = ConfigSources::default().text(Path::new("own.toml"), own);
        let own = sources
            .text(Path::new("own.toml"), own.replace("patterns = ['hunter2']", "keys = ['(']"));
        let error = Config::load(own).unwrap().profile_in_use().unwrap_err().to_string();
        assert!(
            error.contains("own.toml") && error.contains("the pattern `(` cannot be read"),
            "{error}"
        );
    }
}
