//! The sums of single rows: of those whose words are believed, and of which no address tells whether
//! they are those that were written.
//!
//! Invariant: a row that is not what its sum says is read by nobody, so that damage costs that row
//! alone. Asked by whoever reads such rows, through [`super::checksum::CheckedTable::is_whole`].

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::checksum::{ACT, CheckedTable, LESSON, MARK, MEMO, Record, TABLES};
use super::owner::SessionRowId;

/// Lets SQL ask for the sum that belongs to the values of a row, behind the name of its table.
pub(crate) fn function(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("record_sum", -1, flags, |values| {
        let name = values.get_raw(0);
        let table = TABLES.into_iter().find(|it| name.as_str() == Ok(it.name));
        let row: Vec<_> = (1..values.len()).map(|place| values.get_raw(place)).collect();
        Ok(table.map(|table| Record::of(table, &row).own()))
    })
}

/// Gives each row a sum that has none: an older program wrote it.
pub(crate) fn add(connection: &Connection) -> rusqlite::Result<()> {
    for table in TABLES.into_iter().filter(|table| table.has_sums) {
        let CheckedTable { name, sum, .. } = table;
        connection.execute(&format!("UPDATE {name} SET sum = {sum} WHERE sum IS NULL"), [])?;
    }
    Ok(())
}

/// What is not what its sum says in a scope, in words; of one session alone where that is named.
pub(crate) fn damaged(
    connection: &Connection,
    scope: i64,
    session: Option<SessionRowId>,
) -> rusqlite::Result<Vec<String>> {
    let named = |table: &str| {
        let name = format!("SELECT name FROM session WHERE session.id = {table}.session");
        format!("coalesce(({name}), 'no session')")
    };
    let [acts, marks, memos] = ["act", "mark", "memo"].map(named);
    let all = [
        (&ACT, format!("'something that was done or decided in ' || {acts}"), true),
        (&MARK, format!("'a pin or an undo in ' || {marks}"), true),
        (&MEMO, format!("'what a policy noted in ' || {memos}"), true),
        (&LESSON, "'something that was learned of a model'".to_owned(), false),
    ];
    let mut found = Vec::new();
    for (table, what, is_of_session) in all {
        if session.is_some() && !is_of_session {
            continue;
        }
        let own = if is_of_session { "(?2 IS NULL OR session = ?2)" } else { "?2 IS NULL" };
        let (name, whole) = (table.name, table.is_whole);
        let sql = format!("SELECT {what} FROM {name} WHERE scope = ?1 AND {own} AND NOT ({whole})");
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map((scope, session), |row| row.get(0))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    Ok(found)
}
