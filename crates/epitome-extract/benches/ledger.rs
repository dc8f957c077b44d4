//! How long the ledger of a conversation of about 100,000 tokens takes (goal: single
//! milliseconds): an agent's, most of it tool output and code, and a talk of people.
#![allow(missing_docs, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_extract::WorkLedger;
use epitome_extract::ledger::LedgerHeadings;
use epitome_kernel::types::{BudgetUnit, Entry};
use epitome_kernel::{SizeGauge, TokenCounter};
use epitome_testkit::{FixedCounter, chat};

const BYTES: usize = 400_000;

/// Turns of an agent: a request now and then, then files that are read and changed.
fn agent() -> Vec<Entry> {
    let mut chat = chat();
    let code =
        "    let value = map.get(\"key\").copied().unwrap_or(0x1f); // as before\n".repeat(40);
    let mut bytes = 0;
    for turn in 0.. {
        if turn % 8 == 0 {
            chat = chat.user(&format!(
                "Please port step_{turn} to the new parser. Never touch src/old_{turn}.rs while \
                 you do it. The build took four minutes, which was longer than I had thought."
            ));
        }
        let read = format!(r#"{{"file_path":"src/step_{turn}.rs","limit":2000}}"#);
        let new = code.replace('"', "\\\"").replace('\n', "\\n");
        let edit = format!(
            r#"{{"file_path":"src/step_{turn}.rs","old_string":"{new}","new_string":"{new}"}}"#
        );
        chat = chat
            .assistant("I'll look at the file first. Then I can see what the next step needs.")
            .call("Read", &read)
            .result(&code)
            .assistant("I have updated the step. The lexer was at fault here, as it seems.")
            .call("Edit", &edit)
            .result("The file has been updated.");
        bytes += 3 * code.len() + 400;
        if bytes > BYTES {
            break;
        }
    }
    chat.entries()
}

/// Turns of people: nothing but sentences.
fn talk() -> Vec<Entry> {
    let mut chat = chat();
    for turn in 0..BYTES / 2000 {
        let said = format!(
            "We met in room {turn} at noon, and the coffee was fine. The report of step_{turn} is \
             due on 2027-03-{:02}. Please keep the figures of the north out of it. ",
            turn % 28 + 1
        );
        let answer = "I have read the report, and it says what you said. I decided against the \
                      second chart because it was too small. ";
        chat = chat.user(&said.repeat(5)).assistant(&answer.repeat(8));
    }
    chat.entries()
}

fn ledgers(c: &mut Criterion) {
    let gauge =
        SizeGauge { counter: &FixedCounter::Words as &dyn TokenCounter, unit: BudgetUnit::Chars };
    for (name, entries) in [("agent", agent()), ("talk", talk())] {
        let entries: Vec<&Entry> = entries.iter().collect();
        let ledger = WorkLedger::of(&entries);
        c.bench_function(&format!("{name}/of"), |b| b.iter(|| WorkLedger::of(black_box(&entries))));
        let words = LedgerHeadings::of(ledger.language);
        c.bench_function(&format!("{name}/render"), |b| {
            b.iter(|| ledger.render(black_box(4000), &gauge, words));
        });
    }
}

criterion_group!(benches, ledgers);
criterion_main!(benches);
