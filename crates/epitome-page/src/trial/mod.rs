//! The page of a policy that is tried whenever it is saved.
//!
//! Invariant: it shows what came of the last try and nothing else; there is nothing that it does. It keeps
//! the rules of the page for people: nothing without its secret, nothing under another name, nothing
//! loaded.

mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};

use crate::address::{PagePath, PageQuery};
use crate::gate::{AdmittedRequest, PageGate, PageHolder, PageRefusal};
use crate::layout;
use crate::live::{LiveFeed, PageEvents, SeenKey};
use crate::page::{LAST_EVENT_ID, welcome, wrong_method};

/// Whose page it is: there is one reader.
const READER: &str = "";

/// What came of trying a policy.
#[derive(Clone, Debug, Default)]
pub struct PolicyTrial {
    /// The policy.
    pub policy: String,
    /// What was played.
    pub conversation: String,
    /// When it was begun, ISO 8601.
    pub at: String,
    /// How long it took.
    pub seconds: f64,
    /// What is wrong with the policy, a line each.
    pub wrong: Vec<String>,
    /// Its tests.
    pub tests: Vec<TrialTest>,
    /// What it printed, a line each.
    pub printed: Vec<String>,
    /// What the conversation came to under it, under what it extends, and under `none`.
    pub plays: Vec<PlayRow>,
    /// The turns of which there is something to tell.
    pub turns: Vec<TrialTurn>,
}

/// A test of a policy.
#[derive(Clone, Debug)]
pub struct TrialTest {
    /// Its file and line.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Why it failed; none where it passed.
    pub failure: Option<String>,
}

/// What a conversation came to under a profile.
#[derive(Clone, Debug)]
pub struct PlayRow {
    /// The profile.
    pub profile: String,
    /// Compressions.
    pub compressions: usize,
    /// What its prompts cost, as a share of what they cost under `none`.
    pub cost: Option<f64>,
    /// The largest prompt, in tokens.
    pub largest: u64,
    /// How many of the facts that must be kept the last prompt holds.
    pub kept: u32,
    /// How many there are.
    pub facts: u32,
    /// Those that it holds no longer.
    pub lost: Vec<String>,
}

/// What is told of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Somebody decided.
    Decision,
    /// Something was done.
    Done,
    /// Something was left undone, or warned of.
    Passed,
    /// Something failed.
    Failed,
}

/// Something that was decided or happened.
#[derive(Clone, Debug)]
pub struct TrialLine {
    /// What it is.
    pub kind: LineKind,
    /// The hook, or the event.
    pub name: String,
    /// Who decided what, or what happened.
    pub what: String,
}

/// A turn of a conversation.
#[derive(Clone, Debug)]
pub struct TrialTurn {
    /// Its number, from 1.
    pub number: usize,
    /// Tokens of the request as it came.
    pub tokens_raw: u64,
    /// Tokens as it was sent.
    pub tokens_sent: u64,
    /// What there is to tell.
    pub lines: Vec<TrialLine>,
    /// The prompts around a compression.
    pub change: Option<PromptChange>,
}

/// The prompt before a compression and the one behind it, as people read them.
#[derive(Clone, Debug)]
pub struct PromptChange {
    /// The prompt of the turn before.
    pub before: String,
    /// The prompt of this turn.
    pub after: String,
}

/// The page.
#[derive(Debug)]
pub struct TrialPage {
    holders: [PageHolder; 1],
    feed: LiveFeed,
    last: Mutex<LastTrial>,
}

#[derive(Debug, Default)]
struct LastTrial {
    trial: Option<Arc<PolicyTrial>>,
    /// How many there were.
    count: u64,
}

impl TrialPage {
    /// A page for whoever knows a secret.
    pub fn new(secret: &str) -> Self {
        let feed = LiveFeed::default();
        feed.tell(READER, seen(0), false);
        Self { holders: [PageHolder::new(READER, secret)], feed, last: Mutex::default() }
    }

    /// Shows what came of the last try, and tells whoever looks.
    pub fn show(&self, trial: PolicyTrial) {
        let mut last = self.last();
        (last.trial, last.count) = (Some(Arc::new(trial)), last.count + 1);
        self.feed.tell(READER, seen(last.count), false);
    }

    /// The events that a request on a port asks for; none where it asks for a page, or may not listen.
    pub fn events(&self, port: u16, head: &Parts) -> Option<PageEvents> {
        let is_asked = head.method == Method::GET
            && PagePath::parse(head.uri.path()) == Some(PagePath::Events);
        let gate = self.gate(port);
        gate.host(&head.headers).ok().filter(|()| is_asked)?;
        gate.visitor(&head.headers).ok()?;
        let last = head.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        Some(self.feed.join(READER, last))
    }

    /// Answers a request on a port.
    pub fn answer<T>(&self, port: u16, request: &Request<T>) -> Response<Bytes> {
        let path = request.uri().path();
        let asked = PagePath::parse(path);
        if asked == Some(PagePath::Icon) {
            return layout::icon(None);
        }
        let turn = path.strip_prefix("/t/").and_then(|number| number.parse().ok());
        if asked != Some(PagePath::Sessions) && turn.is_none() {
            return layout::refusal(StatusCode::NOT_FOUND, "Not there", "There is no such page.");
        }
        let query = PageQuery::parse(request.uri().query().unwrap_or_default());
        let gate = self.gate(port);
        match gate.admit(request, &query) {
            Ok(AdmittedRequest::New(holder)) => welcome(&gate, holder, path),
            Ok(AdmittedRequest::Known(_)) if request.method() == Method::GET => self.page(turn),
            Ok(AdmittedRequest::Known(_)) => wrong_method("GET"),
            Err(refusal) => refused(refusal),
        }
    }

    fn page(&self, turn: Option<usize>) -> Response<Bytes> {
        let trial = self.last().trial.clone();
        let content = match (&trial, turn) {
            (None, _) => Some(view::waiting()),
            (Some(trial), None) => Some(view::page(trial)),
            (Some(trial), Some(number)) => view::turn(trial, number),
        };
        match content {
            Some(content) => layout::answer(StatusCode::OK, &content),
            None => layout::refusal(
                StatusCode::NOT_FOUND,
                "Not there",
                "This turn is not compressed any more.",
            ),
        }
    }

    fn gate(&self, port: u16) -> PageGate<'_> {
        PageGate { holders: &self.holders, port, is_open: false }
    }

    fn last(&self) -> MutexGuard<'_, LastTrial> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What listeners see of so many tries.
fn seen(count: u64) -> crate::live::SeenSessions {
    [(SeenKey::default(), count.to_string())].into_iter().collect()
}

fn refused(refusal: PageRefusal) -> Response<Bytes> {
    let (status, title, why) = match refusal {
        PageRefusal::Host => (
            StatusCode::FORBIDDEN,
            "Another host",
            "This page answers under the name of this machine only: open the address that Epitome \
             printed.",
        ),
        PageRefusal::NoToken => (
            StatusCode::UNAUTHORIZED,
            "Who are you?",
            "Open the address that `epitome policy dev --page` printed: it ends with a token. This \
             browser is remembered after that.",
        ),
        PageRefusal::WrongToken | PageRefusal::Origin | PageRefusal::Form => (
            StatusCode::FORBIDDEN,
            "That token is not known",
            "Open the address that `epitome policy dev --page` printed last.",
        ),
    };
    layout::refusal(status, title, why)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http::header::{COOKIE, HOST, LOCATION, SET_COOKIE};

    use super::*;

    const PORT: u16 = 4000;

    fn request(path: &str, cookie: Option<&str>) -> Request<()> {
        let request = Request::get(path).header(HOST, format!("127.0.0.1:{PORT}"));
        let request = cookie.iter().fold(request, |it, cookie| it.header(COOKIE, *cookie));
        request.body(()).unwrap()
    }

    fn trial() -> PolicyTrial {
        let line = TrialLine {
            kind: LineKind::Decision,
            name: "trigger".to_owned(),
            what: "team → level soft".to_owned(),
        };
        let change = PromptChange {
            before: "user: <b>one</b>\nuser: two".to_owned(),
            after: "assistant: a summary\nuser: two".to_owned(),
        };
        PolicyTrial {
            policy: "team".to_owned(),
            conversation: "chat".to_owned(),
            printed: vec!["policy team (policy.lua:3): <script>".to_owned()],
            turns: vec![TrialTurn {
                number: 7,
                tokens_raw: 900,
                tokens_sent: 300,
                lines: vec![line],
                change: Some(change),
            }],
            ..PolicyTrial::default()
        }
    }

    fn body(response: &Response<Bytes>) -> String {
        String::from_utf8(response.body().to_vec()).unwrap()
    }

    /// A cookie that was drawn with the secret.
    fn cookie(page: &TrialPage) -> String {
        let welcomed = page.answer(PORT, &request("/?token=secret", None));
        assert_eq!(welcomed.headers()[LOCATION], "/");
        let cookie = welcomed.headers()[SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn nothing_is_shown_without_the_secret() {
        let page = TrialPage::new("secret");
        page.show(trial());
        let known = cookie(&page);
        for (path, cookie) in [("/", None), ("/t/7", None), ("/?token=other", None)] {
            let answer = page.answer(PORT, &request(path, cookie));
            assert!(!answer.status().is_success(), "{path}: {answer:?}");
            assert!(!body(&answer).contains("team"), "{path}");
        }
        let head = |cookie| request("/events", cookie).into_parts().0;
        assert!(page.events(PORT, &head(None)).is_none());
        assert!(page.events(PORT, &head(Some(&known))).is_some());
        assert!(page.events(PORT + 1, &head(Some(&known))).is_none(), "another host");
        assert_eq!(page.answer(PORT, &request("/health", Some(&known))).status(), 404);
        let mut post = request("/", Some(&known));
        *post.method_mut() = Method::POST;
        assert_eq!(page.answer(PORT, &post).status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[test]
    fn words_of_others_are_words() {
        let page = TrialPage::new("secret");
        let known = cookie(&page);
        let shown = |path: &str| body(&page.answer(PORT, &request(path, Some(&known))));
        assert!(shown("/").contains("being tried"), "{}", shown("/"));
        page.show(trial());
        assert!(shown("/").contains("(policy.lua:3): &lt;script&gt;"), "{}", shown("/"));
        assert!(shown("/").contains("href=\"/t/7\""), "{}", shown("/"));
        let turn = shown("/t/7");
        assert!(turn.contains("− user: &lt;b&gt;one&lt;/b&gt;"), "{turn}");
        assert!(turn.contains("+ assistant: a summary"), "{turn}");
        assert!(shown("/t/8").contains("not compressed any more"));
    }

    #[tokio::test]
    async fn whoever_looks_is_told_of_the_next_try() {
        let page = TrialPage::new("secret");
        let known = cookie(&page);
        let head = request("/events", Some(&known)).into_parts().0;
        let mut events = page.events(PORT, &head).unwrap();
        page.show(trial());
        for expected in ["event: hello", "event: session"] {
            let told = poll_fn(|context| events.poll_next(context)).await.unwrap();
            let told = String::from_utf8(told.to_vec()).unwrap();
            assert!(told.contains(expected), "{told}");
        }
    }
}
