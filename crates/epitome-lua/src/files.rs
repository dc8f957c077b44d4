//! The files of one generation: what `require` and `ep.prompt` find.
//!
//! Invariant: each file is read once, while the generation is built; afterwards nothing is read
//! any more, so that every virtual machine of the generation runs the same text.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::misfit::hint;
use crate::source::{FoundPolicy, PolicySource};

/// The file that every policy has.
pub(crate) const POLICY: &str = "policy.lua";

/// The files that one generation was made of.
#[derive(Debug)]
pub(crate) struct GenerationFiles {
    found: FoundPolicy,
    state: Mutex<FileCacheState>,
}

#[derive(Debug, Default)]
struct FileCacheState {
    /// What was read: text by the name that places name it by.
    texts: BTreeMap<String, String>,
    sealed: bool,
}

/// A file of Lua.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// What places name it by: `policy.lua`, `lib/classes.lua`.
    pub(crate) chunk: String,
    pub(crate) text: String,
}

impl GenerationFiles {
    /// Nothing read yet, but for the prompts.
    ///
    /// # Errors
    ///
    /// When a prompt cannot be read.
    pub(crate) fn new(found: FoundPolicy) -> Result<Self, String> {
        let mut texts = BTreeMap::new();
        for name in found.files.names("prompts", "md").map_err(|error| error.to_string())? {
            let path = format!("prompts/{name}.md");
            if let Some(text) = found.files.read(&path).map_err(|error| error.to_string())? {
                texts.insert(path, text);
            }
        }
        Ok(Self { found, state: Mutex::new(FileCacheState { texts, sealed: false }) })
    }

    /// `policy.lua`; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn policy(&self) -> Result<Option<Module>, String> {
        self.one(&self.found.files, POLICY, POLICY.to_owned())
    }

    /// What `require(name)` loads.
    ///
    /// # Errors
    ///
    /// When the name is none, there is no such file, or the generation is complete without it.
    pub(crate) fn module(&self, name: &str) -> Result<Module, String> {
        let good = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        };
        if !name.split('.').all(good) {
            return Err(format!(
                "`{name}` is no name of a module: names are like `classes` or `figures.age`, with \
                 a dot for a folder"
            ));
        }
        let path = format!("{}.lua", name.replace('.', "/"));
        if let Some(module) = self.one(&self.found.files, &path, path.clone())? {
            return Ok(module);
        }
        for library in &self.found.libraries {
            if let Some(module) = self.one(library, &path, format!("lib/{path}"))? {
                return Ok(module);
            }
        }
        if self.state().sealed {
            return Err(format!(
                "module `{name}` is asked for inside a hook: `require` it at the top of the file"
            ));
        }
        Err(format!(
            "there is no module `{name}`: neither the policy's folder nor `lib` has a `{path}`"
        ))
    }

    /// The text of a prompt.
    pub(crate) fn prompt(&self, name: &str) -> Option<String> {
        self.state().texts.get(&format!("prompts/{name}.md")).cloned()
    }

    /// That there is no prompt of a name, and which there are.
    pub(crate) fn no_prompt(&self, name: &str) -> String {
        let state = self.state();
        let names = state.texts.keys();
        let names = names.filter_map(|path| path.strip_prefix("prompts/")?.strip_suffix(".md"));
        let names: Vec<&str> = names.collect();
        let hint = match names.is_empty() {
            true => "; there are no prompts".to_owned(),
            false => hint(name, names),
        };
        format!("there is no `prompts/{name}.md`{hint}")
    }

    /// The same files, to which more may be added.
    pub(crate) fn unsealed(&self) -> Self {
        let texts = self.state().texts.clone();
        Self {
            found: self.found.clone(),
            state: Mutex::new(FileCacheState { texts, sealed: false }),
        }
    }

    /// From now on nothing is read any more.
    pub(crate) fn seal(&self) {
        self.state().sealed = true;
    }

    /// The address of everything that was read.
    pub(crate) fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for (path, text) in &self.state().texts {
            for piece in [path, text] {
                hasher.update(&(piece.len() as u64).to_le_bytes());
                hasher.update(piece.as_bytes());
            }
        }
        hasher.finalize()
    }

    pub(crate) fn found(&self) -> &FoundPolicy {
        &self.found
    }

    fn one(
        &self,
        source: &PolicySource,
        path: &str,
        chunk: String,
    ) -> Result<Option<Module>, String> {
        let mut state = self.state();
        if let Some(text) = state.texts.get(&chunk) {
            return Ok(Some(Module { chunk, text: text.clone() }));
        }
        if state.sealed {
            return Ok(None);
        }
        let text = source.read(path).map_err(|error| format!("{chunk}: {error}"))?;
        Ok(text.map(|text| {
            state.texts.insert(chunk.clone(), text.clone());
            Module { chunk, text }
        }))
    }

    fn state(&self) -> MutexGuard<'_, FileCacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> GenerationFiles {
        let files = PolicySource::Embedded(&[
            ("policy.lua", "p"),
            ("classes.lua", "c"),
            ("figures/age.lua", "a"),
            ("prompts/level3.md", "l"),
        ]);
        let library = PolicySource::Embedded(&[("classes.lua", "hidden"), ("dates.lua", "d")]);
        GenerationFiles::new(FoundPolicy { name: "x".into(), files, libraries: vec![library] })
            .unwrap()
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let said = match files().module(name) {
            Ok(module) => format!("{} {}", module.chunk, module.text),
            Err(error) => error,
        };
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn modules_are_found_in_the_folder_and_then_in_the_library() {
        check("classes", "classes.lua c");
        check("figures.age", "figures/age.lua a");
        check("dates", "lib/dates.lua d");
        check("clases", "there is no module `clases`");
        for name in ["..", "a/b", "../a", "", "a..b", "C:x"] {
            check(name, &format!("`{name}` is no name of a module"));
        }
    }

    #[test]
    fn nothing_is_read_once_the_generation_is_complete() {
        let files = files();
        let before = files.hash();
        files.module("classes").unwrap();
        assert_ne!(files.hash(), before);
        files.seal();
        assert_eq!(files.module("classes").unwrap().text, "c");
        assert!(files.module("dates").unwrap_err().contains("at the top of the file"));
        assert_eq!(files.prompt("level3").as_deref(), Some("l"));
        assert_eq!(files.prompt("level2"), None);
        assert!(files.no_prompt("level2").ends_with("did you mean `level3`?"));
    }
}
