//! What models wrote, and which checkpoints it can stand for.
//!
//! Invariant: a candidate stands in the place of an extract of the very same messages, at the same
//! level, and is no larger than that. Written by the task, read by compressions.

use epitome_kernel::{SizeGauge, TextMeasure};
use epitome_plan::KernelTexts;
use epitome_types::{Checkpoint, CheckpointLevel, EntryKey, EventKind, HistoryHash, Op, Plan};

/// What a summary stands for, and the room that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SummaryKey {
    /// The messages.
    covered: HistoryHash,
    level: CheckpointLevel,
    /// Tokens of the extract's words.
    most: u64,
}

/// What a model wrote and policies took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenSummary {
    pub(crate) text: String,
    pub(crate) model: String,
    /// How far it can be relied on, where a policy said so.
    pub(crate) confidence: Option<f64>,
}

/// A plan with the words of models in it.
#[derive(Default)]
pub(crate) struct WordedPlan {
    pub(crate) plan: Plan,
    /// Those words, and in what way a checkpoint changed with them.
    pub(crate) used: Vec<(WrittenSummary, EventKind)>,
}

impl SummaryKey {
    /// That of an extract; `None` where it is none, or cannot be told from what opens it.
    pub(crate) fn of(
        one: &Checkpoint,
        texts: &KernelTexts,
        gauge: &SizeGauge<'_>,
        keys: &[EntryKey],
    ) -> Option<Self> {
        let (_, words) = texts.parted(one).filter(|_| one.model.is_none())?;
        let covered: Option<Vec<_>> =
            one.covers.iter().map(|id| keys.get(id.index()).copied()).collect();
        let covered = HistoryHash::for_entries(&covered?);
        Some(Self { covered, level: one.level, most: gauge.size(words) })
    }

    /// How detailed it is.
    pub(crate) fn level(&self) -> CheckpointLevel {
        self.level
    }

    /// The room.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }
}

/// A plan with all that models wrote in the background for its checkpoints; `find` looks it up.
pub(crate) fn worded(
    mut plan: Plan,
    find: impl Fn(&SummaryKey) -> Option<WrittenSummary>,
    texts: &KernelTexts,
    gauge: &SizeGauge<'_>,
    keys: &[EntryKey],
) -> WordedPlan {
    let mut used = Vec::new();
    for op in &mut plan.ops {
        let Op::Summarize(one) = op else { continue };
        let found = SummaryKey::of(one, texts, gauge, keys).and_then(|key| find(&key));
        let (Some(candidate), Some((label, _))) = (found, texts.parted(one)) else { continue };
        let text = format!("{label}{}", candidate.text.trim());
        let (before, after) = (gauge.message(&one.text), gauge.message(&text));
        if after > before {
            continue;
        }
        (one.text, one.model) = (text, Some(candidate.model.clone()));
        let (checkpoint, levels) = (one.id.short(), [one.level.number(); 2]);
        let saved = before - after;
        used.push((candidate, EventKind::CheckpointAged { checkpoint, levels, saved }));
    }
    WordedPlan { plan, used }
}

impl WordedPlan {
    /// What stands in a plan of it.
    pub(crate) fn within(self, plan: &Plan) -> Self {
        let mut used = self.used;
        used.retain(|(candidate, _)| {
            plan.ops.iter().any(|op| match op {
                Op::Summarize(one) => one.text.ends_with(candidate.text.trim()),
                _ => false,
            })
        });
        Self { used, ..self }
    }

    /// What models wrote.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.used.iter().map(|(one, _)| one.text.clone())
    }

    /// What happened to checkpoints that stood there with other words.
    pub(crate) fn events(&self) -> impl Iterator<Item = EventKind> {
        self.used.iter().map(|(_, event)| event.clone())
    }

    /// How far a plan can be relied on: as far as the least of what models wrote of it.
    pub(crate) fn confidence(&self) -> Option<f64> {
        self.used.iter().filter_map(|(one, _)| one.confidence).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::TokenCounter;
    use epitome_testkit::FixedCounter;
    use epitome_types::{BudgetUnit, CheckpointPlacement, ContentId, EntryId};

    use super::*;

    const KEYS: [EntryKey; 3] = [EntryKey([0; 16]), EntryKey([1; 16]), EntryKey([2; 16])];

    fn texts() -> KernelTexts {
        KernelTexts {
            label: "[{messages} messages]".to_owned(),
            label_short: "[short]".to_owned(),
            label_share: 1.0,
            marker: String::new(),
            stub: String::new(),
            line_chars: 80,
        }
    }

    fn extract(text: &str) -> Checkpoint {
        Checkpoint {
            id: ContentId([7; 16]),
            covers: vec![EntryId(0), EntryId(2)],
            text: text.to_owned(),
            level: CheckpointLevel::Detailed,
            stand: CheckpointPlacement::default(),
            model: None,
        }
    }

    fn key(one: &Checkpoint) -> Option<SummaryKey> {
        let counter: &dyn TokenCounter = &FixedCounter::Words;
        SummaryKey::of(one, &texts(), &SizeGauge { counter, unit: BudgetUnit::Tokens }, &KEYS)
    }

    /// What a checkpoint says once a model wrote this for another one.
    #[track_caller]
    fn check(one: &Checkpoint, wanted: &Checkpoint, written: &str, expected: Option<&str>) {
        let (text, model) = (written.to_owned(), "m".to_owned());
        let candidate = WrittenSummary { text, model, confidence: Some(0.5) };
        let find = |key: &SummaryKey| (Some(*key) == self::key(wanted)).then(|| candidate.clone());
        let plan = Plan { ops: vec![Op::Summarize(one.clone())], reason: String::new() };
        let counter: &dyn TokenCounter = &FixedCounter::Words;
        let gauge = SizeGauge { counter, unit: BudgetUnit::Tokens };
        let worded = worded(plan, find, &texts(), &gauge, &KEYS);
        let [Op::Summarize(now)] = &worded.plan.ops[..] else { panic!("{:?}", worded.plan) };
        assert_eq!(
            (&*now.text, now.model.as_deref()),
            match expected {
                Some(text) => (text, Some("m")),
                None => (&*one.text, one.model.as_deref()),
            }
        );
        let used = worded.confidence();
        assert_eq!(used, expected.map(|_| 0.5));
    }

    #[test]
    fn a_model_words_what_it_was_asked_for() {
        let one = extract("[2 messages]\none two three");
        check(&one, &one, " said by it \n", Some("[2 messages]\nsaid by it"));
        let short = extract("[short]\none two three");
        check(&short, &short, "said", Some("[short]\nsaid"));
    }

    #[test]
    fn what_is_larger_is_not_taken() {
        let one = extract("[2 messages]\none two three");
        check(&one, &one, "said by it too", None);
    }

    #[test]
    fn other_messages_levels_and_rooms_have_words_of_their_own() {
        let one = extract("[2 messages]\none two three");
        let covers = vec![EntryId(0), EntryId(1)];
        check(&one, &Checkpoint { covers, ..one.clone() }, "said", None);
        check(&one, &Checkpoint { level: CheckpointLevel::Compact, ..one.clone() }, "said", None);
        check(&one, &extract("[2 messages]\none two"), "said", None);
    }

    #[test]
    fn only_an_extract_that_is_known_by_its_label_is_wanted() {
        let one = extract("[2 messages]\none two three");
        assert!(key(&one).is_some());
        assert_eq!(key(&Checkpoint { model: Some("m".to_owned()), ..one.clone() }), None);
        assert_eq!(key(&extract("[3 messages]\none two three")), None);
        assert_eq!(key(&Checkpoint { covers: vec![EntryId(9)], ..one }), None);
    }
}
