//! The page of `epitome policy dev`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::chromium::Chromium;
use super::page::CONTRAST;
use super::tab::Tab;
use crate::policy::{TEAM, done, edit};
use crate::program::Place;

/// A policy that is tried whenever it is saved.
struct Trying {
    place: Place,
    child: Child,
    /// The address of its page.
    url: String,
}

impl Trying {
    fn start() -> Self {
        let place = Place::new();
        done(&place, "policy new team --from ollm -q");
        let mut command = place.command(["policy", "dev", "team", "chat", "--page"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let url = lines.find_map(|line| Some(line.split_once("the page: ")?.1.to_owned()));
        // What it says later is not looked at, and must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { place, child, url: url.unwrap() }
    }

    fn tab(&self) -> Option<Tab> {
        let (origin, path) = self.url.split_once("/?").unwrap();
        Some(Tab::open(Chromium::start()?, origin, &format!("/?{path}")))
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_save_shows_what_came_of_it() {
    let trying = Trying::start();
    let Some(mut tab) = trying.tab() else { return };
    assert_eq!(tab.eval("location.search"), "", "the secret is not in the address");
    tab.until("document.body.innerText.includes('2 of 2 passed')");
    tab.until("document.getElementById('live').textContent === 'live'");
    let text = tab.text();
    for told in ["Policy team", "sound", "Beside others", "ollm", "none", "team →"] {
        assert!(text.contains(told), "{told}: {text}");
    }

    // The failing test with its line, and what was printed.
    let next = "  local bounds = ep.next(job)\n";
    edit(&trying.place, next, &format!("{next}  print('<b>soft</b>', bounds.soft)\n"));
    edit(&trying.place, "* job.options.compress_from)", "* job.options.compress_from) + 1");
    tab.until("document.body.innerText.includes('1 of 2 passed')");
    let text = tab.text();
    assert!(text.contains("tests/budgets.lua:8 test_a_compression_is_considered"), "{text}");
    tab.eval("document.getElementById('printed').open = true");
    assert!(tab.text().contains("(policy.lua:27): <b>soft</b>"), "{}", tab.text());

    // The prompt before and after a compression.
    tab.eval("document.querySelector('details.cut').open = true");
    tab.eval("window.isOld = true");
    tab.click("details.cut a.button");
    tab.loaded();
    assert!(tab.text().contains("the prompt before and after"), "{}", tab.text());
    assert!(tab.eval("document.querySelectorAll('.line.gone').length").as_u64() > Some(3));
    assert!(tab.eval("document.querySelectorAll('.line.new').length").as_u64() > Some(0));
    tab.eval("window.isOld = true");
    tab.press("Escape", false);
    tab.loaded();

    // A file that cannot be read, and one that can again.
    trying.place.write(TEAM, "--- @api 2\nreturn {\n");
    tab.until("document.body.innerText.includes('policy.lua:3:')");
    trying.place.write(TEAM, "--- @api 2\nreturn { extends = 'ollm' }\n");
    tab.until("document.querySelectorAll('details.turn').length > 2");
    tab.check();
}

#[test]
fn the_page_of_a_policy_fits_a_phone_and_can_be_read_in_the_dark() {
    let trying = Trying::start();
    let Some(mut tab) = trying.tab() else { return };
    edit(&trying.place, "* job.options.compress_from)", "* job.options.compress_from) + 1");
    tab.until("document.body.innerText.includes('1 of 2 passed')");
    let turn = tab.eval("document.querySelector('details.cut a.button').getAttribute('href')");
    for scheme in ["light", "dark"] {
        tab.prefers(scheme);
        for path in ["/", turn.as_str().unwrap()] {
            tab.go(path);
            tab.eval("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
            for width in [360, 380, 768, 1280] {
                tab.size(width, 900);
                let wide = tab.eval("document.documentElement.scrollWidth");
                assert_eq!(wide, width, "{path} in {scheme} at {width}");
            }
            let least = tab.eval(CONTRAST);
            assert!(least[0].as_f64().unwrap() >= 4.5, "{path} in {scheme}: {least}");
        }
    }
    tab.without_script();
    tab.go("/");
    assert!(tab.text().contains("Turn by turn"), "{}", tab.text());
    tab.check();
}
