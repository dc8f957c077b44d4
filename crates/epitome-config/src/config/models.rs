//! The model table that `models` names, and the window that a profile asks for by a model's name.
//!
//! Invariant: what is asked for by name and is not in the table is an error that names the place, the
//! nearest and all there are; nothing else in a configuration asks the table. Read where a
//! configuration is loaded and profiles are resolved.

use std::path::Path;

use epitome_extensions::toml_file::read_text;
use figment::Figment;

use super::{Config, ConfigError, ConfigProblem};
use crate::limits::WindowSetting;
use crate::models::{ModelTable, ModelTableError, UnknownModel};

/// The key that names a model whose window holds.
pub(super) const WINDOW: &str = "window";

/// The key that chooses a context size.
pub(super) const SIZE: &str = "context_size";

/// The key of the largest prompt that a provider accepts.
pub(super) const LIMIT: &str = "prompt_limit";

/// The shipped table, with the one in this file before it.
///
/// # Errors
///
/// When the file cannot be read, or a line of it may not be said.
pub(super) fn table(file: Option<&Path>) -> Result<ModelTable, ConfigError> {
    let shipped = ModelTable::default();
    let Some(file) = file else { return Ok(shipped) };
    let text = read_text(file, "a model table", "models")?;
    shipped.extended(&text).map_err(|ModelTableError { line, cause }| {
        ConfigProblem::new(format!("{}:{line}", file.display()), cause).into()
    })
}

impl Config {
    /// The window of the model of this name: all of it, or the size that was chosen.
    pub(super) fn window_of(
        &self,
        figment: &Figment,
        name: &str,
        size: Option<u64>,
    ) -> Result<WindowSetting, ConfigProblem> {
        self.models.window(name, size).map_err(|error| {
            let key = if matches!(error, UnknownModel::Size { .. }) { SIZE } else { WINDOW };
            ConfigProblem::new(self.source(figment, key).unwrap_or_default(), error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::path::Path;

    use crate::config::{Config, ConfigSources};
    use epitome_wire::Format;

    use crate::limits::{LimitSource, WindowSetting};

    const PATH: &str = "epitome.toml";

    fn load(text: &str) -> Result<(WindowSetting, u64), String> {
        let sources = ConfigSources::default().text(Path::new(PATH), text);
        let config = Config::load(sources).map_err(|error| error.to_string())?;
        let profile = config.profile_in_use().map_err(|error| error.to_string())?;
        let known = profile.window().known(&profile, Format::OpenAi, None);
        assert_eq!(known.source, LimitSource::User);
        Ok((profile.window(), known.limit))
    }

    #[track_caller]
    fn check(says: &str, window: WindowSetting, limit: u64) {
        assert_eq!(load(&format!("[profile.default]\n{says}")), Ok((window, limit)));
    }

    #[track_caller]
    fn check_refused(says: &str, expected: &str) {
        let error = load(&format!("[profile.default]\n{says}")).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_window_is_asked_for_by_the_name_of_its_model() {
        check("window = 'gpt-4o'", WindowSetting::Limit(128_000), 128_000);
        check("window = 'llama3'", WindowSetting::Size(8192), 6963);
        check("window = 'llama3.2:3b'\ncontext_size = 4096", WindowSetting::Size(4096), 3482);
        check("window = 'gpt-4o'\ncontext_size = 8000", WindowSetting::Size(8000), 6800);
        // A number needs no table, and a model that counts may be any.
        check("context_size = 4096", WindowSetting::Size(4096), 3481);
        check("model = 'llama3.2'\ncontext_size = 4096", WindowSetting::Size(4096), 3482);
        check("model = 'somebodys'\ncontext_size = 5000", WindowSetting::Size(5000), 4250);
    }

    #[test]
    fn what_is_asked_for_by_name_and_unknown_names_its_place() {
        check_refused(
            "window = 'gpt-4oo'",
            "epitome.toml:2: the model table has no `gpt-4oo`; did you mean `gpt-4o`? there is `chat",
        );
        check_refused(
            "window = 'llama3.2'\ncontext_size = 5000",
            "epitome.toml:3: `llama3.2` has no context size 5000; the nearest is 4096, there is 4096,",
        );
        check_refused(
            "window = 'gpt-4o'\nprompt_limit = 5",
            "epitome.toml:3: `profile.default` states both `window` and `prompt_limit`; expected one of them",
        );
    }

    #[test]
    fn a_table_of_ones_own_is_read_and_its_mistakes_name_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.toml");
        let mut table = OpenOptions::new().write(true).create_new(true).open(&file).unwrap();
        table.write_all(b"[[model]]\nname = 'mine'\nwindow = 5000\n").unwrap();
        let says = format!("models = '{}'\n[profile.default]\nwindow = 'mine'", file.display());
        assert_eq!(load(&says), Ok((WindowSetting::Limit(5000), 5000)));
        table.write_all(b"windw = 1\n").unwrap();
        let error = load(&says).unwrap_err();
        assert!(error.contains("models.toml:4: unknown field `windw`"), "{error}");
        let error = load("models = 'nowhere.toml'").unwrap_err();
        assert_eq!(error, "nowhere.toml: no such file; `models` names a model table");
    }
}
