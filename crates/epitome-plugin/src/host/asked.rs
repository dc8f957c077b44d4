//! What a host asks over the protocol, whichever form the plugin has.
//!
//! Invariant: nothing here knows how lines go to and fro. Called by the forms.

use serde_json::Value;

use super::error::{PluginError, PluginErrorCause};
use super::failures::FailureRecord;
use super::lines::shown;
use crate::protocol::{
    DIGEST, DigestAnswer, DigestCall, HOST, HostInfo, HostMessage, PROTOCOL, PluginMessage,
};
use crate::{DigestInput, DigestOutput, PluginInfo, text};

/// What the first call of all is called in errors.
pub(super) const HELLO: &str = "hello";
/// One call over the protocol.
#[derive(Debug)]
pub struct FormCall {
    /// What errors call it.
    pub(super) name: String,
    /// What the plugin must offer for it.
    needs: OfferedPart,
    /// The message, with 0 in the place of its number.
    message: HostMessage,
}

/// What a plugin may offer.
#[derive(Debug)]
enum OfferedPart {
    Digests,
    Hook(String),
}

impl FormCall {
    /// Whether the plugin offers what the call is for.
    ///
    /// # Errors
    ///
    /// Where it does not.
    pub(super) fn admit(&self, about: &PluginInfo) -> Result<(), PluginErrorCause> {
        let is_offered = match &self.needs {
            OfferedPart::Digests => about.digest,
            OfferedPart::Hook(hook) => about.hooks.iter().any(|name| name == hook),
        };
        match is_offered {
            true => Ok(()),
            false => Err(PluginErrorCause::Lacks { what: self.name.clone() }),
        }
    }

    /// The message under a number.
    pub(super) fn numbered(self, number: u64) -> HostMessage {
        let mut message = self.message;
        if let HostMessage::Digest { id, .. } | HostMessage::Hook { id, .. } = &mut message {
            *id = number;
        }
        message
    }
}

/// How a form of plugins is asked. It keeps the record of its plugin's failures.
pub trait ProtocolForm: Send + Sync {
    /// One call and its answer.
    ///
    /// # Errors
    ///
    /// Where it fails.
    fn call(&self, record: &FailureRecord, call: FormCall) -> Result<Value, PluginError>;

    /// What the plugin says about itself; starts it where it was not asked before.
    ///
    /// # Errors
    ///
    /// Where it does not say hello.
    fn hello(&self, record: &FailureRecord) -> Result<PluginInfo, PluginError>;

    /// What it wrote to its log, the newest lines.
    fn log(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Asks for a digest.
pub(super) fn digest(
    form: &impl ProtocolForm,
    record: &FailureRecord,
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
    let mut answer = answered(form, record, &call)?;
    // Who counts bytes may miss a size in tokens; then it is told once what its bytes weigh.
    if let Some(found) = &answer
        && let size = job.size(&found.text)
        && size > job.most
    {
        call.most_bytes = share(found.text.len() as u64, job.most, size) / 20 * 19;
        answer = answered(form, record, &call)?;
    }
    Ok(answer.map(|answer| digested(job.text, answer)))
}

/// The call of a hook.
pub(super) fn hook(hook: &str, job: &Value, options: &Value) -> FormCall {
    FormCall {
        name: hook.to_owned(),
        needs: OfferedPart::Hook(hook.to_owned()),
        message: HostMessage::Hook {
            id: 0,
            hook: hook.to_owned(),
            job: job.clone(),
            options: options.clone(),
        },
    }
}

/// An answer that says something.
pub(super) fn said(answer: Value) -> Option<Value> {
    Some(answer).filter(|answer| !answer.is_null())
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
    record: &FailureRecord,
    digest: &DigestCall,
) -> Result<Option<DigestAnswer>, PluginError> {
    let message = HostMessage::Digest { id: 0, digest: digest.clone() };
    let call = FormCall { name: DIGEST.to_owned(), needs: OfferedPart::Digests, message };
    serde_json::from_value(form.call(record, call)?).map_err(|error| {
        record.passing(DIGEST, PluginErrorCause::Misshapen { reason: error.to_string() })
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
