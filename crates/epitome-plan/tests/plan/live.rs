//! Laws of epochs over random histories.

use epitome_kernel::types::{
    Budget, BudgetUnit, CompactionCause, Edit, Entry, EntryId, EntryKey, RecordedCompaction,
};
use epitome_kernel::{
    ActiveCompaction, CompactionLineage, EpochGround, Summarizer, Thread, epoch_of, identity,
};
use epitome_plan::{FitOutcome, compress};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, chat, conversation, now};
use proptest::prelude::*;

use crate::help::options;

fn keys(entries: &[Entry]) -> Vec<EntryKey> {
    entries.iter().map(EntryKey::for_entry).collect()
}

/// Adds an epoch that brings a history to a share of its size, where one can be made.
fn compressed(lineage: &mut CompactionLineage, entries: &[Entry], share: f64) -> bool {
    let thread = Thread::new(entries.to_vec(), &[]);
    let keys = keys(entries);
    let counter = FixedCounter::Words;
    let size: u64 =
        entries.iter().map(|entry| entry.readable().split_whitespace().count() as u64 + 4).sum();
    let budget = Budget { unit: BudgetUnit::Tokens, most: (size as f64 * share) as u64 };
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let summarizers: [&dyn Summarizer; 1] = [&summarizer];
    let options = options();
    let outcome = now(compress(&thread, &options, budget, &counter, &summarizers));
    let FitOutcome::Compressed(done) = outcome else { return false };
    let in_force = lineage.in_force(&thread, &keys);
    let number = lineage.compressions(in_force.as_ref().map(|it| it.epoch.id)) + 1;
    let (parent, cause) = (in_force.as_ref(), CompactionCause::Hard);
    let ground = EpochGround { keys: &keys, tells: None, parent, number, cause };
    let epoch = epoch_of(&done.plan, &ground);
    let Some(mut epoch) = epoch else { return false };
    epoch.id = epoch.hash();
    lineage.extend([RecordedCompaction::from(epoch)]);
    true
}

fn edits(lineage: &CompactionLineage, entries: &[Entry]) -> Vec<Edit> {
    let thread = Thread::new(entries.to_vec(), &[]);
    match lineage.in_force(&thread, &keys(entries)) {
        Some(ActiveCompaction { view, .. }) => view.edits(),
        None => identity(&thread).edits(),
    }
}

fn undo_last(lineage: &CompactionLineage) -> CompactionLineage {
    let mut recorded = lineage.recorded().to_vec();
    if let Some(last) = recorded.last_mut() {
        last.undone = true;
    }
    CompactionLineage::new(recorded)
}

proptest! {
    /// What is appended changes nothing before it.
    #[test]
    fn a_longer_history_is_sent_alike(all in conversation(14), cut in 0.3..0.9f64) {
        let cut = (all.len() as f64 * cut) as usize;
        let mut lineage = CompactionLineage::default();
        prop_assume!(compressed(&mut lineage, &all[..cut], 0.5));
        let covered = lineage.recorded()[0].epoch.covered.len as usize;
        prop_assert!(covered <= cut);
        let short = edits(&lineage, &all[..cut]);
        prop_assert!(!short.is_empty());
        prop_assert_eq!(short, edits(&lineage, &all));
    }

    /// An epoch leaves a history in which anything of its run was changed, and comes back with it.
    #[test]
    fn a_changed_run_is_not_covered(all in conversation(12), at in any::<prop::sample::Index>()) {
        let mut lineage = CompactionLineage::default();
        prop_assume!(compressed(&mut lineage, &all, 0.5));
        let thread = Thread::new(all.clone(), &[]);
        let in_force = lineage.in_force(&thread, &keys(&all)).unwrap();
        let at = in_force.start + at.index(in_force.epoch.covered.len as usize);
        let mut changed = all.clone();
        changed[at] = chat().user("something else").entries().remove(0);
        prop_assert_eq!(edits(&lineage, &changed), vec![]);
        prop_assert!(!edits(&lineage, &all).is_empty());
    }

    /// A run is found wherever it begins: a session resumed under another opening is sent alike
    /// from there on.
    #[test]
    fn a_run_is_found_behind_another_opening(all in conversation(12)) {
        let mut lineage = CompactionLineage::default();
        prop_assume!(compressed(&mut lineage, &all, 0.5));
        let mut moved = chat().system("today is another day").entries();
        moved.extend(all.iter().cloned());
        let thread = Thread::new(moved.clone(), &[]);
        let keys = keys(&moved);
        let in_force = lineage.in_force(&thread, &keys);
        prop_assert!(in_force.is_some_and(|it| it.start > 0));
    }

    /// Taking an epoch back leaves what stood before it, byte for byte; its run is held.
    #[test]
    fn an_undo_leaves_the_parent(all in conversation(16), cut in 0.4..0.8f64) {
        let cut = (all.len() as f64 * cut) as usize;
        let mut lineage = CompactionLineage::default();
        prop_assume!(compressed(&mut lineage, &all[..cut], 0.6));
        let before = edits(&lineage, &all);
        let parent = lineage.recorded()[0].epoch.id;
        prop_assume!(compressed(&mut lineage, &all, 0.4));
        prop_assert_eq!(lineage.recorded()[1].epoch.parent, Some(parent));
        prop_assert_eq!(lineage.compressions(Some(lineage.recorded()[1].epoch.id)), 2);
        let after = edits(&lineage, &all);
        let undone = undo_last(&lineage);
        prop_assert_eq!(edits(&undone, &all), before);
        let keys = keys(&all);
        prop_assert_eq!(undone.redoable(&keys, Some(parent)), [lineage.recorded()[1].epoch.id]);
        // Done again, it is as it was; and nothing is held any longer.
        prop_assert_eq!(edits(&lineage, &all), after);
        prop_assert_eq!(lineage.held(&keys, None, &[]), vec![]);
        let thread = Thread::new(all.clone(), &[]);
        let held = undone.held(&keys, undone.in_force(&thread, &keys).as_ref(), &[]);
        prop_assert!(held.iter().all(|id| id.index() < all.len()));
    }

    /// An entry that is pinned later is not taken by an epoch made before.
    #[test]
    fn a_later_pin_wins(all in conversation(12), at in any::<prop::sample::Index>()) {
        let mut lineage = CompactionLineage::default();
        prop_assume!(compressed(&mut lineage, &all, 0.5));
        let pin = EntryId(at.index(all.len()) as u32);
        let thread = Thread::new(all.clone(), &[pin]);
        let keys = keys(&all);
        let kept = lineage.in_force(&thread, &keys).is_none_or(|it| it.view.keeps(pin));
        prop_assert!(kept);
    }
}
