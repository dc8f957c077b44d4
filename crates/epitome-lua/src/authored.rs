//! Whether what changed in a folder of the user's own was changed by the user.
//!
//! A folder by `policy new` runs without being asked about, but where it lies in a repository a pull
//! may have changed it. What can be told apart: a file that differs from what git has staged was
//! edited here, and so was one that git does not track. All that is as git has it may have come with
//! a pull, and runs only where the same bytes were the user's own before.
//!
//! Invariant: in doubt it is not the user's: without git, behind a link that leads out, in a
//! repository within. Called by the record of trust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{Error, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What makes a folder a repository.
const REPOSITORIES: [&str; 4] = [".git", ".jj", ".hg", ".svn"];

/// The most files that are remembered of a folder at a time; of more, build products are among them.
const REMEMBERED: usize = 512;

/// The largest file that is remembered or looked at, in bytes.
const LARGEST: u64 = 64 << 20;

/// The most entries of a folder that are looked at.
const MOST: usize = 200_000;

/// What a folder of the user's own holds.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// The contents that only count where they were the user's own before: path and content, as one
    /// hash.
    pub(crate) doubted: BTreeSet<String>,
    /// The contents that the user wrote.
    pub(crate) written: BTreeSet<String>,
}

/// A file of a folder.
struct Piece {
    name: String,
    path: PathBuf,
    /// Whether what is there is elsewhere, or of a repository within.
    strange: bool,
}

/// Looks at a folder, by its one path.
///
/// # Errors
///
/// When something in it cannot be read.
pub(crate) fn look(folder: &Path) -> Result<Looked> {
    let mut pieces = Vec::new();
    collect(folder, &Below { top: folder, before: "", strange: false }, &mut pieces)?;
    let is_repository = |folder: &Path| {
        REPOSITORIES.iter().any(|name| folder.join(name).symlink_metadata().is_ok())
    };
    let tracked = folder.ancestors().any(is_repository).then(|| Tracked::of(folder, &pieces));
    let mut looked = Looked::default();
    let mut all = BTreeSet::new();
    for piece in &pieces {
        let doubted = piece.strange
            || match &tracked {
                None => false,
                Some(None) => true,
                Some(Some(tracked)) => tracked.is_unchanged(piece),
            };
        if doubted {
            looked.doubted.insert(said(piece)?);
        } else if tracked.as_ref().is_none_or(|it| it.as_ref().is_some_and(|it| it.knows(piece))) {
            all.insert(&piece.name);
        }
    }
    if all.len() <= REMEMBERED {
        for piece in pieces.iter().filter(|piece| !piece.strange && all.contains(&piece.name)) {
            looked.written.insert(said(piece)?);
        }
    }
    Ok(looked)
}

/// Everything in a folder, as its author has it now.
///
/// # Errors
///
/// When something in it cannot be read.
pub(crate) fn all(folder: &Path) -> Result<BTreeSet<String>> {
    let looked = look(folder)?;
    Ok(looked.doubted.into_iter().chain(looked.written).collect())
}

/// Where a walk is.
struct Below<'a> {
    top: &'a Path,
    before: &'a str,
    strange: bool,
}

fn collect(folder: &Path, at: &Below<'_>, pieces: &mut Vec<Piece>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = format!("{}{}", at.before, entry.file_name().to_string_lossy());
        if kind.is_dir() {
            if entry.file_name() == ".git" {
                continue;
            }
            let strange = at.strange || path.join(".git").symlink_metadata().is_ok();
            let below = Below { top: at.top, before: &format!("{name}/"), strange };
            collect(&path, &below, pieces)?;
        } else {
            let leads_out = || path.canonicalize().is_ok_and(|there| !there.starts_with(at.top));
            let strange = at.strange || (kind.is_symlink() && leads_out());
            pieces.push(Piece { name, path, strange });
        }
        if pieces.len() > MOST {
            return Err(too_much(folder));
        }
    }
    Ok(())
}

/// Path and content of a file, as one hash; of a link where it leads, and what is there.
fn said(piece: &Piece) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(piece.name.len() as u64).to_le_bytes()).update(piece.name.as_bytes());
    if let Ok(link) = fs::read_link(&piece.path) {
        let link = link.into_os_string().into_encoded_bytes();
        hasher.update(&(link.len() as u64).to_le_bytes()).update(&link);
        if let Ok(there) = piece.path.canonicalize()
            && there.is_dir()
        {
            hasher.update(crate::trust::folder_hash(&there)?.as_bytes());
            return Ok(hasher.finalize().to_hex().to_string());
        }
    }
    match fs::metadata(&piece.path) {
        // A link that leads nowhere.
        Err(_) => {}
        Ok(facts) if !facts.is_file() => {}
        Ok(facts) if facts.len() > LARGEST => return Err(too_much(&piece.path)),
        Ok(_) => {
            let mut content = Vec::new();
            OpenOptions::new().read(true).open(&piece.path)?.read_to_end(&mut content)?;
            hasher.update(&content);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn too_much(path: &Path) -> Error {
    let what = format!("`{}` is too much to tell whether you wrote it", path.display());
    Error::new(std::io::ErrorKind::InvalidInput, what)
}

/// What git says of a folder.
struct Tracked {
    /// What git has staged of each file that it tracks; none where it is in the middle of a merge.
    staged: BTreeMap<String, Option<String>>,
    /// What each of them says now.
    now: BTreeMap<String, String>,
    /// Files that it neither tracks nor leaves out.
    others: BTreeSet<String>,
}

impl Tracked {
    /// What git says; none where there is no git, or it does not answer.
    fn of(folder: &Path, pieces: &[Piece]) -> Option<Self> {
        let mut staged: BTreeMap<String, Option<String>> = BTreeMap::new();
        let listed = git(folder, &["ls-files", "-z", "-s", "--", "."], "")?;
        for line in listed.split_terminator('\0') {
            let (facts, name) = line.split_once('\t')?;
            let [_, content, stage] = facts.split(' ').collect::<Vec<_>>()[..] else { return None };
            let content = (stage == "0").then(|| content.to_owned());
            staged.insert(name.to_owned(), content);
        }
        let others = git(folder, &["ls-files", "-z", "-o", "--exclude-standard", "--", "."], "")?;
        let others = others.split_terminator('\0').map(str::to_owned).collect();
        let asked = |piece: &&Piece| {
            let plain = fs::symlink_metadata(&piece.path).is_ok_and(|facts| facts.is_file());
            plain && staged.contains_key(&piece.name) && !piece.name.contains('\n')
        };
        let names: Vec<_> = pieces.iter().filter(asked).map(|piece| piece.name.clone()).collect();
        // It reads these paths from the top of the repository on, wherever it is started.
        let before = git(folder, &["rev-parse", "--show-prefix"], "")?;
        let before = before.trim_end_matches('\n');
        let lines: String = names.iter().map(|name| format!("{before}{name}\n")).collect();
        let hashes = match names.is_empty() {
            true => String::new(),
            false => git(folder, &["hash-object", "--stdin-paths"], &lines)?,
        };
        if hashes.lines().count() != names.len() {
            return None;
        }
        let now = names.into_iter().zip(hashes.lines().map(str::to_owned)).collect();
        Some(Self { staged, now, others })
    }

    /// Whether a file is as git has it, or cannot be told to be otherwise.
    fn is_unchanged(&self, piece: &Piece) -> bool {
        let Some(staged) = self.staged.get(&piece.name) else { return false };
        match (staged, self.now.get(&piece.name)) {
            (Some(staged), Some(now)) => staged == now,
            _ => true,
        }
    }

    /// Whether a file is one of those that its author is about to commit, or has.
    fn knows(&self, piece: &Piece) -> bool {
        self.staged.contains_key(&piece.name) || self.others.contains(&piece.name)
    }
}

/// What git answers in a folder. Nothing that the repository's own settings name is run.
fn git(folder: &Path, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.args(["--literal-pathspecs", "-c", "core.fsmonitor=false", "-C"]).arg(folder);
    command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments);
    command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let out = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().ok()
    })?;
    out.status.success().then(|| String::from_utf8(out.stdout).ok()).flatten()
}
