//! `epitome policy add`, `update` and `remove`: policies from elsewhere, and the lock that says what they
//! hold.
//!
//! Invariant: nothing that is fetched runs before `epitome trust`; the lock and the folder say the same
//! when a verb ends, and what a person changed is never replaced unasked.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use epitome::Config;
use epitome::lock::{LockState, LockedPolicy, PolicyLock, hashes, policy_files};

use super::changes::{self, Texts};
use super::fetch::{Fetched, SharedSource, put};
use super::place::{self, LIBRARY, POLICIES, TYPES, shown};
use crate::fault::{self, CliError};
use crate::files;
use crate::settings::ConfigFlags;

/// Adds a policy from a folder or a repository and locks what it holds; it runs after `epitome trust`
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome policy add https://git.example/team/policies@v1#strict"
)]
pub(crate) struct AddArgs {
    /// A folder, or a commit, tag or branch of a repository and the folder in it
    #[arg(value_name = "PATH|URL@REV[#FOLDER]")]
    source: String,
    /// Its name here [default: the last step of its source]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    whose: OwnerFlags,
}

/// Fetches added policies again and shows what changes; they run after `epitome trust`
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy update --locked")]
pub(crate) struct UpdateArgs {
    /// One of them [default: all]
    name: Option<String>,
    /// Fetches exactly what the lock says, and refuses anything else
    #[arg(long)]
    locked: bool,
    /// Gives up changes that were made here
    #[arg(long)]
    discard: bool,
    #[command(flatten)]
    whose: OwnerFlags,
}

/// Removes a policy that was added
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy remove strict")]
pub(crate) struct RemoveArgs {
    /// Its name
    name: String,
    /// Gives up changes that were made here
    #[arg(long)]
    discard: bool,
    #[command(flatten)]
    whose: OwnerFlags,
}

/// Whose policies.
#[derive(clap::Args)]
struct OwnerFlags {
    /// Your own policies, for all projects, in place of the project's
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    config: ConfigFlags,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// A folder of policies with its lock.
struct SharedFolder {
    shelf: PathBuf,
    lock: PolicyLock,
    quiet: bool,
    /// Has the folder to itself until it is dropped: two that add something wait for each other.
    _turn: Option<File>,
}

impl OwnerFlags {
    fn open(&self) -> Result<SharedFolder, CliError> {
        let config = self.config.load(|sources| sources)?;
        let shelf = match self.user {
            false => place::project(POLICIES)?,
            true => config.own_policies().ok_or_else(|| {
                CliError::usage("no home folder, in which your own policies would stand")
            })?,
        };
        let turn = turn(&shelf);
        let lock = PolicyLock::read(&shelf)?;
        Ok(SharedFolder { shelf, lock, quiet: self.quiet, _turn: turn })
    }
}

/// Waits until no other process changes a folder of policies; nothing where there is no folder yet that
/// could be held.
fn turn(shelf: &Path) -> Option<File> {
    let folder = shelf.parent().unwrap_or(shelf);
    std::fs::create_dir_all(folder).ok()?;
    let file = OpenOptions::new().read(true).open(folder).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Runs `policy add`.
pub(super) fn add(args: &AddArgs) -> Result<(), CliError> {
    let mut folder = args.whose.open()?;
    let source = SharedSource::parse(&args.source)?;
    if let SharedSource::Folder(path) = &source
        && !path.is_dir()
    {
        return Err(CliError::unreadable(format!(
            "{}: no such folder; expected the folder of a policy, or `URL@REV` of a repository",
            path.display()
        )));
    }
    let name = args.name.clone().or_else(|| source.name());
    let name =
        name.ok_or_else(|| CliError::usage("the source has no name; give it one: `--as NAME`"))?;
    folder.check_name(&name)?;
    let fetched = source.fetch(None)?;
    // What is there without being locked would count as the user's own.
    folder.record(&name, folder.written(&source), &fetched)?;
    put(&folder.shelf.join(&name), &fetched.files)?;
    folder.tell(&name, &Texts::default(), &fetched.files)
}

/// Runs `policy update`.
pub(super) fn update(args: &UpdateArgs) -> Result<(), CliError> {
    let mut folder = args.whose.open()?;
    let all: Vec<_> = match &args.name {
        Some(name) => vec![folder.added(name)?],
        None => folder.lock.policies.clone(),
    };
    if all.is_empty() {
        fault::note("no policy was added here; `epitome policy add` adds one");
    }
    for policy in all {
        folder.update(&policy, args.locked, args.discard)?;
    }
    Ok(())
}

/// Runs `policy remove`.
pub(super) fn remove(args: &RemoveArgs) -> Result<(), CliError> {
    let mut folder = args.whose.open()?;
    let policy = folder.added(&args.name)?;
    folder.unedited(&policy, args.discard)?;
    folder.clear(&policy.name)?;
    folder.lock = PolicyLock::read(&folder.shelf)?;
    folder.lock.policies.retain(|one| one.name != policy.name);
    folder.save()?;
    if !folder.quiet {
        fault::note(&format!(
            "`{}` is removed; {} names it no longer",
            policy.name,
            folder.lock_file()
        ));
    }
    Ok(())
}

impl SharedFolder {
    /// Whether a policy may be added under a name.
    fn check_name(&self, name: &str) -> Result<(), CliError> {
        Self::check_word(name)?;
        if self.lock.find(name).is_some() {
            return Err(CliError::usage(format!(
                "`{name}` was added already; `epitome policy update {name}` fetches it again"
            )));
        }
        let folder = self.shelf.join(name);
        match folder.symlink_metadata().is_ok() {
            true => Err(CliError::usage(format!(
                "{}: is there already; choose another name: `--as NAME`",
                shown(&folder)
            ))),
            false => Ok(()),
        }
    }

    /// Whether a policy from elsewhere may have a name at all.
    fn check_word(name: &str) -> Result<(), CliError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(CliError::usage(format!(
                "`{name}` is no name of a policy; expected letters, digits, `-` and `_`, as in `--as team`"
            )));
        }
        if [LIBRARY, TYPES].contains(&name) {
            return Err(CliError::usage(format!(
                "`{name}` is no policy but a folder that policies share; choose another name: `--as NAME`"
            )));
        }
        // One of that name may be there that hides it.
        match Config::ships_policy(name) {
            true => Err(CliError::usage(format!(
                "`{name}` is a shipped policy, which this one would hide; choose another name: `--as NAME`"
            ))),
            false => Ok(()),
        }
    }

    /// A policy that was added.
    fn added(&self, name: &str) -> Result<LockedPolicy, CliError> {
        self.lock.find(name).cloned().ok_or_else(|| {
            let known: Vec<_> = self.lock.policies.iter().map(|one| one.name.as_str()).collect();
            let known = if known.is_empty() { "no others".to_owned() } else { known.join(", ") };
            CliError::usage(format!(
                "{} names no policy `{name}`; it names {known}",
                self.lock_file()
            ))
        })
    }

    /// Whether nothing would be lost that a person changed.
    fn unedited(&self, policy: &LockedPolicy, discard: bool) -> Result<(), CliError> {
        let LockedPolicy { name, .. } = policy;
        match policy.state(&self.shelf) {
            LockState::Edited if !discard => Err(CliError::usage(format!(
                "{} was changed since it was added; keep the changes under another name, or give them \
                 up with `--discard`",
                shown(&self.shelf.join(name))
            ))),
            _ => Ok(()),
        }
    }

    fn update(
        &mut self,
        policy: &LockedPolicy,
        locked: bool,
        discard: bool,
    ) -> Result<(), CliError> {
        let LockedPolicy { name, revision, files, .. } = policy;
        Self::check_word(name)?;
        self.unedited(policy, discard)?;
        let source = self.found(&policy.source)?;
        let fetched = source.fetch(revision.as_deref().filter(|_| locked))?;
        let found = hashes(&fetched.files);
        if locked && found != *files {
            let differs = |(path, hash): &(&String, &String)| files.get(*path) != Some(*hash);
            let changed = found.iter().filter(differs).map(|(path, _)| path);
            let gone = files.keys().filter(|path| !found.contains_key(*path));
            let names: Vec<_> = changed.chain(gone).map(String::as_str).collect();
            return Err(CliError::found(format!(
                "{source}: is not what {} says of `{name}`: {} differ; nothing was changed",
                self.lock_file(),
                names.join(", ")
            )));
        }
        let folder = self.shelf.join(name);
        let before = policy_files(&folder).unwrap_or_default();
        if before == fetched.files {
            if !self.quiet {
                fault::note(&format!("`{name}` is what its source has"));
            }
            return match locked {
                true => Ok(()),
                false => self.record(name, policy.source.clone(), &fetched),
            };
        }
        self.record(name, policy.source.clone(), &fetched)?;
        put(&folder, &fetched.files)?;
        self.tell(name, &changes::texts(&before), &fetched.files)
    }

    /// A source as the lock writes it: a folder of the project from the project on.
    fn written(&self, source: &SharedSource) -> String {
        let SharedSource::Folder(path) = source else { return source.to_string() };
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let top = self.top().canonicalize().unwrap_or_else(|_| self.top().to_owned());
        let below = whole.strip_prefix(&top).map(Path::to_owned).unwrap_or(whole);
        below.display().to_string()
    }

    /// A source as the lock says it.
    fn found(&self, source: &str) -> Result<SharedSource, CliError> {
        Ok(match SharedSource::parse(source)? {
            SharedSource::Folder(path) => SharedSource::Folder(self.top().join(path)),
            git => git,
        })
    }

    /// What paths in the lock are relative to: the folder of the project, or of the configuration.
    fn top(&self) -> &Path {
        let beside = self.shelf.parent().unwrap_or(&self.shelf);
        match self.shelf.ends_with(POLICIES) {
            true => beside.parent().unwrap_or(beside),
            false => beside,
        }
    }

    fn record(&mut self, name: &str, source: String, fetched: &Fetched) -> Result<(), CliError> {
        // Others may have added something meanwhile.
        self.lock = PolicyLock::read(&self.shelf)?;
        let (name, revision) = (name.to_owned(), fetched.revision.clone());
        self.lock.put(LockedPolicy { name, source, revision, files: hashes(&fetched.files) });
        self.save()
    }

    fn save(&self) -> Result<(), CliError> {
        files::write(&PolicyLock::path(&self.shelf), self.lock.render().as_bytes())
    }

    fn clear(&self, name: &str) -> Result<(), CliError> {
        let folder = self.shelf.join(name);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(files::unwritable(&folder, &error))
            }
            _ => Ok(()),
        }
    }

    fn lock_file(&self) -> String {
        shown(&PolicyLock::path(&self.shelf))
    }

    /// What changed, and how it comes to run.
    fn tell(
        &self,
        name: &str,
        before: &Texts,
        after: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), CliError> {
        if self.quiet {
            return Ok(());
        }
        let folder = shown(&self.shelf.join(name));
        files::to_stdout(|out| {
            changes::print(out, before, &changes::texts(after))?;
            writeln!(out, "\n{} locks what it holds. Read it, then let it run:", self.lock_file())?;
            writeln!(out, "  epitome trust {folder}")
        })
    }
}
