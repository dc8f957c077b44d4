//! `cargo xtask light`: what a host compiles that takes the library without its features.
//!
//! Invariant: it is read from the lock file of the example, which is no member of this workspace; no
//! build is made. Called by `main` and, on the real example, by the test below.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The example, from the top.
const EXAMPLE: &str = "examples/embed-minimal";

/// So many packages it may take, its own among them.
const MOST: usize = 60;

/// What compiles C or C++, or finds it on the machine.
const COMPILERS: [&str; 5] = ["bindgen", "cc", "cmake", "pkg-config", "vcpkg"];

/// The package that comes with a compiler of C and does not call it where its feature says so.
const PURE: (&str, &str) = ("blake3", "pure");

/// What is too heavy for such a host, one line each.
///
/// # Errors
///
/// When cargo cannot say what the example takes.
pub(crate) fn run() -> anyhow::Result<Vec<String>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo)
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}|{f}"])
        .current_dir(top.join(EXAMPLE))
        .output()
        .context("cargo cannot be run")?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(findings(&String::from_utf8_lossy(&ran.stdout)))
}

/// What is wrong with a tree of `NAME VERSION …|FEATURE,FEATURE…`.
fn findings(tree: &str) -> Vec<String> {
    let lines = tree.lines().filter_map(|line| line.split_once('|'));
    let mut packages: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for (package, features) in lines {
        let mut words = package.split_whitespace();
        let name = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        packages.insert(name, features.trim_end_matches(" (*)"));
    }
    let mut found = Vec::new();
    if packages.len() > MOST {
        found.push(format!("{EXAMPLE}: takes {} packages; at most {MOST}", packages.len()));
    }
    let is_pure = packages.iter().any(|((name, _), features)| {
        *name == PURE.0 && features.split(',').any(|feature| feature == PURE.1)
    });
    for (name, _) in packages.keys() {
        let is_system = name.ends_with("-sys");
        if is_system || COMPILERS.contains(name) && !(*name == "cc" && is_pure) {
            found.push(format!("{EXAMPLE}: takes `{name}`, which wants a C compiler"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_light() {
        assert_eq!(run().unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_heavy_is_named() {
        let tree = "a v1.0.0|\nblake3 v1.8.7|pure,std\ncc v1.2.0|\na v1.0.0 (*)|";
        assert_eq!(findings(tree), [""; 0]);
        let heavy = ["examples/embed-minimal: takes `cc`, which wants a C compiler"];
        assert_eq!(findings(&tree.replace("pure,", "")), heavy);
        assert_eq!(findings("libsqlite3-sys v0.1.0|bundled").len(), 1);
        let many: String = (0..61).map(|number| format!("p{number} v1.0.0|\n")).collect();
        assert_eq!(findings(&many), ["examples/embed-minimal: takes 61 packages; at most 60"]);
    }
}
