//! Two processes on one file: what either of them does with a conversation, the other goes by.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use epitome::types::{
    Actor, GoalAction, GoalChange, JournalMark, MilestoneState, Priority, TokenUsage,
};
use epitome::{
    CompressorBuilder, Config, ConfigSources, Format, Job, LOCAL, ModelResponse, Profile, Prompt,
    RoutedPrompt, RoutedRequest, SessionAdmin, SessionRouter, SqliteStore,
};
use serde_json::{Value, json};

use crate::talk::{AT, builder, names, with};

/// A process that serves what is recorded in a file.
fn process(
    file: &Path,
    settings: impl Fn() -> CompressorBuilder + Send + Sync + 'static,
) -> SessionRouter {
    SessionRouter::new(Arc::new(SqliteStore::open(file).unwrap()), settings)
}

/// What another process sees of it.
fn elsewhere(file: &Path) -> SessionAdmin {
    SessionAdmin::new(Arc::new(SqliteStore::open(file).unwrap()), Profile::default())
}

/// A conversation that its client holds.
#[derive(Default)]
struct Client {
    messages: Vec<Value>,
}

impl Client {
    /// Says something to a process; the model answers `answer`.
    async fn turn(&mut self, process: &SessionRouter, answer: &str) -> Prompt {
        let sent = self.ask(process).await;
        self.messages.push(json!({"role": "assistant", "content": answer}));
        sent.prompt
    }

    /// The same, where the provider counts in its own way, and the process hears of it.
    async fn counted_turn(&mut self, process: &SessionRouter) -> Prompt {
        let sent = self.ask(process).await;
        let answer = json!({"role": "assistant", "content": "It is whole again."});
        // It differs by text, and by more and more.
        let turn = self.messages.len() as u64;
        let counted = sent.prompt.tokens[1] * (120 + turn % 7 + turn / 10) / 100;
        let usage = TokenUsage { input: counted, ..TokenUsage::default() };
        let messages = vec![answer.to_string().into()];
        let answered = ModelResponse { usage, messages, stop: None };
        process.record_response(&sent, &answered).await;
        self.messages.push(answer);
        sent.prompt
    }

    async fn ask(&mut self, process: &SessionRouter) -> RoutedPrompt {
        let turn = self.messages.len() / 2;
        let text = format!("Now mend part {turn}. {}", "It is long. ".repeat(20));
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "m", "max_tokens": 9, "messages": self.messages});
        let ask = RoutedRequest {
            bytes: body.to_string().into(),
            format: Format::Anthropic,
            tenant: LOCAL.to_owned(),
            label: Some("client".to_owned()),
            window: None,
            told: None,
            cuts: false,
            client: None,
        };
        process.prompt_for(&ask).await.unwrap()
    }
}

/// How its provider counts is learned from each answer, whichever process hears it, and limits the next
/// prompt, whichever process makes that.
#[tokio::test]
async fn what_answers_teach_of_counting_holds_wherever_a_conversation_goes_on() {
    let mut all = Vec::new();
    // One process, two by turns, two with runs of three, and one that is started again.
    let arranged: [fn(usize) -> usize; 4] =
        [|_| 0, |turn| turn % 2, |turn| turn / 3 % 2, |turn| turn / 7];
    for serves in arranged {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("epitome.db");
        let mut processes: Vec<Option<SessionRouter>> = (0..20).map(|_| None).collect();
        let (mut client, mut prompts) = (Client::default(), Vec::new());
        for turn in 0..120 {
            let process =
                processes[serves(turn)].get_or_insert_with(|| process(&file, || builder(3000)));
            let prompt = client.counted_turn(process).await;
            prompts.push((prompt.limit, prompt.bytes));
        }
        let limits: BTreeSet<_> = prompts.iter().map(|(limit, _)| *limit).collect();
        assert!(limits.len() > 3, "{limits:?}");
        all.push(prompts);
    }
    let [whole, others @ ..] = &all[..] else { unreachable!() };
    for (arranged, prompts) in others.iter().enumerate() {
        let differs = whole.iter().zip(prompts).position(|(one, other)| one != other);
        assert_eq!(differs, None, "arrangement {arranged}");
    }
}

/// A process that began a conversation does not go by its own notes where others went on.
#[tokio::test]
async fn a_policy_finds_what_it_noted_last_whichever_process_serves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.db");
    let noted: Arc<Mutex<Vec<u32>>> = Arc::default();
    let counting = || {
        let noted = Arc::clone(&noted);
        move || {
            let noted = Arc::clone(&noted);
            with(900, move |job, rest| {
                if let Job::Status(_) = job {
                    let count = rest.memo("team").map_or(0, |memo| memo.parse().unwrap());
                    noted.lock().unwrap().push(count);
                    rest.set_memo("team", (count + 1).to_string());
                }
                Ok(None)
            })
        }
    };
    let processes = [process(&file, counting()), process(&file, counting())];
    let mut client = Client::default();
    for serves in [0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1] {
        client.turn(&processes[serves], "It is whole again.").await;
    }
    assert_eq!(*noted.lock().unwrap(), (0..12).collect::<Vec<_>>());
    let keeper = elsewhere(&file);
    assert_eq!(keeper.journal().sessions(keeper.scope(), 0, 9, false).unwrap().len(), 1);
}

/// What a person does behind an answer stands over what that answer said: it was asked for before, and is
/// heard with the next request.
#[tokio::test]
async fn what_people_do_behind_an_answer_stands_over_it() {
    let said =
        "[GOAL] Rewrite it in Go\n[DECISION] One file - LOCKED\n[CHECKPOINT] Parser - PENDING";
    let set = GoalChange::Set { text: "Stay in Rust".into(), priority: Priority::High };
    let parser = |state| GoalChange::Milestone { text: "Parser".into(), state };
    let done = [
        vec![set.clone(), parser(MilestoneState::Completed)],
        vec![set, parser(MilestoneState::Completed), GoalChange::Complete],
    ];
    // Behind the first answer, and behind a later one.
    for (before, done) in [(0, &done[0]), (2, &done[0]), (1, &done[1])] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("epitome.db");
        let process = process(&file, || builder(900));
        let mut client = Client::default();
        for _ in 0..before {
            client.turn(&process, "It is whole again.").await;
        }
        client.turn(&process, said).await;
        let keeper = elsewhere(&file);
        let acts = done.iter().map(|change| GoalAction::new(None, change.clone())).collect();
        let meant = keeper.change_goals(None, acts, &Actor::User, AT).unwrap().goals;
        let told = client.turn(&process, "[GOAL] Rust, in two files").await.events;
        assert!(names(&told).contains(&"policy-warning".to_owned()), "{told:?}");
        let mut now = elsewhere(&file).goals(None).unwrap().goals;
        // What contradicts nothing is taken up.
        let decided = std::mem::take(&mut now.decisions).into_iter();
        let decided = decided
            .chain(now.goals.iter_mut().flat_map(|goal| std::mem::take(&mut goal.decisions)));
        assert_eq!(
            decided.map(|it| (it.text, it.locked)).collect::<Vec<_>>(),
            [("One file".into(), true)]
        );
        assert_eq!(now.goals, meant.goals);
        // The next answer knew of it.
        client.turn(&process, "Going on.").await;
        let goals = elsewhere(&file).goals(None).unwrap().goals;
        assert_eq!(goals.active().unwrap().text, "Rust, in two files");
    }
}

/// A compression states goals and decisions. Where its client goes back behind one of them, it is in force
/// no longer.
#[tokio::test]
async fn what_is_taken_back_with_its_messages_is_stated_no_more() {
    for back in 1..4 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("epitome.db");
        let process = process(&file, || builder(900));
        let mut client = Client::default();
        let mut turn = 0;
        while {
            let answer = format!("[DECISION] Socket q{turn}x is used - LOCKED\nGoing on.");
            let prompt = client.turn(&process, &answer).await;
            !names(&prompt.events).contains(&"compressed".to_owned())
        } {
            turn += 1;
        }
        client.messages.truncate(client.messages.len() - 2 * back);
        let prompt = client.turn(&process, "Otherwise.").await;
        let sent = String::from_utf8(prompt.bytes.to_vec()).unwrap();
        assert!(prompt.tokens[1] <= 900, "{:?}", prompt.tokens);
        let stated: Vec<_> =
            (0..=turn).filter(|turn| sent.contains(&format!("q{turn}x"))).collect();
        assert_eq!(stated, (0..=turn - back).collect::<Vec<_>>(), "{back} back");
    }
}

/// Pins the first message, or lets it go, in another process.
fn pin_or_unpin(file: &Path, pins: bool) {
    let keeper = elsewhere(file);
    let session = keeper.session(None).unwrap().name;
    let first = keeper.history(None).unwrap().messages[0].key;
    let mark = if pins { JournalMark::Pin(first) } else { JournalMark::Unpin(first) };
    keeper.journal().record_mark(keeper.scope(), &session, &mark, AT).unwrap();
}

/// Settings under which something is done while each plan is made; it is told which one that is, from 1 on.
fn at_each_plan(
    planned: &Arc<Mutex<u32>>,
    act: impl Fn(u32) + Clone + Send + Sync + 'static,
) -> impl Fn() -> CompressorBuilder + Send + Sync + 'static {
    let planned = Arc::clone(planned);
    move || {
        let (planned, act) = (Arc::clone(&planned), act.clone());
        with(900, move |job, _| {
            if let Job::Plan(_) = job {
                let mut planned = planned.lock().unwrap();
                *planned += 1;
                act(*planned);
            }
            Ok(None)
        })
    }
}

/// Whoever pins something while each plan is made does not keep the request from being answered.
#[tokio::test]
async fn a_storm_of_pins_holds_up_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.db");
    let planned: Arc<Mutex<u32>> = Arc::default();
    let pins = {
        let file = file.clone();
        move |planned| pin_or_unpin(&file, planned % 2 == 1)
    };
    let process = process(&file, at_each_plan(&planned, pins));
    let mut client = Client::default();
    let mut compressed = 0;
    for _ in 0..40 {
        let prompt = client.turn(&process, "It is whole again.").await;
        assert!(prompt.tokens[1] <= 900, "{:?}", prompt.tokens);
        compressed += u32::from(names(&prompt.events).contains(&"compressed".to_owned()));
    }
    let planned = *planned.lock().unwrap();
    assert!(compressed > 1 && planned <= compressed * 10, "{compressed} of {planned} plans");
}

/// A compression that is made anew since somebody pinned something meanwhile: what was decided in the
/// newest message is recorded by then, and nobody hears it again.
#[tokio::test]
async fn what_is_decided_while_others_act_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.db");
    // Once for each compression: the one that is made anew stands.
    let pins = {
        let file = file.clone();
        move |planned| {
            if planned % 2 == 1 {
                pin_or_unpin(&file, planned % 4 == 1);
            }
        }
    };
    let process = process(&file, at_each_plan(&Arc::default(), pins));
    let mut client = Client::default();
    let mut compressed = 0;
    for turn in 0..40 {
        let answer = format!("[DECISION] Socket q{turn}x is used - LOCKED\nGoing on.");
        let prompt = client.turn(&process, &answer).await;
        compressed += u32::from(names(&prompt.events).contains(&"compressed".to_owned()));
    }
    assert!(compressed > 1, "{compressed}");
    let goals = format!("{:?}", elsewhere(&file).goals(None).unwrap());
    let lost: Vec<_> = (0..39).filter(|turn| !goals.contains(&format!("q{turn}x"))).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// What others did while a compression was made moved the records under it: it is met at the next request.
#[tokio::test]
async fn what_is_done_during_a_compression_holds_at_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.db");
    let acts = {
        let file = file.clone();
        let acted: Arc<Mutex<bool>> = Arc::default();
        move || {
            let (file, acted) = (file.clone(), Arc::clone(&acted));
            let builder = with(900, move |job, _| {
                if let Job::Plan(_) = job
                    && !std::mem::replace(&mut *acted.lock().unwrap(), true)
                {
                    let keeper = elsewhere(&file);
                    let set =
                        GoalChange::Set { text: "Whole parts".into(), priority: Priority::High };
                    keeper
                        .change_goals(None, vec![GoalAction::new(None, set)], &Actor::User, AT)
                        .unwrap();
                }
                Ok(None)
            });
            let toml = "[profile.default]\noptions.default.snapshots.auto = false";
            let sources = ConfigSources::default().text(Path::new("epitome.toml"), toml);
            builder.profile(Config::load(sources).unwrap().profile("default").unwrap())
        }
    };
    // Of a session that another process began nothing is lent.
    let begins = process(&file, || builder(900));
    let process = process(&file, acts);
    let mut client = Client::default();
    client.turn(&begins, "It is whole again.").await;
    let mut told = Vec::new();
    for turn in 0..30 {
        let events = client.turn(&process, "It is whole again.").await.events;
        let names = names(&events);
        told.extend(
            ["compressed", "goal-updated"]
                .into_iter()
                .filter_map(|name| names.iter().any(|it| it == name).then_some((turn, name))),
        );
    }
    let [(compressed, "compressed"), (next, "goal-updated"), ..] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(next, compressed + 1);
}
