//! What a host says of a module that misbehaves, and that none does harm or runs on.
//!
//! Invariant: no test waits for a clock: what never ends is stopped by its fuel.

#![cfg(test)]

use std::path::PathBuf;

use epitome_plugin::host::{HostedPlugin, ModuleLimits, PluginModule};
use epitome_plugin::{DigestInput, PluginInfo, check};
use serde_json::Value;

const TEXT: &str = "thirty bytes of text, and more";

/// The hello of a module that is well-behaved so far.
const HELLO: &str = r#"{\"hello\":{\"protocol\":1,\"name\":\"boxed\",\"version\":\"0\",\"features\":[\"digest\"]}}"#;

/// A good digest.
const GOOD: &str = r#"{\"id\":0,\"ok\":{\"text\":\"[… all is well]\",\"kind\":\"well\"}}"#;

/// A module that says hello, and does this with other calls: `said` stands at 2000 to be answered.
fn module(said: &str, then: &str) -> String {
    let bytes = |text: &str| text.replace("\\\"", "\"").len();
    format!(
        r#"(module
  (memory (export "memory") 2)
  (data (i32.const 0) "{HELLO}")
  (data (i32.const 2000) "{said}")
  (global $calls (mut i32) (i32.const 0))
  (func $hello (result i64) (i64.const {}))
  (func $said (result i64) (i64.const {}))
  (func (export "alloc") (param $len i32) (result i32) (i32.const 32768))
  (func $then (param $at i32) (param $len i32) (result i64) {then})
  (func (export "answer") (param $at i32) (param $len i32) (result i64)
    (if (result i64) (i32.eq (i32.load8_u offset=2 (local.get $at)) (i32.const 104))
      (then (call $hello))
      (else (call $then (local.get $at) (local.get $len))))))"#,
        bytes(HELLO),
        (2000_u64 << 32) | bytes(said) as u64,
    )
}

/// The answer `said`.
fn says(said: &str) -> String {
    module(said, "(call $said)")
}

/// Does this, and would then give a good answer.
fn does(what: &str) -> String {
    module(GOOD, &format!("{what} (call $said)"))
}

/// A module of these parts, with what the host needs of it unless they say otherwise.
fn parts(parts: &[&str]) -> String {
    let all = parts.join(" ");
    let usual = [
        ("\"memory\"", "(memory (export \"memory\") 1)"),
        ("\"alloc\"", "(func (export \"alloc\") (param i32) (result i32) (i32.const 0))"),
        ("\"answer\"", "(func (export \"answer\") (param i32 i32) (result i64) (i64.const 0))"),
    ];
    let missing = usual.iter().filter(|(name, _)| !all.contains(name));
    format!("(module {all} {})", missing.map(|(_, part)| *part).collect::<String>())
}

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
    let huge = format!(
        "{{\\\"id\\\":0,\\\"ok\\\":{{\\\"text\\\":\\\"{}\\\",\\\"kind\\\":\\\"x\\\"}}}}",
        "more ".repeat(5000)
    );
    let deep = format!("{{\\\"id\\\":0,\\\"ok\\\":{}", "[".repeat(20_000));
    let quoted = |json: &str| json.replace('"', "\\\"");
    let cases: Vec<(&str, String)> = vec![
        ("loops for ever", does("(loop $l (br $l))")),
        (
            "loops in what gives room",
            says(GOOD).replace("(i32.const 32768)", "(loop $l (br $l)) (i32.const 32768)"),
        ),
        ("calls itself for ever", module(GOOD, "(call $then (local.get $at) (local.get $len))")),
        (
            "calls itself through a tail",
            module(GOOD, "(return_call $then (local.get $at) (local.get $len))"),
        ),
        ("traps", does("(unreachable)")),
        ("divides by zero", does("(drop (i32.div_u (i32.const 1) (i32.const 0)))")),
        ("reads outside", does("(drop (i32.load (i32.const -4)))")),
        ("writes outside", does("(i32.store (i32.const 131072) (i32.const 1))")),
        (
            "calls what is not there",
            does("(call_indirect (i32.const 7))")
                .replace("(global $calls", "(table 8 funcref) (global $calls"),
        ),
        ("wants all memory at once", does("(drop (memory.grow (i32.const 60000)))")),
        ("takes memory bit by bit", does("(loop $l (drop (memory.grow (i32.const 1))) (br $l))")),
        (
            "fills memory for ever",
            does("(loop $l (memory.fill (i32.const 0) (i32.const 7) (i32.const 100000)) (br $l))"),
        ),
        (
            "wants a large table",
            does("(drop (table.grow 0 (ref.null func) (i32.const 9999999)))")
                .replace("(global $calls", "(table 8 funcref) (global $calls"),
        ),
        (
            "begins with more memory than there is",
            says(GOOD)
                .replace("(memory (export \"memory\") 2)", "(memory (export \"memory\") 200)"),
        ),
        (
            "traps at its start",
            says(GOOD)
                .replace("(func $hello", "(start $bad) (func $bad (unreachable)) (func $hello"),
        ),
        (
            "loops at its start",
            says(GOOD)
                .replace("(func $hello", "(start $bad) (func $bad (loop $l (br $l))) (func $hello"),
        ),
        (
            "gives room outside of its memory",
            says(GOOD).replace("(i32.const 32768)", "(i32.const -8)"),
        ),
        ("answers from outside of its memory", does("(return (i64.const 0x7fffffff_00000010))")),
        ("answers more than there is", does("(return (i64.const 0x00000010_ffffffff))")),
        ("answers a place at the edge", does("(return (i64.const 0xffffffff_ffffffff))")),
        ("answers nothing at all", does("(return (i64.const 0))")),
        ("answers garbage", says("Here you are!")),
        (
            "answers what is not UTF-8",
            says(&quoted(r#"{"id":0,"ok":{"text":"\ff\fe","kind":"x"}}"#)),
        ),
        ("answers half", says(&quoted(r#"{"id":0,"ok":{"te"#))),
        ("answers the depth of the sea", says(&deep)),
        ("answers more than may be", does("(return (i64.const 0x00000000_00018000))")),
        ("answers what is too large", says(&huge)),
        (
            "answers its call",
            module(
                GOOD,
                "(i64.or (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32)) (i64.extend_i32_u (local.get $len)))",
            ),
        ),
        ("answers another call", says(&quoted(r#"{"id":5,"ok":null}"#))),
        ("says hello again", module(GOOD, "(call $hello)")),
        ("speaks another version", says(GOOD).replace("protocol\\\":1", "protocol\\\":7")),
        ("says no hello", says(GOOD).replace("\\\"hello\\\"", "\\\"hallo\\\"")),
        ("answers the wrong shape", says(&quoted(r#"{"id":0,"ok":{"digest":"text"}}"#))),
        ("answers the wrong type", says(&quoted(r#"{"id":0,"ok":{"text":7,"kind":"x"}}"#))),
        (
            "invents a place",
            says(&quoted(r#"{"id":0,"ok":{"text":"text","kind":"x","left":[[5,9999]]}}"#)),
        ),
        ("invents a word", says(&quoted(r#"{"id":0,"ok":{"text":"bytes of gold","kind":"x"}}"#))),
        ("says something empty", says(&quoted(r#"{"id":0,"ok":{"text":" ","kind":"x"}}"#))),
        ("refuses", says(&quoted(r#"{"id":0,"error":"no ticket in the text"}"#))),
        ("has no answer", says(&quoted(r#"{"id":0,"ok":null}"#))),
        ("is well", says(GOOD)),
    ];
    assert!(cases.len() >= 20);
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
