//! A checkpoint in words, for a terminal.
//!
//! Invariant: pure; what was said is shown without what would act on a terminal.

use std::io::{self, Write};

use anstyle::Style;
use epitome::{CheckpointField, CheckpointInfo, CheckpointItem};

use super::level;
use crate::text::{counted, grouped, moment, on_one_line, plain, ranges};

/// The fields in the order in which they are shown, each with its heading.
const HEADINGS: [(CheckpointField, &str); 9] = [
    (CheckpointField::Intent, "asked for"),
    (CheckpointField::Constraint, "constraints"),
    (CheckpointField::Decision, "decided"),
    (CheckpointField::Rejected, "decided against"),
    (CheckpointField::File, "files"),
    (CheckpointField::Failure, "errors"),
    (CheckpointField::Done, "done"),
    (CheckpointField::Open, "open"),
    (CheckpointField::Next, "next"),
];

/// Writes facts, steps, items and the text; it is sent at the level `sent`.
pub(super) fn write(out: &mut dyn Write, one: &CheckpointInfo, sent: u8) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}, level {}", one.id, level(one.level))?;
    let mut fact = |name: &str, value: String| writeln!(out, "  {name:12} {}", plain(&value));
    let covers = &one.covers;
    let messages = counted(covers.messages as u64, "message");
    fact("stands for", format!("{}-{}, {messages}", covers.first, covers.last))?;
    if let Some((from, until)) = covers.from.as_deref().zip(covers.until.as_deref()) {
        fact("said", format!("{} to {} UTC", moment(from), moment(until)))?;
    }
    let tokens = one.tokens;
    let share = 100 * tokens.now / tokens.original.max(1);
    fact("tokens", format!("{} of {}, {share} %", grouped(tokens.now), grouped(tokens.original)))?;
    let writer = one.model.as_deref().unwrap_or("the summarizer that needs no model");
    fact("written by", writer.to_owned())?;
    let again = match one.steps.len().saturating_sub(1) as u64 {
        0 => "as it was made".to_owned(),
        times => format!("written anew {}", counted(times, "time")),
    };
    fact("age", format!("{}, {again}", counted(one.age.into(), "compression")))?;
    for step in &one.steps {
        let (at, tokens) = (moment(&step.at), grouped(step.tokens));
        let number = step.number;
        fact(
            "",
            format!("{at}  compression {number}: level {}, {tokens} tokens", level(step.level)),
        )?;
    }
    for (field, heading) in HEADINGS {
        let mut items = one.items.iter().filter(|item| item.field == field).peekable();
        if items.peek().is_some() {
            writeln!(out, "\n{bold}{heading}{bold:#}")?;
            items.try_for_each(|item| writeln!(out, "  {}", line(item)))?;
        }
    }
    let reads = match one.level == sent {
        true => "what the model reads".to_owned(),
        false => format!("what the model read; it is sent at level {} now", level(sent)),
    };
    writeln!(out, "\n{bold}{reads}{bold:#}")?;
    one.text.lines().try_for_each(|line| writeln!(out, "  {}", plain(line)))
}

/// An item with what is known besides, and where it was said.
fn line(item: &CheckpointItem) -> String {
    let detail = item.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    let sources = match &item.sources[..] {
        [] => String::new(),
        sources => format!("  [{}]", ranges(sources)),
    };
    plain(&on_one_line(&format!("{}{detail}{sources}", item.text)))
}
