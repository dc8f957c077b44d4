//! What a journal records beside the messages: compressions, rewrites on arrival, marks.
//!
//! Invariant: a record never changes, and it is addressed by what it covers, never by the name of
//! a session (RULES 62). All else that is shown of a session is derived from records.

use serde::{Deserialize, Serialize};

use crate::key::Hash;
use crate::{
    BoundReply, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, EntryKey, FactCounts,
    HistoryHash, Op, Plan, ReplaceMethod, Role,
};

/// The id of an epoch: a hash over all the rest of it ([`Compaction::hash`]).
pub type CompactionId = ContentId;

/// The run of entries that an epoch rewrites: from the first entry it touches to the last one,
/// untouched entries between them included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompactionRange {
    /// The key of the first entry.
    pub first: EntryKey,
    /// How many entries.
    pub len: u32,
    /// The chain of their keys.
    pub chain: HistoryHash,
}

/// Why a compression was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionCause {
    /// It pays: the window is filling, and what a smaller prompt saves outweighs the rewrite.
    Soft,
    /// The window forces it.
    Hard,
    /// The user asked for it.
    Manual,
}

/// Who ordered an op.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAuthor {
    /// The policy.
    pub policy: String,
    /// The hook that answered.
    pub hook: String,
    /// The line of its `policy.lua` where that hook begins, where it has lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// One compression, as an immutable record.
///
/// It is complete: its plan says what the whole covered run is sent as, whatever earlier epochs
/// said of it. So exactly one epoch is in force for a history, and taking it back leaves its
/// parent in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Its id.
    pub id: CompactionId,
    /// The epoch that was in force before.
    pub parent: Option<CompactionId>,
    /// The run that it rewrites.
    pub covered: CompactionRange,
    /// What the run is sent as; its entry ids count from the first covered entry.
    pub plan: Plan,
    /// Who ordered each op of the plan, in their order; none where that was not recorded.
    pub credits: Vec<HookAuthor>,
    /// Why it was made.
    pub cause: CompactionCause,
    /// Which compression of its history it is, counted from 1 (RULES 22).
    pub number: u32,
    /// What it came to.
    #[serde(flatten)]
    pub outcome: CompactionOutcome,
    /// The profile and the hash of its effective options.
    pub profile: String,
    /// The hash of the profile's effective options.
    pub config: String,
    /// When it was made, ISO 8601.
    pub at: String,
}

/// What a compression came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionOutcome {
    /// Tokens of the prompt before and after.
    pub tokens: [u64; 2],
    /// The share of must-keep facts that are still in the prompt, 0 to 1.
    pub confidence: f64,
    /// Which must-keep facts those are.
    pub must_keep: FactCounts,
}

impl Default for CompactionOutcome {
    /// As long as nothing was measured nothing is taken to be lost.
    fn default() -> Self {
        Self { tokens: [0, 0], confidence: 1.0, must_keep: FactCounts::default() }
    }
}

impl Compaction {
    /// The id that it must have: a hash over every field but the id itself. It is the same in every
    /// version of this program; a new field is hashed only where it differs from its default.
    pub fn hash(&self) -> CompactionId {
        let mut hash = Hash::default();
        let Self { id: _, parent, covered, plan, cause, number, outcome, .. } = self;
        let CompactionOutcome { tokens, confidence, must_keep } = outcome;
        hash.field(parent.as_ref().map_or(&[][..], |parent| &parent.0));
        hash.fields([&covered.first.0, &covered.len.to_le_bytes()[..], &covered.chain.0]);
        hash.field(&(plan.ops.len() as u64).to_le_bytes());
        plan.ops.iter().for_each(|op| hash_op(&mut hash, op));
        hash.fields([
            plan.reason.as_bytes(),
            match cause {
                CompactionCause::Soft => b"soft",
                CompactionCause::Hard => b"hard",
                CompactionCause::Manual => b"manual",
            },
            &number.to_le_bytes(),
            &tokens[0].to_le_bytes(),
            &tokens[1].to_le_bytes(),
            &confidence.to_bits().to_le_bytes(),
            self.profile.as_bytes(),
            self.config.as_bytes(),
            self.at.as_bytes(),
        ]);
        if *must_keep != FactCounts::default() {
            hash_score(&mut hash, must_keep);
        }
        for HookAuthor { policy, hook, line } in &self.credits {
            let line = line.map_or([0; 5], |line| {
                let [a, b, c, d] = line.to_le_bytes();
                [1, a, b, c, d]
            });
            hash.fields([&b"credit"[..], policy.as_bytes(), hook.as_bytes(), &line]);
        }
        ContentId(hash.end())
    }
}

fn hash_score(hash: &mut Hash, score: &FactCounts) {
    let FactCounts { constraints, paths, errors, identifiers, kept, recallable } = *score;
    let pairs = [constraints, paths, errors, identifiers, [recallable, 0], kept];
    // Records of profiles that keep no lines have the hashes that they always had.
    let pairs = &pairs[..if kept == [0; 2] { 5 } else { 6 }];
    let bytes: Vec<u8> = pairs.as_flattened().iter().flat_map(|n| n.to_le_bytes()).collect();
    hash.fields([b"must_keep", &bytes]);
}

fn hash_op(hash: &mut Hash, op: &Op) {
    match op {
        Op::Replace { part, with, how } => {
            hash.fields([b"replace", &part.entry.0.to_le_bytes()[..], &part.part.to_le_bytes()]);
            hash.fields([with.as_bytes(), how_name(*how)]);
        }
        Op::Drop { entries } => {
            hash.field(b"drop");
            hash_entries(hash, entries);
        }
        Op::Insert { after, role, text } => {
            hash.field(b"insert");
            hash_entries(hash, after.as_slice());
            let role: &[u8] = match role {
                Role::System => b"system",
                Role::User => b"user",
                Role::Assistant => b"assistant",
                Role::Tool => b"tool",
            };
            hash.fields([role, text.as_bytes()]);
        }
        Op::Strip { parts } => {
            hash.field(b"strip");
            let places = parts.iter().flat_map(|part| [part.entry.0, part.part]);
            hash.field(&places.flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        }
        Op::Unbind { replies } => {
            hash.field(b"unbind");
            for BoundReply { entry, key } in replies {
                hash.fields([&entry.0.to_le_bytes()[..], &key.0]);
            }
        }
        Op::State { after, text } => {
            hash.field(b"state");
            hash_entries(hash, after.as_slice());
            hash.field(text.as_bytes());
        }
        Op::Summarize(checkpoint) => {
            hash.fields([&b"summarize"[..], &checkpoint.id.0]);
            hash_entries(hash, &checkpoint.covers);
            let level: &[u8] = match checkpoint.level {
                CheckpointLevel::Merged => b"merged",
                CheckpointLevel::Compact => b"compact",
                CheckpointLevel::Moderate => b"moderate",
                CheckpointLevel::Detailed => b"detailed",
            };
            hash.fields([checkpoint.text.as_bytes(), level]);
            if !checkpoint.stand.is_default() {
                let CheckpointPlacement { front, assistant } = checkpoint.stand;
                hash.fields([&b"stand"[..], &[u8::from(front), u8::from(assistant)]]);
            }
        }
    }
}

fn hash_entries(hash: &mut Hash, entries: &[EntryId]) {
    let places: Vec<u8> = entries.iter().flat_map(|entry| entry.0.to_le_bytes()).collect();
    hash.field(&places);
}

fn how_name(how: ReplaceMethod) -> &'static [u8] {
    match how {
        ReplaceMethod::Digest => b"digest",
        ReplaceMethod::Offload => b"offload",
        ReplaceMethod::Mask => b"mask",
        ReplaceMethod::TruncateInput => b"truncate_input",
        ReplaceMethod::Cut => b"cut",
        ReplaceMethod::Append => b"append",
    }
}

/// A tool result that was made smaller before it was first sent (RULES 61).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalRewrite {
    /// The entry that holds it.
    pub key: EntryKey,
    /// The part, by its place in the entry.
    pub part: u32,
    /// What is sent in its place.
    pub with: String,
    /// In which way it is smaller.
    pub how: ReplaceMethod,
    /// The address of the original text.
    pub original: ContentId,
    /// The tool that returned it.
    pub tool: String,
    /// Tokens of the part before and after.
    pub tokens: [u64; 2],
}

/// Something that was done by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalMark {
    /// An epoch is taken back, and its run held: it is not compressed again unless the user or the
    /// window says so.
    Undo(CompactionId),
    /// An undo is taken back, and the hold with it.
    Redo(CompactionId),
    /// An entry is pinned.
    Pin(EntryKey),
    /// An entry is not pinned any longer.
    Unpin(EntryKey),
}

/// A mark, and what its session had come to when it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedMark {
    /// The mark.
    pub mark: JournalMark,
    /// The history that ends with the newest message of then, where that is known.
    pub place: Option<HistoryHash>,
}

/// An epoch, and whether it was taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCompaction {
    /// The epoch.
    pub epoch: Compaction,
    /// Whether it was taken back.
    pub undone: bool,
    /// What the session had come to then, where that is known.
    pub undone_at: Option<HistoryHash>,
}

impl From<Compaction> for RecordedCompaction {
    fn from(epoch: Compaction) -> Self {
        Self { epoch, undone: false, undone_at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checkpoint, PartId};

    fn epoch() -> Compaction {
        let part = PartId { entry: EntryId(3), part: 0 };
        Compaction {
            id: ContentId([0; 16]),
            parent: None,
            covered: CompactionRange {
                first: EntryKey([1; 16]),
                len: 4,
                chain: HistoryHash([2; 16]),
            },
            plan: Plan {
                ops: vec![
                    Op::Replace { part, with: "short".into(), how: ReplaceMethod::Digest },
                    Op::Drop { entries: vec![EntryId(1), EntryId(2)] },
                    Op::Insert { after: None, role: Role::User, text: "note".into() },
                    Op::Summarize(Checkpoint {
                        id: ContentId([3; 16]),
                        covers: vec![EntryId(0)],
                        text: "summary".into(),
                        level: CheckpointLevel::Detailed,
                        stand: CheckpointPlacement::default(),
                        model: None,
                    }),
                ],
                reason: "full".into(),
            },
            credits: Vec::new(),
            cause: CompactionCause::Soft,
            number: 1,
            outcome: CompactionOutcome {
                tokens: [900, 300],
                confidence: 0.75,
                must_keep: FactCounts::default(),
            },
            profile: "default".into(),
            config: "c0".into(),
            at: "2026-01-02T03:04:05Z".into(),
        }
    }

    #[test]
    fn every_field_but_the_id_counts() {
        let changes: [fn(&mut Compaction); 24] = [
            |epoch| epoch.credits = vec![HookAuthor::default()],
            |epoch| epoch.credits = vec![HookAuthor { line: Some(0), ..HookAuthor::default() }],
            |epoch| epoch.parent = Some(ContentId([0; 16])),
            |epoch| epoch.covered.first = EntryKey([9; 16]),
            |epoch| epoch.covered.len = 5,
            |epoch| epoch.covered.chain = HistoryHash([9; 16]),
            |epoch| epoch.plan.ops.truncate(3),
            |epoch| epoch.plan.ops.swap(0, 1),
            |epoch| epoch.plan.ops[1] = Op::Drop { entries: vec![EntryId(1)] },
            |epoch| epoch.plan.reason.clear(),
            |epoch| epoch.cause = CompactionCause::Hard,
            |epoch| epoch.number = 2,
            |epoch| epoch.outcome.tokens[0] += 1,
            |epoch| epoch.outcome.tokens[1] += 1,
            |epoch| epoch.outcome.confidence = 0.5,
            |epoch| epoch.outcome.must_keep.constraints = [1, 1],
            |epoch| epoch.outcome.must_keep.paths = [1, 1],
            |epoch| epoch.outcome.must_keep.errors = [1, 1],
            |epoch| epoch.outcome.must_keep.identifiers = [1, 1],
            |epoch| epoch.outcome.must_keep.recallable = 1,
            |epoch| epoch.profile.push('x'),
            |epoch| epoch.config.push('x'),
            |epoch| epoch.at.push('x'),
            |epoch| epoch.plan.ops[2] = Op::Drop { entries: Vec::new() },
        ];
        let first = epoch().hash();
        let mut hashes = vec![first];
        for change in changes {
            let mut changed = epoch();
            change(&mut changed);
            hashes.push(changed.hash());
        }
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 25);
        assert_eq!(Compaction { id: first, ..epoch() }.hash(), first);
    }

    #[test]
    fn the_hash_outlives_a_version() {
        assert_eq!(epoch().hash().to_string(), "07bc92644a28ed2de47ceb954d801ed5");
    }

    #[test]
    fn where_a_checkpoint_stands_counts_and_is_written_where_it_is_told() {
        let stands = [(false, false), (true, false), (false, true), (true, true)];
        let all = stands.map(|(front, assistant)| {
            let mut one = epoch();
            let Some(Op::Summarize(checkpoint)) = one.plan.ops.last_mut() else { panic!() };
            checkpoint.stand = CheckpointPlacement { front, assistant };
            one
        });
        let mut hashes: Vec<_> = all.iter().map(Compaction::hash).collect();
        assert_eq!(hashes[0], epoch().hash());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), stands.len());
        for one in &all {
            let written = serde_json::to_string(&one.plan).unwrap();
            assert_eq!(written.contains("stand"), one.hash() != epoch().hash(), "{written}");
            assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), one.plan);
        }
    }

    #[test]
    fn what_is_stripped_and_stated_counts() {
        let part = |entry, part| PartId { entry: EntryId(entry), part };
        let strip = |parts: &[PartId]| Op::Strip { parts: parts.to_vec() };
        let unbind = |replies: &[(u32, u8)]| {
            let reply = |&(place, key): &(u32, u8)| BoundReply {
                entry: EntryId(place),
                key: EntryKey([key; 16]),
            };
            Op::Unbind { replies: replies.iter().map(reply).collect() }
        };
        let state = |after: Option<u32>, text: &str| Op::State {
            after: after.map(EntryId),
            text: text.into(),
        };
        let ops = [
            strip(&[part(1, 2)]),
            strip(&[part(2, 1)]),
            strip(&[part(1, 2), part(2, 0)]),
            Op::Drop { entries: vec![EntryId(1), EntryId(2)] },
            state(None, "goal"),
            state(Some(0), "goal"),
            state(Some(0), "goals"),
            Op::Insert { after: None, role: Role::User, text: "goal".into() },
            unbind(&[(1, 7)]),
            unbind(&[(1, 8)]),
            unbind(&[(2, 7)]),
            unbind(&[(1, 7), (2, 7)]),
        ];
        let hash = |op: &Op| {
            let plan = Plan { ops: vec![op.clone()], reason: String::new() };
            Compaction { plan, ..epoch() }.hash()
        };
        let mut hashes: Vec<_> = ops.iter().map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), ops.len());
    }
}
