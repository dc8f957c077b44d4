//! Requests that are recorded at the same time: whoever waits for the file is written along with
//! whoever has it, in one transaction.
//!
//! Invariant: each is recorded whole or not at all before its caller goes on, and fails alone; no
//! caller is left waiting. Called by [`super::journal`].

use std::collections::VecDeque;
use std::iter;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::StoreError;

use super::fail::{Fail, broken, refused};
use super::pending::{PendingRecord, write};
use super::schema::Sync;
use super::transaction::StoreTransaction;
use super::{SqliteStore, StoreConnection};

/// So many are written in one transaction at most; the first of them waits for the last.
const MOST: usize = 64;

/// Those who wait for the file.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Whether somebody writes for all.
    led: bool,
    rest: VecDeque<CommitSlot>,
}

/// Somebody who waits.
#[derive(Debug)]
struct CommitSlot {
    record: Box<PendingRecord<'static>>,
    told: SyncSender<GroupCommitResult>,
}

/// What somebody who waits is told.
#[derive(Debug)]
enum GroupCommitResult {
    /// Somebody else wrote it.
    Done(Result<(), StoreError>),
    /// It is its turn to write for all.
    Lead(Box<PendingRecord<'static>>),
}

/// Who writes for all. When this falls, whoever waits longest does.
struct CommitLeader<'c>(&'c GroupCommit);

impl SqliteStore {
    /// Records what a request adds, with what others add meanwhile.
    pub(super) fn along(&self, record: PendingRecord<'_>) -> Result<(), StoreError> {
        let own = match self.crowd.join(record) {
            Ok(record) => record,
            Err(waits) => match waits.recv() {
                Ok(GroupCommitResult::Done(result)) => return result,
                Ok(GroupCommitResult::Lead(record)) => *record,
                Err(_) => {
                    let cause = "whoever wrote it along broke off";
                    return Err(broken(&self.path, "cannot be written", &cause));
                }
            },
        };
        let lead = CommitLeader(&self.crowd);
        let is_there = self.presence.check(&self.path);
        let mut link = self.lock();
        let others = self.crowd.take();
        let records: Vec<_> =
            iter::once(&own).chain(others.iter().map(|place| &*place.record)).collect();
        let results = match is_there {
            Ok(()) => self.write_all(&mut link, &records),
            Err(loss) => records.iter().map(|_| Err(loss.at(&self.path))).collect(),
        };
        let mut results = results.into_iter();
        let result = results.next().unwrap_or(Ok(()));
        drop(link);
        drop(lead);
        for (CommitSlot { told, .. }, result) in others.into_iter().zip(results) {
            // Who waits listens until it is told.
            drop(told.send(GroupCommitResult::Done(result)));
        }
        result
    }

    /// Writes all of them at once; where that fails, each by itself.
    fn write_all(
        &self,
        link: &mut StoreConnection,
        records: &[&PendingRecord<'_>],
    ) -> Vec<Result<(), StoreError>> {
        const WHAT: &str = "cannot be written";
        match link.write_along(self.durability, records) {
            Err(none) => records.iter().map(|_| Err(refused(&none, &self.path, WHAT))).collect(),
            Ok(Ok(())) => records.iter().map(|_| Ok(())).collect(),
            Ok(Err(fail)) if records.len() == 1 => vec![Err(fail.at(&self.path, WHAT))],
            Ok(Err(_)) => records.chunks(1).flat_map(|one| self.write_all(link, one)).collect(),
        }
    }
}

impl StoreConnection {
    /// Writes all of them or none. The outer error says that it could not even be begun.
    fn write_along(
        &mut self,
        sync: Sync,
        records: &[&PendingRecord<'_>],
    ) -> rusqlite::Result<Result<(), Fail>> {
        self.wait_for(sync)?;
        let moment = StoreTransaction::writing(&self.connection)?;
        let written = write(&self.connection, records);
        Ok(written.and_then(|()| Ok(moment.commit()?)))
    }
}

impl GroupCommit {
    /// Gives the record back to whoever is to write it, or else what to wait for.
    fn join<'a>(
        &self,
        record: PendingRecord<'a>,
    ) -> Result<PendingRecord<'a>, Receiver<GroupCommitResult>> {
        let mut waiting = self.locked();
        if !waiting.led {
            waiting.led = true;
            return Ok(record);
        }
        let (told, waits) = sync_channel(1);
        waiting.rest.push_back(CommitSlot { record: Box::new(record.into_owned()), told });
        Err(waits)
    }

    /// Those who wait by now.
    fn take(&self) -> Vec<CommitSlot> {
        let mut waiting = self.locked();
        let most = waiting.rest.len().min(MOST);
        waiting.rest.drain(..most).collect()
    }

    /// Each change is whole, so a panic elsewhere leaves it sound.
    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CommitLeader<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.locked();
        while let Some(CommitSlot { record, told }) = waiting.rest.pop_front() {
            if told.send(GroupCommitResult::Lead(record)).is_ok() {
                return;
            }
        }
        waiting.led = false;
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, TokenUsage};
    use epitome_kernel::{AppendBatch, Journal, MessageRecord, ResponseRecord};

    use super::*;
    use crate::SessionArchive;

    fn batch(text: &str) -> AppendBatch {
        let (key, text) = (EntryKey(ContentId::for_text(text).0), text.to_owned());
        let said = MessageRecord {
            chain: HistoryHash::default().append(key),
            key,
            place: 0,
            role: Role::User,
            text: ContentId::for_text(&text),
            bytes: Some(text.into_bytes()),
            tokens: 1,
            at: None,
        };
        AppendBatch {
            said: vec![said],
            at: "2026-01-01T00:00:00Z".into(),
            ..AppendBatch::default()
        }
    }

    fn answered(batch: &AppendBatch) -> ResponseRecord {
        let MessageRecord { chain: after, key, text, ref bytes, .. } = batch.said[0];
        let usage = TokenUsage { output: 7, ..TokenUsage::default() };
        let (bytes, at) = (bytes.clone(), batch.at.clone());
        let (ahead, chain, key) = (0, after.append(key), Some(key));
        ResponseRecord {
            after,
            ahead,
            key,
            chain,
            bytes,
            text,
            usage,
            stop: None,
            at,
            is_whole: false,
        }
    }

    /// Has everybody wait before the first can write.
    fn together<T: Send>(store: &SqliteStore, all: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
        std::thread::scope(|scope| {
            let link = store.lock();
            let waiting = all.len() - 1;
            let running: Vec<_> = all.into_iter().map(|one| scope.spawn(one)).collect();
            while store.crowd.locked().rest.len() < waiting {
                std::thread::yield_now();
            }
            drop(link);
            running.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    #[test]
    fn whoever_waits_is_written_along_and_fails_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
        let batches: Vec<_> = (0..150).map(|one| batch(&format!("task {one}"))).collect();
        let scope = |one: usize| ["a", "b", "c"][one % 3];
        let astray = HistoryHash([9; 16]);
        let append = |(one, batch): (usize, &AppendBatch)| {
            let after = if one % 50 == 7 { astray } else { batch.after };
            let mut batch = AppendBatch { after, ..batch.clone() };
            batch.said[0].chain = after.append(batch.said[0].key);
            let (store, name) = (&store, one.to_string());
            move || store.append(scope(one), &name, &batch).map_err(|error| error.to_string())
        };
        let results = together(&store, batches.iter().enumerate().map(append).collect());
        for (one, result) in results.iter().enumerate() {
            let lost = "is not recorded";
            assert_eq!(result.as_ref().err().map(|error| error.contains(lost)), {
                (one % 50 == 7).then_some(true)
            });
        }
        let answer = |(one, batch): (usize, &AppendBatch)| {
            let (store, name, answer) = (&store, one.to_string(), answered(batch));
            move || store.record_response(scope(one), &name, &answer).is_ok()
        };
        let results = together(&store, batches.iter().enumerate().map(answer).collect());
        for (one, is_recorded) in results.into_iter().enumerate() {
            assert_eq!(is_recorded, one % 50 != 7);
            let info = store.session(scope(one), &one.to_string());
            let info = info
                .map(|info| {
                    (info.figures.messages, info.figures.answers, info.figures.usage.output)
                })
                .ok();
            assert_eq!(info, is_recorded.then_some((1, 1, 7)));
        }
        assert_eq!(store.verify(false).unwrap(), []);
    }
}
