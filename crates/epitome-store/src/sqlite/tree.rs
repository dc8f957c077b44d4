//! The tree of messages in the database.
//!
//! Invariant: a message stands in one branch, a stretch in which each follows the one before; the
//! way to any message is one range of each branch on it. Called by [`super::journal`] and
//! [`super::archive`].

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, Role, SessionBranch};
use epitome_kernel::{MessageRecord, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::checksum::{BRANCH, MESSAGE, RAW, ScopeChecksum};
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use crate::copied::CopiedMessage;

/// Bytes of an encoded message that fit on a page of the database with the rest of its row: these
/// stand there, for a second place costs two more pages with every message.
const SHORT: usize = 3_500;

/// Stands where nothing is known of a message but its place, since it was damaged.
pub(crate) const LOST: EntryKey = EntryKey([0; 16]);

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MessagePosition {
    pub(crate) id: i64,
    pub(crate) branch: i64,
    pub(crate) place: u32,
    pub(crate) session: SessionRowId,
}

/// The message of a session that a history ends with.
pub(crate) fn find(
    connection: &Connection,
    Owner { scope, session }: Owner,
    chain: HistoryHash,
) -> rusqlite::Result<Option<MessagePosition>> {
    connection
        .prepare_cached(
            "SELECT id, branch, place, session FROM message
             WHERE scope = ?1 AND chain = ?2 AND session = ?3",
        )?
        .query_row(params![scope, chain.0, session], node)
        .optional()
}

/// The same, or one that an older version recorded once for all sessions on whose way it is.
pub(crate) fn on_way(
    connection: &Connection,
    Owner { scope, session }: Owner,
    chain: HistoryHash,
) -> rusqlite::Result<Option<MessagePosition>> {
    let own = find(connection, Owner { scope, session }, chain)?;
    if own.is_some() {
        return Ok(own);
    }
    connection
        .prepare_cached(
            "SELECT id, branch, place, session FROM message
             WHERE scope = ?1 AND chain = ?2 AND shared = 1",
        )?
        .query_row(params![scope, chain.0], node)
        .optional()
}

fn node(row: &Row<'_>) -> rusqlite::Result<MessagePosition> {
    Ok(MessagePosition {
        id: row.get(0)?,
        branch: row.get(1)?,
        place: row.get(2)?,
        session: row.get(3)?,
    })
}

/// The message that a history ends with; `None` for the empty history.
///
/// # Errors
///
/// [`StoreError::Damaged`] for a history that is not recorded.
pub(crate) fn end_of(
    connection: &Connection,
    owner: Owner,
    chain: HistoryHash,
) -> Result<Option<MessagePosition>, Fail> {
    if chain == HistoryHash::default() {
        return Ok(None);
    }
    match on_way(connection, owner, chain)? {
        Some(node) => Ok(Some(node)),
        None => {
            Err(StoreError::Damaged { what: format!("the history {chain} is not recorded") }.into())
        }
    }
}

/// What is known of the place of a message that is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewPlace {
    /// Nothing.
    Unknown,
    /// Nothing is recorded there.
    Unrecorded,
    /// It is behind a message that was just added, where nothing else can be.
    BehindNew,
}

/// A message to add.
pub(crate) struct NewMessage<'a> {
    pub(crate) session: SessionRowId,
    pub(crate) parent: Option<MessagePosition>,
    pub(crate) said: &'a MessageRecord,
    pub(crate) place: NewPlace,
    pub(crate) erasures: Erasures,
}

/// Whether anything was erased in a scope: most hold nothing of the kind, and need not be asked again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erasures {
    is_any: bool,
}

impl Erasures {
    /// Those of a scope.
    pub(crate) fn read(connection: &Connection, scope: i64) -> rusqlite::Result<Self> {
        let is_any =
            connection.prepare_cached("SELECT 1 FROM erased WHERE scope = ?1")?.exists([scope])?;
        Ok(Self { is_any })
    }

    /// Whether messages that say this were erased.
    pub(crate) fn hold(
        self,
        connection: &Connection,
        scope: i64,
        key: EntryKey,
    ) -> rusqlite::Result<bool> {
        Ok(self.is_any && is_erased(connection, scope, key)?)
    }
}

/// Adds a message behind another one.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    new: &NewMessage<'_>,
) -> rusqlite::Result<MessagePosition> {
    let NewMessage { session, parent, said, place, erasures } = *new;
    let is_free = place == NewPlace::BehindNew;
    let branch = match parent {
        Some(parent) if is_free || !taken(connection, parent.branch, said.place)? => parent.branch,
        _ => {
            let from = parent.map(|parent| parent.branch);
            ledger.insert(connection, &BRANCH, params![from, said.place], &[])?;
            connection.last_insert_rowid()
        }
    };
    let bytes = match &said.bytes {
        Some(bytes) if !erasures.hold(connection, ledger.scope, said.key)? => Some(bytes),
        _ => None,
    };
    let raw = bytes.map(|bytes| address(bytes));
    let (short, long) = match bytes {
        Some(bytes) if bytes.len() > SHORT => (None, Some(bytes)),
        bytes => (bytes, None),
    };
    if let Some(long) = long {
        ledger.insert(connection, &RAW, params![raw], params![long])?;
    }
    let (chain, above, key) = (said.chain.0, parent.map(|parent| parent.id), said.key.0);
    let (role, text, tokens) = (role_name(said.role), said.text.0, said.tokens as i64);
    let indexed = raw.is_none();
    let is_added = ledger.insert(
        connection,
        &MESSAGE,
        params![
            chain, above, branch, said.place, key, role, raw, text, tokens, said.at, session,
            indexed, false
        ],
        params![short],
    )?;
    if !is_added && place != NewPlace::Unknown {
        // Only a file that was damaged holds it all the same, or has something else in its place.
        let known = find(connection, ledger.owner(session), said.chain)?;
        return match known {
            Some(known) => Ok(known),
            None => add(connection, ledger, &NewMessage { place: NewPlace::Unknown, ..*new }),
        };
    }
    Ok(MessagePosition { id: connection.last_insert_rowid(), branch, place: said.place, session })
}

fn taken(connection: &Connection, branch: i64, place: u32) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM message WHERE branch = ?1 AND place = ?2")?
        .exists(params![branch, place])
}

/// Whether messages that say this were erased.
pub(crate) fn is_erased(
    connection: &Connection,
    scope: i64,
    key: EntryKey,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM erased WHERE scope = ?1 AND key = ?2")?
        .exists(params![scope, key.0])
}

/// The address of an encoded message.
pub(crate) fn address(bytes: &[u8]) -> [u8; 16] {
    ContentId::for_bytes(bytes).0
}

/// The branches on the way to a message, the last one first, each with the places that lie on the
/// way; only as far up as `from`.
pub(crate) fn way(
    connection: &Connection,
    head: MessagePosition,
    from: u32,
) -> Result<Vec<(i64, u32, u32)>, Fail> {
    let mut statement =
        connection.prepare_cached("SELECT parent, start FROM branch WHERE id = ?1")?;
    let (mut branch, mut last) = (head.branch, head.place);
    let mut way = Vec::new();
    loop {
        let (parent, start): (Option<i64>, u32) =
            statement.query_row([branch], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if start > last {
            return Err(Fail::damaged(format!("the branch {branch} begins behind its end")));
        }
        way.push((branch, start, last));
        match parent {
            Some(parent) if start > from => (branch, last) = (parent, start - 1),
            _ => return Ok(way),
        }
    }
}

/// The ways through the history of a session in the order of their ends, the one to `head` last. What
/// follows the last message of a branch stands in that branch, so each ends a way.
pub(crate) fn branches(
    connection: &Connection,
    owner: Owner,
    head: HistoryHash,
) -> Result<Vec<SessionBranch>, Fail> {
    let current = end_of(connection, owner, head)?;
    let here = current.map_or(Ok(Vec::new()), |node| way(connection, node, 0))?;
    let mut statement = connection.prepare_cached(
        "SELECT id, branch, max(place), session, chain FROM message
         WHERE scope = ?1 AND session = ?2 GROUP BY branch ORDER BY id",
    )?;
    let ends = statement.query_map(params![owner.scope, owner.session], |row| {
        Ok((node(row)?, HistoryHash(row.get(4)?)))
    })?;
    let ends: Vec<_> = ends.collect::<Result<_, _>>()?;
    let others = ends.into_iter().filter(|(_, chain)| *chain != head);
    let mut branches = Vec::new();
    for (node, chain) in others.chain(current.map(|node| (node, head))) {
        let shared = way(connection, node, 0)?.into_iter().find_map(|(branch, _, last)| {
            let same = here.iter().find(|(other, ..)| *other == branch)?;
            Some(same.2.min(last) + 1)
        });
        let (messages, shared) = (node.place + 1, shared.unwrap_or_default());
        branches.push(SessionBranch { head: chain, messages, shared });
    }
    Ok(branches)
}

/// Whether one of two histories of a session goes on from the other one.
pub(crate) fn is_one_way(
    connection: &Connection,
    owner: Owner,
    one: HistoryHash,
    other: HistoryHash,
) -> Result<bool, Fail> {
    if one == other {
        return Ok(true);
    }
    let [one, other] = [one, other].map(|chain| on_way(connection, owner, chain));
    let (Some(one), Some(other)) = (one?, other?) else { return Ok(true) };
    let (first, last) = if one.place <= other.place { (one, other) } else { (other, one) };
    let way = way(connection, last, first.place)?;
    let holds = |&(branch, start, end): &(i64, u32, u32)| {
        branch == first.branch && (start..=end).contains(&first.place)
    };
    Ok(way.iter().any(holds))
}

/// The messages of a session on the way to `head`: at most `most` from the place `from` on.
pub(crate) fn history(
    connection: &Connection,
    owner: Owner,
    head: HistoryHash,
    from: u32,
    most: usize,
) -> Result<Vec<MessageRecord>, Fail> {
    let Some(node) = end_of(connection, owner, head)? else { return Ok(Vec::new()) };
    if most == 0 || from > node.place {
        return Ok(Vec::new());
    }
    let until = u32::try_from(most).map_or(u32::MAX, |most| from.saturating_add(most - 1));
    let until = until.min(node.place);
    let mut messages = Vec::with_capacity((until - from) as usize + 1);
    for (branch, first, last) in way(connection, node, from)?.into_iter().rev() {
        let mut statement = connection.prepare_cached(&format!(
            "{SAID} WHERE message.branch = ?1 AND message.place BETWEEN ?2 AND ?3
             ORDER BY message.place"
        ))?;
        let mut rows = statement.query(params![branch, first.max(from), last.min(until)])?;
        while let Some(row) = rows.next()? {
            messages.push(as_found(row)?);
        }
    }
    let complete = messages.iter().map(|said| said.place).eq(from..=until);
    if !complete {
        return Err(Fail::damaged(format!("messages on the way to {head} are missing")));
    }
    Ok(messages)
}

/// The encoded message, unless it was erased.
pub(crate) fn bytes(connection: &Connection, id: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached(&format!("{SAID} WHERE message.id = ?1"))?
        .query_row([id], |row| row.get(9))
}

/// Whether a message still has its content.
pub(crate) fn has_bytes(connection: &Connection, id: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT raw IS NOT NULL FROM message WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
}

/// Remembers up to which message all are indexed.
pub(crate) fn all_indexed(connection: &Connection, scope: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE scope SET indexed = coalesce(
                 (SELECT id - 1 FROM message WHERE +message.scope = scope.id AND message.indexed = 0
                      AND message.id > scope.indexed ORDER BY message.id LIMIT 1),
                 (SELECT max(id) FROM message), 0)
             WHERE id = ?1",
        )?
        .execute([scope])
        .map(|_| ())
}

/// Messages that the search does not know yet, oldest first, each with the session that recorded
/// it.
pub(crate) fn unindexed(
    connection: &Connection,
    scope: i64,
    most: usize,
) -> Result<Vec<(String, MessageRecord)>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "{SAID} WHERE +message.scope = ?1 AND message.indexed = 0
         AND message.id > (SELECT indexed FROM scope WHERE id = ?1)
         ORDER BY message.id LIMIT ?2"
    ))?;
    // The plus keeps the database to the order of recording, in which little has to be read.
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![scope, most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((super::session::name(connection, row.get(8)?)?, as_found(row)?));
    }
    Ok(found)
}

/// Selects messages as [`said`] reads them.
const SAID: &str = "SELECT message.chain, message.key, message.place, message.role, \
    message.raw, message.text, message.tokens, message.at, message.session, \
    coalesce(message.bytes, raw.bytes) FROM message LEFT JOIN raw \
    ON message.bytes IS NULL AND raw.scope = message.scope AND raw.id = message.raw";

/// A message as it was recorded.
///
/// # Errors
///
/// [`StoreError::Damaged`] for bytes that are not those that were recorded.
pub(crate) fn said(row: &Row<'_>) -> Result<MessageRecord, Fail> {
    let found = as_found(row)?;
    match found.bytes.as_deref() {
        Some([]) => {
            let what = format!("the bytes of the message {} are not what was kept", found.key);
            Err(Fail::damaged(what))
        }
        _ => Ok(found),
    }
}

/// A message as it is found: without a byte where those that are kept are not those that were recorded.
fn as_found(row: &Row<'_>) -> Result<MessageRecord, Fail> {
    let key = EntryKey(row.get(1)?);
    let raw: Option<[u8; 16]> = row.get(4)?;
    let bytes = undamaged(raw, row.get(9)?);
    let role: String = row.get(3)?;
    let Some(role) = role_of(&role) else {
        return Err(Fail::damaged(format!("the message {key} has the role `{role}`")));
    };
    Ok(MessageRecord {
        chain: HistoryHash(row.get(0)?),
        key,
        place: row.get(2)?,
        role,
        bytes,
        text: ContentId(row.get(5)?),
        tokens: row.get::<_, i64>(6)? as u64,
        at: row.get(7)?,
    })
}

/// The bytes under an address; none of them where they are not what it says.
pub(crate) fn undamaged(raw: Option<[u8; 16]>, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
    if raw == bytes.as_deref().map(address) { bytes } else { Some(Vec::new()) }
}

/// A message by its number, with the history that it follows.
pub(crate) fn copied(connection: &Connection, id: i64) -> Result<CopiedMessage, Fail> {
    let beside = "SELECT message.indexed, before.chain FROM message
        LEFT JOIN message AS before ON before.id = message.parent WHERE message.id = ?1";
    let (indexed, after) = connection.prepare_cached(beside)?.query_row([id], |row| {
        let after: Option<[u8; 16]> = row.get(1)?;
        Ok((row.get(0)?, after.map_or_else(HistoryHash::default, HistoryHash)))
    })?;
    let mut statement = connection.prepare_cached(&format!("{SAID} WHERE message.id = ?1"))?;
    let mut rows = statement.query([id])?;
    let said = rows.next()?.map(said).transpose()?;
    let missing = || Fail::damaged("a message is in an index alone");
    Ok(CopiedMessage { after, said: said.ok_or_else(missing)?, indexed })
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

pub(crate) fn role_of(name: &str) -> Option<Role> {
    [Role::System, Role::User, Role::Assistant, Role::Tool]
        .into_iter()
        .find(|&role| role_name(role) == name)
}
