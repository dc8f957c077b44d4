//! Events as the log of the proxy says them.
//!
//! Invariant: a sentence says what happened and never what a conversation says.

use anstyle::AnsiColor;
use epitome::types::{Event, EventKind};
use tracing::Level;

use super::words;
use crate::text::plain;

/// Logs an event: what happened to a prompt as information, what went wrong as a warning.
pub(crate) fn logged(event: &Event) {
    let Some((level, text)) = line(event) else { return };
    let session = event.session.as_str();
    if level == Level::WARN {
        tracing::warn!(target: "news", session, "{text}");
    } else if level == Level::INFO {
        tracing::info!(target: "news", session, "{text}");
    } else {
        tracing::debug!(target: "news", session, "{text}");
    }
}

/// The sentence of an event, and how much it matters; `None` of what quotes a conversation.
fn line(event: &Event) -> Option<(Level, String)> {
    use EventKind::*;
    let level = match event.what {
        Compressed { .. } | CompressionSkipped { .. } | RolloverComplete { .. } => Level::INFO,
        ContextWarning { .. } | PolicyReloaded { .. } | CompactionChanged { .. } => Level::INFO,
        StoreBack => Level::INFO,
        GoalUpdated { .. } | Recalled { .. } | Handover { .. } | DriftDetected { .. } => {
            return None;
        }
        _ => match words::of(event).0 {
            AnsiColor::Red | AnsiColor::Yellow => Level::WARN,
            _ => Level::DEBUG,
        },
    };
    Some((level, plain(&words::of(event).1)))
}

#[cfg(test)]
mod tests {
    use epitome::types::{Actor, CompactionCause, FactCounts, GoalAction, GoalChange};

    use super::*;

    #[test]
    fn a_compression_is_said_in_words_and_nobody_is_quoted() {
        let said =
            |tokens, what| line(&Event { session: "s".into(), at: String::new(), tokens, what });
        let must_keep = FactCounts { paths: [4, 5], ..FactCounts::default() };
        let (compaction, ops) = (String::new(), Vec::new());
        let compressed = EventKind::Compressed {
            compaction,
            number: 3,
            cause: CompactionCause::Hard,
            ops,
            must_keep,
        };
        let text = "compressed (3), hard: 6,123 → 3,000 tokens, 49 % kept; 4 of 5 paths";
        assert_eq!(said([6123, 3000], compressed), Some((Level::INFO, text.to_owned())));
        let cause = "team: line 3\nno such function".to_owned();
        let failed = said([9, 9], EventKind::PolicyError { cause });
        assert_eq!(failed, Some((Level::WARN, "team: line 3 no such function".to_owned())));
        let change = GoalChange::Next { text: "a secret".into() };
        let act = GoalAction::new(None, change);
        assert_eq!(said([9, 9], EventKind::GoalUpdated { act, by: Actor::User }), None);
    }
}
