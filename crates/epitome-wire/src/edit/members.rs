//! The members of a message that edits take or put another in the place of: its role, its id.
//!
//! Invariant: a member that stays keeps its bytes and its place. Called by `changes`, and by the
//! editor of a message.

use std::borrow::Cow;

use super::patch::{ListItem, Patch, list};
use crate::json::{self, Cursor, Span};
use crate::site::Site;

/// The patches that give a message the user's role. What only system messages may say goes.
pub(super) fn by_user<'p>(text: &'p str, site: &Site, patches: &mut Vec<Patch<'p>>) {
    let items = site.members.items.iter().enumerate().filter_map(|(at, member)| {
        match key(text, *member).as_deref() {
            Some("role") => Some(ListItem::New(r#""role":"user""#.into())),
            Some("content") => Some(ListItem::Keep(at)),
            _ => None,
        }
    });
    list(text, &site.members, items, patches);
}

/// Whether an item has an id without which the provider does not take it.
pub(super) fn needs_its_id(text: &str, site: &Site) -> bool {
    let item = text.get(site.members.span.range()).and_then(|item| json::parse(item).ok());
    let Some(item) = item.as_ref().and_then(|item| item.as_object()) else { return false };
    let may_be_anonymous = match item.text("type") {
        None => item.text("role").is_some(),
        Some(kind) => matches!(&*kind, "message" | "function_call" | "custom_tool_call"),
    };
    item.text("id").is_some() && !may_be_anonymous
}

/// The patches that take an item's id.
pub(super) fn anonymous<'p>(text: &'p str, site: &Site, patches: &mut Vec<Patch<'p>>) {
    let members = site.members.items.iter().enumerate();
    let rest = members.filter(|(_, member)| key(text, **member).as_deref() != Some("id"));
    list(text, &site.members, rest.map(|(at, _)| ListItem::Keep(at)), patches);
}

/// The key of a member.
fn key(text: &str, member: Span) -> Option<Cow<'_, str>> {
    Cursor::new(text, member.start()).value().ok()?.as_str()
}
