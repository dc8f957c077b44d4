//! Like objects of a JSON text as a table: columns once, then a line for each row.
//!
//! Invariant: a table of all rows says all that the objects said: a cell is spelled as in the text,
//! a string loses its quotes only where nothing else could be meant, an absent field is empty.
//! Called by [`super::json`].

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::outline::{self, Item, number, spread};
use super::shape;
use super::tape::{Kind, Tape};
use crate::tuning::Shapes;

/// Rows of the same columns.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    /// Keys, joined by points where objects hold objects.
    columns: Vec<String>,
    /// For each row the nodes of its cells by column, and whether it begins a group.
    rows: Vec<Row<'a>>,
    /// Whether the rows came in groups.
    grouped: bool,
}

#[derive(Debug)]
struct Row<'a> {
    node: usize,
    /// The raw cells, as far as the row has any.
    cells: Vec<&'a str>,
    begins: bool,
}

/// Finds the list of like objects that makes up most of the text.
pub(super) fn find<'a>(tape: &Tape<'a>, shapes: &Shapes) -> Option<(usize, Table<'a>)> {
    let least = tape.raw(0).len() as f64 * shapes.table_share;
    let mut at = 0;
    loop {
        let rows: Vec<usize> = tape.children(at).collect();
        if (rows.len() >= shapes.rows_least || is_nested(tape, at))
            && let Some(table) = Table::of(tape, at, shapes)
        {
            return Some((at, table));
        }
        at = rows.into_iter().max_by_key(|child| tape.span(*child).len())?;
        if (tape.span(at).len() as f64) < least {
            return None;
        }
    }
}

/// Whether it is a list of lists of objects.
fn is_nested(tape: &Tape<'_>, at: usize) -> bool {
    let is = |node: usize, kind| tape.node(node).kind == kind;
    is(at, Kind::Array)
        && tape.node(at).count > 1
        && tape.children(at).all(|group| {
            is(group, Kind::Array)
                && tape.node(group).count > 0
                && tape.children(group).all(|row| is(row, Kind::Object))
        })
}

impl<'a> Table<'a> {
    fn of(tape: &Tape<'a>, at: usize, shapes: &Shapes) -> Option<Self> {
        let grouped = is_nested(tape, at);
        let groups: Vec<usize> = if grouped { tape.children(at).collect() } else { vec![at] };
        let keyed = tape.node(at).kind == Kind::Object;
        let mut out = Self { grouped, ..Self::default() };
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        if keyed {
            out.columns.push(String::new());
            places.insert(String::new(), 0);
        }
        for group in groups {
            for (place, node) in tape.children(group).enumerate() {
                if tape.node(node).kind != Kind::Object {
                    return None;
                }
                let mut row = Row { node, cells: Vec::new(), begins: place == 0 };
                if keyed {
                    row.cells.push(tape.key(node));
                }
                out.fill(tape, &mut row, &mut places, shapes)?;
                out.rows.push(row);
            }
        }
        let cells: usize = out
            .rows
            .iter()
            .map(|row| row.cells.iter().filter(|cell| !cell.is_empty()).count())
            .sum();
        let like =
            cells as f64 >= (out.rows.len() * out.columns.len()) as f64 * shapes.filled_share;
        (out.rows.len() >= shapes.rows_least && like).then_some(out)
    }

    /// Reads the cells of one object, and those of the objects in it; `None` where it has too many
    /// columns or a key twice.
    fn fill(
        &mut self,
        tape: &Tape<'a>,
        row: &mut Row<'a>,
        places: &mut FxHashMap<String, usize>,
        shapes: &Shapes,
    ) -> Option<()> {
        let end = tape.next(row.node);
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut at = row.node + 1;
        while at < end {
            while open.last().is_some_and(|(end, _)| at >= *end) {
                open.pop();
            }
            let key = name(tape.key(at));
            let path =
                open.last().map_or_else(|| key.to_owned(), |(_, path)| format!("{path}.{key}"));
            let nested = tape.node(at).kind == Kind::Object
                && tape.node(at).count > 0
                && open.len() < shapes.column_depth
                && tape.children(at).all(|child| !name(tape.key(child)).contains('.'));
            if nested && !key.contains('.') {
                open.push((tape.next(at), path));
                at += 1;
                continue;
            }
            let place = *places.entry(path).or_insert_with_key(|path| {
                self.columns.push(path.clone());
                self.columns.len() - 1
            });
            if self.columns.len() > shapes.columns_most {
                return None;
            }
            if row.cells.len() <= place {
                row.cells.resize(place + 1, "");
            }
            if !row.cells[place].is_empty() {
                return None;
            }
            row.cells[place] = tape.raw(at);
            at = tape.next(at);
        }
        Some(())
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The columns that have the same cell in every row.
    fn constant(&self) -> Vec<bool> {
        let first = &self.rows[0];
        (0..self.columns.len())
            .map(|column| {
                let cell = first.cell(column);
                self.rows.len() > 1
                    && !cell.is_empty()
                    && self.rows.iter().all(|row| row.cell(column) == cell)
            })
            .collect()
    }

    /// The lines above the rows: what is the same in all of them, and the columns.
    pub(super) fn head(&self) -> String {
        let constant = self.constant();
        let mut out = String::new();
        let columns = |wanted: bool| (0..constant.len()).filter(move |c| constant[*c] == wanted);
        let same: Vec<String> = columns.clone()(true)
            .map(|c| format!("{}: {}", self.columns[c], cell(self.rows[0].cell(c), usize::MAX)))
            .collect();
        if !same.is_empty() {
            out.push_str("\n[… every row] ");
            out.push_str(&same.join(", "));
        }
        let name = |column: usize| match self.columns[column].as_str() {
            "" => "[… key]",
            name => name,
        };
        let names: Vec<&str> = columns(false).map(name).collect();
        out.push('\n');
        if self.grouped {
            out.push_str("[… - begins a group] ");
        }
        out.push_str(&names.join(","));
        out
    }

    /// How often the columns with few values have each of them.
    pub(super) fn counts(&self, shapes: &Shapes) -> String {
        let mut out = String::new();
        for (column, values) in self.few(shapes) {
            let mut values: Vec<(&str, usize)> = values.into_iter().collect();
            values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            out.push_str("\n[… count] ");
            out.push_str(&self.columns[column]);
            out.push(':');
            for (value, count) in values {
                let value =
                    if value.is_empty() { "[… none]".into() } else { cell(value, shapes.cell) };
                let _infallible = write!(out, " {value} [… ×{}]", number(count));
            }
        }
        out
    }

    /// The columns that have few values, more than one each, with the count of each value.
    fn few(&self, shapes: &Shapes) -> Vec<(usize, FxHashMap<&'a str, usize>)> {
        (0..self.columns.len())
            .filter_map(|column| {
                let mut values: FxHashMap<&str, usize> = FxHashMap::default();
                for row in &self.rows {
                    *values.entry(row.cell(column)).or_default() += 1;
                    if values.len() > shapes.values_few {
                        return None;
                    }
                }
                let repeat = values.len() * shapes.value_repeat <= self.rows.len();
                (values.len() > 1 && repeat).then_some((column, values))
            })
            .collect()
    }

    /// The rows as items: ends first, then what stands out, then evenly spread ones.
    pub(super) fn items(&self, tape: &Tape<'a>, shapes: &Shapes, most: usize) -> Vec<Item<'a>> {
        let constant = self.constant();
        let few = self.few(shapes);
        let rare = |row: &Row<'a>| {
            few.iter().any(|(column, values)| {
                let count = values.get(row.cell(*column)).copied().unwrap_or_default();
                (count as f64) < self.rows.len() as f64 * shapes.rare_share
            })
        };
        let last = self.rows.len() - 1;
        self.rows
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let (text, whole) = self.line(row, &constant, most);
                let rank = if index < shapes.rows_first || index + shapes.rows_last > last {
                    0
                } else if rare(row) || shape::fails(&text) {
                    1
                } else {
                    2 + spread(index)
                };
                Item { text: text.into(), span: tape.span(row.node), rank, like: index, whole }
            })
            .collect()
    }

    /// A row as a line, and whether all of it is said.
    fn line(&self, row: &Row<'a>, constant: &[bool], most: usize) -> (String, bool) {
        let mut out = String::new();
        let mut whole = true;
        if self.grouped {
            out.push_str(if row.begins { "- " } else { "  " });
        }
        let mut first = true;
        for column in (0..self.columns.len()).filter(|column| !constant[*column]) {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            let raw = row.cell(column);
            whole &= raw.len() <= most;
            out.push_str(&cell(raw, most));
        }
        (out, whole)
    }
}

impl<'a> Row<'a> {
    fn cell(&self, column: usize) -> &'a str {
        self.cells.get(column).copied().unwrap_or_default()
    }
}

/// A key or string without its quotes; escapes stay as they are.
pub(super) fn name(raw: &str) -> &str {
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
}

/// A value as it stands in a row.
fn cell(raw: &str, most: usize) -> std::borrow::Cow<'_, str> {
    let bare = name(raw);
    let speaks = bare.len() < raw.len()
        && !bare.is_empty()
        && bare.trim() == bare
        && !bare.contains([',', '"', '\\', '[', '{'])
        && !matches!(bare, "true" | "false" | "null")
        && bare.parse::<f64>().is_err();
    outline::clip(if speaks { bare } else { raw }, most)
}
