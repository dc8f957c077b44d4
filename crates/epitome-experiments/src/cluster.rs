//! The sums of one arm, from which its ratio and the variance of that follow.
//!
//! Invariant: each cluster is added once, whole. What its parts have in common is in its own sum, so
//! no two clusters depend on each other.

/// Sums over the clusters of an arm, each with a numerator and a denominator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterSums {
    count: u64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl ClusterSums {
    /// Adds a cluster: what it comes to, and what that is divided by. One with nothing to divide by tells
    /// nothing of the ratio, and is not counted: many of those beside a single one that does would make it
    /// seem certain.
    pub fn add(&mut self, numerator: f64, denominator: f64) {
        if denominator <= 0.0 {
            return;
        }
        self.count += 1;
        self.x += numerator;
        self.y += denominator;
        self.xx += numerator * numerator;
        self.yy += denominator * denominator;
        self.xy += numerator * denominator;
    }

    /// How many clusters there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The ratio of the sums; `None` where there is nothing to divide by.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        (self.y > 0.0).then(|| self.x / self.y)
    }

    /// The variance of a share of things of which one more might have been seen: no smaller than that
    /// one makes it, so that what was never seen is not taken for what cannot be.
    #[must_use]
    pub(crate) fn variance_of_share(&self) -> Option<f64> {
        Some(self.variance()?.max((1.0 / self.y).powi(2)))
    }

    /// The variance of the ratio, by the delta method; `None` below two clusters.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        let ratio = self.ratio()?;
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        let mean = self.y / count;
        let squares = self.xx - 2.0 * ratio * self.xy + ratio * ratio * self.yy;
        Some(squares.max(0.0) / ((count - 1.0) * count * mean * mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_variance_of_a_mean() {
        let mut sums = ClusterSums::default();
        [2.0, 4.0, 9.0].into_iter().for_each(|value| sums.add(value, 1.0));
        assert_eq!(sums.ratio(), Some(5.0));
        // (9 + 1 + 16) / 2 / 3.
        assert!((sums.variance().unwrap() - 26.0 / 6.0).abs() < 1e-12);
        assert_eq!(
            (ClusterSums::default().ratio(), ClusterSums::default().variance()),
            (None, None)
        );
    }

    #[test]
    fn clusters_that_tell_nothing_are_not_counted() {
        let mut sums = ClusterSums::default();
        (0..80).for_each(|_| sums.add(0.0, 0.0));
        sums.add(1.0, 12.0);
        assert_eq!((sums.count(), sums.variance()), (1, None));
    }

    #[test]
    fn long_clusters_weigh_more_and_are_still_one_each() {
        let mut sums = ClusterSums::default();
        sums.add(10.0, 10.0);
        sums.add(0.0, 30.0);
        assert_eq!((sums.count(), sums.ratio()), (2, Some(0.25)));
        // z = (10 - 2.5) / 20 and (0 - 7.5) / 20.
        let z: f64 = 7.5 / 20.0;
        assert!((sums.variance().unwrap() - 2.0 * z * z / 2.0).abs() < 1e-12);
    }
}
