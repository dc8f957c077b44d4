//! The gate over whole conversations: whatever policies answer, no prompt exceeds the limit, and what
//! nothing forces costs no more over a hundred requests than the conversation as it came (RULES 17).

use epitome_kernel::{Answer, Job, TokenCounter};
use epitome_testkit::conversations;
use epitome_types::hook::{
    Budgets, Due, Fit, MessageNumber, Observe, OpRequest, Orders, PinOrder, Render, Stop, Strength,
    Summarize, TriggerAnswer, Wording,
};
use serde_json::{Value, json};

use super::asides::{called, said, with_limit};
use super::*;

/// What a token costs that the provider reads from its cache, and what one that it writes to it.
const READ: f64 = 0.1;
const WRITE: f64 = 1.25;

/// Tokens around each message.
const FRAME: u64 = 4;

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
    /// A plan pins one message in so many.
    pins: Option<usize>,
    /// A plan of its own sums one turn up, the oldest that stands.
    sums_up: bool,
    /// So many words for what it is asked to word.
    render: Option<usize>,
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
        prop::option::weighted(0.3, 1usize..9),
        any::<bool>(),
        prop::option::of(0usize..12_000),
    )
        .prop_map(|(trigger, observe, budgets, fit, pins, sums_up, render)| Answers {
            sums_up,
            trigger,
            observe,
            budgets,
            fit,
            pins,
            render,
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
            Job::Plan(job) if self.sums_up => {
                let first = 3 + 4 * job.checkpoints.len() as u32;
                let entries = (first..first + 4).map(MessageNumber).collect();
                let one = Summarize { entries, target: 60, level: None };
                let ops = vec![OpRequest::Summarize(one)];
                Some(Answer::Plan(Orders { ops, ..Orders::default() }))
            }
            Job::Plan(_) => {
                let last = job.common().messages;
                let pinned = |every: usize| (1..=last).step_by(every).map(MessageNumber).collect();
                let pins = self.pins.map(|every| PinOrder { entries: pinned(every) });
                let fit = self.fit.map(|most| Fit { max_tokens: Some(most), ..Fit::default() });
                let ops = pins.map(OpRequest::Pin).into_iter().chain(fit.map(OpRequest::Fit));
                let ops = ops.collect::<Vec<_>>();
                (!ops.is_empty()).then(|| Answer::Plan(Orders { ops, ..Orders::default() }))
            }
            Job::Render(job) if job.part != Wording::System => {
                let text = Some("words ".repeat(self.render?));
                Some(Answer::Render(Render { text, ..Render::default() }))
            }
            _ => None,
        }
    }
}

/// The messages that were sent before, and what all requests cost so far.
#[derive(Default)]
struct Bill {
    before: Vec<Value>,
    cost: f64,
}

impl Bill {
    /// A request that the provider reads as far as its messages are those of the one before.
    fn charge(&mut self, request: &[u8]) {
        let mut request: Value = serde_json::from_slice(request).unwrap();
        let now: Vec<Value> = serde_json::from_value(request["messages"].take()).unwrap();
        let same = self.before.iter().zip(&now).take_while(|(one, other)| one == other).count();
        let size = |of: &[Value]| of.iter().map(tokens).sum::<u64>() as f64;
        self.cost += READ * size(&now[..same]) + WRITE * size(&now[same..]);
        self.before = now;
    }
}

/// Tokens of a message: what it says, calls, and is told, and what stands around it.
fn tokens(message: &Value) -> u64 {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.flat_map(|call| [&call["function"]["name"], &call["function"]["arguments"]]);
    let texts = calls.chain([&message["content"]]).filter_map(Value::as_str);
    FRAME + texts.map(|text| FixedCounter::Quarters.count(text)).sum::<u64>()
}

/// The messages of a turn in which an agent reads a file and says what it saw.
fn turn(number: usize, length: usize) -> Vec<String> {
    let text = |at: usize| format!("line {at} of part {number}");
    let result = (0..length).map(text).collect::<Vec<_>>().join("\n");
    let path = json!({"path": format!("src/part{number}.rs")});
    let mut messages = called(&format!("c{number}"), "read", path, &result).to_vec();
    let done = format!("[GOAL] Have all parts mended.\nPart {number} is done.");
    messages.push(said("assistant", &done));
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
        raw.charge(&request);
        let prompt = now(live.prompt_for(&request)).unwrap();
        sent.charge(&prompt.bytes);
        largest = largest.max(prompt.tokens[1]);
        messages.extend(turn(number, lengths[number % lengths.len()]));
    }
    ([raw.cost, sent.cost], largest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(conversations(4)))]

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
    #![proptest_config(ProptestConfig::with_cases(conversations(2)))]

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
        pins: None,
        sums_up: false,
        render: None,
    };
    for limit in [5_000, 15_000] {
        let ([raw, sent], _) = play(&answers, &[20, 30], limit);
        // The window comes first once.
        let most = raw * (1.0 + TOLERANCE) + WRITE * limit as f64;
        assert!(sent <= most, "{limit}: {:.3}", sent / raw);
    }
}

/// What a policy pins is in no compression of the same turn, so none is paid for twice; what it pins
/// late takes none out of force.
#[test]
fn what_a_policy_pins_takes_no_compression_out_of_force() {
    let observed = Answers {
        trigger: (1, None, None),
        observe: (3, None, true),
        budgets: Some([3_904, 3_904, 9_712, 0]),
        fit: Some(905),
        pins: None,
        sums_up: false,
        render: None,
    };
    let planned = Answers { observe: (1, None, false), pins: Some(2), ..observed.clone() };
    for answers in [observed, planned] {
        let ([raw, sent], _) = play(&answers, &[26, 1, 24], 79_213);
        assert!(sent <= raw * (1.0 + TOLERANCE), "{answers:?}: {:.3}", sent / raw);
    }
}

/// A plan that only pins makes no prompt smaller; where the window forces that, it is made smaller in the
/// kernel's way, whoever asked.
#[test]
fn a_plan_without_an_aim_brings_no_prompt_above_the_limit() {
    for level in [Strength::Soft, Strength::Hard, Strength::Asked] {
        let answers = Answers {
            trigger: (1, Some(level), None),
            observe: (1, None, false),
            budgets: None,
            fit: None,
            pins: Some(1),
            sums_up: false,
            render: None,
        };
        let (_, largest) = play(&answers, &[3], 1_500);
        assert!(largest <= 1_500, "{level:?}: {largest}");
    }
}

/// Bounds far below the window, and half of it kept free for the answer: what that forces leaves
/// room for the next turns.
#[test]
fn what_the_window_forces_lasts_for_some_turns() {
    let answers = Answers {
        trigger: (1, None, None),
        observe: (2, None, false),
        budgets: Some([0, 0, 0, u64::MAX]),
        fit: None,
        pins: None,
        sums_up: false,
        render: None,
    };
    let ([raw, sent], _) = play(&answers, &[26], 25_000);
    assert!(sent <= raw * (1.0 + TOLERANCE), "{:.3}", sent / raw);
}

/// In a window that the conversation fills many times, a policy that always compresses, and as little as it
/// may, costs hardly more than the kernel's own way: what it aims at above that is no cheaper for being
/// forced, neither now nor in what it is compared with.
#[test]
fn a_policy_that_always_compresses_little_costs_hardly_more_than_none() {
    let none = Answers {
        trigger: (1, None, None),
        observe: (1, None, false),
        budgets: None,
        fit: None,
        pins: None,
        sums_up: false,
        render: None,
    };
    let (level, most) = (Some(Strength::Hard), Some(u64::MAX));
    let always = Answers { trigger: (1, level, most), ..none.clone() };
    let fits = Answers { fit: most, ..always.clone() };
    let fit = Answers { fit: most, ..none.clone() };
    for limit in [2_500, 3_000, 4_000, 6_000] {
        let ([_, alone], _) = play(&none, &[20, 22], limit);
        for answers in [&always, &fits, &fit] {
            let ([_, sent], _) = play(answers, &[20, 22], limit);
            let ratio = sent / alone;
            assert!(ratio <= 1.0 + TOLERANCE, "{limit}: {ratio:.3} of what no policy costs");
        }
    }
}
