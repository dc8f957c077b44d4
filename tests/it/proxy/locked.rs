//! What a model decided for good stays word for word, in the prompt that compresses its answer too.

use epitome_upstream::Script;
use serde_json::json;

use super::serving::Serving;

/// So many words that are said nowhere else.
fn words(seed: usize, count: usize) -> String {
    let known =
        ["crate", "quay", "clerk", "ledger", "harbour", "crane", "manifest", "seal", "tide"];
    let word = |at: usize| format!("{}{} ", known[(at * 7 + seed) % known.len()], (at * seed) % 89);
    (1..=count).map(word).collect()
}

/// What is decided for good at some turns, in a long answer.
fn decision(turn: usize) -> Option<String> {
    (turn % 6 == 5).then(|| format!("All timestamps of table {turn} are UTC and never local"))
}

#[track_caller]
fn check(profile: &'static str, path: &str) {
    let serving =
        Serving::start(Script::default(), &["--prompt-limit", "8000", "--profile", profile]);
    let mut messages = vec![json!({"role": "user", "content": "Plan the archive."})];
    for turn in 0..24 {
        let body = json!({"model": "m", "max_tokens": 64, "messages": messages});
        assert_eq!(serving.post_one(path, &body).status, 200, "{profile} {path}");
        let prompt = serving.last().body.to_string();
        for decided in (0..turn).filter_map(decision) {
            assert!(prompt.contains(&decided), "{profile} {path}, turn {turn}: {decided}");
        }
        let answer = match decision(turn) {
            Some(what) => {
                format!("The plan.\n[DECISION] {what} - LOCKED\n{}", words(turn + 1, 800))
            }
            None => words(turn + 1, 150),
        };
        messages.push(json!({"role": "assistant", "content": answer}));
        let next = format!("Next {}", words(turn + 100, 150));
        messages.push(json!({"role": "user", "content": next}));
    }
    assert!(serving.compressions() > 1, "{profile} {path}");
}

#[test]
fn a_locked_decision_never_leaves_the_prompt() {
    std::thread::scope(|scope| {
        for profile in ["default", "ollm", "staged", "watermark", "early", "tiered"] {
            scope.spawn(move || check(profile, "/v1/messages"));
        }
        scope.spawn(|| check("default", "/v1/chat/completions"));
    });
}

/// A model may lock more than its window holds: the conversation goes on, what came first stays locked,
/// and what did not can be locked by hand.
#[test]
fn a_model_cannot_fill_the_window_with_locks() {
    let script = Script { limit: Some(9_000), ..Script::default() };
    let serving = Serving::start(script, &["--prompt-limit", "6000"]);
    let mut messages = vec![json!({"role": "user", "content": "Plan the archive."})];
    let rule = |number: usize| {
        let (first, second) = (number * 37 % 911, number * 53 % 877);
        format!("Rule {number} of table heron{first} is that the column pelican{second} is unique")
    };
    for turn in 0..40 {
        let body = json!({"model": "m", "max_tokens": 64, "messages": messages});
        serving.post_one("/v1/messages", &body);
        let locked = (0..10).map(|at| format!("[DECISION] {} - LOCKED\n", rule(turn * 10 + at)));
        let answer = format!("The plan.\n{}", locked.collect::<String>());
        messages.push(json!({"role": "assistant", "content": answer}));
        messages.push(json!({"role": "user", "content": format!("Next {}", words(turn, 60))}));
    }
    let (last, status) = (serving.last().body.to_string(), serving.status());
    assert_eq!(status["all"]["skips"], json!({}), "{status}");
    assert!(serving.compressions() > 1);
    for number in 0..20 {
        assert!(last.contains(&rule(number)), "{number}: {last}");
    }
    let list = ["goal", "list", "--json", "--session", "one", "--store", "s.db"];
    let listed = serving.place.run(list).json();
    let decisions = listed["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 390, "{listed}");
    let free = decisions.iter().rposition(|it| it["locked"] == false).unwrap();
    assert_eq!(decisions[free]["text"], rule(389));
    let of = ["goal", "lock", &rule(389), "--session", "one", "--store", "s.db"];
    serving.place.run(of).silent();
}
