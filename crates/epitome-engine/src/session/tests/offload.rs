//! Laws of files in the client's folder: what a prompt names is there, and says what left.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use epitome_kernel::{OriginalStore, Workspace, WorkspaceError};
use epitome_workspace::WorkspaceFolder;
use regex::Regex;

use super::*;
use crate::session::remove_offloaded;

/// A folder that nothing can be written to any longer.
#[derive(Clone)]
struct Locked {
    folder: WorkspaceFolder,
    locked: Arc<AtomicBool>,
}

impl Workspace for Locked {
    fn persisted(&self, path: &str, bytes: &[u8]) -> bool {
        self.folder.persisted(path, bytes)
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        self.folder.stamp(path)
    }

    fn export(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        match self.locked.load(Ordering::Relaxed) {
            true => Full.export(path, bytes),
            false => self.folder.export(path, bytes),
        }
    }
}

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
    journal: &Arc<MemoryStore>,
    limit: u64,
    workspace: impl Workspace + 'static,
    pattern: &str,
) -> Session {
    let mut profile = Profile::default();
    profile.options.cache.read = Some(0.0);
    profile.redaction = epitome_config::RedactionPatterns::new(&[pattern.to_owned()]).unwrap();
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.window(WindowSetting::Limit(limit)).clock(|| AT.to_owned());
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

/// Removes all files, the first of those that are named, or writes to it; or does no harm.
fn harmed(folder: &Path, prompt: &Prompt, harm: usize) {
    let first = named(&String::from_utf8_lossy(&prompt.bytes)).into_iter().next();
    let Some(first) = first.map(|name| folder.join(name)) else { return };
    match harm {
        0 => fs::remove_dir_all(folder.join(".epitome")).unwrap(),
        1 => fs::remove_file(first).unwrap(),
        2 => {
            let mut file = fs::OpenOptions::new().append(true).open(first).unwrap();
            file.write_all(b"x").unwrap();
        }
        _ => {}
    }
}

/// The text of a message, as its client wrote it.
fn text(message: &str) -> String {
    let message: serde_json::Value = serde_json::from_str(message).unwrap();
    message["content"].as_str().unwrap_or_default().to_owned()
}

/// What stands in a prompt of `default` where something left and no way back is named: what opens a
/// checkpoint, where there is room and where there is little, and where lines left.
const BARE: [&str; 3] = ["[Earlier conversation, shortened]", "[Shortened]", " lines left out]"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_left_is_in_the_files_that_the_prompt_names(steps in steps(24), limit in 250u64..500) {
        let (journal, folder) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
        let workspace = WorkspaceFolder::new(folder.path());
        let mut live = in_folder(&journal, limit, workspace, "[^\\s\\S]");
        let messages = history(&steps);
        let mut last = None;
        for end in requests(&messages) {
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            let files = read(folder.path(), &prompt);
            let sent: serde_json::Value = serde_json::from_slice(&prompt.bytes).unwrap();
            let sent: Vec<_> = sent["messages"].as_array().unwrap().iter().collect();
            // A client that was never seen to use a tool could open nothing: no file is named.
            let whole = String::from_utf8_lossy(&prompt.bytes);
            let is_bare = BARE.iter().any(|words| whole.contains(words));
            let texts = messages[..end].iter().map(|message| text(message));
            for text in texts.filter(|text| !text.is_empty()) {
                let is_in = |sent: &str| sent.contains(&text);
                let is_sent = sent.iter().any(|one| one["content"].as_str().is_some_and(is_in));
                let is_named = files.iter().any(|file| file.contains(&text));
                prop_assert!(is_sent || is_named || is_bare, "{text}");
            }
            last = Some((end, prompt));
        }
        // Elsewhere the same names stand in the prompt, so the same files are there.
        let Some((end, prompt)) = last else { return Ok(()) };
        let other = tempfile::tempdir().unwrap();
        let workspace = WorkspaceFolder::new(other.path());
        let mut again = in_folder(&journal, limit, workspace.clone(), "[^\\s\\S]");
        let after = now(again.prompt_for(&body(&messages[..end]))).unwrap();
        prop_assert!(after.bytes == prompt.bytes);
        prop_assert_eq!(read(other.path(), &after), read(folder.path(), &prompt));
        prop_assert_eq!(remove_offloaded(&workspace, "b"), Ok(0));
        // A result that was cut again is named anew; what it was named at first is there as well.
        let all = named(&String::from_utf8_lossy(&prompt.bytes)).len();
        let removed = remove_offloaded(&workspace, "a").unwrap();
        prop_assert!(removed >= all as u32, "{} of {}", removed, all);
        prop_assert_eq!(remove_offloaded(&workspace, "a"), Ok(0));
    }

    /// Whatever somebody does to the folder, the next request finds all that it names there, and says
    /// what it would have said.
    #[test]
    fn what_somebody_removed_is_there_again(
        steps in steps(24),
        limit in 250u64..500,
        harms in prop::collection::vec(0usize..5, 24),
    ) {
        let journals = [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())];
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let open = |at: usize| {
            in_folder(&journals[at], limit, WorkspaceFolder::new(folders[at].path()), "[^\\s\\S]")
        };
        let (mut live, mut plain) = (open(0), open(1));
        let messages = history(&steps);
        for (end, harm) in requests(&messages).into_iter().zip(harms) {
            let request = body(&messages[..end]);
            let (Ok(prompt), Ok(expected)) = (now(live.prompt_for(&request)), now(plain.prompt_for(&request)))
            else {
                break;
            };
            prop_assert!(prompt.bytes == expected.bytes);
            prop_assert_eq!(read(folders[0].path(), &prompt), read(folders[1].path(), &expected));
            harmed(folders[0].path(), &prompt, harm);
        }
    }

    /// Where it cannot be there, nothing names it: the journal gives it back.
    #[test]
    fn what_cannot_be_written_again_is_named_by_recall(steps in steps(24), limit in 250u64..500) {
        let (journal, folder) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
        let locked = Arc::new(AtomicBool::new(false));
        let workspace = Locked { folder: WorkspaceFolder::new(folder.path()), locked: locked.clone() };
        let mut live = in_folder(&journal, limit, workspace, "[^\\s\\S]");
        let messages = history(&steps);
        let recalled = Regex::new("epitome recall ([0-9a-f]{8})").unwrap();
        for end in requests(&messages) {
            let Ok(prompt) = now(live.prompt_for(&body(&messages[..end]))) else { break };
            read(folder.path(), &prompt);
            let text = String::from_utf8_lossy(&prompt.bytes);
            for id in recalled.captures_iter(&text) {
                prop_assert!(journal.original(&epitome_config::scope::scope("default"), &id[1]).is_ok(), "{text}");
            }
            if !named(&text).is_empty() {
                locked.store(true, Ordering::Relaxed);
                harmed(folder.path(), &prompt, 0);
            }
        }
    }

    #[test]
    fn without_room_for_files_it_is_as_without_a_folder(steps in steps(24), limit in 250u64..500) {
        let journals = [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())];
        let mut full = in_folder(&journals[0], limit, Full, "[^\\s\\S]");
        let mut plain = session(&journals[1], limit, Some("a"));
        let messages = history(&steps);
        let (mut told, mut left) = (0, false);
        for end in requests(&messages) {
            let request = body(&messages[..end]);
            let (Ok(prompt), Ok(expected)) = (now(full.prompt_for(&request)), now(plain.prompt_for(&request)))
            else {
                break;
            };
            prop_assert!(prompt.bytes == expected.bytes);
            left |= String::from_utf8_lossy(&prompt.bytes).contains("recall");
            let failed = |event: &&Event| matches!(event.what, EventKind::WorkspaceError { .. });
            told += prompt.events.iter().filter(failed).count();
        }
        prop_assert_eq!(told, usize::from(left));
    }
}

#[test]
fn files_hold_nothing_that_is_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(MemoryStore::new());
    let mut live = in_folder(&journal, 400, WorkspaceFolder::new(folder.path()), "sk-[a-z]+");
    let result = format!("begin\nkey sk-abc\n{}end", "word word\n".repeat(100));
    let messages = history(&[Step::Tool(result)]);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let files = read(folder.path(), &prompt);
    let [file] = &files[..] else { panic!("{files:?}") };
    let (heading, text) = file.split_once("\n\n").unwrap();
    assert!(heading.starts_with("# e3 read result, whole (session a, id "), "{heading}");
    assert!(text.starts_with("begin\nkey [redacted]\nword word\n"), "{text}");
    assert!(text.ends_with("word word\nend\n"), "{text}");
    assert!(!String::from_utf8_lossy(&prompt.bytes).contains("sk-abc"));
}

/// What was erased is written nowhere again, and nothing names it; what else was named is there.
#[test]
fn what_was_erased_is_named_no_longer() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = WorkspaceFolder::new(folder.path());
    let journal = Arc::new(MemoryStore::new());
    let mut live = in_folder(&journal, 4000, workspace.clone(), "[^\\s\\S]");
    let result =
        |word: &str| Step::Tool(format!("begin\n{}end", format!("{word} x\n").repeat(900)));
    let messages = history(&[result("one"), result("two")]);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let names = named(&String::from_utf8_lossy(&prompt.bytes));
    assert_eq!(names.len(), 2);
    let scope = epitome_config::scope::scope("default");
    let head = journal.session(&scope, "a").unwrap().head;
    let said = journal.history(&scope, "a", head, 0, 99).unwrap();
    let holds = |said: &&epitome_kernel::MessageRecord| {
        String::from_utf8_lossy(said.bytes.as_deref().unwrap_or_default()).contains("two x")
    };
    journal.erase(&scope, said.iter().find(holds).unwrap().key).unwrap();
    assert_eq!(remove_offloaded(&workspace, "a"), Ok(2));
    let messages = history(&[result("one"), result("two"), Step::Tool("short".to_owned())]);
    let prompt = now(live.prompt_for(&body(&messages))).unwrap();
    let files = read(folder.path(), &prompt);
    assert!(files.len() == 1 && files[0].contains("one x"), "{files:?}");
    let text = String::from_utf8_lossy(&prompt.bytes);
    let id = Regex::new("epitome recall ([0-9a-f]{8})").unwrap();
    assert!(id.captures_iter(&text).all(|id| journal.original(&scope, &id[1]).is_ok()), "{text}");
}
