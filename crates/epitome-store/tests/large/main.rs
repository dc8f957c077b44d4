//! A journal of many gigabytes is opened and listed without being read, in bounded memory.
//!
//! `EPITOME_LARGE=10 cargo test -p epitome-store --test large -- --nocapture` makes one of 10 GB in
//! the temporary folder (`TMPDIR`) and deletes it; without the variable it is a small one. It is a program of its own, so that
//! nothing else reads in it; what it has read is what the kernel says.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "asks the kernel, through its files")]
#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::ops::Range;
use std::path::Path;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role};
use epitome_kernel::{AppendBatch, Journal, MessageRecord};
use epitome_store::{SessionArchive, SqliteStore};

const SCOPE: &str = "local/default";
/// The bytes of a journal whose size nobody stated.
const SMALL: u64 = 1 << 27;

/// Bytes of every other message; the ones between are short.
const LONG: usize = 256 << 10;

/// Messages of a session, and those that come at once.
const SESSION: u32 = 512;
const BATCH: u32 = 64;

/// Bytes that opening, or one question, may read.
const LITTLE: u64 = 1 << 20;

/// Bytes that the write-ahead file may hold: the largest request, and what is copied back at once.
const LOG: u64 = 16 << 20;

/// Bytes of memory that the process may ever hold.
const MEMORY: u64 = 256 << 20;

/// A number that the kernel keeps of this process.
fn of_process(file: &str, name: &str) -> u64 {
    let lines = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    let line = lines.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes read so far: from files, and of these from the disk.
fn read_so_far() -> [u64; 2] {
    [of_process("io", "rchar:"), of_process("io", "read_bytes:")]
}

#[track_caller]
fn check<T>(what: &str, most: u64, work: impl FnOnce() -> T) -> T {
    let before = read_so_far();
    let result = work();
    let after = read_so_far();
    let [read, from_disk] = [after[0] - before[0], after[1] - before[1]];
    println!("{what:<24} {:>6} KB read, {:>6} KB of it from disk", read >> 10, from_disk >> 10);
    assert!(read < most && from_disk < most, "{what}: {read} bytes, {from_disk} from disk");
    result
}

fn said(session: u32, chain: HistoryHash, place: u32, filler: &[u8]) -> MessageRecord {
    let name = format!("message {place} of session {session} ");
    let mut bytes = name.clone().into_bytes();
    if place.is_multiple_of(2) {
        bytes.extend_from_slice(filler);
    }
    let key = EntryKey(ContentId::for_text(&name).0);
    MessageRecord {
        chain: chain.append(key),
        key,
        place,
        role: Role::User,
        text: ContentId::for_text(&name),
        bytes: Some(bytes),
        tokens: 1,
        at: None,
    }
}

/// Records sessions; gives the newest message.
fn fill(store: &SqliteStore, sessions: Range<u32>) -> HistoryHash {
    let filler = vec![b'x'; LONG];
    let mut chain = HistoryHash::default();
    for session in sessions {
        chain = HistoryHash::default();
        for first in (0..SESSION).step_by(BATCH as usize) {
            let mut batch =
                AppendBatch { after: chain, at: "now".into(), ..AppendBatch::default() };
            for place in first..first + BATCH {
                let next = said(session, chain, place, &filler);
                chain = next.chain;
                batch.said.push(next);
            }
            store.append(SCOPE, &format!("session {session}"), &batch).unwrap();
        }
    }
    chain
}

/// Opens the journal, which may also read `log` bytes of newest records, and asks it.
fn ask(path: &Path, sessions: u32, head: HistoryHash, log: u64) {
    let store = check("open", LITTLE + log, || SqliteStore::open_existing(path).unwrap());
    let listed = check("sessions", LITTLE, || store.sessions(SCOPE, 0, 1_000, true).unwrap());
    assert_eq!(listed.len(), usize::try_from(sessions).unwrap());
    assert_eq!((listed[0].head, listed[0].figures.messages), (head, SESSION));
    let named = check("session", LITTLE, || store.session(SCOPE, "session 0").unwrap());
    assert_eq!(named.figures.messages, SESSION);
    let history = || store.history(SCOPE, &listed[0].name, head, 8, 2).unwrap();
    let page = check("a page of two messages", LITTLE, history);
    let lengths: Vec<usize> = page.iter().flat_map(|said| &said.bytes).map(Vec::len).collect();
    assert!(lengths.len() == 2 && lengths[0] > LONG && lengths[1] < LONG, "{lengths:?}");
}

#[test]
fn a_large_journal_is_listed_without_being_read() {
    let gigabytes = std::env::var("EPITOME_LARGE").map(|count| count.parse::<u64>().unwrap());
    let most = gigabytes.map_or(SMALL, |count| count << 30);
    let sessions = u32::try_from(most.div_ceil(u64::from(SESSION / 2) * LONG as u64)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("epitome.db");
    let head = fill(&SqliteStore::open(&path).unwrap(), 0..sessions);
    let size = path.metadata().unwrap().len();
    println!("{sessions} sessions, {} messages, {} MB", sessions * SESSION, size >> 20);
    assert!(size > most);
    ask(&path, sessions, head, 0);
    // Beside a process that is writing, whose newest records stand in another file.
    let writer = SqliteStore::open_existing(&path).unwrap();
    let head = fill(&writer, sessions..sessions + 1);
    writer.set_head(SCOPE, &format!("session {sessions}"), head, None).unwrap();
    let log = path.with_extension("db-wal").metadata().unwrap().len();
    println!("beside a writer, {} KB in the write-ahead file", log >> 10);
    assert!(log < LOG, "{log} bytes");
    ask(&path, sessions + 1, head, log);
    let peak = of_process("status", "VmHWM:") << 10;
    println!("{} MB of memory at most", peak >> 20);
    assert!(peak < MEMORY, "{peak} bytes");
}
