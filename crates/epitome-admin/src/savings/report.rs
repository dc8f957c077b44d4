//! The ledger in sums: by time, project, client, model and profile.
//!
//! Invariant: pure; an answer is in each sum once, and one without a price is in no sum of dollars.
//! Names are a contract, added to and never changed. Called by the command.

use std::collections::BTreeMap;
use std::ops::{AddAssign, RangeInclusive};
use std::time::{Duration, SystemTime};

use epitome_types::TokenUsage;
use serde::Serialize;

use super::SavingsLedger;
use super::row::{PaidCost, PaidPurpose, PaidRecord, PaidRow};
use crate::clock::calendar_time;

/// The value of the field `schema`.
const SCHEMA: &str = "epitome/savings@1";

/// Seconds of an hour.
const HOUR: u64 = 3_600;
/// Hours of a day.
const DAY: u64 = 24;

/// The ledger at a time.
#[derive(Clone, Debug, Serialize)]
pub struct SavingsReport {
    /// `epitome/savings@1`.
    pub schema: &'static str,
    /// The time of the report, ISO 8601.
    pub at: String,
    /// Since midnight, UTC.
    pub today: SavingsPeriod,
    /// The last seven times 24 hours.
    pub seven_days: SavingsPeriod,
    /// The period that was asked for; none where no one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<SavingsPeriod>,
    /// Since the first record.
    pub all: SavingsPeriod,
    /// The parts of the period that was asked for, else of all.
    pub by: SavingsGroups,
    /// Models without a price, in the same period.
    pub unpriced: Vec<UnpricedModel>,
    /// Records that this version cannot read; they are in no sum.
    pub unreadable: u64,
}

/// The sums of a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SavingsPeriod {
    /// The beginning of its first hour, ISO 8601; none where nothing is recorded.
    pub since: Option<String>,
    /// The sums.
    #[serde(flatten)]
    pub sums: SavingsSums,
}

/// Sums over answers, in dollars where the price was known and in tokens where not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SavingsSums {
    /// Answers that the provider counted, summaries included.
    pub answers: u64,
    /// Answers that it did not count; they are in no sum of money.
    pub uncounted: u64,
    /// Answers of models without a price; they are in no sum of dollars.
    pub unpriced: u64,
    /// Tokens of the prompts as they came, in our count.
    pub raw: u64,
    /// Tokens of the prompts as they were sent, in our count.
    pub sent: u64,
    /// The provider's count.
    pub provider: TokenUsage,
    /// Paid for prompts, answers and summaries, in US dollars at list prices.
    pub paid: f64,
    /// Estimated saving in US dollars, after the summaries.
    pub saved: SavedRange,
    /// The summaries.
    pub summaries: SummaryCost,
    /// Estimated saving in the price of one token of input that is not cached, of all models.
    pub saved_tokens: SavedRange,
    /// Requests that went out otherwise than they should have: most of them as they came.
    pub skips: u64,
    /// Requests that the provider refused as too long, whatever came of that.
    pub overflows: u64,
}

/// A saving between two estimates; below 0 where more was paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SavedRange {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// Calls of models that wrote summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SummaryCost {
    /// Answered calls.
    pub answers: u64,
    /// Those among them of models without a price; they are in no sum of dollars.
    pub unpriced: u64,
    /// The cost of the others, which is in `paid` and subtracted from `saved`.
    pub paid: f64,
}

/// The same answers, divided in four ways.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SavingsGroups {
    /// By the folder of the project.
    pub project: Vec<SavingsGroup>,
    /// By the program that asked.
    pub client: Vec<SavingsGroup>,
    /// By model.
    pub model: Vec<SavingsGroup>,
    /// By profile.
    pub profile: Vec<SavingsGroup>,
}

/// A part of the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SavingsGroup {
    /// The common value; none where it is not known.
    pub name: Option<String>,
    /// The sums.
    #[serde(flatten)]
    pub sums: SavingsSums,
}

/// A model without a price.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UnpricedModel {
    /// Its name; none where the request named no model.
    pub model: Option<String>,
    /// Answers without a price.
    pub answers: u64,
    /// The provider's count of them.
    pub provider: TokenUsage,
    /// Estimated saving in the price of one token of its input that is not cached.
    pub saved_tokens: SavedRange,
}

impl SavingsLedger {
    /// Adds up the ledger at a time, ISO 8601. `since` is a period before that to divide into parts.
    #[must_use]
    pub fn report(&self, at: &str, since: Option<Duration>) -> SavingsReport {
        let now = hour_of(at);
        let back = since.map(|since| now.saturating_sub(since.as_secs().div_ceil(HOUR)));
        let first = self.records.iter().map(|record| record.hour).min();
        // What a clock that ran ahead wrote down is in no period but the whole.
        let divided = &back.map_or(0..=u64::MAX, |back| back..=now);
        SavingsReport {
            schema: SCHEMA,
            at: at.to_owned(),
            today: self.period(now - now % DAY..=now),
            seven_days: self.period(now.saturating_sub(7 * DAY)..=now),
            asked: back.map(|back| self.period(back..=now)),
            all: SavingsPeriod { since: first.map(moment), ..self.period(0..=u64::MAX) },
            by: SavingsGroups {
                project: self.groups(divided, |record, _| record.project.clone()),
                client: self.groups(divided, |_, row| row.key.client.clone()),
                model: self.groups(divided, |_, row| row.key.model.clone()),
                profile: self.groups(divided, |record, _| Some(record.profile.clone())),
            },
            unpriced: self.unpriced(divided),
            unreadable: self.unreadable,
        }
    }

    fn rows(&self, hours: &RangeInclusive<u64>) -> impl Iterator<Item = (&PaidRecord, &PaidRow)> {
        let records = self.records.iter().filter(|record| hours.contains(&record.hour));
        records.flat_map(|record| record.rows.iter().map(move |row| (record, row)))
    }

    fn period(&self, hours: RangeInclusive<u64>) -> SavingsPeriod {
        let mut sums = SavingsSums::default();
        self.rows(&hours).for_each(|(_, row)| sums.add(row));
        SavingsPeriod { since: Some(moment(*hours.start())), sums }
    }

    /// The parts of a period, the most expensive first.
    fn groups(
        &self,
        hours: &RangeInclusive<u64>,
        name: impl Fn(&PaidRecord, &PaidRow) -> Option<String>,
    ) -> Vec<SavingsGroup> {
        let mut by = BTreeMap::<Option<String>, SavingsSums>::new();
        for (record, row) in self.rows(hours) {
            by.entry(name(record, row)).or_default().add(row);
        }
        let mut all: Vec<_> =
            by.into_iter().map(|(name, sums)| SavingsGroup { name, sums }).collect();
        // What a provider refused was paid by nobody.
        all.retain(|group| group.sums.answers + group.sums.uncounted > 0);
        all.sort_by(|one, other| {
            let costs = other.sums.paid.total_cmp(&one.sums.paid);
            costs.then(other.sums.answers.cmp(&one.sums.answers))
        });
        all
    }

    fn unpriced(&self, hours: &RangeInclusive<u64>) -> Vec<UnpricedModel> {
        let mut by = BTreeMap::<Option<String>, UnpricedModel>::new();
        let rows = self.rows(hours).filter(|(_, row)| !row.key.priced && row.sums.answers > 0);
        for (_, row) in rows {
            let model = by.entry(row.key.model.clone()).or_default();
            model.model.clone_from(&row.key.model);
            model.answers += row.sums.answers;
            model.provider += row.sums.usage;
            model.saved_tokens.add(&row.sums.full_price);
        }
        by.into_values().collect()
    }
}

impl SavingsSums {
    /// Adds a row.
    pub(super) fn add(&mut self, row: &PaidRow) {
        let sums = &row.sums;
        self.answers += sums.answers;
        self.uncounted += sums.uncounted;
        self.unpriced += if row.key.priced { 0 } else { sums.answers };
        self.raw += sums.raw;
        self.sent += sums.sent;
        self.provider += sums.usage;
        self.paid += sums.dollars.paid();
        self.saved.add(&sums.dollars);
        self.saved_tokens.add(&sums.full_price);
        self.skips += sums.skips;
        self.overflows += sums.overflows;
        if row.key.purpose == PaidPurpose::Summary {
            self.summaries.answers += sums.answers;
            self.summaries.unpriced += if row.key.priced { 0 } else { sums.answers };
            self.summaries.paid += sums.dollars.paid();
        }
    }

    /// Answers that are in the sums of dollars.
    #[must_use]
    pub fn priced(&self) -> u64 {
        self.answers - self.unpriced
    }
}

impl AddAssign for SavingsSums {
    fn add_assign(&mut self, other: Self) {
        self.answers += other.answers;
        self.uncounted += other.uncounted;
        self.unpriced += other.unpriced;
        self.raw += other.raw;
        self.sent += other.sent;
        self.provider += other.provider;
        self.paid += other.paid;
        self.saved.least += other.saved.least;
        self.saved.most += other.saved.most;
        self.summaries.answers += other.summaries.answers;
        self.summaries.unpriced += other.summaries.unpriced;
        self.summaries.paid += other.summaries.paid;
        self.saved_tokens.least += other.saved_tokens.least;
        self.saved_tokens.most += other.saved_tokens.most;
        self.skips += other.skips;
        self.overflows += other.overflows;
    }
}

impl SavedRange {
    fn add(&mut self, cost: &PaidCost) {
        self.least += cost.least_saved();
        self.most += cost.most_saved();
    }
}

/// The hour of a time, in hours since 1970; the first one where it is none.
fn hour_of(at: &str) -> u64 {
    let time = humantime::parse_rfc3339_weak(at).unwrap_or(SystemTime::UNIX_EPOCH);
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / HOUR
}

/// The beginning of an hour, ISO 8601.
fn moment(hour: u64) -> String {
    let since = Duration::from_secs(hour.saturating_mul(HOUR));
    let time = SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH);
    humantime::format_rfc3339_seconds(calendar_time(time)).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::row::{PaidKey, PaidSums};
    use super::*;

    fn record(hour: u64, project: &str, rows: Vec<PaidRow>) -> PaidRecord {
        let project = Some(project.to_owned());
        PaidRecord { hour, project, profile: "default".to_owned(), rows, ..PaidRecord::default() }
    }

    /// An answer: dollars of the prompt and of the output, then those of the client alone.
    fn answer(model: &str, [prompts, output, by_threshold, at_window]: [f64; 4]) -> PaidRow {
        let cost = PaidCost { prompts, output, by_threshold, at_window };
        let key = PaidKey { model: Some(model.into()), priced: true, ..PaidKey::default() };
        let sums = PaidSums { answers: 1, dollars: cost, full_price: cost, ..PaidSums::default() };
        PaidRow { key, sums }
    }

    fn unpriced(mut row: PaidRow) -> PaidRow {
        row.key.priced = false;
        row.sums.dollars = PaidCost::default();
        row
    }

    fn summary(mut row: PaidRow) -> PaidRow {
        row.key.purpose = PaidPurpose::Summary;
        row
    }

    /// The tenth day of 1970, at half past noon.
    const AT: &str = "1970-01-10T12:30:00.000Z";
    const NOON: u64 = 9 * DAY + 12;

    #[test]
    fn periods_begin_at_midnight_and_by_the_hour() {
        let hours = [NOON, 9 * DAY, 9 * DAY - 1, NOON - 7 * DAY, NOON - 7 * DAY - 1, 3, NOON + 1];
        let one = || vec![answer("a", [1.0, 0.5, 2.0, 3.0])];
        let records = hours.map(|hour| record(hour, "/srv/a", one())).to_vec();
        let ledger = SavingsLedger { records, unreadable: 0 };
        let report = ledger.report(AT, Some(Duration::from_secs(13 * HOUR)));
        let answers = |period: &SavingsPeriod| period.sums.answers;
        assert_eq!((answers(&report.today), answers(&report.seven_days)), (2, 4));
        assert_eq!((answers(report.asked.as_ref().unwrap()), answers(&report.all)), (3, 7));
        assert_eq!(report.by.project[0].sums.answers, 3);
        assert_eq!(report.today.since.as_deref(), Some("1970-01-10T00:00:00Z"));
        assert_eq!(report.all.since.as_deref(), Some("1970-01-01T03:00:00Z"));
        assert_eq!((report.all.sums.paid, report.all.sums.saved.most), (10.5, 14.0));
        assert_eq!(SavingsLedger::default().report(AT, None).all.since, None);
    }

    #[test]
    fn what_has_no_price_is_in_no_sum_of_dollars() {
        let rows = vec![
            answer("a", [1.0, 0.5, 3.0, 2.0]),
            unpriced(answer("b", [100.0, 10.0, 130.0, 150.0])),
            summary(answer("c", [0.25, 0.0, 0.0, 0.0])),
            unpriced(summary(answer("d", [4.0, 0.0, 0.0, 0.0]))),
        ];
        let ledger = SavingsLedger { records: vec![record(NOON, "/srv/a", rows)], unreadable: 0 };
        let report = ledger.report(AT, None);
        let all = report.all.sums;
        assert_eq!((all.answers, all.unpriced, all.priced()), (4, 2, 2));
        assert_eq!((all.paid, all.saved), (1.75, SavedRange { least: 0.75, most: 1.75 }));
        assert_eq!(all.summaries, SummaryCost { answers: 2, unpriced: 1, paid: 0.25 });
        let [one, _] = &report.unpriced[..] else { panic!("{report:?}") };
        assert_eq!((one.model.as_deref(), one.answers), (Some("b"), 1));
        assert_eq!(one.saved_tokens, SavedRange { least: 30.0, most: 50.0 });
        let models: Vec<_> = report.by.model.iter().map(|group| group.name.as_deref()).collect();
        assert_eq!(models, [Some("a"), Some("c"), Some("b"), Some("d")]);
    }
}
