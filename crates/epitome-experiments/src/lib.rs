//! The statistics of experiments on live sessions: who gets which arm, and what the figures prove.
//!
//! ```
//! use epitome_experiments::{ClusterSums, EffectScale, IntervalTerms, block_arm, compare};
//!
//! // Of each four sessions two get the second arm.
//! let arms = (0..4).filter_map(|place| block_arm("short-history", place, &[50, 50]));
//! assert_eq!(arms.sum::<usize>(), 2);
//!
//! let (mut control, mut treated) = (ClusterSums::default(), ClusterSums::default());
//! for session in 0..40 {
//!     let noise = f64::from(session % 4) / 10.0;
//!     control.add(1.0 + noise, 1.0);
//!     treated.add(0.5 + noise, 1.0);
//! }
//! let terms = IntervalTerms::default();
//! let effect = compare(&control, &treated, EffectScale::Relative, terms).unwrap();
//! assert!(effect.high < 0.0, "the treated sessions are cheaper, however often one looks");
//! ```
//!
//! Invariant: pure functions of figures. Sessions depend on themselves, so a session is one cluster
//! whatever it holds; an interval stays valid while one looks.

mod assign;
mod block;
mod cluster;
mod effect;
mod interval;
mod normal;
mod sample_ratio;

pub use self::assign::drawn_arm;
pub use self::block::block_arm;
pub use self::cluster::ClusterSums;
pub use self::effect::{
    EffectEstimate, EffectScale, LEAST_CLUSTERS, compare, detectable_effect, power_at_one_look,
};
pub use self::interval::IntervalTerms;
pub use self::sample_ratio::{BROKEN, sample_ratio};
