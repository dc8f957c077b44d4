//! Requests that are made again, and requests that come late.

use super::*;

/// A client whose prompt fills its window: 823 of 1000 tokens, so that compressing pays some day.
fn filled() -> Vec<u8> {
    let results = (0..9).map(|at| Step::Tool(format!("result {at} ").repeat(40)));
    body(&history(&results.collect::<Vec<_>>()))
}

fn turns(journal: &MemoryStore) -> u64 {
    journal.session(&epitome_config::scope::scope("default"), "a").unwrap().figures.turns
}

#[test]
fn a_request_that_brings_nothing_new_is_not_recorded() {
    let journal = Arc::new(MemoryStore::new());
    let messages = history(&[Step::Say("On.".to_owned()), Step::Tool("found".to_owned())]);
    let mut live = session(&journal, 1000, Some("a"));
    for end in requests(&messages) {
        now(live.prompt_for(&body(&messages[..end]))).unwrap();
    }
    let made = turns(&journal);
    let before = format!("{:?}", journal.log());
    let again = now(live.prompt_for(&body(&messages))).unwrap();
    assert_eq!(again.bytes, body(&messages));
    now(session(&journal, 1000, Some("a")).prompt_for(&body(&messages))).unwrap();
    assert_eq!((turns(&journal), format!("{:?}", journal.log())), (made, before));
    // A history that goes back is recorded: its session stands there from now on.
    now(live.prompt_for(&body(&messages[..2]))).unwrap();
    assert_eq!(
        journal.session(&epitome_config::scope::scope("default"), "a").unwrap().figures.messages,
        2
    );
}

#[test]
fn what_nobody_asked_for_for_a_while_is_compressed_at_once() {
    /// Whether the second request is compressed that comes at a time.
    #[track_caller]
    fn check(time: &'static str, restart: bool, expected: bool) {
        let journal = Arc::new(MemoryStore::new());
        let at = Arc::new(Mutex::new("2026-01-02T03:00:00.000Z"));
        let open = || {
            let at = at.clone();
            let builder = Compressor::builder().counter(FixedCounter::Words);
            let builder = builder.clock(move || at.lock().unwrap().to_string());
            builder.window(WindowSetting::Limit(1000)).session(journal.clone(), Some("a"))
        };
        let mut live = open();
        let all = filled();
        let messages = history(&[Step::Say("On.".to_owned())]);
        now(live.prompt_for(&body(&messages[..2]))).unwrap();
        if restart {
            live = open();
        }
        *at.lock().unwrap() = time;
        assert_eq!(has_epoch(&now(live.prompt_for(&all)).unwrap()), expected, "{time}");
    }
    check("2026-01-02T03:05:00.000Z", false, false);
    check("2026-01-02T03:05:01.000Z", false, true);
    check("2026-01-02T03:05:00.000Z", true, false);
    check("2026-01-02T03:05:01.000Z", true, true);
    check("2026-01-02T02:00:00.000Z", false, false);
}
