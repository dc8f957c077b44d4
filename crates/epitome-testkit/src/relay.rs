//! The network between a store and its server in PostgreSQL: what passes is counted, and it is cut at any
//! byte.
//!
//! Invariant: it hands bytes over as they are and in their order. Called by tests.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// So many bytes pass until all connections are cut.
    left: AtomicI64,
    cuts: AtomicUsize,
    /// How often a client waited for an answer.
    statements: AtomicUsize,
    open: Mutex<Vec<UnixStream>>,
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
        let shared = Arc::new(RelayState {
            server: server.folder().join(SOCKET),
            left: AtomicI64::new(i64::MAX),
            cuts: AtomicUsize::new(0),
            statements: AtomicUsize::new(0),
            open: Mutex::default(),
        });
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
        self.shared.left.store(i64::from(bytes), Ordering::SeqCst);
    }

    /// How often it was cut.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// How often clients waited for an answer of the server, from the first connection on.
    pub fn statements(&self) -> usize {
        self.shared.statements.load(Ordering::SeqCst)
    }
}

impl RelayState {
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
        let mut buffer = [0; 4096];
        while let Ok(read) = from.read(&mut buffer) {
            if read == 0 {
                break;
            }
            let before = self.left.fetch_sub(read as i64, Ordering::SeqCst);
            let passed = usize::try_from(before.max(0)).unwrap_or(usize::MAX).min(read);
            if let Some(sent) = &mut sent {
                self.statements.fetch_add(sent.read(&buffer[..passed]), Ordering::SeqCst);
            }
            if to.write_all(&buffer[..passed]).is_err() {
                break;
            }
            if passed < read {
                self.cut();
                break;
            }
        }
        drop(from.shutdown(Shutdown::Both));
        drop(to.shutdown(Shutdown::Both));
    }

    fn cut(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if self.left.swap(i64::MAX, Ordering::SeqCst) < 0 {
            self.cuts.fetch_add(1, Ordering::SeqCst);
        }
        open.drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

/// The messages of a client, as far as they have passed.
#[derive(Debug, Default)]
struct SentMessages {
    begun: Vec<u8>,
    /// Whether the first message, which alone has no kind, has passed.
    is_open: bool,
}

impl SentMessages {
    /// How many of the messages that end here wait for an answer: the end of a statement, or one alone.
    fn read(&mut self, bytes: &[u8]) -> usize {
        self.begun.extend_from_slice(bytes);
        let mut waits = 0;
        loop {
            let kind = usize::from(self.is_open);
            let Some(length) = self.begun.get(kind..kind + 4) else { return waits };
            let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            let end = kind + length.max(4);
            if self.begun.len() < end {
                return waits;
            }
            waits += usize::from(self.is_open && matches!(self.begun[0], b'S' | b'Q'));
            self.is_open = true;
            self.begun.drain(..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_are_counted() {
        let message = |kind: u8, text: &[u8]| {
            let length = u32::try_from(text.len() + 4).unwrap().to_be_bytes();
            [&[kind], &length[..], text].concat()
        };
        let first = message(0, b"user\0epitome\0")[1..].to_vec();
        let all = [
            first,
            message(b'P', b"SELECT 1"),
            message(b'B', b""),
            message(b'E', b""),
            message(b'S', b""),
            message(b'Q', b"SELECT S"),
            message(b'X', b""),
        ]
        .concat();
        for step in [1, 3, all.len()] {
            let mut sent = SentMessages::default();
            let waits: usize = all.chunks(step).map(|part| sent.read(part)).sum();
            assert_eq!(waits, 2, "{step}");
        }
    }
}
