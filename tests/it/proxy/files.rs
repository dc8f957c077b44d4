//! Files in a chat without tools, in wordings that nobody knows beforehand (RULES 16).

use epitome_upstream::Script;
use serde_json::{Value, json};

use super::serving::Serving;

/// A file that is in the chat.
struct ChatFile {
    path: &'static str,
    text: String,
}

/// What a client says of files and asks for.
type Wording = fn(&[ChatFile], &str) -> String;

/// Source of so many functions.
fn source(name: &str, functions: usize) -> String {
    let one = |at: usize| {
        format!("def {name}_{at}(ledger):\n    return ledger.post(\"{name}-{at}\", at={at})\n")
    };
    (0..functions).map(one).collect()
}

fn files(functions: usize) -> Vec<ChatFile> {
    let file = |(path, name)| ChatFile { path, text: source(name, functions) };
    [("shop/cart.py", "cart"), ("shop/tax.py", "tax"), ("tools/report.py", "report")]
        .map(file)
        .into()
}

fn each(files: &[ChatFile], one: impl Fn(&ChatFile) -> String) -> String {
    files.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Wordings that were made up before the rule that finds files in them.
const WORDINGS: [Wording; 12] = [
    |files, asked| {
        let files = each(files, |it| format!("```python {}\n{}```\n", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("<file path=\"{}\">\n{}</file>", it.path, it.text));
        format!("<files>\n{files}\n</files>\n\n<task>{asked}</task>")
    },
    |files, asked| {
        let files = each(files, |it| format!("=== {} ===\n{}", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("File: {}\n{}", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("### `{}`\n\n```\n{}```\n", it.path, it.text));
        format!("## Files\n\n{files}\n## Task\n\n{asked}")
    },
    |files, asked| {
        let map = files.iter().map(|it| (it.path.to_owned(), Value::from(&*it.text)));
        json!({"task": asked, "files": Value::Object(map.collect())}).to_string()
    },
    |files, asked| {
        let document = |(at, it): (usize, &ChatFile)| {
            format!(
                "<document index=\"{at}\">\n<source>{}</source>\n<document_content>\n{}\
                 </document_content>\n</document>\n",
                it.path, it.text
            )
        };
        let documents: String = files.iter().enumerate().map(document).collect();
        format!("<documents>\n{documents}</documents>\n\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| {
            format!("This is how {} looks at the moment:\n\n```\n{}```\n", it.path, it.text)
        });
        format!("{files}\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| format!("```py\n# {}\n{}```\n", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| {
            format!("----- BEGIN {0} -----\n{1}----- END {0} -----\n", it.path, it.text)
        });
        format!("{files}\n{asked}")
    },
    |files, asked| {
        let files = files.iter().map(|it| json!({"name": it.path, "content": it.text}));
        format!("{asked}\n\n```json\n{:#}\n```", Value::from(files.collect::<Vec<_>>()))
    },
    |files, asked| {
        let files = each(files, |it| format!("**{}** (current)\n~~~\n{}~~~\n", it.path, it.text));
        format!("{files}\n{asked}")
    },
];

/// Wordings of exporters, shells and persons that were made up once the rule stood.
const OTHERS: [Wording; 10] = [
    |files, asked| {
        let line = "=".repeat(16);
        let files = each(files, |it| format!("{line}\nFile: {}\n{line}\n{}", it.path, it.text));
        format!("{files}\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| format!("{}\n---\n{}\n---", it.path, it.text));
        format!("{files}\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| format!("```1:80:{}\n{}```\n", it.path, it.text));
        format!("{files}\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| format!("$ cat {}\n{}", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("cat > {} <<'EOF'\n{}EOF", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("my {}:\n\n{}\n", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("[START OF {0}]\n{1}[END OF {0}]", it.path, it.text));
        format!("{files}\n\n{asked}")
    },
    |files, asked| {
        let files = each(files, |it| format!("<!-- {} -->\n```\n{}```\n", it.path, it.text));
        format!("{asked}\n\n{files}")
    },
    |files, asked| {
        let files = each(files, |it| format!("Hier ist {}:\n\n```\n{}```\n", it.path, it.text));
        format!("{files}\nBitte: {asked}")
    },
    |files, asked| {
        let file = |it: &ChatFile| {
            format!(
                "<file>\n  <path>{}</path>\n  <content><![CDATA[\n{}]]></content>\n</file>",
                it.path, it.text
            )
        };
        format!("<context>\n{}\n</context>\n{asked}", each(files, file))
    },
];

/// What a text holds in all, also where JSON spells it.
fn holds(texts: &[String], wanted: &str) -> bool {
    let spelled = Value::from(wanted).to_string();
    let spelled = spelled.trim_matches('"');
    texts.iter().any(|text| text.contains(wanted) || text.contains(spelled))
}

fn texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().filter_map(|it| it["content"].as_str().map(str::to_owned)).collect()
}

/// A talk that grows beside files which its client says once, or anew in each message; returns what
/// was sent last.
struct Talk {
    serving: Serving,
    messages: Vec<Value>,
}

impl Talk {
    fn start(limit: &str) -> Self {
        let serving = Serving::start(Script::default(), &["--prompt-limit", limit]);
        let system = "You edit files. Return each file that you change, whole.";
        Self { serving, messages: vec![json!({"role": "system", "content": system})] }
    }

    fn asks(&mut self, text: &str) -> Vec<String> {
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "gpt-4o", "stream": false, "messages": self.messages});
        self.serving.post("/v1/chat/completions", &body);
        texts(&self.serving.last().body)
    }

    fn answers(&mut self, text: &str) {
        self.messages.push(json!({"role": "assistant", "content": text}));
    }
}

/// Talk that says something else each time.
fn chatter(turn: usize) -> String {
    let one = |at: usize| {
        format!(
            "In month {at} of plan {turn} the shop in town {} sold {} crates, which the owner \
             found a little odd. ",
            turn * 31 + at,
            at * 7 + turn
        )
    };
    (0..24).map(one).collect()
}

fn no_pointer(sent: &[String], what: &str) {
    for pointer in ["epitome recall", ".epitome/"] {
        assert!(!holds(sent, pointer), "{what} points somewhere: {pointer}");
    }
}

/// A client says its files once, then talks: they stay whole while the talk leaves.
#[track_caller]
fn check_said_once(at: usize, wording: Wording) {
    let files = files(40);
    let mut talk = Talk::start("12000");
    talk.asks(&wording(&files, "Rename cart_3 to cart_three and return the file."));
    talk.answers("I will, as soon as you say so.");
    for turn in 0..12 {
        let sent = talk.asks(&format!("{} What do you think of that? ({turn})", chatter(turn)));
        let what = format!("wording {at}, turn {turn}");
        for file in &files {
            assert!(holds(&sent, &file.text), "{what}: {} is not whole", file.path);
        }
        no_pointer(&sent, &what);
        talk.answers(&format!("It is odd indeed. {}", chatter(turn + 100)));
    }
    assert!(talk.serving.compressions() > 0, "wording {at}: {}", talk.serving.said());
}

#[test]
fn files_that_a_client_said_once_stay_whole() {
    for (at, wording) in WORDINGS.into_iter().chain(OTHERS).enumerate() {
        check_said_once(at, wording);
    }
}

/// A client says its files with each request, the first of them changed: the newest copies stay, and
/// the window holds no two of a file for long.
#[track_caller]
fn check_said_anew(at: usize, wording: Wording) {
    let mut files = files(60);
    let mut talk = Talk::start("16000");
    let mut most = 0;
    for turn in 0..8 {
        let asked = format!("Round {turn}: rename cart_{turn} of shop/cart.py, return it whole.");
        let before = talk.serving.compressions();
        let sent = talk.asks(&wording(&files, &asked));
        let what = format!("wording {at}, turn {turn}");
        for file in &files {
            assert!(holds(&sent, &file.text), "{what}: {} is not whole", file.path);
        }
        no_pointer(&sent, &what);
        assert!(holds(&sent, &asked), "{what}: what is asked for is lost");
        if talk.serving.compressions() > before {
            let copies: usize = sent.iter().map(|it| it.matches("def report_7(").count()).sum();
            most = most.max(copies);
        }
        files[0].text =
            files[0].text.replace(&format!("def cart_{turn}("), &format!("def c{turn}("));
        talk.answers(&format!("shop/cart.py\n```python\n{}```\nDone.", files[0].text));
    }
    assert!(talk.serving.compressions() > 0, "wording {at}: {}", talk.serving.said());
    assert!(most <= 2, "wording {at}: {most} copies of a file right after a compression");
}

#[test]
fn of_files_that_a_client_says_anew_the_newest_stay_whole() {
    for (at, wording) in WORDINGS.into_iter().chain(OTHERS).enumerate() {
        check_said_anew(at, wording);
    }
}

/// What the model returned is the newest copy where its client says files once.
#[test]
fn the_file_that_the_model_returned_is_the_newest() {
    let mut files = files(40);
    let mut talk = Talk::start("12000");
    talk.asks(&WORDINGS[0](&files, "Rename cart_3 to cart_three and return the file."));
    files[0].text = files[0].text.replace("def cart_3(", "def cart_three(");
    talk.answers(&format!("Here it is.\n\n```python shop/cart.py\n{}```\n", files[0].text));
    for turn in 0..12 {
        let sent = talk.asks(&format!("{} What do you think of that? ({turn})", chatter(turn)));
        for file in &files {
            assert!(holds(&sent, &file.text), "turn {turn}: {} is not whole", file.path);
        }
        talk.answers(&chatter(turn + 100));
    }
    let sent = talk.asks("And now rename cart_4.");
    assert!(!holds(&sent, "def cart_3("), "the older copy is still there");
    assert!(talk.serving.compressions() > 0, "{}", talk.serving.said());
}

/// Where not even the newest copies fit, the oldest of them leave whole, and it is said which.
#[test]
fn files_that_no_prompt_holds_leave_whole_and_are_named() {
    // Nine of some 830 tokens each are more than the window holds.
    let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let paths = names.map(|name| format!("a/{name}.py"));
    let mut talk = Talk::start("6000");
    let mut sent = Vec::new();
    let text = |path: &str| source(&path[2..path.len() - 3], 40);
    for path in paths.iter().map(String::as_str) {
        sent = talk.asks(&format!("Look at this.\n\n{path}\n```python\n{}```\n", text(path)));
        talk.answers("I have seen it.");
    }
    assert!(holds(&sent, &text("a/nine.py")));
    for path in paths.iter().map(String::as_str) {
        let name = &path[2..path.len() - 3];
        let lines = sent.iter().flat_map(|it| it.lines());
        let lines = lines.filter(|it| it.contains(&format!("{name}-"))).count();
        assert!(lines == 0 || lines == 40, "{path} is cut: {lines} of 40 lines");
        assert!(lines == 40 || holds(&sent, path), "{path} left without a word");
    }
    let said = talk.serving.said();
    assert!(said.contains("a/one.py") && said.contains("paste them again"), "{said}");
}

/// Where the client has tools, files in its chat are talk as ever: it can open them.
#[test]
fn what_a_client_with_tools_says_of_files_may_leave() {
    let files = files(40);
    let serving = Serving::start(Script::default(), &["--prompt-limit", "9000"]);
    let tool = json!({"type": "function", "function": {"name": "read_file", "parameters": {}}});
    let mut messages = vec![json!({"role": "user", "content": WORDINGS[0](&files, "Look.")})];
    for turn in 0..12 {
        messages.push(json!({"role": "assistant", "content": chatter(turn)}));
        messages.push(json!({"role": "user", "content": format!("And then? ({turn})")}));
        let body = json!({"model": "gpt-4o", "messages": messages, "tools": [tool]});
        serving.post("/v1/chat/completions", &body);
    }
    assert!(serving.compressions() > 0, "{}", serving.said());
    let sent = texts(&serving.last().body);
    assert!(files.iter().any(|file| !holds(&sent, &file.text)), "nothing of them left");
}

/// What a client attaches is a file, prose too: it counts, and stays as it came while the talk leaves.
#[test]
fn a_document_that_is_attached_stays_whole() {
    let letter = chatter(500);
    // `%PDF-1.4` and other bytes.
    let pdf = format!("JVBERi0xLjQK{}", "QUJDREVG".repeat(400));
    for source in [
        json!({"type": "text", "media_type": "text/plain", "data": letter}),
        json!({"type": "content", "content": [{"type": "text", "text": letter}]}),
        json!({"type": "base64", "media_type": "application/pdf", "data": pdf}),
    ] {
        let document = json!({"type": "document", "title": "letter", "source": source});
        let serving = Serving::start(Script::default(), &["--prompt-limit", "6000"]);
        let asked = json!({"type": "text", "text": "Improve this letter with me, step by step."});
        let mut messages = vec![json!({"role": "user", "content": [document, asked]})];
        for turn in 0..12 {
            let and = format!("{} And? ({turn})", chatter(turn));
            messages.push(json!({"role": "assistant", "content": chatter(turn + 100)}));
            messages.push(json!({"role": "user", "content": and}));
            let body =
                json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages});
            serving.post_one("/v1/messages", &body);
            let sent = &serving.last().body["messages"];
            assert_eq!(sent[0]["content"][0], document, "turn {turn}");
        }
        assert!(serving.compressions() > 0, "{}", serving.said());
    }
}

/// Logs, tables and a few quoted lines are no files: they leave as talk does.
#[test]
fn what_is_no_file_is_compressed() {
    let log = |at: usize| format!("2026-11-25 10:{:02}:00 INFO served {at} in 3 ms\n", at % 60);
    let log: String = (0..150).map(log).collect();
    let rows = |at: usize| format!("{at},{},{},town {at}\n", at * 3, at % 7);
    let rows: String = (0..150).map(rows).collect();
    let mut talk = Talk::start("9000");
    talk.asks(&format!("server.py prints this:\n```\n{log}```\nIs that fine?"));
    talk.answers("It is.");
    talk.asks(&format!("And data.csv:\n\n=== data.csv ===\n{rows}"));
    talk.answers("That too.");
    let mut sent = Vec::new();
    for turn in 0..8 {
        sent = talk.asks(&format!("{} And in a.py the line\n```\nx = 1\n```?", chatter(turn)));
        talk.answers(&chatter(turn + 100));
    }
    assert!(talk.serving.compressions() > 0, "{}", talk.serving.said());
    assert!(!holds(&sent, &log) && !holds(&sent, &rows), "they are kept as if they were files");
}
