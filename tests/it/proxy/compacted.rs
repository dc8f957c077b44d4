//! What a provider made of the conversation before is its new start: what stands before it goes as it
//! came, and whatever we put in stands behind it, where the model is shown it (RULES 125).

use epitome_upstream::{Script, Turn};
use serde_json::{Value, json};

use super::agent::{Agent, Api};
use super::serving::Serving;

const LIMIT: &str = "12000";

/// Some hundred words that say this.
fn words(said: &str) -> String {
    (0..12)
        .map(|line| format!("{said}, line {line}: the ledger of the ferry is checked.\n"))
        .collect()
}

/// A conversation in whose middle its provider compacts, by the place of that.
#[track_caller]
fn check(api: Api, compacted: usize, answer: fn(String, bool) -> Vec<Value>) {
    let turn = Turn { text: "Noted.".into(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 400, ..Script::default() };
    let serving = Serving::start(script, &["--limit", LIMIT]);
    let mut agent = Agent::new(api, "Never delete the harbour data.").with_id();
    for turn in 0..110 {
        agent.send(&serving, agent.request().to_string().into_bytes());
        let said = answer(words(&format!("FACT{turn}X")), turn == compacted);
        agent.messages().extend(said);
        agent.say(&words(&format!("Turn {turn}")));
    }
    assert!(serving.compressions() >= 1, "{api:?}: {:?}", serving.sessions());
    let came = agent.body[api.history()].as_array().unwrap();
    let is_block = |message: &Value| message.to_string().contains(r#""type":"compaction""#);
    let block = came.iter().position(is_block).unwrap();
    let mut shortened = 0;
    for prompt in serving.prompts() {
        let sent = prompt.body[api.history()].as_array().unwrap();
        let Some(found) = sent.iter().position(is_block) else { continue };
        assert_eq!(sent[..=found], came[..=block], "{api:?}: request {}", prompt.number);
        let [from, to] = [sent[found + 1..].to_vec(), came[block + 1..].to_vec()];
        if from.first() != to.first() {
            shortened += 1;
            let told = Value::from(from).to_string();
            assert!(told.contains("epitome recall"), "{api:?}: {told}");
        }
    }
    assert!(shortened > 20, "{api:?}: {shortened}");
}

#[test]
fn nothing_is_put_before_a_block_of_anthropic() {
    let answer = |text: String, compacts: bool| {
        let block = json!({"type": "compaction", "content": "So far.", "encrypted_content": "x"});
        let mut content = vec![json!({"type": "text", "text": text})];
        if compacts {
            content.insert(0, block);
        }
        vec![json!({"role": "assistant", "content": content})]
    };
    check(Api::Anthropic, 8, answer);
    check(Api::Anthropic, 50, answer);
}

#[test]
fn nothing_is_put_before_an_item_of_the_responses_api() {
    let answer = |text: String, compacts: bool| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        let said = json!({"type": "message", "role": "assistant", "content": content});
        let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "x"});
        [Some(said), compacts.then_some(item)].into_iter().flatten().collect()
    };
    check(Api::Responses, 8, answer);
    check(Api::Responses, 50, answer);
}
