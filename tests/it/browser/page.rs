//! What people do with the page.

use epitome_upstream::Script;

use super::chromium::Chromium;
use super::tab::Tab;
use crate::proxy::Serving;
use crate::proxy::agent::{Agent, Api, calls};
use crate::proxy::faults::eventually;

/// What a client sends that wants to get at the page.
const HOSTILE: &str = "</script><img src=x onerror=\"document.title='gone'\"> \u{202e}exe.txt";

/// The path that opens the page.
fn opening(serving: &Serving) -> String {
    eventually("the page is named", || serving.said().contains("/?token="));
    let said = serving.said();
    let token = said.split("/?token=").nth(1).unwrap();
    format!("/?token={}", token.split_whitespace().next().unwrap())
}

fn tab(serving: &Serving) -> Option<Tab> {
    let chromium = Chromium::start()?;
    Some(Tab::open(chromium, &format!("http://{}", serving.address()), &opening(serving)))
}

/// An agent at work in the session `heron`.
fn agent(title: &str) -> Agent {
    let mut agent = Agent::new(Api::Anthropic, title);
    agent.headers.push(("x-claude-code-session-id".to_owned(), "heron".to_owned()));
    agent
}

/// A proxy with a session that was compressed, and a hostile one.
fn compressed() -> (Serving, Agent) {
    let serving = Serving::start(Script::agent(40, calls()), &["--prompt-limit", "32000"]);
    let mut agent = agent("Find out why the heron fails, and never touch src/nest.rs.");
    while serving.compressions() == 0 {
        agent.round(&serving);
    }
    let mut other = Agent::new(Api::Anthropic, HOSTILE);
    other.headers.push(("x-claude-code-session-id".to_owned(), "osprey".to_owned()));
    other.round(&serving);
    (serving, agent)
}

#[test]
fn a_session_is_found_opened_and_its_cut_read() {
    let (serving, _) = compressed();
    let Some(mut tab) = tab(&serving) else { return };
    assert_eq!(tab.eval("location.search"), "", "the secret is not in the address");
    assert_eq!(tab.eval("document.cookie"), "", "no script reads the cookie");
    assert_eq!(tab.eval("document.querySelectorAll('tr.row').length"), 2);
    // Words of others are words.
    assert_eq!(tab.eval("document.title"), "Sessions · Epitome");
    assert_eq!(tab.eval("document.querySelectorAll('main img').length"), 0);
    assert!(tab.text().contains("<img src=x onerror"), "{}", tab.text());
    assert!(tab.text().contains("⟨U+202E⟩exe.txt"), "{}", tab.text());

    tab.click("#search");
    tab.types("heron nest");
    tab.eval("window.isOld = true");
    tab.press("Enter", false);
    tab.loaded();
    assert_eq!(tab.eval("document.querySelectorAll('tr.row').length"), 1);
    assert!(tab.text().contains("never touch src/nest.rs"), "{}", tab.text());

    tab.eval("window.isOld = true");
    tab.click("tr.row .title a");
    tab.loaded();
    assert!(tab.text().contains("Compression 1"), "{}", tab.text());
    assert!(tab.eval("document.querySelectorAll('.plot path.results').length") == 1);
    tab.click("details.cut > summary");
    tab.until("document.querySelector('details.cut').open");
    assert!(tab.text().contains("Decided by"), "{}", tab.text());
    tab.eval("window.isOld = true");
    tab.click("details.cut a.button");
    tab.loaded();
    assert!(tab.text().contains("Before") && tab.text().contains("Now"), "{}", tab.text());
    let closed = "document.querySelectorAll('details.step')[1]";
    if tab.eval(&format!("!!{closed}")) == true {
        tab.eval(&format!("{closed}.id = 'second'"));
        tab.click("#second > summary");
        tab.until(&format!("{closed}.open && {closed}.innerText.length > 40"));
    }
    tab.eval("window.isOld = true");
    tab.click(".source h4 a, .step p a");
    tab.loaded();
    assert!(tab.text().contains("As it came"), "{}", tab.text());
    tab.check();
}

#[test]
fn an_undo_is_pressed_and_the_next_request_is_larger() {
    let serving = Serving::start(Script::agent(40, calls()), &["--prompt-limit", "32000"]);
    let mut agent = agent("Find out why the heron fails.");
    for _ in 0..9 {
        agent.round(&serving);
    }
    let size = || serving.last().body.to_string().len();
    let whole = size();
    let Some(mut tab) = tab(&serving) else { return };
    let press = |tab: &mut Tab, button: &str, said: &str| {
        tab.eval("window.isOld = true");
        tab.click(button);
        tab.loaded();
        assert!(tab.text().contains(said), "{}", tab.text());
        assert_eq!(tab.eval("location.search.includes('done')"), false, "it is said once");
    };
    tab.go("/s/heron");
    press(&mut tab, "#do-compress", "Asked for.");
    agent.round(&serving);
    assert!(size() < whole, "{} against {whole}", size());
    tab.go("/s/heron");
    press(&mut tab, "#do-undo", "Taken back.");
    agent.round(&serving);
    assert!(size() > whole, "{} against {whole}", size());
    tab.go("/s/heron/e/e1");
    press(&mut tab, "button.pin", "Pinned.");
    tab.go("/s/heron/e/e1");
    assert!(tab.text().contains("pinned") && tab.text().contains("Unpin"), "{}", tab.text());
    tab.check();

    // All of that is there without a script.
    tab.without_script();
    tab.go("/s/heron/e/e1");
    tab.eval("window.isOld = true");
    tab.click("button.pin");
    tab.loaded();
    assert!(tab.text().contains("Not pinned any longer."), "{}", tab.text());
    tab.click("details.turn > summary");
    tab.until("document.querySelector('details.turn').open");
    tab.check();
}

#[test]
fn an_open_page_shows_what_happens() {
    let (serving, mut agent) = compressed();
    let Some(mut tab) = tab(&serving) else { return };
    tab.until("document.getElementById('live').textContent === 'live'");
    let mut other = Agent::new(Api::Anthropic, "Count the kestrels of this year.");
    other.headers.push(("x-claude-code-session-id".to_owned(), "kestrel".to_owned()));
    other.round(&serving);
    tab.until("document.body.innerText.includes('Count the kestrels of this year.')");
    tab.until("document.querySelectorAll('tr.row').length === 3");

    tab.go("/s/heron");
    tab.until("document.getElementById('live').textContent === 'live'");
    tab.click("details.cut > summary");
    tab.until("document.querySelector('details.cut').open");
    let turns = tab.eval("document.querySelectorAll('details.turn:not(.cut)').length");
    let turns = turns.as_u64().unwrap();
    agent.round(&serving);
    tab.until(&format!(
        "document.querySelectorAll('details.turn:not(.cut)').length === {}",
        turns + 1
    ));
    assert_eq!(tab.eval("document.querySelector('details.cut').open"), true, "it stays open");
    // What another process does is seen, too.
    let undone = serving.place.run(["session", "undo", "heron", "--store", "s.db"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    tab.until("document.body.innerText.includes('taken back')");
    tab.check();
}

/// What somebody wrote and did not send stays, and what happens is shown all the same; so is that a session
/// is gone.
#[test]
fn an_open_page_waits_for_nobody() {
    let (serving, mut agent) = compressed();
    let Some(mut tab) = tab(&serving) else { return };
    tab.until("document.getElementById('live').textContent === 'live'");
    // As a browser does that goes back to the page.
    tab.eval("document.getElementById('search').value = 'needle'");
    let mut other = Agent::new(Api::Anthropic, "Count the kestrels of this year.");
    other.headers.push(("x-claude-code-session-id".to_owned(), "kestrel".to_owned()));
    other.round(&serving);
    tab.until("document.body.innerText.includes('Count the kestrels of this year.')");
    assert_eq!(tab.eval("document.getElementById('search').value"), "needle");

    // The button that has the focus keeps it.
    tab.go("/s/heron");
    tab.until("document.getElementById('live').textContent === 'live'");
    tab.eval("document.querySelector('details.turn').open = true");
    tab.eval("[...document.querySelectorAll('details.turn[open] .pin')].at(-1).focus()");
    let button = tab.eval("document.activeElement.id");
    assert!(button.as_str().is_some_and(|id| id.starts_with("pin-e")), "{button}");
    let turns = tab.eval("document.querySelectorAll('details.turn:not(.cut)').length");
    agent.round(&serving);
    tab.until(&format!("document.querySelectorAll('details.turn:not(.cut)').length > {turns}"));
    assert_eq!(tab.eval("document.activeElement.id"), button);
    tab.check();

    let deleted = ["session", "delete", "heron", "--forever", "--store", "s.db"];
    assert_eq!(serving.place.run(deleted).code, 0);
    tab.until("document.body.innerText.includes('Not there')");
    assert!(!tab.text().contains("heron fails"), "{}", tab.text());
}

#[test]
fn keys_do_what_buttons_do() {
    let (serving, _) = compressed();
    let Some(mut tab) = tab(&serving) else { return };
    tab.press("/", false);
    assert_eq!(tab.eval("document.activeElement.id"), "search");
    // In a field a key is a letter.
    tab.press("j", false);
    assert_eq!(tab.eval("document.getElementById('search').value"), "j");
    assert_eq!(tab.eval("document.querySelectorAll('.here').length"), 0);
    tab.press("Escape", false);
    tab.press("?", false);
    tab.until("document.querySelector('dialog').open");
    assert!(tab.text().contains("Undo the last compression"), "{}", tab.text());
    tab.press("Escape", false);
    tab.until("!document.querySelector('dialog').open");

    tab.press("j", false);
    tab.press("j", false);
    assert_eq!(
        tab.eval("[...document.querySelectorAll('.row')].findIndex(r => r.matches('.here'))"),
        1
    );
    tab.press("k", false);
    tab.press("j", false);
    tab.press("j", true);
    tab.eval("window.isOld = true");
    tab.press("Enter", false);
    tab.loaded();
    assert_eq!(tab.eval("location.pathname"), "/s/heron");
    tab.press("n", false);
    assert_eq!(tab.eval("document.querySelector('.here').matches('.cut')"), true);
    tab.press("Enter", false);
    tab.until("document.querySelector('.here').open");
    tab.press("u", true);
    tab.eval("window.isOld = true");
    tab.press("u", false);
    tab.loaded();
    assert!(tab.text().contains("Taken back."), "{}", tab.text());
    tab.eval("window.isOld = true");
    tab.press("r", false);
    tab.loaded();
    assert!(tab.text().contains("In force again"), "{}", tab.text());
    tab.press("j", false);
    tab.eval("window.isOld = true");
    tab.press("P", false);
    tab.loaded();
    assert!(tab.text().contains("Pinned."), "{}", tab.text());
    tab.eval("window.isOld = true");
    tab.press("Escape", false);
    tab.loaded();
    assert_eq!(tab.eval("location.pathname"), "/");
    tab.check();
}

/// The ratio of two colours, and the smallest of all texts of the page.
pub(super) const CONTRAST: &str = "(() => {
    const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255;
        return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const ground = (it) => { for (; it; it = it.parentElement) {
        const [r, g, b, a = 1] = parse(getComputedStyle(it).backgroundColor);
        if (a === 1) return [r, g, b]; } return [255, 255, 255]; };
    let least = [99, ''];
    for (const it of document.querySelectorAll('body *')) {
        const own = [...it.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !it.offsetParent || it.closest('svg, option, :disabled')) continue;
        const [a, b] = [light(parse(getComputedStyle(it).color).slice(0, 3)), light(ground(it))];
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < least[0]) least = [ratio, it.outerHTML.slice(0, 200)];
    }
    return least;
})()";

#[test]
fn it_fits_a_phone_and_can_be_read_in_the_dark() {
    let (serving, _) = compressed();
    let Some(mut tab) = tab(&serving) else { return };
    tab.go("/s/heron");
    let cut = tab.eval("document.querySelector('details.cut a.button').getAttribute('href')");
    let cut = cut.as_str().unwrap().to_owned();
    let paths = [
        "/",
        "/?q=heron",
        "/s/heron",
        &cut,
        "/s/heron/e/e2",
        "/policies",
        "/experiments",
        "/health",
    ];
    for scheme in ["light", "dark"] {
        tab.prefers(scheme);
        for path in paths {
            tab.go(path);
            for details in ["details.turn", "details.cut", "details.step"] {
                tab.eval(&format!("document.querySelectorAll('{details}').forEach((it, at) => {{ if (at < 3) it.open = true; }})"));
            }
            for width in [360, 380, 500, 768, 1280] {
                tab.size(width, 900);
                let wide = tab.eval("document.documentElement.scrollWidth");
                assert_eq!(wide, width, "{path} in {scheme} at {width}");
            }
            let least = tab.eval(CONTRAST);
            assert!(least[0].as_f64().unwrap() >= 4.5, "{path} in {scheme}: {least}");
        }
    }
    tab.check();
}
