//! Sessions of the database, handed over as a whole.
//!
//! Invariant: a session is read at one moment; what is damaged of it is an error. What older versions
//! recorded once for several sessions is handed over with each of them. Called through
//! [`TransferStore`].

use std::collections::hash_map::Entry;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, JournalMark, SessionInfo};
use epitome_kernel::{StoreError, StoredText};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::checksum::{ANSWER, EPOCH, ERASED, MARK, MESSAGE, SESSION, ScopeChecksum};
use super::fail::Fail;
use super::journal::number;
use super::owner::{Owner, SessionRowId};
use super::passages::{HeldText, NO_SESSION};
use super::{SqliteStore, act, answer, compaction, copy, memo, passages, session, tree};
use crate::copied::{CopiedAnswer, CopiedMessage, KeptTexts, SessionCopy, SessionFacts};
use crate::log::SearchPiece;
use crate::passage::IncomingPassage;
use crate::transfer::{CopiedBeginning, TransferStore};

impl TransferStore for SqliteStore {
    fn beginnings(&self, scope: &str) -> Result<Vec<CopiedBeginning>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(Vec::new()) };
            let sql = "SELECT name, label, opened, started FROM session
                WHERE scope = ?1 ORDER BY id";
            let mut statement = connection.prepare_cached(sql)?;
            let begun = statement.query_map([scope], |row| {
                let (name, label, opened) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(CopiedBeginning { name, label, opened, at: row.get(3)? })
            })?;
            Ok(begun.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn session_copy(&self, scope: &str, name: &str) -> Result<SessionCopy, StoreError> {
        self.read(|connection| {
            let scope = number(connection, scope)?;
            let (id, info) = session::named(connection, scope, name)?;
            read(connection, Owner { scope: scope.unwrap_or_default(), session: id }, info)
        })
    }

    fn take(&self, scope: &str, name: &str, copy: &SessionCopy) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            Taker { connection, ledger, session }.take(copy)
        })
    }

    fn kept_outside(&self, scope: &str) -> Result<KeptTexts, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => kept(connection, Owner { scope, session: NO_SESSION }),
            None => Ok(KeptTexts::default()),
        })
    }

    fn keep_outside(&self, scope: &str, kept: &KeptTexts) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            Taker { connection, ledger, session: NO_SESSION }.texts(kept)
        })
    }

    fn ban(&self, scope: &str, keys: &[EntryKey]) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            for key in keys {
                ledger.insert(connection, &ERASED, params![key.0], &[])?;
            }
            Ok(())
        })
    }
}

fn read(connection: &Connection, owner: Owner, mut info: SessionInfo) -> Result<SessionCopy, Fail> {
    let Owner { scope, session: id } = owner;
    let head = info.head;
    answer::sum_up(connection, id, &mut info)?;
    let said = said(connection, owner, &info)?;
    let lengths: FxHashMap<HistoryHash, u32> =
        said.iter().map(|it| (it.said.chain, it.said.place + 1)).collect();
    let mut keys: FxHashSet<EntryKey> = FxHashSet::default();
    let keys: Vec<EntryKey> =
        said.iter().map(|it| it.said.key).filter(|key| keys.insert(*key)).collect();
    let mut seen = FxHashSet::default();
    let mut rewrites = compaction::rewrites(connection, owner, &keys)?;
    rewrites.retain(|rewrite| seen.insert((rewrite.key, rewrite.part)));
    let places = |table| copy::places(connection, table, owner, head);
    let epochs = compaction::of_session(connection, id)?;
    let acts = act::of_session(connection, scope, id)?;
    Ok(SessionCopy {
        answers: answer::all(connection, owner, &lengths)?,
        rewrites,
        epochs: places("epoch")?.into_iter().zip(epochs).collect(),
        acts: places("act")?.into_iter().zip(acts).collect(),
        marks: copy::marks(connection, owner, head)?,
        kept: kept(connection, owner)?,
        facts: Some(SessionFacts {
            opened: copy::opened(connection, id)?,
            meter: session::meter(connection, scope, &info.name)?,
            memos: memo::of_session(connection, scope, id)?,
            info,
        }),
        said,
    })
}

/// All messages of a session, and those of others that its histories lead through.
fn said(
    connection: &Connection,
    owner: Owner,
    info: &SessionInfo,
) -> Result<Vec<CopiedMessage>, Fail> {
    let Owner { scope, session } = owner;
    let own = "SELECT id, parent FROM message WHERE scope = ?1 AND session = ?2";
    let mut ids: FxHashSet<i64> = FxHashSet::default();
    let mut above: Vec<i64> = Vec::new();
    let mut statement = connection.prepare_cached(own)?;
    let mut rows = statement.query(params![scope, session])?;
    while let Some(row) = rows.next()? {
        ids.insert(row.get(0)?);
        above.extend(row.get::<_, Option<i64>>(1)?);
    }
    let heads = "SELECT head FROM snapshot WHERE scope = ?1 AND session = ?2";
    let mut statement = connection.prepare_cached(heads)?;
    let heads =
        statement.query_map(params![scope, info.name], |row| row.get(0).map(HistoryHash))?;
    let mut heads: Vec<HistoryHash> = heads.collect::<rusqlite::Result<_>>()?;
    heads.push(info.head);
    for head in heads {
        above.extend(tree::on_way(connection, owner, head)?.map(|node| node.id));
    }
    let mut parent = connection.prepare_cached("SELECT parent FROM message WHERE id = ?1")?;
    while let Some(id) = above.pop() {
        if ids.insert(id) {
            above.extend(parent.query_row([id], |row| row.get::<_, Option<i64>>(0))?);
        }
    }
    let mut ids: Vec<i64> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| tree::copied(connection, id)).collect()
}

/// What a session keeps, or what is kept outside of sessions.
fn kept(connection: &Connection, Owner { scope, session }: Owner) -> Result<KeptTexts, Fail> {
    let mut statement = connection.prepare_cached(
        "SELECT blob.id, source, text FROM held
         JOIN blob ON blob.scope = held.scope AND blob.id = held.blob
         WHERE held.scope = ?1 AND held.session = ?2 AND source NOT NULL ORDER BY held.rowid",
    )?;
    let originals = statement.query_map(params![scope, session], |row| {
        Ok(StoredText { id: ContentId(row.get(0)?), source: row.get(1)?, text: row.get(2)? })
    })?;
    let originals: Vec<StoredText> = originals.collect::<rusqlite::Result<_>>()?;
    if let Some(other) = originals.iter().find(|it| ContentId::for_text(&it.text) != it.id) {
        return Err(Fail::damaged(format!("the text {} is not what was kept", other.id)));
    }
    let mut statement = connection.prepare_cached(
        "SELECT text_id, original, source, holder, start, length FROM passage
         WHERE scope = ?1 AND session = ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![scope, session])?;
    let mut texts: FxHashMap<ContentId, String> = FxHashMap::default();
    let mut pieces = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, original, holder) =
            (ContentId(row.get(0)?), ContentId(row.get(1)?), ContentId(row.get(3)?));
        let whole = match texts.entry(holder) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(passages::text(connection, scope, holder)?),
        };
        let (start, length): (u32, u32) = (row.get(4)?, row.get(5)?);
        let range = start as usize..start.saturating_add(length) as usize;
        let text = whole.get(range.clone());
        let Some(text) = text.filter(|text| ContentId::for_text(text) == id) else {
            return Err(Fail::damaged(format!("a passage of {original} does not stand there")));
        };
        let span = (holder == original).then_some([range.start as u64, range.end as u64]);
        let (source, text) = (row.get(2)?, text.to_owned());
        pieces.push(SearchPiece { line: String::new(), id, original, source, span, text });
    }
    Ok(KeptTexts { originals, pieces })
}

/// Takes a copy up in one transaction.
struct Taker<'a> {
    connection: &'a Connection,
    ledger: &'a mut ScopeChecksum,
    session: SessionRowId,
}

impl Taker<'_> {
    fn take(&mut self, copy: &SessionCopy) -> Result<(), Fail> {
        let Self { connection, session, .. } = *self;
        self.said(&copy.said)?;
        self.answers(&copy.answers)?;
        tree::all_indexed(connection, self.ledger.scope)?;
        self.texts(&copy.kept)?;
        for rewrite in &copy.rewrites {
            compaction::rewrite(connection, self.ledger, session, rewrite)?;
        }
        for (place, mark) in &copy.marks {
            self.mark(*place, *mark, copy)?;
        }
        for (place, recorded) in &copy.epochs {
            compaction::add(connection, self.ledger, session, &recorded.epoch, Some(*place))?;
            self.turn(recorded.epoch.id, recorded.undone)?;
        }
        for (place, act) in &copy.acts {
            act::add(connection, self.ledger, session, *place, std::slice::from_ref(act))?;
        }
        self.ledger.seen += 1;
        match &copy.facts {
            Some(facts) => self.facts(facts),
            None => Ok(()),
        }
    }

    fn said(&mut self, all: &[CopiedMessage]) -> Result<(), Fail> {
        let Self { connection, session, .. } = *self;
        let erasures = tree::Erasures::read(connection, self.ledger.scope)?;
        for it in all {
            let owner = self.ledger.owner(session);
            if tree::find(connection, owner, it.said.chain)?.is_some() {
                continue;
            }
            let parent = tree::end_of(connection, owner, it.after)?;
            let (said, place) = (&it.said, tree::NewPlace::Unknown);
            let new = tree::NewMessage { session, parent, said, place, erasures };
            let node = tree::add(connection, self.ledger, &new)?;
            if it.indexed && it.said.bytes.is_some() {
                self.ledger.change(connection, &MESSAGE, node.id, "indexed = 1", &[])?;
            }
        }
        Ok(())
    }

    fn answers(&mut self, all: &[CopiedAnswer]) -> Result<(), Fail> {
        let Self { connection, session, .. } = *self;
        for it in all {
            answer::add(connection, self.ledger, session, &it.answer)?;
            if it.indexed && it.answer.bytes.is_some() {
                let row = connection.last_insert_rowid();
                self.ledger.change(connection, &ANSWER, row, "indexed = 1", &[])?;
            }
        }
        Ok(())
    }

    fn texts(&mut self, kept: &KeptTexts) -> Result<(), Fail> {
        let Self { connection, session, .. } = *self;
        for StoredText { id, source, text } in &kept.originals {
            let held = HeldText { id: *id, source: Some(source), text };
            passages::put(connection, self.ledger, session, &held)?;
        }
        let arrivals: Vec<_> = kept.pieces.iter().map(incoming).collect();
        Ok(passages::keep_more(connection, self.ledger, session, &arrivals)?)
    }

    /// Adds a mark as it was recorded; when that was other stores do not tell.
    fn mark(
        &mut self,
        place: HistoryHash,
        mark: JournalMark,
        copy: &SessionCopy,
    ) -> Result<(), Fail> {
        let (kind, target) = match mark {
            JournalMark::Undo(epoch) => ("undo", epoch.0),
            JournalMark::Redo(epoch) => ("redo", epoch.0),
            JournalMark::Pin(key) => ("pin", key.0),
            JournalMark::Unpin(key) => ("unpin", key.0),
        };
        let at = copy.facts.as_ref().map_or("", |facts| facts.info.last.as_str());
        let values = params![kind, target, self.session, at, place.0];
        self.ledger.insert(self.connection, &MARK, values, &[])?;
        match mark {
            JournalMark::Undo(epoch) => self.turn(epoch, true),
            JournalMark::Redo(epoch) => self.turn(epoch, false),
            JournalMark::Pin(_) | JournalMark::Unpin(_) => Ok(()),
        }
    }

    /// Says of an epoch, where it is there, whether it is taken back.
    fn turn(&mut self, epoch: ContentId, undone: bool) -> Result<(), Fail> {
        let sql = "SELECT id, undone FROM epoch
            WHERE scope = ?1 AND epoch = ?2 AND session = ?3";
        let found: Option<(i64, bool)> = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![self.ledger.scope, epoch.0, self.session], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        match found {
            Some((row, before)) if before != undone => {
                let set = "undone = ?2";
                Ok(self.ledger.change(self.connection, &EPOCH, row, set, params![undone])?)
            }
            _ => Ok(()),
        }
    }

    fn facts(&mut self, facts: &SessionFacts) -> Result<(), Fail> {
        let Self { connection, session, .. } = *self;
        let SessionFacts { info, opened, meter, memos } = facts;
        memo::replace(connection, self.ledger, session, memos)?;
        self.ledger.used += 1;
        let (used, figures) = (self.ledger.used, &info.figures);
        let values = params![
            info.title,
            info.format,
            info.model,
            info.last,
            info.head.0,
            figures.messages,
            used,
            info.trashed,
            figures.turns as i64,
            figures.tokens[0] as i64,
            figures.tokens[1] as i64,
            figures.total[0] as i64,
            figures.total[1] as i64,
            figures.limit as i64,
            session::written(meter)?,
            info.label,
            opened
        ];
        let set = "title = ?2, format = ?3, model = ?4, last = ?5, head = ?6, messages = ?7, \
            used = ?8, trashed = ?9, turns = ?10, came = ?11, sent = ?12, all_came = ?13, \
            all_sent = ?14, size = ?15, meter = ?16, label = ?17, opened = ?18";
        Ok(self.ledger.change(connection, &SESSION, session, set, values)?)
    }
}

fn incoming(piece: &SearchPiece) -> IncomingPassage<'_> {
    let range = piece.span.map(|[from, to]| from as usize..to as usize);
    IncomingPassage {
        id: piece.id,
        text: &piece.text,
        original: piece.original,
        source: piece.source.clone(),
        range,
    }
}
