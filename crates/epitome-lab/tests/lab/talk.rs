//! A conversation to play.

use std::fmt::Write;

/// A conversation of so many turns, with a tool result in every third.
pub(crate) fn conversation(turns: usize) -> String {
    let mut out = String::from(
        r#"{"messages":[{"role":"system","content":"You fix builds. Never push to main."}"#,
    );
    let mut add = |message: String| write!(out, ",\n{message}").unwrap();
    for turn in 0..turns {
        let asked = format!("Please look at src/part_{turn}.rs and say what is wrong there.");
        add(format!(r#"{{"role":"user","content":"{asked}"}}"#));
        if turn % 3 == 0 {
            let arguments = format!(r#"{{\"path\":\"src/part_{turn}.rs\"}}"#);
            add(format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{turn}","type":"function","function":{{"name":"read","arguments":"{arguments}"}}}}]}}"#
            ));
            let lines: Vec<_> =
                (0..40).map(|line| format!("let value_{turn}_{line} = {line};")).collect();
            add(format!(
                r#"{{"role":"tool","tool_call_id":"c{turn}","content":"{}"}}"#,
                lines.join("\\n")
            ));
        }
        let answer =
            format!("Line {turn} of src/part_{turn}.rs divides by zero; I have mended it.");
        add(format!(r#"{{"role":"assistant","content":"{answer}"}}"#));
    }
    out + "]}"
}
