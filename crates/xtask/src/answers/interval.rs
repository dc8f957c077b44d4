//! The mean of paired differences, and where it may lie: conversations are drawn anew, as questions of
//! one conversation succeed and fail together.
//!
//! Invariant: the same pairs give the same interval. Called by `answers`.

/// What two prompts came to for one question.
pub(crate) struct Paired<'a> {
    /// The conversation.
    pub(crate) cluster: &'a str,
    pub(crate) one: f64,
    pub(crate) other: f64,
}

/// A mean difference and its 95 % interval; nothing where there are no pairs.
pub(crate) struct Interval {
    pub(crate) clusters: usize,
    pub(crate) mean: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

const DRAWS: usize = 10_000;
const SEED: u64 = 1;

impl Interval {
    pub(crate) fn of_pairs(pairs: &[Paired<'_>]) -> Self {
        let mut clusters: Vec<(&str, f64, f64)> = Vec::new();
        for pair in pairs {
            if clusters.last().is_none_or(|last| last.0 != pair.cluster) {
                clusters.push((pair.cluster, 0.0, 0.0));
            }
            if let Some((_, sum, count)) = clusters.last_mut() {
                *sum += pair.one - pair.other;
                *count += 1.0;
            }
        }
        let mut random = SEED;
        let mut drawn: Vec<f64> = (0..DRAWS)
            .filter_map(|_| {
                let picks = clusters.iter().map(|_| clusters[next(&mut random) % clusters.len()]);
                let (sum, count) =
                    picks.fold((0.0, 0.0), |(sum, count), it| (sum + it.1, count + it.2));
                (count > 0.0).then(|| sum / count)
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| drawn.get((drawn.len() as f64 * share) as usize).copied();
        let mean = mean(pairs.iter().map(|pair| pair.one - pair.other));
        Self { clusters: clusters.len(), mean, low: at(0.025), high: at(0.975) }
    }
}

/// The mean of some figures; `None` of none.
pub(crate) fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = figures.fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Numbers that look drawn by chance (SplitMix64).
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut it = *state;
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (it ^ (it >> 31)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&'static str, f64)]) -> Interval {
        let one = |(cluster, one): &(&'static str, f64)| Paired { cluster, one: *one, other: 0.0 };
        Interval::of_pairs(&of.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn the_mean_lies_inside_of_its_interval() {
        let found = pairs(&[("a", 1.0), ("a", 1.0), ("b", 0.0), ("c", 0.0), ("d", 1.0)]);
        let (low, mean, high) = (found.low.unwrap(), found.mean.unwrap(), found.high.unwrap());
        assert_eq!((found.clusters, mean), (4, 0.6));
        assert!(0.0 <= low && low < mean && mean < high && high <= 1.0, "{low} {high}");
        assert_eq!(pairs(&[("a", 1.0), ("b", 1.0)]).low, Some(1.0));
    }

    #[test]
    fn nothing_has_no_mean() {
        let found = pairs(&[]);
        assert_eq!((found.clusters, found.mean, found.low), (0, None, None));
    }
}
