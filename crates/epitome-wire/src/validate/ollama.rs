//! What Ollama's chat makes no sense of: results that answer no call (RULES 104).
//!
//! Invariant: calls have no ids here; a result answers the oldest open call of its tool in the
//! reply before it, or the oldest of all where it names no tool. A server answers a reply whose
//! calls were not run, so that is no fault.

use epitome_types::{PartBody, Role};

use super::Findings;
use crate::RequestDocument;
use crate::error::quoted;

pub(super) fn check(document: &RequestDocument<'_>, found: &mut Findings) {
    let mut open: Vec<&str> = Vec::new();
    for (place, entry) in document.entries().iter().enumerate() {
        if entry.role != Role::Tool {
            open.clear();
        }
        for part in &entry.parts {
            match &part.body {
                PartBody::Call(call) => open.push(&call.id),
                PartBody::Result(result) => {
                    let answers = |id: &&str| result.call.is_empty() || **id == result.call;
                    match open.iter().position(answers) {
                        Some(call) => drop(open.remove(call)),
                        None => {
                            let tool = quoted(&result.call);
                            let message = format!("the result of `{tool}` follows no such call");
                            found.add(4, format!("messages[{place}]"), message);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::validate::tests::check as check_format;

    /// `u` and `a` texts, `(…)` a reply with calls, a letter a result of that tool, `-` one that
    /// names none.
    fn check(messages: &str, expected: &[(u8, &str)]) {
        let mut out = Vec::new();
        let mut calls: Option<Vec<String>> = None;
        for message in messages.chars() {
            match (message, &mut calls) {
                ('(', _) => calls = Some(Vec::new()),
                (')', Some(list)) => {
                    let list = list.join(",");
                    out.push(format!(
                        r#"{{"role":"assistant","content":"","tool_calls":[{list}]}}"#
                    ));
                    calls = None;
                }
                (tool, Some(list)) => {
                    list.push(format!(r#"{{"function":{{"name":"{tool}","arguments":{{}}}}}}"#));
                }
                ('u', None) => out.push(r#"{"role":"user","content":"hi"}"#.to_owned()),
                ('a', None) => out.push(r#"{"role":"assistant","content":"hi"}"#.to_owned()),
                ('-', None) => out.push(r#"{"role":"tool","content":"x"}"#.to_owned()),
                (tool, None) => {
                    out.push(format!(r#"{{"role":"tool","tool_name":"{tool}","content":"x"}}"#));
                }
            }
        }
        let body = format!(r#"{{"messages":[{}]}}"#, out.join(","));
        check_format(Format::Ollama, &body, expected);
    }

    #[test]
    fn results_answer_the_calls_before_them() {
        check("", &[]);
        check("u(x)xa", &[]);
        check("u(xyx)xxya", &[]);
        check("u(xy)--", &[]);
        check("u(xy)x", &[]);
        check("xu", &[(4, "messages[0]")]);
        check("u(x)--", &[(4, "messages[3]")]);
        check("u(x)ux", &[(4, "messages[3]")]);
        check("u(x)y", &[(4, "messages[2]")]);
    }
}
