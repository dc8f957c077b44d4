//! One run of a program: pipes, the threads at their ends, and its end.
//!
//! Invariant: whoever drops it has killed the whole process group and reaped the program; where the host
//! is killed before, the group's guard does it; no call
//! waits longer than its deadline, whatever the program reads, writes or leaves undone. Used by
//! [`super::PluginProcess`].

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
use super::confine;
use super::error::PluginErrorCause;
#[cfg(unix)]
use super::group::ProcessGroup;
use super::launch::{LaunchOptions, ProcessLimits};
use super::lines::{self, StreamLine};
use crate::protocol::{HostMessage, PluginMessage};

/// Lines that may wait to be heard; a program that writes on is held up.
const WAITING: usize = 2;
/// Lines of the log that are remembered, and bytes of each.
const LOG: usize = 50;
const LOG_LINE: usize = 4096;
/// How long the end of a log is waited for once the program is gone: what it started may hold the
/// log open where it left the group.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a program wrote to standard error, the newest lines.
pub(super) type StderrLog = Arc<Mutex<VecDeque<String>>>;

/// A program that runs.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    #[cfg(unix)]
    group: ProcessGroup,
    stopped: bool,
    /// To the thread that writes to it.
    input: Sender<Vec<u8>>,
    /// From the thread that reads from it.
    output: Receiver<StreamLine>,
    log: StderrLog,
    /// Closed once the log is read to its end.
    log_end: Receiver<()>,
}

impl ChildProcess {
    /// Starts it; its log goes on in `log`.
    pub(super) fn start(launch: &LaunchOptions, log: &StderrLog) -> io::Result<Self> {
        let (program, args) = launch
            .command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no command is given"))?;
        // A name is looked for on the path, a path starts at the plugin's folder.
        let is_path = program.contains(['/', std::path::MAIN_SEPARATOR]);
        let program = if is_path { launch.folder.join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.args(args).current_dir(&launch.folder).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        let group = ProcessGroup::new()?;
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, group.id());
        #[cfg(target_os = "linux")]
        let mut child = confine::spawn(&mut command, launch, group.id())?;
        #[cfg(not(target_os = "linux"))]
        let mut child = command.spawn()?;

        let (input, to_write) = channel();
        let (heard, output) = sync_channel(WAITING);
        let (log_open, log_end) = sync_channel(0);
        if let Some(stdin) = child.stdin.take() {
            thread::spawn(move || write(stdin, &to_write));
        }
        if let Some(stdout) = child.stdout.take() {
            let most = launch.limits.line;
            thread::spawn(move || listen(stdout, most, &heard));
        }
        if let Some(stderr) = child.stderr.take() {
            let log = Arc::clone(log);
            thread::spawn(move || note(stderr, &log, log_open));
        }
        Ok(Self {
            child,
            #[cfg(unix)]
            group,
            stopped: false,
            input,
            output,
            log: Arc::clone(log),
            log_end,
        })
    }

    /// Says one line and waits for one.
    pub(super) fn exchange(
        &mut self,
        asked: &HostMessage,
        deadline: Duration,
        limits: &ProcessLimits,
    ) -> Result<PluginMessage, PluginErrorCause> {
        let mut line =
            serde_json::to_vec(asked).map_err(|error| PluginErrorCause::Unsayable { error })?;
        line.push(b'\n');
        if self.input.send(line).is_err() {
            return Err(self.ended());
        }
        match self.output.recv_timeout(deadline) {
            Ok(StreamLine::Whole(line)) => serde_json::from_slice(&line)
                .map_err(|_| PluginErrorCause::Garbage { line: lines::shown(&line) }),
            Ok(StreamLine::Cut(line)) => {
                Err(PluginErrorCause::TooLong { most: limits.line, line: lines::shown(&line) })
            }
            Ok(StreamLine::End) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                Err(PluginErrorCause::Late { deadline, said: self.last_words() })
            }
        }
    }

    /// What is known once it has closed its output.
    fn ended(&mut self) -> PluginErrorCause {
        let status = self.stop().unwrap_or_else(|| "in an unknown way".to_owned());
        PluginErrorCause::Ended { status, said: self.last_words() }
    }

    /// Kills what is left of it and of what it started; says how it ended.
    fn stop(&mut self) -> Option<String> {
        if !self.stopped {
            self.stopped = true;
            #[cfg(unix)]
            self.group.kill();
            // It may have ended already.
            self.child.kill().ok();
        }
        let status = self.child.wait().ok()?;
        Some(status.to_string())
    }

    fn last_words(&self) -> Option<String> {
        // The sender is never used: what is waited for is that it is dropped.
        self.log_end.recv_timeout(LAST_WORDS).ok();
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.back().cloned()
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes what is sent, until the program is gone or no longer wanted; then closes its input.
fn write(mut to: impl Write, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// Hands on lines until there are no more, one is too long, or nobody listens.
fn listen(from: impl Read, most: usize, to: &SyncSender<StreamLine>) {
    let mut from = BufReader::new(from);
    loop {
        let line = lines::next(&mut from, most).unwrap_or(StreamLine::End);
        let goes_on = matches!(line, StreamLine::Whole(_));
        if to.send(line).is_err() || !goes_on {
            return;
        }
    }
}

/// Remembers the newest lines, whatever their length, and drops `open` at the end.
fn note(from: impl Read, log: &StderrLog, open: SyncSender<()>) {
    let mut from = BufReader::new(from);
    while let Ok(StreamLine::Whole(line) | StreamLine::Cut(line)) = lines::next(&mut from, LOG_LINE)
    {
        let line = lines::shown(&line);
        if line.is_empty() {
            continue;
        }
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() == LOG {
            log.pop_front();
        }
        log.push_back(line);
    }
    drop(open);
}
