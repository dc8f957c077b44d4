//! What a host asks over the protocol, whichever form the plugin has.
//!
//! Invariant: nothing here knows how lines go to and fro. Called by the forms.

use serde_json::Value;

use super::error::{PluginError, PluginErrorCause};
use super::lines::shown;
use crate::protocol::{
    DIGEST, DigestAnswer, DigestCall, HOST, HostInfo, HostMessage, PROTOCOL, PluginMessage,
};
use crate::{DigestInput, DigestOutput, Plugin, PluginInfo, text};

/// What the first call of all is called in errors.
pub(super) const HELLO: &str = "hello";
/// So many answers make up for the failures before them.
pub(super) const FORGIVEN_AFTER: u32 = 50;

/// A plugin that is asked over the protocol.
pub trait HostedPlugin: Plugin {
    /// What it says about itself; starts it where it was not asked before.
    ///
    /// # Errors
    ///
    /// Where it does not say hello.
    fn hello(&self) -> Result<PluginInfo, PluginError>;

    /// What it wrote to its log, the newest lines.
    fn log(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How a form of plugins is asked.
pub(super) trait ProtocolForm {
    /// One call and its answer; `provides` says whether the plugin offers what the call is for.
    fn call(
        &self,
        name: &str,
        provides: &dyn Fn(&PluginInfo) -> bool,
        asked: &dyn Fn(u64) -> HostMessage,
    ) -> Result<Value, PluginError>;

    /// An error after which it is asked again as if nothing had happened.
    fn passing(&self, call: &str, cause: PluginErrorCause) -> PluginError;
}

/// Asks for a digest.
pub(super) fn digest(
    form: &impl ProtocolForm,
    job: &DigestInput<'_>,
) -> Result<Option<DigestOutput>, PluginError> {
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
    let mut answer = answered(form, &call)?;
    // Who counts bytes may miss a size in tokens; then it is told once what its bytes weigh.
    if let Some(found) = &answer
        && let size = job.size(&found.text)
        && size > job.most
    {
        call.most_bytes = share(found.text.len() as u64, job.most, size) / 20 * 19;
        answer = answered(form, &call)?;
    }
    Ok(answer.map(|answer| digested(job.text, answer)))
}

/// Asks a hook.
pub(super) fn hook(
    form: &impl ProtocolForm,
    hook: &str,
    job: &Value,
    options: &Value,
) -> Result<Option<Value>, PluginError> {
    let provides = |about: &PluginInfo| about.hooks.iter().any(|name| name == hook);
    let ok = form.call(hook, &provides, &|id| HostMessage::Hook {
        id,
        hook: hook.to_owned(),
        job: job.clone(),
        options: options.clone(),
    })?;
    Ok(Some(ok).filter(|ok| !ok.is_null()))
}

/// The host's hello.
pub(super) fn host_hello() -> HostMessage {
    HostMessage::Hello { hello: HostInfo { protocol: PROTOCOL, host: HOST.to_owned() } }
}

/// The plugin's, by what came back.
pub(super) fn greeted(said: PluginMessage) -> Result<PluginInfo, PluginErrorCause> {
    match said {
        PluginMessage::Hello { hello } if hello.protocol == PROTOCOL => Ok(hello.into()),
        PluginMessage::Hello { hello } => Err(PluginErrorCause::Version { theirs: hello.protocol }),
        PluginMessage::Failed { error, .. } => {
            Err(PluginErrorCause::Reported { message: shown(error.as_bytes()) })
        }
        PluginMessage::Done { .. } => {
            Err(PluginErrorCause::NoMessage { found: "an answer before hello".to_owned() })
        }
    }
}

/// The answer to a call, by what came back.
pub(super) fn answer_to(id: u64, said: PluginMessage) -> Result<Value, PluginErrorCause> {
    match said {
        PluginMessage::Done { id: answered, ok } if answered == id => Ok(ok),
        PluginMessage::Failed { id: answered, error } if answered == id => {
            Err(PluginErrorCause::Reported { message: shown(error.as_bytes()) })
        }
        PluginMessage::Done { id: answered, .. } | PluginMessage::Failed { id: answered, .. } => {
            Err(PluginErrorCause::Stray { asked: id, answered })
        }
        PluginMessage::Hello { .. } => {
            Err(PluginErrorCause::NoMessage { found: "a second hello".to_owned() })
        }
    }
}

fn answered(
    form: &impl ProtocolForm,
    call: &DigestCall,
) -> Result<Option<DigestAnswer>, PluginError> {
    let asked = |id| HostMessage::Digest { id, digest: call.clone() };
    let ok = form.call(DIGEST, &|about| about.digest, &asked)?;
    serde_json::from_value(ok).map_err(|error| {
        form.passing(DIGEST, PluginErrorCause::Misshapen { reason: error.to_string() })
    })
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
