//! Modules of WebAssembly in the text format that do everything that a plugin should not, and one that is
//! well-behaved.
//!
//! Invariant: each ends, or is stopped by its fuel at the same step on every machine.

/// The hello of a module that is well-behaved so far.
const HELLO: &str = r#"{\"hello\":{\"protocol\":1,\"name\":\"boxed\",\"version\":\"0\",\"features\":[\"digest\"]}}"#;

/// A good digest.
pub const GOOD: &str = r#"{\"id\":0,\"ok\":{\"text\":\"[… all is well]\",\"kind\":\"well\"}}"#;

/// A module that says hello, and does this with other calls: `said` stands at 2000 to be answered.
pub fn module(said: &str, then: &str) -> String {
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
pub fn says(said: &str) -> String {
    module(said, "(call $said)")
}

/// Does this, and would then give a good answer.
pub fn does(what: &str) -> String {
    module(GOOD, &format!("{what} (call $said)"))
}

/// A module of these parts, with what the host needs of it unless they say otherwise.
pub fn parts(parts: &[&str]) -> String {
    let all = parts.join(" ");
    let usual = [
        ("\"memory\"", "(memory (export \"memory\") 1)"),
        ("\"alloc\"", "(func (export \"alloc\") (param i32) (result i32) (i32.const 0))"),
        ("\"answer\"", "(func (export \"answer\") (param i32 i32) (result i64) (i64.const 0))"),
    ];
    let missing = usual.iter().filter(|(name, _)| !all.contains(name));
    format!("(module {all} {})", missing.map(|(_, part)| *part).collect::<String>())
}

/// What modules do that fail where they run: a name, and the module.
fn run_wrong() -> Vec<(&'static str, String)> {
    vec![
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
    ]
}

/// What modules answer.
fn answer_wrong() -> Vec<(&'static str, String)> {
    let huge = format!(
        "{{\\\"id\\\":0,\\\"ok\\\":{{\\\"text\\\":\\\"{}\\\",\\\"kind\\\":\\\"x\\\"}}}}",
        "more ".repeat(5000)
    );
    let deep = format!("{{\\\"id\\\":0,\\\"ok\\\":{}", "[".repeat(20_000));
    let quoted = |json: &str| json.replace('"', "\\\"");
    vec![
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
    ]
}

/// A name for what a module does, and the module: first those that are at fault.
#[must_use]
pub fn hostile_modules() -> Vec<(&'static str, String)> {
    run_wrong().into_iter().chain(answer_wrong()).collect()
}
