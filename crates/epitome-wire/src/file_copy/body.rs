//! What a body bound to a path is: a file that somebody edits, a part of one, or what a program said.
//!
//! Invariant: a body is judged by the shape of its lines alone, and what is neither clearly a file
//! nor named as one is none. Called by the scanner of file copies.

use super::label::{self, Binding, FileLabel};
use crate::json;

/// What has to be so long to count as a copy of a file, in lines that are not blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastLines {
    /// Where its label says that it is a file, or is there to name it.
    pub(super) labelled: usize,
    /// Where a sentence mentions the file.
    pub(super) mentioned: usize,
    /// Where it stands between fences and no path is said; `None` where that counts as none.
    pub(super) unnamed: Option<usize>,
    /// Where it stands in talk without a mark and no path is said.
    pub(super) bare: Option<usize>,
}

/// A line so long counts as several, so that few long lines are not taken for little.
const LINE: usize = 160;

/// Extensions of what programs write and nobody edits.
const DATA: [&str; 12] =
    ["log", "csv", "tsv", "jsonl", "ndjson", "out", "err", "trace", "lock", "snap", "har", "dump"];

/// What a body says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileBody {
    /// Its lines that are not blank.
    pub(super) lines: u32,
    /// Whether it is a part of a file, or changes to one.
    pub(super) partial: bool,
}

/// What a body is that stands between marks (`framed`), or just follows its label.
pub(super) fn of(
    body: &str,
    label: &FileLabel,
    framed: bool,
    least: LeastLines,
) -> Option<FileBody> {
    let lines = filled_lines(body);
    let sentence = label.binding == Binding::Sentence;
    let extension = label::extension(&label.path).unwrap_or_default();
    let is_prose = label::PROSE.contains(&&*extension);
    // Talk under the name of a text is told from the text by its length alone.
    let is_loose = sentence || is_prose && !framed;
    if weight(&lines) < if is_loose { least.mentioned } else { least.labelled } {
        return None;
    }
    let is_headed = || lines.iter().any(|line| is_headline(line.trim()));
    if DATA.contains(&&*extension) || is_log(&lines) || sentence && is_headed() {
        return None;
    }
    if !matches!(&*extension, "json" | "json5" | "ipynb") && is_json(body)
        || sentence && extension == "json"
        || is_prose && is_table(&lines)
    {
        return None;
    }
    let fits = match (framed, label.binding) {
        (true, Binding::Label | Binding::Name | Binding::File) => true,
        (true, Binding::Sentence) | (false, Binding::Name | Binding::File) => {
            is_prose || is_code(&lines, 0.5)
        }
        (false, Binding::Sentence) => is_code(&lines, 0.7),
        (false, _) => is_code(&lines, 0.5),
    };
    let partial = is_partial(&lines, extension.starts_with("py"));
    fits.then_some(FileBody { lines: lines.len() as u32, partial })
}

/// What any text is that is asked for as a whole.
pub(super) fn of_any(body: &str, least: usize) -> Option<FileBody> {
    let lines = filled_lines(body);
    let is_file = weight(&lines) >= least;
    is_file.then_some(FileBody { lines: lines.len() as u32, partial: false })
}

/// What source is whose path nobody says: of a `language` that the fence around it names, or
/// without marks. Changes to some other text are none.
pub(super) fn of_unnamed(body: &str, language: Option<&str>, least: usize) -> Option<FileBody> {
    let lines = filled_lines(body);
    let is_source = match language {
        Some(language) => label::is_prose_language(language) || is_code(&lines, 0.6),
        // A list of names and what they said looks like settings.
        None => {
            is_code(&lines, 0.7) && most(&lines, 0.4, may_be_source) || are_nested_settings(&lines)
        }
    };
    let is_other = || is_log(&lines) || is_table(&lines) || is_json(body);
    let is_file = weight(&lines) >= least
        && is_source
        && !is_other()
        && language.is_none_or(|language| language != "diff" && language != "patch")
        && !lines.iter().any(|line| is_headline(line.trim()))
        && !is_partial(&lines, true);
    is_file.then_some(FileBody { lines: lines.len() as u32, partial: false })
}

/// Whether so long a line is talk: words and little else, of which source has none so long.
fn is_talk(line: &str) -> bool {
    if line.len() < LINE {
        return false;
    }
    let (mut words, mut plain) = (0, 0);
    for word in line.split_whitespace() {
        words += 1;
        let bare =
            word.trim_matches(|c: char| c.is_ascii_punctuation() && !"{}()[]=<>/\\_".contains(c));
        plain += usize::from(bare.chars().all(|c| c.is_alphanumeric() || "'’-".contains(c)));
    }
    words >= LINE / 16 && plain * 10 >= words * 8
}

/// Whether a line begins as one of source, or is one beyond doubt.
pub(super) fn opens_source(line: &str) -> bool {
    const OPENINGS: [&str; 20] = [
        "def ", "class ", "return", "if ", "for ", "while ", "else", "elif ", "fn ", "func ",
        "type ", "struct ", "enum ", "impl ", "* ", "@", "</", "end", "try", "raise ",
    ];
    let line = line.trim();
    if is_talk(line) {
        return false;
    }
    is_source_line(line)
        || OPENINGS.iter().any(|opening| line.starts_with(opening))
        || is_markup(line)
        || line.starts_with('[') && line.ends_with(']') && !line.contains(' ')
}

/// Whether a line may be one of source.
pub(super) fn may_be_source(line: &str) -> bool {
    is_source_line(line) || is_code(&[line], 1.0) && !is_setting(line.trim())
}

/// The lines that are not blank, without the numbers before them where all are numbered.
fn filled_lines(body: &str) -> Vec<&str> {
    let lines: Vec<_> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    let bare: Option<Vec<_>> = lines.iter().map(|line| unnumbered(line)).collect();
    bare.unwrap_or(lines)
}

/// A line without the number and the sign that stand before it.
fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = rest.len() < line.len();
    let rest = rest.trim_start_matches(' ').strip_prefix(['|', ':', '→', '\t']);
    rest.filter(|_| is_number)
}

/// How long a body is, in lines.
fn weight(lines: &[&str]) -> usize {
    lines.iter().map(|line| 1 + line.len() / LINE).sum()
}

fn most(lines: &[&str], share: f64, is_one: impl Fn(&str) -> bool) -> bool {
    let found = lines.iter().filter(|line| is_one(line.trim())).count();
    found as f64 >= lines.len() as f64 * share
}

/// Whether this share of lines is as in source.
fn is_code(lines: &[&str], share: f64) -> bool {
    let is_one = |line: &str| {
        opens_source(line)
            || line.ends_with([')', ']'])
            || line.ends_with(':') && !line.contains(". ")
            || is_setting(line)
    };
    most(lines, share, is_one)
}

/// Whether a line is one of source beyond doubt: a comment, an import, the end of a statement.
pub(super) fn is_source_line(line: &str) -> bool {
    const OPENINGS: [&str; 19] = [
        "import ",
        "from ",
        "use ",
        "pub ",
        "let ",
        "const ",
        "var ",
        "export ",
        "package ",
        "function ",
        "#",
        "//",
        "/*",
        "--",
        ";",
        "require",
        "include",
        "using ",
        "mod ",
    ];
    let line = line.trim();
    if is_talk(line) {
        return false;
    }
    line.ends_with(['{', '}', ';', '(', '[', ','])
        || OPENINGS.iter().any(|opening| line.starts_with(opening))
        || [" = ", " := ", "=> "].iter().any(|sign| line.contains(sign))
}

fn is_markup(line: &str) -> bool {
    line.starts_with('<') && line.ends_with('>')
}

/// Whether a line sets a key, as configuration does.
fn is_setting(line: &str) -> bool {
    let key = line.split(['=', ':']).next().unwrap_or_default();
    key.len() < line.len() && !key.trim().contains(' ') && !key.is_empty()
}

/// Whether a line may be one of settings: a key, an item of a list, or a comment.
pub(super) fn is_of_settings(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(['-', '#']) || is_setting(line)
}

/// Whether lines are settings within settings, which talk never is.
fn are_nested_settings(lines: &[&str]) -> bool {
    let sets_key = |line: &str| is_setting(line.trim_start_matches("- "));
    let nested =
        lines.iter().filter(|line| line.starts_with("  ") || line.starts_with('\t')).count();
    most(lines, 0.8, is_of_settings) && most(lines, 0.5, sets_key) && nested * 3 >= lines.len()
}

/// Whether a program wrote it as it ran.
fn is_log(lines: &[&str]) -> bool {
    let begins = |line: &str| {
        line.starts_with("Traceback (most recent call last)")
            || line.starts_with("=====") && line.contains(" test session starts ")
            || line.starts_with("thread '") && line.contains("panicked at")
            || line.starts_with("running ") && line.contains(" test")
    };
    let early = lines.iter().take(3).any(|line| begins(line.trim()));
    early || most(lines, 0.4, is_logged)
}

/// Whether a line is a headline in what a program prints: words between two rows of signs.
pub(super) fn is_headline(line: &str) -> bool {
    ['=', '_', '-', '*'].iter().any(|&sign| {
        let (head, tail) = (line.trim_start_matches(sign), line.trim_end_matches(sign));
        let least = |rest: &str| line.len() - rest.len() >= 10;
        least(head) && least(tail) && head.starts_with(' ') && tail.ends_with(' ')
    })
}

/// Whether a line begins with a time, a level, a place in a stack or the outcome of a test.
fn is_logged(line: &str) -> bool {
    const LEVELS: [&str; 9] =
        ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "NOTICE"];
    let line = line.trim_start_matches(['[', '(', '<']);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(line);
    let is_date =
        first == 4 && line[first..].starts_with(['-', '/']) && digits(&line[first + 1..]) == 2
            || first == 2 && line[first..].starts_with(':') && digits(&line[first + 1..]) == 2;
    let word = line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let stack = line.starts_with("at ") && line.contains('(')
        || line.starts_with("File \"") && line.contains(", line ");
    let outcome = [" PASSED", " FAILED", " ... ok", " ... FAILED"];
    is_date || stack || LEVELS.contains(&word) || outcome.iter().any(|end| line.contains(end))
}

fn is_json(body: &str) -> bool {
    let body = body.trim();
    body.starts_with(['{', '[']) && json::parse(body).is_ok()
}

/// Whether the lines are rows with the same cells.
fn is_table(lines: &[&str]) -> bool {
    let bars = most(lines, 0.6, |line| line.starts_with('|') && line[1..].contains('|'));
    let rows = |cell: char, least: usize| {
        let cells = |line: &str| line.matches(cell).count();
        let first = lines.first().map_or(0, |line| cells(line));
        first >= least && most(lines, 0.9, |line| cells(line) == first)
    };
    bars || rows('\t', 2) || rows(',', 2) || rows(';', 2)
}

/// Whether lines are left out, or changes are stated.
fn is_partial(lines: &[&str], is_python: bool) -> bool {
    let is_change = |line: &&str| {
        ["@@ ", "<<<<<<< ", ">>>>>>> ", "+++ ", "*** Begin Patch"]
            .iter()
            .any(|mark| line.starts_with(mark))
    };
    lines.iter().any(is_change) || lines.iter().any(|line| leaves_out(line.trim(), is_python))
}

/// Whether a line says that others are left out. In Python three dots are a statement.
fn leaves_out(line: &str, is_python: bool) -> bool {
    const WORDS: [&str; 9] = [
        "existing code",
        "rest of",
        "unchanged",
        "omitted",
        "remains the same",
        "same as before",
        "as before",
        "snip",
        "truncated",
    ];
    let marks = ["#", "//", "/*", "--", "<!--", ";", "%", "{/*"];
    let comment = marks.iter().find_map(|mark| line.strip_prefix(mark));
    let inner = comment.unwrap_or(line).trim_end_matches("*/").trim_end_matches("-->").trim();
    let inner = inner.trim_matches(['[', ']', '(', ')', '<', '>']);
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    let bare = inner.trim_matches(['.', '…', ' ']);
    let words = inner.to_ascii_lowercase();
    let says = WORDS.iter().any(|word| words.contains(word));
    dots(inner) && comment.is_some()
        || dots(inner) && bare.is_empty() && !is_python
        || dots(inner) && says
        || comment.is_some() && says && (words.ends_with("...") || words.ends_with('…'))
}
