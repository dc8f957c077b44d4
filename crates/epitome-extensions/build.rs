//! Embeds the shipped policies: the Lua and the prompts of every folder under `policies/`.
//!
//! Invariant: what is embedded is what stands there, but for tests and what people read.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

type ShippedBuildError = Box<dyn Error>;

/// What a policy reads; everything else is for people.
const ENDINGS: [&str; 2] = ["lua", "md"];
/// Folders and files that no policy reads.
const LEFT_OUT: [&str; 3] = ["tests", "types", "README.md"];

#[expect(clippy::disallowed_methods, reason = "a build script writes what is compiled in")]
fn main() -> Result<(), ShippedBuildError> {
    // Asked for when it runs: a program that was built for another checkout may be run for this one.
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let policies = Path::new(&here).join("../../policies").canonicalize()?;
    println!("cargo:rerun-if-changed={}", policies.display());
    let mut code = String::from("/// Every shipped folder and its files, by name.\n");
    code += "pub(super) const FOLDERS: &[(&str, &[(&str, &str)])] = &[\n";
    for folder in entries(&policies)?.into_iter().filter(|path| path.is_dir()) {
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        writeln!(code, "    ({:?}, &[", name(&folder))?;
        for file in &files {
            let path = file.strip_prefix(&folder)?.display().to_string().replace('\\', "/");
            writeln!(code, "        ({path:?}, include_str!({:?})),", file.display().to_string())?;
        }
        code += "    ]),\n";
    }
    code += "];\n";
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    fs::write(PathBuf::from(out).join("policies.rs"), code)?;
    Ok(())
}

/// The files below a folder that a policy may read.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ShippedBuildError> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|one| ENDINGS.iter().any(|ending| one == *ending)) {
            files.push(path);
        }
    }
    Ok(())
}

/// What stands in a folder, by name, but for what is left out.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ShippedBuildError> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, ShippedBuildError>>()?;
    paths.retain(|path| !LEFT_OUT.contains(&name(path).as_str()));
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
