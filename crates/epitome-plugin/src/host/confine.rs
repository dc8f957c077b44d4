//! What the kernel keeps a program from, and all that it starts: on Linux, as far as the kernel can.
//!
//! Landlock and seccomp hold for a thread and for what it starts, so a program is started on a thread of
//! its own that is confined first and ends then. Nothing of this is undone, and nothing else of the host
//! is touched.
//!
//! Invariant: what a kernel does not know is left out, and what it knows and refuses is an error. Called
//! by [`super::child`].

use std::collections::BTreeMap;
use std::io;
use std::process::{Child, Command};
use std::thread;

use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope,
};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::confinement::ProcessConfinement;
use super::launch::{LaunchOptions, ProcessNeeds};

/// Where everybody may write: what is written there is gone.
const SINKS: [&str; 2] = ["/dev/null", "/dev/zero"];

/// Starts a program in a group of processes, which nothing that it starts can leave.
pub(super) fn spawn(
    command: &mut Command,
    launch: &LaunchOptions,
    group: i32,
) -> io::Result<Child> {
    let confined = || {
        restrict(launch.needs, group)?;
        command.spawn()
    };
    let child = thread::scope(|scope| scope.spawn(confined).join())
        .map_err(|_| io::Error::other("the thread that starts it panicked"))??;
    limit(&child, launch.limits.memory);
    Ok(child)
}

/// What this kernel keeps a program from.
pub(super) fn confinement() -> io::Result<ProcessConfinement> {
    thread::spawn(|| restrict(ProcessNeeds::default(), 0))
        .join()
        .map_err(|_| io::Error::other("the thread that tries it panicked"))?
}

/// Confines this thread for good.
fn restrict(needs: ProcessNeeds, group: i32) -> io::Result<ProcessConfinement> {
    let files = restrict_files(needs)?;
    // A kernel without seccomp has no other way to say so.
    let network = filter(needs, group).is_some_and(|it| seccompiler::apply_filter(&it).is_ok());
    Ok(ProcessConfinement { files, network })
}

/// Nothing is written or signalled outside of what it starts; whether the kernel sees to that.
fn restrict_files(needs: ProcessNeeds) -> io::Result<bool> {
    let mut rules = Ruleset::default().scope(Scope::Signal).map_err(io::Error::other)?;
    if !needs.files {
        rules = rules.handle_access(AccessFs::from_write(ABI::V5)).map_err(io::Error::other)?;
    }
    if !needs.network {
        rules = rules.scope(Scope::AbstractUnixSocket).map_err(io::Error::other)?;
    }
    let mut rules = rules.create().map_err(io::Error::other)?;
    for sink in SINKS.iter().filter(|_| !needs.files) {
        if let Ok(sink) = PathFd::new(sink) {
            let rule = PathBeneath::new(sink, AccessFs::WriteFile);
            rules = rules.add_rule(rule).map_err(io::Error::other)?;
        }
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// The calls that fail: those that would leave the group, and those that would reach others.
fn filter(needs: ProcessNeeds, group: i32) -> Option<BpfProgram> {
    let other = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, group as u64);
    let leaves = SeccompRule::new(vec![other.ok()?]).ok()?;
    let mut calls = BTreeMap::from([
        (libc::SYS_setsid, Vec::new()),
        (libc::SYS_setpgid, vec![leaves]),
        // It makes calls that nobody filters.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]);
    if !needs.network {
        calls.insert(libc::SYS_socket, Vec::new());
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    SeccompFilter::new(calls, SeccompAction::Allow, refused, arch).ok()?.try_into().ok()
}

/// The memory that it may write to, by each of its processes, and no dump of it where it crashes.
fn limit(child: &Child, memory: Option<u64>) {
    let pid = Some(Pid::from_child(child));
    let most = |most| Rlimit { current: Some(most), maximum: Some(most) };
    let limits = memory.map(|bytes| (Resource::Data, bytes)).into_iter();
    for (what, bytes) in limits.chain([(Resource::Core, 0)]) {
        // It may have ended already.
        prlimit(pid, what, most(bytes)).ok();
    }
}
