//! What models wrote, and which checkpoints it can stand for.
//!
//! Invariant: a candidate stands in the place of an extract of the very same messages, and is no larger
//! than that. Written by the task, read by compressions.

use epitome_kernel::SizeGauge;
use epitome_plan::KernelTexts;
use epitome_types::{Checkpoint, EntryId, EntryKey, EventKind, HistoryHash, Op, Plan};

use crate::model_summarizer::{KnownWords, says};

/// The messages that a model is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SummaryKey(HistoryHash);

/// What a model wrote and policies took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenSummary {
    /// The messages that it is of.
    pub(crate) covers: Vec<(EntryId, EntryKey)>,
    pub(crate) text: String,
    /// What the model wrote of it, without what was said beside it.
    pub(crate) words: String,
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
    /// That of these messages.
    pub(crate) fn for_messages(covers: &[(EntryId, EntryKey)]) -> Self {
        let keys: Vec<_> = covers.iter().map(|(_, key)| *key).collect();
        Self(HistoryHash::for_entries(&keys))
    }

    /// That of all that an extract stands for; `None` where it is none, or cannot be told from what
    /// opens it.
    pub(crate) fn for_extract(
        one: &Checkpoint,
        texts: &KernelTexts,
        keys: &[EntryKey],
    ) -> Option<Self> {
        texts.parted(one).filter(|_| one.model.is_none())?;
        let covered: Option<Vec<_>> =
            one.covers.iter().map(|id| keys.get(id.index()).copied()).collect();
        Some(Self(HistoryHash::for_entries(&covered?)))
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
        let found = SummaryKey::for_extract(one, texts, keys).and_then(|key| find(&key));
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

impl WrittenSummary {
    /// Its messages.
    pub(super) fn messages(&self) -> impl Iterator<Item = EntryKey> {
        self.covers.iter().map(|(_, key)| *key)
    }

    /// Its words, in a history where its messages stand at the same places.
    pub(crate) fn known(&self, keys: &[EntryKey]) -> Option<KnownWords> {
        let stands = |(id, key): &(EntryId, EntryKey)| keys.get(id.index()) == Some(key);
        let covers = self.covers.iter().map(|(id, _)| *id).collect();
        let (text, model) = (self.text.clone(), self.model.clone());
        self.covers.iter().all(stands).then_some(KnownWords { covers, text, model })
    }
}

impl WordedPlan {
    /// What stands in a plan of it.
    pub(crate) fn within(self, plan: &Plan) -> Self {
        let mut used = self.used;
        used.retain(|(candidate, _)| says(plan, candidate.words.trim()));
        Self { used, ..self }
    }

    /// What models wrote.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        self.used.iter().map(|(one, _)| one.words.clone())
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
    use epitome_types::{BudgetUnit, CheckpointLevel, CheckpointPlacement, ContentId};

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
        SummaryKey::for_extract(one, &texts(), &KEYS)
    }

    /// What a checkpoint says once a model wrote this for another one.
    #[track_caller]
    fn check(one: &Checkpoint, wanted: &Checkpoint, written: &str, expected: Option<&str>) {
        let (text, model) = (written.to_owned(), "m".to_owned());
        let candidate = WrittenSummary {
            covers: Vec::new(),
            words: text.clone(),
            text,
            model,
            confidence: Some(0.5),
        };
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
    fn other_messages_have_words_of_their_own() {
        let one = extract("[2 messages]\none two three");
        let covers = vec![EntryId(0), EntryId(1)];
        check(&one, &Checkpoint { covers, ..one.clone() }, "said", None);
        let compact = Checkpoint { level: CheckpointLevel::Compact, ..one.clone() };
        check(&one, &compact, "said", Some("[2 messages]\nsaid"));
    }

    #[test]
    fn words_are_known_where_their_messages_stand_as_they_stood() {
        let [zero, two] = [0, 2].map(|id| (EntryId(id), KEYS[id as usize]));
        let written = |covers: &[(EntryId, EntryKey)]| WrittenSummary {
            covers: covers.to_vec(),
            text: "said".to_owned(),
            words: "said".to_owned(),
            model: "m".to_owned(),
            confidence: None,
        };
        let known = written(&[zero, two]).known(&KEYS);
        assert_eq!(known.map(|it| it.covers), Some(vec![EntryId(0), EntryId(2)]));
        assert_eq!(written(&[zero, (EntryId(1), KEYS[2])]).known(&KEYS), None);
        assert_eq!(written(&[zero, two]).known(&KEYS[..2]), None);
    }

    #[test]
    fn only_an_extract_that_is_known_by_its_label_is_wanted() {
        let one = extract("[2 messages]\none two three");
        assert!(key(&one).is_some());
        assert_eq!(key(&Checkpoint { model: Some("m".to_owned()), ..one.clone() }), None);
        assert_eq!(key(&extract("[two messages]\none two three")), None);
        // What was counted may have changed since.
        assert!(key(&extract("[31 messages]\none two three")).is_some());
        assert_eq!(key(&Checkpoint { covers: vec![EntryId(9)], ..one }), None);
    }
}
