//! What is recorded of an experiment.
//!
//! Invariant: each record is written once, by whoever is first, and never changes: two proxies that
//! meet a unit at the same time go by the same record.

use std::collections::{BTreeMap, BTreeSet};

use epitome_config::ExperimentConfig;
use epitome_config::scope::experiment_scope;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::ContentId;
use serde::{Deserialize, Serialize};

/// Stands between the parts of a record's name.
const BETWEEN: char = '\t';

/// What the names of records begin with.
const UNIT: &str = "unit";
const SESSION: &str = "session";
const STOP: &str = "stop";
const PLACE: &str = "place";
const TABLE: &str = "table";

/// What is recorded of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnitRecord {
    /// Its arm; none where it takes no part, since it went on before the experiment did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// When it was recorded.
    pub at: String,
    /// The weights by which it was drawn.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub odds: BTreeMap<String, u64>,
    /// The program that asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The unit that it belongs to, where that is another one's: of a session that goes on from one of it
    /// under another id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What its profile was when it was drawn: the hash of its options and policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The folder of the project; none where the proxy serves no project in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Where the table of an experiment was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOrigin {
    /// In the configuration of whoever asks.
    Configured,
    /// In the store, as the last proxy had it that drew by it: of another project, or of another time.
    Recorded,
    /// Nowhere: its arms are those of its units, and of the rest nothing is known.
    Unknown,
}

/// Why an experiment, or an arm of it, gets no new units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopRecord {
    /// When it was stopped.
    pub at: String,
    /// Why.
    pub why: String,
}

/// Returns the hash by which a unit of an experiment is known: the words that tell it from others.
#[must_use]
pub fn experiment_unit(experiment: &str, words: &[&str]) -> String {
    ContentId::for_text(&[&[experiment], words].concat().join("\n")).to_string()
}

/// The records of a tenant's experiments in a store.
#[derive(Clone, Copy)]
pub struct ExperimentBook<'s> {
    store: &'s dyn SessionArchive,
    tenant: &'s str,
}

impl<'s> ExperimentBook<'s> {
    /// The records of a tenant.
    pub fn new(store: &'s dyn SessionArchive, tenant: &'s str) -> Self {
        Self { store, tenant }
    }

    /// Records a unit unless it is recorded, and gives what is recorded of it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written, or holds a record that this version cannot read.
    pub fn enter(
        &self,
        experiment: &str,
        unit: &str,
        record: &UnitRecord,
    ) -> Result<UnitRecord, StoreError> {
        self.once(&[UNIT, experiment, unit], record)
    }

    /// The same of a session, which goes by what its unit had when it began.
    ///
    /// # Errors
    ///
    /// As of [`enter`](Self::enter).
    pub fn enter_session(
        &self,
        experiment: &str,
        session: &str,
        record: &UnitRecord,
    ) -> Result<UnitRecord, StoreError> {
        self.once(&[SESSION, experiment, session], record)
    }

    /// Reads what is recorded of a session.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn session(
        &self,
        experiment: &str,
        session: &str,
    ) -> Result<Option<UnitRecord>, StoreError> {
        self.record(&[SESSION, experiment, session])
    }

    /// Reads what is recorded of a unit.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn unit(&self, experiment: &str, unit: &str) -> Result<Option<UnitRecord>, StoreError> {
        self.record(&[UNIT, experiment, unit])
    }

    /// Takes the next free place of a row for a unit, and gives its number, from 0 on. Of processes that
    /// do so at the same time each gets another. A unit that has the newest place keeps it.
    ///
    /// # Errors
    ///
    /// As of [`enter`](Self::enter).
    pub fn take_place(&self, experiment: &str, row: &str, unit: &str) -> Result<u64, StoreError> {
        let about = |place: u64| format!("{place:012}");
        let holder = |place: u64| self.record::<String>(&[PLACE, experiment, row, &about(place)]);
        // The places that are taken stand without a gap: first beyond them, then to their end.
        let mut reach = 1;
        while holder(reach - 1)?.is_some() {
            reach *= 2;
        }
        let (mut taken, mut free) = (reach / 2, reach - 1);
        while taken < free {
            let middle = taken + (free - taken) / 2;
            match holder(middle)? {
                Some(_) => taken = middle + 1,
                None => free = middle,
            }
        }
        let mut place = free.saturating_sub(1);
        loop {
            let holder = self.once(&[PLACE, experiment, row, &about(place)], &unit.to_owned())?;
            if holder == unit {
                return Ok(place);
            }
            place += 1;
        }
    }

    /// Reads the units of an experiment that take part in it, by their hashes.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn units(&self, experiment: &str) -> Result<BTreeMap<String, UnitRecord>, StoreError> {
        let records = self.records::<UnitRecord>(&[UNIT, experiment])?;
        Ok(records.into_iter().filter(|(_, record)| record.arm.is_some()).collect())
    }

    /// Reads the names of the experiments that anything is recorded of.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn names(&self) -> Result<BTreeSet<String>, StoreError> {
        let all = self.store.lessons(&experiment_scope(self.tenant))?;
        let name = |about: &String| about.split(BETWEEN).nth(1).map(str::to_owned);
        Ok(all.keys().filter_map(name).collect())
    }

    /// Keeps the table that an experiment is drawn by, for those who do not have it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    pub fn keep_table(&self, experiment: &str, table: &ExperimentConfig) -> Result<(), StoreError> {
        let about = [TABLE, experiment];
        // One that this version cannot read is another one.
        if self.record::<ExperimentConfig>(&about).ok().flatten().as_ref() == Some(table) {
            return Ok(());
        }
        let text = serde_json::to_string(table).unwrap_or_default();
        self.store.learn(&experiment_scope(self.tenant), &name(&about), &text)
    }

    /// The table of an experiment: as whoever asks has it configured, else as it was kept, else with the
    /// arms of its units alone.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn table(
        &self,
        experiment: &str,
        configured: Option<&ExperimentConfig>,
    ) -> Result<(ExperimentConfig, TableOrigin), StoreError> {
        if let Some(table) = configured {
            return Ok((table.clone(), TableOrigin::Configured));
        }
        if let Some(table) = self.record(&[TABLE, experiment]).ok().flatten() {
            return Ok((table, TableOrigin::Recorded));
        }
        let arms: BTreeSet<_> =
            self.units(experiment)?.into_values().filter_map(|record| record.arm).collect();
        Ok((ExperimentConfig::of_arms(arms.into_iter().collect()), TableOrigin::Unknown))
    }

    /// Stops an experiment, or an arm of it, for new units; gives why it is stopped, which may be
    /// for another reason before.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn stop(
        &self,
        experiment: &str,
        arm: Option<&str>,
        record: &StopRecord,
    ) -> Result<StopRecord, StoreError> {
        self.once(&[STOP, experiment, arm.unwrap_or_default()], record)
    }

    /// Reads what of an experiment is stopped, by arm; the whole of it under the empty name.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn stops(&self, experiment: &str) -> Result<BTreeMap<String, StopRecord>, StoreError> {
        self.records(&[STOP, experiment])
    }

    /// Writes a record unless it is there; gives the one that is.
    fn once<T: Serialize + for<'d> Deserialize<'d>>(
        &self,
        parts: &[&str],
        record: &T,
    ) -> Result<T, StoreError> {
        // Nothing in it can fail to be written.
        let text = serde_json::to_string(record).unwrap_or_default();
        let about = name(parts);
        read(&about, &self.store.learn_once(&experiment_scope(self.tenant), &about, &text)?)
    }

    fn record<T: for<'d> Deserialize<'d>>(&self, parts: &[&str]) -> Result<Option<T>, StoreError> {
        let about = name(parts);
        let found = self.store.lessons_about(&experiment_scope(self.tenant), &about)?;
        found.get(&about).map(|text| read(&about, text)).transpose()
    }

    /// The records whose names begin with these parts, by the part behind them.
    fn records<T: for<'d> Deserialize<'d>>(
        &self,
        parts: &[&str],
    ) -> Result<BTreeMap<String, T>, StoreError> {
        let prefix = name(&[parts, &[""]].concat());
        let found = self.store.lessons_about(&experiment_scope(self.tenant), &prefix)?;
        let known = found.iter().map(|(about, text)| {
            let key = about.strip_prefix(&prefix).unwrap_or(about).to_owned();
            Ok((key, read(about, text)?))
        });
        known.collect()
    }
}

fn name(parts: &[&str]) -> String {
    parts.join(&BETWEEN.to_string())
}

fn read<T: for<'d> Deserialize<'d>>(about: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged { what: format!("the record `{about}`: {error}") })
}

#[cfg(test)]
mod tests {
    use epitome_config::MetricName;
    use epitome_store::MemoryStore;

    use super::*;

    #[test]
    fn the_first_record_of_a_unit_holds() {
        let store = MemoryStore::new();
        let book = ExperimentBook::new(&store, "local");
        let of = |arm: &str| UnitRecord { arm: Some(arm.to_owned()), ..UnitRecord::default() };
        let unit = experiment_unit("short", &["session", "a"]);
        assert_eq!(book.unit("short", &unit).unwrap(), None);
        assert_eq!(book.enter("short", &unit, &of("default")).unwrap(), of("default"));
        assert_eq!(book.enter("short", &unit, &of("none")).unwrap(), of("default"));
        assert_eq!(book.unit("short", &unit).unwrap(), Some(of("default")));
        // Others are not concerned: neither an experiment that begins alike, nor another tenant.
        book.enter("shorter", "x", &of("none")).unwrap();
        book.enter("short", "outside", &UnitRecord::default()).unwrap();
        ExperimentBook::new(&store, "team").enter("short", "y", &of("none")).unwrap();
        assert_eq!(book.units("short").unwrap().keys().collect::<Vec<_>>(), [&unit]);
        assert_eq!(book.names().unwrap().into_iter().collect::<Vec<_>>(), ["short", "shorter"]);
    }

    #[test]
    fn the_table_that_is_drawn_by_is_known_to_those_who_do_not_have_it() {
        let store = MemoryStore::new();
        let book = ExperimentBook::new(&store, "local");
        let of = |arms: [&str; 2]| ExperimentConfig::of_arms(arms.map(str::to_owned).to_vec());
        let unit = UnitRecord { arm: Some("short".to_owned()), ..UnitRecord::default() };
        book.enter("short", "a", &unit).unwrap();
        let unknown = ExperimentConfig::of_arms(vec!["short".to_owned()]);
        assert_eq!(book.table("short", None).unwrap(), (unknown, TableOrigin::Unknown));
        let table = ExperimentConfig { primary: MetricName::Turns, ..of(["team", "short"]) };
        book.keep_table("short", &of(["a", "b"])).unwrap();
        book.keep_table("short", &table).unwrap();
        assert_eq!(book.table("short", None).unwrap(), (table, TableOrigin::Recorded));
        let own = of(["a", "b"]);
        let found = book.table("short", Some(&own)).unwrap();
        assert_eq!(found, (own, TableOrigin::Configured));
        assert!(book.names().unwrap().contains("short"));
    }

    #[test]
    fn each_unit_has_a_place_of_its_own() {
        let store = MemoryStore::new();
        let book = ExperimentBook::new(&store, "local");
        for number in 0..40 {
            assert_eq!(book.take_place("short", "row", &format!("unit {number}")).unwrap(), number);
        }
        assert_eq!(book.take_place("short", "row", "unit 39").unwrap(), 39, "it has it already");
        assert_eq!(book.take_place("short", "other row", "unit 1").unwrap(), 0);
        assert_eq!(ExperimentBook::new(&store, "team").take_place("short", "row", "x").unwrap(), 0);
        assert!(book.units("short").unwrap().is_empty(), "a place makes no unit");
        // Several at once.
        let taken = std::thread::scope(|scope| {
            let take = |number: u64| {
                let book = &book;
                scope.spawn(move || book.take_place("short", "busy", &format!("unit {number}")))
            };
            let threads: Vec<_> = (0..16).map(take).collect();
            threads.into_iter().map(|it| it.join().unwrap().unwrap()).collect::<Vec<_>>()
        });
        let mut sorted = taken.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_stopped_once_stays_so() {
        let store = MemoryStore::new();
        let book = ExperimentBook::new(&store, "local");
        let why = |why: &str| StopRecord { why: why.to_owned(), ..StopRecord::default() };
        book.stop("short", Some("none"), &why("too dear")).unwrap();
        assert_eq!(book.stop("short", Some("none"), &why("other")).unwrap(), why("too dear"));
        book.stop("short", None, &why("over")).unwrap();
        let stops = book.stops("short").unwrap();
        let expected = [(String::new(), why("over")), ("none".to_owned(), why("too dear"))];
        assert_eq!(stops.into_iter().collect::<Vec<_>>(), expected);
        assert!(book.stops("sho").unwrap().is_empty());
    }
}
