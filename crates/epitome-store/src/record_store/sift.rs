//! Records that are what was written, told from those that are not.
//!
//! Invariant: pure. Damage costs the record that it is in: each record stands behind the checksum of the one
//! before it, so the next one tells whether the record or only its checksum was changed. What cannot be told
//! any more, since the record before it is gone, is taken as it is. Called by [`super::damage`] and
//! [`super::verify`].

use super::event::SessionEvent;
use crate::log::{LinePosition, LogRecord};

/// A record of a line, as it was found.
#[expect(clippy::large_enum_variant, reason = "nearly all records are whole")]
pub(super) enum SiftedRecord {
    /// What was written; without an event where that was erased.
    Whole { record: LogRecord, event: Option<SessionEvent>, has_sum: bool },
    /// Something else.
    Damaged(DamagedRecord),
}

/// A record that is not what was written, or several that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DamagedRecord {
    /// Its number, and that of the last one.
    pub(super) seqs: [u64; 2],
    /// Its kind, as far as it tells one.
    pub(super) kind: Option<u16>,
    /// What is wrong with it.
    pub(super) cause: String,
}

impl DamagedRecord {
    /// Which one it is, for people.
    pub(super) fn named(&self) -> String {
        let what = self.kind.and_then(SessionEvent::kind_name);
        let what = what.map(|what| format!(" ({what})")).unwrap_or_default();
        match self.seqs {
            [first, last] if first < last => format!("the records {first} to {last}"),
            [first, _] => format!("the record {first}{what}"),
        }
    }
}

/// Tells what is whole of the records behind a position.
pub(super) fn sift(behind: LinePosition, records: Vec<LogRecord>) -> Vec<SiftedRecord> {
    let mut sifted = Vec::with_capacity(records.len());
    let (mut next, mut before) = (behind.seq + 1, Some(behind.sum));
    let mut records = records.into_iter().peekable();
    while let Some(record) = records.next() {
        let damaged = |cause: String| {
            let (seqs, kind) = ([record.seq; 2], Some(record.kind));
            SiftedRecord::Damaged(DamagedRecord { seqs, kind, cause })
        };
        if record.seq < next {
            sifted.push(damaged("is not where it belongs".to_owned()));
            continue;
        }
        if record.seq > next {
            let seqs = [next, record.seq - 1];
            let is = if seqs[0] == seqs[1] { "is" } else { "are" };
            let cause = format!("{is} not there any more");
            sifted.push(SiftedRecord::Damaged(DamagedRecord { seqs, kind: None, cause }));
            before = None;
        }
        next = record.seq + 1;
        let behind = records.peek().filter(|behind| behind.seq == next);
        let goes_on = |sum: Option<[u8; 16]>| {
            sum.is_some_and(|sum| behind.is_some_and(|it| it.sum_behind(sum) == Some(it.sum)))
        };
        let own = before.and_then(|before| record.sum_behind(before));
        let has_sum = before.is_none_or(|before| record.continues(before));
        if !has_sum && !goes_on(own) {
            before = goes_on(Some(record.sum)).then_some(record.sum);
            sifted.push(damaged("is not what was written".to_owned()));
            continue;
        }
        before = if has_sum { Some(record.sum) } else { own };
        sifted.push(match record.body.as_deref().map(SessionEvent::read).transpose() {
            Ok(event) => SiftedRecord::Whole { record, event, has_sum },
            Err(cause) => damaged(format!("cannot be read: {cause}")),
        });
    }
    sifted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(count: u64) -> Vec<LogRecord> {
        let mut position = LinePosition::default();
        let record = |_| {
            let event = SessionEvent::Titled("a".to_owned());
            let made = LogRecord::behind(position, event.kind(), None, event.written().unwrap());
            position = made.position();
            made
        };
        (0..count).map(record).collect()
    }

    /// What is lost where something happens to a line of six.
    #[track_caller]
    fn check(damage: impl Fn(&mut Vec<LogRecord>), lost: &[[u64; 2]]) {
        let mut records = line(6);
        damage(&mut records);
        let sifted = sift(LinePosition::default(), records);
        let seqs = sifted.iter().filter_map(|it| match it {
            SiftedRecord::Damaged(damaged) => Some(damaged.seqs),
            SiftedRecord::Whole { .. } => None,
        });
        assert_eq!(seqs.collect::<Vec<_>>(), lost);
    }

    #[test]
    fn damage_costs_the_record_that_it_is_in() {
        let body = |at: usize| move |all: &mut Vec<LogRecord>| all[at].body = Some(b"{}".to_vec());
        check(|_| {}, &[]);
        for at in 0..6 {
            check(body(at), &[[at as u64 + 1; 2]]);
            check(|all| all[at].key = Some(crate::log::RecordKey([7; 16])), &[[at as u64 + 1; 2]]);
            check(|all| all[at].body = None, &[]);
        }
        // The next one proves that only the checksum was changed; nothing does so of the last one.
        check(|all| all[2].sum[0] ^= 1, &[]);
        check(|all| all[5].sum[0] ^= 1, &[[6, 6]]);
        check(|all| drop(all.remove(0)), &[[1, 1]]);
        check(|all| drop(all.drain(2..4)), &[[3, 4]]);
        check(|all| all[3].seq = 2, &[[2, 2], [4, 4]]);
    }
}
