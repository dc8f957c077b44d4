//! What is drawn of the sessions, and what keys do to it.
//!
//! Invariant: no line is wider than the terminal, and no frame higher. Pure, but for the width that
//! it is given.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use anstyle::Style;

use super::keys::TopKey;
use super::{SortKey, TopPrompt, TopRow, TopTable};
use crate::bar::BeforeAfterBar;
use crate::fault::CliError;
use crate::figure::{about, percent};
use crate::table::{Column, TextTable, left, right};
use crate::text::{clipped, counted, grouped, plain, width};

/// Cells of the bar.
const BAR: usize = 10;

/// Lines above and below the sessions: the head, the heads of the columns, and the keys.
const AROUND: usize = 3;

/// The keys, and as many of their words as a narrow terminal has room for.
const KEYS: &str = "q quits  r reverses  j k scroll  sort: l last t turns p prompt s saved n title \
                    c client m model";
const FEW_KEYS: &str = "q quits  sort: l t p s n c m r  scroll: j k";

/// Ctrl-C.
const INTERRUPT: u8 = 3;

const COLUMNS: [Column; 8] = [
    left("title").least(12),
    left("client").spare(3),
    left("model").spare(4),
    left("profile").spare(5),
    right("turns").spare(2),
    left("prompt of limit"),
    right("saved").spare(1),
    right("last"),
];

/// The table with what the user chose.
pub(super) struct TopView {
    table: TopTable,
    sort: SortKey,
    reversed: bool,
    /// So many sessions stand above the first one that is shown.
    skipped: usize,
    /// Why the table is not the newest.
    fault: Option<String>,
}

impl TopView {
    pub(super) fn new(sort: SortKey, table: TopTable) -> Self {
        let table = table.sorted(sort, false);
        Self { table, sort, reversed: false, skipped: 0, fault: None }
    }

    /// Takes a newer table; the older one stays where that could not be read.
    pub(super) fn update(&mut self, table: Result<TopTable, CliError>) {
        match table {
            Ok(table) => {
                self.table = table.sorted(self.sort, self.reversed);
                self.fault = None;
            }
            Err(fault) => self.fault = Some(fault.line().to_owned()),
        }
    }

    /// Does what a key says; gives whether to go on.
    pub(super) fn press(&mut self, key: TopKey) -> bool {
        match key {
            TopKey::Escape | TopKey::Character(b'q' | b'Q' | INTERRUPT) => return false,
            TopKey::Down | TopKey::Character(b'j') => self.scroll(true),
            TopKey::Up | TopKey::Character(b'k') => self.scroll(false),
            TopKey::Character(b'r') => self.order(self.sort, !self.reversed),
            TopKey::Character(letter) => {
                if let Some(sort) = SortKey::of_key(letter) {
                    self.order(sort, false);
                }
            }
            TopKey::Other => {}
        }
        true
    }

    fn order(&mut self, sort: SortKey, reversed: bool) {
        (self.sort, self.reversed, self.skipped) = (sort, reversed, 0);
        self.table.sort(sort, reversed);
    }

    fn scroll(&mut self, down: bool) {
        let last = self.table.sessions.len().saturating_sub(1);
        self.skipped = match down {
            true => (self.skipped + 1).min(last),
            false => self.skipped.saturating_sub(1),
        };
    }

    /// The lines of a terminal of this size.
    pub(super) fn frame(&self, columns: usize, rows: usize) -> io::Result<Vec<String>> {
        let shown = rows.saturating_sub(AROUND).max(1);
        let all = &self.table.sessions;
        let skipped = self.skipped.min(all.len().saturating_sub(shown));
        let sessions = &all[skipped..(skipped + shown).min(all.len())];
        let bold = Style::new().bold();
        let order = if self.reversed { ", reversed" } else { "" };
        let count = counted(all.len() as u64, "session");
        let count = if self.table.more { format!("{count} used last") } else { count };
        let head = format!("{count}, by {}{order}  {} UTC", self.sort.word(), self.clock());
        let mut lines =
            vec![format!("{bold}epitome{bold:#} {}", clipped(&head, columns.max(9) - 8))];
        let mut table = Vec::new();
        write_table(&mut table, sessions, &self.table.at, columns)?;
        lines.extend(String::from_utf8_lossy(&table).lines().map(str::to_owned));
        let keys = if width(KEYS) <= columns { KEYS } else { FEW_KEYS };
        let foot = self.fault.as_deref().unwrap_or(keys);
        lines.truncate(rows.saturating_sub(1));
        lines.push(clipped(&plain(foot), columns));
        Ok(lines)
    }

    fn clock(&self) -> &str {
        self.table.at.get(11..19).unwrap_or_default()
    }
}

/// Writes the table and nothing around it.
pub(super) fn once(out: &mut dyn Write, table: &TopTable, columns: usize) -> io::Result<()> {
    match table.sessions.is_empty() {
        true => writeln!(out, "no sessions; `--everywhere` shows those of other projects"),
        false => write_table(out, &table.sessions, &table.at, columns),
    }?;
    if table.more {
        writeln!(out, "these were used last; `--limit 0` shows all")?;
    }
    Ok(())
}

fn write_table(
    out: &mut dyn Write,
    sessions: &[TopRow],
    at: &str,
    columns: usize,
) -> io::Result<()> {
    let rows: Vec<_> = sessions.iter().map(|session| cells(session, at)).collect();
    TextTable::new(&COLUMNS).within(columns).print(out, &rows)
}

fn cells(row: &TopRow, at: &str) -> Vec<String> {
    let TopPrompt { sent, limit, .. } = row.prompt;
    let whole = limit.max(sent);
    let bar = BeforeAfterBar { before: whole, after: sent, whole, width: BAR }.to_string();
    let priced = row.money.filter(|money| money.priced() > 0);
    let saved = priced.map(|money| about(money.saved.least, money.saved.most));
    let title = if row.title.is_empty() { &row.session } else { &row.title };
    let or_none = |text: &Option<String>| text.as_deref().map(plain).unwrap_or_default();
    vec![
        plain(title),
        or_none(&row.client),
        or_none(&row.model),
        plain(&row.profile),
        grouped(row.turns),
        format!("{} {:>5}", strip_str(&bar), percent(sent, limit)),
        saved.unwrap_or_else(|| "–".to_owned()),
        age(&row.last, at),
    ]
}

/// How long ago a time was: `12 s`, `5 min`, `3 h`, `2 d`.
fn age(last: &str, at: &str) -> String {
    let (Some(last), Some(at)) = (seconds(last), seconds(at)) else { return String::new() };
    match at.saturating_sub(last) {
        0 => "now".to_owned(),
        since @ ..60 => format!("{since} s"),
        since @ 60..3_600 => format!("{} min", since / 60),
        since @ 3_600..86_400 => format!("{} h", since / 3_600),
        since => format!("{} d", since / 86_400),
    }
}

/// Seconds since 1970 of a time in UTC, ISO 8601.
fn seconds(iso: &str) -> Option<u64> {
    let number = |from: usize, to: usize| iso.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Days from the first of March on, so that a leap day is the last of its year.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use epitome::{SavedRange, SavingsSums, WindowLevel};

    use super::*;
    use crate::top::keys::tests::keys;

    fn session(title: &str, turns: u64, saved: f64) -> TopRow {
        let range = SavedRange { least: saved, most: saved + 0.5 };
        let money = SavingsSums { answers: turns, saved: range, ..SavingsSums::default() };
        TopRow {
            session: title.to_owned(),
            title: title.to_owned(),
            client: Some("claude-cli".to_owned()),
            model: Some("claude-sonnet-4-5".to_owned()),
            profile: "default".to_owned(),
            turns,
            compressions: 1,
            prompt: TopPrompt {
                raw: 90_000,
                sent: turns * 10_000,
                limit: 100_000,
                level: WindowLevel::Roomy,
            },
            money: Some(money),
            last: format!("2026-01-01T00:00:{turns:02}.000Z"),
        }
    }

    fn view() -> TopView {
        let sessions = vec![
            session("Mend the parser 日本語 \u{1b}[2J of the long name", 3, -1.0),
            session("a", 9, 0.1),
            session("b", 1, 2.0),
        ];
        TopView::new(SortKey::Last, TopTable::with_sessions("2026-01-01T00:01:00.000Z", sessions))
    }

    fn lines(view: &TopView, columns: usize, rows: usize) -> Vec<String> {
        let lines = view.frame(columns, rows).unwrap();
        lines.iter().map(|line| strip_str(line).to_string()).collect()
    }

    /// The first letters of the titles that are shown.
    fn titles(view: &TopView, rows: usize) -> String {
        let lines = lines(view, 80, rows);
        lines[2..lines.len() - 1].iter().filter_map(|line| line.chars().next()).collect()
    }

    #[test]
    fn a_frame_fits_every_terminal() {
        for columns in [30, 50, 80, 200] {
            for rows in [1, 2, 4, 24] {
                let lines = lines(&view(), columns, rows);
                assert!(lines.len() <= rows, "{columns}x{rows}: {lines:?}");
                let fits = |line: &String| columns < 50 || width(line) <= columns;
                assert!(lines.iter().all(fits), "{columns}x{rows}: {lines:?}");
                assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
            }
        }
        let text = lines(&view(), 200, 24).join("\n");
        assert!(text.contains("█████████░  90 %") && text.contains("$0.35 ±0.25"), "{text}");
        assert!(text.starts_with("epitome 3 sessions, by last  00:01:00 UTC"), "{text}");
    }

    #[test]
    fn keys_choose_the_order_and_the_place() {
        let check = |typed: &[u8], rows, expected: &str| {
            let mut view = view();
            assert!(keys(typed).into_iter().all(|key| view.press(key)), "{typed:?}");
            assert_eq!(titles(&view, rows), expected, "{typed:?}");
        };
        check(b"", 24, "aMb");
        check(b"s", 24, "baM");
        check(b"r", 24, "bMa");
        check(b"sr", 24, "Mab");
        check(b"pn", 24, "abM");
        check(b"x", 24, "aMb");
        check(b"j", 4, "M");
        check(b"jjjjk", 4, "M");
        check(b"\x1b[B\x1bOB\x1b[A", 4, "M");
        check(b"\x1b[Cj", 4, "M");
        check(b"jt", 4, "a");
    }

    #[test]
    fn keys_end_it() {
        for typed in [&b"q"[..], b"Q", b"\x03", b"\x1b", b"\x1bx", b"tq"] {
            let mut view = view();
            assert!(!keys(typed).into_iter().all(|key| view.press(key)), "{typed:?}");
        }
    }

    #[test]
    fn a_table_that_cannot_be_read_leaves_the_one_before() {
        let mut view = view();
        view.update(Err(CliError::unreadable("the store is gone")));
        let shown = lines(&view, 80, 24);
        assert!(shown.last().unwrap().contains("the store is gone"), "{shown:?}");
        assert_eq!(titles(&view, 24), "aMb");
    }

    #[test]
    fn ages_are_said_in_one_unit() {
        let check = |last: &str, expected: &str| {
            assert_eq!(age(last, "2024-03-01T00:00:10.000Z"), expected, "{last}");
        };
        check("2024-03-01T00:00:10.900Z", "now");
        check("2024-03-01T00:00:00.000Z", "10 s");
        check("2024-02-29T23:59:00.000Z", "1 min");
        check("2024-02-29T00:00:10.000Z", "1 d");
        check("2023-03-01T12:00:10.000Z", "365 d");
        check("2024-02-29T20:00:10.000Z", "4 h");
        check("2025-01-01T00:00:00.000Z", "now");
        check("yesterday", "");
        assert_eq!(seconds("1970-01-01T00:00:01Z"), Some(1));
        assert_eq!(seconds("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(seconds("0000-01-01T00:00:00Z"), None);
    }
}
