//! Runs the program in a folder of its own.

#![expect(clippy::disallowed_methods, reason = "a test looks at the files that users see")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// No program that is waited for works for so long, on however slow a machine.
const HANGS: Duration = Duration::from_secs(900);

/// The program, which cargo puts one folder above the tests.
pub(crate) fn path() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().and_then(Path::parent).unwrap();
    let program = profile.join(format!("epitome{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "no program at {}: build it with `cargo build -p epitome-cli`, or run the tests of the \
         whole workspace, which does",
        program.display()
    );
    program
}

/// A file that is none of the program's.
pub(crate) fn read_file(path: impl AsRef<Path>) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Writes a file that is none of the program's.
pub(crate) fn write_file(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}

/// A folder in which the program runs; nothing outside of it is read or written.
pub(crate) struct Place(TempDir);

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A command that is about to run, with no environment that could change what it does. Programs
    /// in the folder's `bin` stand before those of the system.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(path());
        command.current_dir(self.0.path()).args(args).env_clear();
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env("HOME", self.0.path()).env("PATH", path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(args), b"")
    }

    /// Runs a line in a shell, as somebody does who copies it.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("/bin/sh");
        let folder = path().parent().unwrap().display().to_string();
        command.args(["-c", line]).current_dir(self.0.path()).env_clear();
        command.env("HOME", self.0.path()).env("PATH", format!("{folder}:/usr/bin:/bin"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ran::of(command, b"")
    }

    /// Runs with an input on standard input.
    pub(crate) fn feed<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        Ran::of(command, input)
    }
}

/// How a program ended and what it wrote. One that hangs is stopped and fails its test by name, since
/// all others would wait for it.
#[track_caller]
fn end_of(child: Child) -> Output {
    let program = Pid::from_child(&child);
    let (tell, ended) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output()));
    let out = ended.recv_timeout(HANGS).unwrap_or_else(|_| {
        kill_process(program, Signal::KILL).unwrap();
        panic!(
            "the program hangs and was stopped: {:?}",
            ended.recv_timeout(Duration::from_secs(9))
        )
    });
    out.unwrap()
}

/// The most memory that a program took until its output waited to be read, and the bytes of that.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn peak_of(mut command: Command) -> (u64, usize) {
    use std::io::Read;

    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut read = vec![0];
    out.read_exact(&mut read).unwrap();
    let most = crate::proxy::load::peak(child.id());
    out.read_to_end(&mut read).unwrap();
    assert!(child.wait().unwrap().success());
    (most, read.len())
}

impl Ran {
    pub(crate) fn of(mut command: Command, input: &[u8]) -> Self {
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let out = std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // The program may end before it has read everything.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            end_of(child)
        });
        Self {
            code: out.status.code().unwrap(),
            out: out.stdout,
            err: String::from_utf8(out.stderr).unwrap(),
        }
    }

    /// The output of a run that went well and had nothing to say.
    #[track_caller]
    pub(crate) fn silent(self) -> Vec<u8> {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }

    /// The output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// The output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap()
    }
}
