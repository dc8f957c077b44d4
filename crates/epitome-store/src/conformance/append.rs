//! Rules of lines: what is added to them, by whom, and in which order it comes back.
//!
//! Invariant: each rule asks for one promise of [`crate::RecordLog`]. Called by [`super::run_all`].

use super::sample::{SCOPE, add, batch, bodies, end, find, key, keyed, read, record};
use super::{RuleBreach, TriedStore, holds, same};
use crate::log::{
    AppendOutcome, BlobQuery, LineEnd, LinePosition, LineTail, LogBatch, LogRecord, PieceQuery,
};

super::rule_list! {
    a_batch_is_read_back_as_it_was_written
    records_are_read_from_a_number_on
    several_lines_are_read_at_once
    a_batch_behind_another_end_changes_nothing
    a_batch_that_rests_on_another_line_needs_its_end
    a_line_is_begun_once
    stamps_grow_from_batch_to_batch
    who_writes_at_the_same_time_gets_in_one_after_the_other
    lines_come_in_the_order_in_which_they_began
    keys_lead_to_the_lines_that_began_last
    scopes_come_in_order
    scopes_share_nothing
    what_is_not_there_is_empty
}

const START: LinePosition = LinePosition { seq: 0, sum: [0; 16] };

fn a_batch_is_read_back_as_it_was_written(store: &TriedStore) -> Result<(), RuleBreach> {
    let bytes = [b"\0\xff\xfe not text".to_vec(), Vec::new(), "ä\n\"{}".as_bytes().to_vec()];
    let (mut position, mut records) = (START, Vec::new());
    for (kind, body) in [0, 1, u16::MAX].into_iter().zip(bytes) {
        let record = LogRecord::behind(position, kind, Some(key("a")), body);
        position = record.position();
        records.push(record);
    }
    let line = "the line: \"ä\" %_'".to_owned();
    let made = LogBatch { line: line.clone(), records: records.clone(), ..LogBatch::default() };
    let stamp = add(store, SCOPE, made)?;
    let expected: Vec<_> = records.into_iter().map(|it| LogRecord { stamp, ..it }).collect();
    same("the records", read(store, SCOPE, &line, 1)?, expected)
}

fn records_are_read_from_a_number_on(store: &TriedStore) -> Result<(), RuleBreach> {
    add(store, SCOPE, batch("a", START, &["1", "2"]))?;
    add(store, SCOPE, batch("a", end(store, SCOPE, "a")?, &["3"]))?;
    for (from, expected) in [(0, 3), (1, 3), (2, 2), (3, 1), (4, 0), (u64::MAX, 0)] {
        let found = read(store, SCOPE, "a", from)?;
        same(&format!("how many are read from {from} on"), found.len(), expected)?;
        let numbers = found.iter().map(|record| record.seq);
        same("their numbers", numbers.collect::<Vec<_>>(), (from.max(1)..=3).collect())?;
    }
    Ok(())
}

fn several_lines_are_read_at_once(store: &TriedStore) -> Result<(), RuleBreach> {
    add(store, SCOPE, batch("a", START, &["1", "2"]))?;
    add(store, SCOPE, batch("b", START, &["3"]))?;
    let tail = |line, from| LineTail { line, from };
    let tails = [tail("b", 1), tail("not there", 1), tail("a", 2), tail("b", 2), tail("a", 1)];
    let found = store.read(SCOPE, &tails)?;
    let bodies = found.iter().map(|records| {
        records.iter().filter_map(|record| record.body.clone()).collect::<Vec<_>>().concat()
    });
    let expected = ["3", "", "2", "", "12"].map(|bodies| bodies.as_bytes().to_vec());
    same("the bodies, line by line", bodies.collect::<Vec<_>>(), expected.into())?;
    same("what is read of no line", store.read(SCOPE, &[])?, Vec::new())
}

fn a_batch_behind_another_end_changes_nothing(store: &TriedStore) -> Result<(), RuleBreach> {
    add(store, SCOPE, batch("a", START, &["1", "2"]))?;
    let (first, last) = (record(START, "1").position(), end(store, SCOPE, "a")?);
    let other = LinePosition { sum: [9; 16], ..last };
    let beyond = LinePosition { seq: 3, ..last };
    for wrong in [START, first, other, beyond] {
        let mut late = keyed("a", wrong, "late");
        late.blobs.push(super::sample::blob("a", "late"));
        late.pieces.push(super::sample::piece("a", "late", "late"));
        same("the outcome", store.append(SCOPE, late)?, AppendOutcome::Moved)?;
    }
    let moved = store.append(SCOPE, batch("b", last, &["1"]))?;
    same("the outcome on a line that is not there", moved, AppendOutcome::Moved)?;
    same("the records", read(store, SCOPE, "a", 1)?.len(), 2)?;
    same("the lines", store.lines(SCOPE)?, vec!["a".to_owned()])?;
    same("the lines of its key", find(store, SCOPE, &[key("late")], 9)?, vec![Vec::new()])?;
    let ids = [super::sample::blob("a", "late").id];
    let ids = ids.map(|id| id..=id);
    same("its blobs", store.blobs(SCOPE, &BlobQuery { line: None, ids: &ids })?, Vec::new())?;
    let query = PieceQuery { line: None, text: "late" };
    same("its pieces", store.pieces(SCOPE, &query)?, Vec::new())
}

fn a_batch_that_rests_on_another_line_needs_its_end(store: &TriedStore) -> Result<(), RuleBreach> {
    let resting = |line: &str, after, of: &str, position| LogBatch {
        given: Some(LineEnd { line: of.to_owned(), position }),
        ..batch(line, after, &["1"])
    };
    add(store, SCOPE, resting("a", START, "b", START))?;
    add(store, SCOPE, batch("b", START, &["1"]))?;
    let (a, b) = (end(store, SCOPE, "a")?, end(store, SCOPE, "b")?);
    let other = LinePosition { sum: [9; 16], ..b };
    let wrong = [("b", START), ("b", other), ("not there", b)];
    for (line, after) in [("a", a), ("new", START)] {
        for (of, position) in wrong {
            let found = store.append(SCOPE, resting(line, after, of, position))?;
            same(&format!("the outcome given an end of {of}"), found, AppendOutcome::Moved)?;
        }
    }
    same("the records of a", read(store, SCOPE, "a", 1)?.len(), 1)?;
    same("the lines", store.lines(SCOPE)?, ["a", "b"].map(str::to_owned).into())?;
    add(store, SCOPE, resting("a", a, "b", b))?;
    add(store, SCOPE, resting("new", START, "b", b)).map(drop)
}

fn a_line_is_begun_once(store: &TriedStore) -> Result<(), RuleBreach> {
    add(store, SCOPE, batch("a", START, &["1"]))?;
    let again = store.append(SCOPE, batch("a", START, &["other"]))?;
    same("the outcome of another beginning", again, AppendOutcome::Moved)?;
    same("the bodies", bodies(store, SCOPE, "a")?, vec![Some("1".to_owned())])
}

fn stamps_grow_from_batch_to_batch(store: &TriedStore) -> Result<(), RuleBreach> {
    let mut last = 0;
    for (at, line) in ["a", "b", "a", "c", "a"].into_iter().enumerate() {
        let made = batch(line, end(store, SCOPE, line)?, &[&at.to_string(), "more"]);
        let stamp = add(store, SCOPE, made)?;
        holds(&format!("the stamp {stamp} is not above {last}"), stamp > last)?;
        let records = read(store, SCOPE, line, 1)?;
        let borne = records.iter().rev().take(2).map(|record| record.stamp);
        same("the stamps of its records", borne.collect::<Vec<_>>(), vec![stamp; 2])?;
        last = stamp;
    }
    Ok(())
}

fn who_writes_at_the_same_time_gets_in_one_after_the_other(
    store: &TriedStore,
) -> Result<(), RuleBreach> {
    const WRITERS: usize = 4;
    const EACH: usize = 8;
    let write = |writer: usize| -> Result<(), RuleBreach> {
        let mut done = 0;
        while done < EACH {
            let made = batch("a", end(store, SCOPE, "a")?, &[&format!("{writer} {done}")]);
            if matches!(store.append(SCOPE, made)?, AppendOutcome::Done { .. }) {
                done += 1;
            }
        }
        Ok(())
    };
    std::thread::scope(|threads| -> Result<(), RuleBreach> {
        let writers = (0..WRITERS).map(|writer| threads.spawn(move || write(writer)));
        let writers: Vec<_> = writers.collect();
        let ended = |_| RuleBreach::of("a writer did not come to its end");
        writers.into_iter().try_for_each(|writer| writer.join().map_err(ended)?)
    })?;
    let (records, mut position) = (read(store, SCOPE, "a", 1)?, START);
    same("how many records there are", records.len(), WRITERS * EACH)?;
    for record in records {
        let what = format!("the record {} does not follow the one before it", record.seq);
        holds(&what, record.follows(position))?;
        position = record.position();
    }
    Ok(())
}

fn lines_come_in_the_order_in_which_they_began(store: &TriedStore) -> Result<(), RuleBreach> {
    for line in ["c", "a", "b"] {
        add(store, SCOPE, batch(line, START, &["1"]))?;
    }
    add(store, SCOPE, batch("c", end(store, SCOPE, "c")?, &["2"]))?;
    same("the lines", store.lines(SCOPE)?, ["c", "a", "b"].map(str::to_owned).to_vec())
}

fn keys_lead_to_the_lines_that_began_last(store: &TriedStore) -> Result<(), RuleBreach> {
    for line in ["a", "b", "c"] {
        add(store, SCOPE, keyed(line, START, "all"))?;
    }
    add(store, SCOPE, keyed("a", end(store, SCOPE, "a")?, "all"))?;
    add(store, SCOPE, keyed("b", end(store, SCOPE, "b")?, "own"))?;
    let names = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let found = find(store, SCOPE, &[key("own"), key("none"), key("all")], 9)?;
    let expected = vec![names(&["b"]), names(&[]), names(&["c", "b", "a"])];
    same("the lines of each key", found, expected)?;
    let found = find(store, SCOPE, &[key("all")], 2)?;
    same("the two that began last", found, vec![names(&["c", "b"])])?;
    same("no keys", find(store, SCOPE, &[], 9)?, Vec::new())
}

fn scopes_come_in_order(store: &TriedStore) -> Result<(), RuleBreach> {
    for scope in ["team/b", "ä", "local/a"] {
        add(store, scope, batch("a", START, &["1"]))?;
    }
    let expected = ["local/a", "team/b", "ä"].map(str::to_owned).to_vec();
    same("the scopes", store.scopes()?, expected)
}

fn scopes_share_nothing(store: &TriedStore) -> Result<(), RuleBreach> {
    let mut made = keyed("a", START, "k");
    made.blobs.push(super::sample::blob("a", "text"));
    made.pieces.push(super::sample::piece("a", "text", "text"));
    let id = made.blobs[0].id;
    add(store, SCOPE, made)?;
    add(store, "other", batch("a", START, &["another"]))?;
    same("the bodies", bodies(store, "other", "a")?, vec![Some("another".to_owned())])?;
    same("the lines of a key", find(store, "other", &[key("k")], 9)?, vec![Vec::new()])?;
    let query = BlobQuery { line: None, ids: &[id..=id] };
    same("the blobs", store.blobs("other", &query)?, Vec::new())?;
    let query = PieceQuery { line: None, text: "text" };
    same("the pieces", store.pieces("other", &query)?, Vec::new())
}

fn what_is_not_there_is_empty(store: &TriedStore) -> Result<(), RuleBreach> {
    same("the scopes", store.scopes()?, Vec::new())?;
    same("the lines", store.lines(SCOPE)?, Vec::new())?;
    same("the records", read(store, SCOPE, "a", 1)?, Vec::new())?;
    same("the lines of a key", find(store, SCOPE, &[key("k")], 9)?, vec![Vec::new()])?;
    same("the blobs", store.blobs(SCOPE, &BlobQuery { line: None, ids: &[] })?, Vec::new())?;
    let query = PieceQuery { line: Some("a"), text: "" };
    same("the pieces", store.pieces(SCOPE, &query)?, Vec::new())
}
