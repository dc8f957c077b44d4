//! Policies whose files change while they are asked.
#![expect(clippy::disallowed_methods, reason = "tests write the files that they change")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome_kernel::{Policy, PolicyChain};
use epitome_lua::{FoundPolicy, LuaPolicy, PolicyReload, PolicySource, PolicyWatch};
use epitome_types::hook::*;
use serde_json::Map;

use crate::support::*;

/// A policy in a folder of its own, with a library.
struct Folder {
    top: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { top: tempfile::tempdir().unwrap() };
        for sub in ["one/tests", "lib"] {
            fs::create_dir_all(folder.top.path().join(sub)).unwrap();
        }
        folder.write("lib/figures.lua", "return { soft = 1 }");
        folder.write("one/policy.lua", POLICY);
        folder
    }

    fn path(&self, file: &str) -> PathBuf {
        self.top.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    fn open(&self) -> Arc<LuaPolicy> {
        let found = FoundPolicy {
            name: "one".to_owned(),
            files: PolicySource::Folder(self.path("one")),
            libraries: vec![PolicySource::Folder(self.path("lib"))],
        };
        Arc::new(LuaPolicy::open(&patient(), &found, &counter(), &Map::new()).unwrap())
    }
}

const POLICY: &str = "--- @api 2
local figures = require('figures')
return { budgets = function(job) return { soft = figures.soft } end }
";

fn soft(policy: &Arc<LuaPolicy>) -> Option<u64> {
    let chain = PolicyChain::new(vec![Arc::clone(policy) as Arc<dyn Policy>], Default::default());
    chain.ask().budgets(&BudgetsJob { common: Common::default() }).unwrap()?.soft
}

fn watched(policy: &Arc<LuaPolicy>) -> (PolicyWatch, Receiver<PolicyReload>) {
    let (told, events) = channel();
    let watch =
        PolicyWatch::start(vec![Arc::clone(policy)], move |event| told.send(event).unwrap());
    (watch.unwrap(), events)
}

#[track_caller]
fn check(events: &Receiver<PolicyReload>, generation: u64, error: Option<&str>) {
    let event = events.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!((event.policy.as_str(), event.generation), ("one", generation));
    assert_eq!(event.error.as_deref(), error);
}

#[test]
fn changes_are_taken_up_and_mistakes_are_not() {
    let folder = Folder::new();
    let policy = folder.open();
    let (_watch, events) = watched(&policy);

    folder.write("one/policy.lua", &POLICY.replace("figures.soft", "figures.soft + 1"));
    check(&events, 2, None);
    assert_eq!(soft(&policy), Some(2));

    folder.write("one/policy.lua", "--- @api 2\nreturn {");
    check(
        &events,
        2,
        Some("one: policy.lua:2: Expected identifier when parsing expression, got <eof>"),
    );
    assert_eq!(soft(&policy), Some(2));

    // A file that `require` finds counts as well, also while the policy is broken.
    folder.write("one/policy.lua", POLICY);
    check(&events, 3, None);
    folder.write("lib/figures.lua", "return { soft = 5 }");
    check(&events, 4, None);
    assert_eq!(soft(&policy), Some(5));

    fs::remove_file(folder.path("lib/figures.lua")).unwrap();
    check(
        &events,
        4,
        Some(
            "one: policy.lua:2: there is no module `figures`: neither the policy's folder nor \
             `lib` has a `figures.lua`",
        ),
    );
    assert_eq!(soft(&policy), Some(5));
    folder.write("lib/figures.lua", "return { soft = 5 }");
    check(&events, 4, None);
}

#[test]
fn a_change_that_fails_the_tests_is_not_taken_up() {
    let folder = Folder::new();
    folder.write(
        "one/tests/soft.lua",
        "return { test = function(t) t.eq(t.hook('budgets').soft, 1) end }",
    );
    let policy = folder.open();
    folder.write("lib/figures.lua", "return { soft = 2 }");
    let error = policy.reload().unwrap_err().to_string();
    assert_eq!(error, "one: its test fails: tests/soft.lua:1: expected 1, found 2");
    assert_eq!((soft(&policy), policy.current().1), (Some(1), 1));
}

#[test]
fn a_folder_that_is_replaced_is_still_watched() {
    let folder = Folder::new();
    let policy = folder.open();
    let (_watch, events) = watched(&policy);
    let replace = |text: &str| {
        let new = folder.path("new");
        fs::create_dir(&new).unwrap();
        fs::write(new.join("policy.lua"), text).unwrap();
        fs::remove_dir_all(folder.path("one")).unwrap();
        fs::rename(new, folder.path("one")).unwrap();
    };
    replace(&POLICY.replace("figures.soft", "7"));
    check(&events, 2, None);
    replace(&POLICY.replace("figures.soft", "8"));
    check(&events, 3, None);
    folder.write("one/policy.lua", &POLICY.replace("figures.soft", "9"));
    check(&events, 4, None);
    assert_eq!(soft(&policy), Some(9));
}

#[test]
fn a_watch_ends_with_its_value() {
    let folder = Folder::new();
    let policy = folder.open();
    let (watch, events) = watched(&policy);
    drop(watch);
    // The sender goes with the thread.
    assert!(events.recv_timeout(Duration::from_secs(60)).is_err());
}

/// Resident memory of this process, in KiB.
fn resident() -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Set where a test has its process to itself.
const ALONE: &str = "EPITOME_TEST_ALONE";

/// Whether nothing runs beside this test. If not, it is run so, in a process of its own.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let done = own.args(["--exact", test]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A thousand reloads while fifty sessions ask: none is left without an answer, and each gets one
/// that some generation gives.
#[test]
fn reloads_lose_no_call_and_keep_memory_flat() {
    const RELOADS: u64 = 1000;
    if !is_alone("reload::reloads_lose_no_call_and_keep_memory_flat") {
        return;
    }
    let folder = Folder::new();
    let policy = folder.open();
    let ended = AtomicBool::new(false);
    let newest = AtomicU64::new(1);
    let asked = AtomicU64::new(0);
    let memory = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let least = newest.load(Ordering::SeqCst);
                    let answered = soft(&policy).expect("every call is answered");
                    assert!(answered >= least, "{answered} is older than {least}");
                    asked.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        for round in 2..=RELOADS + 1 {
            folder.write("lib/figures.lua", &format!("return {{ soft = {round} }}"));
            assert!(policy.reload().unwrap());
            newest.store(round, Ordering::SeqCst);
            if round % 100 == 0 {
                memory.lock().unwrap().extend(resident());
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(policy.current().1, RELOADS + 1);
    assert!(asked.into_inner() > 50);
    let memory = memory.into_inner().unwrap();
    if let (Some(first), Some(last)) = (memory.first(), memory.last()) {
        assert!(*last < first * 2, "{memory:?} KiB");
    }
}
