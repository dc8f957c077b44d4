//! Two thousand lines of a test run with three failures, as each runner prints them: the failures
//! stay word for word with their traces.
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use epitome_digest_logs::LogDigester;
use epitome_plugin::{DigestInput, check};

/// The tests that fail, by their numbers.
const FAILING: [usize; 3] = [311, 907, 1650];

/// A run as its runner prints it, and what of it must stay, each piece whole.
#[derive(Default)]
struct Run {
    lines: Vec<String>,
    keeps: Vec<String>,
}

impl Run {
    fn say(&mut self, lines: &str) {
        self.lines.extend(lines.split('\n').map(str::to_owned));
    }

    /// Says what must stay.
    fn keep(&mut self, lines: &str) {
        self.say(lines);
        self.keeps.push(lines.to_owned());
    }
}

/// About what a text takes of a model's window.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

/// The name of a test: two thousand words that are all different.
fn name(n: usize) -> String {
    const VERBS: [&str; 8] =
        ["reads", "writes", "keeps", "drops", "splits", "merges", "counts", "orders"];
    const NOUNS: [&str; 9] = [
        "empty_input",
        "errors",
        "names",
        "lists",
        "timeouts",
        "records",
        "failures",
        "locks",
        "bytes",
    ];
    format!("{}_{}_{}", VERBS[n % 8], NOUNS[n / 8 % 9], n / 72)
}

fn module(n: usize) -> &'static str {
    ["parser", "lexer", "store", "journal", "wire", "count", "plan", "view"][n % 8]
}

fn check(runner: &str, run: &Run) {
    let text = run.lines.join("\n");
    assert!(run.lines.len() >= 1900, "{runner}: {}", run.lines.len());
    // As it is asked for of a result that arrives: half of it, and little of a large one.
    let size = tokens(&text);
    let most = if size > 15_000 { 1000 } else { size / 2 };
    let job = DigestInput::new(&text, most, &tokens).of("Bash", r#"{"command":"run the tests"}"#);
    let digested = check::digest(&LogDigester, &job).unwrap().unwrap_or_else(|| panic!("{runner}"));
    assert_eq!(check::digest(&LogDigester, &job).unwrap().as_ref(), Some(&digested));
    let said = &digested.text;
    let saved = 1.0 - tokens(said) as f64 / size as f64;
    assert!(saved >= 0.95, "{runner} {saved}: {said}");
    for keep in &run.keeps {
        assert!(said.contains(keep.as_str()), "{runner} lost:\n{keep}\nin:\n{said}");
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let shown = line.trim().is_empty() || said.contains(line.trim_end());
        let left = digested.left.iter().any(|left| left.start <= at && at < left.end);
        assert!(shown || left, "{runner}: {line}");
        at += line.len();
    }
}

#[test]
fn cargo_test() {
    let mut run = Run::default();
    run.say("   Compiling store v0.3.1 (/src/store)\n     Running unittests src/lib.rs\n\nrunning 1950 tests");
    let test = |n: usize| format!("{}::tests::{}", module(n), name(n));
    for n in 0..1950 {
        match n {
            _ if FAILING.contains(&n) => run.keep(&format!("test {} ... FAILED", test(n))),
            _ if n % 97 == 0 => run.say(&format!("test {} ... ignored", test(n))),
            _ => run.say(&format!("test {} ... ok", test(n))),
        }
    }
    run.say("\nfailures:\n");
    for n in FAILING {
        run.keep(&format!(
            "---- {test} stdout ----

thread '{test}' (8{n}) panicked at src/{module}.rs:{n}:9:
assertion `left == right` failed: after a restart
  left: Some(Entry {{ id: {n}, text: \"old\" }})
 right: None
stack backtrace:
   0: __rustc::rust_begin_unwind
   1: store::{test}
             at ./src/{module}.rs:{n}:9
note: run with `RUST_BACKTRACE=full` for a verbose backtrace.",
            test = test(n),
            module = module(n),
        ));
        run.say("");
    }
    run.say("\nfailures:");
    FAILING.iter().for_each(|n| run.keep(&format!("    {}", test(*n))));
    run.say("");
    run.keep(
        "test result: FAILED. 1926 passed; 3 failed; 21 ignored; 0 measured; finished in 8.41s",
    );
    run.keep("error: test failed, to rerun pass `--lib`");
    check("cargo test", &run);
}

#[test]
fn cargo_nextest() {
    let mut run = Run::default();
    run.say(" Nextest run ID 5e0d with nextest profile: default\n    Starting 1960 tests across 12 binaries");
    for n in 0..1960 {
        let test = format!("store {}::tests::{}", module(n), name(n));
        if FAILING.contains(&n) {
            run.keep(&format!("        FAIL [   0.0{}s] {test}", n % 90 + 10));
            run.say("  stdout ───\n\n    running 1 test");
            run.keep(&format!(
                "    thread '{test}' panicked at src/{}.rs:{n}:9:
    assertion `left == right` failed
      left: {n}
     right: {}",
                module(n),
                n + 1
            ));
            run.say("");
        } else {
            run.say(&format!("        PASS [   0.0{}s] {test}", n % 90 + 10));
        }
    }
    run.say("────────────");
    run.keep("     Summary [  12.301s] 1960 tests run: 1957 passed, 3 failed, 0 skipped");
    run.keep("error: test run failed");
    check("cargo nextest", &run);
}

#[test]
fn pytest() {
    let mut run = Run::default();
    run.keep(&format!("{} test session starts {}", "=".repeat(28), "=".repeat(29)));
    run.say(
        "platform linux -- Python 3.11.7, pytest-8.3.3\nrootdir: /src/shop\ncollected 1900 items\n",
    );
    let test = |n: usize| {
        format!("tests/test_{}.py::Test{}::test_{}", module(n), module(n).to_uppercase(), name(n))
    };
    for n in 0..1900 {
        let verdict = match n {
            _ if FAILING.contains(&n) => "FAILED",
            _ if n % 301 == 5 => "SKIPPED (needs a network)",
            _ => "PASSED",
        };
        let line = format!("{} {verdict} [{:3}%]", test(n), n * 100 / 1900);
        if verdict == "FAILED" { run.keep(&line) } else { run.say(&line) }
    }
    run.say(&format!("\n{} FAILURES {}", "=".repeat(35), "=".repeat(35)));
    for n in FAILING {
        run.keep(&format!(
            "{line} Test{class}.test_{name} {line}

self = <tests.test_{module}.Test{class} object at 0x7f3a5c000{n}>

    def test_{name}(self):
        cart = Cart(limit={n})
>       assert cart.total() == {n}.00
E       AssertionError: assert Decimal('{n}.50') == {n}.0
E        +  where Decimal('{n}.50') = total()

tests/test_{module}.py:{n}: AssertionError
{dashes} Captured stdout call {dashes}
loading rates for {n}",
            line = "_".repeat(20),
            class = module(n).to_uppercase(),
            name = name(n),
            module = module(n),
            dashes = "-".repeat(29),
        ));
    }
    run.say(&format!("{} short test summary info {}", "=".repeat(27), "=".repeat(28)));
    for n in FAILING {
        run.keep(&format!("FAILED {} - AssertionError: assert Decimal('{n}.50')", test(n)));
    }
    run.keep("=================== 3 failed, 1890 passed, 7 skipped in 41.20s ===================");
    check("pytest", &run);
}

#[test]
fn jest() {
    let mut run = Run::default();
    let mut failures = 0;
    for suite in 0..100 {
        let tests = suite * 18..suite * 18 + 18;
        let failing: Vec<usize> = FAILING.into_iter().filter(|n| tests.contains(n)).collect();
        let file = format!("src/{}/suite_{suite}.test.ts", module(suite));
        match failing.is_empty() {
            true => run.say(&format!("PASS {file} (1.{suite} s)")),
            false => run.keep(&format!("FAIL {file}")),
        }
        run.say(&format!("  suite {suite}"));
        for n in tests {
            let line = format!("{} ({} ms)", name(n).replace('_', " "), n % 40 + 1);
            match failing.contains(&n) {
                true => run.keep(&format!("    ✕ {line}")),
                false => run.say(&format!("    ✓ {line}")),
            }
        }
        run.say("");
        for n in failing {
            failures += 1;
            run.keep(&format!(
                "  ● suite {suite} › {name}

    expect(received).toEqual(expected) // deep equality

    - Expected  - 1
    + Received  + 1

      Object {{
    -   \"count\": {n},
    +   \"count\": {more},
      }}

      51 |     const cart = await load('{name}');
    > 52 |     expect(cart.summary()).toEqual({{ count: {n} }});
         |                            ^
      53 |   }});

      at Object.<anonymous> ({file}:52:28)",
                name = name(n).replace('_', " "),
                more = n + 1,
            ));
            run.say("");
        }
    }
    assert_eq!(failures, 3);
    run.keep("Test Suites: 3 failed, 97 passed, 100 total");
    run.keep("Tests:       3 failed, 1797 passed, 1800 total");
    run.say("Time:        23.118 s\nRan all test suites.");
    check("jest", &run);
}

#[test]
fn go_test() {
    let mut run = Run::default();
    for n in 0..1000 {
        let test = format!("Test{}{}", name(n).replace('_', "").to_uppercase(), module(n));
        run.say(&format!("=== RUN   {test}"));
        if [155, 480, 901].contains(&n) {
            run.keep(&format!(
                "    {module}_test.go:{n}: loading {n} entries
    {module}_test.go:{n}: Restore({n}) mismatch (-want +got):
          store.Entry{{
        - \tID: {n},
        + \tID: {more},
          }}
--- FAIL: {test} (0.02s)",
                module = module(n),
                more = n + 1,
            ));
        } else {
            run.say(&format!("--- PASS: {test} (0.0{}s)", n % 9));
        }
    }
    run.say("FAIL");
    run.keep("FAIL\texample.com/store\t3.412s");
    run.say("ok  \texample.com/store/wire\t0.021s\nFAIL");
    check("go test", &run);
}

#[test]
fn unittest_of_python() {
    let mut run = Run::default();
    let test =
        |n: usize| format!("test_{} (tests.test_{}.TestIt.test_{})", name(n), module(n), name(n));
    for n in 0..1950 {
        match FAILING.contains(&n) {
            true => run.keep(&format!("{} ... FAIL", test(n))),
            false => run.say(&format!("{} ... ok", test(n))),
        }
    }
    for n in FAILING {
        run.say(&format!("\n{}", "=".repeat(70)));
        run.keep(&format!(
            "FAIL: {}\n{}\nTraceback (most recent call last):
  File \"/src/tests/test_{}.py\", line {n}, in test_{}
    self.assertEqual(load({n}), {})
    ~~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^
AssertionError: {n} != {}",
            test(n),
            "-".repeat(70),
            module(n),
            name(n),
            n + 1,
            n + 1
        ));
    }
    run.say(&format!("\n{}", "-".repeat(70)));
    run.keep("Ran 1950 tests in 3.201s");
    run.say("");
    run.keep("FAILED (failures=3)");
    check("unittest", &run);
}

#[test]
fn maven() {
    let mut run = Run::default();
    run.say("[INFO] Scanning for projects...\n[INFO]  T E S T S");
    for n in 0..1000 {
        let class = format!("com.example.{}.{}Test", module(n), name(n).replace('_', ""));
        run.say(&format!("[INFO] Running {class}"));
        let time = format!("Time elapsed: 0.0{} s", n % 9);
        if [155, 480, 901].contains(&n) {
            run.keep(&format!(
                "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, {time} <<< FAILURE! -- in {class}
[ERROR] {class}.restores{n} -- {time} <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <{n}> but was: <{more}>
\tat org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
\tat {class}.restores{n}({class}.java:{n})",
                more = n + 1,
            ));
            run.say("");
        } else {
            run.say(&format!(
                "[INFO] Tests run: {}, Failures: 0, Errors: 0, Skipped: 0, {time} -- in {class}",
                n % 5 + 2
            ));
        }
    }
    run.keep("[ERROR] Tests run: 3917, Failures: 3, Errors: 0, Skipped: 0");
    run.keep("[INFO] BUILD FAILURE");
    check("maven", &run);
}
