//! Making a store of the rows that were found.
//!
//! Invariant: whatever is left out or changed is named. Called by [`super`].

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use rustc_hash::FxHashMap;

use super::super::checksum::{self, ACT, LESSON, MARK, MEMO, ScopeChecksum};
use super::super::fail::Fail;
use super::super::{compaction, sums};
use super::messages;
use super::page::PageFile;

/// Said of a message.
const MESSAGE: &str =
    "(SELECT name FROM called WHERE called.id = message.session) || ': the message e'
    || message.place";

/// What the rows are mended with: what the index of messages knows, the scopes whose sums do not hold, and
/// how sessions are called.
const TOOLS: &str = "DROP INDEX message_place;
    CREATE INDEX message_parent ON message (parent);
    CREATE TEMP TABLE listed (scope, chain, session, id INTEGER PRIMARY KEY);
    CREATE TEMP TABLE doubted (scope);
    CREATE TEMP VIEW called AS SELECT session.id AS id,
        scope.name || ': the session `' || session.name || '`' AS name
        FROM session JOIN scope ON scope.id = session.scope;";

/// What indexes tell: the name that a row has there, the number of a row that has a wrong one, where
/// others refer to the right one, and that there was one.
const TOLD: [(&str, &str); 8] = [
    (
        "sqlite_autoindex_scope_1",
        "UPDATE OR IGNORE scope SET id = ?2 WHERE name = ?1 AND id != ?2
         AND EXISTS (SELECT 1 FROM session WHERE scope = ?2)",
    ),
    (
        "sqlite_autoindex_scope_1",
        "INSERT OR IGNORE INTO scope (name, id) VALUES (?1, ?2)
         RETURNING name || ': what was counted of it'",
    ),
    (
        "sqlite_autoindex_scope_1",
        "UPDATE OR IGNORE scope SET name = ?1 WHERE id = ?2 AND name != ?1
         RETURNING name || ': a second record of this name'",
    ),
    (
        "session_name",
        "UPDATE OR IGNORE session SET id = ?3 WHERE scope = ?1 AND name = ?2 AND id != ?3
         AND EXISTS (SELECT 1 FROM message WHERE session = ?3)",
    ),
    (
        "session_name",
        "INSERT OR IGNORE INTO session (scope, name, id, title, format, started, last, head, messages,
             turns, came, sent, all_came, all_sent, size, trashed, used)
         VALUES (?1, ?2, ?3, '', '', '', '', zeroblob(16), 1, 0, 0, 0, 0, 0, 0, 0, 0)
         RETURNING 'the session `' || name || '`: what was known of it beside its messages'",
    ),
    (
        "session_name",
        "UPDATE OR IGNORE session SET name = ?2 WHERE scope = ?1 AND id = ?3 AND name != ?2
         AND scope IN (SELECT scope FROM doubted) RETURNING 'the session `' || name || '`: a second record of this name'",
    ),
    (
        "message_chain",
        "UPDATE OR IGNORE message SET id = ?4 WHERE scope = ?1 AND chain = ?2 AND session = ?3
         AND id != ?4 AND EXISTS (SELECT 1 FROM message WHERE parent = ?4)",
    ),
    ("message_chain", "INSERT OR IGNORE INTO listed VALUES (?1, ?2, ?3, ?4)"),
];

/// The place of a message of which nothing else is left.
const PLACE: &str = "INSERT OR IGNORE INTO message
    (id, scope, chain, session, branch, place, key, role, text, tokens, indexed, shared)
    SELECT id, scope, chain, session, ?1, ?2, zeroblob(16), 'user', zeroblob(16), 0, 1, 0
    FROM listed WHERE id = ?3";

/// Who belongs to whom.
const OWNERS: [&str; 4] = [
    "UPDATE session SET scope = (SELECT scope FROM message WHERE session = session.id LIMIT 1)
     WHERE scope NOT IN (SELECT id FROM scope) AND id IN (SELECT session FROM message
         WHERE scope IN (SELECT id FROM scope))
     RETURNING 'the session `' || name || '`: its profile, which is that of its messages now'",
    "UPDATE message SET session = coalesce(
         (SELECT above.session FROM message AS above
          WHERE above.id = message.parent AND above.session IN (SELECT id FROM session)),
         (SELECT below.session FROM message AS below
          WHERE below.parent = message.id AND below.session IN (SELECT id FROM session)), session)
     WHERE session NOT IN (SELECT id FROM session) RETURNING NULL",
    "INSERT INTO session (id, scope, name, title, format, started, last, head, messages, turns, came,
         sent, all_came, all_sent, size, trashed, used)
     SELECT session, min(scope), 'salvaged-' || session, '', '', coalesce(min(at), ''),
         coalesce(max(at), ''), zeroblob(16), 1, 0, 0, 0, 0, 0, 0, 0, 0
     FROM message WHERE session NOT IN (SELECT id FROM session) GROUP BY session
     RETURNING 'the name of the session that is called `' || name || '` now'",
    "INSERT INTO scope (id, name) SELECT scope, 'salvaged-' || scope
     FROM (SELECT scope FROM session UNION SELECT scope FROM held)
     WHERE scope NOT IN (SELECT id FROM scope)
     RETURNING 'the name of the profile that is called `' || name || '` now'",
];

/// What is not what its sum says.
const SUMS: [&str; 4] = [
    "DELETE FROM act WHERE NOT {whole} RETURNING coalesce((SELECT called.name FROM called
         WHERE called.id = act.session), '') || ': something that was done or decided'",
    "DELETE FROM mark WHERE NOT {whole} RETURNING coalesce((SELECT called.name FROM called
         WHERE called.id = mark.session), '') || ': a pin or something that was taken back'",
    "DELETE FROM memo WHERE NOT {whole} RETURNING 'a memo of ' || policy",
    "DELETE FROM lesson WHERE NOT {whole} RETURNING 'what was learned of ' || about",
];

/// What is not what its address says. Answers prove nothing of a history that is not there.
const CONTENTS: [&str; 8] = [
    "DELETE FROM blob WHERE address(text) IS NOT id
     RETURNING 'the text of ' || coalesce(source, 'a compression')",
    "UPDATE message SET raw = NULL, bytes = NULL, indexed = 1
     WHERE raw IS NOT address(coalesce(bytes, (SELECT raw.bytes FROM raw
         WHERE raw.scope = message.scope AND raw.id = message.raw))) RETURNING {message}",
    "UPDATE answer SET raw = NULL, bytes = NULL, indexed = 1 WHERE raw IS NOT address(bytes)
     RETURNING 'an answer of ' || at",
    "DELETE FROM answer WHERE after != zeroblob(16) AND NOT EXISTS (SELECT 1 FROM message
         WHERE message.scope = answer.scope AND message.chain = after
         AND (message.session = answer.session OR message.shared))
     OR chain IS NOT follows(after, key) AND place = coalesce((SELECT message.place + 1 FROM message
         WHERE message.scope = answer.scope AND message.chain = after LIMIT 1), 0)
     RETURNING 'an answer of ' || at",
    "DELETE FROM rewrite WHERE NOT EXISTS (SELECT 1 FROM blob
         WHERE blob.scope = rewrite.scope AND blob.id = rewrite.text)
     RETURNING 'what a result of ' || tool || ' was sent as'",
    "DELETE FROM passage WHERE text_id IS NOT address(substr(CAST((SELECT text FROM blob
         WHERE blob.scope = passage.scope AND blob.id = holder) AS BLOB), start + 1, length))
     RETURNING 'a piece in the index of ' || source",
    "DELETE FROM snapshot WHERE NOT EXISTS (SELECT 1 FROM session
         WHERE session.scope = snapshot.scope AND session.name = snapshot.session)
     OR head != zeroblob(16) AND NOT EXISTS (SELECT 1 FROM message
         WHERE message.scope = snapshot.scope AND message.chain = head)
     RETURNING 'the snapshot ' || snapshot",
    "DELETE FROM memo WHERE session NOT IN (SELECT id FROM session)
     RETURNING 'a memo of ' || policy",
];

/// Where sessions end: with their newest message where the one that they name is gone.
const ENDS: [&str; 3] = [
    "UPDATE session SET (head, messages) = (SELECT coalesce(max(chain), zeroblob(16)),
         coalesce(max(place) + 1, 0) FROM (SELECT chain, place FROM message
         WHERE message.session = session.id ORDER BY message.id DESC LIMIT 1))
     WHERE messages > 0 AND NOT EXISTS (SELECT 1 FROM message WHERE message.scope = session.scope
         AND chain = head AND (message.session = session.id OR shared))
     RETURNING (SELECT called.name FROM called WHERE called.id = session.id) || ': where it ended'",
    "UPDATE session SET messages = coalesce((SELECT place + 1 FROM message
         WHERE message.scope = session.scope AND chain = head AND message.session = session.id),
         messages) RETURNING NULL",
    "UPDATE message SET place = place WHERE key = zeroblob(16)
     RETURNING {message} || iif(raw IS NULL, '', ': what it follows')",
];

/// Mends what was found; gives what is missing.
pub(super) fn mend(
    file: &PageFile,
    indexes: &FxHashMap<String, usize>,
    store: &Connection,
) -> Result<Vec<String>, Fail> {
    functions(store)?;
    store.execute_batch(TOOLS)?;
    let mut mending = Mending { store, missing: Vec::new() };
    let unsaid = mending.unsaid()?;
    for (index, sql) in TOLD {
        mending.told(file, indexes.get(index), sql)?;
    }
    mending.told(file, indexes.get("message_place"), PLACE)?;
    mending.each(&OWNERS)?;
    for table in ["message", "answer", "epoch", "act", "mark", "memo", "rewrite", "held", "passage"]
    {
        mending.owned(table)?;
    }
    messages::settle(store)?;
    // Rows of an older file have none.
    sums::add(store)?;
    for (sql, table) in SUMS.into_iter().zip([&ACT, &MARK, &MEMO, &LESSON]) {
        mending.each(&[&sql.replace("{whole}", table.is_whole)])?;
    }
    mending.each(&CONTENTS)?;
    mending.epochs()?;
    mending.each(&ENDS)?;
    if mending.missing.is_empty() {
        mending.missing = unsaid;
    }
    Ok(mending.missing)
}

/// What addresses are made with.
fn functions(store: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    store.create_scalar_function("address", 1, flags, |values| {
        Ok(match values.get_raw(0) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(ContentId::for_bytes(bytes).0),
            _ => None,
        })
    })?;
    store.create_scalar_function("follows", 2, flags, |values| {
        let key = Option::<[u8; 16]>::column_result(values.get_raw(1))?;
        let chain = HistoryHash(values.get(0)?);
        Ok(key.map(|key| chain.append(EntryKey(key)).0))
    })
}

/// A store that is being mended.
struct Mending<'a> {
    store: &'a Connection,
    missing: Vec<String>,
}

impl Mending<'_> {
    /// Runs a statement with each entry of an index.
    fn told(&mut self, file: &PageFile, root: Option<&usize>, sql: &str) -> Result<(), Fail> {
        let mut statement = self.store.prepare(sql)?;
        let known = statement.parameter_count();
        let entries = root.map(|&root| file.entries(root)).unwrap_or_default();
        for entry in entries.into_iter().filter(|entry| entry.len() == known) {
            let said = statement.query_map(params_from_iter(entry), |row| row.get(0))?;
            self.missing.extend(said.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(())
    }

    /// Runs statements that say what they changed, where that is a loss.
    fn each(&mut self, all: &[&str]) -> Result<(), Fail> {
        for sql in all {
            let mut statement = self.store.prepare(&sql.replace("{message}", MESSAGE))?;
            let said = statement.query_map([], |row| row.get::<_, Option<String>>(0))?;
            let said = said.collect::<rusqlite::Result<Vec<_>>>()?;
            self.missing.extend(said.into_iter().flatten());
        }
        Ok(())
    }

    /// Has what belongs to a session be in its scope, and leaves out what belongs to none.
    fn owned(&mut self, table: &str) -> Result<(), Fail> {
        let scope = format!(
            "UPDATE OR IGNORE {table} SET scope = (SELECT scope FROM session WHERE id = session)
             WHERE scope != (SELECT scope FROM session WHERE id = session) RETURNING NULL"
        );
        let none = format!(
            "DELETE FROM {table} WHERE session != 0 AND session NOT IN (SELECT id FROM session)
             RETURNING 'a record of the kind {table}'"
        );
        self.each(&[&scope, &none])
    }

    /// What is missing as the counts of the scopes tell it.
    fn unsaid(&self) -> Result<Vec<String>, Fail> {
        let mut unsaid = Vec::new();
        for name in checksum::scopes(self.store)? {
            let Some(told) = ScopeChecksum::find(self.store, &name)? else { continue };
            if told.recounted(self.store)? != told {
                self.store.execute("INSERT INTO doubted VALUES (?1)", [told.scope])?;
                unsaid.push(format!("{name}: a record that cannot be told any more"));
            }
        }
        Ok(unsaid)
    }

    /// Leaves out the compressions that are not what their ids say, or whose texts are gone.
    fn epochs(&mut self) -> Result<(), Fail> {
        let mut wrong = Vec::new();
        let mut statement = self.store.prepare(&format!("{} FROM epoch", compaction::COLUMNS))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let read = compaction::recorded(self.store, row);
            if !read.is_ok_and(|it| it.epoch.hash() == it.epoch.id) {
                wrong.push((row.get::<_, i64>(0)?, ContentId(row.get(2)?)));
            }
        }
        for (row, id) in wrong {
            self.store.execute("DELETE FROM epoch WHERE id = ?1", [row])?;
            self.missing.push(format!("the compression {id}"));
        }
        Ok(())
    }
}
