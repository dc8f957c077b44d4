//! The client's process: the terminal is its own, and signals reach it as if we were not there.
//!
//! Invariant: we outlive it, and end as it ended. Called by `run`.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, stdin};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use rustix::process::{Pid, kill_process};
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault::CliError;

/// What shells add to the number of a signal that ended a process.
const SIGNALLED: i32 = 128;

/// What passes through to the client: what its user and the machine tell it, and whether a
/// terminal tells it of that itself.
const PASSED: [(SignalKind, rustix::process::Signal, bool); 6] = [
    (SignalKind::interrupt(), rustix::process::Signal::INT, true),
    (SignalKind::quit(), rustix::process::Signal::QUIT, true),
    (SignalKind::hangup(), rustix::process::Signal::HUP, false),
    (SignalKind::terminate(), rustix::process::Signal::TERM, false),
    (SignalKind::user_defined1(), rustix::process::Signal::USR1, false),
    (SignalKind::user_defined2(), rustix::process::Signal::USR2, false),
];

/// How a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientExit(u8);

impl From<ClientExit> for ExitCode {
    fn from(ended: ClientExit) -> Self {
        ended.0.into()
    }
}

/// A client that is about to run.
pub(super) struct Child {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
}

impl Child {
    /// The client of a command line.
    pub(super) fn of(command: &[OsString]) -> Self {
        let mut words = command.iter().cloned();
        let program = words.next().unwrap_or_default();
        Self { program, arguments: words.collect(), variables: Vec::new() }
    }

    /// Puts arguments before its own.
    pub(super) fn before(&mut self, arguments: impl Iterator<Item = String>) {
        self.arguments.splice(0..0, arguments.map(OsString::from));
    }

    /// Sets variables of its process.
    pub(super) fn variables(&mut self, variables: impl Iterator<Item = (&'static str, String)>) {
        self.variables.extend(variables);
    }

    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(super) async fn run(self) -> Result<ClientExit, CliError> {
        // Before it starts, so that none is lost and none ends us.
        let mut signals = Vec::new();
        for (kind, pass, by_terminal) in PASSED {
            signals.push((signal(kind).map_err(CliError::internal)?, pass, by_terminal));
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.variables);
        let mut child = command.spawn().map_err(|error| not_started(&self.program, &error))?;
        let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let has_terminal = stdin().is_terminal();
        loop {
            tokio::select! {
                ended = child.wait() => return ended.map(ended_as).map_err(CliError::internal),
                (pass, by_terminal) = next(&mut signals) => {
                    // A terminal sends its own to the client as well.
                    if let Some(pid) = pid.filter(|_| !(by_terminal && has_terminal)) {
                        // It may have ended a moment ago.
                        kill_process(pid, pass).unwrap_or_default();
                    }
                }
            }
        }
    }
}

/// The next signal that comes.
async fn next(
    signals: &mut [(Signal, rustix::process::Signal, bool)],
) -> (rustix::process::Signal, bool) {
    std::future::poll_fn(|context| {
        for (signal, pass, by_terminal) in signals.iter_mut() {
            if signal.poll_recv(context).is_ready() {
                return std::task::Poll::Ready((*pass, *by_terminal));
            }
        }
        std::task::Poll::Pending
    })
    .await
}

fn ended_as(status: ExitStatus) -> ClientExit {
    let code = status.code().or_else(|| Some(SIGNALLED + status.signal()?));
    ClientExit(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

fn not_started(program: &OsString, error: &io::Error) -> CliError {
    let program = program.to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => CliError::of_client(format!(
            "there is no command `{program}`; install it, or give its path"
        )),
        _ => CliError::of_client(format!("`{program}` cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[&str], expected: u8) {
        let command: Vec<_> = command.iter().map(OsString::from).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(Child::of(&command).run()).unwrap(), ClientExit(expected));
    }

    #[test]
    fn it_ends_as_the_client_ends() {
        check(&["true"], 0);
        check(&["sh", "-c", "exit 42"], 42);
        check(&["sh", "-c", "kill -TERM $$"], 143);
    }

    #[test]
    fn what_is_told_to_the_client_comes_first() {
        let command: Vec<_> = ["sh", "-c", "exit 3"].iter().map(OsString::from).collect();
        let mut client = Child::of(&command);
        client.before(["-e".to_owned()].into_iter());
        assert_eq!(client.arguments, ["-e", "-c", "exit 3"]);
    }
}
