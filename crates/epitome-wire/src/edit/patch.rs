//! Byte patches: a span and what stands there instead.
//!
//! Invariant: the patches of one splice do not overlap, and a list stays a list: commas always
//! stand between items, and an untouched item and the white space around it keep their bytes.

use std::borrow::Cow;

use crate::json::Span;
use crate::site::BracketList;

/// A replacement of one span. What stands there is borrowed where it can be: it may be as large as the
/// text itself.
#[derive(Debug)]
pub(super) struct Patch<'p> {
    pub(super) span: Span,
    pub(super) with: Cow<'p, str>,
}

/// One item of an edited list, in the new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListItem<'p> {
    /// The item that stood at this place; places only grow.
    Keep(usize),
    /// New JSON.
    New(Cow<'p, str>),
}

impl ListItem<'_> {
    /// The same, without a copy of its JSON.
    pub(super) fn borrowed(&self) -> ListItem<'_> {
        match self {
            Self::Keep(place) => ListItem::Keep(*place),
            Self::New(json) => ListItem::New(Cow::Borrowed(json)),
        }
    }
}

/// The patches that make a list consist of `items`.
pub(super) fn list<'p>(
    text: &'p str,
    list: &BracketList,
    items: impl Iterator<Item = ListItem<'p>>,
    patches: &mut Vec<Patch<'p>>,
) {
    let inside = list.span.start() + 1;
    let first = list.items.first().map_or(inside, |item| item.start());
    let end = list.items.last().map_or(inside, |item| item.end());
    let mut kept: Option<usize> = None;
    let mut new: Vec<Cow<'p, str>> = Vec::new();
    for item in items {
        let place = match item {
            ListItem::New(json) => {
                if kept.is_some() || !new.is_empty() {
                    new.push(COMMA);
                }
                new.push(json);
                continue;
            }
            ListItem::Keep(place) => place,
        };
        let Some(here) = list.items.get(place) else { continue };
        let from = kept.and_then(|kept| list.items.get(kept)).map_or(first, |item| item.end());
        match kept {
            _ if !new.is_empty() => new.push(COMMA),
            None => {}
            // The comma in front of the item, with its white space, now follows the one before.
            Some(kept) if kept + 1 < place => {
                let before = list.items.get(place - 1).map_or(from, |item| item.end());
                new.push(Span::new(before, here.start()).of(text).into());
            }
            Some(_) => {
                kept = Some(place);
                continue;
            }
        }
        push(patches, Span::new(from, here.start()), new.drain(..));
        kept = Some(place);
    }
    let from = kept.and_then(|kept| list.items.get(kept)).map_or(first, |item| item.end());
    push(patches, Span::new(from, end), new.into_iter());
}

const COMMA: Cow<'_, str> = Cow::Borrowed(",");

/// Patches that put these texts, one after the other, in the place of a span.
fn push<'p>(
    patches: &mut Vec<Patch<'p>>,
    span: Span,
    mut texts: impl Iterator<Item = Cow<'p, str>>,
) {
    let first = texts.next();
    if span.len() > 0 || first.is_some() {
        patches.push(Patch { span, with: first.unwrap_or_default() });
    }
    let behind = Span::new(span.end(), span.end());
    patches.extend(texts.map(|with| Patch { span: behind, with }));
}

/// The text with the patches made. Patches that begin and end at one point keep their order.
pub(super) fn splice(text: &str, mut patches: Vec<Patch<'_>>) -> String {
    patches.sort_by_key(|patch| (patch.span.start(), patch.span.end()));
    let added: usize = patches.iter().map(|patch| patch.with.len()).sum();
    let gone: usize = patches.iter().map(|patch| patch.span.len()).sum();
    let mut out = String::with_capacity((text.len() + added).saturating_sub(gone));
    let mut at = 0;
    for Patch { span, with } in patches {
        debug_assert!(at <= span.start(), "patches overlap at byte {}", span.start());
        out.push_str(Span::new(at, span.start()).of(text));
        out.push_str(&with);
        at = span.end();
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
            None => ListItem::New(item.to_string().into()),
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
