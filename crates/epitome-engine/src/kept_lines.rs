//! The lines that a profile and its policies keep, as a plan states them and as a result that is made
//! smaller has them.
//!
//! Invariant: a line is a slice of what was said; of what a policy masked nothing is said again. What
//! the policies find is added to the rules of the profile before anything is planned, so that whoever
//! plans, writes or reports keeps the same. Called by live sessions and by the compressor of single
//! conversations.

use std::collections::BTreeSet;
use std::sync::Arc;

use epitome_config::profile::{Profile, ProfileRules};
use epitome_extract::KeepRules;
use epitome_kernel::{Bounded, HookJob, SizeGauge, TextMeasure, Thread};
use epitome_plan::{ConstraintState, KeptStatement, SpokenTexts, StatedLine, covered};
use epitome_types::hook::{Common, Covered, FactsJob, ToolResultAnswer, Way};
use epitome_types::{Budget, BudgetUnit, Entry, PartBody, PartId, Role};

use crate::policy_runner::PolicyRunner;

/// The share of the limit that policies may keep as lines: one part in so many.
const KEPT_PART: u64 = 2;

/// The policies of a conversation that keep what they find in these messages, too.
pub(crate) async fn with_facts(
    council: &PolicyRunner,
    common: &Common,
    said: impl Iterator<Item = &Entry>,
) -> PolicyRunner {
    let said: Vec<_> = said.filter(|entry| entry.role != Role::System).collect();
    finding(council, common, &said, covered(&said)).await
}

async fn finding(
    council: &PolicyRunner,
    common: &Common,
    said: &[&Entry],
    covered: Covered,
) -> PolicyRunner {
    let mut job = FactsJob { common: common.clone(), covered, texts: &SpokenTexts(said) };
    let decision = council.ask(&mut job).await;
    let policy = decision.policy();
    let Some(mut found) = decision.value else { return council.clone() };
    let is_bounded = bound_facts(council, &mut found, policy, common.model.limit);
    let keep = council.rules.keep.naming(found);
    let keep = if is_bounded { keep.crowded() } else { keep };
    let rules = Arc::new(ProfileRules { keep, ..(*council.rules).clone() });
    PolicyRunner { rules, ..council.clone() }
}

/// Holds the lines that policies find to half of the limit, the first of them first: what stays word
/// for word leaves room for the rest of the prompt. A limit of 0 is not known. Returns whether any of them
/// have no room.
fn bound_facts(
    council: &PolicyRunner,
    found: &mut Vec<String>,
    policy: String,
    limit: u64,
) -> bool {
    let most = limit / KEPT_PART;
    let (mut asked, mut given) = (0, 0);
    let mut known = BTreeSet::new();
    // A line that is named again is the same line.
    found.retain(|line| known.insert(line.clone()));
    found.retain(|line| {
        let tokens = council.counter.count(line);
        asked += tokens;
        let fits = limit == 0 || given + tokens <= most;
        given += if fits { tokens } else { 0 };
        fits
    });
    if asked > given {
        let (hook, what) = (FactsJob::HOOK, "lines".into());
        council.notes().bounded.push(Bounded { policy, hook, what, asked, given });
    }
    asked > given
}

/// The messages of a conversation as they were said, whatever stands for them.
pub(crate) fn originals(thread: &Thread) -> impl Iterator<Item = &Entry> {
    thread.entries().iter().map(|entry| thread.original(entry.id).unwrap_or(entry))
}

/// What is kept of a conversation, stated as the profile words it.
pub(crate) fn kept(keep: &KeepRules, profile: &Profile, thread: &Thread) -> KeptStatement {
    let lines = keep.lines(&originals(thread).collect::<Vec<&Entry>>());
    let lines = lines.into_iter().map(|line| {
        let sent = match thread.part(line.part).map(|part| &part.body) {
            Some(PartBody::Text(text)) => text.contains(&line.text),
            Some(PartBody::Result(result)) => result.text.contains(&line.text),
            // Arguments spell a text otherwise.
            Some(_) => true,
            None => false,
        };
        StatedLine { part: line.part, text: line.text, sent }
    });
    let options = &profile.options.work_state;
    let (heading, share) = (options.kept.clone(), options.keep);
    KeptStatement { lines: lines.collect(), heading, share, fills: None }
}

/// What is kept of results that are made smaller. What the policies masked is shown to none of them: it would
/// reach the model that one of them may ask.
pub(crate) async fn arriving_lines(
    council: &PolicyRunner,
    common: &Common,
    thread: &Thread,
    decided: &[(PartId, ToolResultAnswer)],
) -> Vec<StatedLine> {
    let is_smaller = |how: Way| how != Way::Keep && how != Way::Mask;
    let made = decided.iter().filter(|(_, answer)| is_smaller(answer.how));
    let made = made.filter_map(|(part, _)| Some((*part, thread.alone(*part)?)));
    let made: Vec<(PartId, Entry)> = made.collect();
    if made.is_empty() {
        return Vec::new();
    }
    let said: Vec<_> = made.iter().map(|(_, entry)| entry).collect();
    // The calls that they answer are not among them.
    let names = made.iter().map(|(part, _)| thread.tool_of(*part).map(str::to_owned));
    let names = names.map(|name| name.into_iter().collect()).collect();
    let covered = Covered { names, ..covered(&said) };
    let council = finding(council, common, &said, covered).await;
    let lines = made.iter().flat_map(|(part, entry)| {
        let lines = council.rules.keep.lines(&[entry]).into_iter();
        lines.map(|line| StatedLine { part: *part, text: line.text, sent: false })
    });
    lines.collect()
}

/// Holds results, with the lines that are kept of them, to the most that the profile says of their tool: up
/// to half of that is the newest lines'. The others are stated with the next compression.
pub(crate) fn bounded(
    rules: &ProfileRules,
    thread: &Thread,
    gauge: &SizeGauge<'_>,
    decided: &mut [(PartId, ToolResultAnswer)],
    lines: &[StatedLine],
) -> Vec<StatedLine> {
    let mut all = Vec::new();
    for (part, answer) in decided {
        let own = lines.iter().filter(|line| line.part == *part);
        let most = thread.tool_of(*part).and_then(|tool| rules.most_of(tool));
        let Some(most) = most.filter(|_| answer.how != Way::Mask) else {
            all.extend(own.cloned());
            continue;
        };
        let mut left = most / 2;
        let mut taken: Vec<_> = own
            .rev()
            .filter(|line| {
                let rest = left.checked_sub(gauge.size(&line.text) + 1);
                left = rest.unwrap_or(left);
                rest.is_some()
            })
            .cloned()
            .collect();
        taken.reverse();
        if !taken.is_empty() {
            answer.max_tokens = Some(most.saturating_sub(most / 2 - left + HEADING));
        }
        all.append(&mut taken);
    }
    all
}

/// What the heading over such lines takes at most, in tokens.
const HEADING: u64 = 16;

/// What is stated of a conversation that stands by itself, within a budget.
pub(crate) fn alone(
    keep: &KeepRules,
    profile: &Profile,
    thread: &Thread,
    most: Budget,
) -> ConstraintState {
    let label = profile.options.work_state.label.clone();
    let most = if most.unit == BudgetUnit::Tokens { most.most } else { 0 };
    ConstraintState { label, most, kept: kept(keep, profile, thread), ..ConstraintState::default() }
}
