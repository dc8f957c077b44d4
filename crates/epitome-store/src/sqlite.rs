//! The store on disk: one SQLite file.
//!
//! Invariant: a `keep` is one transaction, and every statement names its scope. Called through the
//! [`Store`] port; several processes may use one file at once.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::ContentId;
use epitome_kernel::{Blob, Counter, Departure, Excerpt, Store, StoreError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, ToSql, TransactionBehavior, params};
use rustc_hash::FxHashMap;

use crate::passage::{Kept, answer, arrivals};
use crate::prefix::Prefix;
use crate::schema::{self, Refusal, Sync};
use crate::{file, fulltext};

/// Passages of one scope that are all ranked; of more, the full-text index proposes some.
const RANKED_WHOLE: i64 = 5_000;

/// Passages that the full-text index proposes, and the newest ones that are ranked beside them.
const PROPOSED: i64 = 2_000;
const NEWEST: i64 = 1_000;

/// A store in a file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    link: Mutex<Link>,
}

/// The connection, and whether the file holds what could be lost.
#[derive(Debug)]
struct Link {
    connection: Connection,
    kept_before: bool,
}

impl Sqlite {
    /// Opens a store, creating the file (and its folders) if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] for a store of a newer version; [`StoreError::Broken`] for a file that
    /// cannot be created or is not a store.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let created = file::create_private(path)
            .map_err(|error| broken(path, "cannot be created", &error))?;
        Self::connect(path, if created { Sync::Off } else { Sync::Normal })
    }

    /// Opens a store that exists; never creates one.
    ///
    /// # Errors
    ///
    /// As [`Sqlite::open`], and [`StoreError::Broken`] if there is no such file.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(broken(path, "cannot be opened", &"there is no such file"));
        }
        Self::connect(path, Sync::Normal)
    }

    fn connect(path: &Path, sync: Sync) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)
            .map_err(|error| broken(path, "cannot be opened", &error))?;
        schema::prepare(&mut connection, sync).map_err(|refusal| match refusal {
            Refusal::Newer(error) => error,
            Refusal::Foreign => {
                broken(path, "cannot be used", &"it is a database of another program")
            }
            Refusal::Sql(error) => broken(path, "cannot be opened", &error),
        })?;
        let kept_before = sync == Sync::Normal;
        Ok(Self { path: path.to_owned(), link: Mutex::new(Link { connection, kept_before }) })
    }

    /// The connection. A panic while it was held rolled its transaction back.
    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unread(&self, error: rusqlite::Error) -> StoreError {
        broken(&self.path, "cannot be read", &error)
    }
}

impl Store for Sqlite {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        let mut link = self.lock();
        link.keep(scope, departure).map_err(|error| broken(&self.path, "cannot be written", &error))
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
        let prefix = Prefix::parse(id)?;
        let link = self.lock();
        let found =
            originals(&link.connection, scope, &prefix).map_err(|error| self.unread(error))?;
        prefix.only(found)
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = candidates(&self.lock().connection, scope, query)
            .map_err(|error| self.unread(error))?;
        Ok(answer(&kept, query, budget, counter))
    }
}

fn broken(path: &Path, what: &'static str, cause: &dyn std::fmt::Display) -> StoreError {
    StoreError::Broken { path: path.display().to_string(), what, cause: cause.to_string() }
}

impl Link {
    fn keep(&mut self, scope: &str, departure: &Departure) -> rusqlite::Result<()> {
        if self.kept_before {
            Sync::Normal.apply(&self.connection)?;
        }
        write(&mut self.connection, scope, departure)?;
        self.kept_before = true;
        Ok(())
    }
}

/// Writes a departure, all of it or nothing.
fn write(connection: &mut Connection, scope: &str, departure: &Departure) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        transaction.execute("INSERT OR IGNORE INTO scope (name) VALUES (?1)", [scope])?;
        let scope: i64 =
            transaction
                .query_row("SELECT id FROM scope WHERE name = ?1", [scope], |row| row.get(0))?;
        let mut put_blob = transaction.prepare(
            "INSERT INTO blob (scope, id, source, text) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (scope, id) DO UPDATE SET source = excluded.source
             WHERE source IS NULL AND excluded.source IS NOT NULL",
        )?;
        for blob in &departure.blobs {
            put_blob.execute(params![scope, blob.id.0, blob.source, blob.text])?;
        }
        let mut put_passage = transaction.prepare(
            "INSERT OR IGNORE INTO passage (scope, text_id, original, source, holder, start, length)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let mut put_terms =
            transaction.prepare("INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)")?;
        let index = fulltext::Index::new(scope);
        for arrival in arrivals(departure) {
            let holder = if arrival.range.is_some() { arrival.original } else { arrival.id };
            let start = arrival.range.as_ref().map_or(0, |range| range.start);
            let new = put_passage.execute(params![
                scope,
                arrival.id.0,
                arrival.original.0,
                arrival.source,
                holder.0,
                start as i64,
                arrival.text.len() as i64
            ])?;
            if new == 0 {
                continue;
            }
            put_terms
                .execute(params![transaction.last_insert_rowid(), index.terms(arrival.text)])?;
            if arrival.range.is_none() {
                let own = (arrival.original == arrival.id).then_some(arrival.source);
                put_blob.execute(params![scope, arrival.id.0, own, arrival.text])?;
            }
        }
    }
    transaction.commit()
}

fn originals(
    connection: &Connection,
    scope: &str,
    prefix: &Prefix<'_>,
) -> rusqlite::Result<Vec<Blob>> {
    let range = prefix.range();
    connection
        .prepare_cached(
            "SELECT blob.id, source, text FROM blob JOIN scope ON scope.id = blob.scope
             WHERE scope.name = ?1 AND blob.id BETWEEN ?2 AND ?3 AND source IS NOT NULL",
        )?
        .query_map(params![scope, range.start().0, range.end().0], |row| {
            Ok(Blob { id: ContentId(row.get(0)?), source: row.get(1)?, text: row.get(2)? })
        })?
        .collect()
}

/// The passages of a scope that are worth ranking, in the order of the conversation.
fn candidates(connection: &Connection, scope: &str, query: &str) -> rusqlite::Result<Vec<Kept>> {
    let known = connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([scope], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(scope) = known else { return Ok(Vec::new()) };
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM passage WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))?;
    let mut shelf = Shelf { connection, scope, texts: FxHashMap::default() };
    if count <= RANKED_WHOLE {
        return shelf.load("SELECT id FROM passage WHERE scope = ?1", params![scope]);
    }
    let newest =
        "SELECT id FROM (SELECT id FROM passage WHERE scope = ?1 ORDER BY id DESC LIMIT ?2)";
    match fulltext::rarest(connection, scope, query)? {
        None => shelf.load(newest, params![scope, NEWEST]),
        Some(expression) => shelf.load(
            &format!(
                "{newest} UNION SELECT rowid FROM (SELECT rowid FROM passage_terms
                 WHERE passage_terms MATCH ?3 ORDER BY rank LIMIT ?4)"
            ),
            params![scope, NEWEST, expression, PROPOSED],
        ),
    }
}

/// Reads passages of one scope; every text that holds some is read once.
struct Shelf<'a> {
    connection: &'a Connection,
    scope: i64,
    texts: FxHashMap<[u8; 16], String>,
}

impl Shelf<'_> {
    /// The passages with the ids that a query selects; `?1` is the scope.
    fn load(&mut self, chosen: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<Kept>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT id, original, source, holder, start, length FROM passage
             WHERE scope = ?1 AND id IN ({chosen}) ORDER BY id"
        ))?;
        let mut rows = statement.query(values)?;
        let mut kept = Vec::new();
        while let Some(row) = rows.next()? {
            let (start, length): (u32, u32) = (row.get(4)?, row.get(5)?);
            let range = start as usize..(start as usize).saturating_add(length as usize);
            let Some(text) = self.slice(row.get(3)?, range)? else { continue };
            let (order, original) = (row.get(0)?, ContentId(row.get(1)?));
            kept.push(Kept { order, original, source: row.get(2)?, text });
        }
        Ok(kept)
    }

    /// A piece of a text; `None` if the text does not reach so far.
    fn slice(&mut self, holder: [u8; 16], range: Range<usize>) -> rusqlite::Result<Option<String>> {
        let text = match self.texts.entry(holder) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(
                self.connection
                    .prepare_cached("SELECT text FROM blob WHERE scope = ?1 AND id = ?2")?
                    .query_row(params![self.scope, holder], |row| row.get(0))?,
            ),
        };
        Ok(text.get(range).map(str::to_owned))
    }
}
