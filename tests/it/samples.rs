//! Results of tools as agents get them, each with what matters in it.
//!
//! Invariant: the same text each time, of the size that its name says, give or take a tenth.

use std::fmt::Write;

/// A result of a tool.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) text: String,
    /// How much of it is saved at least, in percent of its bytes.
    pub(crate) saved: usize,
    /// What its digest has to hold.
    pub(crate) keeps: Vec<String>,
    /// What its digest does not hold and a search brings back; empty where nothing leaves.
    pub(crate) hidden: &'static str,
}

/// All of them.
pub(crate) fn all() -> Vec<Sample> {
    vec![
        json(),
        log(),
        hits(),
        test_run(),
        page(),
        rows(),
        diff("a diff of 60 KB", 120),
        diff("a diff of 30 KB", 40),
        source("source that is read", "Read", r#"{"file_path": "src/queue.rs"}"#),
        source(
            "source that is fetched",
            "web_fetch",
            r#"{"url": "https://code.example/queue.rs"}"#,
        ),
        prose(),
    ]
}

/// Numbers without an order to them, the same each time.
fn mixed(at: usize, most: usize) -> usize {
    (at + 1).wrapping_mul(2_654_435_761) % 1_000_003 % most
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|at| line(at) + "\n").collect()
}

/// 400 rows of JSON, 56 KB, of which every 17th tells of an error.
fn json() -> Sample {
    let failed = |at: usize| at.is_multiple_of(17);
    let row = |at: usize| {
        let status = if failed(at) { "error: disk full" } else { "active" };
        format!(
            r#"{{"id": {at}, "name": "user_{at}", "mail": "user_{at}@mail.example", "status": "{status}", "score": 0.{:04}, "region": "us-east-1", "created": "2026-01-0{}"}}"#,
            mixed(at, 10_000),
            at % 9 + 1
        )
    };
    let rows: Vec<String> = (0..400).map(row).collect();
    Sample {
        name: "400 rows of JSON",
        tool: "list_users",
        arguments: "{}",
        text: format!("[{}]", rows.join(", ")),
        saved: 70,
        keeps: (0..400).filter(|at| failed(*at)).map(|at| format!("user_{at},")).collect(),
        hidden: "user_201",
    }
}

/// A log of 800 lines with a fatal one.
fn log() -> Sample {
    let fatal = "2026-11-21 10:05:57 FATAL worker-3 out of memory: killed pid 8123";
    let text = lines(800, |at| match at {
        357 => fatal.to_owned(),
        _ => format!(
            "2026-11-21 10:{:02}:{:02} INFO worker-{} processed batch {at} in {}ms",
            at / 60,
            at % 60,
            at % 8,
            10 + mixed(at, 80)
        ),
    });
    Sample {
        name: "a log of 800 lines",
        tool: "bash",
        arguments: r#"{"command": "journalctl -u queue"}"#,
        text,
        saved: 97,
        keeps: vec![fatal.to_owned()],
        hidden: "processed batch 412",
    }
}

/// 500 hits of a search.
fn hits() -> Sample {
    let odd = "src/mod7/file247.rs:741:    let handle = registry.lookup(name)?; /* FIXME: leaks */";
    let text = lines(500, |at| match at {
        247 => odd.to_owned(),
        _ => format!(
            "src/mod{}/file{at}.rs:{}:    let handle_{at} = registry.lookup(\"svc_{at}\").expect(\"present\");",
            at % 20,
            at * 3
        ),
    });
    Sample {
        name: "500 hits of grep",
        tool: "bash",
        arguments: r#"{"command": "grep -rn registry.lookup src"}"#,
        text,
        saved: 95,
        keeps: vec!["let handle = registry.lookup(name)?; /* FIXME: leaks */".to_owned()],
        hidden: "svc_318",
    }
}

/// A run of 2,000 tests of which three fail.
fn test_run() -> Sample {
    let fails = [411, 977, 1603];
    let mut text = "running 2000 tests\n".to_owned();
    text += &lines(2000, |at| {
        let end = if fails.contains(&at) { "FAILED" } else { "ok" };
        format!("test store::part_{}::keeps_case_{at} ... {end}", at % 31)
    });
    text += "\nfailures:\n\n";
    let mut keeps = vec!["test result: FAILED. 1997 passed; 3 failed; 0 ignored".to_owned()];
    for at in fails {
        let name = format!("store::part_{}::keeps_case_{at}", at % 31);
        let panic = format!("thread '{name}' panicked at src/store/part.rs:{at}:9:");
        let why = format!("assertion `left == right` failed: case {at}");
        let said = format!("{panic}\n{why}\n  left: {at}\n right: {}", at + 1);
        writeln!(text, "---- {name} stdout ----\n\n{said}\n").unwrap();
        keeps.extend([panic, why]);
    }
    text += &format!("{}; finished in 4.21s\n", keeps[0]);
    Sample {
        name: "a run of 2,000 tests",
        tool: "bash",
        arguments: r#"{"command": "cargo test"}"#,
        text,
        saved: 95,
        keeps,
        hidden: "keeps_case_1200",
    }
}

/// A page of 40 KB as sites serve them.
fn page() -> Sample {
    let names = ["Orders", "Limits", "Retries", "Backups", "Alerts", "Costs", "Users", "Keys"];
    let links = lines(105, |at| {
        format!(
            "<li class=\"nav-item\"><a class=\"nav-link\" href=\"/docs/guide-{at}\">Guide {at}</a></li>"
        )
    });
    let rules =
        lines(120, |at| format!(".col-{at} > .cell {{ margin: 0 {at}px; padding: {at}px; }}"));
    let parts: String = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let limits = match *name {
                "Limits" => {
                    "<table class=\"table\"><tr><th>plan</th><th>requests</th></tr><tr><td>small</td>\
                     <td>600 per minute</td></tr></table><div class=\"callout callout-error\"><p>Error 429: \
                     too many requests. Wait for the time in <code>Retry-After</code>.</p></div>"
                }
                _ => "",
            };
            let text = format!(
                "<p class=\"text-body lead-{at}\" data-block=\"{at}\">The queue keeps <strong>{}</strong> for \
                 {} days &amp; tells of them in <a class=\"link-primary\" href=\"/docs/{}\">a page of its own</a>, \
                 which says more.</p>",
                name.to_lowercase(),
                at + 2,
                name.to_lowercase()
            );
            let more = lines(14, |more| {
                format!("<div class=\"row row-{more}\"><p class=\"note\">Note {more} about {name}: part {} is kept.</p></div>", mixed(at * 20 + more, 900))
            });
            format!("<section class=\"section\"><h2 id=\"s{at}\" class=\"title\">{name}</h2>{text}{limits}{more}</section>")
        })
        .collect();
    let text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Queue: the guide</title>\n\
         <style>{rules}</style>\n<script>window.data = {{\"a\": [{}]}};</script></head>\n<body>\
         <header class=\"site-header\"><nav><ul>{links}</ul></nav></header>\n<main><h1>The guide</h1>{parts}</main>\n\
         <footer class=\"site-footer\"><ul>{links}</ul></footer></body></html>\n",
        (0..900).map(|at| mixed(at, 9000).to_string()).collect::<Vec<_>>().join(","),
    );
    let mut keeps: Vec<String> = names.iter().map(|name| format!("## {name}")).collect();
    keeps.extend(
        [
            "Queue: the guide",
            "# The guide",
            "small | 600 per minute",
            "Error 429: too many requests. Wait for the time in Retry-After.",
            "The queue keeps orders for 2 days & tells of them in [a page of its own](/docs/orders), \
             which says more.",
        ]
        .map(str::to_owned),
    );
    Sample {
        name: "a page of 40 KB",
        tool: "web_fetch",
        arguments: r#"{"url": "https://queue.example/docs/guide"}"#,
        text,
        saved: 80,
        keeps,
        hidden: "guide-77",
    }
}

/// A query with 300 rows, one of which is overdue.
fn rows() -> Sample {
    let mut text = "  id  | customer     | state   | amount  | due\n------+--------------+---------+---------+------------\n".to_owned();
    text += &lines(300, |at| {
        let state = if at == 188 { "overdue" } else { "paid   " };
        format!(
            " {:4} | customer_{:03} | {state} | {:7.2} | 2026-0{}-{:02}",
            1000 + at,
            at % 97,
            100.0 + mixed(at, 90_000) as f64 / 100.0,
            at % 9 + 1,
            at % 28 + 1
        )
    });
    text += "(300 rows)\n";
    Sample {
        name: "a query of 300 rows",
        tool: "sql",
        arguments: r#"{"query": "select * from invoices"}"#,
        text,
        saved: 90,
        keeps: ["1188", "overdue", "300"].map(str::to_owned).to_vec(),
        hidden: "customer_042",
    }
}

/// A diff: a lock file, a new file, and a small change in each of so many others.
fn diff(name: &'static str, changed: usize) -> Sample {
    let header = |path: &str| {
        format!(
            "diff --git a/{path} b/{path}\nindex 3f1c2a7..9b40d1e 100644\n--- a/{path}\n+++ b/{path}\n"
        )
    };
    let mut text = header("Cargo.lock") + "@@ -1,200 +1,0 @@\n";
    text += &lines(200, |at| format!("- \"crate-{at} {}.{}.0\",", at % 7, at % 5));
    text += "diff --git a/src/retry.rs b/src/retry.rs\nnew file mode 100644\nindex 0000000..9b40d1e\n\
             --- /dev/null\n+++ b/src/retry.rs\n@@ -0,0 +1,401 @@\n";
    text += &lines(401, |at| match at {
        0 => "+//! Tries again what failed.".to_owned(),
        210 => "+pub fn retry(policy: &Policy, call: impl Fn() -> Outcome) {".to_owned(),
        400 => "+>>>>>>> topic".to_owned(),
        _ => format!("+    step_{at}(policy, {});", mixed(at, 5000)),
    });
    let conflict = "CONFLICT (content): Merge conflict in src/part_7.rs";
    let mut keeps = vec![conflict.to_owned(), "+>>>>>>> topic".to_owned()];
    // A large diff leaves no room for more than its files.
    let small = changed < 100;
    keeps.push(match small {
        true => "diff --git a/Cargo.lock b/Cargo.lock [… generated: +0 -200 in 1 hunk]".to_owned(),
        false => "Cargo.lock [… +0 -200]".to_owned(),
    });
    for at in 0..changed {
        let path = format!("src/part_{at}.rs");
        let same = |from: usize| lines(3, |n| format!("     let kept_{} = load({at});", from + n));
        let change = format!("-    let limit = {at};\n+    let limit = {};", at * 2 + 1);
        let hunk = format!("@@ -10,7 +10,7 @@ fn part_{at}()");
        text += &format!("{}{hunk}\n{}{change}\n{}", header(&path), same(0), same(3));
        if small {
            keeps.extend([path, change]);
        }
    }
    text += &format!("{conflict}\n");
    if small {
        let declared = "+pub fn retry(policy: &Policy, call: impl Fn() -> Outcome) {";
        keeps.extend(["new file mode 100644", declared].map(str::to_owned));
    } else {
        keeps.push("src/retry.rs [… new, +401 -0]".to_owned());
    }
    Sample {
        name,
        tool: "bash",
        arguments: r#"{"command": "git diff main"}"#,
        text,
        saved: 50,
        keeps,
        hidden: "step_173",
    }
}

/// 26 KB of source code.
fn source(name: &'static str, tool: &'static str, arguments: &'static str) -> Sample {
    let mut text = "//! A queue of jobs.\n\nuse std::collections::VecDeque;\n\n".to_owned();
    text += &lines(86, |at| {
        format!(
            "/// Gives part {at} of the queue.\npub fn part_{at}(jobs: &VecDeque<Job>, most: usize) -> Vec<Job> {{\n    \
             let from = most * {};\n    let wanted = |job: &&Job| job.part == {at} && job.at > from;\n    let mut found: \
             Vec<Job> = jobs.iter().filter(wanted).cloned().collect();\n    found.truncate(most);\n    found\n}}\n",
            mixed(at, 300)
        )
    });
    let read = tool == "Read";
    let keeps = match read {
        true => vec![text.clone()],
        false => (0..86)
            .map(|at| format!("pub fn part_{at}(jobs: &VecDeque<Job>, most: usize) -> Vec<Job> {{"))
            .collect(),
    };
    Sample { name, tool, arguments, text, saved: 0, keeps, hidden: "" }
}

/// 45 KB of prose.
fn prose() -> Sample {
    let sentence = |at: usize| match at {
        120 => "The committee decided that project Heron ends on 4 March 2027.".to_owned(),
        _ => format!(
            "In section {at} the committee noted that the budget of project {} was revised because the supplier \
             delayed delivery by {} weeks.",
            at % 13,
            at % 9
        ),
    };
    Sample {
        name: "45 KB of prose",
        tool: "web_fetch",
        arguments: r#"{"url": "https://minutes.example", "prompt": "when does project Heron end"}"#,
        text: (0..375).map(sentence).collect::<Vec<_>>().join(" "),
        saved: 0,
        keeps: vec!["project Heron ends on 4 March 2027".to_owned()],
        hidden: "",
    }
}
