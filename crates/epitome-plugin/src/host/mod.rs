//! Plugins that are programs: started when first asked, stopped when they fail, started again.
//!
//! A program runs in its own folder and process group, with `PATH` and the variables that the user
//! granted and no others. That is order, not a sandbox: it may do what its user may do, so a host
//! runs only programs that the user trusts.
//!
//! Invariant: one call at a time; a call ends within its deadline; whatever the program does, the
//! host gets an answer or an error that says what happens now. Used by hosts.

mod child;
mod error;
mod lines;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::child::{ChildProcess, StderrLog};
pub use self::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use crate::protocol::{
    DIGEST, DigestAnswer, DigestCall, HOST, HostInfo, HostMessage, PROTOCOL, PluginMessage,
};
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo, text};

/// What the first call of all is called in errors.
const HELLO: &str = "hello";
/// So many answers make up for the failures before them.
const FORGIVEN_AFTER: u32 = 50;

/// How a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// The program and its arguments: a name is looked for on the path, a path begins at `folder`.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The variables that it gets beside `PATH`.
    pub env: Vec<(String, String)>,
    /// What it is held to.
    pub limits: ProcessLimits,
}

/// What a program is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// How long it may take from its start to its hello.
    pub hello: Duration,
    /// How long it may take for an answer.
    pub call: Duration,
    /// The longest line that it may write, in bytes.
    pub line: usize,
    /// How long it is left alone after each failure; after one more it stays off.
    pub pauses: Vec<Duration>,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(5),
            call: Duration::from_secs(2),
            line: 8 << 20,
            pauses: vec![Duration::ZERO, Duration::from_secs(1), Duration::from_secs(10)],
        }
    }
}

/// A plugin that is a program.
///
/// Calls wait for one another, each no longer than those before it may take.
#[derive(Debug)]
pub struct PluginProcess {
    about: PluginInfo,
    launch: LaunchOptions,
    log: StderrLog,
    state: Mutex<ProcessState>,
}

#[derive(Debug, Default)]
struct ProcessState {
    running: Option<(ChildProcess, PluginInfo)>,
    failures: usize,
    /// Answers since the last failure.
    answers: u32,
    rests_until: Option<Instant>,
    off: bool,
    calls: u64,
}

impl PluginProcess {
    /// A plugin that is started with its first call. `about` is what its manifest says.
    #[must_use]
    pub fn new(about: PluginInfo, launch: LaunchOptions) -> Self {
        Self { about, launch, log: StderrLog::default(), state: Mutex::default() }
    }

    /// What the program says about itself; starts it where it does not run.
    ///
    /// # Errors
    ///
    /// Where it does not say hello.
    pub fn hello(&self) -> Result<PluginInfo, PluginError> {
        let mut state = self.state();
        self.running(&mut state, HELLO).map(|(_, about)| about.clone())
    }

    /// What it wrote to standard error, the newest lines.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Asks for a digest.
    ///
    /// # Errors
    ///
    /// Where it fails, or answers with what is no digest.
    pub fn try_digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginError> {
        let tokens = job.size(job.text).max(1);
        let bytes = job.text.len() as u64;
        let mut call = DigestCall {
            tool: job.tool.to_owned(),
            arguments: job.arguments.to_owned(),
            text: job.text.to_owned(),
            tokens,
            most: job.most,
            most_bytes: share(bytes, job.most, tokens),
            options: job.options.clone(),
        };
        let mut answer = self.digested(&call)?;
        // Who counts bytes may miss a size in tokens; then it is told once what its bytes weigh.
        if let Some(found) = &answer
            && let size = job.size(&found.text)
            && size > job.most
        {
            call.most_bytes = share(found.text.len() as u64, job.most, size) / 20 * 19;
            answer = self.digested(&call)?;
        }
        Ok(answer.map(|answer| digested(job.text, answer)))
    }

    /// Asks a hook.
    ///
    /// # Errors
    ///
    /// Where it fails.
    pub fn try_hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginError> {
        let provides = |about: &PluginInfo| about.hooks.iter().any(|name| name == hook);
        let ok = self.call(hook, provides, |id| HostMessage::Hook {
            id,
            hook: hook.to_owned(),
            job: job.clone(),
            options: options.clone(),
        })?;
        Ok(Some(ok).filter(|ok| !ok.is_null()))
    }

    fn digested(&self, call: &DigestCall) -> Result<Option<DigestAnswer>, PluginError> {
        let asked = |id| HostMessage::Digest { id, digest: call.clone() };
        let ok = self.call(DIGEST, |about| about.digest, asked)?;
        serde_json::from_value(ok).map_err(|error| {
            self.failed(
                DIGEST,
                PluginErrorCause::Misshapen { reason: error.to_string() },
                PluginErrorEffect::GoesOn,
            )
        })
    }

    /// One call and its answer.
    fn call(
        &self,
        name: &str,
        provides: impl Fn(&PluginInfo) -> bool,
        asked: impl FnOnce(u64) -> HostMessage,
    ) -> Result<Value, PluginError> {
        let mut state = self.state();
        let id = state.calls;
        state.calls += 1;
        let limits = &self.launch.limits;
        let (running, about) = self.running(&mut state, name)?;
        let answer = if provides(about) {
            running.exchange(&asked(id), limits.call, limits).and_then(|said| match said {
                PluginMessage::Done { id: answered, ok } if answered == id => Ok(ok),
                PluginMessage::Failed { id: answered, error } if answered == id => {
                    Err(PluginErrorCause::Reported { message: lines::shown(error.as_bytes()) })
                }
                PluginMessage::Done { id: answered, .. }
                | PluginMessage::Failed { id: answered, .. } => {
                    Err(PluginErrorCause::Stray { asked: id, answered })
                }
                PluginMessage::Hello { .. } => {
                    Err(PluginErrorCause::Garbage { line: "a second hello".to_owned() })
                }
            })
        } else {
            Err(PluginErrorCause::Lacks { what: name.to_owned() })
        };
        match answer {
            Ok(ok) => {
                state.answers += 1;
                if state.answers >= FORGIVEN_AFTER {
                    state.failures = 0;
                }
                Ok(ok)
            }
            Err(cause) => Err(self.fail(&mut state, name, cause)),
        }
    }

    /// The program, which is started where it does not run and may.
    fn running<'s>(
        &self,
        state: &'s mut ProcessState,
        call: &str,
    ) -> Result<&'s mut (ChildProcess, PluginInfo), PluginError> {
        let running = match state.running.take() {
            Some(running) => running,
            None => self.start(state, call)?,
        };
        Ok(state.running.insert(running))
    }

    fn start(
        &self,
        state: &mut ProcessState,
        call: &str,
    ) -> Result<(ChildProcess, PluginInfo), PluginError> {
        if state.off {
            return Err(self.failed(call, PluginErrorCause::Off, PluginErrorEffect::Off));
        }
        let rest = state.rests_until.map(|until| until.saturating_duration_since(now()));
        if let Some(after) = rest.filter(|rest| !rest.is_zero()) {
            return Err(self.failed(
                call,
                PluginErrorCause::Resting,
                PluginErrorEffect::Restart { after },
            ));
        }
        let started = ChildProcess::start(&self.launch, &self.log).map_err(|error| {
            PluginErrorCause::Start { program: self.launch.command.join(" "), error }
        });
        let greeted = started.and_then(|mut running| {
            let about = self.greet(&mut running)?;
            Ok((running, about))
        });
        greeted.map_err(|cause| self.fail(state, HELLO, cause))
    }

    /// Hello, and what comes back.
    fn greet(&self, running: &mut ChildProcess) -> Result<PluginInfo, PluginErrorCause> {
        let hello =
            HostMessage::Hello { hello: HostInfo { protocol: PROTOCOL, host: HOST.to_owned() } };
        let limits = &self.launch.limits;
        match running.exchange(&hello, limits.hello, limits)? {
            PluginMessage::Hello { hello } if hello.protocol == PROTOCOL => Ok(hello.into()),
            PluginMessage::Hello { hello } => {
                Err(PluginErrorCause::Version { theirs: hello.protocol })
            }
            PluginMessage::Failed { error, .. } => {
                Err(PluginErrorCause::Reported { message: lines::shown(error.as_bytes()) })
            }
            PluginMessage::Done { .. } => {
                Err(PluginErrorCause::Garbage { line: "an answer before hello".to_owned() })
            }
        }
    }

    /// Draws the consequences of a failure.
    fn fail(&self, state: &mut ProcessState, call: &str, cause: PluginErrorCause) -> PluginError {
        if !cause.is_fatal() && state.running.is_some() {
            return self.failed(call, cause, PluginErrorEffect::GoesOn);
        }
        state.running = None;
        state.answers = 0;
        let pause = self.launch.limits.pauses.get(state.failures).copied();
        state.failures += 1;
        let happens = match pause.filter(|_| !cause.is_final()) {
            Some(after) => {
                state.rests_until = Some(now() + after);
                PluginErrorEffect::Restart { after }
            }
            None => {
                state.off = true;
                PluginErrorEffect::Off
            }
        };
        self.failed(call, cause, happens)
    }

    fn failed(&self, call: &str, cause: PluginErrorCause, now: PluginErrorEffect) -> PluginError {
        PluginError { plugin: self.about.name.to_string(), call: call.to_owned(), cause, now }
    }

    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plugin for PluginProcess {
    fn about(&self) -> PluginInfo {
        self.about.clone()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        Ok(self.try_digest(job)?)
    }

    fn hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        Ok(self.try_hook(hook, job, options)?)
    }
}

fn digested(original: &str, answer: DigestAnswer) -> DigestOutput {
    let left = match answer.left {
        Some(left) => left.into_iter().map(|[start, end]| start..end).collect(),
        None => text::unsaid(original, &answer.text),
    };
    DigestOutput { text: answer.text, kind: answer.kind.into(), left }
}

/// `part` of `whole`, of something else.
fn share(of: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(of) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "it times how long a program that failed rests")]
fn now() -> Instant {
    Instant::now()
}
