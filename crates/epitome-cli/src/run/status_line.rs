//! The status line that Claude Code is given for one run.
//!
//! Invariant: a line that the user set is shown still, before ours, and no file is changed. Called by
//! `run`.

use std::env;
use std::path::{self, Path};

use epitome::Config;
use serde_json::{Value, json};

use super::way::Way;
use crate::proxy::ProxyFlags;
use crate::shell::quoted;
use crate::store;

/// The command that shows the sessions of this run; `None` where it cannot be told.
pub(super) fn command(config: &Config, flags: &ProxyFlags, project: &Path) -> Option<String> {
    let program = env::current_exe().ok()?;
    let profile = config.profile_in_use().ok()?;
    let owner = config.owner(Some(project));
    let mut words = vec![program.to_str()?.to_owned(), "statusline".to_owned()];
    // A session of an experiment is recorded with the profile of its arm.
    let arms = config.experiments().values().flat_map(|it| &it.arms).map(String::as_str);
    let mut profiles: Vec<&str> = arms.filter(|arm| *arm != profile.name()).collect();
    profiles.sort_unstable();
    profiles.dedup();
    profiles.insert(0, profile.name());
    let scopes = profiles.into_iter().map(|profile| owner.scope(profile));
    words.extend(scopes.flat_map(|scope| ["--scope".to_owned(), scope]));
    match (config.store().filter(|store| !store::is_database(store)), &flags.store) {
        (Some(file), _) => {
            let file = path::absolute(file).ok()?;
            words.extend(["--store".to_owned(), file.to_str()?.to_owned()]);
        }
        // The address of a database may hold a password: it is in no command that did not hold it.
        (None, given) => {
            let given = given.as_deref().and_then(Path::to_str);
            words.extend(given.into_iter().flat_map(|url| ["--store".to_owned(), url.to_owned()]));
            words.extend(flags.profile.words());
        }
    }
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

impl Way {
    /// The arguments that give the client its settings for one run, with this command as its status
    /// line where it may have one.
    pub(super) fn client_settings(&self, command: Option<&str>) -> Vec<String> {
        let mut settings = self.settings.clone();
        if let (Some(own), Some(command)) = (&self.status_line, command) {
            settings.insert("statusLine".to_owned(), beside(own, command));
        }
        match settings.is_empty() {
            true => Vec::new(),
            false => vec!["--settings".to_owned(), Value::Object(settings).to_string()],
        }
    }
}

/// A status line by a command, which runs the user's own before.
fn beside(own: &Value, command: &str) -> Value {
    match own["command"].as_str().filter(|_| own["type"].as_str() == Some("command")) {
        Some(theirs) => {
            let mut both = own.clone();
            both["command"] = format!("{command} -- sh -c {}", quoted(theirs)).into();
            both
        }
        None => json!({ "type": "command", "command": command }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(way: &Way, command: Option<&str>, expected: Option<Value>) {
        let words = way.client_settings(command);
        let told = words.iter().position(|word| word == "--settings");
        let told = told.map(|at| serde_json::from_str::<Value>(&words[at + 1]).unwrap());
        assert_eq!((told, words.len() % 2), (expected, 0), "{words:?}");
    }

    #[test]
    fn a_line_is_set_where_there_may_be_one() {
        let ours = Some("epitome statusline");
        check(&Way::default(), ours, None);
        let none = Way { status_line: Some(Value::Null), ..Way::default() };
        check(&none, None, None);
        let line = json!({ "type": "command", "command": "epitome statusline" });
        check(&none, ours, Some(json!({ "statusLine": line })));
        let mut both = none;
        both.settings.insert("env".to_owned(), json!({ "A": "b" }));
        check(&both, None, Some(json!({ "env": { "A": "b" } })));
        let env = json!({ "A": "b" });
        check(&both, ours, Some(json!({ "env": env, "statusLine": line })));
    }

    #[test]
    fn the_users_own_line_is_run_before() {
        let own = json!({ "type": "command", "command": "echo it's", "padding": 0 });
        let both = beside(&own, "epitome statusline");
        assert_eq!(both["command"], r"epitome statusline -- sh -c 'echo it'\''s'");
        assert_eq!((&both["padding"], &both["type"]), (&json!(0), &json!("command")));
    }
}
