//! The chart of the front page: a group of bars for each size, a bar for each row of a table.
//!
//! Invariant: a function of the table, and each bar states its figure; the drawing brings its own
//! ground, so that it can be read on a light page and on a dark one. Called by `figures`.

use anyhow::{Context, Result, ensure};

/// Size of the drawing, in units of the drawing.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// Room for the legend, and for the names of the groups.
const TOP: f64 = 64.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 20.0;
const BAR: f64 = 52.0;
const GAP: f64 = 6.0;
/// Width of a letter, about.
const LETTER: f64 = 6.6;

const STYLE: &str = "\
:root { color-scheme: light dark; }
text { font: 13px system-ui, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, sans-serif; fill: #1b2129; }
.ground { fill: #fff; stroke: #d0d7de; } .grid { stroke: #e2e5ea; } .quiet { fill: #57606a; }
.b0 { fill: #0e8a78; } .b1 { fill: #2f6fdb; } .b2 { fill: #98a2af; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e8ed; } .ground { fill: #1a2027; stroke: #3d444d; } .grid { stroke: #2b333d; }
  .quiet { fill: #94a0ae; } .b0 { fill: #2fbfa7; } .b1 { fill: #7aa9ff; } .b2 { fill: #7d8a9b; }
}
";

/// One row of a table: its name and the share at each size.
#[derive(Debug, PartialEq)]
pub(crate) struct ChartRow {
    name: String,
    shares: Vec<f64>,
}

/// Reads the rows of a table in Markdown, behind its heading.
///
/// # Errors
///
/// When a row has no name, or a figure is no share.
pub(crate) fn rows(table: &str) -> Result<Vec<ChartRow>> {
    let row = |line: &str| -> Result<ChartRow> {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().context("a row without cells")?.replace('`', "");
        let shares: Vec<f64> =
            cells.map(str::parse).collect::<Result<_, _>>().with_context(|| line.to_owned())?;
        ensure!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "no shares: {line}");
        Ok(ChartRow { name, shares })
    };
    table.lines().skip(2).map(row).collect()
}

/// Draws rows as bars, best first in each group.
pub(crate) fn draw(rows: &[ChartRow]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>Share of later references kept, by size of the prompt</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        WIDTH - 1.0,
        HEIGHT - 1.0,
    );
    let floor = HEIGHT - BOTTOM;
    let height = |share: f64| share * (floor - TOP);
    for step in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = floor - height(step);
        out.push_str(&format!(
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"quiet\" x=\"{:.1}\" \
             y=\"{:.1}\" text-anchor=\"end\">{step}</text>\n",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.5,
        ));
    }
    let mut legend = LEFT;
    for (at, row) in rows.iter().enumerate() {
        out.push_str(&format!(
            "<rect class=\"b{at}\" x=\"{legend:.1}\" y=\"20\" width=\"12\" height=\"12\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"31\">{}</text>\n",
            legend + 18.0,
            row.name,
        ));
        legend += 18.0 + row.name.chars().count() as f64 * LETTER + 22.0;
    }
    let mut order: Vec<(usize, &ChartRow)> = rows.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| b.shares[0].total_cmp(&a.shares[0]));
    let sizes = ["half", "a quarter", "an eighth"];
    let wide = (WIDTH - LEFT - RIGHT) / sizes.len() as f64;
    for (group, size) in sizes.into_iter().enumerate() {
        let middle = LEFT + wide * (group as f64 + 0.5);
        let all = order.len() as f64 * (BAR + GAP) - GAP;
        for (place, (at, row)) in order.iter().enumerate() {
            let (x, share) = (middle - all / 2.0 + place as f64 * (BAR + GAP), row.shares[group]);
            let tall = height(share);
            out.push_str(&format!(
                "<rect class=\"b{at}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{BAR}\" \
                 height=\"{tall:.1}\" rx=\"3\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{share:.2}</text>\n",
                floor - tall,
                x + BAR / 2.0,
                floor - tall - 6.0,
            ));
        }
        out.push_str(&format!(
            "<text class=\"quiet\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{size} of \
             the tokens</text>\n",
            floor + 22.0,
        ));
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_rows_and_each_figure_is_written() {
        let table = "| at | half | a quarter | an eighth |\n| --- | --- | --- | --- |\n\
                     | with `recall` | 0.50 | 0.25 | 0.12 |\n| none | 0.90 | 0.80 | 0.70 |\n";
        let rows = rows(table).unwrap();
        let first = ChartRow { name: "with recall".into(), shares: vec![0.5, 0.25, 0.12] };
        assert_eq!((rows.len(), &rows[0]), (2, &first));
        let drawn = draw(&rows);
        for figure in ["0.50", "0.25", "0.12", "0.90", "with recall", "a quarter of the tokens"] {
            assert!(drawn.contains(&format!(">{figure}<")), "{figure}: {drawn}");
        }
    }

    #[test]
    fn a_figure_that_is_no_share_is_refused() {
        for row in ["| a | 1.2 |", "| a | b |"] {
            assert!(rows(&format!("| at | half |\n| --- | --- |\n{row}\n")).is_err(), "{row}");
        }
    }
}
