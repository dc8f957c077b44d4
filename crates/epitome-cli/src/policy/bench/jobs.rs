//! A job for each hook, about a made-up conversation of 400 messages.
//!
//! Invariant: what jobs say of bounds is what the chain answers to `budgets`, as in a session.

use epitome::types::hook::{
    AgeJob, Arriving, Budgets, BudgetsJob, Cache, Columns, Common, Covered, EventJob, Fact,
    FactsJob, GoalsJob, MessageNumber, MessageTexts, ModelFacts, ObserveJob, Occasion, PlanJob,
    Purpose, RecallJob, RecallPassage, RenderJob, Standing, StatusJob, SummaryPromptJob, Tokens,
    ToolResultJob, TriggerJob, VerifyJob, Wording,
};
use epitome::types::{CompactionCause, Event, EventKind, Goals, Role, Speaker};
use epitome::{Job, PolicyChain};

/// Messages, in exchanges of four.
const ENTRIES: u32 = 400;
const EXCHANGE: u32 = 4;

/// Passages that a search found.
const PASSAGES: u64 = 40;

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

impl MessageTexts for Same {
    fn text(&self, place: MessageNumber) -> Option<String> {
        (1..=ENTRIES).contains(&place.0).then(|| TEXT.to_owned())
    }
}

impl Jobs {
    /// Jobs for policies that set these bounds.
    pub(super) fn new(chain: &PolicyChain) -> Self {
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
        match hook {
            "budgets" => act(&Job::Budgets(&BudgetsJob { common: self.common.clone() })),
            "tool_result" => act(&Job::ToolResult(&self.tool_result())),
            "observe" => act(&Job::Observe(&self.observe())),
            "goals" => act(&Job::Goals(&self.goals())),
            "facts" => act(&Job::Facts(&self.facts())),
            "trigger" => act(&Job::Trigger(&self.trigger())),
            "plan" => act(&Job::Plan(&self.plan())),
            "age" => act(&Job::Age(&self.age())),
            "summary_prompt" => act(&Job::SummaryPrompt(&self.summary_prompt())),
            "verify" => act(&Job::Verify(&self.verify())),
            "render" => act(&Job::Render(&self.render())),
            "recall" => act(&Job::Recall(&self.recall())),
            "status" => act(&Job::Status(&self.status())),
            _ => act(&Job::Event(&self.event())),
        }
    }

    fn tool_result(&self) -> ToolResultJob<'static> {
        ToolResultJob {
            common: self.common.clone(),
            entry: arriving(),
            original: "1a2b3c4d".to_owned(),
            file: None,
            text: TEXT,
        }
    }

    fn observe(&self) -> ObserveJob<'static> {
        let intent = Some("Go on.".to_owned());
        ObserveJob {
            common: self.common.clone(),
            entry: arriving(),
            actions: Vec::new(),
            typed: intent.clone(),
            intent,
            since_compaction: 12,
            text: TEXT,
        }
    }

    fn goals(&self) -> GoalsJob {
        GoalsJob {
            common: self.common.clone(),
            speaker: Speaker::Model.into(),
            text: TEXT.to_owned(),
            goals: Goals::default(),
        }
    }

    fn facts(&self) -> FactsJob<'static> {
        FactsJob { common: self.common.clone(), covered: covered(), texts: &Same }
    }

    fn recall(&self) -> RecallJob {
        let passage = |age| RecallPassage {
            text: TEXT.to_owned(),
            tokens: TOKENS,
            score: 1.0 / (1.0 + age as f64),
            age,
            session: Some("bench".to_owned()),
            place: format!("e{}", u64::from(ENTRIES) - age),
            role: "assistant".to_owned(),
            tool: None,
            through: None,
        };
        RecallJob {
            common: self.common.clone(),
            query: "Which part reads its line twice?".to_owned(),
            passages: (0..PASSAGES).map(passage).collect(),
            max_tokens: 1_000,
        }
    }

    fn trigger(&self) -> TriggerJob {
        TriggerJob {
            common: self.common.clone(),
            cause: Occasion::Turn,
            new_model_message: true,
            floor: 1_500,
            budgets: self.budgets.clone(),
            cache: Cache { warm: true, ..Cache::default() },
            stalled_at: None,
            new_results: vec!["read_file".to_owned()],
            requested_by: None,
            recall_pending: false,
            watermark: None,
        }
    }

    fn plan(&self) -> PlanJob<'static> {
        PlanJob {
            common: self.common.clone(),
            entries: columns(),
            checkpoints: checkpoints(),
            target: LIMIT / 2,
            max_tokens: LIMIT,
            floor: 1_500,
            budgets: self.budgets.clone(),
            cause: CompactionCause::Soft,
            watermark: None,
            watermark_lost: false,
            texts: &Same,
        }
    }

    fn age(&self) -> AgeJob {
        let (common, budgets) = (self.common.clone(), self.budgets.clone());
        AgeJob { common, checkpoints: checkpoints(), budgets }
    }

    fn summary_prompt(&self) -> SummaryPromptJob<'static> {
        SummaryPromptJob {
            common: self.common.clone(),
            op: Purpose::Summarize,
            level: Some(3),
            covered: covered(),
            must_keep: vec![TEXT.to_owned()],
            goals: Goals::default(),
            focus: None,
            max_tokens: 800,
            texts: &Same,
        }
    }

    fn verify(&self) -> VerifyJob<'static> {
        VerifyJob {
            common: self.common.clone(),
            op: Purpose::Summarize,
            level: Some(3),
            covered: covered(),
            candidate: TEXT.to_owned(),
            must_keep: vec![Fact { text: TEXT.to_owned(), found: true, ..Fact::default() }],
            tokens: 20,
            max_tokens: 40,
            texts: &Same,
        }
    }

    fn render(&self) -> RenderJob {
        RenderJob {
            common: self.common.clone(),
            part: Wording::Checkpoint,
            system: None,
            time: Some(self.common.now.clone()),
            in_store: true,
            in_files: false,
        }
    }

    fn status(&self) -> StatusJob {
        StatusJob {
            common: self.common.clone(),
            used: 0.8,
            budgets: self.budgets.clone(),
            report: false,
            history: Vec::new(),
            done: Default::default(),
        }
    }

    fn event(&self) -> EventJob {
        let common = self.common.clone();
        let what = EventKind::ContextWarning { percent: 80 };
        let (session, at) = (common.session.clone(), common.now.clone());
        EventJob { common, event: Event { session, at, tokens: [LIMIT, LIMIT], what } }
    }
}

/// A result of a tool as it comes in.
fn arriving() -> Arriving {
    Arriving {
        id: MessageNumber(ENTRIES),
        role: Role::Tool.into(),
        speaker: Speaker::Tool.into(),
        tool: Some("read_file".to_owned()),
        args: Some(r#"{"path":"src/lib.rs"}"#.to_owned()),
        tokens: 3_000,
        lines: 200,
        error: false,
    }
}

fn columns() -> Columns {
    let mut columns = Columns { count: ENTRIES, ..Columns::default() };
    for place in 0..ENTRIES {
        let (role, speaker) = match place % EXCHANGE {
            0 => (Role::User, Speaker::Human),
            2 => (Role::Tool, Speaker::Tool),
            _ => (Role::Assistant, Speaker::Model),
        };
        columns.role.push(role.into());
        columns.speaker.push(speaker.into());
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
    let Columns { count, role, speaker, names, .. } = columns();
    Covered { count, role, speaker, names }
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
