//! The rows of a damaged file, sorted into the tables that they belong to.
//!
//! Invariant: a row tells by its columns alone which table it is of: no two tables of a store have the
//! same, and what leads to a page may be damaged. Called by [`super`].

use epitome_kernel::types::{RecordedAction, ReplaceMethod};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;

use super::super::{checksum, snapshot, tree};
use super::page::{FoundRow, PageFile};

/// Columns of numbers that are never as large as others may be.
const COUNTS: [&str; 8] =
    ["place", "start", "length", "part", "number", "messages", "checkpoints", "opened"];

/// What a column may hold.
struct StoreColumn {
    name: String,
    kind: String,
    /// Whether it holds something.
    required: bool,
    /// Whether rows may end before it: it is younger than they are.
    added: bool,
    /// Whether it is the number of the row, which stands beside the columns.
    is_number: bool,
}

impl StoreColumn {
    fn takes(&self, value: &Value) -> bool {
        match value {
            Value::Null => !self.required,
            Value::Integer(number) => match self.kind.as_str() {
                "INTEGER" => {
                    !COUNTS.contains(&self.name.as_str()) || u32::try_from(*number).is_ok()
                }
                kind => kind == "REAL",
            },
            Value::Real(_) => self.kind == "REAL",
            Value::Text(text) => self.kind == "TEXT" && says(&self.name, text),
            Value::Blob(bytes) => {
                self.kind == "BLOB" && (bytes.len() == 16 || self.name == "bytes")
            }
        }
    }
}

/// Whether a text may stand in a column of this name.
fn says(column: &str, text: &str) -> bool {
    fn reads<T: DeserializeOwned>(text: &str) -> bool {
        serde_json::from_str::<T>(text).is_ok()
    }
    match column {
        "role" => tree::role_of(text).is_some(),
        "kind" => ["undo", "redo", "pin", "unpin"].contains(&text),
        "purpose" => snapshot::purpose_of(text).is_some(),
        "act" => reads::<RecordedAction>(text),
        "how" => reads::<ReplaceMethod>(text),
        _ => true,
    }
}

/// A table of this program.
struct StoreTable {
    name: &'static str,
    columns: Vec<StoreColumn>,
}

impl StoreTable {
    fn new(store: &Connection, name: &'static str) -> rusqlite::Result<Self> {
        let mut statement = store.prepare(&format!("PRAGMA table_info({name})"))?;
        let columns = statement.query_map([], |row| {
            let (required, default): (bool, Option<String>) = (row.get(3)?, row.get(4)?);
            Ok(StoreColumn {
                name: row.get(1)?,
                kind: row.get(2)?,
                required,
                added: !required || default.is_some(),
                is_number: row.get::<_, i64>(5)? > 0,
            })
        })?;
        Ok(Self { name, columns: columns.collect::<rusqlite::Result<_>>()? })
    }

    fn takes(&self, cells: &[Value]) -> bool {
        cells.len() <= self.columns.len()
            && self.columns[cells.len()..].iter().all(|column| column.added)
            && self.columns.iter().zip(cells).all(|(column, cell)| column.takes(cell))
    }
}

/// Fills the tables of an empty store with what is found; gives the first pages of the indexes, or
/// nothing where nothing was found.
pub(super) fn fill(
    file: &PageFile,
    store: &Connection,
) -> rusqlite::Result<Option<FxHashMap<String, usize>>> {
    let names = std::iter::once("scope").chain(checksum::TABLES.iter().map(|table| table.name));
    let tables = names.map(|name| StoreTable::new(store, name)).collect::<Result<Vec<_>, _>>()?;
    let (mut indexes, mut is_any) = (FxHashMap::default(), false);
    for row in (1..=file.count).flat_map(|page| file.rows(page)) {
        if let Some(table) = tables.iter().find(|table| table.takes(&row.cells)) {
            insert(store, table, row)?;
            is_any = true;
        } else if let [Value::Text(kind), Value::Text(name), _, Value::Integer(root), ..] =
            &row.cells[..]
            && kind == "index"
        {
            indexes.insert(name.clone(), usize::try_from(*root).unwrap_or_default());
        }
    }
    Ok(is_any.then_some(indexes))
}

fn insert(store: &Connection, table: &StoreTable, row: FoundRow) -> rusqlite::Result<()> {
    let cells = table.columns.iter().zip(row.cells).filter(|(column, _)| !column.is_number);
    let (mut names, mut values) = (vec!["rowid"], vec![Value::Integer(row.id)]);
    for (column, cell) in cells {
        names.push(&column.name);
        values.push(cell);
    }
    let (name, places) = (table.name, vec!["?"; names.len()].join(", "));
    let sql = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({places})", names.join(", "));
    store.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    Ok(())
}
