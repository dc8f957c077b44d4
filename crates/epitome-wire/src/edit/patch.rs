//! Byte patches: a span and what stands there instead.
//!
//! Invariant: the patches of one splice do not overlap, and a list stays a list: commas always
//! stand between items, and an untouched item and the white space around it keep their bytes.

use crate::json::Span;
use crate::site::BracketList;

/// A replacement of one span.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) span: Span,
    pub(super) with: String,
}

/// One item of an edited list, in the new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListItem {
    /// The item that stood at this place; places only grow.
    Keep(usize),
    /// New JSON.
    New(String),
}

/// The patches that make a list consist of `items`.
pub(super) fn list(
    text: &str,
    list: &BracketList,
    items: impl Iterator<Item = ListItem>,
    patches: &mut Vec<Patch>,
) {
    let inside = list.span.start + 1;
    let first = list.items.first().map_or(inside, |item| item.start);
    let end = list.items.last().map_or(inside, |item| item.end);
    let mut kept: Option<usize> = None;
    let mut new: Vec<String> = Vec::new();
    for item in items {
        let place = match item {
            ListItem::New(json) => {
                new.push(json);
                continue;
            }
            ListItem::Keep(place) => place,
        };
        let Some(here) = list.items.get(place) else { continue };
        let from = kept.and_then(|kept| list.items.get(kept)).map_or(first, |item| item.end);
        let with = match (kept, new.is_empty()) {
            (None, true) => String::new(),
            (None, false) => new.join(",") + ",",
            (Some(_), false) => format!(",{},", new.join(",")),
            // The comma in front of the item, with its white space, now follows the one before.
            (Some(kept), true) if kept + 1 < place => {
                let before = list.items.get(place - 1).map_or(from, |item| item.end);
                Span::new(before, here.start).of(text).to_owned()
            }
            (Some(_), true) => {
                kept = Some(place);
                continue;
            }
        };
        push(patches, Span::new(from, here.start), with);
        new.clear();
        kept = Some(place);
    }
    let from = kept.and_then(|kept| list.items.get(kept)).map_or(first, |item| item.end);
    let comma = if kept.is_some() && !new.is_empty() { "," } else { "" };
    push(patches, Span::new(from, end), format!("{comma}{}", new.join(",")));
}

fn push(patches: &mut Vec<Patch>, span: Span, with: String) {
    if span.len() > 0 || !with.is_empty() {
        patches.push(Patch { span, with });
    }
}

/// The text with the patches made. Patches that begin and end at one point keep their order.
pub(super) fn splice(text: &str, mut patches: Vec<Patch>) -> String {
    patches.sort_by_key(|patch| (patch.span.start, patch.span.end));
    let added: usize = patches.iter().map(|patch| patch.with.len()).sum();
    let gone: usize = patches.iter().map(|patch| patch.span.len()).sum();
    let mut out = String::with_capacity((text.len() + added).saturating_sub(gone));
    let mut at = 0;
    for Patch { span, with } in patches {
        debug_assert!(at <= span.start, "patches overlap at byte {}", span.start);
        out.push_str(Span::new(at, span.start).of(text));
        out.push_str(&with);
        at = span.end;
    }
    out.push_str(Span::new(at, text.len()).of(text));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `items`: digits keep the item at that place, letters are new items.
    fn check(items: &str, expected: &str) {
        let text = "[ 0, 11 ,222 ]";
        let spans = [(2, 3), (5, 7), (9, 12)].map(|(start, end)| Span::new(start, end));
        let old = BracketList { span: Span::new(0, text.len()), items: spans.to_vec() };
        let items = items.chars().map(|item| match item.to_digit(10) {
            Some(place) => ListItem::Keep(place as usize),
            None => ListItem::New(item.to_string()),
        });
        let mut patches = Vec::new();
        list(text, &old, items, &mut patches);
        assert_eq!(splice(text, patches), expected);
    }

    #[test]
    fn commas_stand_between_items() {
        check("012", "[ 0, 11 ,222 ]");
        check("12", "[ 11 ,222 ]");
        check("02", "[ 0 ,222 ]");
        check("01", "[ 0, 11 ]");
        check("2", "[ 222 ]");
        check("0", "[ 0 ]");
        check("", "[  ]");
        check("a012", "[ a,0, 11 ,222 ]");
        check("0a12", "[ 0,a,11 ,222 ]");
        check("012ab", "[ 0, 11 ,222,a,b ]");
        check("ab2", "[ a,b,222 ]");
        check("0a", "[ 0,a ]");
        check("a", "[ a ]");
    }

    #[test]
    fn an_empty_list_takes_items() {
        let old = BracketList { span: Span::new(1, 4), items: Vec::new() };
        let mut patches = Vec::new();
        list(
            ":[ ]",
            &old,
            [ListItem::New("a".into()), ListItem::New("b".into())].into_iter(),
            &mut patches,
        );
        assert_eq!(splice(":[ ]", patches), ":[a,b ]");
    }
}
