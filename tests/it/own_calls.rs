//! What the program asks of models by itself is paid, too: what is claimed to be saved is without it.
//!
//! The client is this test binary: [`client`] talks until a model has summed up.

use std::env;
use std::net::SocketAddr;

use epitome_upstream::{Script, Turn, Upstream};
use serde_json::{Value, json};

use crate::conversation::openai;
use crate::program::{Place, Ran, write_file};
use crate::proxy::Ask;

const CONFIG: &str = "prices = \"prices.toml\"\n\
                      profile.default.options.default.summaries.background = false\n";

/// What the model of the conversation costs, and what the one that sums up.
const PRICES: &str = "[[model]]\nname = \"talks\"\ninput = 2.0\nread = 0.5\nwrite = 1.0\noutput = 4\n\
                      [[model]]\nname = \"writes\"\ninput = 9.0\nread = 0.5\nwrite = 1.0\noutput = 4\n";

/// The client; without `IT_PAYS` it does nothing. It goes on until a summary was paid for, and writes
/// down what the proxy says then.
#[test]
fn client() {
    if env::var_os("IT_PAYS").is_none() {
        return;
    }
    let base = env::var("OPENAI_BASE_URL").unwrap();
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let address: SocketAddr = host.parse().unwrap();
    let token = path.split('/').next().unwrap();
    for turns in 1..60 {
        let mut body = openai(turns);
        body["model"] = json!("talks");
        let ask = Ask::post(&format!("/{path}/chat/completions"), body.to_string());
        assert_eq!(ask.send(address).unwrap().status, 200);
        let page = format!("/{token}/status");
        let status = Ask::new("GET", &page).header("accept", "application/json");
        let status = status.send(address).unwrap();
        if status.json()["own_calls"]["calls"].as_u64() > Some(0) {
            write_file("status.json", status.text()).unwrap();
            return;
        }
    }
    panic!("no model was asked");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// A run until a summary was paid for, with these prices; its place, its end, and the calls.
fn paid_run(prices: &str) -> (Place, Ran, usize) {
    let upstream = Upstream::start(Script::default()).unwrap();
    let turn = Turn { text: "The stages were looked at.".into(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 99, plain: true, ..Script::default() };
    let writer = Upstream::start(script).unwrap();
    let place = Place::new();
    place.write("own.toml", CONFIG);
    place.write("prices.toml", prices);
    let (url, model) = (upstream.url(), format!("openai:writes@{}/v1", writer.url()));
    let tests = env::current_exe().unwrap();
    let args = ["run", "--config", "own.toml", "--prompt-limit", "8000", "--summarizer", &model];
    let rest = ["--openai-upstream", &url, "--", tests.to_str().unwrap()];
    let client = ["own_calls::client", "--exact"];
    let mut command = place.command([&args[..], &rest, &client].concat());
    command.env("IT_PAYS", "yes");
    let ran = Ran::of(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    (place, ran, writer.prompts().len())
}

/// What people are told of the calls for summaries is what the sums hold.
#[test]
fn calls_without_a_price_are_not_said_to_be_subtracted() {
    let prices = &PRICES[..PRICES.rfind("[[").unwrap()];
    let (place, ran, calls) = paid_run(prices);
    let count = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    let closing = ran.err.lines().last().unwrap();
    assert!(closing.contains("for summaries unpriced, not in the sum"), "{closing}");
    let told = place.run(["savings", "--config", "own.toml"]);
    let text = told.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("{count} for summaries unpriced, not in these sums.");
    assert!(text.contains(&expected) && !text.contains("subtracted"), "{text}");
    let told = place.run(["savings", "--config", "own.toml", "--json"]).json();
    let summaries = &told["all"]["summaries"];
    assert_eq!((&summaries["unpriced"], &summaries["paid"]), (&json!(calls), &json!(0.0)));
}

#[test]
fn what_is_saved_is_without_the_calls_for_summaries() {
    let (place, ran, calls) = paid_run(PRICES);
    let status = place.read_json("status.json");
    let own = &status["own_calls"];
    assert_eq!(own["calls"], calls, "{status}");
    assert_eq!(own["unpriced"], 0, "the user's own table prices it: {status}");
    assert!(number(&own["paid"]) > 0.0 && number(&own["dollars"]) > 0.0, "{status}");
    // Each conversation says what its own prompts saved; the sum over all is less by these calls.
    let of_all = |pointer: &str| -> f64 {
        let sessions = status["sessions"].as_array().unwrap().iter();
        sessions.chain([&status["older"]]).filter_map(|it| it.pointer(pointer)?.as_f64()).sum()
    };
    let net = &status["all"]["net"];
    let tokens = of_all("/net/saved") - number(&own["paid"]) - number(&net["saved"]);
    assert!(tokens.abs() <= 3.0, "{tokens}: {status}");
    let saved = number(&net["dollars"]["saved"]);
    let dollars = of_all("/net/dollars/saved") - number(&own["dollars"]) - saved;
    assert!(dollars.abs() < 5e-6, "{dollars}: {status}");

    let closing = ran.err.lines().last().unwrap();
    let calls = own["calls"].as_u64().unwrap();
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    assert!(closing.contains(&format!("{calls} for summaries subtracted")), "{closing}");
    let word = if saved < 0.0 { "lost" } else { "saved" };
    let amount = match saved.abs() {
        amount if amount < 0.1 => format!("{amount:.4}"),
        amount => format!("{amount:.2}"),
    };
    assert!(closing.contains(&format!("net ${amount} {word}")), "{closing}\n{status}");

    // The ledger says the same, for ever.
    let told = place.run(["savings", "--config", "own.toml", "--json"]).json();
    let all = &told["all"];
    assert_eq!(all["summaries"]["answers"], own["calls"], "{told:#}");
    let same = |one: &Value, other: f64| (number(one) - other).abs() < 5e-6;
    assert!(same(&all["summaries"]["paid"], number(&own["dollars"])), "{own} {told:#}");
    assert!(same(&all["saved"]["least"], saved), "{saved} {told:#}");
    // So does the session that asked for them.
    let sessions = place.run(["status", "--config", "own.toml", "--json"]).json();
    let money = &sessions[0]["money"];
    assert_eq!((&money["summaries"], &money["saved"]), (&all["summaries"], &all["saved"]));
    let models = told["by"]["model"].as_array().unwrap();
    let names: Vec<_> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"talks") && names.contains(&"writes"), "{names:?}");
}
