//! Figures as metrics: families of samples, whoever they are written for.
//!
//! Invariant: labels are words of the code, names of categories and statuses; no label comes from a
//! request, so the number of series is bounded.

use std::fmt;

use crate::ledger::{BOUNDS, LatencyHistogram};

/// What a family is, as Prometheus calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FamilyKind {
    /// It only grows.
    Counter,
    /// It may fall.
    Gauge,
    /// Times in buckets.
    Histogram,
}

/// The value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SampleValue {
    /// Whole things.
    Count(u64),
    /// Money, time and shares.
    Amount(f64),
}

/// A figure of a family.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricSample {
    /// What its name has behind that of its family: `_bucket`, `_sum`, `_count`.
    pub(crate) suffix: &'static str,
    /// Its labels.
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Its value.
    pub(crate) value: SampleValue,
}

/// Figures of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricFamily {
    /// The name, without that of the program.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) kind: FamilyKind,
    /// What it says, in a line.
    pub(crate) help: &'static str,
    /// Its samples.
    pub(crate) samples: Vec<MetricSample>,
}

impl fmt::Display for SampleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Amount(amount) => amount.fmt(f),
        }
    }
}

impl From<u64> for SampleValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for SampleValue {
    fn from(amount: f64) -> Self {
        Self::Amount(amount)
    }
}

impl FamilyKind {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl MetricFamily {
    /// A family of one counter.
    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        value: impl Into<SampleValue>,
    ) -> Self {
        Self::with(name, FamilyKind::Counter, help).sample(&[], value)
    }

    /// A family of one gauge.
    pub(super) fn gauge(
        name: &'static str,
        help: &'static str,
        value: impl Into<SampleValue>,
    ) -> Self {
        Self::with(name, FamilyKind::Gauge, help).sample(&[], value)
    }

    /// A family without samples.
    pub(super) fn with(name: &'static str, kind: FamilyKind, help: &'static str) -> Self {
        Self { name, kind, help, samples: Vec::new() }
    }

    /// The same with another sample.
    pub(super) fn sample(
        mut self,
        labels: &[(&'static str, &str)],
        value: impl Into<SampleValue>,
    ) -> Self {
        self.add("", labels, value.into());
        self
    }

    /// A family with a sample for each value of one label.
    pub(super) fn by<L: ToString, V: Into<SampleValue>>(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) -> Self {
        let samples = samples.into_iter();
        samples.fold(Self::with(name, FamilyKind::Counter, help), |family, (value, figure)| {
            family.sample(&[(label, &value.to_string())], figure)
        })
    }

    /// A family of times.
    pub(super) fn times(name: &'static str, help: &'static str, times: &LatencyHistogram) -> Self {
        let mut family = Self::with(name, FamilyKind::Histogram, help);
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(times.buckets) {
            below += count;
            family.add("_bucket", &[("le", &bound.to_string())], below.into());
        }
        family.add("_bucket", &[("le", "+Inf")], times.count.into());
        family.add("_sum", &[], times.sum.into());
        family.add("_count", &[], times.count.into());
        family
    }

    fn add(&mut self, suffix: &'static str, labels: &[(&'static str, &str)], value: SampleValue) {
        let labels = labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect();
        self.samples.push(MetricSample { suffix, labels, value });
    }
}
