//! A session that is deleted for good while its client goes on.

use epitome_upstream::Script;
use serde_json::json;

use super::serving::Serving;

#[test]
fn a_deleted_session_begins_anew_with_the_next_request() {
    let serving = Serving::start(Script::default(), &["--prompt-limit", "4000"]);
    let talk = "and then the crane lifted the next crate onto the quay while the clerk wrote. ";
    let mut messages = vec![json!({"role": "user", "content": "Plan the archive."})];
    for turn in 0..24 {
        let body = json!({"model": "m", "max_tokens": 64, "messages": messages});
        let answer = serving.post_one("/v1/messages", &body);
        assert_eq!(answer.header("x-epitome-skip"), None, "turn {turn}");
        if turn % 8 == 6 {
            let name = answer.header("x-epitome-session").unwrap();
            let gone =
                serving.place.run(["session", "delete", "--forever", "--store", "s.db", name]);
            assert_eq!(gone.code, 0, "turn {turn}: {}", gone.err);
        }
        messages.push(
            json!({"role": "assistant", "content": format!("At {turn}: {}", talk.repeat(20))}),
        );
        messages.push(json!({"role": "user", "content": format!("Next, step {turn}.")}));
    }
    assert!(serving.compressions() > 0);
    let verified = serving.place.run(["session", "verify", "--store", "s.db"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
}
