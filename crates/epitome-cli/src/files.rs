//! Reading inputs and writing outputs.
//!
//! Invariant: no input larger than allowed is held in memory, and an output file is the old one or
//! the whole new one, never a part. All file access of the command is here.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::fault::CliError;

/// How an input is named in messages: its path, or what `-` stands for.
pub(crate) fn name(input: Option<&Path>) -> String {
    match input {
        Some(path) if path != Path::new("-") => path.display().to_string(),
        _ => "standard input".to_owned(),
    }
}

/// The whole of an input, at most `most` bytes.
///
/// # Errors
///
/// When it cannot be read or is larger; a file's size is known before anything is read.
pub(crate) fn read(input: Option<&Path>, most: u64) -> Result<Vec<u8>, CliError> {
    let name = name(input);
    let unreadable = |error: io::Error| CliError::unreadable(format!("{name}: {}", cause(&error)));
    let file = match input {
        Some(path) if path != Path::new("-") => open(path).map_err(unreadable)?,
        _ if io::stdin().is_terminal() => {
            return Err(CliError::usage(
                "no input: name a file, or pipe a conversation into the command",
            ));
        }
        _ => File::from(io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?),
    };
    let about = file.metadata().map_err(unreadable)?;
    if about.is_dir() {
        let line = format!("{name}: is a folder; expected a file with one conversation");
        return Err(CliError::unreadable(line));
    }
    let too_large = || {
        let line = format!(
            "{name}: is larger than {most} bytes; allow more with `--max-input` if it really is one conversation"
        );
        CliError::unreadable(line)
    };
    if about.is_file() && about.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

#[expect(clippy::disallowed_methods, reason = "the command reads what the user names")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Writes text for people or programs to standard output, with colours where it is a terminal. A
/// reader that has gone away is not an error.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn to_stdout(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let written = write(&mut out).and_then(|()| out.flush());
    unless_gone(written)
}

/// Writes bytes to standard output as they are. A reader that has gone away is not an error.
///
/// # Errors
///
/// When they cannot be written.
pub(crate) fn bytes_to_stdout(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    unless_gone(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes to standard output in parts, each as it is. A reader that has gone away is not an error.
///
/// # Errors
///
/// When they cannot be written.
pub(crate) fn parts_to_stdout(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    unless_gone(write(&mut out).and_then(|()| out.flush()))
}

/// Writes a line to standard output and hands it on at once.
pub(crate) fn line_to_stdout(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush())
}

fn unless_gone(written: io::Result<()>) -> Result<(), CliError> {
    is_read(written).map(drop)
}

/// Whether what was written to standard output has a reader; one that has gone away is not an
/// error.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn is_read(written: io::Result<()>) -> Result<bool, CliError> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::usage(format!("standard output: {}", cause(&error)))),
    }
}

/// Makes a folder where there is none.
///
/// # Errors
///
/// When it cannot be made.
pub(crate) fn make_folder(path: &Path) -> Result<(), CliError> {
    fs::create_dir_all(path).map_err(|error| unwritable(path, &error))
}

/// Makes a folder that its owner alone reads, where there is none.
///
/// # Errors
///
/// When it cannot be made.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a whole file, or leaves the old one.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let mut file = PendingFile::prepare(path)?;
    file.write(bytes)?;
    file.finish()
}

/// The same of a file that its owner alone reads, from the moment it exists.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Such files are their owner's from the beginning.
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|failed| failed.error)
}

/// What a file holds, and the file to add lines to it; it is made where there is none.
///
/// # Errors
///
/// When it cannot be read or written.
pub(crate) fn append(path: &Path) -> Result<(Vec<u8>, File), CliError> {
    let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
    let mut file = opened.map_err(|error| unwritable(path, &error))?;
    let mut before = Vec::new();
    file.read_to_end(&mut before).map_err(|error| unwritable(path, &error))?;
    Ok((before, file))
}

/// A log to add lines to, readable by its owner only; one that is larger than `largest` bytes is put
/// aside first.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn log(path: &Path, largest: u64) -> Result<File, CliError> {
    let opened = || {
        if let Some(folder) = path.parent() {
            make_private_folder(folder)?;
        }
        if fs::metadata(path).is_ok_and(|about| about.len() > largest) {
            fs::rename(path, path.with_extension("log.old"))?;
        }
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)
    };
    opened().map_err(|error| unwritable(path, &error))
}

/// Removes a store and what stands beside it, where there is one.
///
/// # Errors
///
/// When it is there and cannot be removed; the cause in short.
pub(crate) fn remove_store(path: &Path) -> Result<(), String> {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cause(&error)),
            _ => {}
        }
    }
    Ok(())
}

/// The file that an output names; `-` is standard output.
pub(crate) fn named(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| *path != Path::new("-"))
}

/// A file that is about to be written.
pub(crate) struct PendingFile {
    path: PathBuf,
    draft: FileDraft,
}

enum FileDraft {
    /// A file can be made in this folder. It is there only once there is something to write: who breaks
    /// off before that leaves nothing behind.
    Planned(PathBuf),
    /// A file beside the one it will replace; it vanishes unless it does.
    Beside(NamedTempFile),
    /// A pipe, a device or what this process was given open, which nothing can replace.
    Direct(File),
}

impl PendingFile {
    /// Makes sure that a file can be written, without touching it.
    ///
    /// # Errors
    ///
    /// When it cannot.
    pub(crate) fn prepare(path: &Path) -> Result<Self, CliError> {
        let draft = Self::draft(path).map_err(|error| unwritable(path, &error))?;
        // A link stays a link: what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, draft })
    }

    fn draft(path: &Path) -> io::Result<FileDraft> {
        if let Some(given) = given(path) {
            return given.map(FileDraft::Direct);
        }
        let about = fs::metadata(path);
        if about.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if about.is_ok_and(|about| !about.is_file()) {
            return Ok(FileDraft::Direct(OpenOptions::new().write(true).open(path)?));
        }
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        beside(folder)?.close()?;
        Ok(FileDraft::Planned(folder.to_owned()))
    }

    /// What is written into.
    fn open(&mut self) -> io::Result<&mut dyn Write> {
        if let FileDraft::Planned(folder) = &self.draft {
            self.draft = FileDraft::Beside(beside(folder)?);
        }
        match &mut self.draft {
            FileDraft::Beside(file) => Ok(file),
            FileDraft::Direct(file) => Ok(file),
            FileDraft::Planned(_) => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Writes the contents; the file itself is still the old one.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        let written = self.open().and_then(|file| file.write_all(bytes));
        written.map_err(|error| unwritable(&self.path, &error))
    }

    /// Writes the contents in parts; the file itself is still the old one.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(crate) fn write_as(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        let written = self.open().and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out).and_then(|()| out.flush())
        });
        written.map_err(|error| unwritable(&self.path, &error))
    }

    /// Puts the contents in the file's place.
    ///
    /// # Errors
    ///
    /// When that fails; the old file is still there then.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.open().map(drop).map_err(|error| unwritable(&self.path, &error))?;
        if let FileDraft::Beside(file) = self.draft {
            file.persist(&self.path).map_err(|error| unwritable(&self.path, &error.error))?;
        }
        Ok(())
    }
}

/// A file with a name of its own in a folder. Others may read the output as any file the user makes; the
/// mask of the process decides.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".epitome-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}

/// What a path names that this process was given open, whatever kind of file that is: others who
/// hold it would go on writing into a file that has no name any more if it were replaced.
fn given(path: &Path) -> Option<io::Result<File>> {
    let number = match path.to_str()? {
        "/dev/stdout" => "1",
        "/dev/stderr" => "2",
        path => ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|it| path.strip_prefix(it))?,
    };
    Some(match number {
        "1" => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        "2" => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => OpenOptions::new().append(true).open(path),
    })
}

/// Where a path leads, whether or not a file is there; of a pipe or a device, which nothing
/// replaces, nowhere.
pub(crate) fn place(path: &Path) -> Option<PathBuf> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return None;
    }
    let beside = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(beside)
}

/// The fault of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let path = path.display();
    CliError::usage(format!(
        "{path}: {}; name a file in a folder that can be written",
        cause(error)
    ))
}

/// What went wrong, without the number and the path that some errors carry.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = match error.kind() {
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::IsADirectory => "is a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
