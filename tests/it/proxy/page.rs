//! The page for people, as a browser asks for it.

use std::os::unix::fs::PermissionsExt;

use epitome_upstream::Script;
use serde_json::json;

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::http::{Answer, Ask};
use super::serving::Serving;

/// A browser that has opened the page of a proxy.
pub(crate) struct Browser<'s> {
    serving: &'s Serving,
    cookie: String,
}

impl<'s> Browser<'s> {
    /// Opens the address that the proxy printed.
    #[track_caller]
    pub(crate) fn open(serving: &'s Serving) -> Self {
        // It is said once the address is.
        eventually("the page is named", || serving.said().contains("/?token="));
        let said = serving.said();
        let token = said.split("/?token=").nth(1).unwrap();
        let token = token.split_whitespace().next().unwrap();
        assert_eq!(token.len(), 64, "256 bits");
        Self::open_with(serving, token)
    }

    #[track_caller]
    fn open_with(serving: &'s Serving, token: &str) -> Self {
        let answer = ask(serving, Ask::new("GET", &format!("/?token={token}")));
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        let set = answer.header("set-cookie").unwrap();
        let port = serving.address().port();
        assert!(set.starts_with(&format!("epitome_{port}=")), "{set}");
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
        assert!(!set.contains(token), "{set}");
        Self { serving, cookie: set.split(';').next().unwrap().to_owned() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(self.serving, Ask::new("GET", path).header("cookie", &self.cookie))
    }

    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text().to_owned()
    }

    /// Sends a form as the page has it, with these fields in it.
    pub(crate) fn act(&self, session: &str, fields: &str) -> Answer {
        ask(self.serving, self.form(session, fields).header("origin", &self.origin()))
    }

    fn form(&self, session: &str, fields: &str) -> Ask {
        let page = self.page(session);
        let [token, seen, scope] = ["token", "seen", "in"].map(|name| field(&page, name));
        let body = format!("token={token}&seen={seen}&in={scope}&{fields}");
        self.posts(session, &body)
    }

    fn posts(&self, session: &str, body: &str) -> Ask {
        let ask = Ask { body: body.into(), ..Ask::new("POST", &format!("{session}/act")) };
        ask.header("cookie", &self.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
    }

    fn origin(&self) -> String {
        format!("http://{}", self.serving.address())
    }
}

/// Asks as a browser does.
fn ask(serving: &Serving, ask: Ask) -> Answer {
    let host = serving.address().to_string();
    let has_host = ask.headers.iter().any(|(name, _)| name == "host");
    let ask = if has_host { ask } else { ask.header("host", &host) };
    ask.header("accept", "text/html,application/xhtml+xml").send(serving.address()).unwrap()
}

/// The value of a hidden field of the first form that has it.
#[track_caller]
fn field(page: &str, name: &str) -> String {
    let from = format!("name=\"{name}\" value=\"");
    let rest = page.split(&from).nth(1).unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// A session whose prompts were compressed.
fn compressed(title: &str) -> Serving {
    let serving = Serving::start(Script::agent(24, calls()), &["--prompt-limit", "16000"]);
    let mut agent = Agent::new(Api::Anthropic, title);
    agent.headers.push(("x-claude-code-session-id".to_owned(), "heron".to_owned()));
    agent.work(&serving);
    assert!(serving.compressions() > 0);
    serving
}

#[test]
fn nothing_is_shown_without_the_secret() {
    let mut serving = compressed("Find out why the heron fails.");
    let paths =
        ["/", "/s/heron", "/s/heron/e/e1", "/health", "/experiments", "/policies", "/events"];
    for path in paths {
        let answer = ask(&serving, Ask::new("GET", path));
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.text().contains("heron"), "{path}: {}", answer.text());
        for cookie in ["epitome_1=00", &format!("epitome_{}=00", serving.address().port())] {
            let answer = ask(&serving, Ask::new("GET", path).header("cookie", cookie));
            assert!([401, 403].contains(&answer.status), "{path}");
        }
    }
    assert_eq!(ask(&serving, Ask::new("GET", "/?token=0123456789abcdef")).status, 403);
    let browser = Browser::open(&serving);
    for path in paths.into_iter().filter(|path| *path != "/events") {
        let answer = browser.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        let foreign = Ask::new("GET", path).header("cookie", &browser.cookie);
        for host in
            ["evil.example", "localhost", &format!("evil.example:{}", serving.address().port())]
        {
            assert_eq!(ask(&serving, foreign.clone().header("host", host)).status, 403, "{path}");
        }
    }
    assert!(browser.page("/").contains("Find out why the heron fails."));
    let page = browser.page("/s/heron");
    assert!(page.contains("Compression 1"));
    assert!(page.contains("<svg class=\"cache\"") && page.contains("written to it"), "{page}");
    // Clients that look whether somebody is there are told as before.
    let alive = serving.send(Ask::new("GET", "/"));
    assert!(alive.status == 200 && alive.text().starts_with("Epitome is here"), "{}", alive.text());
    assert_eq!(serving.send(Ask::new("HEAD", "/")).status, 200);
    let file = serving.place.path(".local/share/epitome/page.token");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // The secret outlives the process, and so does what the page shows.
    let cookie = browser.cookie.split('=').nth(1).unwrap().to_owned();
    serving.stop();
    serving.go_on();
    let again = Browser::open(&serving);
    assert!(again.page("/").contains("Find out why the heron fails."));
    assert_ne!(again.cookie.split('=').nth(1).unwrap(), cookie, "it is of another port");
}

/// Whoever puts the address of the page before a path of the provider's shows the provider no secret.
#[test]
fn the_secret_goes_no_further() {
    let serving = Serving::start(Script::default(), &[]);
    Browser::open(&serving);
    let said = serving.said();
    let token = said.split("/?token=").nth(1).unwrap().split_whitespace().next().unwrap();
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello."}]}"#;
    for (asked, sent) in [
        (format!("/to/anthropic/v1/messages?token={token}"), "/v1/messages"),
        (format!("/v1/messages?beta=true&token={token}&x=%2f"), "/v1/messages?beta=true&x=%2f"),
        (format!("/to/anthropic/v1/messages?{token}"), "/v1/messages"),
        // What a provider calls so is its own.
        ("/v1/messages?token=another".to_owned(), "/v1/messages?token=another"),
    ] {
        serving.send(Ask::post(&asked, body));
        let last = serving.last();
        assert_eq!(last.path, sent, "{asked}");
        let headers = format!("{:?}", last.headers);
        assert!(!headers.contains(token), "{headers}");
    }
}

/// What a policy fails at while it is asked stands on the page of every process on the store, until its
/// session is erased.
#[test]
fn a_policy_is_shown_with_its_last_failure() {
    let mut serving = Serving::start(Script::default(), &[]);
    std::fs::create_dir_all(serving.place.path(".epitome/policies/team")).unwrap();
    serving.place.write(
        ".epitome/policies/team/policy.lua",
        "--- @api 2\nreturn { extends = \"default\", observe = function(job)\n  return job.no.such\nend }\n",
    );
    assert_eq!(serving.place.run(["trust", "-q"]).code, 0);
    serving.go_on_with(&["--profile", "team"]);
    let body = json!({"model": "m", "max_tokens": 9,
        "messages": [{"role": "user", "content": "Why does the heron fail?"}]});
    let ask = Ask::post("/v1/messages", body.to_string()).header("x-epitome-session", "heron");
    assert_eq!(serving.send(ask).status, 200);
    let check = |serving: &Serving| {
        let page = Browser::open(serving).page("/policies");
        let row = page.split("<tr").find(|row| row.contains(">team<")).unwrap().to_owned();
        for told in [
            "Last failure",
            "policy.lua:3: ",
            "job has no `no`",
            "Why does the heron fail?",
            "/s/heron",
        ] {
            assert!(row.contains(told), "{told}: {row}");
        }
    };
    check(&serving);
    // Another process, whose policy is as it was.
    serving.stop();
    serving.go_on();
    check(&serving);
    serving.stop();
    assert_eq!(serving.place.run(["session", "delete", "heron", "--store", "s.db"]).code, 0);
    serving.go_on();
    assert!(!Browser::open(&serving).page("/policies").contains("policy.lua:3: "));
}

#[test]
fn an_undo_on_the_page_changes_the_next_request() {
    let serving = Serving::start(Script::agent(30, calls()), &["--prompt-limit", "32000"]);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the heron fails.");
    agent.headers.push(("x-claude-code-session-id".to_owned(), "heron".to_owned()));
    for _ in 0..9 {
        agent.round(&serving);
    }
    let size = || serving.last().body.to_string().len();
    let (browser, session, whole) = (Browser::open(&serving), "/s/heron", size());

    assert_eq!(browser.act(session, "do=compress").status, 303);
    assert!(browser.page(session).contains("asked for, with the next request"));
    agent.round(&serving);
    let compressed = size();
    assert!(compressed < whole, "{compressed} against {whole}");
    let old = browser.form(session, "do=undo").header("origin", &browser.origin());

    let done = browser.act(session, "do=undo");
    assert_eq!(done.status, 303, "{}", done.text());
    let back = done.header("location").unwrap();
    assert!(back.starts_with("/s/heron?") && back.contains("done=undo"), "{back}");
    assert!(browser.page(back).contains("Taken back."), "{}", browser.page(back));
    agent.round(&serving);
    assert!(size() > whole, "{} against {whole}", size());

    // What was seen before holds no more.
    let late = ask(&serving, old);
    assert_eq!(late.status, 409, "{}", late.text());
    assert!(late.text().contains("moved on"), "{}", late.text());

    let undone = size();
    assert_eq!(browser.act(session, "do=redo").status, 303);
    agent.round(&serving);
    assert!(size() < undone, "{} against {undone}", size());

    assert_eq!(browser.act(session, "pin=e1").status, 303);
    assert!(browser.page("/s/heron/e/e1").contains("pinned"));
    assert_eq!(browser.act(session, "unpin=e1").status, 303);
    assert_eq!(browser.act(session, "unpin=e1").status, 409, "there is none");
    assert_eq!(browser.act(session, "do=nothing").status, 400);
    let shown = serving.place.run(["session", "show", "heron", "--store", "s.db", "--json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
}

/// The first request brings a history: nothing was sent for its turns, and the provider counted one.
#[test]
fn turns_are_told_as_they_were_sent_and_counted() {
    let serving = Serving::start(Script::default(), &[]);
    let body = crate::conversation::anthropic(3).to_string();
    for name in ["heron", ".."] {
        let ask = Ask::post("/v1/messages", body.replace("Reads a file", name));
        let answer = serving.send(ask.header("x-claude-code-session-id", name));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let browser = Browser::open(&serving);
    let page = browser.page("/s/heron");
    let turns = page.matches("<details class=\"turn row\"").count();
    assert!(turns > 2, "{page}");
    assert_eq!(page.matches("nothing was sent for it here").count(), turns - 1, "{page}");
    assert_eq!(page.matches("The provider counted").count(), 1, "{page}");
    let usage = serving.last().usage;
    let counted = page.split("The provider counted").nth(1).unwrap();
    let counted = counted.split("</p>").next().unwrap();
    for (name, count) in [("read from its cache", usage.read), ("answered", usage.output)] {
        assert!(counted.contains(&format!("{name} <b>{count}</b>")), "{name}: {counted}");
    }
    // A browser takes `..` for the folder above, unless it is written otherwise.
    let list = browser.page("/");
    assert!(list.contains("/s/~..") && !list.contains("\"/s/.."), "{list}");
    assert!(browser.page("/s/~..").contains("The provider counted"));

    let erased = ["session", "erase", "heron", "e1", "--store", "s.db"];
    let ran = serving.place.run(erased);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(browser.page("/s/heron").contains(">erased<"));
    assert!(browser.page("/s/heron/e/e1").contains("gone for good"));
}

/// A message in a summary is shown beside it by itself, and a compression with what came again.
#[test]
fn a_message_is_shown_with_what_became_of_it() {
    let serving = compressed("Find out why the heron fails.");
    let browser = Browser::open(&serving);
    let page = browser.page("/s/heron");
    let row = page.split("<tr id=\"").skip(1).find(|row| row.contains(">in a summary<"));
    let row = row.unwrap_or_else(|| panic!("no message in a summary: {page}"));
    let entry = row.split('"').next().unwrap();
    let own = browser.page(&format!("/s/heron/e/{entry}"));
    assert_eq!(own.matches("<article class=\"source\">").count(), 1, "{own}");
    let link = format!("/e/{entry}");
    let source = own.split("<article class=\"source\">").nth(1).unwrap();
    assert!(source.split("</h4>").next().unwrap().contains(&link), "{source}");
    assert!(own.contains(" too.</p>"), "{own}");
    let cut = page.split("href=\"").find(|rest| rest.starts_with("/s/heron/c/")).unwrap();
    let cut = browser.page(cut.split('"').next().unwrap());
    assert!(cut.contains("<h2>Read again</h2>"), "{cut}");
    assert!(cut.contains("that left"), "{cut}");
}

#[test]
fn a_foreign_page_can_do_nothing() {
    let serving = compressed("Find out why the heron fails.");
    let browser = Browser::open(&serving);
    let session = "/s/heron";
    let before = browser.page(session);
    let form = || browser.form(session, "do=undo");
    let host = serving.address().to_string();
    let own = browser.origin();
    let sent = |ask_of: Ask| ask(&serving, ask_of).status;
    assert_eq!(sent(form()), 403, "without an origin");
    for origin in ["null", "http://evil.example", &format!("https://{host}"), "http://127.0.0.1"] {
        assert_eq!(sent(form().header("origin", origin)), 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "none"] {
        let ask = form().header("origin", &own).header("sec-fetch-site", site);
        assert_eq!(sent(ask), 403, "{site}");
    }
    assert_eq!(sent(form().header("origin", &own).header("host", "evil.example")), 403);
    let seen = field(&before, "seen");
    for token in ["", &"0".repeat(64)] {
        let ask = browser.posts(session, &format!("token={token}&seen={seen}&in=default&do=undo"));
        assert_eq!(sent(ask.header("origin", &own)), 403, "{token}");
    }
    let bare = Ask { headers: Vec::new(), ..form() };
    assert_eq!(sent(bare.header("origin", &own)), 401, "without a cookie");
    let got = browser.get("/s/heron/act?do=undo");
    assert_eq!((got.status, got.header("allow")), (405, Some("POST")));
    let posted = Ask::post("/s/heron", "").header("cookie", &browser.cookie);
    assert_eq!(sent(posted.header("origin", &own)), 405);
    assert_eq!(field(&browser.page(session), "seen"), seen, "nothing was done");
    let same_site = form().header("origin", &own).header("sec-fetch-site", "same-origin");
    assert_eq!(sent(same_site), 303);
}

/// What an upstream answers would run in a browser beside the page, and could read all of it; and its
/// cookie opens the page.
#[test]
fn a_browser_shows_nothing_of_an_upstream_and_tells_it_no_secret() {
    let serving = compressed("Find out why the heron fails.");
    let browser = Browser::open(&serving);
    let models = || Ask::new("GET", "/to/openai/v1/models").header("cookie", &browser.cookie);
    let asked = serving.upstream.records().len();
    for [name, value] in [["sec-fetch-mode", "navigate"], ["sec-fetch-dest", "iframe"]] {
        assert_eq!(ask(&serving, models().header(name, value)).status, 403, "{value}");
    }
    assert_eq!(serving.upstream.records().len(), asked, "no upstream was asked");
    ask(&serving, models());
    let told = serving.upstream.records().pop().unwrap();
    assert_eq!((told.route(), told.header("cookie")), ("/v1/models", None));
}

#[test]
fn words_of_others_are_shown_and_never_run() {
    let title = "</script><img src=x onerror=alert(1)> \u{202e}exe.txt \u{1b}[31mred";
    let serving = compressed(title);
    let browser = Browser::open(&serving);
    let cut = serving.place.run(["session", "show", "heron", "--store", "s.db", "--json"]);
    assert_eq!(cut.code, 0, "{cut:?}");
    for path in
        ["/", "/s/heron", "/s/heron?turns=0", "/s/heron/e/e0", "/s/heron/e/e1", "/?q=script"]
    {
        let page = browser.page(path);
        assert!(!page.contains("<img"), "{path}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "{path}");
        assert_eq!(page.matches("</script>").count(), 1, "{path}: the page's own");
    }
    let list = browser.page("/");
    assert!(list.contains("&lt;/script&gt;&lt;img src=x"), "{list}");
    assert!(list.contains("⟨U+202E⟩exe.txt red"), "{list}");
    assert_eq!(browser.get("/s/%3Cscript%3E").status, 404);
    assert_eq!(browser.get("/s/heron/e/e99999").status, 404);
    assert_eq!(browser.get("/s/heron?in=..%2F..%2Fetc").status, 404);
}

#[test]
fn each_token_opens_the_page_of_its_own_tenant() {
    const TOKENS: [(&str, &str); 2] = [("anna", "0123456789abcdef"), ("ben", "fedcba9876543210")];
    let mut serving = Serving::start(Script::default(), &[]);
    let file = TOKENS.map(|(name, token)| format!("{name} {token}\n")).concat();
    serving.place.write("tokens", file);
    serving.go_on_as(&["--token-file", "tokens"]);
    for (name, token) in TOKENS {
        let mut agent = Agent::new(Api::Anthropic, &format!("The secret plan of {name}."));
        agent.headers.push(("x-epitome-token".to_owned(), token.to_owned()));
        agent.headers.push(("x-claude-code-session-id".to_owned(), format!("of-{name}")));
        agent.round(&serving);
    }
    assert!(!serving.said().contains("0123456789abcdef"), "{}", serving.said());
    let user = String::from_utf8(serving.place.read(".local/share/epitome/page.token")).unwrap();
    let user = ask(&serving, Ask::new("GET", &format!("/?token={}", user.trim())));
    assert_eq!(user.status, 403, "the user's own secret opens nothing here");
    for (at, (name, token)) in TOKENS.into_iter().enumerate() {
        let (browser, other) = (Browser::open_with(&serving, token), TOKENS[1 - at].0);
        let search = browser.page("/?q=secret+plan");
        for page in [browser.page("/"), browser.page("/health"), search] {
            assert!(page.contains(name) && !page.contains(other), "{name}: {page}");
        }
        let others = [
            format!("/s/of-{other}"),
            format!("/s/of-{other}?in=default"),
            format!("/s/of-{other}?in=..%2F{other}%2Fdefault"),
            format!("/s/of-{other}/e/e0"),
        ];
        for path in others {
            assert_eq!(browser.get(&path).status, 404, "{path}");
        }
    }
}
