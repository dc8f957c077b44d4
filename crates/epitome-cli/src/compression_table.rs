//! The compressions of a session as a table.
//!
//! Invariant: oldest first, one line each. Called by `session show` and `status`.

use std::io::{self, Write};

use epitome::PastCompression;

use crate::events::cause;
use crate::figure::percent;
use crate::table::{Column, TextTable, left, right};
use crate::text::{grouped, moment};

const COLUMNS: [Column; 9] = [
    right("no."),
    left("time, UTC"),
    left("cause"),
    right("before"),
    right("after"),
    right("size"),
    right("facts kept"),
    left("epoch").spare(1),
    left("now"),
];

/// Writes the compressions; `in_force` is the epoch that says what is sent.
pub(crate) fn write(
    out: &mut dyn Write,
    past: &[PastCompression],
    in_force: Option<&str>,
) -> io::Result<()> {
    let row = |one: &PastCompression| {
        let now = match () {
            () if one.undone => "taken back, held",
            () if Some(one.epoch.as_str()) == in_force => "in force",
            () => "",
        };
        let size = percent(one.tokens[1], one.tokens[0]);
        let [before, after] = one.tokens.map(grouped);
        vec![
            one.number.to_string(),
            moment(&one.at),
            cause(one.cause).to_owned(),
            before,
            after,
            size,
            format!("{:.0} %", one.confidence * 100.0),
            one.epoch.clone(),
            now.to_owned(),
        ]
    };
    let rows: Vec<_> = past.iter().map(row).collect();
    TextTable::new(&COLUMNS).indented(2).print(out, &rows)
}
