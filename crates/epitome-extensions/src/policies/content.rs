//! What a policy is made of, as one hash.
//!
//! Invariant: equal texts give an equal hash, wherever they stand and whether or not they are
//! compiled in; what no policy reads (tests, documentation) has no part in it. Nothing is run.

use std::collections::HashMap;
use std::io::Result;
use std::ops::Range;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use epitome_lua::{FoundPolicy, PolicySource};
use epitome_types::ContentId;

/// What a policy reads; the build script embeds no more than that.
const ENDINGS: [&str; 2] = ["lua", "md"];
const LEFT_OUT: [&str; 3] = ["tests", "types", "README.md"];

/// The hash of a policy and of the modules that it may share with others.
///
/// # Errors
///
/// When a file of it cannot be read.
pub(crate) fn content(found: &FoundPolicy) -> Result<String> {
    /// Of policies that are compiled in, by where their files stand in the program.
    static KNOWN: LazyLock<Mutex<HashMap<Vec<Range<usize>>, String>>> =
        LazyLock::new(Mutex::default);

    let sources = [&found.files].into_iter().chain(&found.libraries);
    let places: Option<Vec<Range<usize>>> = sources.map(place).collect();
    let Some(places) = places else { return hashed(found) };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&places) {
        return Ok(known.clone());
    }
    let content = hashed(found)?;
    known.insert(places, content.clone());
    Ok(content)
}

/// Where the files of a source stand that nothing can change.
fn place(source: &PolicySource) -> Option<Range<usize>> {
    match source {
        PolicySource::Embedded(files) => {
            let Range { start, end } = files.as_ptr_range();
            Some(start.addr()..end.addr())
        }
        PolicySource::Folder(_) => None,
    }
}

fn hashed(found: &FoundPolicy) -> Result<String> {
    let mut all = String::new();
    for source in [&found.files].into_iter().chain(&found.libraries) {
        for path in paths(source)? {
            let text = source.read(&path)?.unwrap_or_default();
            all += &format!("{path} {}\n{text}\n", text.len());
        }
    }
    Ok(ContentId::for_text(&all).to_string())
}

/// The files of a folder that a policy may read, in order.
fn paths(source: &PolicySource) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    match source {
        PolicySource::Embedded(files) => {
            paths.extend(files.iter().map(|(path, _)| (*path).to_owned()))
        }
        PolicySource::Folder(folder) => collect(folder, "", &mut paths)?,
    }
    paths.sort();
    Ok(paths)
}

fn collect(folder: &Path, below: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if LEFT_OUT.contains(&name.as_str()) || name.starts_with('.') {
            continue;
        }
        let path = format!("{below}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), paths)?;
        } else if ENDINGS.iter().any(|ending| path.ends_with(&format!(".{ending}"))) {
            paths.push(path);
        }
    }
    Ok(())
}
