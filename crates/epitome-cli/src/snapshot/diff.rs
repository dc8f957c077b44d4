//! `epitome snapshot diff`: what two snapshots of a session differ in.
//!
//! Invariant: pure but for what is printed; what is on one side alone has its sign in front.

use std::io::{self, Write};

use epitome::{ListDiff, SnapshotDiff};

use crate::text::{counted, plain};

/// Writes the difference.
pub(super) fn write(out: &mut dyn Write, diff: &SnapshotDiff) -> io::Result<()> {
    let [from, to] = [&diff.from, &diff.to].map(|one| {
        let name = one.name.as_deref().map(|name| format!(" ({})", plain(name)));
        format!("{}{}", one.id, name.unwrap_or_default())
    });
    writeln!(out, "session {}: - {from}, + {to}", diff.from.session)?;
    let messages = &diff.messages;
    let both = counted(messages.shared as u64, "message");
    writeln!(
        out,
        "both begin with {both}; - goes on with {}, + with {}",
        messages.only_from, messages.only_to
    )?;
    list(out, "compressions", &diff.compressions)?;
    if !diff.is_whole {
        return writeln!(
            out,
            "an older version made one of them: its goals, mode, augments and pins are not known"
        );
    }
    list(out, "goals", &diff.goals)?;
    list(out, "mode", &diff.modes)?;
    list(out, "augments", &diff.augments)?;
    list(out, "pins", &diff.pins)
}

fn list(out: &mut dyn Write, what: &str, diff: &ListDiff) -> io::Result<()> {
    if diff.is_empty() {
        return writeln!(out, "{what}: the same");
    }
    writeln!(out, "{what}:")?;
    let signed = diff.gone.iter().map(|line| ('-', line));
    let signed = signed.chain(diff.new.iter().map(|line| ('+', line)));
    signed.into_iter().try_for_each(|(sign, line)| writeln!(out, "  {sign} {}", plain(line)))
}
