//! What git says of a folder, and which of its files it may have written.
//!
//! Invariant: a file counts as edited only where git keeps something else and did not write what is
//! there: neither as it keeps it, nor converted. Nothing that the repository names is run. Called by
//! the look into a folder of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{LARGEST, Piece, named};

/// By which attributes git writes a file otherwise than it keeps it.
const CONVERTS: [&str; 6] = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];

/// What git keeps of a file that it tracks.
struct Staged {
    /// The hash of what is staged; none where it is in the middle of a merge.
    content: Option<String>,
    /// When git last saw the file say that.
    at: Option<SystemTime>,
}

/// What git says of a folder.
pub(super) struct Tracked {
    staged: BTreeMap<String, Staged>,
    /// What each of them says now, if git would write it as it keeps it.
    now: BTreeMap<String, String>,
    /// Files that it neither tracks nor leaves out.
    others: BTreeSet<String>,
}

impl Tracked {
    /// What git says; none where there is no git, or it does not answer.
    pub(super) fn of(folder: &Path, pieces: &[Piece]) -> Option<Self> {
        let staged = staged(&git(folder, &["ls-files", "-z", "-s", "--debug", "--", "."], "")?)?;
        let others = git(folder, &["ls-files", "-z", "-o", "--exclude-standard", "--", "."], "")?;
        let others = others.split_terminator('\0').map(str::to_owned).collect();
        let converted = converted(folder, staged.keys())?;
        let asked = |piece: &&Piece| {
            let plain = fs::symlink_metadata(&piece.path).is_ok_and(|facts| facts.is_file());
            let name = &piece.name;
            plain
                && staged.contains_key(name)
                && !converted.contains(name.as_str())
                && !name.contains('\n')
        };
        let names: Vec<_> = pieces.iter().filter(asked).map(|piece| piece.name.clone()).collect();
        // It reads these paths from the top of the repository on, wherever it is started.
        let before = git(folder, &["rev-parse", "--show-prefix"], "")?;
        let before = before.trim_end_matches('\n');
        let lines: String = names.iter().map(|name| format!("{before}{name}\n")).collect();
        let hashes = match names.is_empty() {
            true => String::new(),
            false => git(folder, &["hash-object", "--no-filters", "--stdin-paths"], &lines)?,
        };
        if hashes.lines().count() != names.len() {
            return None;
        }
        let now = names.into_iter().zip(hashes.lines().map(str::to_owned)).collect();
        Some(Self { staged, now, others })
    }

    /// Whether a file is as git has it, or cannot be told to be otherwise.
    pub(super) fn is_unchanged(&self, piece: &Piece) -> bool {
        let Some(staged) = self.staged.get(&piece.name) else { return false };
        let written = fs::symlink_metadata(&piece.path).and_then(|facts| facts.modified()).ok();
        match (&staged.content, self.now.get(&piece.name)) {
            // What was converted once may stay so when nothing says any more that it is to be.
            (Some(content), Some(now)) => content == now || written == staged.at,
            _ => true,
        }
    }

    /// What git has staged of the files that were edited since: path and content of each, as one
    /// hash. A pull that puts local edits aside and back changes what is below them, and nobody
    /// can tell from the edited file alone.
    pub(super) fn below_edits(&self, folder: &Path, pieces: &[Piece]) -> BTreeSet<String> {
        let staged = |piece: &Piece| {
            let is_edited = !piece.strange && !self.is_unchanged(piece);
            let content = self.staged.get(&piece.name)?.content.as_deref();
            content.filter(|_| is_edited).map(|content| (piece.name.clone(), content.to_owned()))
        };
        let edited: Vec<_> = pieces.iter().filter_map(staged).collect();
        let kept = kept(folder, edited.iter().map(|(_, content)| content.as_str()));
        let hash = |(name, content): (String, String)| {
            let mut hasher = named(&name);
            // What cannot be read is known by what git calls it.
            let bytes = kept.get(&content).map_or(content.as_bytes(), Vec::as_slice);
            hasher.update(bytes).finalize().to_hex().to_string()
        };
        edited.into_iter().map(hash).collect()
    }

    /// Whether a file is one of those that its author is about to commit, or has.
    pub(super) fn knows(&self, piece: &Piece) -> bool {
        self.staged.contains_key(&piece.name) || self.others.contains(&piece.name)
    }
}

/// What is staged, of a list with when each file was seen: a line for each file that ends with a
/// zero, and five lines about it.
fn staged(listed: &str) -> Option<BTreeMap<String, Staged>> {
    let mut staged = BTreeMap::new();
    let mut left = listed;
    while !left.is_empty() {
        let (line, rest) = left.split_once('\0')?;
        let (facts, name) = line.split_once('\t')?;
        let [_, content, stage] = facts.split(' ').collect::<Vec<_>>()[..] else { return None };
        let content = (stage == "0").then(|| content.to_owned());
        let about: Vec<_> = rest.splitn(6, '\n').collect();
        let [_, modified, _, _, _, next] = about[..] else { return None };
        let (seconds, nanos) = modified.trim().strip_prefix("mtime: ")?.split_once(':')?;
        let since = Duration::new(seconds.parse().ok()?, nanos.parse().ok()?);
        let at = UNIX_EPOCH.checked_add(since);
        staged.insert(name.to_owned(), Staged { content, at });
        left = next;
    }
    Some(staged)
}

/// The contents that git keeps under these hashes, but for what is too large or not there.
fn kept<'h>(folder: &Path, hashes: impl Iterator<Item = &'h str>) -> BTreeMap<String, Vec<u8>> {
    let asked: String = hashes.map(|hash| format!("{hash}\n")).collect();
    let read = || {
        let sizes = git(folder, &["cat-file", "--batch-check"], &asked)?;
        let is_small = |line: &&str| {
            let size = line.rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
            size.is_some_and(|size| size <= LARGEST)
        };
        let small: String = sizes
            .lines()
            .filter(is_small)
            .filter_map(|line| Some(format!("{}\n", line.split(' ').next()?)))
            .collect();
        let bytes = git_bytes(folder, &["cat-file", "--batch"], &small)?;
        let (mut kept, mut left) = (BTreeMap::new(), bytes.as_slice());
        while !left.is_empty() {
            let end = left.iter().position(|byte| *byte == b'\n')?;
            let facts: Vec<_> = std::str::from_utf8(&left[..end]).ok()?.split(' ').collect();
            let [hash, _, size] = facts[..] else { return None };
            let (content, rest) = left[end + 1..].split_at_checked(size.parse().ok()?)?;
            kept.insert(hash.to_owned(), content.to_vec());
            left = rest.strip_prefix(b"\n")?;
        }
        Some(kept)
    };
    if asked.is_empty() { BTreeMap::new() } else { read().unwrap_or_default() }
}

/// Those of these files that git may write otherwise than it keeps them.
fn converted<'n>(
    folder: &Path,
    names: impl Iterator<Item = &'n String> + Clone,
) -> Option<BTreeSet<&'n str>> {
    let setting = ["config", "--default", "false", "--get", "core.autocrlf"];
    if git(folder, &setting, "")?.trim() != "false" {
        return Some(names.map(String::as_str).collect());
    }
    let paths: String = names.clone().map(|name| format!("{name}\0")).collect();
    if paths.is_empty() {
        return Some(BTreeSet::new());
    }
    let arguments: Vec<_> = ["check-attr", "-z", "--stdin"].into_iter().chain(CONVERTS).collect();
    let answer = git(folder, &arguments, &paths)?;
    let values: Vec<_> = answer.split_terminator('\0').collect();
    let (values, rest) = values.as_chunks::<3>();
    let mut answers = values.chunks_exact(CONVERTS.len());
    let mut converted = BTreeSet::new();
    for name in names {
        let values = answers.next()?;
        if values.iter().any(|[path, _, _]| path != name) {
            return None;
        }
        if values.iter().any(|[_, _, value]| *value != "unspecified") {
            converted.insert(name.as_str());
        }
    }
    (rest.is_empty() && answers.next().is_none()).then_some(converted)
}

/// What git answers in a folder, as text.
fn git(folder: &Path, arguments: &[&str], input: &str) -> Option<String> {
    String::from_utf8(git_bytes(folder, arguments, input)?).ok()
}

/// What git answers in a folder. Nothing that the repository's own settings name is run or asked.
fn git_bytes(folder: &Path, arguments: &[&str], input: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.args(["--literal-pathspecs", "-c", "core.fsmonitor=false", "-C"]).arg(folder);
    command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments);
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let out = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().ok()
    })?;
    out.status.success().then_some(out.stdout)
}
