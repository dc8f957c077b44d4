//! A plugin that a profile names: which one, from where, with which options.
//!
//! Invariant: it says all that is needed to start the plugin, and nothing of it has run. Made where
//! a profile is resolved.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome_kernel::nearest;
use epitome_lua::{OptionShape, TrustStore, folder_hash};
use epitome_plugin::{Plugin, PluginInfo};
use serde_json::{Map, Value as Json};

use super::manifest::{FILE, Manifest, Provided, shape};
use super::placed::{FoundPlugin, MadeOf, PluginForm};
use crate::origin::ExtensionOrigin;
#[cfg(all(feature = "plugins", feature = "find", feature = "lua"))]
use crate::problem::ConfigError;
use crate::problem::{ConfigProblem, hint};
use crate::project::project_around;
use crate::stated::StatedOptions;
use crate::trust::{ProjectExtension, Refusal};

/// A plugin that a profile names.
#[derive(Clone)]
pub struct PluginRef {
    pub(super) placed: FoundPlugin,
    stated: StatedOptions,
}

impl PluginRef {
    /// A plugin of whose options nothing is said.
    pub(crate) fn unset(placed: FoundPlugin) -> Self {
        Self { placed, stated: StatedOptions::default() }
    }

    /// A plugin with what is said of its options.
    ///
    /// # Errors
    ///
    /// When it does not have one of them, or not with this value.
    pub fn new(placed: FoundPlugin, stated: StatedOptions) -> Result<Self, ConfigProblem> {
        let plugin = Self { placed, stated };
        plugin.wrong_option().map_or(Ok(plugin), Err)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.placed.name
    }

    /// Its form.
    pub fn form(&self) -> PluginForm {
        match &self.placed.made_of {
            MadeOf::Code(_) => PluginForm::Code,
            MadeOf::Folder { manifest, .. } if manifest.module.is_some() => PluginForm::Module,
            MadeOf::Folder { .. } => PluginForm::Program,
        }
    }

    /// Where it is from.
    pub fn origin(&self) -> ExtensionOrigin {
        self.placed.origin
    }

    /// Its folder, unless it is compiled in.
    pub fn folder(&self) -> Option<&Path> {
        match &self.placed.made_of {
            MadeOf::Code(_) => None,
            MadeOf::Folder { folder, .. } => Some(folder),
        }
    }

    /// What it says it is, without being run.
    pub fn about(&self) -> PluginInfo {
        match &self.placed.made_of {
            MadeOf::Code(code) => code.about(),
            MadeOf::Folder { manifest, .. } => about(self.name(), manifest),
        }
    }

    /// Its options, with what holds where nobody sets them.
    pub fn declared(&self) -> Vec<OptionShape> {
        match &self.placed.made_of {
            MadeOf::Code(code) => {
                let of = |it: epitome_plugin::PluginOption| shape(&it.name, &it.default, &it.doc);
                code.about().options.into_iter().map(of).collect()
            }
            MadeOf::Folder { manifest, .. } => manifest.declared(),
        }
    }

    /// The value of every option.
    pub fn options(&self) -> Map<String, Json> {
        let value = |option: OptionShape| {
            let value = self.stated.values.get(&option.name).cloned();
            (option.name, value.unwrap_or(option.default))
        };
        self.declared().into_iter().map(value).collect()
    }

    /// The variables of the environment that it asks for.
    pub fn asks_for(&self) -> &[String] {
        match &self.placed.made_of {
            MadeOf::Code(_) => &[],
            MadeOf::Folder { manifest, .. } => &manifest.env,
        }
    }

    /// What it says that it needs to do: `network`, `files`.
    pub fn needs(&self) -> Vec<&'static str> {
        match &self.placed.made_of {
            MadeOf::Code(_) => Vec::new(),
            MadeOf::Folder { manifest, .. } => manifest.needs.iter().map(|it| it.name()).collect(),
        }
    }

    /// The folder of plugins that it stands in, where somebody else may have written that, so that
    /// it needs to be trusted first.
    pub fn foreign(&self) -> Option<&Path> {
        self.placed.foreign.as_deref()
    }

    /// The version or the files that its answers depend on.
    ///
    /// # Errors
    ///
    /// When its folder cannot be read.
    pub(crate) fn content(&self) -> std::io::Result<String> {
        match &self.placed.made_of {
            MadeOf::Code(code) => Ok(code.about().version.into_owned()),
            MadeOf::Folder { folder, .. } => folder_hash(folder),
        }
    }

    /// Its file, as messages name it.
    pub fn place(&self) -> String {
        match self.folder() {
            Some(folder) => folder.join(FILE).display().to_string(),
            None => format!("{} (shipped)", self.name()),
        }
    }

    /// Where an option is said.
    pub fn said_at(&self, option: &str) -> Option<&str> {
        self.stated.places.get(option).map(String::as_str)
    }

    /// Why it may not run, with the remedy, by this record of trusted folders; `None` where it may.
    pub fn refused_by(&self, trust: Option<&TrustStore>) -> Option<ConfigProblem> {
        self.refusal(trust).map(Refusal::problem)
    }

    /// Why it may not run; `None` where it may.
    pub(crate) fn refusal(&self, trust: Option<&TrustStore>) -> Option<Refusal> {
        let (shelf, folder) = (self.foreign()?, self.folder()?);
        let (name, place, parts) = (self.name(), self.place(), vec![folder]);
        let brought = ProjectExtension { what: "plugin", name, place, shelf, folder, parts };
        let refused = brought.refusal(trust);
        refused.or_else(|| Some(Refusal::outside(self.name(), self.place(), &self.stray()?)))
    }

    /// The same plugin as its folder says now.
    ///
    /// # Errors
    ///
    /// When its manifest says what may not be said, or lacks an option that is set.
    #[cfg(all(feature = "plugins", feature = "find", feature = "lua"))]
    pub(super) fn as_it_is_now(&self) -> Result<Self, ConfigError> {
        let MadeOf::Folder { folder, .. } = &self.placed.made_of else { return Ok(self.clone()) };
        let (folder, manifest) = (folder.clone(), Box::new(Manifest::read(folder)?));
        let placed =
            FoundPlugin { made_of: MadeOf::Folder { folder, manifest }, ..self.placed.clone() };
        Ok(Self::new(placed, self.stated.clone())?)
    }

    /// What it runs of the project that stands outside of its folder, so that whoever trusts the
    /// folder says nothing of it. What its links lead to belongs to the folder.
    fn stray(&self) -> Option<PathBuf> {
        let MadeOf::Folder { folder, manifest } = &self.placed.made_of else { return None };
        let own = folder.canonicalize().ok()?;
        let project = project_around(&own)?;
        let (program, arguments) = manifest.command.split_first()?;
        let named = match program.contains('/') {
            true => vec![PathBuf::from(program)],
            false => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
                .map(|folder| folder.join(program))
                .find(|path| path.is_file())
                .into_iter()
                .collect(),
        };
        // As `/srv/run.sh` and `--file=/srv/run.sh`.
        let words = arguments.iter().flat_map(|word| [Some(&**word), word.split('=').nth(1)]);
        let named = named.into_iter().chain(words.flatten().map(PathBuf::from));
        let strays = |path: PathBuf| {
            let there = path.is_absolute().then(|| path.canonicalize().ok()).flatten()?;
            let is_own = there.starts_with(&own) || path.starts_with(folder);
            (there.starts_with(&project) && !is_own).then_some(there)
        };
        named.into_iter().find_map(strays)
    }

    /// The code that is compiled in, where it is.
    pub fn code(&self) -> Option<Arc<dyn Plugin>> {
        match &self.placed.made_of {
            MadeOf::Code(code) => Some(Arc::clone(code)),
            MadeOf::Folder { .. } => None,
        }
    }

    /// The first option that it does not have, or not with the value that is set.
    fn wrong_option(&self) -> Option<ConfigProblem> {
        let declared = self.declared();
        self.stated.values.iter().find_map(|(name, value)| {
            let key = format!("options.{}.{name}", self.name());
            let what = match declared.iter().find(|option| option.name == *name) {
                Some(option) => format!("`{key}` is {value}; {}", option.check(value).err()?),
                None => format!("unknown key `{key}`; {}", self.meant(name, &declared)),
            };
            Some(ConfigProblem::new(self.said_at(name).unwrap_or_default(), what))
        })
    }

    fn meant(&self, name: &str, declared: &[OptionShape]) -> String {
        let names: Vec<_> = declared.iter().map(|option| option.name.clone()).collect();
        match names.is_empty() {
            true => format!("the plugin `{}` has no options", self.name()),
            false => hint(nearest(name, names.iter().map(String::as_str)), &names),
        }
    }
}

/// What a manifest says.
fn about(name: &str, manifest: &Manifest) -> PluginInfo {
    let about = PluginInfo::new(name.to_owned(), "").with_doc(manifest.doc.clone());
    let digests = manifest.provides.contains(&Provided::Digest);
    let about = if digests { about.with_digest() } else { about };
    let about = manifest.hooks.iter().cloned().fold(about, PluginInfo::with_hook);
    manifest.options.iter().fold(about, |about, (name, option)| {
        about.with_option(name.clone(), option.default.clone(), option.doc.clone())
    })
}

impl fmt::Debug for PluginRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { placed, stated } = self;
        f.debug_struct("PluginRef")
            .field("name", &placed.name)
            .field("origin", &placed.origin)
            .field("folder", &self.folder())
            .field("options", &stated.values)
            .finish()
    }
}

/// Two are the same where they would be started in the same way.
impl PartialEq for PluginRef {
    fn eq(&self, other: &Self) -> bool {
        let program = |it: &Self| match &it.placed.made_of {
            MadeOf::Code(_) => None,
            MadeOf::Folder { manifest, .. } => Some(manifest.clone()),
        };
        self.name() == other.name()
            && self.folder() == other.folder()
            && self.stated == other.stated
            && program(self) == program(other)
    }
}
