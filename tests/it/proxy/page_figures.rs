//! What the page says of a session, held against what was sent.

use epitome_upstream::{Call, Script};
use serde_json::json;

use super::agent::{Agent, Api};
use super::page::Browser;
use super::serving::Serving;

const SESSION: &str = "/s/heron";

/// Files of source code alone, which are sent as they come until they are compressed.
fn script() -> Script {
    Script::agent(30, vec![Call::new("read_file", json!({"n": "{turn}"}))])
}

fn agent() -> Agent {
    let mut agent = Agent::new(Api::Anthropic, "Find out why the heron fails.");
    agent.headers.push(("x-claude-code-session-id".to_owned(), "heron".to_owned()));
    agent
}

/// A number as the page writes it.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// A round of an agent; gives the tokens of its prompt as it came and as it was sent.
fn round(agent: &mut Agent, serving: &Serving) -> [u64; 2] {
    let answer = agent.send(serving, agent.request().to_string().into_bytes());
    agent.take(&answer);
    let (came, sent) = answer.header("x-epitome-tokens").unwrap().split_once('/').unwrap();
    [came, sent].map(|tokens| tokens.parse().unwrap())
}

/// What the page says of a turn in its line.
fn line_of(page: &str, turn: usize) -> &str {
    let from = format!("id=\"t{turn}\"");
    page.split(&from).nth(1).unwrap().split("</summary>").next().unwrap()
}

/// What a button costs.
fn price_of<'p>(page: &'p str, act: &str) -> &'p str {
    let from = format!("id=\"do-{act}\"");
    page.split(&from).nth(1).unwrap().split("</form>").next().unwrap()
}

#[test]
fn what_was_taken_back_for_a_while_is_shown_so() {
    let serving = Serving::start(script(), &["--prompt-limit", "32000"]);
    let mut agent = agent();
    for _ in 0..9 {
        round(&mut agent, &serving);
    }
    let browser = Browser::open(&serving);
    browser.act(SESSION, "do=compress");
    let [came, sent] = round(&mut agent, &serving);
    assert!(sent < came, "{sent} of {came}");
    browser.act(SESSION, "do=undo");
    let [came, sent] = round(&mut agent, &serving);
    assert_eq!(came, sent);
    browser.act(SESSION, "do=redo");
    // Before the next request the newest prompt is the one that an undo makes again.
    let page = browser.page(SESSION);
    let price = price_of(&page, "undo");
    assert!(price.contains(&format!("about {} tokens", grouped(sent))), "{sent}: {price}");
    let [came_then, sent_then] = round(&mut agent, &serving);
    assert!(sent_then < came_then, "{sent_then} of {came_then}");

    let page = browser.page(SESSION);
    let both = |tokens: [u64; 2]| tokens.map(|it| format!("title=\"{} tokens\"", grouped(it)));
    for (turn, tokens) in [(11, [came, sent]), (12, [came_then, sent_then])] {
        let line = line_of(&page, turn);
        for told in both(tokens) {
            assert!(line.contains(&told), "turn {turn}: {tokens:?}: {line}");
        }
    }
    let price = price_of(&page, "undo");
    assert!(price.contains(&format!("about {} tokens", grouped(came_then))), "{price}");
}

#[test]
fn a_compression_that_was_asked_for_and_not_made_is_told_of() {
    let serving = Serving::start(script(), &[]);
    let mut agent = agent();
    round(&mut agent, &serving);
    let browser = Browser::open(&serving);
    browser.act(SESSION, "do=compress");
    let [came, sent] = round(&mut agent, &serving);
    assert_eq!(came, sent);
    let page = browser.page(SESSION);
    let told = price_of(&page, "compress");
    assert!(told.contains("asked for, and not done"), "{told}");
    assert!(told.contains("within its bounds"), "{told}");
    let status = serving.place.run(["status", "--session", "heron", "--store", "s.db"]);
    assert!(status.text().contains("not compressed"), "{}", status.text());
    // A page far behind the last one is empty.
    assert!(browser.page("/?page=18446744073709551615").contains("No more sessions."));
}

/// Two projects have a session of one name: what was found in one leads there.
#[test]
fn what_was_found_leads_to_the_project_that_it_is_of() {
    let mut serving = Serving::start(Script::default(), &[]);
    for (project, word) in [("one", "alphaword"), ("two", "betaword")] {
        serving.stop();
        let folder = serving.place.path(project);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        serving.go_on_as(&["--workspace", &folder.display().to_string()]);
        let mut agent = Agent::new(Api::Anthropic, &format!("Look for the {word} in the log."));
        agent.headers.push(("x-claude-code-session-id".to_owned(), "heron".to_owned()));
        agent.round(&serving);
    }
    let browser = Browser::open(&serving);
    for (other, word) in [("betaword", "alphaword"), ("alphaword", "betaword")] {
        let page = browser.page(&format!("/?q={word}"));
        let found = page.split("id=\"found\"").nth(1).unwrap();
        let link = found.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
        let page = browser.page(&link.replace("&amp;", "&"));
        assert!(page.contains(word) && !page.contains(other), "{link}: {page}");
    }
}
