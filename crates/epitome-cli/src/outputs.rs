//! Files that a verb is told to write, kept apart from each other and from those that it reads.
//!
//! Invariant: of two names that lead to one file none is opened; only the conversation may be
//! replaced by what is made of it. Called before anything is read.

use std::path::Path;

use crate::fault::CliError;
use crate::files;

/// What becomes of a file.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum FileFate {
    /// The conversation; the one that is made of it may take its place.
    Input,
    /// What is made of the input; `-` is standard output.
    Output,
    /// It is read, and stays.
    Read,
    /// It is written.
    Written,
    /// It is a store, with a log beside it.
    Store,
    /// It is a folder that prompts are written to: `0001.json` and so on.
    Prompts,
}

/// A file, what it is called in a complaint, and what becomes of it.
pub(crate) type OutputFile<'a> = (&'a str, Option<&'a Path>, FileFate);

/// Makes sure that no file is written that another name leads to.
///
/// # Errors
///
/// When one is, or where what is written is `-` and that is no file.
pub(crate) fn apart(named: &[OutputFile<'_>]) -> Result<(), CliError> {
    let dash = Path::new("-");
    let lost = |(_, path, part): &&OutputFile<'_>| {
        *path == Some(dash) && !matches!(part, FileFate::Input | FileFate::Output | FileFate::Read)
    };
    if let Some((name, ..)) = named.iter().find(lost) {
        let line = format!("{name} names a file, and `-` is none");
        return Err(CliError::usage(match *name {
            "`--report`" => format!("{line}; `--json` prints the report on standard output"),
            _ => line,
        }));
    }
    let all = named.iter().filter_map(|(name, path, part)| {
        let path = path.filter(|path| *path != dash)?;
        Some((*name, *part, path, files::place(path)?))
    });
    let all = all.collect::<Vec<_>>();
    for (at, (first, part, path, place)) in all.iter().enumerate() {
        for (second, other, _, elsewhere) in &all[at + 1..] {
            if may_be_one(*part, *other) {
                continue;
            }
            if reaches(*part, place, elsewhere) || reaches(*other, elsewhere, place) {
                let path = path.display();
                return Err(CliError::usage(format!(
                    "{first} and {second} both lead to {path}, and one would destroy the other; \
                     name two files"
                )));
            }
        }
    }
    Ok(())
}

/// Whether a file may be both.
fn may_be_one(one: FileFate, other: FileFate) -> bool {
    let is_read = |part| matches!(part, FileFate::Input | FileFate::Read);
    let replaced = |one, other| one == FileFate::Input && other == FileFate::Output;
    is_read(one) && is_read(other) || replaced(one, other) || replaced(other, one)
}

/// Whether what is written there takes the place of a file.
fn reaches(part: FileFate, place: &Path, file: &Path) -> bool {
    let beside = |ending: &str| {
        let mut name = place.as_os_str().to_owned();
        name.push(ending);
        name == file.as_os_str()
    };
    match part {
        FileFate::Store => ["", "-wal", "-shm"].into_iter().any(beside),
        FileFate::Prompts => {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            file.parent() == Some(place)
                && file.extension().is_some_and(|it| it == "json")
                && stem.len() > 3
                && stem.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => place == file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is refused of two files in a folder that is there.
    #[track_caller]
    fn check(one: (&str, FileFate), other: (&str, FileFate), expected: bool) {
        let named =
            [("a", Some(Path::new(one.0)), one.1), ("b", Some(Path::new(other.0)), other.1)];
        let turned = [named[1], named[0]];
        let refused = [apart(&named), apart(&turned)].map(|done| done.is_err());
        assert_eq!(refused, [expected; 2], "{} {}", one.0, other.0);
    }

    #[test]
    fn names_that_lead_to_one_file() {
        use FileFate::{Input, Output, Prompts, Read, Store, Written};
        check(("x", Output), ("x", Written), true);
        check(("x", Output), ("./src/../x", Written), true);
        check(("x", Output), ("y", Written), false);
        check(("x", Input), ("x", Output), false);
        check(("x", Input), ("x", Written), true);
        check(("x", Input), ("x", Read), false);
        check(("x", Read), ("x", Output), true);
        check(("x", Store), ("x-wal", Output), true);
        check(("x", Written), ("x-wal", Output), false);
        check((".", Prompts), ("0001.json", Input), true);
        check(("src", Prompts), ("0001.json", Input), false);
        check((".", Prompts), ("in.json", Input), false);
        check(("/dev/null", Output), ("/dev/null", Written), false);
    }

    #[test]
    fn a_dash_is_a_file_of_nobody() {
        use FileFate::{Input, Output, Written};
        check(("-", Input), ("-", Output), false);
        check(("-", Written), ("x", Output), true);
    }
}
