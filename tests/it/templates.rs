//! Chats with models whose templates are strict about roles: the server renders each prompt as its
//! publisher's template has it, and refuses what that does not take.

use epitome_upstream::{Script, Turn, Upstream};

use crate::program::{Place, read_file};

const TURNS: usize = 40;

const PROFILES: [&str; 6] = ["default", "ollm", "watermark", "staged", "early", "tiered"];

/// A server of a model with this template, whose answers take some 200 tokens.
fn serving(template: &str) -> Upstream {
    let path = format!("{}/templates/{template}.jinja", env!("CARGO_MANIFEST_DIR"));
    let template = String::from_utf8(read_file(path).unwrap()).unwrap();
    let answer = |n: usize| {
        let line = |at: usize| format!("Part {} of step {n} reads shelf {}.", at, n * 97 + at * 13);
        (0..16).map(line).collect::<Vec<_>>().join(" ")
    };
    let turns = (1..=TURNS).map(|n| Turn { text: answer(n), ..Turn::default() }).collect();
    Upstream::start(Script { turns, template: Some(template), ..Script::default() }).unwrap()
}

/// How many requests of a chat over its window are refused; each message has its answer.
#[track_caller]
fn refused(template: &str, profile: &str) -> usize {
    let upstream = serving(template);
    let place = Place::new();
    let model = format!("openai:m@{}/v1", upstream.url());
    let args = ["chat", "--store", "s.db", "--model", &model, "--context-size", "4000"];
    let line = |n| {
        format!("Look at step {n} of the plan, in src/part{n}.rs, and keep the limit {}.\n", n * 7)
    };
    let lines: String = (1..=TURNS).map(line).collect();
    let ran = place.feed([&args[..], &["--profile", profile]].concat(), lines.as_bytes());
    let answers = ran.text().split_terminator("\n\n").count();
    assert_eq!((ran.code, answers), (0, TURNS), "{template} {profile}: {}", ran.err);
    let prompts = upstream.prompts();
    // Behind the last answer the model may be asked for a summary.
    let said = prompts.iter().map(|prompt| prompt.body.to_string());
    let mut said = said.filter(|prompt| !prompt.contains("Sum up this part"));
    let last = said.next_back().unwrap_or_default();
    // Most answers left long ago, and what they were for did not.
    let answers = last.matches("Part 15 of step ").count();
    assert!(last.contains("step 40") && answers < TURNS / 2, "{template} {profile}: {answers}");
    prompts.iter().filter(|prompt| prompt.refused.is_some()).count()
}

#[test]
fn common_templates_take_every_prompt_of_a_chat() {
    for template in ["llama-3.2", "phi-3.5", "qwen-3"] {
        assert_eq!(refused(template, "ollm"), 0, "{template}");
    }
    for profile in PROFILES {
        assert_eq!(refused("mistral-nemo", profile), 0, "{profile}");
    }
}

/// It knows no system prompt: that is learned from its first refusal, and nobody sees it.
#[test]
fn a_template_without_a_system_prompt_refuses_once() {
    for profile in PROFILES {
        assert_eq!(refused("gemma-2", profile), 1, "{profile}");
    }
}
