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

use std::borrow::Cow;

use epitome_types::{Edit, Role};

use crate::json::{Span, escape_into, escaped_len};
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
    let at = |at| move |with: &'static str| Patch { span: Span::new(at, at), with: with.into() };
    let (front, end) = (at(whole.start()), at(whole.end()));
    let kept = layout.items.iter().any(|item| matches!(item, ListItem::Keep(_)));
    if listed {
        patches.push(front("["));
        patches.extend(kept.then(|| end(responses::BARE.1)));
    }
    let items = layout.items.iter().map(ListItem::borrowed);
    list(document.text(), document.messages(), items, &mut patches);
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
    // It may be most of the request: no copy is made of it.
    let (before, after) = match format {
        Format::Responses => (
            format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":""#),
            r#""}]}"#,
        ),
        _ => (format!(r#"{{"role":"{role}","content":""#), r#""}"#),
    };
    let mut out = before;
    escape_into(&mut out, text);
    out.push_str(after);
    out.shrink_to_fit();
    out
}

/// Texts among the content of a user's message, as one.
fn text_block(format: Format, texts: &[Cow<'_, str>]) -> String {
    let kind = if format == Format::Responses { "input_text" } else { "text" };
    let mut out = format!(r#"{{"type":"{kind}","text":""#);
    join_escaped(&mut out, texts);
    out.push_str(r#""}"#);
    out
}

fn escaped(texts: &[Cow<'_, str>]) -> String {
    let mut out = String::new();
    join_escaped(&mut out, texts);
    out
}

/// Writes texts, one after the other, as the inside of one JSON string. They may be most of the
/// request: nothing else is made of them.
fn join_escaped(out: &mut String, texts: &[Cow<'_, str>]) {
    out.reserve(texts.iter().map(|text| escaped_len(text) + 2 * PARAGRAPH.len()).sum());
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            escape_into(out, PARAGRAPH);
        }
        escape_into(out, text);
    }
}

/// Makes the patches inside one message that stays.
struct Editor<'a> {
    text: &'a str,
    format: Format,
    site: &'a Site,
    change: &'a MessageChange<'a>,
}

impl<'a> Editor<'a> {
    /// The order matters where patches meet at one point: what is folded in before, the text
    /// itself, what is folded in behind.
    fn patch(&self, patches: &mut Vec<Patch<'a>>) {
        let MessageChange { before, after, .. } = self.change;
        let is_folded = !before.is_empty() || !after.is_empty();
        let mut behind = Vec::new();
        match &self.site.content {
            Content::Absent => {}
            Content::Null(_) if !is_folded => {}
            Content::Null(span) => {
                let texts = [&before[..], after].concat();
                let with = format!("\"{}\"", escaped(&texts)).into();
                patches.push(Patch { span: *span, with });
            }
            Content::Text(span) if self.drops(Home::Content) => {
                patches.push(Patch { span: *span, with: "null".into() });
            }
            Content::Text(_) if !is_folded => {}
            Content::Text(span) => {
                let [first, second] = self.fold_into_string(*span);
                patches.extend(first);
                behind = second;
            }
            Content::Blocks(blocks) => self.block_content(blocks, patches),
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
    fn fold_into_string(&self, span: Span) -> [Vec<Patch<'a>>; 2] {
        let MessageChange { before, after, .. } = self.change;
        let block = |texts: &[_]| -> Cow<'a, str> { text_block(self.format, texts).into() };
        let (mut front, mut end): (Vec<Cow<'a, str>>, Vec<Cow<'a, str>>) = (Vec::new(), Vec::new());
        let is_list = self.format == Format::Anthropic;
        if is_list {
            front.push("[".into());
            if !before.is_empty() {
                front.extend([block(before), ",".into()]);
            }
            front.push(r#"{"type":"text","text":"#.into());
            end.push("}".into());
            if !after.is_empty() {
                end.extend([",".into(), block(after)]);
            }
            end.push("]".into());
        } else {
            let between = || Cow::Owned(escaped(&[PARAGRAPH.into()]));
            if !before.is_empty() {
                front.extend([escaped(before).into(), between()]);
            }
            if !after.is_empty() {
                end.extend([between(), escaped(after).into()]);
            }
        }
        let quote = usize::from(!is_list);
        let at = |place| move |with| Patch { span: Span::new(place, place), with };
        [
            front.into_iter().map(at(span.start() + quote)).collect(),
            end.into_iter().map(at(span.end() - quote)).collect(),
        ]
    }

    fn block_content(&self, blocks: &BracketList, patches: &mut Vec<Patch<'a>>) {
        let MessageChange { before, after, .. } = self.change;
        let stays = |item: &usize| !self.drops(Home::Block(*item));
        let kept: Vec<_> = (0..blocks.items.len()).filter(stays).collect();
        if kept.is_empty() && before.is_empty() && after.is_empty() {
            let with = if self.site.calls.is_some() { "null" } else { "[]" };
            patches.push(Patch { span: blocks.span, with: with.into() });
        } else {
            // Tool results stay first (RULES 102).
            let results = kept.iter().take_while(|item| self.change.leads(**item)).count();
            let (first, rest) = kept.split_at(results);
            let keep =
                |items: &[usize]| items.iter().copied().map(ListItem::Keep).collect::<Vec<_>>();
            let new = |texts: &[Cow<'_, str>]| {
                let block = || ListItem::New(text_block(self.format, texts).into());
                (!texts.is_empty()).then(block)
            };
            let items =
                keep(first).into_iter().chain(new(before)).chain(keep(rest)).chain(new(after));
            list(self.text, blocks, items, patches);
        }
    }

    /// The lists inside tool results.
    fn inner_lists(&self, patches: &mut Vec<Patch<'a>>) {
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
    fn beside(&self, patches: &mut Vec<Patch<'a>>) {
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
    fn texts(&self, patches: &mut Vec<Patch<'a>>) {
        for (part, text) in &self.change.texts {
            let Some(PartSite { text: site, .. }) = self.site.parts.get(*part as usize) else {
                continue;
            };
            patches.extend(match *site {
                TextSite::Fixed => None,
                TextSite::Literal(span) | TextSite::Arguments { span, literal: true } => {
                    let inside = Span::new(span.start() + 1, span.end() - 1);
                    Some(Patch { span: inside, with: escaped(std::slice::from_ref(text)).into() })
                }
                TextSite::Arguments { span, literal: false } => {
                    Some(Patch { span, with: Cow::Borrowed(text.as_ref()) })
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
