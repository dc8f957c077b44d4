//! Laws of files in the client's folder: what a prompt names is there, and says what left.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use epitome_kernel::{Workspace, WorkspaceError};
use epitome_workspace::Folder;
use regex::Regex;

use super::*;
use crate::session::remove_offloaded;

/// A folder that nothing can be written to.
struct Full;

impl Workspace for Full {
    fn persisted(&self, _path: &str, _bytes: &[u8]) -> bool {
        false
    }

    fn export(&self, path: &str, _bytes: &[u8]) -> Result<(), WorkspaceError> {
        Err(WorkspaceError { path: path.to_owned(), cause: "no space left".to_owned() })
    }
}

fn in_folder(
    journal: &Arc<Memory>,
    limit: u64,
    workspace: impl Workspace + 'static,
    pattern: &str,
) -> Session {
    let mut profile = Profile::default();
    profile.options.cache.read = 0.0;
    profile.redaction = crate::Redaction::new(&[pattern.to_owned()]).unwrap();
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.window(Window::Limit(limit)).clock(|| AT.to_owned());
    builder.workspace(workspace).session(journal.clone(), Some("a"))
}

/// The files that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let path = Regex::new(r"\.epitome/offloaded/[0-9a-f]{8}\.md").unwrap();
    path.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// What the files say that a prompt names.
#[expect(clippy::disallowed_methods, reason = "the client reads these files")]
fn read(folder: &Path, prompt: &Prompt) -> Vec<String> {
    let names = named(&String::from_utf8_lossy(&prompt.bytes));
    names.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect()
}

/// The text of a message, as its client wrote it.
fn text(message: &str) -> String {
    let message: serde_json::Value = serde_json::from_str(message).unwrap();
    message["content"].as_str().unwrap_or_default().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_left_is_in_the_files_that_the_prompt_names(steps in steps(24), limit in 250u64..500) {
        let (journal, folder) = (Arc::new(Memory::new()), tempfile::tempdir().unwrap());
        let workspace = Folder::new(folder.path());
        let mut live = in_folder(&journal, limit, workspace, "[^\\s\\S]");
        let messages = history(&steps);
        let mut last = None;
        for end in requests(&messages) {
            let Ok(prompt) = now(live.send(&body(&messages[..end]))) else { break };
            let files = read(folder.path(), &prompt);
            let sent: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
            let sent: Vec<_> = sent["messages"].as_array().unwrap().iter().collect();
            let texts = messages[..end].iter().map(|message| text(message));
            for text in texts.filter(|text| !text.is_empty()) {
                let is_in = |sent: &str| sent.contains(&text);
                let is_sent = sent.iter().any(|one| one["content"].as_str().is_some_and(is_in));
                prop_assert!(is_sent || files.iter().any(|file| file.contains(&text)), "{text}");
            }
            last = Some((end, prompt));
        }
        // Elsewhere the same names stand in the prompt, so the same files are there.
        let Some((end, prompt)) = last else { return Ok(()) };
        let other = tempfile::tempdir().unwrap();
        let workspace = Folder::new(other.path());
        let mut again = in_folder(&journal, limit, workspace.clone(), "[^\\s\\S]");
        let after = now(again.send(&body(&messages[..end]))).unwrap();
        prop_assert!(after.bytes == prompt.bytes);
        prop_assert_eq!(read(other.path(), &after), read(folder.path(), &prompt));
        prop_assert_eq!(remove_offloaded(&workspace, "b"), Ok(0));
        // A result that was cut again is named anew; what it was named at first is there as well.
        let all = named(&String::from_utf8_lossy(&prompt.bytes)).len();
        let removed = remove_offloaded(&workspace, "a").unwrap();
        prop_assert!(removed >= all as u32, "{} of {}", removed, all);
        prop_assert_eq!(remove_offloaded(&workspace, "a"), Ok(0));
    }

    #[test]
    fn without_room_for_files_it_is_as_without_a_folder(steps in steps(24), limit in 250u64..500) {
        let journals = [Arc::new(Memory::new()), Arc::new(Memory::new())];
        let mut full = in_folder(&journals[0], limit, Full, "[^\\s\\S]");
        let mut plain = session(&journals[1], limit, Some("a"));
        let messages = history(&steps);
        let (mut told, mut left) = (0, false);
        for end in requests(&messages) {
            let request = body(&messages[..end]);
            let (Ok(prompt), Ok(expected)) = (now(full.send(&request)), now(plain.send(&request)))
            else {
                break;
            };
            prop_assert!(prompt.bytes == expected.bytes);
            left |= String::from_utf8_lossy(&prompt.bytes).contains("recall");
            let failed = |event: &&Event| matches!(event.what, Happened::WorkspaceError { .. });
            told += prompt.events.iter().filter(failed).count();
        }
        prop_assert_eq!(told, usize::from(left));
    }
}

#[test]
fn files_hold_nothing_that_is_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(Memory::new());
    let mut live = in_folder(&journal, 400, Folder::new(folder.path()), "sk-[a-z]+");
    let result = format!("begin\nkey sk-abc\n{}end", "word word\n".repeat(100));
    let messages = history(&[Step::Tool(result)]);
    let prompt = now(live.send(&body(&messages))).unwrap();
    let files = read(folder.path(), &prompt);
    let [file] = &files[..] else { panic!("{files:?}") };
    let (heading, text) = file.split_once("\n\n").unwrap();
    assert!(heading.starts_with("# e3 read result, whole (session a, id "), "{heading}");
    assert!(text.starts_with("begin\nkey [redacted]\nword word\n"), "{text}");
    assert!(text.ends_with("word word\nend\n"), "{text}");
    assert!(!String::from_utf8_lossy(&prompt.bytes).contains("sk-abc"));
}
