//! What a mask of the profile stands for, once it left the prompt as well.

use epitome_upstream::Script;
use serde_json::{Value, json};

use super::http::Ask;
use super::serving::Serving;
use crate::mcp::call;

/// What a profile says of a vault.
const RULES: &str = "default_profile = 'team'\n\n[profile.team]\ninherits = 'BASE'\n\n\
    [profile.team.tools.vault_read]\nmask = '[a secret of {tokens} tokens]'\n";

/// What the vault says, word for word.
const SECRET: &str = "vault password of the database user: HUNTER";

/// A conversation in which an agent reads a vault again and again.
pub(super) fn talk(steps: usize) -> Vec<Value> {
    let mut messages = vec![json!({"role": "system", "content": "You help."})];
    for step in 0..steps {
        let (tool, said) = match step % 2 {
            0 => ("vault_read", format!("{SECRET}-{step}\n").repeat(12)),
            _ => ("Bash", (0..60).map(|at| format!("line {at} of {step}, {}\n", at * 7)).collect()),
        };
        let call = json!({"id": format!("c{step}"), "type": "function",
            "function": {"name": tool, "arguments": json!({"command": step}).to_string()}});
        messages.extend([
            json!({"role": "user", "content": format!("Go on with step {step}.")}),
            json!({"role": "assistant", "content": "I look at it.", "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": said}),
            json!({"role": "assistant", "content": "It is as it should be."}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    messages
}

/// Everything that stands in files below a folder.
#[expect(clippy::disallowed_methods, reason = "the agent reads these files")]
fn files(folder: &str) -> String {
    let mut all = String::new();
    for one in std::fs::read_dir(folder).into_iter().flatten() {
        let path = one.unwrap().path();
        all += &match path.is_dir() {
            true => files(&path.display().to_string()),
            false => std::fs::read_to_string(path).unwrap(),
        };
    }
    all
}

/// Whatever a model may look into again says the mask, under every policy that writes files.
#[test]
fn a_masked_result_comes_back_to_a_model_on_no_road() {
    for base in ["ollm", "tiered"] {
        let mut serving =
            Serving::start(Script { repeat: 90, ..Script::default() }, &["--workspace", "."]);
        serving.place.write("epitome.toml", RULES.replace("BASE", base));
        serving.go_on_with(&["--context-size", "6000"]);
        for steps in [4, 10, 16, 22, 28] {
            let tool = |name| json!({"type": "function", "function": {"name": name}});
            let body = json!({"model": "gpt-4o", "messages": talk(steps),
                "tools": [tool("vault_read"), tool("Bash")]});
            let answer = serving.post("/v1/chat/completions", &body);
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        assert!(serving.compressions() > 1, "{base}");
        let prompts = serving.prompts();
        let texts: Vec<_> = prompts.iter().map(|prompt| prompt.body.to_string()).collect();
        assert!(texts.iter().all(|text| !text.contains("HUNTER")), "{base}");
        // The files that the prompts name.
        let files = files(&serving.place.path(".epitome").display().to_string());
        assert!(files.contains("a secret of ") && files.contains("line 3 of 1"), "{base}: {files}");
        assert!(!files.contains("HUNTER"), "{base}");
        let asked = [
            call(1, "recall", &json!({"query": "vault password database user"})),
            call(2, "recall", &json!({"query": "HUNTER-2"})),
            json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read",
                "params": {"uri": "epitome://transcript"}}),
        ];
        for message in asked {
            let ask = Ask::post("/mcp", message.to_string());
            let answer = serving.send(ask.header("accept", "application/json, text/event-stream"));
            let text = answer.text();
            assert!(text.contains("result") && !text.contains(": HUNTER"), "{base}: {text}");
        }
        // It is lost to nobody: a person finds it in the record.
        let session = serving.sessions()[0]["name"].as_str().unwrap().to_owned();
        let out = serving.place.run(["session", "export", &session, "--store", "s.db"]);
        assert!(out.text().contains("HUNTER-2"), "{base}: {out:?}");
    }
}

/// No provider takes a result that says nothing.
#[test]
fn a_mask_that_says_nothing_is_one_all_the_same() {
    let mut serving = Serving::start(Script::default(), &[]);
    serving.stop();
    let policy = "--- @api 2\nreturn { extends = 'default', doc = 'Masks.',\n  tool_result = \
                  function(job) return { how = 'mask', text = ' ' } end }\n";
    std::fs::create_dir_all(serving.place.path(".epitome/policies/team")).unwrap();
    serving.place.write(".epitome/policies/team/policy.lua", policy);
    serving.place.run(["trust", "--author", ".epitome/policies/team"]);
    serving
        .place
        .write("epitome.toml", "default_profile = 'masks'\n[profile.masks]\ninherits = 'team'\n");
    serving.go_on_with(&["--workspace", "."]);
    let body = json!({"model": "gpt-4o", "messages": talk(2)}).to_string();
    assert_eq!(serving.send(Ask::post("/v1/chat/completions", body)).status, 200);
    let sent = serving.last().body.clone();
    let results = sent["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "tool");
    let results: Vec<_> = results.map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(results, ["[masked]"; 2], "{}", serving.said());
}
