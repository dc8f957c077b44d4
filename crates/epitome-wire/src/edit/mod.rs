//! Edits to bytes: collects them, settles what follows from them, and splices the result.
//!
//! Invariant: all edits are made or none; a byte that no edit aims at is copied, never rewritten.
//! Called through [`RequestDocument::edited`].

mod changes;
mod layout;
mod members;
mod order;
mod patch;
mod seats;
mod slot;
#[cfg(test)]
mod tests;

use epitome_types::{Edit, Role};

use crate::json::{Span, escape_into, literal};
use crate::site::{BracketList, Content, Home, PartSite, Site, TextSite};
use crate::{Format, RequestDocument, WireError, responses};
use changes::MessageChange;
pub use layout::MessageLayout;
use patch::{ListItem, Patch, list, splice};

impl RequestDocument<'_> {
    /// The request with edits applied; without edits, the very same bytes. Everything that no edit
    /// aims at keeps its bytes. A text for the user that would stand next to a message of the user
    /// is folded into it (RULES 11, 106).
    ///
    /// # Errors
    ///
    /// When an edit aims at nothing, at the top-level system prompt or at reasoning (RULES 107), or
    /// when two edits contradict each other. Then none is made.
    pub fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, WireError> {
        Ok(self.laid_out(&self.layout(edits)?))
    }

    /// What edits make of the messages, here and in every request that goes on from this one.
    ///
    /// # Errors
    ///
    /// As [`RequestDocument::edited`].
    pub fn layout(&self, edits: &[Edit]) -> Result<MessageLayout, WireError> {
        MessageLayout::of(self, edits)
    }

    /// The request laid out like this: what [`RequestDocument::edited`] makes of the same edits.
    pub fn laid_out(&self, layout: &MessageLayout) -> Vec<u8> {
        write(self, layout)
    }
}

/// The document's bytes, laid out like this.
fn write(document: &RequestDocument<'_>, layout: &MessageLayout) -> Vec<u8> {
    let mut patches = Vec::new();
    // One text becomes a list where it is not the only message any more.
    let listed = document.is_bare() && !matches!(layout.items.as_slice(), [ListItem::Keep(_)]);
    let whole = document.messages().span;
    let at = |at| move |with: &str| Patch { span: Span::new(at, at), with: with.to_owned() };
    let (front, end) = (at(whole.start), at(whole.end));
    let kept = layout.items.iter().any(|item| matches!(item, ListItem::Keep(_)));
    if listed {
        patches.push(front("["));
        patches.extend(kept.then(|| end(responses::BARE.1)));
    }
    list(document.text(), document.messages(), layout.items.iter().cloned(), &mut patches);
    if listed {
        patches.extend(kept.then(|| front(responses::BARE.0)));
        patches.push(end("]"));
    }
    let sites = layout.changes.iter();
    for (site, change) in
        sites.filter_map(|(at, change)| Some((document.sites().get(*at)?, change)))
    {
        Editor { text: document.text(), format: document.format(), site, change }
            .patch(&mut patches);
    }
    splice(document.text(), patches).into_bytes()
}

/// What stands between two texts that share a message.
const PARAGRAPH: &str = "\n\n";

fn message(format: Format, role: Role, text: &str) -> String {
    let (role, kind) = match role {
        Role::System => ("system", "input_text"),
        Role::Assistant => ("assistant", "output_text"),
        Role::User | Role::Tool => ("user", "input_text"),
    };
    if format == Format::Responses {
        let text = block(kind, text);
        return format!(r#"{{"type":"message","role":"{role}","content":[{text}]}}"#);
    }
    format!(r#"{{"role":"{role}","content":{}}}"#, literal(text))
}

/// A text among the content of a user's message.
fn text_block(format: Format, text: &str) -> String {
    block(if format == Format::Responses { "input_text" } else { "text" }, text)
}

fn block(kind: &str, text: &str) -> String {
    format!(r#"{{"type":"{kind}","text":{}}}"#, literal(text))
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
    change: &'a MessageChange<'a>,
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
        self.beside(patches);
        if self.change.by_user {
            members::by_user(self.text, self.site, patches);
        }
        if self.change.anonymous {
            members::anonymous(self.text, self.site, patches);
        }
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
            let block = |text: String| text_block(self.format, &text);
            let before = before.map_or_else(String::new, |text| block(text) + ",");
            let after = after.map_or_else(String::new, |text| format!(",{}", block(text)));
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
        blocks: &BracketList,
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
            // Tool results stay first (RULES 102).
            let results = kept.iter().take_while(|item| self.change.leads(**item)).count();
            let (first, rest) = kept.split_at(results);
            let keep =
                |items: &[usize]| items.iter().copied().map(ListItem::Keep).collect::<Vec<_>>();
            let new = |text: Option<String>| {
                text.map(|text| ListItem::New(text_block(self.format, &text)))
            };
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
                list(self.text, inner, items.map(ListItem::Keep), patches);
            }
        }
    }

    /// What stands beside the content: members that are parts by themselves, and lists of calls and
    /// images, whose key goes when none is left.
    fn beside(&self, patches: &mut Vec<Patch>) {
        let calls = self.site.calls.iter().map(|calls| (calls, Home::Call as fn(usize) -> Home));
        let images = self.site.images.iter().map(|images| (images, Home::Image as _));
        let alone = |part: &u32| match self.site.parts.get(*part as usize)?.home {
            Home::Member(member) => Some(member),
            _ => None,
        };
        let mut gone: Vec<_> = self.change.dropped.iter().filter_map(alone).collect();
        for (beside, home) in calls.chain(images) {
            let all = beside.list.as_ref().map_or(1, |list| list.items.len());
            let kept: Vec<_> = (0..all).filter(|item| !self.drops(home(*item))).collect();
            if kept.is_empty() && all > 0 {
                gone.extend_from_slice(&beside.keys);
            } else if let Some(items) = &beside.list {
                list(self.text, items, kept.into_iter().map(ListItem::Keep), patches);
            }
        }
        if !gone.is_empty() {
            let members = (0..self.site.members.items.len()).filter(|it| !gone.contains(it));
            list(self.text, &self.site.members, members.map(ListItem::Keep), patches);
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
                    Some(Patch { span, with: text.clone().into_owned() })
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
