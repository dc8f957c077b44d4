//! Like objects of a JSON text as a table: columns once, then a line for each row.
//!
//! Invariant: a table of all rows says all that the objects said: a cell is spelled as in the text,
//! a string loses its quotes only where nothing else could be meant, an absent field is empty.
//! Called by [`super::json`].

use std::cmp::Ordering;
use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::outline::{self, Item, number, spread};
use super::tape::{Kind, Tape};
use super::{kind, shape};
use crate::tuning::Shapes;

/// Ranks of rows: the outermost, those that stand out, those with the least or most of a column,
/// those near the ends, others.
const END: u32 = 0;
const ODD: u32 = 1;
const EXTREME: u32 = 2;
const NEAR_END: u32 = 3;
pub(super) const LIKE: u32 = 4;

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

/// The least and the largest cell of a column, and the rows in which they stand first.
#[derive(Debug)]
struct Ends<'a> {
    column: usize,
    cells: [&'a str; 2],
    rows: [usize; 2],
}

/// How the cells of a column are put in order.
#[derive(Clone, Copy, Debug)]
enum Order {
    Number,
    /// By their signs, where all have the same number of them: dates and times.
    Time,
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

    /// From where to where the columns of many values go.
    pub(super) fn ends_said(&self, shapes: &Shapes) -> String {
        let few = self.few(shapes);
        let many = |ends: &Ends<'_>| few.iter().all(|(column, _)| *column != ends.column);
        let said = |ends: Ends<'_>| {
            let [least, most] = ends.cells.map(name);
            format!("{} {least} – {most}", self.columns[ends.column])
        };
        let ends: Vec<String> = self.ends().into_iter().filter(many).map(said).collect();
        match ends.is_empty() {
            true => String::new(),
            false => format!("\n[… least – most] {}", ends.join(", ")),
        }
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

    /// The least and the largest cell of each column that holds numbers, or times as text.
    fn ends(&self) -> Vec<Ends<'a>> {
        let ends = |column: usize| {
            let cells = self.rows.iter().map(|row| row.cell(column)).enumerate();
            let mut cells = cells.filter(|(_, cell)| !matches!(*cell, "" | "null"));
            let (place, first) = cells.next()?;
            let order = Order::of(first)?;
            let mut out = Ends { column, cells: [first; 2], rows: [place; 2] };
            for (index, cell) in cells {
                for (end, wanted) in [(0, Ordering::Less), (1, Ordering::Greater)] {
                    if order.compare(cell, out.cells[end])? == wanted {
                        (out.cells[end], out.rows[end]) = (cell, index);
                    }
                }
            }
            (out.cells[0] != out.cells[1]).then_some(out)
        };
        (0..self.columns.len()).filter_map(ends).collect()
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
        let extremes: FxHashSet<usize> = self.ends().iter().flat_map(|ends| ends.rows).collect();
        let lines: Vec<_> = self.rows.iter().map(|row| self.line(row, &constant, most)).collect();
        let fails: Vec<bool> = lines.iter().map(|(line, _)| shape::fails(line)).collect();
        let failures = fails.iter().filter(|fails| **fails).count();
        // Where most rows fail a failure is nothing that stands out.
        let odd = failures as f64 <= self.rows.len() as f64 * shapes.odd_share;
        let rank = |index: usize, row: &Row<'a>| match () {
            () if index == 0 || index == last => END,
            () if rare(row) || odd && fails[index] => ODD,
            () if extremes.contains(&index) => EXTREME,
            () if index < shapes.rows_first || index + shapes.rows_last > last => NEAR_END,
            () => LIKE + spread(index),
        };
        let item = |(index, (row, (text, whole))): (usize, (&Row<'a>, (String, bool)))| {
            let rank = rank(index, row);
            Item { text: text.into(), span: tape.span(row.node), rank, like: index, whole }
        };
        self.rows.iter().zip(lines).enumerate().map(item).collect()
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

impl Order {
    fn of(cell: &str) -> Option<Self> {
        if cell.parse::<f64>().is_ok() {
            return Some(Self::Number);
        }
        (name(cell).len() < cell.len() && shape::is_stamped(name(cell))).then_some(Self::Time)
    }

    /// `None` where a cell is not of this order.
    fn compare(self, one: &str, other: &str) -> Option<Ordering> {
        match self {
            Self::Number => kind::compare(one, other),
            Self::Time => {
                let sign = |byte: u8| byte.is_ascii_digit() || b"-:/. TZ+\"".contains(&byte);
                let is_time = |cell: &str| cell.bytes().all(sign);
                let like = one.len() == other.len() && is_time(one) && is_time(other);
                like.then(|| one.cmp(other))
            }
        }
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
