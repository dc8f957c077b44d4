//! A job for each hook, about a made-up conversation of 400 messages.
//!
//! Invariant: what jobs say of bounds is what the chain answers to `budgets`, as in a session.

use epitome::types::hook::{
    AgeJob, ArriveJob, Arriving, Budgets, BudgetsJob, Cache, Columns, Common, Covered, EventJob,
    Fact, GoalsJob, ModelFacts, ObserveJob, Occasion, Place, PlanJob, PromptJob, Purpose,
    RenderJob, Standing, StatusJob, Texts, Tokens, TriggerJob, VerifyJob, Wording,
};
use epitome::types::{Cause, Event, Goals, Happened};
use epitome::{Chain, Job};

/// Messages, in exchanges of four.
const ENTRIES: u32 = 400;
const EXCHANGE: u32 = 4;

/// What each message takes, and the limit, in tokens.
const TOKENS: u64 = 90;
const LIMIT: u64 = 32_000;

/// What every message says.
const TEXT: &str = "The part reads its line twice; I decided to keep one reader and its test.";

/// What the jobs are made from.
pub(super) struct Jobs {
    common: Common,
    budgets: Budgets,
}

struct Same;

impl Texts for Same {
    fn text(&self, place: Place) -> Option<String> {
        (1..=ENTRIES).contains(&place.0).then(|| TEXT.to_owned())
    }
}

impl Jobs {
    /// Jobs for policies that set these bounds.
    pub(super) fn new(chain: &Chain) -> Self {
        let conversation = u64::from(ENTRIES) * TOKENS;
        let (system, checkpoints) = (500, 2_000);
        let total = conversation + system + checkpoints;
        let common = Common {
            session: "bench".to_owned(),
            model: ModelFacts { limit: LIMIT, stated: true, ..ModelFacts::default() },
            tokens: Tokens { total, system, checkpoints, conversation, tools: 0 },
            compressions: 2,
            confidence: 1.0,
            now: "2026-01-01T00:00:00Z".to_owned(),
            ..Common::default()
        };
        let job = BudgetsJob { common: common.clone() };
        let budgets = chain.ask().budgets(&job).ok().flatten().unwrap_or_default();
        let common = Common { class: budgets.class, ..common };
        Self { common, budgets }
    }

    /// Does something with the job of a hook.
    pub(super) fn with(&self, hook: &str, act: impl FnOnce(&Job<'_>)) {
        let (common, budgets) = (self.common.clone(), self.budgets.clone());
        let (checkpoints, text) = (checkpoints(), TEXT);
        let entry = Arriving {
            id: Place(ENTRIES),
            role: "tool".to_owned(),
            speaker: "tool".to_owned(),
            tool: Some("read_file".to_owned()),
            args: Some(r#"{"path":"src/lib.rs"}"#.to_owned()),
            tokens: 3_000,
            lines: 200,
            error: false,
        };
        match hook {
            "budgets" => act(&Job::Budgets(&BudgetsJob { common })),
            "arrive" => {
                let (original, file) = ("1a2b3c4d".to_owned(), None);
                act(&Job::Arrive(&ArriveJob { common, entry, original, file, text }));
            }
            "observe" => {
                let intent = Some("Go on.".to_owned());
                let (actions, typed) = (Vec::new(), intent.clone());
                let since_epoch = 12;
                let job = ObserveJob { common, entry, actions, intent, typed, since_epoch, text };
                act(&Job::Observe(&job));
            }
            "goals" => {
                let (speaker, text) = ("model".to_owned(), TEXT.to_owned());
                let goals = Goals::default();
                act(&Job::Goals(&GoalsJob { common, speaker, text, goals }));
            }
            "trigger" => {
                let (cause, cache) = (Occasion::Turn, Cache { warm: true, ..Cache::default() });
                act(&Job::Trigger(&TriggerJob {
                    common,
                    cause,
                    replied: true,
                    floor: 1_500,
                    budgets,
                    cache,
                    stalled: None,
                    answered: vec!["read_file".to_owned()],
                    asked: None,
                    waiting: false,
                    mark: None,
                }));
            }
            "plan" => act(&Job::Plan(&PlanJob {
                common,
                entries: columns(),
                checkpoints,
                target: LIMIT / 2,
                most: LIMIT,
                floor: 1_500,
                budgets,
                cause: Cause::Soft,
                mark: None,
                mark_lost: false,
                texts: &Same,
            })),
            "age" => act(&Job::Age(&AgeJob { common, checkpoints, budgets })),
            "prompt" => {
                let must_keep = vec![TEXT.to_owned()];
                let (op, max_tokens) = (Purpose::Summarize, 800);
                let goals = Goals::default();
                act(&Job::Prompt(&PromptJob {
                    common,
                    op,
                    level: Some(3),
                    covered: covered(),
                    must_keep,
                    goals,
                    max_tokens,
                    texts: &Same,
                }));
            }
            "verify" => {
                let must_keep =
                    vec![Fact { text: TEXT.to_owned(), found: true, ..Fact::default() }];
                let candidate = TEXT.to_owned();
                act(&Job::Verify(&VerifyJob {
                    common,
                    op: Purpose::Summarize,
                    level: Some(3),
                    covered: covered(),
                    candidate,
                    must_keep,
                    tokens: 20,
                    max_tokens: 40,
                    texts: &Same,
                }));
            }
            "render" => {
                let part = Wording::Checkpoint;
                act(&Job::Render(&RenderJob {
                    common,
                    part,
                    system: None,
                    stored: true,
                    files: false,
                }));
            }
            "status" => {
                let (report, history, done) = (false, Vec::new(), Default::default());
                let job = StatusJob { common, used: 0.8, budgets, report, history, done };
                act(&Job::Status(&job));
            }
            _ => {
                let what = Happened::ContextWarning { percent: 80 };
                let (session, at) = (common.session.clone(), common.now.clone());
                let event = Event { session, at, tokens: [LIMIT, LIMIT], what };
                act(&Job::Event(&EventJob { common, event }));
            }
        }
    }
}

fn columns() -> Columns {
    let mut columns = Columns { count: ENTRIES, ..Columns::default() };
    for place in 0..ENTRIES {
        let (role, speaker) = match place % EXCHANGE {
            0 => ("user", "human"),
            2 => ("tool", "tool"),
            _ => ("assistant", "model"),
        };
        columns.role.push(role);
        columns.speaker.push(speaker);
        columns.tokens.push(TOKENS);
        columns.sent.push(TOKENS);
        columns.exchange.push(match place % EXCHANGE {
            0 => place + 1,
            at => place + 2 - at.min(2),
        });
        columns.pinned.push(place == 0);
        columns.tools.push((1..3).contains(&(place % EXCHANGE)));
        let calls = (1..3).contains(&(place % EXCHANGE));
        columns.names.push(calls.then(|| "read_file".to_owned()).into_iter().collect());
        columns.key.push(format!("{place:08x}"));
        columns.checkpoint.push(0);
        columns.inputs.push(Vec::new());
    }
    columns
}

fn covered() -> Covered {
    let Columns { count, role, speaker, .. } = columns();
    Covered { count, role, speaker }
}

fn checkpoints() -> Vec<Standing> {
    let standing = |number: u32| Standing {
        id: format!("checkpoint-{number}"),
        level: 3,
        number,
        age: 3 - number,
        tokens: 1_000,
        original: 20_000,
        covers: 60,
        created: "2026-01-01T00:00:00Z".to_owned(),
        rewritten: 0,
    };
    vec![standing(1), standing(2)]
}
