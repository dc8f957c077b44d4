//! Arms beside each other: metrics with their intervals, live or on recordings.
//!
//! Invariant: a figure says what it is, so one table shows all of them; an effect has its interval.
//! Made by experiments and by comparisons of recordings; rendered by the command and the page.

use epitome_config::MetricName;
use serde::Serialize;

/// What came of an arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArmFigures {
    /// The name of its profile.
    pub arm: String,
    /// The units that it got: sessions or projects, of a comparison conversations.
    pub units: u64,
    /// Its metrics.
    pub metrics: Vec<ArmMetric>,
}

/// A metric of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmMetric {
    /// Its name.
    pub metric: &'static str,
    /// What it is counted in.
    pub unit: MetricUnit,
    /// Its value over all units.
    pub value: Option<f64>,
    /// The 95 % interval of the value itself, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The change against the first arm, where that can be told.
    pub effect: Option<MetricEffect>,
}

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricUnit {
    /// US dollars.
    Dollars,
    /// Whole things: tokens.
    Count,
    /// A mean of things, told with a digit: requests of a session.
    Mean,
    /// A share of things.
    Share,
    /// A share that is told with three digits, as scores are.
    Score,
    /// Time in seconds.
    Seconds,
}

/// A change of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricEffect {
    /// Whether it is a share of the first arm's value, and not a difference.
    pub is_relative: bool,
    /// The change as far as it is known.
    pub estimate: f64,
    /// The least that it can be; in an experiment however often one looks.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
    /// The smallest change that so many units find four times of five.
    pub detectable: f64,
}

impl ArmFigures {
    /// A metric by its name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&ArmMetric> {
        self.metrics.iter().find(|it| it.metric == name)
    }
}

/// What a metric of an experiment is counted in.
pub(super) fn unit_of(metric: MetricName, in_dollars: bool) -> MetricUnit {
    match metric {
        MetricName::Paid if in_dollars => MetricUnit::Dollars,
        MetricName::Paid | MetricName::Tokens => MetricUnit::Count,
        MetricName::Requests | MetricName::Turns => MetricUnit::Mean,
        MetricName::Prepared | MetricName::Latency => MetricUnit::Seconds,
        _ => MetricUnit::Share,
    }
}
