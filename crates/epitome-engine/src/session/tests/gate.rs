//! The gate over whole conversations: whatever policies answer, no prompt exceeds the limit, and what
//! nothing forces costs no more over a hundred requests than the conversation as it came (RULES 17).

use epitome_kernel::{Answer, Job};
use epitome_types::hook::{
    Budgets, Due, Fit, Observe, OpRequest, Orders, Stop, Strength, TriggerAnswer,
};
use serde_json::json;

use super::asides::{called, said, with_limit};
use super::*;

/// What a token costs that the provider reads from its cache, and what one that it writes to it.
const READ: f64 = 0.1;
const WRITE: f64 = 1.25;

/// The share by which a conversation may cost more than it did as it came.
const TOLERANCE: f64 = 0.05;

/// The requests of a conversation.
const REQUESTS: usize = 100;

/// What a policy answers: each answer to one in so many jobs of its kind.
#[derive(Clone, Debug)]
struct Answers {
    trigger: (usize, Option<Strength>, Option<u64>),
    observe: (usize, Option<Stop>, bool),
    budgets: Option<[u64; 4]>,
    fit: Option<u64>,
}

fn answers() -> impl Strategy<Value = Answers> {
    let size = || prop_oneof![1 => Just(0), 1 => Just(u64::MAX), 6 => 0u64..12_000];
    let level = [None, Some(Strength::Soft), Some(Strength::Hard), Some(Strength::Asked)];
    let stop = [None, Some(Stop::Soft), Some(Stop::Gate), Some(Stop::Hard)];
    (
        (1usize..9, prop::sample::select(level.to_vec()), prop::option::of(size())),
        (1usize..9, prop::sample::select(stop.to_vec()), any::<bool>()),
        prop::option::weighted(0.8, [size(), size(), size(), size()]),
        prop::option::of(size()),
    )
        .prop_map(|(trigger, observe, budgets, fit)| Answers {
            trigger,
            observe,
            budgets,
            fit,
        })
}

impl Answers {
    fn to(&self, job: &Job<'_>) -> Option<Answer> {
        let is_its = |every: usize| (job.common().messages as usize / 2).is_multiple_of(every);
        match job {
            Job::Trigger(_) => {
                let (every, level, target) = self.trigger;
                let level = level.filter(|_| is_its(every))?;
                let due = Due { level, target, reason: None };
                Some(Answer::Trigger(TriggerAnswer::Compress(due)))
            }
            Job::Observe(_) => {
                let (every, level, pins) = self.observe;
                let pin = (pins && is_its(every)).then_some(true);
                let level = level.filter(|_| is_its(every));
                Some(Answer::Observe(Observe { level, pin, ..Observe::default() }))
            }
            Job::Budgets(_) => {
                let [soft, hard, target, reserve] = self.budgets?.map(Some);
                let budgets = Budgets { soft, hard, target, reserve, ..Budgets::default() };
                Some(Answer::Budgets(budgets))
            }
            Job::Plan(_) => {
                let fit = Fit { max_tokens: Some(self.fit?), ..Fit::default() };
                let ops = vec![OpRequest::Fit(fit)];
                Some(Answer::Plan(Orders { ops, ..Orders::default() }))
            }
            _ => None,
        }
    }
}

/// What was sent before, and what all requests cost so far.
#[derive(Default)]
struct Bill {
    before: Vec<u8>,
    cost: f64,
}

impl Bill {
    /// A request that the provider reads as far as it goes on from the one before.
    fn charge(&mut self, request: &[u8]) {
        let pairs = self.before.iter().zip(request);
        let read = pairs.take_while(|(one, other)| one == other).count();
        self.cost += READ * read as f64 + WRITE * (request.len() - read) as f64;
        self.before = request.to_vec();
    }
}

/// The messages of a turn in which an agent reads a file and says what it saw.
fn turn(number: usize, length: usize) -> Vec<String> {
    let text = |at: usize| format!("line {at} of part {number}");
    let result = (0..length).map(text).collect::<Vec<_>>().join("\n");
    let path = json!({"path": format!("src/part{number}.rs")});
    let mut messages = called(&format!("c{number}"), "read", path, &result).to_vec();
    messages.push(said("assistant", &format!("Part {number} is done.")));
    messages.push(said("user", &format!("Go on with part {number}.")));
    messages
}

/// Both bills of a conversation, as it came and as it was sent, and the largest prompt, in tokens.
fn play(answers: &Answers, lengths: &[usize], limit: u64) -> ([f64; 2], u64) {
    let journal = Arc::new(MemoryStore::new());
    let policy = answers.clone();
    let mut live = with_limit(&journal, limit, move |job| policy.to(job));
    let mut messages = vec![said("system", "Be brief."), said("user", "Mend the parser.")];
    let (mut raw, mut sent, mut largest) = (Bill::default(), Bill::default(), 0);
    for number in 0..REQUESTS {
        let request = body(&messages);
        raw.charge(open(&request));
        let prompt = now(live.prompt_for(&request)).unwrap();
        sent.charge(open(&prompt.bytes));
        largest = largest.max(prompt.tokens[1]);
        messages.extend(turn(number, lengths[number % lengths.len()]));
    }
    ([raw.cost, sent.cost], largest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// In a window that the conversation does not fill.
    #[test]
    fn no_policy_makes_a_conversation_dearer(
        answers in answers(),
        lengths in vec(1usize..40, 1..6),
        limit in 25_000u64..80_000,
    ) {
        let ([raw, sent], _) = play(&answers, &lengths, limit);
        prop_assert!(sent <= raw * (1.0 + TOLERANCE), "{sent:.0} against {raw:.0}: {:.3}", sent / raw);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn no_policy_brings_a_prompt_above_the_limit(
        answers in answers(),
        lengths in vec(1usize..40, 1..6),
        limit in 1_500u64..6_000,
    ) {
        let (_, largest) = play(&answers, &lengths, limit);
        prop_assert!(largest <= limit, "{largest} of {limit}");
    }
}

/// What policies want about a message is bounded as well: a stop of every message compresses no
/// request that does not pay for it.
#[test]
fn a_stop_at_every_message_pays_for_itself() {
    let answers = Answers {
        trigger: (1, None, None),
        observe: (1, Some(Stop::Hard), false),
        budgets: None,
        fit: None,
    };
    for limit in [5_000, 15_000] {
        let ([raw, sent], _) = play(&answers, &[20, 30], limit);
        assert!(sent <= raw * (1.0 + TOLERANCE), "{limit}: {:.3}", sent / raw);
    }
}
