//! What a configuration is made of: files, variables, flags.
//!
//! Invariant: later ones win over earlier ones, variables over files and flags over all. What is
//! found depends on the arguments alone; there is no global state.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use figment::value::Value;

use super::{ConfigError, Problem, files};

/// What the name of every variable begins with.
pub(crate) const PREFIX: &str = "EPITOME_";

/// The store that is used where none is named, in the user's data folder.
const STORE: &str = "epitome/epitome.db";

/// What a configuration is made of.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub(crate) files: Vec<File>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) flags: Vec<Flag>,
    /// The store in the user's data folder, where there is one.
    pub(crate) store: Option<PathBuf>,
    /// What `~` stands for.
    pub(crate) home: Option<PathBuf>,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// How it is named in messages.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
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
struct Folders {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    data: Option<PathBuf>,
}

impl Folders {
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

impl Sources {
    /// What holds without any file or variable, given where the environment says that the user's
    /// folders are.
    pub fn built_in(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self::at(&Folders::of(variables))
    }

    /// What an environment says: its variables, and the user's own file,
    /// `$XDG_CONFIG_HOME/epitome/epitome.toml` (`~/.config` otherwise).
    ///
    /// # Errors
    ///
    /// When that file is there and cannot be read, or a variable is no text.
    pub fn of_user(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let folders = Folders::of(variables.iter().cloned());
        let mut sources = Self::at(&folders);
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if !value.is_empty() {
                let text = value.into_string();
                let text = text.map_err(|_| Problem::new(name, "is no text in UTF-8"))?;
                sources.variables.push((name.to_owned(), text));
            }
        }
        sources.variables.sort();
        let own = folders.config.map(|folder| folder.join("epitome").join(files::NAME));
        match own.filter(|path| path.is_file()) {
            Some(path) => sources.file(&path),
            None => Ok(sources),
        }
    }

    fn at(folders: &Folders) -> Self {
        let store = folders.data.as_ref().map(|folder| folder.join(STORE));
        Self { store, home: folders.home.clone(), ..Self::default() }
    }

    /// Adds the file of the project that a folder belongs to: the nearest `epitome.toml` upwards,
    /// if there is one.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn project(self, folder: &Path) -> Result<Self, ConfigError> {
        match files::nearest(folder) {
            Some(path) => self.file(&path),
            None => Ok(self),
        }
    }

    /// Adds a file, unless it is there already.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn file(self, path: &Path) -> Result<Self, ConfigError> {
        if self.files.iter().any(|file| files::is_same(&file.path, path)) {
            return Ok(self);
        }
        let text = files::read(path)?;
        Ok(self.text(path, text))
    }

    /// Adds the text of a file that need not exist; its path is what messages name, and what
    /// relative paths in it start from.
    #[must_use]
    pub fn text(mut self, path: &Path, text: impl Into<String>) -> Self {
        self.files.push(File { path: path.to_owned(), text: text.into() });
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
    pub fn flag(self, name: &str, key: &str, value: impl Into<Setting>) -> Self {
        self.set(name, false, key, value.into())
    }

    /// Sets a key of whichever profile is asked for.
    #[must_use]
    pub fn flag_of_profile(self, name: &str, key: &str, value: impl Into<Setting>) -> Self {
        self.set(name, true, key, value.into())
    }

    fn set(mut self, name: &str, of_profile: bool, key: &str, value: Setting) -> Self {
        let (name, key) = (name.to_owned(), key.to_owned());
        self.flags.push(Flag { name, of_profile, key, value: value.0 });
        self
    }
}

/// A value that a flag sets.
#[derive(Clone, Debug)]
pub struct Setting(Value);

impl From<&str> for Setting {
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<u64> for Setting {
    fn from(number: u64) -> Self {
        Self(Value::from(number))
    }
}
