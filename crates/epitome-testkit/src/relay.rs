//! The network between a store and its server in PostgreSQL: what passes is counted, and it is cut at any
//! byte.
//!
//! Invariant: it hands bytes over as they are and in their order. Called by tests.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::PostgresServer;

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// A socket that leads to that of a server.
#[derive(Debug)]
pub struct PostgresRelay {
    folder: tempfile::TempDir,
    shared: Arc<RelayState>,
}

#[derive(Debug)]
struct RelayState {
    server: PathBuf,
    passage: Mutex<Passage>,
    cuts: AtomicUsize,
    silences: AtomicUsize,
    sent: Mutex<SentStatements>,
    open: Mutex<Vec<UnixStream>>,
}

/// What may pass.
#[derive(Clone, Copy, Debug)]
enum Passage {
    /// All.
    Open,
    /// So many bytes until all connections are cut.
    Bytes(usize),
    /// Nothing: whoever handed over the last byte is about to cut.
    Closing,
}

impl Passage {
    /// Takes so many of the bytes that wait as may pass.
    fn take(&mut self, waiting: usize) -> usize {
        match *self {
            Self::Open => waiting,
            Self::Bytes(left) if left < waiting => {
                *self = Self::Closing;
                left
            }
            Self::Bytes(left) => {
                *self = Self::Bytes(left - waiting);
                waiting
            }
            Self::Closing => 0,
        }
    }
}

impl PostgresRelay {
    /// A network before a server.
    ///
    /// # Errors
    ///
    /// Where its socket cannot be made.
    pub fn start(server: &PostgresServer) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let shared = Arc::new(RelayState::before(server.folder().join(SOCKET)));
        let state = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Where the server is away, the client is told by the end of its connection.
                drop(state.join(client));
            }
        });
        Ok(Self { folder, shared })
    }

    /// The address of one of the server's databases through this network.
    pub fn address(&self, database: &str) -> String {
        let folder = Path::new(self.folder.path()).display().to_string().replace('/', "%2F");
        format!("postgres://epitome@{folder}/{database}?sslmode=disable")
    }

    /// Cuts all connections once so many more bytes have passed, in both directions together; new ones
    /// can be made then.
    pub fn cut_after(&self, bytes: u32) {
        self.shared.allow(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Leaves all connections that are there open, and hands nothing over on them any more.
    pub fn fall_silent(&self) {
        self.shared.silences.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it was cut.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// What clients had the server do, from the first connection on.
    pub fn sent(&self) -> SentStatements {
        *self.shared.sent()
    }
}

impl RelayState {
    fn before(server: PathBuf) -> Self {
        Self {
            server,
            passage: Mutex::new(Passage::Open),
            cuts: AtomicUsize::new(0),
            silences: AtomicUsize::new(0),
            sent: Mutex::default(),
            open: Mutex::default(),
        }
    }

    fn join(self: &Arc<Self>, client: UnixStream) -> io::Result<()> {
        let server = UnixStream::connect(&self.server)?;
        let ends = [client.try_clone()?, server.try_clone()?];
        self.open.lock().unwrap_or_else(PoisonError::into_inner).extend(ends);
        let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
        let (asking, answering) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || asking.pump(from_client, server, Some(SentMessages::default())));
        thread::spawn(move || answering.pump(from_server, client, None));
        Ok(())
    }

    /// Hands over until one of the two ends, or all are cut.
    fn pump(&self, mut from: UnixStream, mut to: UnixStream, mut sent: Option<SentMessages>) {
        let silences = || self.silences.load(Ordering::SeqCst);
        let (mut buffer, before) = ([0; 4096], silences());
        while let Ok(read) = from.read(&mut buffer) {
            if read == 0 {
                break;
            }
            if silences() > before {
                continue;
            }
            let (passed, is_last) = self.take(read);
            if let Some(sent) = &mut sent {
                sent.read(&buffer[..passed], &mut self.sent());
            }
            let is_given = to.write_all(&buffer[..passed]).is_ok();
            if is_last {
                self.cut();
            }
            if passed < read || !is_given {
                break;
            }
        }
        drop(from.shutdown(Shutdown::Both));
        drop(to.shutdown(Shutdown::Both));
    }

    fn sent(&self) -> MutexGuard<'_, SentStatements> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn passage(&self) -> MutexGuard<'_, Passage> {
        self.passage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has so many bytes pass before the next cut.
    fn allow(&self, bytes: usize) {
        *self.passage() = Passage::Bytes(bytes);
    }

    /// How many of the bytes that wait may pass, and whether they are the last before a cut. One alone of
    /// those that wait then is told so and cuts: a second one would take what was asked for meanwhile.
    fn take(&self, waiting: usize) -> (usize, bool) {
        let mut passage = self.passage();
        let was_closing = matches!(*passage, Passage::Closing);
        let passed = passage.take(waiting);
        (passed, !was_closing && matches!(*passage, Passage::Closing))
    }

    fn cut(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
        *self.passage() = Passage::Open;
        self.cuts.fetch_add(1, Ordering::SeqCst);
    }
}

/// What clients had a server do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentStatements {
    /// Statements that were carried out.
    pub statements: usize,
    /// How often an answer was waited for: for each statement, and to have one parsed beforehand.
    pub round_trips: usize,
}

/// The messages of a client, as far as they have passed.
#[derive(Debug, Default)]
struct SentMessages {
    begun: Vec<u8>,
    /// Whether the first message, which alone has no kind, has passed.
    is_open: bool,
}

impl SentMessages {
    /// Counts the messages that end here.
    fn read(&mut self, bytes: &[u8], all: &mut SentStatements) {
        self.begun.extend_from_slice(bytes);
        loop {
            let kind = usize::from(self.is_open);
            let Some(length) = self.begun.get(kind..kind + 4) else { return };
            let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            let end = kind + length.max(4);
            if self.begun.len() < end {
                return;
            }
            let kind = self.is_open.then_some(self.begun[0]);
            all.statements += usize::from(matches!(kind, Some(b'E' | b'Q')));
            all.round_trips += usize::from(matches!(kind, Some(b'S' | b'Q')));
            self.is_open = true;
            self.begun.drain(..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two directions come to the end of one allowance at once; the next cut is asked for as soon as the
    /// first has come.
    #[test]
    fn a_cut_that_is_asked_for_behind_another_one_comes() {
        let state = RelayState::before(PathBuf::new());
        state.allow(10);
        let [asking, answering] = [100, 50].map(|waiting| state.take(waiting));
        assert_eq!([asking, answering], [(10, true), (0, false)]);
        state.cut();
        state.allow(5);
        assert_eq!(
            (state.take(5), state.take(1), state.take(1)),
            ((5, false), (0, true), (0, false))
        );
        assert_eq!(state.cuts.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn statements_are_counted() {
        let message = |kind: u8, text: &[u8]| {
            let length = u32::try_from(text.len() + 4).unwrap().to_be_bytes();
            [&[kind], &length[..], text].concat()
        };
        let first = message(0, b"user\0epitome\0")[1..].to_vec();
        let all = [
            first,
            message(b'P', b"SELECT 1"),
            message(b'D', b""),
            message(b'S', b""),
            message(b'B', b""),
            message(b'E', b""),
            message(b'S', b""),
            message(b'Q', b"SELECT S"),
            message(b'X', b""),
        ]
        .concat();
        for step in [1, 3, all.len()] {
            let (mut sent, mut counted) = (SentMessages::default(), SentStatements::default());
            all.chunks(step).for_each(|part| sent.read(part, &mut counted));
            let expected = SentStatements { statements: 2, round_trips: 3 };
            assert_eq!(counted, expected, "{step}");
        }
    }
}
