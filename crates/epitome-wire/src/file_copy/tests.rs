//! What binds a body to a path, and what is a file.

use super::*;

/// Source of so many functions.
fn source(name: &str, functions: usize) -> String {
    let one = |at: usize| format!("def {name}_{at}(ledger):\n    return ledger.post({at})\n");
    (0..functions).map(one).collect()
}

/// The copies in a text that somebody pastes.
fn copies(text: &str) -> Vec<FileCopy> {
    CopyScanner::new(text, PASTED).found()
}

/// The paths that are said of whole copies in a text, each of which holds its source.
#[track_caller]
fn check(text: &str, paths: &[&str]) {
    let found: Vec<_> = copies(text).into_iter().filter(|copy| copy.named).collect();
    let names: Vec<_> = found.iter().map(|copy| &*copy.path).collect();
    assert_eq!(names, paths, "{text}");
    for copy in &found {
        let body = &text[copy.body.clone()];
        assert!(body.contains("_0(") && body.contains("_19("), "{}: {body}", copy.path);
        assert!(!copy.partial, "{}: {body}", copy.path);
    }
}

/// Two files between marks that `framed` writes.
#[track_caller]
fn check_framed(framed: impl Fn(&str, &str) -> String) {
    let two = |between: &str| {
        let [a, b] = ["src/a.py", "lib/b.py"].map(|path| framed(path, &source(&path[4..5], 20)));
        format!("Rename the first function.\n\n{a}{between}{b}\nReturn src/a.py in full.")
    };
    check(&two(""), &["src/a.py", "lib/b.py"]);
    check(&two("\nAnd the other one:\n\n"), &["src/a.py", "lib/b.py"]);
}

#[test]
fn fences_are_named_within_and_before() {
    check_framed(|path, body| format!("```python {path}\n{body}```\n"));
    check_framed(|path, body| format!("```py title=\"{path}\"\n{body}```\n"));
    check_framed(|path, body| format!("```py:{path}\n{body}```\n"));
    check_framed(|path, body| format!("{path}\n```\n{body}```\n"));
    check_framed(|path, body| format!("### `{path}`\n\n~~~python\n{body}~~~\n"));
    check_framed(|path, body| format!("**{path}** (as it is now)\n````\n{body}````\n"));
    check_framed(|path, body| format!("File: {path}\nContent:\n```\n{body}```\n"));
    check_framed(|path, body| format!("```\n# {path}\n{body}```\n"));
    check_framed(|path, body| format!("1. {path}:\n   ```\n{body}   ```\n"));
    let mentioned = |path: &str, body: &str| {
        format!("This is what {path} looks like right now:\n```\n{body}```\n")
    };
    check_framed(mentioned);
    check_framed(|path, body| format!("<path>{path}</path>\n```\n{body}```\n"));
}

#[test]
fn tags_name_a_path_in_an_attribute_or_before() {
    check_framed(|path, body| format!("<file path=\"{path}\">\n{body}</file>\n"));
    check_framed(|path, body| format!("<source name='{path}' lang=py>\n{body}</source>\n"));
    check_framed(|path, body| format!("<{path}>\n{body}</{path}>\n"));
    check_framed(|path, body| format!("<name>{path}</name>\n<body>{body}</body>\n"));
    let document = |path: &str, body: &str| {
        format!(
            "<document index=\"1\">\n<source>{path}</source>\n<document_content>\n{body}\
             </document_content>\n</document>\n"
        )
    };
    check_framed(document);
}

#[test]
fn signs_part_files_and_labels_open_them() {
    check_framed(|path, body| format!("=== {path} ===\n{body}"));
    check_framed(|path, body| format!("----- BEGIN {path} -----\n{body}----- END {path} -----\n"));
    check_framed(|path, body| format!("######## {path}\n{body}"));
    check_framed(|path, body| format!("=====\n{path}\n=====\n{body}\n"));
    check_framed(|path, body| format!("// ----- {path} -----\n{body}"));
    check_framed(|path, body| format!(">>> FILE: {path}\n{body}"));
    check_framed(|path, body| format!("File: {path}\n{body}"));
    check_framed(|path, body| format!("[{path}]\n{body}"));
    check_framed(|path, body| format!("## {path}\n\n{body}"));
}

#[test]
fn source_under_talk_or_a_command_that_mentions_a_path_is_its_file() {
    check_framed(|path, body| format!("This is my {path}, what do you think of it?\n\n{body}\n"));
    check_framed(|path, body| format!("$ cat {path}\n{body}"));
    check_framed(|path, body| format!("cat > {path} <<'EOF'\n{body}EOF\n"));
    check_framed(|path, body| format!("[START OF {path}]\n{body}[END OF {path}]\n"));
    check_framed(|path, body| format!("{path}\n---\n{body}\n---\n"));
}

#[test]
fn json_maps_paths_to_texts() {
    let [a, b] = ["a", "b"].map(|name| source(name, 20));
    let expected = ["src/a.py", "b.py"];
    let of = |value: serde_json::Value| {
        let text = format!("Look at these:\n{value}\nReturn b.py.");
        let names: Vec<_> = copies(&text).into_iter().map(|copy| copy.path).collect();
        assert_eq!(names, expected, "{text}");
        let fenced = format!("Look at these:\n```json\n{value:#}\n```\nReturn b.py.");
        assert_eq!(copies(&fenced).len(), 2, "{fenced}");
    };
    of(serde_json::json!({"src/a.py": a, "b.py": b}));
    of(serde_json::json!({"files": {"src/a.py": a, "b.py": b}, "task": "rename"}));
    of(serde_json::json!([{"path": "src/a.py", "content": a}, {"path": "b.py", "content": b}]));
}

/// What a text holds whose path nobody says.
#[track_caller]
fn check_unnamed(text: &str, expected: Option<&str>) {
    let found = copies(text);
    assert!(found.iter().all(|copy| !copy.named), "{found:?}");
    let bodies: Vec<_> = found.iter().map(|copy| text[copy.body.clone()].trim()).collect();
    assert_eq!(bodies, Vec::from_iter(expected.map(str::trim)), "{text}");
}

#[test]
fn source_whose_path_nobody_says_is_a_file() {
    let body = source("a", 20);
    for text in [
        format!("Here is my script:\n```python\n{body}```\nRename a_1 as we go."),
        format!("```\n{body}```\nThat was my script."),
        format!("This is my script, I'll ask for changes:\n\n{body}"),
        format!("What does this do?\n{body}\nThanks."),
    ] {
        check_unnamed(&text, Some(&body));
    }
    let page: String =
        (0..20).map(|at| format!("<div class=\"c{at}\"><p>Card {at}</p></div>\n")).collect();
    check_unnamed(&format!("My page, make it nicer:\n{page}"), Some(&page));
    let settings: String = (0..20).map(|at| format!("[part{at}]\nkey_{at} = {at}\n")).collect();
    check_unnamed(&format!("These are my settings\n{settings}"), Some(&settings));
    let essay = "It was a dark and stormy night.\n".repeat(20);
    check_unnamed(&format!("My text:\n```markdown\n{essay}```"), Some(&essay));
    // Its fence may be left open, and settings have no marks of source.
    check_unnamed(&format!("Here is my script:\n```python\n{body}"), Some(&body));
    let service = |at: usize| {
        format!("  web{at}:\n    image: shop/web:{at}\n    ports:\n      - \"80{at}:80\"\n")
    };
    let settings = format!("services:\n{}", (0..5).map(service).collect::<String>());
    check_unnamed(&format!("This is my compose file, add a cache\n{settings}"), Some(&settings));
}

#[test]
fn talk_and_what_programs_print_is_no_source() {
    let talk = "Then we talked about how it works, and what it does for users.\n".repeat(20);
    check_unnamed(&talk, None);
    check_unnamed(&format!("```\n{talk}```"), None);
    let chat: String = (0..30).map(|at| format!("Bob: hello, number {at}\nAnn: hi\n")).collect();
    check_unnamed(&chat, None);
    let list: String = (0..30).map(|at| format!("- item {at}: buy it\n")).collect();
    check_unnamed(&list, None);
    let nested = |at: usize| format!("- we talked of {at}\n  - it was said that it is well\n");
    check_unnamed(&(0..20).map(nested).collect::<String>(), None);
    let log: String =
        (0..40).map(|at| format!("10:00:{at:02} INFO request took {at} ms\n")).collect();
    check_unnamed(&format!("It prints:\n```\n{log}```"), None);
    check_unnamed(&log, None);
    let failed = format!(
        "===================== test session starts ======================\ncollected 1 item\n\
         _________________________ test_b __________________________\n{}E   KeyError: 'model'\n",
        source("b", 20)
    );
    check_unnamed(&failed, None);
    let change = " line = 1;\n-old = 2;\n+new = 3;\n".repeat(10);
    check_unnamed(&format!("```diff\n{change}```"), None);
    let part = format!("{}# ... existing code ...\n", source("a", 12));
    check_unnamed(&format!("```python\n{part}```"), None);
    check_unnamed("Like so:\n```js\nconst a = 1;\nconst b = 2;\n```", None);
}

#[test]
fn names_that_stand_in_other_ways_are_found() {
    check_framed(|path, body| {
        format!(
            "<document><source>{path}</source><document_content>\n{body}</document_content></document>\n"
        )
    });
    check_framed(|path, body| {
        let lines = body.lines().enumerate();
        let lines: String = lines.map(|(at, line)| format!("{:4} | {line}\n", at + 1)).collect();
        format!("{path}:\n{lines}\n")
    });
    let prose = "It was a dark and stormy night.\n".repeat(20);
    let quoted = "> It was a dark night.\n".repeat(20);
    let json = serde_json::json!({"scripts": vec!["build"; 20]});
    for (text, path) in [
        (format!("letter.txt:\n\n{prose}"), "letter.txt"),
        (format!("Content of notes.md:\n{quoted}"), "notes.md"),
        (format!("here is package.json\n{json:#}\nPlease add lint."), "package.json"),
    ] {
        let paths: Vec<_> = copies(&text).into_iter().map(|copy| copy.path).collect();
        assert_eq!(paths, [path], "{text}");
    }
}

#[test]
fn what_programs_write_is_no_file() {
    let log = |at| format!("2026-11-25 10:00:{at:02} INFO request {at} took 3 ms\n");
    let log: String = (0..40).map(log).collect();
    check(&format!("src/server.py prints this:\n```\n{log}```\nWhy?"), &[]);
    check(&format!("=== server.txt ===\n{log}"), &[]);
    let stack = "  File \"/srv/a.py\", line 3, in f\n    foo()\n".repeat(12);
    check(&format!("a.py:\n```\nTraceback (most recent call last):\n{stack}```"), &[]);
    check(&format!("=== data.csv ===\n{}", "1,2,3\n".repeat(30)), &[]);
    check(&format!("data.txt\n```\n{}```", "1,2,3\n".repeat(30)), &[]);
    let users = serde_json::json!({"users": vec!["one of them"; 30]});
    check(&format!("Response of api/users.py:\n```json\n{users:#}\n```"), &[]);
    check(&format!("docs/table.md:\n\n{}", "| a | b | c |\n".repeat(20)), &[]);
}

#[test]
fn what_quotes_or_mentions_a_file_is_none() {
    check("In src/a.py the loop\n```python\nfor i in x:\n    y(i)\n```\nis slow.", &[]);
    let talk = "Then we talked about how it works and what it does for users.\n".repeat(20);
    check(&format!("I looked at src/a.py and src/b.py.\n{talk}"), &[]);
    check(&format!("## src/a.py\n{talk}"), &[]);
    check(&format!("src/a.py\n\n{talk}"), &[]);
    check(&format!("With Node.js I would write:\n```js\n{}```", "const a = 1;\n".repeat(9)), &[]);
    let found = (0..30).map(|at| format!("src/a.py:{at}: def foo_{at}(x):\n"));
    check(&found.collect::<String>(), &[]);
    let change = " line\n-old\n+new\n".repeat(10);
    check(&format!("--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n{change}"), &[]);
    // What tests of a setting look like, and what they print.
    let tests = source("test", 20);
    check(&format!("This tests how .env and its copies are read:\n```python\n{tests}```"), &[]);
    let line = "=".repeat(30);
    let run = format!("platform linux\nconfigfile: pytest.ini\n{line} FAILURES {line}\n{tests}");
    check(&run, &[]);
    check(&format!("    cwd = place\ncwd.mkdir()\n{tests}"), &[]);
    let moved = source("f", 20);
    check(&format!("Move from src/a.py to src/b.py:\n```\n{moved}```"), &[]);
    check("src/a.py\nsrc/b.py\nsrc/c.py\nREADME.md\nsetup.cfg\n", &[]);
}

#[test]
fn what_leaves_lines_out_is_a_part() {
    let (a, rest) = (source("a", 10), "# ... existing code ...\n");
    for body in
        [format!("{a}{rest}{a}"), format!("@@ -1,2 +1,2 @@\n{a}"), format!("<<<<<<< SEARCH\n{a}")]
    {
        let found = copies(&format!("src/a.py\n```\n{body}```"));
        assert!(matches!(&found[..], [copy] if copy.partial), "{found:?}");
    }
    // Three dots are a statement of Python.
    let found = copies(&format!("src/a.py\n```\n{a}def b():\n    ...\n```"));
    assert!(matches!(&found[..], [copy] if !copy.partial), "{found:?}");
}

#[test]
fn files_are_sought_where_no_tool_opens_them() {
    let text = format!("src/a.py\n```\n{}```\nRename a_1.", source("a", 20));
    let request = |more: serde_json::Value| {
        let mut body = serde_json::json!({"messages": [{"role": "user", "content": text}]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let bytes = body.to_string();
        let document = crate::RequestDocument::parse(bytes.as_bytes(), crate::Format::OpenAi);
        document
            .unwrap()
            .entries()
            .iter()
            .flat_map(|entry| &entry.parts)
            .any(|part| !part.files.is_empty())
    };
    assert!(request(serde_json::json!({})));
    assert!(request(serde_json::json!({"tools": []})));
    let tool = serde_json::json!({"type": "function", "function": {"name": "read"}});
    assert!(!request(serde_json::json!({"tools": [tool]})));
    let weather = serde_json::json!({"type": "function", "function": {"name": "get_weather",
        "parameters": {"properties": {"city": {"type": "string"}}}}});
    assert!(request(serde_json::json!({"tools": [weather]})));
    let described = serde_json::json!([
        {"role": "system", "content": "Call <read_file> to read."},
        {"role": "user", "content": text}
    ]);
    assert!(!request(serde_json::json!({"messages": described})));
}

#[test]
fn a_document_that_a_person_attaches_is_a_file() {
    let copies = |format, block: serde_json::Value| {
        let body = serde_json::json!({"messages": [{"role": "user", "content": [block]}]});
        let bytes = body.to_string();
        let document = crate::RequestDocument::parse(bytes.as_bytes(), format).unwrap();
        let part = &document.entries()[0].parts[0];
        let copy = |copy: &FileCopy| {
            (copy.path.clone(), part.said().unwrap()[copy.body.clone()].to_owned())
        };
        part.files.iter().map(copy).collect::<Vec<_>>()
    };
    let plain = serde_json::json!({"type": "document", "title": "settings.toml",
        "source": {"type": "text", "data": "a = 1\nb = 2\n"}});
    let file = ("settings.toml".to_owned(), "a = 1\nb = 2\n".to_owned());
    assert_eq!(copies(crate::Format::Anthropic, plain), [file]);
    let encoded = crate::base64::encode("Dear Ann,\n".as_bytes());
    let letter = serde_json::json!({"type": "file",
        "file": {"filename": "letter.txt", "file_data": format!("data:text/plain;base64,{encoded}")}});
    let file = ("letter.txt".to_owned(), "Dear Ann,\n".to_owned());
    assert_eq!(copies(crate::Format::OpenAi, letter), [file]);
    let block = |text: &str| serde_json::json!({"type": "text", "text": text});
    let blocks = serde_json::json!({"type": "document", "title": "notes.md",
        "source": {"type": "content", "content": [block("One."), block("Two words.")]}});
    let file = ("notes.md".to_owned(), "One.\nTwo words.".to_owned());
    assert_eq!(copies(crate::Format::Anthropic, blocks), [file]);
    let result = serde_json::json!({"type": "search_result", "title": "manual", "source": "m",
        "content": [block("Turn it off.")]});
    let file = ("manual".to_owned(), "Turn it off.".to_owned());
    assert_eq!(copies(crate::Format::Anthropic, result), [file]);
    let audio = serde_json::json!({"type": "input_audio", "input_audio": {"data": "UklGRgAA"}});
    assert_eq!(copies(crate::Format::OpenAi, audio), []);
}

#[test]
fn a_document_that_only_its_provider_reads_is_a_file_by_its_content() {
    let paths = |data: &str| {
        let data = crate::base64::encode(data.as_bytes());
        let block = serde_json::json!({"type": "document", "title": "report.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": data}});
        let body = serde_json::json!({"messages": [{"role": "user", "content": [block]}]});
        let bytes = body.to_string();
        let parsed = crate::RequestDocument::parse(bytes.as_bytes(), crate::Format::Anthropic);
        let parsed = parsed.unwrap();
        let files = &parsed.entries()[0].parts[0].files;
        files.iter().map(|copy| copy.path.clone()).collect::<Vec<_>>()
    };
    let [one, other] = [paths("%PDF-1.4 one"), paths("%PDF-1.4 other")];
    assert!(one[0].starts_with("report.pdf ("), "{one:?}");
    assert_ne!(one, other);
    assert_eq!(one, paths("%PDF-1.4 one"));
}

#[test]
fn whatever_a_person_asks_to_have_edited_is_a_file() {
    let rows: String = (0..40).map(|at| format!("{at},karst,eu,{}\n", at * 7)).collect();
    let log: String =
        (0..40).map(|at| format!("2026-11-21 10:00:{at:02} INFO item {at} took 9ms\n")).collect();
    let letter: String =
        (0..20).map(|at| format!("We ask you to send {at} of them to our office.\n\n")).collect();
    let held = |text: &str, body: &str, path: &str| {
        let found = copies(text);
        let [copy] = &found[..] else { panic!("{found:?}: {text}") };
        assert!(text[copy.body.clone()].contains(body.trim()), "{copy:?}");
        assert!(copy.path.contains(path), "{copy:?}");
    };
    held(&format!("Please edit this file.\n\n```users.csv\n{rows}```"), &rows, "users.csv");
    held(&format!("```users.txt\n{rows}```\nGive me the whole file back."), &rows, "users.txt");
    held(&format!("Correct the times:\n```run.log\n{log}```"), &log, "run.log");
    held(&format!("Here is users.csv. I want to edit it.\n{rows}"), &rows, "begins with `0,karst");
    held(&format!("Please improve this letter:\n\n{letter}"), &letter, "begins with `We ask");
    held(&format!("{letter}\nReturn the text in full."), &letter, "begins with `We ask");
    // Who asks about it needs no copy.
    for text in [
        format!("Why does this fail?\n```run.log\n{log}```"),
        format!("Here is users.csv. Who is in it?\n{rows}"),
        format!("This came by mail:\n\n{letter}"),
    ] {
        assert_eq!(copies(&text), vec![], "{text}");
    }
}

/// A message of one long line is talk, whichever word it begins with.
#[test]
fn talk_in_one_line_is_no_source() {
    let said = "the queue in net/server_3.rs was changed, and since then each request of the shop \
        waits for two others; we saw that in the morning (at nine) and at night. ";
    for opening in
        ["let me tell you what I saw: ", "from what I see ", "#12 ", "return to it: ", "if "]
    {
        assert_eq!(copies(&format!("{opening}{}", said.repeat(30))), vec![], "{opening}");
        let lines = said.repeat(30).replace(". ", ".\n");
        assert_eq!(copies(&format!("{opening}{lines}")), vec![], "{opening}");
    }
}
