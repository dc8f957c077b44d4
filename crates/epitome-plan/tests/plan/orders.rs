//! Laws of what policies order: random orders over random conversations, twice in a row.

use epitome_kernel::types::hook::{
    AgeOrder, ClearToolsOp, Drop, How as Shortened, Insert, Merge, MessageNumber, OpRequest,
    Replace, Rollover, Summarize, SummarizeUserOp,
};
use epitome_kernel::types::{BudgetUnit, EntryId, Op, PartId, Plan, Role, SummaryKind};
use epitome_kernel::{Summarizer, Thread, ThreadSizes};
use epitome_plan::{CompressOptions, FitOutcome, PlanAssembly, PlanMeans, assemble};
use epitome_testkit::{FixedCounter, ScriptedSummarizer, conversation, now, words};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::assembly::{PLENTY, checkpoints, ordered};
use crate::help::{assert_recorded, assert_sound, options, sizes, tokens};
use crate::run::scripts;

/// How often one summariser may be asked for one text.
const ASKED: usize = 4;

/// An order before it is known what there is.
#[derive(Clone, Debug)]
struct Raw {
    kind: u8,
    at: Index,
    length: usize,
    target: u64,
    how: Shortened,
    /// Whether it is ordered whatever the invariants say.
    wild: bool,
}

fn raw() -> impl Strategy<Value = Raw> {
    let how = select(vec![Shortened::Digest, Shortened::Offload, Shortened::Mask, Shortened::Cut]);
    (0..11_u8, any::<Index>(), 1..8_usize, 0..250_u64, how, prop::bool::weighted(0.05)).prop_map(
        |(kind, at, length, target, how, wild)| Raw { kind, at, length, target, how, wild },
    )
}

impl Raw {
    /// The order over what is there; `None` where there is nothing of its kind.
    fn order(&self, thread: &Thread, standing: &Plan) -> Option<OpRequest> {
        let (target, at) = (self.target, self.at.index(thread.entries().len()));
        let known: Vec<_> = checkpoints(standing).iter().map(|one| one.id.short()).collect();
        let level = self.length as u8 % 4;
        Some(match self.kind {
            0 | 1 => OpRequest::Summarize(Summarize {
                entries: self.run(thread),
                target,
                level: Some(level),
            }),
            2 => OpRequest::SummarizeUser(SummarizeUserOp { entries: self.run(thread), target }),
            3 => OpRequest::Drop(Drop { entries: self.run(thread) }),
            4 => OpRequest::Age(AgeOrder {
                checkpoint: known.get(at % known.len().max(1))?.clone(),
                to: level,
                target,
            }),
            5 => {
                let checkpoints: Vec<_> = known.into_iter().take(self.length).collect();
                OpRequest::Merge(Merge { checkpoints, target, to: None })
            }
            6 => {
                let (how, entry) = (self.how, MessageNumber::from(EntryId(at as u32)));
                let target = (self.length > 1).then_some(target);
                OpRequest::Replace(Replace { entry, how, text: None, target, call: None })
            }
            7 => {
                let role = if self.length > 3 { Role::User } else { Role::Assistant };
                let last = thread.exchange_of(EntryId(at as u32)).entries.end as u32;
                let after = MessageNumber(if self.wild { at as u32 } else { last });
                OpRequest::Insert(Insert { after, role, text: "a note".to_owned() })
            }
            8 | 9 => OpRequest::ClearTools(ClearToolsOp { entries: self.run(thread) }),
            _ if self.length == 1 => OpRequest::Rollover(Rollover { target }),
            _ => return None,
        })
    }

    /// Some exchanges in a row, but for those that are pinned.
    fn run(&self, thread: &Thread) -> Vec<MessageNumber> {
        let at = self.at.index(thread.entries().len());
        if self.wild {
            return (at..at + self.length).map(|id| MessageNumber(id as u32)).collect();
        }
        let from = thread.exchange_of(EntryId(at as u32)).entries.start;
        let exchanges = thread.exchanges().iter().filter(|one| one.entries.start >= from);
        let ids = exchanges.take(self.length).flat_map(|one| one.entries.clone());
        let ids = ids.map(|at| EntryId(at as u32));
        ids.filter(|&id| thread.pinned(id).is_none()).map(MessageNumber::from).collect()
    }
}

/// Whether an op that was in force is still there, or something new stands in its place.
fn is_answered(thread: &Thread, op: &Op, ops: &[Op], orders: &[OpRequest]) -> bool {
    let taken = |id: &EntryId| {
        ops.iter().any(|other| match other {
            Op::Summarize(one) => one.covers.contains(id),
            Op::Drop { entries } => entries.contains(id),
            _ => false,
        })
    };
    ops.contains(op)
        || match op {
            Op::Summarize(one) => one.covers.iter().all(taken),
            Op::Drop { entries } => entries.iter().all(taken),
            Op::Strip { parts } => {
                let strips = |other: &Op, part: &PartId| matches!(other, Op::Strip { parts } if parts.contains(part));
                let gone = |part: &PartId| {
                    taken(&part.entry) || ops.iter().any(|other| strips(other, part))
                };
                parts.iter().all(gone)
            }
            Op::State { .. } | Op::Unbind { .. } => true,
            Op::Replace { part, .. } => {
                let anew = |other: &Op| matches!(other, Op::Replace { part: of, .. } if of == part);
                let within = thread.part(*part).and_then(|it| it.within);
                let outer = PartId { part: within.unwrap_or(part.part), ..*part };
                let strips =
                    |other: &Op| matches!(other, Op::Strip { parts } if parts.contains(&outer));
                taken(&part.entry) || ops.iter().any(anew) || ops.iter().any(strips)
            }
            Op::Insert { after, .. } => {
                let free = |id: &EntryId| thread.pinned(*id).is_none();
                let all = thread.entries().iter().map(|entry| entry.id);
                let starts_over =
                    orders.iter().any(|order| matches!(order, OpRequest::Rollover(_)));
                after.as_ref().is_some_and(taken)
                    || starts_over && all.filter(free).all(|id| taken(&id))
            }
        }
}

struct Ground<'a> {
    thread: &'a Thread,
    options: &'a CompressOptions,
    sizes: &'a ThreadSizes<'a>,
    summarizers: &'a [ScriptedSummarizer],
}

/// Carries orders out; gives the plan and its size where one came of them.
fn made(
    ground: &Ground<'_>,
    most: u64,
    standing: &Plan,
    ops: Vec<OpRequest>,
) -> Result<Option<(Plan, u64)>, TestCaseError> {
    let Ground { thread, options, sizes, summarizers } = ground;
    let orders = ordered(ops);
    let (counter, count) = (&FixedCounter::Quarters, summarizers.len());
    let assembly = PlanAssembly::new(
        thread,
        options,
        PlanMeans { budget: tokens(most), counter, summarizers: count },
        standing.clone(),
        &orders,
    );
    let Ok(assembly) = assembly else { return Ok(None) };
    let anew: Vec<_> = summarizers.iter().map(ScriptedSummarizer::anew).collect();
    let all: Vec<_> = anew.iter().map(|one| one as &dyn Summarizer).collect();
    let outcome = now(assemble(assembly, thread, options, &all));
    let texts: usize = thread.entries().iter().map(|entry| entry.parts.len()).max().unwrap_or(1);
    let bound = ASKED * texts * orders.ops.len();
    for one in &anew {
        let kinds = [SummaryKind::Checkpoint, SummaryKind::Digest];
        let asked: usize = kinds.into_iter().map(|kind| one.asked(kind).len()).sum();
        prop_assert!(asked <= bound, "asked {} times", asked);
    }
    match outcome {
        FitOutcome::Compressed(done) => {
            prop_assert!(done.size[1] <= most);
            prop_assert_eq!(done.view.size(sizes), done.size[1]);
            assert_sound(thread, &done.view);
            assert_recorded(thread, &done);
            let before: u64 = done.ops.iter().map(|op| op.tokens_before).sum();
            let after: u64 = done.ops.iter().map(|op| op.tokens_after).sum();
            prop_assert_eq!(done.by[0].sum() - before + after, done.by[1].sum());
            for op in &standing.ops {
                let answered = is_answered(thread, op, &done.plan.ops, &orders.ops);
                prop_assert!(answered, "{op:?} is gone from {:?}", done.plan);
            }
            Ok(Some((done.plan, done.size[1])))
        }
        FitOutcome::NothingToDo { .. } => {
            prop_assert_eq!(&standing.ops, &Vec::new());
            Ok(None)
        }
        FitOutcome::Missed { size } => {
            prop_assert!(size > most);
            Ok(None)
        }
        FitOutcome::Refused(_) => Ok(None),
        other => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

fn concrete(raw: &[Raw], thread: &Thread, standing: &Plan) -> Vec<OpRequest> {
    raw.iter().filter_map(|one| one.order(thread, standing)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_ordered_is_sound_and_complete(
        entries in conversation(20),
        first in vec(raw(), 1..6),
        second in vec(raw(), 1..5),
        scripts in vec((scripts(), scripts()), 0..3),
        share in prop::option::weighted(0.3, 0.2..1.0_f64),
        state in prop::option::weighted(0.3, words(1..60)),
    ) {
        let (thread, options) = (Thread::new(entries, &[]), CompressOptions { state, ..options() });
        let sizes = sizes(&thread, BudgetUnit::Tokens);
        let summarizers: Vec<_> = scripts
            .into_iter()
            .map(|(script, digests)| ScriptedSummarizer::new(script).digests(digests))
            .collect();
        let (options, summarizers) = (&options, &summarizers[..]);
        let ground = Ground { thread: &thread, options, sizes: &sizes, summarizers };
        let most = share.map_or(PLENTY, |share| (sizes.total() as f64 * share) as u64);
        let none = Plan::default();
        let plan = made(&ground, most, &none, concrete(&first, &thread, &none))?;
        let Some((plan, size)) = plan else { return Ok(()) };
        // Nothing more is ordered: it stays as it is.
        let same = made(&ground, most, &plan, Vec::new())?;
        prop_assert_eq!(same.as_ref().map(|(same, size)| (&same.ops, *size)), Some((&plan.ops, size)));
        let orders = concrete(&second, &thread, &plan);
        let notes = orders.iter().filter(|order| matches!(order, OpRequest::Insert(_))).count() as u64;
        if let Some((_, after)) = made(&ground, PLENTY, &plan, orders)? {
            let notes = notes * sizes.gauge().message("a note");
            prop_assert!(after <= size + notes, "{} became {}", size, after);
        }
    }

    /// Orders of single kinds that keep to the rules are never refused.
    #[test]
    fn orders_that_keep_to_the_rules_are_carried_out(
        entries in conversation(20),
        at in any::<Index>(),
        length in 1..8_usize,
        target in 0..250_u64,
        kind in prop::sample::select(vec![0_u8, 2, 3, 7, 8]),
        how in Just(Shortened::Cut),
    ) {
        let (thread, options) = (Thread::new(entries, &[]), options());
        let order = Raw { kind, at, length, target, how, wild: false };
        let orders = ordered(concrete(&[order], &thread, &Plan::default()));
        let counter = &FixedCounter::Quarters;
        let standing = Plan::default();
        let assembly =
            PlanAssembly::new(&thread, &options, PlanMeans { budget: tokens(PLENTY), counter, summarizers: 0 }, standing, &orders);
        let outcome = now(assemble(assembly.expect("an order"), &thread, &options, &[]));
        let fine = matches!(outcome, FitOutcome::Compressed(_) | FitOutcome::NothingToDo { .. });
        prop_assert!(fine, "{:?}", outcome);
    }
}
