//! The lines that policies and the loader write to the log.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

/// The place and the text of one line.
#[derive(Default)]
struct LogLine {
    at: String,
    text: String,
}

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => write!(self.text, "{value:?}").unwrap(),
            "at" => write!(self.at, "{value:?}").unwrap(),
            _ => {}
        }
    }
}

impl<S: Subscriber> Layer<S> for LogLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = LogLine::default();
        event.record(&mut line);
        let (level, at) = (event.metadata().level(), line.at.trim_matches('"').to_owned());
        self.0.lock().unwrap().push(format!("{level} {at} {}", line.text));
    }
}

/// Returns the lines that were written while `act` ran, as `LEVEL place text`.
pub(crate) fn spoken(act: impl FnOnce()) -> Vec<String> {
    let lines = LogLines::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines.clone()), act);
    let lines = lines.0.lock().unwrap();
    lines.clone()
}
