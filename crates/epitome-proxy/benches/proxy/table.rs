//! Figures as lines of a table, each with what it is of the pass-throughs'.
//!
//! Invariant: ratios are of figures of the same run. Used by `main`.

use std::time::Duration;

use super::ms;

/// What was measured of one target.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) times: Vec<Duration>,
    /// Milliseconds of the processor.
    pub(super) used: f64,
}

impl Row {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), times: Vec::new(), used: 0.0 }
    }

    fn at(&self, share: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let place = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(place).copied().map_or(f64::NAN, ms)
    }
}

/// Requests one by one: what each target adds to going there directly.
pub(super) fn latencies(rows: &[Row], requests: usize) {
    println!("            p50 ms   p99 ms  added p50   x hyper  x buffer   CPU ms");
    let added = |row: &Row| row.at(0.5) - rows[0].at(0.5);
    for row in rows {
        let (hyper, buffer) = (added(row) / added(&rows[1]), added(row) / added(&rows[2]));
        println!(
            "{:<8} {:>9.3} {:>8.3} {:>10.3} {hyper:>9.2} {buffer:>9.2} {:>8.3}",
            row.name,
            row.at(0.5),
            row.at(0.99),
            added(row),
            row.used / requests as f64,
        );
    }
}

/// Answers in pieces: what each target adds to the first of them, and how long the whole takes.
pub(super) fn streams(firsts: &[Row], wholes: &[Row]) {
    println!("          first ms    added   x hyper  whole ms   x hyper");
    let added = |row: &Row| row.at(0.5) - firsts[0].at(0.5);
    for (first, whole) in firsts.iter().zip(wholes) {
        println!(
            "{:<8} {:>9.3} {:>8.3} {:>9.2} {:>9.3} {:>9.2}",
            first.name,
            first.at(0.5),
            added(first),
            added(first) / added(&firsts[1]),
            whole.at(0.5),
            whole.at(0.5) / wholes[1].at(0.5),
        );
    }
}

/// Many requests at a time: how many come through; `rates` holds the requests per second of each
/// round.
pub(super) fn crowds(rows: &[Row], rates: &[Vec<f64>]) {
    println!("             req/s   x hyper   p50 ms   p99 ms   CPU ms");
    let middle = |place: usize| {
        let mut rates = rates[place].clone();
        rates.sort_unstable_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    };
    for (place, row) in rows.iter().enumerate() {
        println!(
            "{:<8} {:>9.0} {:>9.2} {:>8.2} {:>8.2} {:>8.3}",
            row.name,
            middle(place),
            middle(place) / middle(1),
            row.at(0.5),
            row.at(0.99),
            row.used / row.times.len() as f64,
        );
    }
}
