//! Edits to bytes: collects them, settles what follows from them, and splices the result.
//!
//! Invariant: all edits are made or none; a byte that no edit aims at is copied, never rewritten.
//! Called by `Document::edited`.

mod changes;
mod order;
mod patch;
#[cfg(test)]
mod tests;

use epitome_types::{Edit, Role};

use crate::json::{Span, escape_into, literal};
use crate::site::{Content, Home, List, PartSite, Site, TextSite};
use crate::{Document, Format, WireError};
use changes::{Change, Changes};
use order::Slot;
use patch::{Item, Patch, list, splice};

/// The document's bytes with the edits made.
pub(crate) fn apply(document: &Document<'_>, edits: &[Edit]) -> Result<Vec<u8>, WireError> {
    let mut changes = Changes::collect(document, edits)?;
    changes.settle(document)?;
    let slots = order::arrange(document, &mut changes);

    let mut patches = Vec::new();
    let items = slots.into_iter().map(|slot| match slot {
        Slot::Keep(place) => Item::Keep(place),
        Slot::New { role, texts } => Item::New(message(role, &texts.join(PARAGRAPH))),
    });
    list(document.text(), document.messages(), items, &mut patches);
    for (site, change) in document.sites().iter().zip(&changes.messages) {
        if !change.removed && !change.is_empty() {
            Editor { text: document.text(), format: document.format(), site, change }
                .patch(&mut patches);
        }
    }
    Ok(splice(document.text(), patches).into_bytes())
}

/// What stands between two texts that share a message.
const PARAGRAPH: &str = "\n\n";

fn message(role: Role, text: &str) -> String {
    let role = match role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    format!(r#"{{"role":"{role}","content":{}}}"#, literal(text))
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, literal(text))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// Makes the patches inside one message that stays.
struct Editor<'a> {
    text: &'a str,
    format: Format,
    site: &'a Site,
    change: &'a Change<'a>,
}

impl Editor<'_> {
    /// The order matters where patches meet at one point: what is folded in before, the text
    /// itself, what is folded in behind.
    fn patch(&self, patches: &mut Vec<Patch>) {
        let before = (!self.change.before.is_empty()).then(|| self.change.before.join(PARAGRAPH));
        let after = (!self.change.after.is_empty()).then(|| self.change.after.join(PARAGRAPH));
        let mut behind = None;
        match &self.site.content {
            Content::Absent => {}
            Content::Null(span) => {
                let texts: Vec<_> = before.into_iter().chain(after).collect();
                if !texts.is_empty() {
                    patches.push(Patch { span: *span, with: literal(&texts.join(PARAGRAPH)) });
                }
            }
            Content::Text(span) if self.drops(Home::Content) => {
                patches.push(Patch { span: *span, with: "null".to_owned() });
            }
            Content::Text(_) if before.is_none() && after.is_none() => {}
            Content::Text(span) => {
                let [first, second] = self.fold_into_string(*span, before, after);
                patches.push(first);
                behind = Some(second);
            }
            Content::Blocks(blocks) => self.block_content(blocks, before, after, patches),
        }
        self.texts(patches);
        patches.extend(behind);
        self.inner_lists(patches);
        self.calls(patches);
    }

    /// What stands around the content's literal so that it takes texts in at either end: it turns
    /// into a block of a list, or, where strings are the rule, grows inside its quotes.
    fn fold_into_string(
        &self,
        span: Span,
        before: Option<String>,
        after: Option<String>,
    ) -> [Patch; 2] {
        let (start, end, before, after) = if self.format == Format::Anthropic {
            let before = before.map_or_else(String::new, |text| text_block(&text) + ",");
            let after = after.map_or_else(String::new, |text| format!(",{}", text_block(&text)));
            let open = format!(r#"[{before}{{"type":"text","text":"#);
            (span.start, span.end, open, format!("}}{after}]"))
        } else {
            let before = before.map_or_else(String::new, |text| escaped(&(text + PARAGRAPH)));
            let after =
                after.map_or_else(String::new, |text| escaped(&format!("{PARAGRAPH}{text}")));
            (span.start + 1, span.end - 1, before, after)
        };
        [
            Patch { span: Span::new(start, start), with: before },
            Patch { span: Span::new(end, end), with: after },
        ]
    }

    fn block_content(
        &self,
        blocks: &List,
        before: Option<String>,
        after: Option<String>,
        patches: &mut Vec<Patch>,
    ) {
        let stays = |item: &usize| !self.drops(Home::Block(*item));
        let kept: Vec<_> = (0..blocks.items.len()).filter(stays).collect();
        if kept.is_empty() && before.is_none() && after.is_none() {
            let with = if self.site.calls.is_some() { "null" } else { "[]" };
            patches.push(Patch { span: blocks.span, with: with.to_owned() });
        } else {
            // Tool results stay first (hazard 2).
            let results = kept.iter().take_while(|item| self.change.leads(**item)).count();
            let (first, rest) = kept.split_at(results);
            let keep = |items: &[usize]| items.iter().copied().map(Item::Keep).collect::<Vec<_>>();
            let new = |text: Option<String>| text.map(|text| Item::New(text_block(&text)));
            let items =
                keep(first).into_iter().chain(new(before)).chain(keep(rest)).chain(new(after));
            list(self.text, blocks, items, patches);
        }
    }

    /// The lists inside tool results.
    fn inner_lists(&self, patches: &mut Vec<Patch>) {
        for (outer, site) in (0..).zip(&self.site.parts) {
            if let Some(inner) = &site.inner
                && !self.change.dropped.contains(&outer)
            {
                let items = (0..inner.items.len())
                    .filter(|item| !self.drops(Home::Inner { outer, item: *item }));
                list(self.text, inner, items.map(Item::Keep), patches);
            }
        }
    }

    /// The calls beside the content; the key that holds them goes when none is left.
    fn calls(&self, patches: &mut Vec<Patch>) {
        let Some(calls) = &self.site.calls else { return };
        let all = calls.list.as_ref().map_or(1, |list| list.items.len());
        let kept: Vec<_> = (0..all).filter(|item| !self.drops(Home::Call(*item))).collect();
        if kept.is_empty() && all > 0 {
            let members =
                (0..self.site.members.items.len()).filter(|member| !calls.keys.contains(member));
            list(self.text, &self.site.members, members.map(Item::Keep), patches);
        } else if let Some(items) = &calls.list {
            list(self.text, items, kept.into_iter().map(Item::Keep), patches);
        }
    }

    /// New texts in the place of old ones.
    fn texts(&self, patches: &mut Vec<Patch>) {
        for (part, text) in &self.change.texts {
            let Some(PartSite { text: site, .. }) = self.site.parts.get(*part as usize) else {
                continue;
            };
            patches.extend(match *site {
                TextSite::Fixed => None,
                TextSite::Literal(span) | TextSite::Arguments { span, literal: true } => {
                    let inside = Span::new(span.start + 1, span.end - 1);
                    Some(Patch { span: inside, with: escaped(text) })
                }
                TextSite::Arguments { span, literal: false } => {
                    Some(Patch { span, with: (*text).to_owned() })
                }
            });
        }
    }

    fn drops(&self, home: Home) -> bool {
        self.change
            .dropped
            .iter()
            .any(|part| self.site.parts.get(*part as usize).is_some_and(|site| site.home == home))
    }
}
