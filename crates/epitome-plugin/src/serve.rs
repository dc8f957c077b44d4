//! The loop of a plugin that is a program, and the answer of one that is a module.
//!
//! Invariant: every line from the host gets exactly one line back, and nothing else is written to
//! standard output. Called in `main` of programs, and by what a module exports.

use std::io::{self, BufRead, Write};

use serde_json::Value;

use crate::protocol::{DigestAnswer, DigestCall, HostMessage, PluginMessage};
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure};

/// Answers the host on standard input and output until it closes them.
///
/// # Errors
///
/// Where the host cannot be read or written to any more, or says what is no line of the protocol.
pub fn serve(plugin: &dyn Plugin) -> io::Result<()> {
    serve_over(plugin, io::stdin().lock(), io::stdout().lock())
}

/// The same over any two pipes.
///
/// # Errors
///
/// See [`serve`].
pub fn serve_over(
    plugin: &dyn Plugin,
    mut from: impl BufRead,
    mut to: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    while from.read_line(&mut line)? > 0 {
        let asked: HostMessage = serde_json::from_str(&line)?;
        serde_json::to_writer(&mut to, &answer(plugin, asked))?;
        to.write_all(b"\n")?;
        to.flush()?;
        line.clear();
    }
    Ok(())
}

/// The answer to one line, for a plugin that is a module; [`crate::export_module`] calls it.
#[must_use]
pub fn serve_line(plugin: &dyn Plugin, line: &[u8]) -> Vec<u8> {
    let said = match serde_json::from_slice(line) {
        Ok(asked) => answer(plugin, asked),
        Err(error) => PluginMessage::Failed { id: 0, error: error.to_string() },
    };
    serde_json::to_vec(&said).unwrap_or_default()
}

fn answer(plugin: &dyn Plugin, asked: HostMessage) -> PluginMessage {
    let (id, answer) = match asked {
        HostMessage::Hello { .. } => return PluginMessage::Hello { hello: plugin.about().into() },
        HostMessage::Digest { id, digest } => (id, digested(plugin, &digest)),
        HostMessage::Hook { id, hook, job, options } => (id, plugin.hook(&hook, &job, &options)),
        HostMessage::Unknown { id } => (id, Err(PluginFailure::new("it does not know this call"))),
    };
    match answer {
        Ok(ok) => PluginMessage::Done { id, ok: ok.unwrap_or_default() },
        Err(failed) => PluginMessage::Failed { id, error: failed.to_string() },
    }
}

fn digested(plugin: &dyn Plugin, call: &DigestCall) -> Result<Option<Value>, PluginFailure> {
    // Sizes in the host's unit, by the share that this text's bytes have in it.
    let bytes = (call.text.len() as u64).max(1);
    let tokens = |part: u64| part.saturating_mul(call.tokens.max(1)).div_ceil(bytes);
    let measure = |text: &str| tokens(text.len() as u64);
    let most = tokens(call.most_bytes);
    let job = DigestInput::new(&call.text, most, &measure)
        .of(&call.tool, &call.arguments)
        .with(&call.options);
    let answer = plugin.digest(&job)?;
    Ok(answer.and_then(|answer| serde_json::to_value(DigestAnswer::from(answer)).ok()))
}

impl From<DigestOutput> for DigestAnswer {
    fn from(digested: DigestOutput) -> Self {
        let left = digested.left.into_iter().map(|span| [span.start, span.end]).collect();
        Self { text: digested.text, kind: digested.kind.into(), left: Some(left) }
    }
}
