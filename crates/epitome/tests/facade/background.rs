//! Summaries that models write in the background.

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome::types::hook::{OpRequest, Orders, Summarize};
use epitome::types::{Event, EventKind};
use epitome::{
    Answer, ChatUpdate, CompactionUndo, Compressor, CompressorBuilder, Config, ConfigSources,
    HookResult, Job, LanguageModel, MemoryStore, ModelError, ModelQuestion, NextPolicies, Profile,
    Prompt, WindowSetting,
};
use epitome_upstream::Upstream;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

use crate::dialogue;
use crate::model::asks;
use crate::plan::places;
use crate::talk::{AT, By, Talk, builder, errors, is_valid, names, text};

pub(crate) const WRITTEN: &str = "All was said by a model.";

/// What a model does once it may.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    Write,
    Refuse,
    Crash,
}

/// A model that waits until it may answer.
#[derive(Clone)]
pub(crate) struct Slow {
    name: String,
    does: Does,
    may: Arc<Semaphore>,
    pub(crate) asked: Arc<Mutex<Vec<ModelQuestion>>>,
    /// Questions that it was given up with.
    dropped: Arc<AtomicUsize>,
}

/// Counts itself where it falls before it is over.
struct Guard<'a>(Option<&'a AtomicUsize>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.into_iter().for_each(|dropped| _ = dropped.fetch_add(1, Ordering::Relaxed));
    }
}

impl Slow {
    pub(crate) fn new(does: Does) -> Self {
        let may = Arc::new(Semaphore::new(0));
        Self { name: "slow".to_owned(), does, may, asked: Arc::default(), dropped: Arc::default() }
    }

    fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Lets it answer once.
    pub(crate) fn go(&self) {
        self.may.add_permits(1);
    }
}

#[async_trait::async_trait]
impl LanguageModel for Slow {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        self.asked.lock().unwrap().push(ask.clone());
        let mut guard = Guard(Some(&self.dropped));
        self.may.acquire().await.unwrap().forget();
        guard.0 = None;
        match self.does {
            Does::Write => Ok(WRITTEN.to_owned()),
            Does::Refuse => Ok("I'm sorry, but I can't help with that.".to_owned()),
            Does::Crash => panic_any("the model crashed"),
        }
    }
}

/// A profile under which a cached token costs what another one does, or less.
pub(crate) fn profile(free: bool, more: &str) -> Profile {
    let cache = if free { "read = 1.0\nwrite = 1.0\n" } else { "" };
    let text = format!(
        "[profile.default.options.default]\ngoals.teach = false\n\
         [profile.default.options.default.cache]\n{cache}{more}"
    );
    let config =
        Config::load(ConfigSources::default().text("epitome.toml".as_ref(), &text)).unwrap();
    config.profile_in_use().unwrap()
}

fn settings(model: &Slow, free: bool) -> CompressorBuilder {
    let builder = builder(2000).profile(profile(free, "")).model(model.clone());
    builder.policy(By("asks", asks)).background(Handle::current())
}

/// A talk that fills half of its window.
pub(crate) fn talk(builder: CompressorBuilder, journal: &Arc<MemoryStore>) -> Talk {
    let mut talk = Talk::of(builder, journal);
    talk.chat(20);
    talk
}

/// What stands in the prompt that is compressed without a model.
fn alone(free: bool) -> String {
    text(&talk(builder(2000).profile(profile(free, "")), &Arc::default()).compressed())
}

/// The prompt with which something is told.
pub(crate) async fn told(talk: &mut Talk, event: &str) -> Prompt {
    let mut others = Vec::new();
    for _ in 0..50 {
        yield_now().await;
        let prompt = talk.prompt();
        if names(&prompt.events).iter().any(|name| name == event) {
            return prompt;
        }
        others.extend(prompt.events);
    }
    panic!("`{event}` was never told, but {others:?}");
}

pub(crate) async fn is_asked(model: &Slow, times: usize) {
    for _ in 0..50 {
        if model.asked() == times {
            return;
        }
        yield_now().await;
    }
    panic!("asked {} times, not {times}", model.asked());
}

const READY: &str = "summary-written-in-background";

#[tokio::test]
async fn no_prompt_waits_for_a_model() {
    let (model, journal) = (Slow::new(Does::Write), Arc::new(MemoryStore::new()));
    let mut talk = talk(settings(&model, true), &journal);
    let plain = text(&talk.prompt());
    let first = talk.compressed();
    assert_eq!((text(&first), errors(&first)), (alone(true), vec![]));
    is_asked(&model, 1).await;
    let waiting = talk.prompt();
    assert_eq!((&waiting.bytes, names(&waiting.events).len()), (&first.bytes, 0));
    model.go();
    let later = told(&mut talk, READY).await;
    assert!(text(&later).contains(WRITTEN) && is_valid(&later), "{}", text(&later));
    assert_eq!(names(&later.events), [READY, "checkpoint-aged"]);
    assert!(later.tokens[1] <= first.tokens[1]);
    // It is the same compression, in other words; a new process goes on with them.
    assert_eq!(talk.session.info().unwrap().figures.compressions, 1);
    drop(talk);
    let again = Talk::of(settings(&Slow::new(Does::Crash), true), &journal).prompt();
    assert_eq!((again.bytes, names(&again.events)), (later.bytes, vec![]));
    // Taking it back takes back both.
    let scope = epitome::scope("default");
    let records = CompactionUndo::of(journal.clone(), &scope, "talk").unwrap();
    records.undo(AT).unwrap();
    let mut undone = Talk::of(settings(&Slow::new(Does::Crash), true), &journal);
    assert_eq!(text(&undone.prompt()), plain);
    assert_eq!(undone.session.info().unwrap().figures.compressions, 0);
}

#[tokio::test]
async fn what_is_cached_stays_until_the_prompt_changes_anyway() {
    let model = Slow::new(Does::Write);
    let mut talk = talk(settings(&model, false), &Arc::default());
    let first = talk.compressed();
    is_asked(&model, 1).await;
    model.go();
    let later = told(&mut talk, READY).await;
    assert_eq!(names(&later.events), [READY]);
    assert_eq!((text(&later), later.bytes), (alone(false), first.bytes));
}

#[tokio::test]
async fn an_answer_that_is_waited_for_is_asked_for_again_by_a_new_process() {
    let (model, journal) = (Slow::new(Does::Write), Arc::new(MemoryStore::new()));
    let mut before = talk(settings(&model, true), &journal);
    let first = before.compressed();
    is_asked(&model, 1).await;
    drop(before);
    yield_now().await;
    assert_eq!(model.dropped(), 1);
    let mut after = Talk::of(settings(&model, true), &journal);
    assert_eq!(after.prompt().bytes, first.bytes);
    is_asked(&model, 2).await;
    let asked = model.asked.lock().unwrap().clone();
    assert!(asked[1].user.contains("Question 0: word0") && asked[1].after.is_none());
    model.go();
    assert!(text(&told(&mut after, READY).await).contains(WRITTEN));
}

/// A talk whose next question is answered with a prompt that is too large.
fn nearly_full(talk: &mut Talk) {
    talk.chat(10);
}

#[tokio::test]
async fn models_are_asked_in_advance() {
    let model = Slow::new(Does::Write);
    let mut talk = talk(settings(&model, false), &Arc::default());
    assert!(talk.prompt().events.is_empty());
    yield_now().await;
    assert_eq!(model.asked(), 0);
    nearly_full(&mut talk);
    let warned = talk.prompt();
    assert_eq!(names(&warned.events), ["context-warning"]);
    is_asked(&model, 1).await;
    let asked = model.asked.lock().unwrap()[0].clone();
    assert!(asked.user.contains("Question 0: word0") && asked.user.contains("Answer 19: word19"));
    // What was said last stays, now and later.
    assert_eq!(asked.user.matches("Answer 9: word9").count(), 1);
    model.go();
    assert_eq!(told(&mut talk, READY).await.bytes, warned.bytes);
    // What is said meanwhile stays as it is.
    talk.chat(5);
    let full = talk.prompt();
    assert!(names(&full.events).contains(&"compressed".to_owned()), "{:?}", full.events);
    assert!(!names(&full.events).contains(&"checkpoint-aged".to_owned()));
    assert!(text(&full).contains(WRITTEN) && is_valid(&full));
    assert_eq!(text(&full).matches("Answer 9: word9").count(), 1);
    assert!(text(&full).contains("Answer 4: word4"));
    assert_eq!((errors(&full), model.asked()), (vec![], 1));
}

#[tokio::test]
async fn what_was_asked_in_advance_and_comes_late_is_taken_later() {
    let model = Slow::new(Does::Write);
    let mut talk = talk(settings(&model, true), &Arc::default());
    nearly_full(&mut talk);
    talk.prompt();
    is_asked(&model, 1).await;
    talk.chat(5);
    let full = talk.prompt();
    assert!(names(&full.events).contains(&"compressed".to_owned()), "{:?}", full.events);
    assert!(!text(&full).contains(WRITTEN));
    model.go();
    assert!(text(&told(&mut talk, READY).await).contains(WRITTEN));
    assert_eq!((model.asked(), model.dropped()), (1, 0));
}

#[tokio::test]
async fn what_was_pinned_meanwhile_stays() {
    let (model, journal) = (Slow::new(Does::Write), Arc::new(MemoryStore::new()));
    let mut talk = talk(settings(&model, false), &journal);
    nearly_full(&mut talk);
    talk.prompt();
    is_asked(&model, 1).await;
    model.go();
    told(&mut talk, READY).await;
    // A pin changes what may be summed up: the plan is another one, with what was written of the rest.
    talk.session.pin(epitome::types::EntryId(0), true).unwrap();
    talk.chat(5);
    let full = talk.prompt();
    assert!(names(&full.events).contains(&"compressed".to_owned()), "{:?}", full.events);
    let pinned = "\n\nQuestion 0: word0";
    assert!(text(&full).contains(&pinned.replace('\n', "\\n")), "{}", text(&full));
    assert!(text(&full).contains(WRITTEN), "{}", text(&full));
}

#[tokio::test]
async fn a_model_that_fails_or_crashes_changes_nothing() {
    for (does, why) in [
        (Does::Refuse, "`slow` refused: “I'm sorry, but I can't help"),
        (Does::Crash, "`slow` ended in the middle of it"),
    ] {
        let model = Slow::new(does);
        let mut talk = talk(settings(&model, true), &Arc::default());
        let first = talk.compressed();
        assert_eq!(text(&first), alone(true));
        is_asked(&model, 1).await;
        model.go();
        let later = told(&mut talk, "compression-error").await;
        assert_eq!(later.bytes, first.bytes);
        let [error] = &errors(&later)[..] else { panic!("{:?}", later.events) };
        assert!(error.strip_prefix("summarisation: ").unwrap().starts_with(why), "{error}");
        // It is not asked for the same again.
        for _ in 0..10 {
            yield_now().await;
            assert!(talk.prompt().events.is_empty());
        }
        assert_eq!(model.asked(), 1);
    }
}

/// Time passes by itself where everybody waits.
#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_is_given_up() {
    let model = Slow::new(Does::Write);
    let mut talk = talk(settings(&model, true), &Arc::default());
    let first = talk.compressed();
    is_asked(&model, 1).await;
    tokio::time::sleep(Duration::from_secs(121)).await;
    let later = told(&mut talk, "compression-error").await;
    assert_eq!((&later.bytes, model.dropped()), (&first.bytes, 1));
    let why = "summarisation: `slow` did not come to an end in the background within 120 s";
    assert_eq!(errors(&later), [why]);
}

/// However often a conversation goes on before a model answers: its words stand at last, in whatever
/// covers its messages by then.
#[tokio::test]
async fn what_a_model_was_asked_is_heard_to_its_end() {
    let model = Slow::new(Does::Write);
    let mut talk = talk(settings(&model, true), &Arc::default());
    talk.compressed();
    is_asked(&model, 1).await;
    for _ in 0..3 {
        talk.chat(4);
        assert!(!text(&talk.compressed()).contains(WRITTEN));
    }
    yield_now().await;
    assert_eq!((model.asked(), model.dropped()), (1, 0));
    model.go();
    told(&mut talk, READY).await;
    talk.chat(4);
    assert!(text(&talk.compressed()).contains(WRITTEN));
}

#[tokio::test]
async fn models_are_waited_for_where_the_profile_says_so_or_there_is_no_runtime() {
    let waits = profile(false, "[profile.default.options.default.summaries]\nbackground = false\n");
    let check = async |builder: CompressorBuilder| {
        let model = Slow::new(Does::Write);
        model.go();
        let mut talk = talk(builder.model(model.clone()), &Arc::default());
        assert!(text(&talk.compressed()).contains(WRITTEN));
        assert_eq!(model.asked(), 1);
    };
    check(builder(2000).profile(waits).background(Handle::current())).await;
    check(builder(2000)).await;
}

/// Many a server does one thing at a time.
#[tokio::test]
async fn nothing_is_asked_while_an_answer_is_under_way() {
    let upstream = Upstream::start(dialogue::answering("Noted.")).unwrap();
    let model = Slow::new(Does::Write);
    let builder = Compressor::builder().model(model.clone()).background(Handle::current());
    let mut talk =
        dialogue::over(builder, ("openai", "/v1"), &upstream, WindowSetting::Limit(1500));
    for n in 0..40 {
        let mut meanwhile = 0;
        let heard = &mut |_: ChatUpdate<'_>| meanwhile += model.asked();
        talk.send(&dialogue::told(n), heard).await.unwrap();
        assert_eq!(meanwhile, 0);
        for _ in 0..10 {
            yield_now().await;
        }
        if model.asked() == 1 {
            return;
        }
    }
    panic!("no model was asked");
}

/// A person does not wait while the same server is at a summary; but the third is written to its end.
/// One that another server is at is left to it.
#[tokio::test]
async fn a_server_that_a_person_waits_for_gives_a_summary_up_twice() {
    let check = async |is_same: bool, dropped: &[usize]| {
        let upstream = Upstream::start(dialogue::answering("Noted.")).unwrap();
        let address = if is_same { upstream.url() } else { "http://127.0.0.1:9".to_owned() };
        let model = Slow::new(Does::Write).named(format!("openai:small@{address}/v1"));
        let builder = Compressor::builder().model(model.clone()).background(Handle::current());
        let mut talk =
            dialogue::over(builder, ("openai", "/v1"), &upstream, WindowSetting::Limit(1500));
        let mut found = Vec::new();
        for n in 0..40 {
            let was_asked = model.asked() > 0;
            talk.send(&dialogue::told(n), &mut |_| ()).await.unwrap();
            if was_asked {
                found.push(model.dropped());
            }
            for _ in 0..10 {
                yield_now().await;
            }
        }
        found.dedup();
        assert_eq!(found, dropped);
    };
    check(true, &[1, 2]).await;
    check(false, &[0]).await;
}

#[tokio::test]
async fn what_the_provider_has_forgotten_is_said_in_the_words_of_the_model() {
    let model = Slow::new(Does::Write);
    let time = Arc::new(Mutex::new("2026-01-02T03:04:05Z"));
    let clock = Arc::clone(&time);
    let settings = settings(&model, false).clock(move || clock.lock().unwrap().to_string());
    let mut talk = talk(settings, &Arc::default());
    let first = talk.compressed();
    is_asked(&model, 1).await;
    model.go();
    assert_eq!(told(&mut talk, READY).await.bytes, first.bytes);
    *time.lock().unwrap() = "2026-01-02T03:09:06Z";
    let later = talk.prompt();
    assert!(text(&later).contains(WRITTEN), "{:?}", later.events);
}

/// Sums up the first messages with the first compression, and further ones with the next.
fn in_steps(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    let Job::Plan(job) = job else { return Ok(None) };
    let entries = if job.common.compressions == 0 { places(2, 9) } else { places(10, 19) };
    let order = OpRequest::Summarize(Summarize { entries, target: 60, level: None });
    Ok(Some(Answer::Plan(Orders { ops: vec![order], ..Orders::default() })))
}

#[tokio::test]
async fn a_checkpoint_that_stays_gets_its_words_with_the_next_compression() {
    let model = Slow::new(Does::Write);
    let steps = settings(&model, false).policy(By("steps", in_steps));
    let mut talk = talk(steps, &Arc::default());
    let first = talk.compressed();
    is_asked(&model, 1).await;
    model.go();
    assert_eq!(told(&mut talk, READY).await.bytes, first.bytes);
    let second = talk.compressed();
    let said = text(&second);
    assert_eq!((said.matches(WRITTEN).count(), errors(&second)), (1, vec![]));
    let aged = |event: &Event| match &event.what {
        EventKind::CheckpointAged { levels, .. } => Some(*levels),
        _ => None,
    };
    assert_eq!(second.events.iter().find_map(aged), Some([3, 3]));
    // The new one is asked for, too.
    is_asked(&model, 2).await;
    assert_eq!(talk.session.info().unwrap().figures.compressions, 2);
}
