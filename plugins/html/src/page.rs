//! Reads a page into blocks of text.
//!
//! Invariant: blocks are in the order of the page; their words are the page's, and what is not
//! stands in `[… ]`. Called by the crate's digest.

use std::collections::HashSet;
use std::ops::Range;

use crate::element::{self, ElementRole, attribute};
use crate::entity;
use crate::scan::{HtmlPiece, Pieces};

/// More elements in one another are not told apart.
const DEPTH: usize = 512;
/// Where an element that a closing tag names is not among so many innermost ones, it is not open.
const NEAR: usize = 64;
/// Of a form at most so many fields are named.
const FIELDS: usize = 40;
/// Signs that pages put beside a heading as a link to it.
const ANCHORS: [&str; 4] = ["#", "§", "¶", "🔗"];

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Title,
    Heading,
    Text,
    Preformatted,
}

/// One heading, paragraph, item, row or preformatted text.
#[derive(Clone, Debug)]
pub(crate) struct PageBlock {
    pub(crate) kind: BlockKind,
    pub(crate) text: String,
    /// Where it stands in the page, markup within it included.
    pub(crate) span: Range<usize>,
    /// Whether it stands around the main part.
    around: bool,
    /// Whether it stands in what the page calls its main part.
    main: bool,
}

/// What a page says.
#[derive(Clone, Debug, Default)]
pub(crate) struct HtmlPage {
    pub(crate) blocks: Vec<PageBlock>,
    /// Where blocks stand that are around the main part.
    pub(crate) around: Vec<Range<usize>>,
    /// Where scripts stand.
    pub(crate) scripts: Vec<Range<usize>>,
    pub(crate) styles: usize,
    pub(crate) comments: usize,
}

impl HtmlPage {
    /// Reads a page.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = HtmlReader::default();
        for (span, piece) in Pieces::of(text) {
            reader.piece(span, piece);
        }
        reader.flush();
        let mut page = reader.page;
        page.leave_around();
        page
    }

    /// Leaves out what stands around the main part, unless that is nearly all.
    fn leave_around(&mut self) {
        let size = |wanted: &dyn Fn(&PageBlock) -> bool| -> usize {
            self.blocks.iter().filter(|block| wanted(block)).map(|block| block.text.len()).sum()
        };
        let all = size(&|_| true);
        let main = size(&|block| block.main && !block.around);
        let open = size(&|block| !block.around);
        let stays = |block: &PageBlock| match () {
            () if block.kind == BlockKind::Title => true,
            () if main * 4 >= open && main > 0 => block.main && !block.around,
            () if open * 10 >= all => !block.around,
            () => true,
        };
        let (stay, leave) = std::mem::take(&mut self.blocks).into_iter().partition(stays);
        self.blocks = stay;
        self.around = leave.into_iter().map(|block: PageBlock| block.span).collect();
    }
}

/// An element that is open.
#[derive(Debug)]
struct Open {
    name: &'static str,
    role: ElementRole,
    around: bool,
}

/// A link whose text is being read.
#[derive(Debug)]
struct OpenLink {
    /// Where its text begins in the block.
    start: usize,
    to: String,
}

/// A form, as what it asks for.
#[derive(Debug)]
struct Form {
    start: usize,
    said: String,
    fields: Vec<String>,
}

/// How many elements of each sort are open.
#[derive(Debug, Default)]
struct OpenCounts {
    dropped: usize,
    around: usize,
    main: usize,
    preformatted: usize,
    cells: usize,
    lists: usize,
}

impl OpenCounts {
    /// How many of a role are open, where that is counted.
    fn count(&mut self, role: ElementRole) -> Option<&mut usize> {
        match role {
            ElementRole::Dropped => Some(&mut self.dropped),
            ElementRole::Main => Some(&mut self.main),
            ElementRole::Preformatted => Some(&mut self.preformatted),
            ElementRole::Cell => Some(&mut self.cells),
            ElementRole::List => Some(&mut self.lists),
            _ => None,
        }
    }
}

/// The block that is being read.
#[derive(Debug, Default)]
struct BlockDraft {
    kind: Option<BlockKind>,
    /// What stands in front of its text.
    mark: String,
    text: String,
    span: Option<Range<usize>>,
}

impl BlockDraft {
    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Has it stand in this part of the page, too.
    fn reach(&mut self, span: Range<usize>) {
        let start = self.span.take().map_or(span.start, |before| before.start);
        self.span = Some(start..span.end);
    }
}

#[derive(Debug, Default)]
struct HtmlReader {
    page: HtmlPage,
    open: Vec<Open>,
    within: OpenCounts,
    block: BlockDraft,
    link: Option<OpenLink>,
    /// Where links led so far.
    linked: HashSet<String>,
    form: Option<Form>,
    style: bool,
    titled: bool,
}

impl HtmlReader {
    fn piece(&mut self, span: Range<usize>, piece: HtmlPiece<'_>) {
        match piece {
            HtmlPiece::Open { name, attributes } => self.element(name, attributes, span),
            HtmlPiece::Close(name) => self.close(name, span),
            HtmlPiece::Text(text) => self.say(text, span),
            HtmlPiece::Raw(_) if self.style => self.page.styles += 1,
            HtmlPiece::Raw(_) => self.page.scripts.push(span),
            HtmlPiece::Aside => self.page.comments += 1,
        }
    }

    fn element(&mut self, name: &str, attributes: &str, span: Range<usize>) {
        self.style = name.eq_ignore_ascii_case("style");
        self.field(name, attributes);
        match name.to_ascii_lowercase().as_str() {
            "br" if self.within.cells == 0 => self.block.text.push('\n'),
            "br" => self.block.space(),
            "hr" => self.flush(),
            "img" => self.image(attributes, span.clone()),
            _ => {}
        }
        let Some((name, role)) = element::role(name).filter(|(name, _)| !element::is_void(name))
        else {
            return;
        };
        while let Some(last) = self.open.pop_if(|last| element::ends(last.name, name)) {
            self.leave(&last, span.start);
        }
        if self.open.len() == DEPTH {
            return;
        }
        let is_page = matches!(name, "body" | "main" | "article" | "a");
        let around = match role {
            ElementRole::Around => true,
            ElementRole::AroundMain => self.within.main == 0,
            _ => self.within.main == 0 && !is_page && element::is_around(attributes),
        };
        self.within.around += usize::from(around);
        match role {
            ElementRole::Link => self.link(attributes),
            ElementRole::Cell => self.cell(),
            _ if self.within.cells == 0 || role == ElementRole::Row => self.flush(),
            _ => self.block.space(),
        }
        if let Some(count) = self.within.count(role) {
            *count += 1;
        }
        match role {
            ElementRole::Item => self.item(),
            ElementRole::Heading(level) => {
                self.block.kind = Some(BlockKind::Heading);
                self.block.mark = "#".repeat(level) + " ";
            }
            ElementRole::Title => self.block.kind = Some(BlockKind::Title),
            ElementRole::Form => self.form = Some(Form::of(attributes, span.start)),
            _ => {}
        }
        self.open.push(Open { name, role, around });
    }

    fn close(&mut self, name: &str, span: Range<usize>) {
        let near = self.open.iter().rev().take(NEAR);
        let Some(depth) =
            near.map(|open| open.name).position(|open| open.eq_ignore_ascii_case(name))
        else {
            // What was never opened still parts what stands before and behind it.
            if element::role(name).is_some_and(|(_, role)| role != ElementRole::Link) {
                self.block.space();
            }
            return;
        };
        for _ in 0..=depth {
            if let Some(last) = self.open.pop() {
                self.leave(&last, span.end);
            }
        }
    }

    /// What an element does where it ends.
    fn leave(&mut self, open: &Open, at: usize) {
        match open.role {
            ElementRole::Link => self.end_link(),
            ElementRole::Cell => {}
            ElementRole::Row => self.flush(),
            _ if self.within.cells == 0 => self.flush(),
            _ => self.block.space(),
        }
        self.within.around -= usize::from(open.around);
        if let Some(count) = self.within.count(open.role) {
            *count -= 1;
        }
        match open.role {
            ElementRole::Heading(_) | ElementRole::Item | ElementRole::Title => {
                self.block.kind = None;
                self.block.mark.clear();
            }
            ElementRole::Form => self.end_form(at),
            _ => {}
        }
    }

    /// Text of the block that is being read.
    fn say(&mut self, text: &str, span: Range<usize>) {
        if self.within.dropped > 0 {
            return;
        }
        let text = entity::decode(text);
        if self.within.preformatted > 0 {
            self.block.text.push_str(&text);
        } else {
            for c in text.chars().filter(|c| !matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}')) {
                if c.is_whitespace() { self.block.space() } else { self.block.text.push(c) }
            }
        }
        if !text.trim().is_empty() {
            self.block.reach(span);
        }
    }

    /// Ends the block that is being read.
    fn flush(&mut self) {
        self.end_link();
        let text = std::mem::take(&mut self.block.text);
        let is_code = self.within.preformatted > 0;
        let body = if is_code { text.trim_matches('\n').trim_end() } else { text.trim() };
        let Some(span) = self.block.span.take().filter(|_| !body.is_empty()) else { return };
        let kind = if is_code {
            BlockKind::Preformatted
        } else {
            self.block.kind.take().unwrap_or(BlockKind::Text)
        };
        if kind == BlockKind::Title && std::mem::replace(&mut self.titled, true) {
            return;
        }
        let text = std::mem::take(&mut self.block.mark) + body;
        let (around, main) = (self.within.around > 0, self.within.main > 0);
        self.page.blocks.push(PageBlock { kind, text, span, around, main });
    }

    fn cell(&mut self) {
        if self.within.cells == 0 && !self.block.text.trim().is_empty() {
            self.block.space();
            self.block.text.push_str("| ");
        } else {
            self.block.space();
        }
    }

    fn item(&mut self) {
        let depth = self.within.lists.clamp(1, 8) - 1;
        if self.within.cells == 0 {
            self.block.mark = "  ".repeat(depth) + "- ";
        }
    }

    fn link(&mut self, attributes: &str) {
        self.end_link();
        let to = attribute(attributes, "href").unwrap_or_default().trim().to_owned();
        self.link = Some(OpenLink { start: self.block.text.len(), to });
    }

    /// Writes where a link leads behind its text, for each address once and never into code.
    fn end_link(&mut self) {
        let Some(OpenLink { start, to }) = self.link.take() else { return };
        let said = self.block.text.get(start..).unwrap_or_default();
        let bare = said.trim();
        let inside = to.is_empty() || to.starts_with('#') || to.starts_with("javascript:");
        if inside {
            if ANCHORS.contains(&bare) {
                self.block.text.truncate(start);
            }
        } else if !bare.is_empty()
            && bare != to
            && self.within.preformatted == 0
            && !to.contains(char::is_whitespace)
            && self.linked.insert(to.clone())
        {
            let lead = &said[..said.len() - said.trim_start().len()];
            let trail = &said[said.trim_end().len()..];
            let linked = format!("{lead}[{bare}]({to}){trail}");
            self.block.text.replace_range(start.., &linked);
        }
    }

    fn image(&mut self, attributes: &str, span: Range<usize>) {
        let said = attribute(attributes, "alt").unwrap_or_default();
        if !said.trim().is_empty() && self.within.dropped == 0 {
            self.say(&format!("[… image: {}]", noted(&said)), span);
        }
    }

    /// Notes a field of a form.
    fn field(&mut self, name: &str, attributes: &str) {
        let is_field = ["input", "select", "textarea", "button"]
            .iter()
            .any(|field| name.eq_ignore_ascii_case(field));
        if let Some(form) = self.form.as_mut().filter(|_| is_field)
            && let Some(name) = attribute(attributes, "name").filter(|name| !name.trim().is_empty())
            && form.fields.len() < FIELDS
            && form.fields.iter().all(|field| *field != name)
        {
            form.fields.push(name.into_owned());
        }
    }

    /// Says what a form asks for.
    fn end_form(&mut self, end: usize) {
        let Some(form) = self.form.take().filter(|form| !form.fields.is_empty()) else { return };
        self.block.space();
        let note = format!("{}: {}", form.said, form.fields.join(", "));
        self.block.text.push_str(&format!("[… {}]", noted(&note)));
        self.block.reach(form.start..end);
        if self.within.cells == 0 {
            self.flush();
        }
    }
}

/// A text as it may stand in a note: on one line, without the signs that end it.
fn noted(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || matches!(c, '[' | ']')).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

impl Form {
    fn of(attributes: &str, start: usize) -> Self {
        let method = attribute(attributes, "method").unwrap_or_default().to_ascii_uppercase();
        let action = attribute(attributes, "action").unwrap_or_default();
        let words = ["form", &method, &action].into_iter().filter(|word| !word.trim().is_empty());
        Self { start, said: words.collect::<Vec<_>>().join(" "), fields: Vec::new() }
    }
}
