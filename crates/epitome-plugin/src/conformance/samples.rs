//! Texts to try any plugin on: of the kinds that tools give, and of kinds that nobody expects.
//!
//! Invariant: made by arithmetic, so that each is the same everywhere. Called by tests of plugins
//! and by the command.

use std::fmt::Write;

use super::ConformanceSample;

/// Results of tools as they usually are, with what has to stay of each.
#[must_use]
pub fn usual() -> Vec<ConformanceSample> {
    let shell = |command: &str| format!(r#"{{"command":"{command}"}}"#);
    let fatal = "2024-05-01 10:07:13 FATAL worker-3 cannot open /var/lib/queue/0007: No space left";
    let failed =
        "thread 'store::tests::keeps_order' panicked at src/store.rs:88: left: 3, right: 4";
    let hit = "src/net/retry.rs:41:    // the deadline is not honoured here yet";
    vec![
        ConformanceSample::new("log", log(800, fatal))
            .of("bash", shell("journalctl -u queue"))
            .keeping(fatal),
        ConformanceSample::new("test run", test_run(600, failed))
            .of("bash", shell("cargo test"))
            .keeping(failed)
            .keeping("test result: FAILED. 599 passed; 1 failed"),
        ConformanceSample::new("json rows", json_rows(300)).of("http_get", r#"{"url":"/orders"}"#),
        ConformanceSample::new("json object", json_object(120))
            .of("http_get", r#"{"url":"/config"}"#),
        ConformanceSample::new("search", search(400, hit))
            .of("bash", shell("grep -rn deadline src")),
        ConformanceSample::new("query", query(200))
            .of("sql", r#"{"query":"select * from orders"}"#),
        ConformanceSample::new("csv", csv(200)).of("sql", r#"{"query":"select * from orders"}"#),
        ConformanceSample::new("diff", diff(60)).of("bash", shell("git diff main")),
        ConformanceSample::new("html", html(120))
            .of("web_fetch", r#"{"url":"https://docs.example/queue"}"#),
        ConformanceSample::new("listing", listing(300)).of("bash", shell("ls -l build")),
        ConformanceSample::new("source", source(150)).of("bash", shell("gofmt -d")),
        ConformanceSample::new("prose", prose(200))
            .of("web_fetch", r#"{"url":"https://docs.example/why"}"#),
    ]
}

/// Texts that a plugin has to leave alone or digest, and must not fail on.
#[must_use]
pub fn odd() -> Vec<ConformanceSample> {
    let of = |name: &'static str, text: String| ConformanceSample::new(name, text);
    vec![
        of("empty", String::new()),
        of("spaces", " \t \n\n".repeat(200)),
        of("one letter", "x".to_owned()),
        of("one long line", "lorem ipsum dolor ".repeat(40_000)),
        of("one long word", "a".repeat(300_000)),
        of("many short lines", "1\n".repeat(50_000)),
        of("no end of line at the end", "a b c\n".repeat(400) + "last"),
        of("carriage returns", (0..800).map(|n| format!("{n}% done\r")).collect()),
        of("lines of another system", log(200, "FATAL gone").replace('\n', "\r\n")),
        of(
            "colours",
            log(200, "\u{1b}[1;31mERROR\u{1b}[0m gone").replace("INFO", "\u{1b}[32mINFO"),
        ),
        of("escapes that never end", "\u{1b}[".repeat(3000)),
        of("control characters", (0..9000).map(|n| char::from(n as u8 % 32)).collect()),
        of("nothing that is text", "\u{fffd}\u{0}\u{1}PNG\u{fffd}".repeat(900)),
        of("letters of many bytes", "日本語のログ🎉 e\u{301}\u{301} \u{202e}abc\n".repeat(300)),
        of("notes like those of digests", "[… 9 lines]\none [… ×3]\n[…\n".repeat(200)),
        of("json without an end", json_rows(200)[..8000].to_owned()),
        of("json that is deep", "[".repeat(20_000) + &"]".repeat(20_000)),
        of("json that is deep and empty", r#"{"a":"#.repeat(5000)),
        of("json of numbers", format!("[{}1e999]", "0.1,".repeat(5000))),
        of("json with the same keys", format!("[{}{{}}]", r#"{"a":1,"a":2},"#.repeat(400))),
        of("tags that never close", "<div><p <b>&amp;&#xZZ;&#99999999;".repeat(600)),
        of("a diff of nothing", "@@ -1,9 +1,9 @@\n".repeat(600)),
        of("only separators", "|---|---|\n".repeat(800) + &",,,,\n".repeat(800)),
    ]
}

/// Text of one line per number.
fn lines(count: usize, mut line: impl FnMut(&mut String, usize)) -> String {
    let mut out = String::new();
    for n in 0..count {
        line(&mut out, n);
        out.push('\n');
    }
    out
}

/// Writes to a text, which never fails.
macro_rules! say {
    ($out:expr, $($arg:tt)*) => { write!($out, $($arg)*).unwrap_or_default() };
}

/// A line's number mixed up, the same in every process.
fn mixed(n: usize, most: usize) -> usize {
    n.wrapping_mul(2_654_435_761).rotate_right(7) % most
}

fn log(count: usize, odd: &str) -> String {
    lines(count, |out, n| match n {
        n if n == count * 5 / 9 => out.push_str(odd),
        n => say!(
            out,
            "2024-05-01 10:{:02}:{:02} INFO worker-{} took job {} in {} ms",
            n / 60 % 60,
            n % 60,
            n % 4,
            4000 + n,
            mixed(n, 90) + 3
        ),
    })
}

fn test_run(count: usize, failed: &str) -> String {
    let run = lines(count, |out, n| {
        let said = if n == count / 2 { "FAILED" } else { "ok" };
        say!(out, "test store::tests::case_{n} ... {said}");
    });
    format!(
        "running {count} tests\n{run}\nfailures:\n\n---- store::tests::keeps_order ----\n{failed}\n\n\
         test result: FAILED. {} passed; 1 failed; 0 ignored\n",
        count - 1
    )
}

fn json_rows(count: usize) -> String {
    let rows = (0..count).map(|n| {
        format!(
            r#"{{"id":{},"state":"{}","total":{}.{:02},"customer":{{"name":"Customer {n}","city":"{}"}}}}"#,
            1000 + n,
            ["open", "paid", "sent"][mixed(n, 3)],
            mixed(n, 500),
            n % 100,
            ["Oslo", "Lima", "Kyoto", "Turin"][n % 4],
        )
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(","))
}

fn json_object(count: usize) -> String {
    let fields = (0..count).map(|n| {
        format!(r#""service_{n}":{{"port":{},"hosts":["a{n}","b{n}"],"note":"kept\nas it is"}}"#, n)
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn search(count: usize, odd: &str) -> String {
    lines(count, |out, n| match n {
        n if n == count / 3 => out.push_str(odd),
        n => say!(
            out,
            "src/part_{}/file_{}.rs:{}:    let deadline = now + limits[{n}];",
            n / 50,
            n / 9,
            n * 3 + 1
        ),
    })
}

fn query(count: usize) -> String {
    let rows = lines(count, |out, n| {
        say!(
            out,
            " {:>4} | {:<8} | {:>7}",
            n + 1,
            ["open", "paid", "sent"][mixed(n, 3)],
            mixed(n, 9000)
        );
    });
    format!("  id  |  state   |  total  \n------+----------+---------\n{rows}({count} rows)\n")
}

fn csv(count: usize) -> String {
    let rows = lines(count, |out, n| say!(out, "{n},{},\"{}, and more\"", n % 7, mixed(n, 99)));
    format!("id,part,note\n{rows}")
}

fn diff(files: usize) -> String {
    lines(files, |out, n| {
        say!(
            out,
            "diff --git a/src/f{n}.rs b/src/f{n}.rs\nindex 1a{n}..2b{n} 100644\n--- a/src/f{n}.rs\n\
             +++ b/src/f{n}.rs\n@@ -{n},7 +{n},7 @@ fn part_{n}()\n let a = {n};\n let b = a;\n\
             -let c = a + b;\n+let c = a - b;\n let d = c;\n let e = d;\n let f = e;"
        );
    })
}

fn html(paragraphs: usize) -> String {
    let body = lines(paragraphs, |out, n| {
        say!(
            out,
            "<div class=\"row row-{n}\"><h2 id=\"s{n}\">Section {n}</h2><p>The queue keeps <b>order\
             </b> &amp; drops nothing; see <a href=\"/docs/{n}\">part {n}</a>.</p></div>"
        );
    });
    format!(
        "<!DOCTYPE html><html><head><title>Queue</title><style>.row {{ margin: 0 }}</style>\
         <script>var a = 1 < 2;</script></head><body>{body}</body></html>"
    )
}

fn listing(count: usize) -> String {
    lines(count, |out, n| {
        say!(
            out,
            "-rw-r--r-- 1 build build {:>7} May  1 10:{:02} part-{n}.o",
            mixed(n, 99_999),
            n % 60
        );
    })
}

fn source(functions: usize) -> String {
    lines(functions, |out, n| {
        say!(
            out,
            "/// Gives part {n}.\npub fn part_{n}(input: &str) -> Option<usize> {{\n    \
             let found = input.find(\"{n}\")?;\n    if found > {n} {{\n        return None;\n    }}\n    \
             Some(found + {n})\n}}\n"
        );
    })
}

fn prose(sentences: usize) -> String {
    lines(sentences, |out, n| {
        let what = ["The queue", "A worker", "The store", "Nobody"][mixed(n, 4)];
        let does = ["waits for", "never loses", "orders", "forgets"][mixed(n + 7, 4)];
        say!(out, "{what} {does} the {n}th job of the day, and that is why we wrote it down.");
        if n % 6 == 5 {
            out.push('\n');
        }
    })
}
