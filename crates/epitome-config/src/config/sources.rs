//! What a configuration is made of: files, variables, flags.
//!
//! Invariant: later ones win over earlier ones, variables over files and flags over all. What is
//! found depends on the arguments alone; there is no global state.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use epitome_extensions::ExtensionOrigin;
use epitome_extensions::folders::ExtensionFolder;
use epitome_extensions::project::CONFIG_FILE;
use epitome_types::hook::PlayOption;
use figment::value::Value;

use super::{ConfigError, ConfigProblem, files};

/// What the name of every variable begins with.
pub(crate) const PREFIX: &str = "EPITOME_";

/// How our folder is called among the user's.
const FOLDER: &str = "epitome";

/// The store that is used where none is named, in the user's data folder.
const STORE: &str = "epitome.db";

/// The record of trusted folders, in the user's data folder.
const TRUST: &str = "trusted";

/// The user's own policies, in the user's folder.
pub(crate) const POLICIES: &str = "policies";

/// The user's own plugins, beside them.
const PLUGINS: &str = "plugins";

/// What a configuration is made of.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
    pub(crate) files: Vec<ConfigFile>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) flags: Vec<Flag>,
    /// The store in the user's data folder, where there is one.
    pub(crate) store: Option<PathBuf>,
    /// What `~` stands for.
    pub(crate) home: Option<PathBuf>,
    /// Folders of policies, but for the one that a file names.
    pub(crate) shelves: Vec<ExtensionFolder>,
    /// The same for plugins.
    pub(crate) plugin_shelves: Vec<ExtensionFolder>,
    /// Our folder in the user's folder for configurations.
    pub(crate) own: Option<PathBuf>,
    /// Where it is recorded which policies of others may run.
    pub(crate) trust: Option<PathBuf>,
    /// Whether only shipped policies may run.
    pub(crate) untrusted: bool,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    /// How it is named in messages.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Whether it may have come with a repository, so that nothing runs because it says so.
    pub(crate) foreign: bool,
    /// Whether nobody named it: it stood where files of projects stand.
    pub(crate) found: bool,
}

/// A flag of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    pub(crate) name: String,
    /// Whether the key belongs to the profile that is asked for.
    pub(crate) of_profile: bool,
    pub(crate) key: String,
    pub(crate) value: Value,
}

/// The user's folders, as the environment names them. One that is not absolute is none.
#[derive(Default)]
struct UserFolders {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    data: Option<PathBuf>,
}

impl UserFolders {
    fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut folders = Self::default();
        for (name, value) in variables {
            let folder = match name.to_str() {
                Some("HOME") => &mut folders.home,
                Some("XDG_CONFIG_HOME") => &mut folders.config,
                Some("XDG_DATA_HOME") => &mut folders.data,
                _ => continue,
            };
            *folder = Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        }
        let below = |usual: &str| folders.home.as_ref().map(|home| home.join(usual));
        folders.config = folders.config.clone().or_else(|| below(".config"));
        folders.data = folders.data.clone().or_else(|| below(".local/share"));
        folders
    }
}

impl ConfigSources {
    /// What holds without any file or variable, given where the environment says that the user's
    /// folders are.
    pub fn built_in(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self::at(&UserFolders::of(variables))
    }

    /// What an environment says: its variables, and the user's own file,
    /// `$XDG_CONFIG_HOME/epitome/epitome.toml` (`~/.config` otherwise).
    ///
    /// # Errors
    ///
    /// When that file is there and cannot be read, or a variable is no text.
    pub fn from_env(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let folders = UserFolders::of(variables.iter().cloned());
        let mut sources = Self::at(&folders);
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if !value.is_empty() {
                let text = value.into_string();
                let text = text.map_err(|_| ConfigProblem::new(name, "is no text in UTF-8"))?;
                sources.variables.push((name.to_owned(), text));
            }
        }
        sources.variables.sort();
        let own = folders.config.map(|folder| folder.join(FOLDER).join(CONFIG_FILE));
        match own.filter(|path| path.is_file()) {
            Some(path) => {
                let text = files::read(&path)?;
                Ok(sources.text(&path, text))
            }
            None => Ok(sources),
        }
    }

    fn at(folders: &UserFolders) -> Self {
        let [data, config] = [&folders.data, &folders.config]
            .map(|folder| folder.as_ref().map(|folder| folder.join(FOLDER)));
        let store = data.as_ref().map(|folder| folder.join(STORE));
        let trust = data.map(|folder| folder.join(TRUST));
        let (home, own) = (folders.home.clone(), config.clone());
        let sources = Self { store, trust, home, own, ..Self::default() };
        match config {
            Some(folder) => sources.policies(&folder.join(POLICIES)).plugins(&folder.join(PLUGINS)),
            None => sources,
        }
    }

    /// Adds a folder of policies that are the user's or the host's own.
    #[must_use]
    pub fn policies(mut self, folder: &Path) -> Self {
        self.shelves.push(shelf(folder, ExtensionOrigin::User));
        self
    }

    /// Adds a folder of plugins that are the user's or the host's own.
    #[must_use]
    pub fn plugins(mut self, folder: &Path) -> Self {
        self.plugin_shelves.push(shelf(folder, ExtensionOrigin::User));
        self
    }

    /// Adds the policies and the plugins of the project that a folder belongs to: the nearest
    /// `.epitome/policies` and `.epitome/plugins` upwards, as far as there are any. They run once
    /// the user trusts them.
    #[must_use]
    pub fn with_project_extensions(mut self, folder: &Path) -> Self {
        let found = |below| files::nearest_folder(folder, below);
        self.shelves.extend(found(files::POLICIES).map(|it| shelf(&it, ExtensionOrigin::Project)));
        self.plugin_shelves
            .extend(found(files::PLUGINS).map(|it| shelf(&it, ExtensionOrigin::Project)));
        self
    }

    /// Adds the folder of one policy, which is found before any other of its name. It runs once the
    /// user trusts it.
    #[must_use]
    pub fn policy(mut self, folder: &Path) -> Self {
        self.shelves.extend(given(folder));
        self
    }

    /// Adds the folder of one plugin, in the same way.
    #[must_use]
    pub fn plugin(mut self, folder: &Path) -> Self {
        self.plugin_shelves.extend(given(folder));
        self
    }

    /// Keeps the record of trusted folders in this file, in place of the one in the user's data
    /// folder. Without either, no policy of a project runs.
    #[must_use]
    pub fn trust(self, file: &Path) -> Self {
        Self { trust: Some(file.to_owned()), ..self }
    }

    /// Lets shipped policies run, and no others.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { untrusted: true, ..self }
    }

    /// Adds the file of the project that a folder belongs to, the nearest `epitome.toml` upwards,
    /// and its policies and plugins, each if there is one.
    ///
    /// # Errors
    ///
    /// When the file is there and cannot be read.
    pub fn project(self, folder: &Path) -> Result<Self, ConfigError> {
        let this = self.with_project_extensions(folder);
        match files::nearest(folder) {
            Some(path) => this.read(&path, true),
            None => Ok(this),
        }
    }

    /// Adds a file, unless it is there already. Policies in a folder that it names run once the
    /// user trusts them.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn file(self, path: &Path) -> Result<Self, ConfigError> {
        self.read(path, false)
    }

    fn read(self, path: &Path, found: bool) -> Result<Self, ConfigError> {
        if self.files.iter().any(|file| files::is_same(&file.path, path)) {
            return Ok(self);
        }
        let text = files::read(path)?;
        Ok(self.said(ConfigFile { path: path.to_owned(), text, foreign: true, found }))
    }

    /// Adds the text of a file that need not exist, as the host's own words; its path is what messages name, and what
    /// relative paths in it start from.
    #[must_use]
    pub fn text(self, path: &Path, text: impl Into<String>) -> Self {
        let (path, text) = (path.to_owned(), text.into());
        self.said(ConfigFile { path, text, foreign: false, found: false })
    }

    fn said(mut self, file: ConfigFile) -> Self {
        self.files.push(file);
        self
    }

    /// Adds a variable: `EPITOME_STORE`, or with the keys of tables joined by two underscores,
    /// `EPITOME_PROFILE__TEAM__OPTIONS__DEFAULT__TRIGGER__SOFT`.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a key of `epitome.toml` from a flag; `name` is what is shown as its source.
    #[must_use]
    pub fn flag(self, name: &str, key: &str, value: impl Into<FlagSetting>) -> Self {
        self.set(name, false, key, value.into())
    }

    /// Sets a key of whichever profile is asked for.
    #[must_use]
    pub fn flag_of_profile(self, name: &str, key: &str, value: impl Into<FlagSetting>) -> Self {
        self.set(name, true, key, value.into())
    }

    fn set(mut self, name: &str, of_profile: bool, key: &str, value: FlagSetting) -> Self {
        let (name, key) = (name.to_owned(), key.to_owned());
        self.flags.push(Flag { name, of_profile, key, value: value.0 });
        self
    }
}

/// A folder with all that stands in it.
fn shelf(folder: &Path, origin: ExtensionOrigin) -> ExtensionFolder {
    let (folder, foreign) = (folder.to_owned(), origin == ExtensionOrigin::Project);
    // It stands in our folder, and that in the project's.
    let project = folder.parent().and_then(Path::parent).filter(|_| foreign);
    let near = project.map(depth);
    ExtensionFolder { folder, origin, foreign, only: None, near }
}

/// The folder of one thing, which is found before any other of its name.
fn given(folder: &Path) -> Option<ExtensionFolder> {
    let (shelf, only) = (folder.parent()?.to_owned(), folder.file_name()?.to_string_lossy());
    let only = Some(only.into_owned());
    Some(ExtensionFolder {
        folder: shelf,
        origin: ExtensionOrigin::Given,
        foreign: true,
        only,
        near: None,
    })
}

/// How deep a folder lies.
pub(super) fn depth(folder: &Path) -> usize {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    folder.components().count()
}

/// A value that a flag sets.
#[derive(Clone, Debug)]
pub struct FlagSetting(Value);

impl From<&str> for FlagSetting {
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<bool> for FlagSetting {
    fn from(is: bool) -> Self {
        Self(Value::from(is))
    }
}

impl From<Vec<String>> for FlagSetting {
    fn from(texts: Vec<String>) -> Self {
        Self(Value::from(texts))
    }
}

impl From<&PlayOption> for FlagSetting {
    fn from(value: &PlayOption) -> Self {
        // It holds nothing that a setting cannot.
        Self(Value::serialize(value).unwrap_or_else(|_| Value::from(String::new())))
    }
}

impl From<u64> for FlagSetting {
    fn from(number: u64) -> Self {
        Self(Value::from(number))
    }
}
