//! A real PostgreSQL server for one test, in a folder of its own.
//!
//! Invariant: it listens on no network, and ends with the process that started it, however that ends.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Where there has to be a server: a test that finds none then fails.
const REQUIRED: &str = "EPITOME_POSTGRES";

/// Whom the server runs as where the tests run as root, which it refuses to.
const NOBODY: u32 = 65_534;

/// Runs the server, starts and stops it as it is told, and takes its folder along when nobody is left to
/// tell it anything.
const KEEPER: &str = r#"
    begin() { "$0" -D "$1/data" -k "$1" -c listen_addresses= -c shared_buffers=16MB \
        -c max_connections="$2" -c synchronous_commit="$3" >>"$1/log" 2>&1 & pid=$!; }
    begin "$@"
    while read -r word; do
        case "$word" in
            stop) kill -QUIT "$pid"; wait "$pid" ;;
            start) begin "$@" ;;
        esac
        echo done
    done
    kill -QUIT "$pid"; wait "$pid"; rm -rf "$1"
"#;

/// A server that was started for a test.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    keeper: Child,
    databases: AtomicUsize,
}

impl PostgresServer {
    /// Starts a server. Where there is none on this machine the test says so and has nothing to do, or
    /// fails where `EPITOME_POSTGRES=required`.
    ///
    /// # Errors
    ///
    /// Where there is one that does not start.
    pub fn start() -> io::Result<Option<Self>> {
        let Some(programs) = programs(&["initdb", "postgres"]) else {
            assert!(std::env::var_os(REQUIRED).is_none(), "PostgreSQL is not installed");
            #[expect(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!("SKIPPED: PostgreSQL is not installed, so nothing of it was tested");
            }
            return Ok(None);
        };
        Self::of(&programs).map(Some)
    }

    fn of(programs: &Path) -> io::Result<Self> {
        let folder = own_folder()?;
        let is_root = fs::metadata("/proc/self")?.uid() == 0;
        let as_user = |program: &Path| {
            let mut command = Command::new(program);
            command.current_dir(&folder).stderr(Stdio::null());
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        if is_root {
            chown(&folder, Some(NOBODY), Some(NOBODY))?;
        }
        let made = as_user(&programs.join("initdb"))
            .args(["-D", "data", "-U", "epitome", "-A", "trust", "-E", "UTF8", "--locale=C"])
            .arg("--no-sync")
            .stdout(Stdio::null())
            .status()?;
        if !made.success() {
            return Err(io::Error::other(format!("initdb: {made}")));
        }
        let keeper = as_user(Path::new("/bin/sh"))
            .arg("-c")
            .arg(KEEPER)
            .arg(programs.join("postgres"))
            .arg(&folder)
            .args(["40", "on"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let server = Self { folder, keeper, databases: AtomicUsize::new(0) };
        server.wait(is_ready)?;
        Ok(server)
    }

    /// The folder that its socket is in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of one of its databases; `postgres` is there from the beginning.
    pub fn address(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://epitome@{folder}/{database}")
    }

    /// The address of a database that nothing was written to.
    ///
    /// # Errors
    ///
    /// Where it cannot be made.
    pub fn new_database(&self) -> io::Result<String> {
        let name = format!("new_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let none = || io::Error::other("there is no createdb");
        let mut make = Command::new(programs(&["createdb"]).ok_or_else(none)?.join("createdb"));
        let made = make.arg("-h").arg(&self.folder).args(["-U", "epitome", &name]).status()?;
        match made.success() {
            true => Ok(self.address(&name)),
            false => Err(io::Error::other(format!("createdb: {made}"))),
        }
    }

    /// Stops the server as a crash does.
    ///
    /// # Errors
    ///
    /// Where whoever keeps it is not there.
    pub fn stop(&mut self) -> io::Result<()> {
        self.tell("stop")
    }

    /// Starts it again, and waits until it listens.
    ///
    /// # Errors
    ///
    /// Where it does not.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.tell("start")?;
        self.wait(|socket| UnixStream::connect(socket).is_ok())
    }

    fn tell(&mut self, word: &str) -> io::Result<()> {
        let gone = || io::Error::other("the keeper of the server is not there");
        writeln!(self.keeper.stdin.as_mut().ok_or_else(gone)?, "{word}")?;
        let mut answer = [0; 5];
        io::Read::read_exact(self.keeper.stdout.as_mut().ok_or_else(gone)?, &mut answer)
    }

    #[expect(clippy::disallowed_methods, reason = "a test reads why its server does not start")]
    fn wait(&self, is_there: fn(&Path) -> bool) -> io::Result<()> {
        let socket = self.folder.join(".s.PGSQL.5432");
        for _ in 0..2_000 {
            if is_there(&socket) {
                return Ok(());
            }
            sleep(Duration::from_millis(10));
        }
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        Err(io::Error::other(format!("the server does not listen: {log}")))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// Whether a server takes connections: it listens before it does.
fn is_ready(socket: &Path) -> bool {
    let greeting = b"\0\0\0\x28\0\x03\0\0user\0epitome\0database\0postgres\0\0";
    let mut first = [0];
    let greeted = UnixStream::connect(socket).and_then(|mut server| {
        server.write_all(greeting)?;
        io::Read::read_exact(&mut server, &mut first)?;
        server.write_all(b"X\0\0\0\x04")
    });
    greeted.is_ok() && first == *b"R"
}

/// A folder with a short path, as a socket needs it.
fn own_folder() -> io::Result<PathBuf> {
    let (process, parent) = (std::process::id(), std::env::temp_dir());
    for number in 0..1_000 {
        let folder = parent.join(format!("epitome-pg-{process}-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other("there is no free name for a folder"))
}

/// The folder of programs of the server: one of the search path, or where Debian keeps them.
fn programs(names: &[&str]) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut versions: Vec<_> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    let all = std::env::split_paths(&paths).chain(versions.into_iter().rev());
    all.into_iter().find(|folder| names.iter().all(|name| folder.join(name).exists()))
}
