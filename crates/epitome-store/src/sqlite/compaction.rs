//! Epochs and rewrites in the database.
//!
//! Invariant: a row holds facts and addresses; every text that a prompt is given stands in `blob`.
//! Called by [`super::journal`] and [`super::archive`].

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, CompactionOutcome, CompactionRange, ContentId, EntryKey,
    FactCounts, HistoryHash, HookAuthor, Op, Plan, RecordedCompaction, ReplaceMethod,
};
use rusqlite::{Connection, Row, ToSql, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checksum::{EPOCH, REWRITE, ScopeChecksum};
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use super::passages;
use super::passages::HeldText;

/// A plan, and who ordered its ops; plans that were recorded before say nothing of that.
#[derive(Serialize, Deserialize)]
struct Credited {
    #[serde(flatten)]
    plan: Plan,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    credits: Vec<HookAuthor>,
}

/// Adds an epoch of a session, unless it is known; `place` is what the session has come to.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    epoch: &Compaction,
    place: Option<HistoryHash>,
) -> Result<(), Fail> {
    let mut plan = epoch.plan.clone();
    for text in texts(&mut plan) {
        let id = ContentId::for_text(text);
        passages::put(connection, ledger, session, &HeldText { id, source: None, text })?;
        *text = id.to_string();
    }
    let covered = &epoch.covered;
    let values: &[&dyn ToSql] = params![
        epoch.id.0,
        epoch.parent.map(|parent| parent.0),
        covered.first.0,
        covered.len,
        covered.chain.0,
        written(&Credited { plan, credits: epoch.credits.clone() })?,
        written(&epoch.cause)?,
        epoch.number,
        epoch.outcome.tokens[0] as i64,
        epoch.outcome.tokens[1] as i64,
        epoch.outcome.confidence,
        epoch.profile,
        epoch.config,
        epoch.at,
        session,
        false,
        place.map(|place| place.0)
    ];
    let score = &epoch.outcome.must_keep;
    let score = (*score != FactCounts::default()).then(|| written(score)).transpose()?;
    ledger.insert(connection, &EPOCH, values, params![score])?;
    Ok(())
}

/// The texts of a plan.
pub(crate) fn texts(plan: &mut Plan) -> impl Iterator<Item = &mut String> {
    plan.ops.iter_mut().filter_map(|op| match op {
        Op::Replace { with, .. } => Some(with),
        Op::Insert { text, .. } | Op::State { text, .. } => Some(text),
        Op::Summarize(checkpoint) => Some(&mut checkpoint.text),
        Op::Drop { .. } | Op::Strip { .. } | Op::Unbind { .. } => None,
    })
}

/// Selects the columns that [`recorded`] reads.
pub(crate) const COLUMNS: &str = "SELECT id, scope, epoch, parent, first, length, chain, plan, \
    cause, number, came, sent, confidence, profile, config, at, undone, must_keep, place, \
    CASE WHEN undone THEN (SELECT mark.place FROM mark WHERE mark.scope = epoch.scope \
    AND mark.kind = 'undo' AND mark.session = epoch.session AND mark.target = epoch.epoch \
    ORDER BY mark.id DESC LIMIT 1) END";

/// An epoch, without the texts of its plan: they are addresses still.
pub(crate) fn bare(row: &Row<'_>) -> Result<RecordedCompaction, Fail> {
    let id = ContentId(row.get(2)?);
    let what = || format!("the epoch {id}");
    let Credited { plan, credits } = parsed(&row.get::<_, String>(7)?, what)?;
    let epoch = Compaction {
        id,
        parent: row.get::<_, Option<_>>(3)?.map(ContentId),
        covered: CompactionRange {
            first: EntryKey(row.get(4)?),
            len: row.get(5)?,
            chain: HistoryHash(row.get(6)?),
        },
        plan,
        credits,
        cause: parsed(&row.get::<_, String>(8)?, what)?,
        number: row.get(9)?,
        outcome: CompactionOutcome {
            tokens: [row.get::<_, i64>(10)? as u64, row.get::<_, i64>(11)? as u64],
            confidence: row.get::<_, Option<f64>>(12)?.unwrap_or(f64::NAN),
            must_keep: match row.get::<_, Option<String>>(17)? {
                Some(score) => parsed(&score, what)?,
                None => FactCounts::default(),
            },
        },
        profile: row.get(13)?,
        config: row.get(14)?,
        at: row.get(15)?,
    };
    let undone_at = row.get::<_, Option<_>>(19)?.map(HistoryHash);
    Ok(RecordedCompaction { epoch, undone: row.get(16)?, undone_at })
}

/// An epoch as it was recorded.
pub(crate) fn recorded(connection: &Connection, row: &Row<'_>) -> Result<RecordedCompaction, Fail> {
    let (mut recorded, scope) = (bare(row)?, row.get(1)?);
    let id = recorded.epoch.id;
    for text in texts(&mut recorded.epoch.plan) {
        let address: u128 = u128::from_str_radix(text, 16)
            .map_err(|_| Fail::damaged(format!("the epoch {id} names a text `{text}`")))?;
        *text = passages::text(connection, scope, ContentId(address.to_be_bytes()))?;
    }
    Ok(recorded)
}

/// The epochs of a session whose run begins with one of these entries, oldest first.
pub(crate) fn beginning_with(
    connection: &Connection,
    Owner { scope, session }: Owner,
    keys: &[EntryKey],
) -> Result<Vec<RecordedCompaction>, Fail> {
    let mut found = Vec::new();
    let sql = "SELECT id FROM epoch WHERE scope = ?1 AND first = ?2 AND session = ?3";
    let mut lookup = connection.prepare_cached(sql)?;
    for key in keys {
        let mut rows = lookup.query(params![scope, key.0, session])?;
        while let Some(row) = rows.next()? {
            found.push(row.get::<_, i64>(0)?);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|id| one(connection, id)).collect()
}

fn one(connection: &Connection, id: i64) -> Result<RecordedCompaction, Fail> {
    let mut statement =
        connection.prepare_cached(&format!("{COLUMNS} FROM epoch WHERE id = ?1"))?;
    let mut rows = statement.query([id])?;
    match rows.next()? {
        Some(row) => recorded(connection, row),
        None => Err(Fail::damaged("an epoch is in an index alone")),
    }
}

/// The epochs that a session recorded, oldest first.
pub(crate) fn of_session(
    connection: &Connection,
    session: SessionRowId,
) -> Result<Vec<RecordedCompaction>, Fail> {
    let mut statement = connection
        .prepare_cached(&format!("{COLUMNS} FROM epoch WHERE session = ?1 ORDER BY id"))?;
    let mut rows = statement.query([session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(recorded(connection, row)?);
    }
    Ok(found)
}

/// Adds a rewrite, unless its part has one.
pub(crate) fn rewrite(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    rewrite: &ArrivalRewrite,
) -> Result<(), Fail> {
    let ArrivalRewrite { key, part, with, how, original, tool, tokens } = rewrite;
    let text = ContentId::for_text(with);
    let values = params![
        key.0,
        part,
        text.0,
        written(how)?,
        original.0,
        tool,
        tokens[0] as i64,
        tokens[1] as i64,
        session
    ];
    if ledger.insert(connection, &REWRITE, values, &[])? {
        let held = HeldText { id: text, source: None, text: with };
        passages::put(connection, ledger, session, &held)?;
    }
    Ok(())
}

/// The rewrites of these entries in a session, in their order, and those that an older version
/// recorded once for all sessions.
pub(crate) fn rewrites(
    connection: &Connection,
    Owner { scope, session }: Owner,
    keys: &[EntryKey],
) -> Result<Vec<ArrivalRewrite>, Fail> {
    let mut statement = connection.prepare_cached(
        "SELECT part, text, how, original, tool, came, sent FROM rewrite
         WHERE scope = ?1 AND key = ?2 AND session IN (0, ?3) ORDER BY part, session",
    )?;
    let mut found = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    for &key in keys.iter().filter(|&&key| seen.insert(key)) {
        let mut rows = statement.query(params![scope, key.0, session])?;
        while let Some(row) = rows.next()? {
            found.push(ArrivalRewrite {
                key,
                part: row.get(0)?,
                with: passages::text(connection, scope, ContentId(row.get(1)?))?,
                how: parsed::<ReplaceMethod>(&row.get::<_, String>(2)?, || {
                    format!("a rewrite of {key}")
                })?,
                original: ContentId(row.get(3)?),
                tool: row.get(4)?,
                tokens: [row.get::<_, i64>(5)? as u64, row.get::<_, i64>(6)? as u64],
            });
        }
    }
    Ok(found)
}

/// The texts of all rewrites of an entry, in whatever session: what is sent, and the originals.
pub(crate) fn rewritten(
    connection: &Connection,
    scope: i64,
    key: EntryKey,
) -> rusqlite::Result<Vec<ContentId>> {
    let mut statement = connection
        .prepare_cached("SELECT text, original FROM rewrite WHERE scope = ?1 AND key = ?2")?;
    let mut rows = statement.query(params![scope, key.0])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend([ContentId(row.get(0)?), ContentId(row.get(1)?)]);
    }
    Ok(found)
}

/// Which rewrites hold excerpts: whatever was said may stand in them, and they are put together anew.
pub(crate) const APPENDED: &str = "how = '\"append\"'";

/// The texts of rewrites that hold excerpts.
pub(crate) fn appended(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<ContentId>> {
    let select = format!("SELECT text FROM rewrite WHERE scope = ?1 AND {APPENDED}");
    let mut statement = connection.prepare_cached(&select)?;
    let found = statement.query_map([scope], |row| Ok(ContentId(row.get(0)?)))?;
    found.collect()
}

fn written(value: &impl Serialize) -> Result<String, Fail> {
    serde_json::to_string(value).map_err(|error| Fail::damaged(error.to_string()))
}

fn parsed<T: DeserializeOwned>(text: &str, what: impl Fn() -> String) -> Result<T, Fail> {
    serde_json::from_str(text).map_err(|error| Fail::damaged(format!("{}: {error}", what())))
}
