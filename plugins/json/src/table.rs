//! Like objects of a JSON text, or like lists whose columns are named, as the rows of a table.
//!
//! Invariant: a cell is spelled as in the text; a string loses its quotes only where nothing else
//! could be meant, and an absent field is empty. Called by the digest.

use std::borrow::Cow;

use epitome_plugin::text::rows::{CellSpelling, TableRow, TableRows};
use epitome_plugin::text::tape::{JsonKind, JsonTape};
use rustc_hash::FxHashMap;

/// A table has at least this many rows, and makes up at least this share of the text.
const ROWS: usize = 3;
const SHARE: f64 = 0.5;
/// At least this share of its cells is filled.
const FILLED: f64 = 0.5;
/// It has at most this many columns.
const COLUMNS: usize = 60;
/// Objects in objects become columns down to this depth.
const DEPTH: usize = 3;

const SPELLING: CellSpelling = CellSpelling { separator: ",", cell, value };

/// A list of like values, and what they are.
pub(crate) struct JsonList<'a> {
    /// The node of the list.
    pub(crate) at: usize,
    pub(crate) rows: TableRows<'a>,
    pub(crate) what: &'static str,
}

/// Finds the list of like objects that makes up most of the text.
pub(crate) fn find<'a>(tape: &JsonTape<'a>) -> Option<JsonList<'a>> {
    let least = tape.raw(0).len() as f64 * SHARE;
    let mut at = 0;
    let mut parent = None;
    loop {
        let values: Vec<usize> = tape.children(at).collect();
        if values.len() >= ROWS || is_nested(tape, at) {
            if let Some(rows) = ObjectReader::read(tape, at) {
                return Some(JsonList { at, rows, what: "objects as a table" });
            }
            if let Some(rows) = lists(tape, at, parent) {
                return Some(JsonList { at, rows, what: "rows as a table" });
            }
        }
        parent = Some(at);
        at = values.into_iter().max_by_key(|child| tape.span(*child).len())?;
        if (tape.span(at).len() as f64) < least {
            return None;
        }
    }
}

fn is(tape: &JsonTape<'_>, node: usize, kind: JsonKind) -> bool {
    tape.node(node).kind == kind
}

/// Whether it is a list of lists of objects.
fn is_nested(tape: &JsonTape<'_>, at: usize) -> bool {
    is(tape, at, JsonKind::Array)
        && tape.node(at).count > 1
        && tape.children(at).all(|group| {
            is(tape, group, JsonKind::Array)
                && tape.node(group).count > 0
                && tape.children(group).all(|row| is(tape, row, JsonKind::Object))
        })
}

/// Reads objects as rows.
struct ObjectReader<'t, 'a> {
    tape: &'t JsonTape<'a>,
    columns: Vec<String>,
    places: FxHashMap<String, usize>,
}

impl<'a> ObjectReader<'_, 'a> {
    fn read(tape: &JsonTape<'a>, at: usize) -> Option<TableRows<'a>> {
        let grouped = is_nested(tape, at);
        let groups: Vec<usize> = if grouped { tape.children(at).collect() } else { vec![at] };
        let keyed = is(tape, at, JsonKind::Object);
        let mut reader = ObjectReader { tape, columns: Vec::new(), places: FxHashMap::default() };
        if keyed {
            reader.place(String::new());
        }
        let mut rows = Vec::new();
        for group in groups {
            for (place, node) in tape.children(group).enumerate() {
                if !is(tape, node, JsonKind::Object) {
                    return None;
                }
                let cells = if keyed { vec![tape.key(node)] } else { Vec::new() };
                let cells = reader.cells(node, cells)?;
                let cells = cells.into_iter().map(Cow::from).collect();
                let span = tape.span(node);
                rows.push(TableRow { span, cells, begins: place == 0, partial: false });
            }
        }
        let columns: Vec<Cow<'_, str>> = reader.columns.into_iter().map(Cow::from).collect();
        let rows = TableRows { columns, rows, grouped, spelling: SPELLING };
        is_like(&rows).then_some(rows)
    }

    /// Where the column of a path stands.
    fn place(&mut self, path: String) -> usize {
        *self.places.entry(path).or_insert_with_key(|path| {
            self.columns.push(path.clone());
            self.columns.len() - 1
        })
    }

    /// Reads the cells of one object behind those that it has, and those of the objects in it;
    /// `None` where it has too many columns or a key twice.
    fn cells(&mut self, node: usize, mut cells: Vec<&'a str>) -> Option<Vec<&'a str>> {
        let tape = self.tape;
        let end = tape.next(node);
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut at = node + 1;
        while at < end {
            while open.pop_if(|(end, _)| at >= *end).is_some() {}
            let key = value(tape.key(at));
            let path =
                open.last().map_or_else(|| key.to_owned(), |(_, path)| format!("{path}.{key}"));
            let nested = is(tape, at, JsonKind::Object)
                && tape.node(at).count > 0
                && open.len() < DEPTH
                && tape.children(at).all(|child| !value(tape.key(child)).contains('.'));
            if nested && !key.contains('.') {
                open.push((tape.next(at), path));
                at += 1;
                continue;
            }
            let place = self.place(path);
            if self.columns.len() > COLUMNS {
                return None;
            }
            if cells.len() <= place {
                cells.resize(place + 1, "");
            }
            if !cells[place].is_empty() {
                return None;
            }
            cells[place] = tape.raw(at);
            at = tape.next(at);
        }
        Some(cells)
    }
}

/// Whether the rows are enough, and most of their cells are filled.
fn is_like(rows: &TableRows<'_>) -> bool {
    let filled = |row: &TableRow<'_>| row.cells.iter().filter(|cell| !cell.is_empty()).count();
    let cells: usize = rows.rows.iter().map(filled).sum();
    rows.rows.len() >= ROWS
        && cells as f64 >= (rows.rows.len() * rows.columns.len()) as f64 * FILLED
}

/// Reads a list of lists as rows, whose columns are named beside it or in the first of them.
fn lists<'a>(tape: &JsonTape<'a>, at: usize, parent: Option<usize>) -> Option<TableRows<'a>> {
    let mut nodes: Vec<usize> = tape.children(at).collect();
    let width = tape.node(*nodes.first()?).count as usize;
    let like = |node: &usize| {
        is(tape, *node, JsonKind::Array)
            && tape.node(*node).count as usize == width
            && tape.children(*node).all(|cell| !is(tape, cell, JsonKind::Object))
    };
    if !is(tape, at, JsonKind::Array) || !(2..=COLUMNS).contains(&width) || !nodes.iter().all(like)
    {
        return None;
    }
    let beside = parent.into_iter().flat_map(|parent| tape.children(parent));
    let mut beside = beside.filter(|node| *node != at && tape.node(*node).count as usize == width);
    let columns = beside.find_map(|node| names(tape, node)).or_else(|| {
        let words = |node: usize| tape.children(node).all(|cell| is(tape, cell, JsonKind::String));
        let first = words(nodes[0]) && !nodes[1..].iter().all(|node| words(*node));
        first.then(|| names(tape, nodes.remove(0)))?
    })?;
    let row = |node: usize| {
        let cells = tape.children(node).map(|cell| tape.raw(cell).into()).collect();
        TableRow { span: tape.span(node), cells, begins: false, partial: false }
    };
    let rows = nodes.into_iter().map(row).collect();
    let rows = TableRows { columns, rows, grouped: false, spelling: SPELLING };
    is_like(&rows).then_some(rows)
}

/// The strings of a list, or those that its objects are named by.
fn names<'a>(tape: &JsonTape<'a>, list: usize) -> Option<Vec<Cow<'a, str>>> {
    let name = |node: usize| {
        let named = |field: &usize| matches!(tape.key(*field), "\"name\"" | "\"column_name\"");
        let node = match tape.node(node).kind {
            JsonKind::Object => tape.children(node).find(named)?,
            _ => node,
        };
        is(tape, node, JsonKind::String).then(|| value(tape.raw(node)).into())
    };
    tape.children(list).map(name).collect()
}

/// A key or string without its quotes; escapes stay as they are.
fn value(raw: &str) -> &str {
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
}

/// A value as it stands in a row.
fn cell(raw: &str) -> &str {
    let bare = value(raw);
    let speaks = bare.len() < raw.len()
        && !bare.is_empty()
        && bare.trim() == bare
        && !bare.contains([',', '"', '\\', '[', '{'])
        && !matches!(bare, "true" | "false" | "null")
        && bare.parse::<f64>().is_err();
    if speaks { bare } else { raw }
}
