//! Answers of OpenAI's Responses API.
//!
//! Invariant: every item goes back as it came, in its place; an item counts once it is done.

use std::collections::BTreeMap;

use super::{ResponseNotes, figure, member, set};
use crate::json::Object;

#[derive(Debug, Default)]
pub(super) struct ResponsesParser {
    /// Items that are done, as they are.
    items: BTreeMap<u64, String>,
}

impl ResponsesParser {
    /// A response by itself, or within the event that ends it.
    pub(super) fn whole(&mut self, response: &Object<'_>, notes: &mut ResponseNotes) {
        usage(response, notes);
        notes.named(response);
        notes.transformed(response);
        let status = response.text("status");
        let reason = member(response, "incomplete_details");
        let reason = reason.as_ref().and_then(|reason| reason.some("reason"));
        notes.stopped(reason.or_else(|| response.some("status")));
        notes.complete = matches!(status.as_deref(), Some("completed" | "incomplete"));
        if self.items.is_empty() {
            let output = response.some("output").and_then(|output| output.items().ok());
            for (place, item) in (0..).zip(output.into_iter().flatten()) {
                self.item(place, item.raw(), notes);
            }
        }
    }

    pub(super) fn event(&mut self, event: &Object<'_>, notes: &mut ResponseNotes) {
        match event.text("type").as_deref() {
            Some("response.output_item.done") => {
                if let Some(item) = event.some("item") {
                    let next =
                        self.items.keys().next_back().map_or(0, |last| last.saturating_add(1));
                    let place = figure(event, "output_index").unwrap_or(next);
                    self.item(place, item.raw(), notes);
                }
            }
            Some("response.completed" | "response.incomplete") => {
                if let Some(response) = member(event, "response") {
                    self.whole(&response, notes);
                }
                notes.complete = true;
            }
            Some("response.failed") => {
                let response = member(event, "response");
                if let Some(response) = &response {
                    usage(response, notes);
                    notes.named(response);
                    notes.stopped(response.some("status"));
                }
                let error = response.and_then(|response| response.some("error"));
                notes.fail(error.unwrap_or(event.value));
            }
            Some("error") => notes.fail(event.value),
            Some(_) => {}
            None => {
                notes.failed(event);
            }
        }
    }

    fn item(&mut self, place: u64, item: &str, notes: &mut ResponseNotes) {
        if item.starts_with('{') && notes.keeps(item.len() + size_of::<String>()) {
            self.items.insert(place, item.to_owned());
        }
    }

    pub(super) fn messages(self) -> Vec<Vec<u8>> {
        self.items.into_values().map(String::into_bytes).collect()
    }
}

/// The input's tokens include those of the cache.
fn usage(said: &Object<'_>, notes: &mut ResponseNotes) {
    let Some(said) = member(said, "usage") else { return };
    let Some(input) = figure(&said, "input_tokens") else { return };
    let details = member(&said, "input_tokens_details");
    let read = details.and_then(|details| figure(&details, "cached_tokens")).unwrap_or(0);
    notes.count(|usage| {
        (usage.input, usage.cache_read) = (input.saturating_sub(read), read);
        set(&mut usage.output, figure(&said, "output_tokens"));
    });
}
