//! The error rates that experiments promise, simulated.
//!
//! Each run is a whole experiment: sessions come one after the other, each gets the arm of its place,
//! and somebody looks after every single one and stops at the first thing that seems to be found.

#![expect(clippy::print_stdout, reason = "the rates are for whoever runs it with --nocapture")]

use epitome_experiments::{
    ClusterSums, EffectScale, IntervalTerms, LEAST_CLUSTERS, block_arm, compare, power_at_one_look,
    sample_ratio,
};
use fastrand::Rng;

/// Experiments of one kind.
const RUNS: u32 = 2_000;

/// A session: what it cost, and the requests that it took.
fn session(rng: &mut Rng, lift: f64) -> (f64, f64) {
    // Its requests have their task in common: their cost depends on it more than on anything else.
    let task = (0.7 * normal(rng)).exp();
    let requests = 1 + (-rng.f64().max(1e-12).ln() * 12.0) as u32;
    let spent = |rng: &mut Rng| (0.3 * normal(rng) - 0.045).exp();
    let cost: f64 = (0..requests).map(|_| task * spent(rng)).sum();
    (cost * (1.0 + lift), f64::from(requests))
}

fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * rng.f64().max(1e-300).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// What a cluster is compared by.
#[derive(Clone, Copy)]
enum Metric {
    PerSession,
    PerRequest,
}

/// An experiment of so many sessions, half of them with this lift: whether anything was found at any
/// look, and the arms as they stood in the end.
fn run(seed: u64, sessions: u32, lift: f64, metric: Metric) -> (bool, [ClusterSums; 2]) {
    let mut rng = Rng::with_seed(seed);
    let (mut arms, mut found) = ([ClusterSums::default(); 2], false);
    for unit in 0..sessions {
        let drawn = block_arm(&format!("run {seed}"), unit.into(), &[1, 1]);
        let arm = drawn.unwrap_or_default();
        let (cost, requests) = session(&mut rng, if arm == 1 { lift } else { 0.0 });
        match metric {
            Metric::PerSession => arms[arm].add(cost, 1.0),
            Metric::PerRequest => arms[arm].add(cost, requests),
        }
        let [control, treated] = &arms;
        let effect = compare(control, treated, EffectScale::Relative, IntervalTerms::default());
        found |= effect.is_some_and(|effect| effect.low > 0.0 || effect.high < 0.0);
    }
    (found, arms)
}

/// The share of runs in which something was found.
fn share(sessions: u32, lift: f64, metric: Metric) -> f64 {
    let found = (0..RUNS).filter(|seed| run(u64::from(*seed), sessions, lift, metric).0).count();
    found as f64 / f64::from(RUNS)
}

#[test]
fn arms_that_are_alike_are_rarely_told_apart() {
    for (name, metric) in [("session", Metric::PerSession), ("request", Metric::PerRequest)] {
        let alarms = share(400, 0.0, metric);
        println!(
            "false alarms per {name}, a look at each of 400 sessions: {:.2} %",
            100.0 * alarms
        );
        assert!(alarms <= 0.05, "{name}: {alarms}");
    }
}

/// The same requests, each taken for a cluster of its own: what this would be without clusters.
#[test]
fn requests_are_no_clusters() {
    let alarms = (0..RUNS / 10).filter(|seed| {
        let mut rng = Rng::with_seed(u64::from(*seed));
        let (mut arms, mut found) = ([ClusterSums::default(); 2], false);
        for unit in 0..400_usize {
            let (cost, requests) = session(&mut rng, 0.0);
            let arm = &mut arms[unit % 2];
            (0..requests as u32).for_each(|_| arm.add(cost / requests, 1.0));
            let [control, treated] = &arms;
            let effect = compare(control, treated, EffectScale::Relative, IntervalTerms::default());
            found |= effect.is_some_and(|effect| effect.low > 0.0 || effect.high < 0.0);
        }
        found
    });
    let alarms = alarms.count() as f64 / f64::from(RUNS / 10);
    assert!(alarms > 0.2, "{alarms}");
}

#[test]
fn an_effect_is_found_as_often_as_computed() {
    for (sessions, lift) in [(400_u32, -0.45_f64), (800, -0.35)] {
        // The spread, as a long run without an effect has it.
        let (_, [control, _]) = run(1 << 40, 40_000, 0.0, Metric::PerSession);
        let of_one = control.variance().unwrap() * control.count() as f64;
        let relative = of_one / control.ratio().unwrap().powi(2);
        let both = relative * (1.0 + (1.0 + lift).powi(2));
        let error = (both / (f64::from(sessions) / 2.0)).sqrt();
        let terms = IntervalTerms::default();
        let computed = power_at_one_look(lift, error, f64::from(sessions), terms);
        let power = share(sessions, lift, Metric::PerSession);
        println!(
            "{:.0} % less in {sessions} sessions: computed {:.1} % for one look, found {:.1} %",
            -100.0 * lift,
            100.0 * computed,
            100.0 * power
        );
        // A look at each session finds at least what one look finds, and not much more.
        assert!(power >= computed - 0.03, "{sessions}: {power} and {computed}");
        assert!(power <= computed + 0.12, "{sessions}: {power} and {computed}");
        assert!(computed > 0.7, "{computed}");
    }
}

#[test]
fn a_guardrail_stops_what_harms_and_hardly_anything_else() {
    let margin = 0.2;
    let stopped = |lift: f64| {
        let trips = |seed: &u32| {
            let mut rng = Rng::with_seed(u64::from(*seed));
            let mut arms = [ClusterSums::default(); 2];
            (0..400).any(|unit: usize| {
                let (cost, _) = session(&mut rng, if unit % 2 == 1 { lift } else { 0.0 });
                arms[unit % 2].add(cost, 1.0);
                let terms = IntervalTerms::default().over(3).one_sided();
                let effect = compare(&arms[0], &arms[1], EffectScale::Relative, terms);
                effect.is_some_and(|effect| effect.low > margin)
            })
        };
        (0..RUNS).filter(trips).count() as f64 / f64::from(RUNS)
    };
    let (alike, harmful) = (stopped(0.0), stopped(1.5));
    println!(
        "stopped: {:.2} % of what is alike, {:.1} % of what costs 2.5 times as much",
        100.0 * alike,
        100.0 * harmful
    );
    assert!(alike <= 0.05 / 3.0, "{alike}");
    assert!(stopped(margin) <= 0.05, "what is just at the margin");
    assert!(harmful > 0.8, "{harmful}");
}

#[test]
fn the_split_of_a_sound_experiment_is_rarely_called_broken() {
    let weights = [45, 45, 10];
    let broken = |seed: &u32| {
        let mut counts = [0_u64; 3];
        for unit in 0..300 {
            // Clients, models and projects have rows of their own.
            let row = format!("split {seed} {}", unit % 9);
            counts[block_arm(&row, unit / 9, &weights).unwrap()] += 1;
        }
        let arms: Vec<_> = counts.into_iter().zip([135.0, 135.0, 30.0]).collect();
        sample_ratio(&arms).unwrap() < epitome_experiments::BROKEN
    };
    let broken = (0..RUNS).filter(broken).count();
    assert!(broken <= 8, "{broken} of {RUNS}, and 2 are expected");
    const { assert!(LEAST_CLUSTERS >= 30) }
}
