//! The store on disk: one SQLite file.
//!
//! Invariant: whatever is recorded is one transaction with the ledger of its scope, and every
//! statement names its scope. Called through the ports; several processes may use one file at once.

mod act;
mod answer;
mod archive;
mod backup;
mod checksum;
mod compaction;
mod copy;
mod copying;
mod delete;
mod diagnose;
mod erase;
mod fail;
mod file;
mod fulltext;
mod group_commit;
mod holder;
mod inherit;
mod journal;
mod lesson;
mod mark;
mod memo;
mod owner;
mod passages;
mod pending;
mod presence;
mod probe;
mod raw;
mod rebuild;
mod remove;
mod salvage;
mod schema;
mod seal;
mod search;
mod session;
mod session_row;
mod snapshot;
mod sums;
mod transaction;
mod transfer;
mod tree;
mod use_mark;
mod verify;
mod wal;
mod warm;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use epitome_kernel::{
    Eviction, Excerpt, OriginalStore, RankedPassage, SearchAnswer, SearchRange, SessionOf,
    StoreError, StoredText, TokenCounter,
};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use self::checksum::ScopeChecksum;
use self::copying::Copying;
use self::fail::{Fail, broken};
use self::group_commit::GroupCommit;
use self::presence::{FileLoss, FilePresence};
pub use self::salvage::SalvagedStore;
use self::schema::{SchemaRefusal, Sync};
use self::seal::FileSeal;
pub use self::seal::StoreFile;
use self::transaction::StoreTransaction;
use self::use_mark::UseMark;
use self::warm::WarmSessions;
use crate::Durability;
use crate::passage::{IndexedPassage, answer, arrivals, each_ranked, excerpts, joined};
use crate::prefix::Prefix;

/// Statements that a connection keeps ready.
const STATEMENTS: usize = 64;

/// A store in a file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    seal: FileSeal,
    durability: Sync,
    link: Mutex<StoreConnection>,
    crowd: GroupCommit,
    presence: FilePresence,
    warm: WarmSessions,
    /// How long whoever has the connection waits for another process, in milliseconds.
    patience: AtomicU64,
    /// Ends after the connection.
    _copying: Copying,
}

/// Where a store is, and under which key.
#[derive(Clone, Copy)]
struct StorePlace<'a> {
    path: &'a Path,
    seal: FileSeal,
}

/// The connection, and what it waits for.
#[derive(Debug)]
struct StoreConnection {
    connection: Connection,
    sync: Sync,
    /// How long it waits for another process, in milliseconds.
    patience: u64,
}

impl SqliteStore {
    /// Opens a store, creating the file (and its folders) if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] for a store of a newer version; [`StoreError::Damaged`] for one that
    /// cannot be read any longer, and once for one whose newest records are torn: they are set
    /// aside in a file ending in `-wal.torn`, and what is left opens from then on;
    /// [`StoreError::Broken`] for a file that cannot be created, is not a store, or does not fit its
    /// key ([`crate::SEALED`]).
    pub fn open<'a>(file: impl Into<StoreFile<'a>>) -> Result<Self, StoreError> {
        Self::open_with(file, Durability::Normal)
    }

    /// Opens a store as [`SqliteStore::open`] does, and says what shall survive a power cut.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub fn open_with<'a>(
        file: impl Into<StoreFile<'a>>,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let file = file.into();
        let created = file::create_private(file.path)
            .map_err(|error| broken(file.path, "cannot be created", &error))?;
        Self::connect(file, created, durability)
    }

    /// Opens a store that exists; never creates one.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`], and [`StoreError::Broken`] if there is no such file.
    pub fn open_existing<'a>(file: impl Into<StoreFile<'a>>) -> Result<Self, StoreError> {
        let file = file.into();
        if !file.path.exists() {
            return Err(broken(file.path, "cannot be opened", &"there is no such file"));
        }
        Self::connect(file, false, Durability::Normal)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was opened for reading alone, since its user may not write it.
    pub fn is_read_only(&self) -> bool {
        self.lock().connection.is_readonly("main").unwrap_or(false)
    }

    /// Whether its files are encrypted.
    pub fn is_sealed(&self) -> bool {
        self.seal.is_sealed()
    }

    fn connect(
        file: StoreFile<'_>,
        created: bool,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let (path, seal) = (file.path, file.seal()?);
        let durability = match durability {
            Durability::Normal => Sync::Normal,
            Durability::Full => Sync::Full,
        };
        let sync = if created { Sync::Off } else { durability };
        presence::check_begun(path, seal)?;
        // Ends after the connection.
        let mark = Arc::new(UseMark::at(path, seal));
        let torn = |what| format!("the end of `{}` is torn: {what}", path.display());
        let loss = wal::loss(path, seal).map(torn).or_else(|| use_mark::loss(path, seal));
        if loss.is_some() {
            file::set_aside(path)
                .map_err(|error| broken(path, "has a torn end that cannot be kept", &error))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let link = |connection: rusqlite::Result<Connection>| {
            let mut connection = connection?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            schema::prepare(&mut connection, sync, seal).map(|()| connection)
        };
        let opened = match link(seal.connect(path, flags)) {
            // Whoever may not write it may read it.
            Err(SchemaRefusal::Sql(error)) if file::is_settled(path) && is_unwritable(&error) => {
                link(open_settled(path, seal))
            }
            opened => opened,
        };
        let connection = opened.map_err(|refusal| match refusal {
            SchemaRefusal::Newer(error) => error,
            SchemaRefusal::Foreign => {
                broken(path, "cannot be used", &"it is a database of another program")
            }
            SchemaRefusal::Sql(error) => Fail::Sql(error).at(path, "cannot be opened"),
        })?;
        let is_kept = !connection.is_readonly("main").unwrap_or(false);
        if let Some(what) = loss.filter(|_| is_kept) {
            // Said aloud once; from then on the verification tells it.
            connection
                .execute("INSERT INTO damage (what) VALUES (?1)", [&what])
                .map_err(|error| Fail::Sql(error).at(path, "cannot be written"))?;
            return Err(StoreError::Damaged { what });
        }
        Self::over(connection, mark, StorePlace { path, seal }, [durability, sync])
    }

    /// The store of a connection that is set up.
    fn over(
        mut connection: Connection,
        mark: Arc<UseMark>,
        StorePlace { path, seal }: StorePlace<'_>,
        [durability, sync]: [Sync; 2],
    ) -> Result<Self, StoreError> {
        let copying = Copying::of(&mut connection, Arc::clone(&mark))
            .map_err(|error| Fail::Sql(error).at(path, "cannot be opened"))?;
        let patience = in_millis(schema::PATIENCE);
        Ok(Self {
            path: path.to_owned(),
            seal,
            durability,
            link: Mutex::new(StoreConnection { connection, sync, patience }),
            crowd: GroupCommit::default(),
            presence: FilePresence::at(path, seal, mark),
            warm: WarmSessions::default(),
            patience: AtomicU64::new(patience),
            _copying: copying,
        })
    }

    /// The passages of these scopes among whose words are some near to missing ones.
    fn vicinity(
        &self,
        scopes: &[String],
        missing: &[String],
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        self.read(|connection| {
            let of = |scope: &String| search::vicinity(connection, scope, missing);
            Ok(joined(scopes.iter().map(of).collect::<Result<Vec<_>, _>>()?))
        })
    }

    /// The passages of each of these scopes that may answer a query.
    pub(crate) fn candidates(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<Vec<IndexedPassage>>, StoreError> {
        self.read(|connection| {
            let of = |scope: &String| search::candidates(connection, scope, query);
            scopes.iter().map(of).collect()
        })
    }

    /// The passages of one session that are worth ranking.
    pub(crate) fn candidates_of(
        &self,
        of: SessionOf<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        self.read(|connection| search::candidates_of(connection, of, query))
    }

    /// The passages of a range that are worth ranking.
    pub(crate) fn candidates_in(
        &self,
        range: SearchRange<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        match range {
            SearchRange::Scopes(scopes) => Ok(joined(self.candidates(scopes, query)?)),
            SearchRange::Session(of) => self.candidates_of(of, query),
        }
    }

    /// The connection. A panic while it was held rolled its transaction back. Whoever waits for it
    /// gets it before whoever had it for long.
    fn lock(&self) -> MutexGuard<'_, StoreConnection> {
        let mut link = self.link.lock();
        let patience = self.patience.load(Ordering::Relaxed);
        if link.patience != patience {
            link.be_patient(patience);
        }
        link
    }

    /// Has whoever reads or writes from now on wait so long for another process that holds the file.
    pub(crate) fn wait_at_most(&self, patience: Duration) {
        self.patience.store(in_millis(patience), Ordering::Relaxed);
    }

    /// Writes the passages of a departure that were too many for the transaction in which its
    /// originals were written, a portion at a time: others get the file between two of them. What
    /// is deleted or erased meanwhile does not come back.
    fn keep_rest(
        &self,
        scope: &str,
        session: Option<&str>,
        departure: &Eviction,
    ) -> Result<(), StoreError> {
        if departure.passages.len() <= passages::PORTION {
            return Ok(());
        }
        let mut rest = arrivals(departure).skip(passages::PORTION).peekable();
        while rest.peek().is_some() {
            let portion: Vec<_> = rest.by_ref().take(passages::PORTION).collect();
            self.record(scope, |connection, ledger| {
                let session = match session {
                    Some(name) => session::named(connection, Some(ledger.scope), name)?.0,
                    None => passages::NO_SESSION,
                };
                Ok(passages::keep_more(connection, ledger, session, &portion)?)
            })?;
        }
        Ok(())
    }

    /// Reads at one moment, whatever other processes write meanwhile.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fail>) -> Result<T, StoreError> {
        self.lock().read(work).map_err(|fail| fail.at(&self.path, "cannot be read"))
    }

    /// Writes all that `work` does, or nothing.
    fn write<T>(
        &self,
        scope: &str,
        sync: Sync,
        work: impl FnOnce(&Connection, &mut ScopeChecksum) -> Result<T, Fail>,
    ) -> Result<T, StoreError> {
        let presence = self.presence.check(&self.path);
        let mut link = self.lock();
        presence.map_err(|loss| link.leave(loss).at(&self.path))?;
        let moves = |connection: &Connection, ledger: &mut ScopeChecksum| {
            let before = ledger.seen;
            Ok((work(connection, ledger)?, ledger.seen != before))
        };
        let written = link.write(scope, sync, moves);
        let (done, has_moved) = written.map_err(|fail| fail.at(&self.path, "cannot be written"))?;
        if has_moved {
            self.warm.moved(scope);
        }
        Ok(done)
    }

    /// Writes to the journal: from the first record on, what is acknowledged is lasting.
    fn record<T>(
        &self,
        scope: &str,
        work: impl FnOnce(&Connection, &mut ScopeChecksum) -> Result<T, Fail>,
    ) -> Result<T, StoreError> {
        self.write(scope, self.durability, work)
    }
}

/// Whether the database wants to write what it may not.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Opens a file that nobody writes, for reading alone: nothing is made beside it.
fn open_settled(path: &Path, seal: FileSeal) -> rusqlite::Result<Connection> {
    let name = format!("file:{}?immutable=1", file::escaped(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    seal.connect(Path::new(&name), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn in_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl StoreConnection {
    /// Waits so many milliseconds for another process from now on.
    fn be_patient(&mut self, patience: u64) {
        // Where this fails it waits as long as it did.
        if self.connection.busy_timeout(Duration::from_millis(patience)).is_ok() {
            self.patience = patience;
        }
    }

    /// Leaves a file that something was done to. What is in a write-ahead file that was removed can be
    /// read as long as it is open: it is copied into the database, so nothing acknowledged goes with it.
    fn leave(&self, loss: FileLoss) -> FileLoss {
        if loss == FileLoss::Log {
            let copied =
                self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            // Where another process is at it, the next one who writes tries again.
            drop(copied);
        }
        loss
    }

    fn read<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, Fail>) -> Result<T, Fail> {
        let _moment = StoreTransaction::reading(&self.connection)?;
        work(&self.connection)
    }

    fn write<T>(
        &mut self,
        scope: &str,
        sync: Sync,
        work: impl FnOnce(&Connection, &mut ScopeChecksum) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.wait_for(sync)?;
        let moment = StoreTransaction::writing(&self.connection)?;
        let mut ledger = ScopeChecksum::open(&self.connection, scope)?;
        let result = work(&self.connection, &mut ledger)?;
        ledger.save(&self.connection)?;
        moment.commit()?;
        Ok(result)
    }

    /// Says what has to be waited for from now on.
    fn wait_for(&mut self, sync: Sync) -> rusqlite::Result<()> {
        if self.sync != sync {
            sync.apply(&self.connection)?;
            self.sync = sync;
        }
        Ok(())
    }
}

impl OriginalStore for SqliteStore {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        // The first departure into a new file does not wait for the disk, the following ones do:
        // a power cut may cost what is as good as made again, the crash of a process nothing.
        let sync = self.lock().sync;
        self.write(scope, sync, |connection, ledger| {
            Ok(passages::keep(connection, ledger, passages::NO_SESSION, departure)?)
        })?;
        self.keep_rest(scope, None, departure)?;
        self.lock()
            .wait_for(self.durability)
            .map_err(|error| Fail::Sql(error).at(&self.path, "cannot be written"))
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let prefix = Prefix::parse(id)?;
        prefix.only(self.read(|connection| passages::originals(connection, scope, &prefix))?)
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.read(|connection| search::candidates(connection, scope, query))?;
        Ok(excerpts(&joined(vec![kept]), query, budget, counter))
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Ok(excerpts(&self.candidates_of(of, query)?, query, budget, counter))
    }

    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<SearchAnswer, StoreError> {
        let kept = joined(self.candidates(scopes, query)?);
        answer(&kept, query, budget, counter, |missing| self.vicinity(scopes, missing))
    }

    fn passages(
        &self,
        range: SearchRange<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<RankedPassage>, StoreError> {
        Ok(each_ranked(&self.candidates_in(range, query)?, query, budget, counter))
    }
}
