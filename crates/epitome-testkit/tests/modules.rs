//! What a host says of a module that misbehaves, and that none does harm or runs on.
//!
//! Invariant: no test waits for a clock: what never ends is stopped by its fuel.

#![cfg(test)]

use std::path::PathBuf;

use epitome_plugin::host::{HostedPlugin, ModuleLimits, PluginModule};
use epitome_plugin::{DigestInput, PluginInfo, check};
use epitome_testkit::module::{GOOD, does, hostile_modules, parts, says};
use serde_json::Value;

const TEXT: &str = "thirty bytes of text, and more";

struct Place(tempfile::TempDir);

impl Place {
    #[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn limits() -> ModuleLimits {
    ModuleLimits { fuel: 3_000_000, memory: 4 << 20, answer: 1 << 16, ..ModuleLimits::default() }
}

fn plugin(file: PathBuf) -> PluginModule {
    let about = PluginInfo::new("boxed", "0").with_digest().with_hook("trigger");
    PluginModule::new(about, file, limits())
}

fn loaded(name: &str, bytes: &[u8]) -> PluginModule {
    let place = Place(tempfile::tempdir().unwrap());
    let plugin = plugin(place.file(name, bytes));
    // It is read once, with its first call; what is wrong with it stays.
    plugin.hello().ok();
    plugin
}

fn ask(plugin: &PluginModule) -> String {
    let size = |text: &str| text.len() as u64;
    match check::digest(plugin, &DigestInput::new(TEXT, 20, &size)) {
        Ok(None) => "nothing".to_owned(),
        Ok(Some(digested)) => digested.text,
        Err(failed) => failed.to_string(),
    }
}

/// What is wrong with modules that are not loaded at all.
#[test]
fn what_is_no_module_that_may_run_is_told_why() {
    let binary = |module: &str| wat::parse_str(module).unwrap();
    let good = binary(&says(GOOD));
    let cut = &good[..good.len() / 2];
    let import = r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#;
    let many = "(func)".repeat(20_000);
    let deep = "(block ".repeat(200_000) + &")".repeat(200_000);
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("an empty file", "a.wasm", Vec::new()),
        ("an empty text", "a.wat", Vec::new()),
        ("garbage", "a.wasm", b"<html>404</html>".to_vec()),
        ("garbage behind the magic", "a.wasm", [&good[..8], &[0xff; 300]].concat()),
        ("only the magic", "a.wasm", good[..4].to_vec()),
        ("a file that was cut", "a.wasm", cut.to_vec()),
        ("another version", "a.wasm", [&good[..4], &[9, 0, 0, 0], &good[8..]].concat()),
        ("a text that is binary", "a.wat", vec![0xfe; 100]),
        ("a text in the place of a binary", "a.wasm", says(GOOD).into_bytes()),
        ("an import", "a.wat", parts(&[import]).into_bytes()),
        (
            "an imported memory",
            "a.wat",
            parts(&["(import \"env\" \"memory\" (memory 1))"]).into_bytes(),
        ),
        ("no export", "a.wat", b"(module)".to_vec()),
        ("no memory", "a.wasm", binary(&parts(&["(func (export \"memory\"))"]))),
        (
            "a memory of 64 bits",
            "a.wat",
            parts(&["(memory (export \"memory\") i64 1)"]).into_bytes(),
        ),
        (
            "an export of the wrong type",
            "a.wat",
            parts(&["(func (export \"alloc\"))"]).into_bytes(),
        ),
        (
            "an export that is no function",
            "a.wat",
            parts(&["(global (export \"answer\") i32 (i32.const 0))"]).into_bytes(),
        ),
        ("what does not type-check", "a.wat", parts(&["(func (i32.add))"]).into_bytes()),
        ("too many functions", "a.wasm", binary(&parts(&[&many]))),
        ("blocks in blocks", "a.wat", parts(&[&format!("(func {deep})")]).into_bytes()),
        ("a large file", "a.wasm", [&good[..], &vec![0; 9 << 20]].concat()),
    ];
    let said = cases.into_iter().map(|(what, name, bytes)| {
        let error = loaded(name, &bytes).hello();
        let place = Place(tempfile::tempdir().unwrap());
        let first = plugin(place.file(name, &bytes)).hello().unwrap_err();
        assert!(error.unwrap_err().to_string().contains("it is off"), "{what}");
        format!("{what}:\n  {first}\n")
    });
    let said = said.collect::<String>();
    let gone = plugin(PathBuf::from("/nowhere/at/all.wasm")).hello().unwrap_err();
    let folder = plugin(PathBuf::from(env!("CARGO_MANIFEST_DIR"))).hello().unwrap_err();
    insta::assert_snapshot!(format!("{said}no file:\n  {gone}\na folder:\n  {folder}"));
}

/// What modules do when they are asked.
#[test]
fn every_fault_ends_within_its_bounds_and_is_told() {
    let cases = hostile_modules();
    assert!(cases.len() >= 20, "{}", cases.len());
    let said = cases.into_iter().map(|(what, text)| format!("{what}:\n  {}\n", ask(&fresh(&text))));
    insta::assert_snapshot!(said.collect::<String>());
}

/// A module in the text format, which was not asked yet.
fn fresh(text: &str) -> PluginModule {
    let place = Place(tempfile::tempdir().unwrap());
    let file = place.file("plugin.wat", text.as_bytes());
    let plugin = plugin(file);
    // So that its file may go.
    plugin.hello().ok();
    match plugin.hello() {
        Ok(_) => plugin,
        // It is off by now, and one that is asked first says why.
        Err(_) => {
            let again = self::plugin(place.file("plugin.wat", text.as_bytes()));
            let _kept = place.0.keep();
            again
        }
    }
}

#[test]
fn nothing_is_left_of_one_call_for_the_next() {
    let counts = "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (if (i32.gt_u (global.get $calls) (i32.const 1)) (then (unreachable)))
        (if (i32.load (i32.const 5000)) (then (unreachable)))
        (i32.store (i32.const 5000) (i32.const 1))";
    let plugin = fresh(&does(counts));
    for _ in 0..3 {
        assert_eq!(ask(&plugin), "[… all is well]");
    }
}

#[test]
fn the_same_call_ends_at_the_same_step() {
    // About as many steps as there are, so that a host that counts otherwise would be found out.
    let loops = |times: u32| {
        let body = format!(
            "(local $i i32) (loop $l (local.set $i (i32.add (local.get $i) (i32.const 1))) \
             (br_if $l (i32.lt_u (local.get $i) (i32.const {times}))))"
        );
        ask(&fresh(&does(&body)))
    };
    let most = (1..25)
        .map(|power| 1 << power)
        .take_while(|times| loops(*times).starts_with('['))
        .last()
        .unwrap();
    assert!((200_000..3_000_000).contains(&most), "{most}");
    assert_eq!(loops(most), loops(most));
}

#[test]
fn one_that_fails_too_often_stays_off_and_one_that_answers_is_forgiven() {
    let plugin = fresh(&does("(unreachable)"));
    let said: Vec<String> = (0..5).map(|_| ask(&plugin)).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_hook_that_the_module_does_not_name_is_not_asked() {
    let plugin = fresh(&says(GOOD));
    let error = plugin.try_hook("trigger", &Value::Null, &Value::Null).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin `boxed`, trigger: its hello does not name trigger; its `plugin.toml` says more than \
         it does; it goes on"
    );
    assert_eq!(ask(&plugin), "[… all is well]");
}

#[test]
fn calls_of_many_threads_run_beside_each_other() {
    let plugin = fresh(&says(GOOD));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(ask(&plugin), "[… all is well]")));
        }
    });
}
