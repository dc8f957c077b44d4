//! Which arm the next unit of a row of units gets: permuted blocks.
//!
//! Invariant: within each whole block every arm gets exactly what it weighs, in an order that the salt
//! draws; so few units are divided evenly too. A function of the salt, the place and the weights alone.

use crate::assign::drawn_arm;

/// The least length of a block: in a shorter one the last unit's arm could be told beforehand too often.
const LEAST: u64 = 4;

/// The longest block. Weights that need a longer one are drawn unit by unit.
const LONGEST: u64 = 10_000;

/// Returns the place of the arm that the unit at this place of a row gets by these weights; `None`
/// where none weighs anything.
///
/// Another salt is another order: it names the experiment, its version and the row.
#[must_use]
pub fn block_arm(salt: &str, place: u64, weights: &[u64]) -> Option<usize> {
    let divisor = weights.iter().copied().fold(0, common);
    if divisor == 0 {
        return None;
    }
    let parts: Vec<u64> = weights.iter().map(|weight| weight / divisor).collect();
    let total = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
    if total > LONGEST {
        return drawn_arm(salt, &place.to_string(), weights);
    }
    let times = LEAST.div_ceil(total);
    let length = total * times;
    let mut block = Vec::with_capacity(length as usize);
    for (arm, part) in parts.iter().enumerate() {
        block.extend(std::iter::repeat_n(arm, (part * times) as usize));
    }
    shuffle(&mut block, salt, place / length);
    block.get((place % length) as usize).copied()
}

/// The greatest common divisor.
fn common(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common(other, one % other) }
}

/// Puts a block into the order that its salt and number draw.
fn shuffle(block: &mut [usize], salt: &str, number: u64) {
    let mut hash = blake3::Hasher::new();
    hash.update(&number.to_le_bytes());
    hash.update(salt.as_bytes());
    let mut random = hash.finalize_xof();
    for last in (1..block.len()).rev() {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let other = u64::from_le_bytes(bytes) % (last as u64 + 1);
        block.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(salt: &str, places: std::ops::Range<u64>, weights: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; weights.len()];
        places.for_each(|place| counts[block_arm(salt, place, weights).unwrap()] += 1);
        counts
    }

    #[test]
    fn each_block_holds_what_the_arms_weigh() {
        for block in 0..50 {
            assert_eq!(counts("a", 4 * block..4 * block + 4, &[1, 1]), [2, 2]);
            assert_eq!(counts("a", 20 * block..20 * block + 20, &[45, 35, 20]), [9, 7, 4]);
        }
        assert_eq!(counts("a", 0..7, &[0, 7, 0]), [0, 7, 0]);
        assert_eq!(block_arm("a", 0, &[0, 0]), None);
        assert_eq!(block_arm("a", 0, &[]), None);
    }

    #[test]
    fn the_order_is_drawn_for_each_block_and_salt() {
        let order = |salt: &str, from: u64| -> Vec<_> {
            (from..from + 4).filter_map(|place| block_arm(salt, place, &[1, 1])).collect()
        };
        assert_eq!(order("a", 8), order("a", 8));
        let mut orders: Vec<_> = (0..200).map(|block| order("a", 4 * block)).collect();
        let first = orders.iter().filter(|order| order[0] == 0).count();
        assert!((70..130).contains(&first), "{first} of 200 blocks begin with the first arm");
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6, "every order of two and two");
        let firsts = |place| {
            (0..400).filter(move |salt| block_arm(&format!("{salt}"), place, &[1, 1]) == Some(0))
        };
        assert!((150..250).contains(&firsts(0).count()));
    }

    #[test]
    fn weights_of_any_size_have_an_arm() {
        let weights = [u64::MAX, u64::MAX - 1];
        let [one, other] = counts("a", 0..2_000, &weights)[..] else { panic!() };
        assert!(one.abs_diff(other) < 300, "{one} {other}");
    }

    proptest! {
        #[test]
        fn no_arm_is_ever_far_from_its_share(
            weights in prop::collection::vec(0_u64..9, 1..5),
            places in 1_u64..300,
        ) {
            let total: u64 = weights.iter().sum();
            prop_assume!(total > 0);
            let counts = counts("law", 0..places, &weights);
            let block = total * LEAST.div_ceil(total);
            for (count, weight) in counts.iter().zip(&weights) {
                let share = places as f64 * *weight as f64 / total as f64;
                let most = (block * weight / total) as f64;
                prop_assert!((*count as f64 - share).abs() <= most, "{counts:?} of {weights:?}");
            }
        }
    }
}
