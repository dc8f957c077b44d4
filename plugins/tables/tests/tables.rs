//! One result of 300 rows in each form in which tools print it, and what must stay of it.
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use epitome_digest_tables::TableDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, check};
use proptest::prelude::*;

const NAMES: [&str; 6] = ["id", "customer", "email", "status", "total", "created_at"];

/// About what a text takes of a model's window.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

/// A digest as it is asked for of a result that arrives: half of it, and little of a large one.
fn digest(tool: &str, text: &str) -> Option<DigestOutput> {
    let size = tokens(text);
    let most = if size > 15_000 { 1000 } else { size / 2 };
    let job = DigestInput::new(text, most, &tokens).of(tool, "");
    let digested = check::digest(&TableDigester, &job).unwrap();
    assert_eq!(digested, check::digest(&TableDigester, &job).unwrap());
    digested
}

/// Orders of which three failed, one has an odd total, one no number in its place, one no mail.
fn orders() -> Vec<[String; 6]> {
    let order = |n: usize| {
        let status = match n {
            41 | 137 | 250 => "failed",
            _ => ["shipped", "pending"][n % 2],
        };
        let total = match n {
            200 => "98999.99".to_owned(),
            77 => "n/a".to_owned(),
            _ => format!("{}.50", n * 37 % 900),
        };
        let mail = if n == 91 { String::new() } else { format!("user{n}@example.com") };
        let customer = ["Alice Smith", "Bob Jones", "Eve O'Hara", "Zoë Ng"][n % 4];
        let at = format!("2026-03-{:02} 10:{:02}:00", n % 28 + 1, n % 60);
        [(1000 + n).to_string(), customer.into(), mail, status.into(), total, at]
    };
    (0..300).map(order).collect()
}

fn widths() -> [usize; 6] {
    std::array::from_fn(|column| {
        let cells = orders().into_iter().map(|row| row[column].chars().count());
        cells.chain([NAMES[column].len()]).max().unwrap()
    })
}

/// Rows with their cells aligned.
fn aligned(row: &[String; 6], between: &str) -> String {
    let cells = row.iter().zip(widths()).enumerate().map(|(column, (cell, width))| {
        if matches!(column, 0 | 4) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    });
    cells.collect::<Vec<_>>().join(between)
}

fn names() -> [String; 6] {
    NAMES.map(str::to_owned)
}

fn dashes(sign: &str, more: usize, between: &str) -> String {
    widths().map(|width| sign.repeat(width + more)).join(between)
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

fn psql() -> String {
    let rows = orders().into_iter().map(|row| format!(" {}", aligned(&row, " | ")));
    let head = [format!(" {} ", aligned(&names(), " | ")), format!("-{}-", dashes("-", 0, "-+-"))];
    lines(head.into_iter().chain(rows).chain(["(300 rows)\n".into()]))
}

fn mysql() -> String {
    let rule = format!("+{}+", dashes("-", 2, "+"));
    let line = |row| format!("| {} |", aligned(&row, " | "));
    let head = [rule.clone(), line(names()), rule.clone()];
    let rows = orders().into_iter().map(line);
    let foot = [rule, "300 rows in set (0.01 sec)\n".into()];
    lines(head.into_iter().chain(rows).chain(foot))
}

fn sqlite_box() -> String {
    let line = |row| format!("│ {} │", aligned(&row, " │ "));
    let head =
        [format!("┌{}┐", dashes("─", 2, "┬")), line(names()), format!("├{}┤", dashes("─", 2, "┼"))];
    let rows = orders().into_iter().map(line);
    lines(head.into_iter().chain(rows).chain([format!("└{}┘", dashes("─", 2, "┴"))]))
}

fn sqlite_column() -> String {
    let line = |row: [String; 6]| {
        let cells = row.iter().zip(widths()).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    let head = [line(names()), dashes("-", 0, "  ")];
    lines(head.into_iter().chain(orders().into_iter().map(line)))
}

fn delimited(sign: &str) -> String {
    lines(std::iter::once(names()).chain(orders()).map(|row| row.join(sign)))
}

fn markdown() -> String {
    let line = |row: [String; 6]| format!("| {} |", row.join(" | "));
    let head = [line(names()), format!("|{}", "---|".repeat(6))];
    lines(head.into_iter().chain(orders().into_iter().map(line)))
}

fn psql_expanded() -> String {
    let record = |(n, row): (usize, [String; 6])| {
        let cells = NAMES.iter().zip(row).map(|(name, cell)| format!("{name:<10} | {cell}"));
        lines([format!("-[ RECORD {} ]-----------------", n + 1)].into_iter().chain(cells))
    };
    lines(orders().into_iter().enumerate().map(record))
}

fn mysql_vertical() -> String {
    let stars = "*".repeat(27);
    let record = |(n, row): (usize, [String; 6])| {
        let cells = NAMES.iter().zip(row).map(|(name, cell)| format!("{name:>10}: {cell}"));
        lines([format!("{stars} {}. row {stars}", n + 1)].into_iter().chain(cells))
    };
    let foot = ["300 rows in set (0.01 sec)\n".into()];
    lines(orders().into_iter().enumerate().map(record).chain(foot))
}

/// What stays of the orders, their cells parted by `sign`.
fn check(form: &str, text: &str, sign: &str) {
    let digested = digest("run_query", text).unwrap_or_else(|| panic!("{form}: no digest"));
    let said = &digested.text;
    let saved = 1.0 - tokens(said) as f64 / tokens(text) as f64;
    assert!(saved >= 0.9, "{form} {saved}: {said}");
    assert!(said.starts_with("[… 300 rows, some left out]\n"), "{form}: {said}");
    let orders = orders();
    let wanted = [
        ("names", names().join(sign)),
        ("first", orders[0].join(sign)),
        ("failed", orders[41].join(sign)),
        ("failed", orders[137].join(sign)),
        ("failed", orders[250].join(sign)),
        ("no number", orders[77].join(sign)),
        ("no mail", orders[91].join(sign)),
        ("largest", orders[200].join(sign)),
        ("last", orders[299].join(sign)),
    ];
    for (what, line) in wanted {
        assert!(said.lines().any(|said| said == line), "{form}, {what}: {line} in {said}");
    }
    assert!(said.contains("total 0.50 – 98999.99"), "{form}: {said}");
    let counts = "status: pending [… ×148] shipped [… ×149] failed [… ×3]";
    let counts = counts.split(' ').filter(|word| word.starts_with('×'));
    assert!(counts.clone().all(|count| said.contains(count)), "{form}: {said}");
    // Every row is shown or lies in what was left out.
    for row in &orders {
        let at = text.find(&row[0]).unwrap();
        let shown = said.contains(&format!("\n{}{sign}", row[0]));
        assert!(shown || digested.left.iter().any(|left| left.contains(&at)), "{form}: {row:?}");
    }
}

#[test]
fn three_hundred_rows_keep_what_matters_in_every_form() {
    check("psql", &psql(), "|");
    check("mysql", &mysql(), "|");
    check("sqlite box", &sqlite_box(), "|");
    check("sqlite column", &sqlite_column(), "|");
    check("markdown", &markdown(), "|");
    check("psql expanded", &psql_expanded(), "|");
    check("mysql vertical", &mysql_vertical(), "|");
    check("csv", &delimited(","), ",");
    check("tsv", &delimited("\t"), "\t");
    check("sqlite list", &delimited("|"), "|");
    check("csv of another country", &delimited(";"), ";");
}

#[test]
fn what_stands_beside_a_table_stays() {
    let text = format!("Timing is on.\n{}Time: 3.214 ms\n", psql());
    let said = digest("run_query", &text).unwrap().text;
    for line in ["Timing is on.", "(300 rows)", "Time: 3.214 ms"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
}

fn becomes(text: &str, expected: &str) {
    let size = |text: &str| text.chars().count() as u64;
    let job = DigestInput::new(text, size(text) - 1, &size);
    let found = check::digest(&TableDigester, &job).unwrap().map(|digested| digested.text);
    assert_eq!(found.as_deref(), Some(expected));
}

#[test]
fn a_small_table_only_loses_what_aligns_it() {
    let rows: String = (1..=9).map(|n| format!("  {n} | {:<20} | t\n", "n".repeat(n))).collect();
    let text =
        format!(" id |         name         | ok \n----+----------------------+----\n{rows}");
    let names: Vec<String> = (1..=9).map(|n| format!("\n{n}|{}", "n".repeat(n))).collect();
    becomes(&text, &format!("[… 9 rows]\n[… every row] ok: t\nid|name{}", names.concat()));
}

#[test]
fn a_bar_in_a_cell_is_part_of_it() {
    let rows: String = (1..=9).map(|n| format!("| {n} | a | b             |\n")).collect();
    let text = format!("| n | words             |\n|---|-------------------|\n{rows}");
    let names: Vec<String> = (1..=9).map(|n| format!("\n{n}")).collect();
    becomes(&text, &format!("[… 9 rows]\n[… every row] words: a | b\nn{}", names.concat()));
}

#[test]
fn cells_of_several_lines_belong_to_their_row() {
    let rows: String =
        (1..=9).map(|n| format!("  {n} | first line {n}  +\n    | second line {n}\n")).collect();
    let text = format!(" id |     words      \n----+----------------\n{rows}");
    let digested = digest("run_query", &text).unwrap();
    assert!(digested.text.starts_with("[… 9 rows"), "{}", digested.text);
    for n in 1..=9 {
        let at = text.find(&format!("second line {n}")).unwrap();
        assert!(digested.left.iter().any(|left| left.contains(&at)), "{n}");
    }
    let quoted: String =
        (1..=9).map(|n| format!("{n},\"one, \"\"two\"\"\nthree {n}\"\n")).collect();
    let text = format!("id,words\n{quoted}");
    let said = digest("run_query", &text).unwrap().text;
    assert!(said.starts_with("[… 9 rows"), "{said}");
}

#[test]
fn what_is_no_table_stays() {
    let of = |line: &dyn Fn(usize) -> String| (0..200).map(|n| line(n) + "\n").collect::<String>();
    let texts = [
        of(&|n| format!("2026-03-01 10:00:{:02},{n:03} INFO worker took {n} ms", n % 60)),
        of(&|n| format!("src/file{n}.rs:{n}: let a = call({n}, b);")),
        of(&|n| format!("Well, this is line {n} of a text")),
        of(&|n| format!("{n}\twords of line {n} of a file")),
        of(&|n| format!("let value_{n} = call({n}, other);")),
        of(&|n| format!("item {n}\n--- ---\n")),
        of(&|n| format!("data/orders.csv:{n}:alice,shipped,{n}")),
    ];
    for text in &texts {
        assert_eq!(digest("bash", text), None, "{text}");
    }
    assert_eq!(digest("read_file", &delimited(",")), None);
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    let forms = [psql(), mysql(), sqlite_box(), sqlite_column(), markdown(), delimited(",")];
    let records = [psql_expanded(), mysql_vertical(), delimited("\t"), delimited("|")];
    let failed =
        |text: String| ConformanceSample::new("orders", text).keeping(orders()[41][0].clone());
    samples.extend(forms.into_iter().chain(records).map(failed));
    let report = conformance::check(&TableDigester, &samples);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!(report.made.iter().filter(|made| made.sample == "orders").count(), 10);
    assert!(report.made.iter().any(|made| made.sample == "query"));
    assert!(report.made.iter().any(|made| made.sample == "csv"));
}

/// Lines as tables have them, and as nearly none has.
fn output() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("id|name".to_owned()),
        Just("--+----".to_owned()),
        Just("+--+--+".to_owned()),
        Just("-[ RECORD 1 ]---".to_owned()),
        Just("--  ----".to_owned()),
        "[a-z0-9 ]{0,6}[|,\t│][a-z0-9 \"é]{0,8}",
        "\\| [a-z]{1,3} \\| [0-9é+]{1,3} \\|",
        "\\PC{0,20}",
    ];
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_output_conforms(text in output()) {
        let report = conformance::check(&TableDigester, &[ConformanceSample::new("any", text)]);
        prop_assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }
}
