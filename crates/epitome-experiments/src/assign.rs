//! Which arm a unit gets.
//!
//! Invariant: a function of the salt, the unit and the weights alone, so that any number of proxies
//! draw the same.

/// Shares are cut into so many equal buckets.
const BUCKETS: u64 = 10_000;

/// Returns the place of the arm that a unit gets by these weights; `None` where none weighs anything.
///
/// Another salt is another draw: it names the experiment and its version.
#[must_use]
pub fn drawn_arm(salt: &str, unit: &str, weights: &[u64]) -> Option<usize> {
    let mut hash = blake3::Hasher::new();
    hash.update(&(salt.len() as u64).to_le_bytes());
    hash.update(salt.as_bytes());
    hash.update(unit.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    let bucket = u128::from(u64::from_le_bytes(first) % BUCKETS);
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut up_to = 0;
    weights.iter().position(|weight| {
        up_to += u128::from(*weight);
        bucket * total < up_to * u128::from(BUCKETS) && *weight > 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 20,000 units each arm gets.
    fn counts(salt: &str, weights: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; weights.len()];
        for unit in 0..20_000 {
            counts[drawn_arm(salt, &format!("unit {unit}"), weights).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn arms_get_what_they_weigh() {
        let [one, two, none] = counts("a", &[45, 45, 10])[..] else { panic!() };
        assert!((one as f64 - 9_000.0).abs() < 250.0 && (two as f64 - 9_000.0).abs() < 250.0);
        assert!((none as f64 - 2_000.0).abs() < 200.0, "{none}");
        assert_eq!(counts("a", &[0, 7, 0]), [0, 20_000, 0]);
        assert_eq!(drawn_arm("a", "u", &[0, 0]), None);
        assert_eq!(drawn_arm("a", "u", &[]), None);
    }

    #[test]
    fn a_unit_keeps_its_arm_and_another_salt_draws_anew() {
        let draw = |salt: &str| -> Vec<_> {
            (0..1_000).map(|unit| drawn_arm(salt, &unit.to_string(), &[1, 1])).collect()
        };
        assert_eq!(draw("a"), draw("a"));
        let (one, other) = (draw("a"), draw("b"));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!((400..600).contains(&same), "{same} of 1,000 drawn alike");
        // Neither part takes letters of the other.
        let apart = |salt: &str, rest: &str| -> Vec<_> {
            (0..64).map(|n| drawn_arm(salt, &format!("{rest}{n}"), &[1; 97])).collect()
        };
        assert_ne!(apart("ab", "c"), apart("a", "bc"));
    }
}
