//! Digests web pages: their text, without navigation, scripts and styles.
//!
//! Headings, items of lists, rows of tables, preformatted text and links stay recognisable, as
//! plain text writes them. What stands around the main part on every page of a site goes, and
//! where the text has no room either, of each section its beginning stays, and what the call asked
//! for. A page that was read as a file, to be edited, is left alone.
//!
//! Invariant: every word of a digest is the page's own, spelled without entities, or stands in
//! `[… ]`.

mod element;
mod entity;
mod page;
mod scan;

use epitome_plugin::text::outline::{DigestOutline, OutlineItem, RankCap, clip, counted, passages};
use epitome_plugin::text::query::QueryWords;
use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

use page::{BlockKind, HtmlPage, PageBlock};

/// What the digest calls itself.
const KIND: &str = "html";
/// Up to this size the text is whole, by the measure of the job; beyond it, parts of sections go.
const WHOLE: u64 = 2000;
/// A page begins within so many bytes; before it there may be the headers of an answer.
const BEGIN: usize = 4096;
/// Where not all blocks fit, one says at most about so many bytes.
const BLOCK: usize = 700;
/// A failure is told in a line or two.
const FAILURE: usize = 400;

/// Ranks: what names the parts, what fails or was asked for, then the beginning of each part.
const NAME: u32 = 0;
const WANTED: u32 = 1;
const PLACE: u32 = 2;

/// Digests web pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct HtmlDigester;

impl Plugin for HtmlDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("html", "1")
            .with_doc("web pages as text: without navigation, scripts and styles")
            .with_digest()
            .with_option("whole", WHOLE, "tokens up to which the text of a page is whole")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        Ok(digest(job))
    }
}

fn digest(job: &DigestInput<'_>) -> Option<DigestOutput> {
    let start = begin(job.text).filter(|_| !shape::reads_file(job))?;
    let page = HtmlPage::read(&job.text[start..]);
    if page.blocks.is_empty() {
        return None;
    }
    let outline = |most: usize| DigestOutline {
        head: head(&page, job.text[..start].trim_end()),
        items: items(&page, start, job, most),
        caps: vec![RankCap { rank: PLACE, most: job.number("whole", WHOLE) }],
        noun: Some("blocks"),
        must: false,
    };
    let whole = outline(usize::MAX).fill(job, KIND)?;
    let digested = if whole.left.is_empty() { whole } else { outline(BLOCK).fill(job, KIND)? };
    let beside = page.around.iter().chain(&page.scripts);
    let beside = beside.map(|span| span.start + start..span.end + start);
    let left = passages(job.text, digested.left.into_iter().chain(beside));
    (digested.text.len() < job.text.len()).then_some(DigestOutput { left, ..digested })
}

/// Where the page begins; `None` where the text is none.
fn begin(text: &str) -> Option<usize> {
    let early = &text[..text.floor_char_boundary(BEGIN)];
    let opens = |at: &usize| {
        let tag = early.as_bytes()[*at..].get(..9).map(<[u8]>::to_ascii_lowercase);
        tag.is_some_and(|tag| tag == b"<!doctype" || tag.starts_with(b"<html"))
    };
    let found = early.match_indices('<').map(|(at, _)| at).find(opens)?;
    // A doctype of another language is none of a page.
    let doctype = &early[found..];
    let doctype = doctype[..doctype.find('>').unwrap_or(doctype.len())].to_ascii_lowercase();
    doctype.contains("html").then_some(found)
}

/// What stands above the text: what came before the page, and what is left out of it.
fn head(page: &HtmlPage, before: &str) -> String {
    let mut gone = Vec::new();
    let counts = [
        (page.around.len(), "blocks around the main part"),
        (page.scripts.len(), "scripts"),
        (page.styles, "styles"),
        (page.comments, "comments"),
    ];
    for (count, noun) in counts.into_iter().filter(|(count, _)| *count > 0) {
        gone.push(counted(count, noun));
    }
    let gone =
        if gone.is_empty() { String::new() } else { format!(", without {}", gone.join(", ")) };
    let mark = format!("[… HTML as text{gone}]");
    if before.is_empty() { mark } else { format!("{before}\n{mark}") }
}

/// The blocks, where each says at most about `most` bytes.
fn items<'a>(
    page: &'a HtmlPage,
    start: usize,
    job: &DigestInput<'_>,
    most: usize,
) -> Vec<OutlineItem<'a>> {
    let asked = QueryWords::of(job.arguments, page.blocks.iter().map(|block| block.text.as_str()));
    let wanted = |block: &PageBlock| {
        asked.says(&block.text) || block.text.len() <= FAILURE && shape::fails(&block.text)
    };
    let mut place = 0usize;
    let item = |(index, block): (usize, &'a PageBlock)| {
        place += 1;
        let rank = match block.kind {
            BlockKind::Title | BlockKind::Heading => {
                place = 0;
                NAME
            }
            _ if wanted(block) => WANTED,
            _ => PLACE + place.ilog2(),
        };
        let text = clip(&block.text, most);
        let whole = text.len() == block.text.len();
        let span = block.span.start + start..block.span.end + start;
        OutlineItem { text, span, rank, like: index, whole }
    };
    page.blocks.iter().enumerate().map(item).collect()
}
