//! The folders of policies and plugins that a configuration makes, and the names that it uses for
//! what stands in them.
//!
//! Invariant: a folder that a repository may have named is foreign; what stands in it runs once
//! the user trusts it.

use std::path::PathBuf;

use epitome_extensions::ExtensionOrigin;
use epitome_extensions::folders::ExtensionFolder;
use epitome_extensions::plugins::PluginFolders;
use epitome_extensions::policies::{DEFAULT, PolicyFolders};
use epitome_extensions::problem::hint;
use epitome_kernel::nearest;
use figment::value::{Dict, Value};

use super::declared::schema;
use super::layer::Layer;
use super::sources::{ConfigFile, depth};
use super::{ConfigError, ConfigProblem};

/// The folders of policies, with the one that the layers name. Layers are in the order of the
/// files, behind what is built in.
pub(super) fn policies(
    shelves: Vec<ExtensionFolder>,
    layers: &[Layer],
    files: &[ConfigFile],
) -> Vec<ExtensionFolder> {
    let folders = folders("policies", shelves, layers, files);
    folders.into_iter().flat_map(ExtensionFolder::with_locked).collect()
}

/// The same for plugins.
pub(super) fn plugins(
    shelves: Vec<ExtensionFolder>,
    layers: &[Layer],
    files: &[ConfigFile],
) -> Vec<ExtensionFolder> {
    folders("plugins", shelves, layers, files)
}

fn folders(
    key: &str,
    mut shelves: Vec<ExtensionFolder>,
    layers: &[Layer],
    files: &[ConfigFile],
) -> Vec<ExtensionFolder> {
    let named = layers.iter().enumerate().rev().find_map(|(at, layer)| {
        let folder = layer.says.get(key)?.as_str()?;
        let file = at.checked_sub(1).and_then(|at| files.get(at));
        // A variable is nearer than any file, and the user's own words are as far as the user's.
        let near = match file {
            None => (at > 0).then_some(usize::MAX),
            Some(file) => file.foreign.then(|| depth(file.path.parent().unwrap_or(&file.path))),
        };
        let foreign = file.is_some_and(|file| file.foreign);
        let (folder, origin) = (PathBuf::from(folder), ExtensionOrigin::Config);
        Some(ExtensionFolder { folder, origin, foreign, only: None, near })
    });
    shelves.extend(named);
    shelves
}

/// Whether every policy and every plugin whose options are set is there.
///
/// # Errors
///
/// Every name that is none, with what may have been meant.
pub(super) fn known(
    layers: &[Layer],
    shelves: &PolicyFolders,
    plugins: &PluginFolders,
) -> Result<(), ConfigError> {
    let knows = |name: &str| name == DEFAULT || shelves.knows(name) || plugins.knows(name);
    let mut problems = Vec::new();
    for layer in layers {
        let profiles = layer.says.get("profile").and_then(Value::as_dict);
        for (profile, table) in profiles.into_iter().flatten() {
            let options = table.find_ref("options").and_then(Value::as_dict);
            let names = options.into_iter().flat_map(Dict::keys);
            for name in names.filter(|name| !knows(name)) {
                let place = layer.places.of(&["profile", profile, "options", name]);
                let what = format!(
                    "unknown key `profile.{profile}.options.{name}`; {}",
                    meant(profile, name, shelves, plugins)
                );
                problems.push(ConfigProblem::new(place, what));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(problems)) }
}

/// What may have been meant by the name of a policy or a plugin that is not there.
fn meant(profile: &str, name: &str, shelves: &PolicyFolders, plugins: &PluginFolders) -> String {
    let options = schema().leaves(&["profile", profile, "options", DEFAULT]);
    let tables = options.iter().filter_map(|option| option.split('.').next());
    if let Some(option) = nearest(name, tables) {
        let own = match shelves.knows(profile) && profile != DEFAULT {
            true => format!(
                " Options of the policy `{profile}` stand in `profile.{profile}.options.{profile}`"
            ),
            false => String::new(),
        };
        return format!("did you mean `profile.{profile}.options.{DEFAULT}.{option}`?{own}");
    }
    let mut known = shelves.names();
    known.extend(plugins.names());
    if !known.iter().any(|known| known == DEFAULT) {
        known.insert(0, DEFAULT.to_owned());
    }
    hint(nearest(name, known.iter().map(String::as_str)), &known)
}
