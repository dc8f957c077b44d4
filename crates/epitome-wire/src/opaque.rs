//! Blocks that are passed through: what they are known by, and what of them is counted.
//!
//! Invariant: one walk over the block's bytes, whatever is nested in it. A cache mark is part of
//! neither, wherever it stands (RULES 115). Called by the readers of both formats.

use epitome_types::{ContentId, OpaqueBlock};

use crate::WireError;
use crate::attached::Attached;
use crate::canonical::canonical;
use crate::json::{Cursor, JsonValue, JsonValueKind, Object, Span};

/// A block's `type`; empty where it has none.
pub(crate) fn kind(block: &Object<'_>) -> String {
    block.text("type").unwrap_or_default().into_owned()
}

/// A block passed through as it is, with the ids that pair it (RULES 103).
pub(crate) fn opaque(block: &Object<'_>) -> Box<OpaqueBlock> {
    let kind = kind(block);
    let id = |key| block.text(key).map(|id| id.into_owned());
    let calls = if kind.ends_with("_tool_use") { id("id") } else { None };
    let answers = if kind.ends_with("_tool_result") { id("tool_use_id") } else { None };
    let raw = block.value.raw();
    let mut cuts =
        Cuts { holds_texts: kind == "document" || kind == "search_result", ..Cuts::default() };
    // A value that was read once is sound.
    if cuts.walk(&mut Cursor::new(raw, 0)).is_err() {
        cuts = Cuts::default();
    }
    let known = without(raw, &cuts.marks);
    let content = ContentId::for_text(&canonical(&known).unwrap_or(known));
    let mut all = [cuts.marks, cuts.data].concat();
    all.sort_by_key(|span| span.start());
    let (compacts, mut text) = (compacts(&kind, block), without(raw, &all));
    let Attached { text: shown, pages } = cuts.attached;
    if !shown.is_empty() {
        text.extend(["\n", &shown]);
    }
    let data = text.len() - shown.len()..text.len();
    let title = title(block);
    Box::new(OpaqueBlock { kind, content, text, data, title, pages, calls, answers, compacts })
}

/// What a document is called, in the block or in the object that holds its data.
fn title(block: &Object<'_>) -> Option<String> {
    let file = block.get("file").and_then(JsonValue::as_object);
    let mut places = [Some(block), file.as_ref()].into_iter().flatten();
    let title = places.find_map(|of| of.text("title").or_else(|| of.text("filename")))?;
    let title = title.trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// Whether a block stands for what was said before it. One that holds nothing is what is left of a
/// compaction that failed, and its provider passes over it.
fn compacts(kind: &str, block: &Object<'_>) -> bool {
    let holds = |key| block.some(key).is_some();
    kind.contains("compaction") && ["content", "encrypted_content"].into_iter().any(holds)
}

/// A text without these spans, which are in order and do not overlap.
fn without(text: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        out.push_str(Span::new(at, span.start()).of(text));
        at = span.end();
    }
    out.push_str(Span::new(at, text.len()).of(text));
    out
}

/// What to leave out of a block's JSON.
#[derive(Default)]
struct Cuts {
    /// Members that are marks which clients move from turn to turn, each with one comma.
    marks: Vec<Span>,
    /// The content of string literals that hold data (RULES 124).
    data: Vec<Span>,
    /// What a model is shown of that data.
    attached: Attached,
    /// Whether the texts within are what it attaches.
    holds_texts: bool,
}

impl Cuts {
    /// Steps over one value. Recursion is bounded by the depth of sound JSON.
    fn walk(&mut self, cursor: &mut Cursor<'_>) -> Result<(), WireError> {
        match cursor.peek_kind()? {
            JsonValueKind::Array => cursor.items(|cursor| self.walk(cursor)),
            JsonValueKind::Object => self.members(cursor),
            _ => cursor.value().map(drop),
        }
    }

    fn members(&mut self, cursor: &mut Cursor<'_>) -> Result<(), WireError> {
        // The end of the member before, where one was kept.
        let mut last = None;
        // Marks in front of the first member that is kept: the comma behind them goes along.
        let mut leading: Option<Span> = None;
        cursor.members(|key, cursor| {
            let start = key.span().start();
            if key.raw() == "\"cache_control\"" {
                let end = cursor.value()?.span().end();
                match &mut last {
                    Some(last) => {
                        self.marks.push(Span::new(*last, end));
                        *last = end;
                    }
                    None => {
                        let from = leading.map_or(start, Span::start);
                        leading = Some(Span::new(from, end));
                    }
                }
                return Ok(());
            }
            if let Some(marks) = leading.take() {
                self.marks.push(Span::new(marks.start(), start));
            }
            let is_data = matches!(key.raw(), "\"data\"" | "\"file_data\"");
            let is_text = self.holds_texts && key.raw() == "\"text\"";
            if (is_data || is_text) && cursor.peek_kind()? == JsonValueKind::String {
                let value = cursor.value()?;
                let span = value.span();
                self.data.push(Span::new(span.start() + 1, span.end() - 1));
                let text = value.str()?;
                self.attached += match is_text {
                    true => Attached::text(&text),
                    false => Attached::read(&text),
                };
            } else {
                self.walk(cursor)?;
            }
            last = Some(cursor.at());
            Ok(())
        })?;
        self.marks.extend(leading);
        Ok(())
    }
}
