//! What a message that was not answered means for the conversation.
//!
//! Invariant: a line that says who failed and what to do, and an exit code for scripts: 4 where it
//! cannot fit, 5 where the model failed. Called by the loop of `chat`, and where a model is met.

use epitome::model::{ModelClient, ModelFailure};
use epitome::{ChatError, Error, nearest};

use crate::fault::CliError;
use crate::text::on_one_line;

/// So many of the models that there are, are named.
const NAMED: usize = 8;

/// Why a message was not answered.
pub(super) struct ChatFailure {
    pub(super) fault: CliError,
    /// Whether the next message would meet the same.
    pub(super) stays: bool,
}

impl ChatFailure {
    /// Of a message.
    pub(super) async fn of(error: ChatError, client: &ModelClient) -> Self {
        match error {
            ChatError::Session(error) => {
                let stays = !matches!(error, Error::CannotFit { .. });
                Self { fault: fault_of(error), stays }
            }
            ChatError::Model { failure, .. } => Self::of_model(failure, client).await,
            error => Self { fault: CliError::unavailable(error), stays: false },
        }
    }

    /// Of a model.
    pub(super) async fn of_model(failure: ModelFailure, client: &ModelClient) -> Self {
        let model = &client.endpoint().spec;
        let line = format!("{model}: {failure}");
        let (fault, stays) = match failure {
            ModelFailure::Refused { status: 404, .. } => {
                let known = client.models().await.unwrap_or_default();
                (CliError::unavailable(line + &instead(&model.name, &known)), true)
            }
            ModelFailure::Refused { status: 401 | 403, .. }
            | ModelFailure::Unreachable { .. }
            | ModelFailure::Request(_) => (CliError::unavailable(line), true),
            _ => (CliError::unavailable(line), false),
        };
        Self { fault, stays }
    }
}

/// What looking after the conversation ended with.
pub(super) fn fault_of(error: Error) -> CliError {
    match error {
        Error::CannotFit { .. } => CliError::cannot_fit(error),
        error => CliError::of(error),
    }
}

/// The models that a server has, where it has not the one that was asked for.
fn instead(name: &str, known: &[String]) -> String {
    if known.is_empty() || known.iter().any(|known| known == name) {
        return String::new();
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let named: Vec<_> = known.iter().take(NAMED).map(|name| on_one_line(name)).collect();
    let more = if known.len() > NAMED { ", and more" } else { "" };
    format!("{meant}; it has {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_that_there_are_are_named() {
        let known = ["llama3.2:3b".to_owned(), "qwen".to_owned()];
        let meant = "; did you mean `llama3.2:3b`?; it has llama3.2:3b, qwen";
        assert_eq!(instead("llama3.2:3", &known), meant);
        assert_eq!(instead("zephyr", &known), "; it has llama3.2:3b, qwen");
        assert_eq!((&*instead("qwen", &known), &*instead("x", &[])), ("", ""));
    }
}
