//! Intervals that stay valid while one looks: the asymptotic confidence sequence of Waudby-Smith,
//! Arbour, Sinha, Kennedy and Ramdas.
//!
//! Invariant: wider than an interval for one look, at every size; it may be looked at after each
//! cluster, and an experiment may end whenever somebody likes.

/// How sure an interval is, and where it is tightest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalTerms {
    /// The chance that it ever leaves the truth out, over all looks.
    pub alpha: f64,
    /// The number of clusters, over both arms, at which it is tightest.
    pub tightest: f64,
}

impl Default for IntervalTerms {
    fn default() -> Self {
        Self { alpha: 0.05, tightest: 200.0 }
    }
}

impl IntervalTerms {
    /// The same divided over so many comparisons.
    #[must_use]
    pub fn over(self, comparisons: usize) -> Self {
        Self { alpha: self.alpha / comparisons.max(1) as f64, ..self }
    }

    /// The same where only one end counts.
    #[must_use]
    pub fn one_sided(self) -> Self {
        Self { alpha: (2.0 * self.alpha).min(1.0), ..self }
    }

    /// Half the width of the interval after so many clusters, in standard errors.
    #[must_use]
    pub fn half_width(self, clusters: f64) -> f64 {
        let log = -2.0 * self.alpha.ln();
        let rho = (log + (1.0 + log).ln()) / self.tightest;
        let scaled = clusters * rho;
        (2.0 * (scaled + 1.0) / scaled * ((scaled + 1.0).sqrt() / self.alpha).ln()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tightest_where_it_was_asked_to_be() {
        let terms = IntervalTerms::default();
        assert!((terms.half_width(200.0) - 3.04).abs() < 0.01, "{}", terms.half_width(200.0));
        let widths = [20.0, 200.0, 20_000.0].map(|clusters| terms.half_width(clusters));
        assert!(widths[1] < widths[0] && widths[1] < widths[2], "{widths:?}");
        assert!(widths.iter().all(|width| *width > 1.96), "never as tight as for one look");
        assert!(terms.over(3).half_width(200.0) > widths[1]);
        assert!(terms.one_sided().half_width(200.0) < widths[1]);
    }
}
