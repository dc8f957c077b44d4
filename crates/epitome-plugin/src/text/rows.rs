//! Rows of the same columns as a table: what all of them share is said once, how often which value
//! stands is counted, and of many rows those are shown that stand out.
//!
//! Invariant: a table of all rows says all that the rows said: each cell is spelled as in the text.
//! Called by plugins that digest JSON and the results of queries.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::outline::{DigestOutline, OutlineItem, RankCap, clip, number, passages, share, spread};
use super::{kind, shape};
use crate::{DigestInput, DigestOutput};

/// Ranks of rows: the outermost, those that stand out, those with the least or most of a column,
/// those near the ends, others.
const END: u32 = 0;
const ODD: u32 = 1;
const EXTREME: u32 = 2;
const NEAR_END: u32 = 3;
const LIKE: u32 = 4;

/// A table of all rows is shown where it is no larger than this, by the measure of the job.
const WHOLE: u64 = 1500;
/// Where rows are left out, a cell has at most about this many bytes.
const CELL: usize = 120;
/// Rows that are wanted near the ends: the first and the last.
const FIRST: usize = 3;
const LAST: usize = 2;
/// The values of a column are counted where there are at most this many, and where each stands, on
/// average, in at least `REPEAT` rows.
const FEW: usize = 8;
const REPEAT: usize = 4;
/// Up to this many values a row stands out with one that is rare beside the others: a counted value
/// in less than this share of the rows, another in less than this share of the average.
const KNOWN: usize = 32;
const RARE: f64 = 0.05;
const RARE_OF_MEAN: f64 = 0.125;
/// A failure stands out where at most this share of the rows tells of one.
const ODD_SHARE: f64 = 0.34;

/// How cells are written and read.
#[derive(Clone, Copy, Debug)]
pub struct CellSpelling {
    /// What stands between two cells of a row.
    pub separator: &'static str,
    /// A cell as it stands in a row.
    pub cell: fn(&str) -> &str,
    /// The value of a cell, without what quotes it.
    pub value: fn(&str) -> &str,
}

impl CellSpelling {
    /// Cells that nothing quotes, with `separator` between them.
    #[must_use]
    pub fn bare(separator: &'static str) -> Self {
        Self { separator, cell: |cell| cell, value: |cell| cell }
    }
}

/// Rows of the same columns.
#[derive(Clone, Debug)]
pub struct TableRows<'a> {
    /// The names of the columns; an empty one is a key without a name.
    pub columns: Vec<Cow<'a, str>>,
    /// The rows, in the order of the text.
    pub rows: Vec<TableRow<'a>>,
    /// Whether the rows came in groups.
    pub grouped: bool,
    /// How cells are written.
    pub spelling: CellSpelling,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct TableRow<'a> {
    /// Where it stands in the text.
    pub span: Range<usize>,
    /// Its cells as the text spells them, as far as the row has any; an absent one is empty.
    pub cells: Vec<Cow<'a, str>>,
    /// Whether it begins a group.
    pub begins: bool,
    /// Whether its cells are only part of what the text says there.
    pub partial: bool,
}

/// What stands above the rows.
#[derive(Clone, Debug, Default)]
pub struct TableTitle<'a> {
    /// What they are, behind their number: `rows`.
    pub what: &'a str,
    /// What the text says beside them, as lines.
    pub around: &'a str,
    /// What of that is not whole.
    pub left: &'a [Range<usize>],
}

/// The least and the largest cell of a column, the rows in which they stand first, and the rows
/// whose cells have another order.
#[derive(Debug)]
struct Ends<'r> {
    column: usize,
    cells: [&'r str; 2],
    rows: [usize; 2],
    others: Vec<usize>,
}

/// How the cells of a column are put in order.
#[derive(Clone, Copy, Debug)]
enum CellOrder {
    Number,
    /// By their signs, where all have the same number of them: dates and times.
    Time,
}

/// What the rows are ranked and summed up by.
struct RowStats<'r> {
    constant: Vec<bool>,
    /// The columns that have few values, with the count of each.
    few: Vec<(usize, FxHashMap<&'r str, usize>)>,
    ends: Vec<Ends<'r>>,
}

impl<'r> RowStats<'r> {
    /// The columns whose values are counted.
    fn counted(&self) -> impl Iterator<Item = &(usize, FxHashMap<&'r str, usize>)> {
        self.few.iter().filter(|(_, values)| values.len() <= FEW)
    }
}

impl<'a> TableRows<'a> {
    /// The table where it is small, else a sample with counts; `None` where nothing fits.
    #[must_use]
    pub fn digest(
        &self,
        job: &DigestInput<'_>,
        title: &TableTitle<'_>,
        kind: &'static str,
    ) -> Option<DigestOutput> {
        let (sums, size) = (self.sums(), job.size(job.text));
        let head = self.head(&sums);
        let outline = |note: &str, counts: &str, most: usize| DigestOutline {
            head: format!(
                "[… {} {}{note}]{}{counts}{head}",
                number(self.rows.len()),
                title.what,
                title.around
            ),
            items: self.items(&sums, most),
            caps: vec![
                RankCap { rank: EXTREME, most: share(size, 0.08).clamp(300, 1000) },
                RankCap { rank: NEAR_END, most: share(size, 0.05).clamp(200, 500) },
            ],
            noun: Some("rows"),
            must: false,
        };
        let whole = outline("", "", usize::MAX);
        let room = job.number("whole", WHOLE).min(job.most);
        let mut digest = if let Some(text) = whole.all(job, room) {
            let partial = self.rows.iter().filter(|row| row.partial).map(|row| row.span.clone());
            DigestOutput { text, kind: kind.into(), left: partial.collect() }
        } else {
            // With as much about all rows as leaves room for some.
            let counts = self.counts(&sums);
            [self.ends_said(&sums) + &counts, counts, String::new()]
                .iter()
                .find_map(|sums| outline(", some left out", sums, CELL).fill(job, kind))?
        };
        let left = digest.left.into_iter().chain(title.left.iter().cloned());
        digest.left = passages(job.text, left);
        Some(digest)
    }

    fn sums(&self) -> RowStats<'_> {
        RowStats { constant: self.constant(), few: self.few(), ends: self.ends() }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row.cell(column))
    }

    /// Which columns have the same cell in every row.
    fn constant(&self) -> Vec<bool> {
        let same = |column: usize| {
            let mut cells = self.cells(column);
            let first = cells.next().unwrap_or_default();
            !first.is_empty() && cells.all(|cell| cell == first)
        };
        let many = self.rows.len() > 1;
        (0..self.columns.len()).map(|column| many && same(column)).collect()
    }

    /// The lines above the rows: what is the same in all of them, and the columns.
    fn head(&self, sums: &RowStats<'_>) -> String {
        let mut out = String::new();
        let columns = |wanted: bool| {
            (0..self.columns.len()).filter(move |column| sums.constant[*column] == wanted)
        };
        let first = |column: usize| (self.spelling.cell)(self.rows[0].cell(column));
        let same: Vec<String> = columns(true)
            .map(|column| format!("{}: {}", self.columns[column], first(column)))
            .collect();
        if !same.is_empty() {
            out.push_str("\n[… every row] ");
            out.push_str(&same.join(", "));
        }
        let name = |column: usize| match &*self.columns[column] {
            "" => "[… key]",
            name => name,
        };
        let names: Vec<&str> = columns(false).map(name).collect();
        out.push('\n');
        if self.grouped {
            out.push_str("[… - begins a group] ");
        }
        out.push_str(&names.join(self.spelling.separator));
        out
    }

    /// From where to where the columns of many values go.
    fn ends_said(&self, sums: &RowStats<'_>) -> String {
        let counted: Vec<usize> = sums.counted().map(|(column, _)| *column).collect();
        let many = |ends: &&Ends<'_>| !counted.contains(&ends.column);
        let said = |ends: &Ends<'_>| {
            let [least, most] = ends.cells.map(self.spelling.value);
            format!("{} {least} – {most}", self.columns[ends.column])
        };
        let ends: Vec<String> = sums.ends.iter().filter(many).map(said).collect();
        match ends.is_empty() {
            true => String::new(),
            false => format!("\n[… least – most] {}", ends.join(", ")),
        }
    }

    /// How often the columns with few values have each of them.
    fn counts(&self, sums: &RowStats<'_>) -> String {
        let mut out = String::new();
        for (column, values) in sums.counted() {
            let mut values: Vec<(&str, usize)> =
                values.iter().map(|(value, count)| (*value, *count)).collect();
            values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            out.push_str("\n[… count] ");
            out.push_str(&self.columns[*column]);
            out.push(':');
            for (value, count) in values {
                let value = match value {
                    "" => "[… none]".into(),
                    value => clip((self.spelling.cell)(value), CELL),
                };
                let _infallible = write!(out, " {value} [… ×{}]", number(count));
            }
        }
        out
    }

    fn few(&self) -> Vec<(usize, FxHashMap<&str, usize>)> {
        (0..self.columns.len())
            .filter_map(|column| {
                let mut values: FxHashMap<&str, usize> = FxHashMap::default();
                for cell in self.cells(column) {
                    *values.entry(cell).or_default() += 1;
                    if values.len() > KNOWN {
                        return None;
                    }
                }
                let repeat = values.len() * REPEAT <= self.rows.len();
                (values.len() > 1 && repeat).then_some((column, values))
            })
            .collect()
    }

    /// The least and the largest cell of each column that holds numbers, or times as text.
    fn ends(&self) -> Vec<Ends<'_>> {
        let ends = |column: usize| {
            let cells = || self.cells(column).enumerate().filter(|(_, cell)| !is_none(cell));
            let (place, first, order) = cells().find_map(|(place, cell)| {
                CellOrder::of((self.spelling.value)(cell)).map(|order| (place, cell, order))
            })?;
            let mut out = Ends { column, cells: [first; 2], rows: [place; 2], others: Vec::new() };
            let mut all = 0;
            for (index, cell) in cells() {
                all += 1;
                let value = (self.spelling.value)(cell);
                for (end, wanted) in [(0, Ordering::Less), (1, Ordering::Greater)] {
                    match order.compare(value, (self.spelling.value)(out.cells[end])) {
                        Some(found) if found == wanted => {
                            (out.cells[end], out.rows[end]) = (cell, index);
                        }
                        Some(_) => {}
                        None if end == 0 => out.others.push(index),
                        None => {}
                    }
                }
            }
            let ordered = out.others.len() as f64 <= f64::from(all) * RARE;
            (ordered && out.cells[0] != out.cells[1]).then_some(out)
        };
        (0..self.columns.len()).filter_map(ends).collect()
    }

    /// The rows as items: ends first, then what stands out, then evenly spread ones.
    fn items(&self, sums: &RowStats<'_>, most: usize) -> Vec<OutlineItem<'_>> {
        let last = self.rows.len().saturating_sub(1);
        let extremes: FxHashSet<usize> = sums.ends.iter().flat_map(|ends| ends.rows).collect();
        let lines: Vec<_> =
            self.rows.iter().map(|row| self.line(row, &sums.constant, most)).collect();
        let fails: Vec<bool> = lines.iter().map(|(line, _)| shape::fails(line)).collect();
        let failures = fails.iter().filter(|fails| **fails).count();
        // Where most rows fail a failure is nothing that stands out.
        let odd_failures = failures as f64 <= self.rows.len() as f64 * ODD_SHARE;
        let odd = self.odd(sums);
        let rank = |index: usize| match () {
            () if index == 0 || index == last => END,
            () if odd.contains(&index) || odd_failures && fails[index] => ODD,
            () if extremes.contains(&index) => EXTREME,
            () if index < FIRST || index + LAST > last => NEAR_END,
            () => LIKE + spread(index),
        };
        let item = |(index, (row, (text, whole))): (usize, (&TableRow<'a>, (String, bool)))| {
            let span = row.span.clone();
            OutlineItem { text: text.into(), span, rank: rank(index), like: index, whole }
        };
        self.rows.iter().zip(lines).enumerate().map(item).collect()
    }

    /// The rows with a value that is rare, one of another kind, or none where nearly all have one.
    fn odd(&self, sums: &RowStats<'_>) -> FxHashSet<usize> {
        let all = self.rows.len() as f64;
        let mut out: FxHashSet<usize> =
            sums.ends.iter().flat_map(|ends| ends.others.iter().copied()).collect();
        for (column, values) in &sums.few {
            let least = match values.len() {
                ..=FEW => all * RARE,
                values => all / values as f64 * RARE_OF_MEAN,
            };
            let rare = |cell: &str| values.get(cell).is_some_and(|count| (*count as f64) < least);
            out.extend(places(self.cells(*column), rare));
        }
        for column in 0..self.columns.len() {
            let none = places(self.cells(column), is_none);
            if (none.len() as f64) < all * RARE {
                out.extend(none);
            }
        }
        out
    }

    /// A row as a line, and whether all of it is said.
    fn line(&self, row: &TableRow<'_>, constant: &[bool], most: usize) -> (String, bool) {
        let mut out = String::new();
        let mut whole = !row.partial;
        if self.grouped {
            out.push_str(if row.begins { "- " } else { "  " });
        }
        let mut first = true;
        for column in (0..self.columns.len()).filter(|column| !constant[*column]) {
            if !std::mem::take(&mut first) {
                out.push_str(self.spelling.separator);
            }
            let cell = (self.spelling.cell)(row.cell(column));
            let said = clip(cell, most);
            whole &= said.len() == cell.len();
            out.push_str(&said);
        }
        (out, whole)
    }
}

/// The places of the cells that are as wanted.
fn places<'r>(cells: impl Iterator<Item = &'r str>, wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    cells.enumerate().filter(|(_, cell)| wanted(cell)).map(|(place, _)| place).collect()
}

/// Whether a cell says that there is no value.
fn is_none(cell: &str) -> bool {
    matches!(cell, "" | "null" | "NULL" | "\\N" | "None" | "<null>")
}

impl CellOrder {
    fn of(value: &str) -> Option<Self> {
        if value.parse::<f64>().is_ok() {
            return Some(Self::Number);
        }
        shape::is_stamped(value).then_some(Self::Time)
    }

    /// `None` where a value is not of this order.
    fn compare(self, one: &str, other: &str) -> Option<Ordering> {
        match self {
            Self::Number => kind::compare(one, other),
            Self::Time => {
                let sign = |byte: u8| byte.is_ascii_digit() || b"-:/. TZ+".contains(&byte);
                let is_time = |value: &str| value.bytes().all(sign);
                let like = one.len() == other.len() && is_time(one) && is_time(other);
                like.then(|| one.cmp(other))
            }
        }
    }
}

impl TableRow<'_> {
    fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", |cell| cell)
    }
}
