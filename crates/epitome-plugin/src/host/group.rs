//! The group of processes that a program and all that it starts belong to.
//!
//! Its first process is a guard: a shell that waits for the end of its input, which only the host holds,
//! and then kills the group. So nothing is left running where the host is killed itself.
//!
//! Invariant: the group's number is nobody else's as long as this lives. Used by [`super::child`].

use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// What the guard does.
const GUARD: &str = "read -r nothing; kill -s KILL 0";

/// A group of processes.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    guard: Child,
    /// The guard waits for its end.
    _hold: Option<ChildStdin>,
}

impl ProcessGroup {
    /// A new group.
    pub(super) fn new() -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD]).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut guard = command.spawn()?;
        let _hold = guard.stdin.take();
        Ok(Self { guard, _hold })
    }

    /// Its number.
    pub(super) fn id(&self) -> i32 {
        Pid::from_child(&self.guard).as_raw_nonzero().get()
    }

    /// Kills all that is in it.
    ///
    /// The guard is not reaped before that, so that until then no other group can have its number.
    pub(super) fn kill(&mut self) {
        // All may be over already.
        kill_process_group(Pid::from_child(&self.guard), Signal::KILL).ok();
        self.guard.wait().ok();
    }
}
