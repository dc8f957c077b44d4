//! The state of the work, as each epoch states it anew: goals, what the conversation says of
//! rules, plans and files, and the augments that are active.
//!
//! Invariant: goals with what was decided stand in it whole; all else keeps within its share of the
//! room. It is the same text for the same history, acts and files. Called by the compression.

use epitome_extract::ledger::LedgerHeadings;
use epitome_extract::{WorkLedger, demands};
use epitome_kernel::types::Goals;
use epitome_kernel::types::hook::{OpRequest, Orders, Wording};
use epitome_kernel::{SizeGauge, TextMeasure, goals};
use epitome_plan::{ConstraintState, KeptStatement, StatedConstraint};
use epitome_types::{Entry, EntryId, Op, PartBody, Plan, Role};
use epitome_workspace::augments::{ActiveAugments, Augment};

use super::Session;
use super::assembled::Assembled;
use super::turn_context::TurnContext;
use crate::kept_lines::kept;
use crate::plan_wording::worded;
use crate::planning::PlanRequest;
use epitome_config::profile::StateOptions;

/// What the state of the work is made of.
pub(crate) struct WorkState<'a> {
    pub(crate) options: &'a StateOptions,
    /// What opens it.
    pub(crate) label: &'a str,
    pub(crate) goals: &'a Goals,
    pub(crate) active: &'a ActiveAugments<'a>,
    /// Excerpts that come back.
    pub(crate) returning: &'a [String],
    /// The system prompt, where it is Epitome's to make: what it says is not stated again.
    pub(crate) system: Option<&'a Assembled>,
    /// The messages that are told of: those before the newest, where any talk leaves the prompt.
    pub(crate) talk: Option<&'a [Entry]>,
    /// The size that the prompt is to come to, in tokens.
    pub(crate) target: u64,
    /// Counts tokens.
    pub(crate) gauge: SizeGauge<'a>,
}

impl WorkState<'_> {
    /// The texts that state it, the most telling first; the last says what no prompt may lack. None
    /// where there is nothing to say.
    pub(crate) fn texts(&self) -> Vec<Option<String>> {
        let goals = goals::render(
            self.goals,
            self.options.goals,
            self.gauge.counter,
            &goals::GoalWording::ENGLISH,
        );
        let goals = Some(goals).filter(|goals| !self.is_said(goals)).unwrap_or_default();
        let none = String::new;
        let least = self.joined([goals.clone(), self.named(&self.all()), none(), none()]);
        let returning = self.returning.join("\n\n");
        let full = self.joined([goals, self.augments(), self.ledger(), returning]);
        if full == least { vec![full] } else { vec![full, least] }
    }

    fn joined(&self, parts: [String; 4]) -> Option<String> {
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| format!("{}\n{}", self.label, parts.join("\n\n")))
    }

    /// What the conversation says of what was asked for, of plans and files, taken by code. Rules
    /// are stated beside it.
    fn ledger(&self) -> String {
        let most = self.options.max_tokens.min(self.share(self.options.share));
        let Some(talk) = self.talk.filter(|_| most > 0) else { return String::new() };
        // Whether a question is still open, the newest messages tell.
        let ledger = WorkLedger::of(&talk.iter().collect::<Vec<_>>());
        let ledger = WorkLedger { awaiting: None, constraints: Vec::new(), ..ledger };
        ledger.render(most, &self.gauge, LedgerHeadings::of(ledger.language))
    }

    /// The augments as far as there is room, each whole; the others are named.
    fn augments(&self) -> String {
        let mut left = self.share(self.options.augments);
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for augment in self.all() {
            let text = shown(augment);
            match left.checked_sub(self.gauge.size(&text)) {
                Some(rest) => {
                    left = rest;
                    texts.push(text);
                }
                None => others.push(augment),
            }
        }
        texts.extend(Some(self.named(&others)).filter(|named| !named.is_empty()));
        texts.join("\n\n")
    }

    fn all(&self) -> Vec<&Augment> {
        let all = self.active.augments.iter().map(|one| one.augment);
        all.filter(|augment| !self.is_said(augment.text.trim())).collect()
    }

    fn is_said(&self, text: &str) -> bool {
        self.system.is_some_and(|system| system.says(text))
    }

    /// Augments by their files.
    fn named(&self, augments: &[&Augment]) -> String {
        let line = |one: &&Augment| format!("- {} ({})", one.title, one.path.display());
        let lines: Vec<_> = augments.iter().map(line).collect();
        if lines.is_empty() {
            return String::new();
        }
        format!("{}\n{}", self.options.unread, lines.join("\n"))
    }

    fn share(&self, share: f64) -> u64 {
        (self.target as f64 * share) as u64
    }
}

/// What an epoch is to state of the work.
pub(crate) struct WantedWork<'a> {
    /// What the policies ordered.
    pub(crate) orders: &'a Orders,
    /// The system prompt that goes with it.
    pub(crate) system: Option<&'a Assembled>,
    /// The names of the augments that the user and the agent chose.
    pub(crate) chosen: &'a [String],
    /// The excerpts that come back.
    pub(crate) returning: &'a [String],
    /// How far lines that are kept may fill the prompt, in tokens, where that is bounded and they have no
    /// room as a whole.
    pub(crate) lines: Option<u64>,
}

impl Session {
    /// The texts that state the work in the epoch that is planned, the most telling first, and what
    /// people demanded. The first `older` messages are told of.
    pub(crate) async fn stated(
        &self,
        ground: &TurnContext<'_, '_>,
        planning: &PlanRequest<'_, '_>,
        wanted: &WantedWork<'_>,
        older: usize,
    ) -> (Vec<Option<String>>, ConstraintState) {
        let WantedWork { orders, system, chosen, returning, lines } = *wanted;
        let options = &self.settings.profile.options.work_state;
        let (council, common) = (planning.council, planning.common);
        let gauge = *ground.tail.tokens.gauge();
        // What opens the state takes no more than any part of it may.
        let most = planning.sizes.target as f64 * options.share.max(options.augments);
        let most = options.max_tokens.min(most as u64);
        let is_short = |label: &String| gauge.size(label) <= most;
        let label = worded(Wording::State, self.back(), council, common, is_short).await;
        let library = self.settings.augments.read();
        let work = WorkState {
            options,
            label: label.as_deref().unwrap_or(&options.label),
            goals: &planning.goals,
            active: &library.active(chosen),
            returning,
            system,
            talk: takes_talk(&ground.tail.came, &planning.standing.plan, orders)
                .then_some(&ground.tail.came[..older]),
            target: planning.sizes.target,
            gauge,
        };
        let demands = demanded(&ground.tail.came, older, options, work.label);
        let keep = &planning.council.rules.keep;
        let kept = kept(keep, &self.settings.profile, planning.history.thread);
        let most = planning.sizes.most.most;
        let floor = planning.sizes.floor;
        let fills = filled(planning.sizes.target, ground.size()[1], [floor, most]);
        // Where not all of them have room, no promise is kept by paying for the others.
        let all: u64 = kept.lines.iter().map(|line| gauge.size(&line.text)).sum();
        let have_room = all <= fills && !keep.is_crowded();
        let fills = Some(fills.min(lines.filter(|_| !have_room).unwrap_or(u64::MAX)));
        let kept = KeptStatement { fills, ..kept };
        (work.texts(), ConstraintState { most, kept, ..demands })
    }
}

/// How far lines that the profile keeps may fill a prompt: a fifth of what it is now is free of them, or
/// the next compression would be due at once. Where a policy compresses long before the `most` that a
/// prompt may be, or where what cannot shrink takes most of that, they may fill three quarters of what is
/// beside it: what they were promised counts for more, and no compression that does not pay follows.
fn filled(target: u64, now: u64, [floor, most]: [u64; 2]) -> u64 {
    let now = now.min(most);
    target.max(now - now / 5).max(most - most.saturating_sub(floor) / 4)
}

/// What people demanded. Of the newest messages a client may still change some, so nothing that
/// those say takes back what was said before.
fn demanded(came: &[Entry], older: usize, options: &StateOptions, label: &str) -> ConstraintState {
    let label = label.to_owned();
    if options.rules <= 0.0 {
        return ConstraintState { label, ..ConstraintState::default() };
    }
    let [(older, language), (newest, _)] =
        [&came[..older], &came[older..]].map(|part| demands(&part.iter().collect::<Vec<_>>()));
    // What is older goes first.
    let above = newest.len();
    let older = older.into_iter().map(|one| (one.rank + above, one));
    let all = older.chain(newest.into_iter().map(|one| (one.rank, one)));
    let all = all.map(|(rank, one)| StatedConstraint { entry: one.entry, text: one.text, rank });
    let heading = LedgerHeadings::of(language).constraints.to_owned();
    let share = options.rules;
    ConstraintState { all: all.collect(), label, heading, share, ..ConstraintState::default() }
}

/// How many messages stand before the newest, which stay as they are: those say for themselves what
/// they say, and a client may still change them.
pub(crate) fn older(
    ground: &TurnContext<'_, '_>,
    planning: &PlanRequest<'_, '_>,
    share: f64,
) -> usize {
    let room = (planning.sizes.target as f64 * share) as u64;
    let room = planning.budgets.keep_recent.unwrap_or(room);
    let mut taken = 0;
    let newest = ground.tail.came.iter().rev().take_while(|entry| {
        taken += ground.tail.tokens.entry(entry.id);
        taken <= room
    });
    ground.tail.came.len() - newest.count()
}

/// The messages that a plan's state of the work tells of, from the first that is no system prompt.
pub(crate) fn told(plan: &Plan, came: &[Entry], older: usize) -> Option<[EntryId; 2]> {
    let states = plan.ops.iter().any(|op| matches!(op, Op::State { .. }));
    let mut said = came[..older].iter().filter(|entry| entry.role != Role::System);
    let first = said.next().filter(|_| states)?;
    Some([first.id, said.next_back().unwrap_or(first).id])
}

/// An augment as the model reads it.
pub(crate) fn shown(augment: &Augment) -> String {
    format!("## {} ({})\n\n{}", augment.title, augment.name, augment.text)
}

/// Whether a plan takes talk out of the prompt, or leaves it out as one before it did. Messages
/// that leave for their tool calls alone say nothing that is missed.
pub(crate) fn takes_talk(talk: &[Entry], standing: &Plan, orders: &Orders) -> bool {
    let says = |id: &EntryId| {
        let texts = talk.get(id.index()).map(|entry| entry.parts.iter().map(|part| &part.body));
        texts
            .into_iter()
            .flatten()
            .any(|body| matches!(body, PartBody::Text(it) if !it.trim().is_empty()))
    };
    let has_left = |op: &Op| match op {
        Op::Summarize(_) => true,
        Op::Drop { entries } => entries.iter().any(says),
        _ => false,
    };
    let stays = |order: &OpRequest| {
        order.is_aside()
            || matches!(
                order,
                OpRequest::ClearTools(_) | OpRequest::Replace(_) | OpRequest::Insert(_)
            )
    };
    standing.ops.iter().any(has_left) || !orders.ops.iter().all(stays)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use epitome_testkit::FixedCounter;
    use epitome_types::{Actor, BudgetUnit, GoalChange, Priority, RecordedAction, SessionAction};
    use epitome_workspace::augments::AugmentLibrary;

    use super::*;

    const OPTIONS: StateOptions = StateOptions {
        label: String::new(),
        unread: String::new(),
        gone: String::new(),
        idle: String::new(),
        recalled: String::new(),
        share: 0.1,
        max_tokens: 40,
        rules: 0.5,
        keep: 0.5,
        kept: String::new(),
        goals: 20,
        augments: 0.2,
    };

    /// What is stated in a room of so many words: at most, and at least.
    fn texts(target: u64, augments: &[(&str, &str)], goal: Option<&str>) -> Vec<Option<String>> {
        let file = |name: &str| Path::new("/a").join(format!("{name}.md"));
        let found = augments.iter().map(|(name, text)| {
            let text = format!("---\npinned: true\n---\n{text}");
            ((*name).to_owned(), Augment::read(name, &file(name), &text))
        });
        let library = AugmentLibrary::new(found, Vec::new());
        let options = StateOptions { unread: "Read:".to_owned(), ..OPTIONS };
        let set = |text: &str| {
            let change = GoalChange::Set { text: text.to_owned(), priority: Priority::Medium };
            RecordedAction {
                act: SessionAction::Goal(change.into()),
                by: Actor::User,
                at: String::new(),
            }
        };
        let acts: Vec<_> = goal.map(set).into_iter().collect();
        let goals = goals::project(&acts).goals;
        let gauge = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Tokens };
        let active = library.active(&[]);
        let (label, goals, active) = ("[State]", &goals, &active);
        let (system, talk, options, returning) = (None, None, &options, &[]);
        WorkState { options, label, goals, active, returning, system, talk, target, gauge }.texts()
    }

    #[track_caller]
    fn check(found: &[Option<String>], expected: &[&str]) {
        let found: Vec<_> = found.iter().map(|text| text.as_deref().unwrap_or("none")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_there_is_not_stated() {
        check(&texts(100, &[], None), &["none"]);
        check(&texts(100, &[], Some("Mend it.")), &["[State]\nGoal: Mend it."]);
    }

    #[test]
    fn augments_stand_whole_or_are_named() {
        let both = [("a/long", "word ".repeat(12)), ("b/short", "Be brief.".to_owned())];
        let both = both.each_ref().map(|(name, text)| (*name, text.as_str()));
        let least = "[State]\nRead:\n- a/long (/a/a/long.md)\n- b/short (/a/b/short.md)";
        let short = "[State]\n## b/short (b/short)\n\nBe brief.\n\nRead:\n- a/long (/a/a/long.md)";
        check(&texts(60, &both, None), &[short, least]);
        check(&texts(0, &both, None), &[least]);
        let full = texts(200, &both, None)[0].clone().unwrap();
        assert!(full.ends_with("word\n\n## b/short (b/short)\n\nBe brief."), "{full}");
    }
}
