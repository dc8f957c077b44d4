//! Whoever is told what happens to sessions.

use std::sync::Arc;

use epitome_types::Event;

/// Somebody who is told of events.
pub(crate) type EventListener = Arc<dyn Fn(&Event) + Send + Sync>;
