//! The pages of the manual, found in the tree: every command and snippet on them is run or checked.
//!
//! Invariant: a new page is found without a line here. Pages of `examples` run in their own folders
//! (`tutorial`); prompts of policies are no pages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::program::{read_file, write_file};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Folders without pages of the manual.
const LEFT_OUT: [&str; 3] = ["examples", "prompts", "target"];

/// One page of the manual.
pub(crate) struct ManualPage {
    /// From the top of the tree, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl ManualPage {
    /// The fenced blocks whose opening line is exactly this, such as `sh tutorial`.
    pub(crate) fn blocks<'t>(&'t self, info: &str) -> Vec<&'t str> {
        fenced(&self.text, info)
    }

    pub(crate) fn write(&self, text: &str) {
        write_file(Path::new(ROOT).join(&self.path), text).unwrap();
    }
}

/// The fenced blocks of a text whose opening line is exactly this.
pub(crate) fn fenced<'t>(text: &'t str, info: &str) -> Vec<&'t str> {
    let opening = format!("```{info}\n");
    text.split(&*opening).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Every page, by path.
pub(crate) fn pages() -> Vec<ManualPage> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(Path::new(ROOT).join(&folder)).unwrap() {
            let item = item.unwrap();
            let name = item.file_name().into_string().unwrap();
            let path = folder.join(&name);
            if item.file_type().unwrap().is_dir() {
                if !name.starts_with('.') && !LEFT_OUT.contains(&&*name) {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                let text = String::from_utf8(read_file(item.path()).unwrap()).unwrap();
                found.insert(path.to_str().unwrap().replace('\\', "/"), text);
            }
        }
    }
    found.into_iter().map(|(path, text)| ManualPage { path, text }).collect()
}

/// All blocks of all pages whose opening line is exactly this.
pub(crate) fn all_blocks(info: &str) -> Vec<String> {
    pages().iter().flat_map(|page| page.blocks(info)).map(str::to_owned).collect()
}

/// The commands of the one block of the manual that is opened so.
pub(crate) fn block_commands(info: &str) -> Vec<String> {
    let blocks = all_blocks(info);
    assert_eq!(blocks.len(), 1, "blocks of `{info}`: {blocks:?}");
    blocks[0].lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_pages_are_found_and_no_others() {
    let paths: Vec<_> = pages().into_iter().map(|page| page.path).collect();
    for path in ["README.md", "CONTRIBUTING.md", "policies/HOOKS.md", "plugins/README.md"] {
        assert!(paths.iter().any(|found| found == path), "{path}: {paths:?}");
    }
    let strange = |path: &&String| path.contains("prompts/") || path.starts_with("target/");
    assert_eq!(paths.iter().find(strange), None);
}

/// The facade's doctests compile the Rust of every page.
#[test]
fn the_rust_of_each_page_is_a_doctest() {
    let facade = read_file(format!("{ROOT}/crates/epitome/src/lib.rs")).unwrap();
    let facade = String::from_utf8(facade).unwrap();
    let with_rust = |page: &ManualPage| {
        let mut lines = page.text.lines().skip_while(|line| !line.starts_with("```rust"));
        lines.next().is_some()
    };
    let pages: Vec<_> = pages().into_iter().filter(with_rust).map(|page| page.path).collect();
    assert!(pages.contains(&"README.md".to_owned()), "{pages:?}");
    for page in pages {
        let included = format!("include_str!(\"../../../{page}\")");
        assert!(facade.contains(&included), "crates/epitome/src/lib.rs lacks {included}");
    }
}

/// The front page is read in three minutes: few lines, short sentences.
#[test]
fn the_front_page_is_short() {
    let front = pages().into_iter().find(|page| page.path == "README.md").unwrap();
    assert!(front.text.lines().count() <= 200, "{} lines", front.text.lines().count());
    let long = |sentence: &String| sentence.split_whitespace().count() > 30;
    assert_eq!(sentences(&front.text).into_iter().find(long), None);
    assert_eq!(sentences("A b.\n\n```sh\nc d. e\n```\nF\ng: h. I"), ["A b.", "F g:", "h.", "I"]);
}

/// The sentences of a page, without code blocks and tables.
fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut fenced = false;
    for line in text.lines() {
        let fence = line.starts_with("```");
        fenced ^= fence;
        let apart = line.is_empty() || line.starts_with(['|', '#', '<']) || line.starts_with("- ");
        if fence || fenced || apart {
            found.push(String::new());
        }
        if fence || fenced || line.starts_with(['|', '#', '<']) {
            continue;
        }
        for word in line.split_whitespace().filter(|word| *word != "-") {
            let open = found.last_mut().unwrap();
            let space = if open.is_empty() { "" } else { " " };
            open.push_str(&format!("{space}{word}"));
            if word.trim_end_matches(['*', ')']).ends_with(['.', ':', '?', '!']) {
                found.push(String::new());
            }
        }
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}
