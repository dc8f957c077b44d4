//! Where a shared policy is from: a folder, or a commit of a repository.
//!
//! Invariant: nothing of what is fetched runs: git checks nothing out, follows no submodule, runs no hook
//! and speaks no protocol but https, ssh and file. Called where policies are added and updated.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epitome::lock::policy_files;

use crate::fault::CliError;
use crate::files;

/// The file that makes a folder a policy.
const FILE: &str = "policy.lua";

/// The protocols that git may speak.
const PROTOCOLS: [&str; 3] = ["https", "ssh", "file"];

/// The most files of a repository's folder that are fetched.
const MOST_FILES: usize = 500;

/// The most bytes that they hold together.
const MOST_BYTES: usize = 8 << 20;

/// Where a policy is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SharedSource {
    Folder(PathBuf),
    Git { url: String, rev: String, below: Option<String> },
}

/// What a source holds.
pub(super) struct Fetched {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// The commit, where it is a repository.
    pub(super) revision: Option<String>,
}

impl SharedSource {
    /// Reads a source as a user writes it, or the lock.
    pub(super) fn parse(text: &str) -> Result<Self, CliError> {
        let Some(path_at) = path_of_url(text)? else {
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        let (whole, below) = match text.split_once('#') {
            Some((whole, below)) => (whole, Some(below.trim_matches('/').to_owned())),
            None => (text, None),
        };
        let at = whole.get(path_at..).and_then(|path| path.find('@'));
        let expected = "expected `URL@REV`, where REV is a tag, a branch or a commit, such as \
                        `https://host/team/policies@v1#strict`";
        let Some(at) = at.map(|at| at + path_at) else {
            return Err(CliError::usage(format!("`{text}` names no revision; {expected}")));
        };
        let (url, rev) = (whole[..at].to_owned(), whole[at + 1..].to_owned());
        let is_plain = |rev: &str| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./+".contains(letter);
            !rev.is_empty()
                && !rev.starts_with('-')
                && !rev.contains("..")
                && rev.chars().all(plain)
        };
        let is_folder =
            |below: &String| !below.is_empty() && !below.split('/').any(|it| it == "..");
        if !is_plain(&rev) || !below.as_ref().is_none_or(is_folder) {
            return Err(CliError::usage(format!("`{text}` is no source of a policy; {expected}")));
        }
        Ok(Self::Git { url, rev, below })
    }

    /// The name that a policy has where nobody gives it one.
    pub(super) fn name(&self) -> Option<String> {
        let last = match self {
            Self::Folder(path) => {
                return path.canonicalize().ok()?.file_name()?.to_str().map(str::to_owned);
            }
            Self::Git { below: Some(below), .. } => below.rsplit('/').next()?,
            Self::Git { url, .. } => url.trim_end_matches('/').rsplit(['/', ':']).next()?,
        };
        Some(last.trim_end_matches(".git").to_owned())
    }

    /// Fetches it; a repository at `revision` where one is given, else at what its name means now.
    pub(super) fn fetch(&self, revision: Option<&str>) -> Result<Fetched, CliError> {
        let fetched = match self {
            Self::Folder(path) => {
                let files = policy_files(path).map_err(|error| unreadable(path, &error))?;
                Fetched { files, revision: None }
            }
            Self::Git { url, rev, below } => {
                let repository = GitRepository::new()?;
                let commit = repository.commit(url, revision.unwrap_or(rev))?;
                let files = repository.files(&commit, below.as_deref(), &self.to_string())?;
                Fetched { files, revision: Some(commit) }
            }
        };
        match fetched.files.contains_key(FILE) {
            true => Ok(fetched),
            false => Err(CliError::unreadable(format!(
                "{self}: has no `{FILE}`; expected the folder of one policy, in a repository named \
                 as `URL@REV#FOLDER`"
            ))),
        }
    }
}

impl fmt::Display for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Git { url, rev, below: None } => write!(f, "{url}@{rev}"),
            Self::Git { url, rev, below: Some(below) } => write!(f, "{url}@{rev}#{below}"),
        }
    }
}

/// Where the path of a URL begins; none where a text is no URL.
fn path_of_url(text: &str) -> Result<Option<usize>, CliError> {
    if let Some((scheme, rest)) = text.split_once("://") {
        if !PROTOCOLS.contains(&scheme) {
            return Err(CliError::usage(format!(
                "`{text}`: git is not asked over `{scheme}`; expected a URL of https, ssh or file"
            )));
        }
        let before = scheme.len() + 3;
        return Ok(Some(before + rest.find('/').unwrap_or(rest.len())));
    }
    // As ssh is often written: `git@host:team/policies`.
    let is_host = |host: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
        host.contains('@') && !host.starts_with('-') && host.chars().all(plain)
    };
    Ok(text.split_once(':').filter(|(host, _)| is_host(host)).map(|(host, _)| host.len() + 1))
}

/// A repository of our own that holds what was fetched, for as long as it is looked at.
struct GitRepository(tempfile::TempDir);

impl GitRepository {
    fn new() -> Result<Self, CliError> {
        let folder = tempfile::tempdir()
            .map_err(|error| CliError::internal(format!("no temporary folder: {error}")))?;
        let repository = Self(folder);
        repository.git(&["init", "--quiet", "--bare", "."], "git init")?;
        Ok(repository)
    }

    /// Fetches a revision and gives its commit.
    fn commit(&self, url: &str, rev: &str) -> Result<String, CliError> {
        let what = format!("{url}@{rev}");
        let fetch =
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
        let into = |spec: &str| -> Vec<String> {
            fetch
                .iter()
                .map(|arg| (*arg).to_owned())
                .chain(["--".into(), url.into(), spec.into()])
                .collect()
        };
        let run = |args: Vec<String>| {
            self.git(&args.iter().map(String::as_str).collect::<Vec<_>>(), &what)
        };
        let named = |kind: &str| into(&format!("+refs/{kind}/{rev}:refs/heads/wanted"));
        let all = || into("+refs/*:refs/fetched/*");
        let is_full = rev.len() >= 40 && rev.chars().all(|letter| letter.is_ascii_hexdigit());
        let by_name = || run(named("tags")).or_else(|_| run(named("heads")));
        let found = match is_full {
            true => run(into(&format!("+{rev}:refs/heads/wanted"))),
            false => by_name(),
        };
        // Some servers give no commit by its hash, and none by the beginning of one.
        let wanted = match found {
            Ok(_) => "refs/heads/wanted".to_owned(),
            Err(_) => {
                run(all())?;
                rev.to_owned()
            }
        };
        let commit = format!("{wanted}^{{commit}}");
        let told =
            self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], &what);
        let told = told.map_err(|_| {
            CliError::unreadable(format!(
                "{what}: the repository has no such revision; expected a tag, a branch or a commit"
            ))
        })?;
        Ok(String::from_utf8_lossy(&told).trim().to_owned())
    }

    /// The files of a folder in a commit. Links and submodules are refused.
    fn files(
        &self,
        commit: &str,
        below: Option<&str>,
        what: &str,
    ) -> Result<BTreeMap<String, Vec<u8>>, CliError> {
        let tree = format!("{commit}:{}", below.unwrap_or_default());
        let listed =
            self.git(&["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", &tree], what);
        let listed = listed.map_err(|_| {
            let below = below.unwrap_or_default();
            CliError::unreadable(format!("{what}: the commit {commit} has no folder `{below}`"))
        })?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let (mut files, mut size) = (BTreeMap::new(), 0);
        for line in listed.split('\0').filter(|line| !line.is_empty()) {
            let (about, path) = line.split_once('\t').unwrap_or((line, ""));
            let mut about = about.split(' ');
            let (mode, id) = (about.next().unwrap_or_default(), about.nth(1).unwrap_or_default());
            if !mode.starts_with("100") || path.split('/').any(|it| it == ".." || it == ".git") {
                return Err(CliError::unreadable(format!(
                    "{what}: `{path}` is a link or a submodule; a shared policy has plain files alone"
                )));
            }
            let bytes = self.git(&["cat-file", "blob", id], what)?;
            size += bytes.len();
            files.insert(path.to_owned(), bytes);
            if files.len() > MOST_FILES || size > MOST_BYTES {
                return Err(CliError::unreadable(format!(
                    "{what}: holds more than {MOST_FILES} files or {} MiB; name the folder of one \
                     policy: `URL@REV#FOLDER`",
                    MOST_BYTES >> 20
                )));
            }
        }
        Ok(files)
    }

    /// Runs git, which runs nothing of anybody's.
    fn git(&self, args: &[&str], what: &str) -> Result<Vec<u8>, CliError> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            // Who asks for a password, and by which ssh, is the user's own to say.
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("GIT_")
                && !["GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"].contains(&&*name)
            {
                command.env_remove(name);
            }
        }
        for setting in [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "submodule.recurse=false",
            "fetch.recurseSubmodules=false",
            "protocol.allow=never",
            "protocol.https.allow=always",
            "protocol.ssh.allow=always",
            "protocol.file.allow=always",
            "gc.auto=0",
        ] {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(self.0.path());
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").stdin(Stdio::null());
        let ran = command.output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => CliError::unavailable(
                "there is no program `git`, which fetches policies from repositories; install git, or \
                 name a folder",
            ),
            _ => CliError::unavailable(format!("git: {error}")),
        })?;
        if ran.status.success() {
            return Ok(ran.stdout);
        }
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let said = said.lines().find(|line| line.starts_with("fatal:")).or(said.lines().last());
        let said = said.unwrap_or("it failed").trim_start_matches("fatal: ").to_owned();
        Err(CliError::unavailable(format!("{what}: git says: {said}")))
    }
}

/// Writes a folder with these files, all or none: what stood there is removed once they are there.
pub(super) fn put(folder: &Path, all: &BTreeMap<String, Vec<u8>>) -> Result<(), CliError> {
    let shelf = folder.parent().unwrap_or(folder);
    files::make_folder(shelf)?;
    let made = tempfile::Builder::new().prefix(".adding-").tempdir_in(shelf);
    let made = made.map_err(|error| files::unwritable(shelf, &error))?;
    for (name, bytes) in all {
        let path = made.path().join(name);
        files::make_folder(path.parent().unwrap_or(shelf))?;
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| files::unwritable(&path, &error))?;
        file.write_all(bytes).map_err(|error| files::unwritable(&path, &error))?;
    }
    open_to_all(made.path()).map_err(|error| files::unwritable(folder, &error))?;
    let old = tempfile::Builder::new().prefix(".removing-").tempdir_in(shelf);
    let old = old.map_err(|error| files::unwritable(shelf, &error))?;
    let there = folder.symlink_metadata().is_ok();
    let aside = old.path().join("policy");
    let swapped = match there {
        true => std::fs::rename(folder, &aside),
        false => Ok(()),
    };
    let swapped = swapped.and_then(|()| {
        std::fs::rename(made.path(), folder).or_else(|error| {
            if there {
                std::fs::rename(&aside, folder)?;
            }
            Err(error)
        })
    });
    swapped.map_err(|error| files::unwritable(folder, &error))
}

/// A temporary folder is its owner's alone, and a policy of a project is not.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::unreadable(format!("{}: {}", path.display(), files::cause(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<SharedSource, &str>) {
        match (SharedSource::parse(text), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found, expected);
                assert_eq!(found.to_string(), text);
            }
            (Err(error), Err(part)) => assert!(error.line().contains(part), "{}", error.line()),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_source_is_a_folder_or_a_revision() {
        let git = |url: &str, rev: &str, below: Option<&str>| {
            let (url, rev, below) = (url.to_owned(), rev.to_owned(), below.map(str::to_owned));
            Ok(SharedSource::Git { url, rev, below })
        };
        check("../team", Ok(SharedSource::Folder("../team".into())));
        check("a@b", Ok(SharedSource::Folder("a@b".into())));
        check("https://h/p@v1", git("https://h/p", "v1", None));
        check("https://u@h/p.git@feat/x#a/b", git("https://u@h/p.git", "feat/x", Some("a/b")));
        check("ssh://git@h:22/p@0a1b", git("ssh://git@h:22/p", "0a1b", None));
        check("git@h:t/p@main", git("git@h:t/p", "main", None));
        check("file:///srv/p@main#x", git("file:///srv/p", "main", Some("x")));
        check("ssh://git@h/p", Err("names no revision"));
        check("https://h/p@", Err("is no source of a policy"));
        check("https://h/p@--upload-pack=x", Err("is no source of a policy"));
        check("https://h/p@v1#../x", Err("is no source of a policy"));
        check("http://h/p@v1", Err("expected a URL of https, ssh or file"));
        check("ext::sh -c x", Ok(SharedSource::Folder("ext::sh -c x".into())));
    }

    #[test]
    fn the_last_step_of_a_source_is_its_name() {
        let name = |text: &str| SharedSource::parse(text).unwrap().name();
        assert_eq!(name("https://h/t/strict.git@v1").as_deref(), Some("strict"));
        assert_eq!(name("git@h:strict@v1").as_deref(), Some("strict"));
        assert_eq!(name("https://h/p@v1#a/b").as_deref(), Some("b"));
    }
}
