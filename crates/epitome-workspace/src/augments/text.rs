//! One augment, as its file says it.
//!
//! Invariant: pure; what is not understood is an error with its line, never passed over.

use std::path::{Path, PathBuf};

use super::error::{AugmentError, AugmentFault};

/// The line that begins and ends front matter.
const FENCE: &str = "---";

/// A text that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Augment {
    /// `group/name`.
    pub name: String,
    /// For people: from the front matter, else the first heading, else the name.
    pub title: String,
    /// The file.
    pub path: PathBuf,
    /// The names of those that must be there too, with the lines that say so.
    pub requires: Vec<(String, usize)>,
    /// Whether it is always active.
    pub pinned: bool,
    /// What the agent reads.
    pub text: String,
}

/// What front matter says so far.
#[derive(Default)]
struct Front {
    title: Option<String>,
    requires: Option<Vec<(String, usize)>>,
    pinned: Option<bool>,
}

impl Augment {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// For front matter that is not understood, and where there is no text behind it.
    pub fn read(name: &str, path: &Path, text: &str) -> Result<Self, AugmentError> {
        let at = |line: usize, fault| AugmentError::of(path, Some(line), fault);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text.lines().collect();
        let mut front = Front::default();
        let mut body = 0;
        if lines.first().is_some_and(|line| line.trim_end() == FENCE) {
            let end = lines.iter().skip(1).position(|line| line.trim_end() == FENCE);
            let end = end.ok_or_else(|| at(1, AugmentFault::Open))? + 1;
            front = Front::read(&lines[1..end]).map_err(|(line, fault)| at(line, fault))?;
            body = end + 1;
        }
        let text = lines[body..].join("\n").trim().to_owned();
        if text.is_empty() {
            return Err(at(lines.len().max(1), AugmentFault::Empty));
        }
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
        let title = front.title.or(heading.map(str::to_owned)).unwrap_or_else(|| name.to_owned());
        Ok(Self {
            name: name.to_owned(),
            title,
            path: path.to_owned(),
            requires: front.requires.unwrap_or_default(),
            pinned: front.pinned.unwrap_or_default(),
            text,
        })
    }
}

impl Front {
    /// Reads the lines between the fences; the first of them is line 2.
    fn read(lines: &[&str]) -> Result<Self, (usize, AugmentFault)> {
        let mut front = Self::default();
        let mut in_list = false;
        for (number, line) in (2..).zip(lines) {
            let line = without_comment(line).trim_end();
            if line.trim().is_empty() {
                continue;
            }
            if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| in_list) {
                front.requires.get_or_insert_default().push((named(item, number)?, number));
                continue;
            }
            let value = |found: &str, expected| {
                (number, AugmentFault::Value { found: found.to_owned(), expected })
            };
            let (key, said) =
                line.split_once(':').ok_or_else(|| value(line, "line like `title: …`"))?;
            let (key, said) = (key.trim(), said.trim());
            in_list = key == "requires" && said.is_empty();
            let twice = match key {
                "title" => {
                    let title = unquoted(said);
                    if title.is_empty() {
                        return Err(value(said, "title"));
                    }
                    front.title.replace(title.to_owned()).is_some()
                }
                "pinned" => {
                    let pinned = said.parse().map_err(|_| value(said, "`true` or `false`"))?;
                    front.pinned.replace(pinned).is_some()
                }
                "requires" => front.requires.replace(list(said, number)?).is_some(),
                _ => return Err((number, AugmentFault::Key(key.to_owned()))),
            };
            if twice {
                return Err((number, AugmentFault::Twice(key.to_owned())));
            }
        }
        Ok(front)
    }
}

/// `[a/b, "c/d"]`, or one name.
fn list(said: &str, line: usize) -> Result<Vec<(String, usize)>, (usize, AugmentFault)> {
    let inside = match said.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(|| {
            let expected = "list like `[group/name, group/name]`";
            (line, AugmentFault::Value { found: said.to_owned(), expected })
        })?,
        None => said,
    };
    let items = inside.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Ok((named(item, line)?, line))).collect()
}

/// A name that another file is known by.
fn named(item: &str, line: usize) -> Result<String, (usize, AugmentFault)> {
    let name = unquoted(item.trim());
    let plain = name.split_once('/').is_some_and(|(group, name)| is_plain(group) && is_plain(name));
    match plain {
        true => Ok(name.to_owned()),
        false => {
            let (found, expected) = (name.to_owned(), "name like `group/name`");
            Err((line, AugmentFault::Value { found, expected }))
        }
    }
}

/// Whether a folder or a file of this name can be asked for.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || ['-', '_', '.'].contains(&letter);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

fn unquoted(said: &str) -> &str {
    let inside = |quote| said.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(said)
}

/// A line without what stands behind ` #`, unless that is quoted.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    let quotes = |text: &str| text.matches(['"', '\'']).count();
    let mut marks = line.match_indices(" #").map(|(at, _)| at);
    marks.find(|at| quotes(&line[..*at]).is_multiple_of(2)).map_or(line, |at| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Augment, String> {
        Augment::read("a/b", Path::new("b.md"), text).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(text: &str, title: &str, requires: &[&str], pinned: bool, body: &str) {
        let found = read(text).unwrap();
        let names: Vec<_> = found.requires.iter().map(|(name, _)| name.as_str()).collect();
        let expected = (title, requires.to_vec(), pinned, body);
        assert_eq!((&*found.title, names, found.pinned, &*found.text), expected);
    }

    #[test]
    fn front_matter_says_title_requires_and_pinned() {
        // RULES 40.
        let text = "---\ntitle: \"Small steps: how\" # for people\nrequires: [x/y, 'x/z']\n\
                    pinned: true\n---\n\nStep by step.\n";
        check(text, "Small steps: how", &["x/y", "x/z"], true, "Step by step.");
        let list = "\u{feff}---\r\nrequires:\r\n  - x/y\r\n  # both\r\n  - x/z\r\n---\r\nText.\r\n";
        check(list, "a/b", &["x/y", "x/z"], false, "Text.");
        check("---\nrequires: x/y\n---\nText", "a/b", &["x/y"], false, "Text");
        let lines = read("---\nrequires:\n- x/y\n\n- x/z\n---\nT").unwrap().requires;
        assert_eq!(lines, [("x/y".to_owned(), 3), ("x/z".to_owned(), 5)]);
    }

    #[test]
    fn without_it_the_heading_is_the_title() {
        check(
            "Intro\n\n# Tests first \n\nMore",
            "Tests first",
            &[],
            false,
            "Intro\n\n# Tests first \n\nMore",
        );
        check("No heading\n\n---\n\nrule", "a/b", &[], false, "No heading\n\n---\n\nrule");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (
                "---\ntitle: x\n",
                "b.md:1: the front matter does not end; close it with a line `---`",
            ),
            ("---\nrequire: x/y\n---\nT", "b.md:2: the key `require` means nothing; known are"),
            ("---\ntitle: x\ntitle: y\n---\nT", "b.md:3: `title` is said twice; keep one"),
            ("---\n\npinned: yes\n---\nT", "b.md:3: `yes` is no `true` or `false`"),
            ("---\nrequires: [x/y\n---\nT", "b.md:2: `[x/y` is no list like `[group/name,"),
            ("---\nrequires: [x]\n---\nT", "b.md:2: `x` is no name like `group/name`"),
            ("---\nrequires: [x/*]\n---\nT", "b.md:2: `x/*` is no name like `group/name`"),
            ("---\nrequires: [../../x]\n---\nT", "b.md:2: `../../x` is no name like `group/name`"),
            ("---\n- x\n---\nT", "b.md:2: `- x` is no line like `title: …`"),
            ("---\ntitle: x\n---\n \n", "b.md:4: holds no text; write what the agent should know"),
            ("", "b.md:1: holds no text; write what the agent should know"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(expected), "{text:?}: {found}");
        }
    }
}
