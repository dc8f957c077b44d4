//! The model: a weight for each feature, added up.
//!
//! Invariant: weights are whole numbers, so that a sum is the same everywhere. The table is written by
//! `cargo xtask train-brief`. Called by `shorten`.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::token::BriefToken;
use super::unit::{self, DeletionKind, RemovableUnit};

/// Lines of a feature and its weight, then the frequent words.
const TABLE: &str = include_str!("weights.txt");
/// Opens the frequent words.
const FREQUENT: &str = "frequent";

struct DeletionModel {
    /// By the hash of a feature's text.
    weights: FxHashMap<u64, i32>,
    frequent: FxHashSet<&'static str>,
}

static MODEL: LazyLock<DeletionModel> = LazyLock::new(|| {
    let (mut weights, mut frequent) = (FxHashMap::default(), FxHashSet::default());
    for line in TABLE.lines() {
        match line.split_once('\t') {
            Some((FREQUENT, words)) => frequent.extend(words.split(' ')),
            Some((feature, weight)) => {
                let feature = hashed(SEED, feature);
                weights.extend(weight.parse().ok().map(|weight: i32| (feature, weight)));
            }
            None => {}
        }
    }
    DeletionModel { weights, frequent }
});

/// How sure the model is that a unit may go, where it is at all.
pub(crate) fn sure(tokens: &[BriefToken<'_>], unit: &RemovableUnit) -> Option<i32> {
    if unit.kind == DeletionKind::Opener {
        return Some(i32::MAX);
    }
    let model = &*MODEL;
    let is_frequent = |it: &BriefToken<'_>| it.is_mark() || model.frequent.contains(&*it.word);
    // What is said in rare words may be asked for.
    if unit.kind == DeletionKind::Aside && !tokens[unit.tokens.clone()].iter().all(is_frequent) {
        return None;
    }
    let kind = hashed(hashed(SEED, unit.kind.name()), " ");
    let mut sum = 0;
    unit::features(tokens, unit, &mut |name, [one, other]| {
        let mut feature = hashed(hashed(hashed(kind, name), "="), one);
        if !other.is_empty() {
            feature = hashed(hashed(feature, "_"), other);
        }
        sum += model.weights.get(&feature).copied().unwrap_or_default();
    });
    (sum > 0).then_some(sum)
}

/// The hash of nothing.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of a text behind what has that hash (FNV-1a).
fn hashed(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
