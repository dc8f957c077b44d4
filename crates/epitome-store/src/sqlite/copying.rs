//! What was written is copied from the write-ahead file into the database beside whoever writes:
//! it waits for the disk, and a request need not.
//!
//! Invariant: what is acknowledged is in the write-ahead file before and after, so a copy that
//! fails or never comes costs nothing but room, and that has a bound: from there on whoever writes
//! copies. No copy outlives its store. Called by [`super::SqliteStore`].

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use super::seal::FileSeal;
use super::use_mark::UseMark;

/// Each time that the write-ahead file has grown by so many pages they are copied.
const EACH: i32 = 1_000;
/// With so many pages in the file it does not grow further while others write all the time.
const MOST: i32 = 2 * EACH;

/// The copies of a store.
#[derive(Debug)]
pub(crate) struct Copying(Arc<RunningCopy>);

/// The copy that runs, or ran last.
#[derive(Debug)]
struct RunningCopy {
    /// Of the store, and where that is.
    mark: Arc<UseMark>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Copying {
    /// Copies what a connection writes from now on.
    pub(crate) fn of(connection: &mut Connection, mark: Arc<UseMark>) -> rusqlite::Result<Self> {
        let running = RunningCopy { mark, thread: Mutex::default() };
        Self::with_bounds(connection, running, [EACH, MOST])
    }

    fn with_bounds(
        connection: &mut Connection,
        running: RunningCopy,
        [each, most]: [i32; 2],
    ) -> rusqlite::Result<Self> {
        let running = Arc::new(running);
        let copies = Arc::clone(&running);
        // How many pages the file had after the last commit, and with how many the next copy is due.
        let (mut last, mut due) = (0, each);
        connection.wal_hook(Some(move |log: &mut Wal, pages| {
            if pages < last {
                // All of it was copied, and it began anew.
                due = each;
            }
            last = pages;
            if pages >= most {
                copies.end();
                // Where another process copies, the next commit tries again.
                drop(log.checkpoint());
                copies.mark.renew();
            } else if pages >= due && copies.begin() {
                due = pages.saturating_add(each);
            }
            Ok(())
        }))?;
        Ok(Self(running))
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl RunningCopy {
    /// Begins a copy, unless one runs; says whether it did.
    fn begin(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|running| !running.is_finished()) {
            return false;
        }
        let mark = Arc::clone(&self.mark);
        let copy = move || {
            drop(copy(mark.path(), mark.seal()));
            mark.renew();
        };
        *thread = thread::Builder::new().name("epitome-copy".to_owned()).spawn(copy).ok();
        thread.is_some()
    }

    /// Waits for the copy that runs.
    fn end(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = thread {
            drop(running.join());
        }
    }
}

/// Copies what is in the write-ahead file by now, and keeps nobody from writing on.
fn copy(path: &Path, seal: FileSeal) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = seal.connect(path, flags)?;
    // The file is found with the first page that is read.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    /// Whether all was copied after each of three commits of some twelve pages.
    #[track_caller]
    fn check(bounds: [i32; 2], expected: [bool; 3]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let mut connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        let seal = FileSeal::default();
        let mark = Arc::new(UseMark::at(&path, seal));
        let running = RunningCopy { mark, thread: Mutex::default() };
        let copying = Copying::with_bounds(&mut connection, running, bounds).unwrap();
        connection.execute_batch("CREATE TABLE t (b BLOB) STRICT").unwrap();
        copying.0.end();
        let copied = expected.map(|_| {
            connection.execute("INSERT INTO t VALUES (zeroblob(40000))", []).unwrap();
            copying.0.end();
            let index = file::read(&file::beside(&path, "-shm")).unwrap();
            // The pages in the file, and those of them that were copied.
            index[16..20] == index[96..100]
        });
        assert_eq!(copied, expected);
        drop(connection);
        drop(copying);
        assert!(!path.with_extension("db-wal").exists());
    }

    #[test]
    fn what_was_written_is_copied_beside_it() {
        check([i32::MAX; 2], [false; 3]);
        // It begins anew behind a copy.
        check([20, i32::MAX], [false, true, false]);
        check([1, i32::MAX], [true; 3]);
    }

    #[test]
    fn whoever_writes_copies_where_nobody_else_did() {
        check([i32::MAX, 20], [false, true, false]);
    }
}
