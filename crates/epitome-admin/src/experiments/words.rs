//! What is to be said of an experiment beside its figures.
//!
//! Invariant: the command and the page say the same. Names stand in it as they are: whoever shows it makes
//! them harmless.

use std::collections::BTreeMap;

use super::report::ExperimentReport;
use super::split::BrokenPart;

impl ExperimentReport {
    /// Whether the units are divided as they were drawn.
    #[must_use]
    pub fn split_in_words(&self) -> String {
        let what = match self.split.broken_part() {
            Some(BrokenPart::All) => "the units".to_owned(),
            Some(BrokenPart::OfClient("")) => "the units of clients without a name".to_owned(),
            Some(BrokenPart::OfClient(client)) => format!("the units of the client `{client}`"),
            Some(BrokenPart::Answered) => "the units that got an answer".to_owned(),
            None if self.arms.iter().all(|arm| arm.figures.units == 0) => {
                return "no session has begun since the proxy knows of it".to_owned();
            }
            None => {
                return match self.split.chance {
                    Some(chance) => format!("split: as drawn (p = {chance:.2})"),
                    None => "split: too few units to tell whether it is as drawn".to_owned(),
                };
            }
        };
        format!(
            "split: BROKEN. By chance {what} would be divided so in less than one of 1,000 experiments: \
             something loses units, and more of one arm than of another. So nothing can be compared, and \
             no metric is shown. `epitome experiment export` has the units."
        )
    }

    /// What keeps its figures from being what they seem.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let all = [
            self.left_out_in_words(),
            self.odds_in_words(),
            self.versions_in_words(),
            self.unread_in_words(),
        ];
        all.into_iter().flatten().collect()
    }

    /// What is said of one whose table is gone.
    #[must_use]
    pub fn without_a_table() -> &'static str {
        "Its table is not in the configuration, so nobody knows which arm the others are to be compared \
         with, and by what; here it is the first by name."
    }

    /// Which units are left out, since their arms are not in the table any more.
    fn left_out_in_words(&self) -> Option<String> {
        let arms = listed(&self.left_out)?;
        Some(format!("Left out are units of arms that the table does not have any more: {arms}."))
    }

    /// Which units were drawn when weights were others, or one of two arms was not there.
    fn odds_in_words(&self) -> Option<String> {
        let some = self.arms.iter().filter(|arm| arm.not_compared > 0);
        let some = some.map(|arm| (arm.figures.arm.clone(), arm.not_compared)).collect();
        let some = listed(&some)?;
        Some(format!(
            "Not compared are units that were drawn by other weights, or while an arm was not open, \
             since they are of another time: {some}."
        ))
    }

    /// Which arms are not one thing: their profiles were edited since the first of their units was drawn.
    fn versions_in_words(&self) -> Option<String> {
        let several = self.arms.iter().filter(|arm| arm.versions > 1);
        let several = several.map(|arm| (arm.figures.arm.clone(), arm.versions)).collect();
        let several = listed(&several)?;
        Some(format!(
            "Pooled are units that were drawn under more than one version of their profile, because a \
             policy or an option was edited or another project has an experiment of this name: \
             {several}. `epitome experiment export` has the version of each."
        ))
    }

    /// Which sessions are missing where histories are read.
    fn unread_in_words(&self) -> Option<String> {
        let deleted = self.arms.iter().filter(|arm| arm.unread > 0);
        let deleted = deleted.map(|arm| (arm.figures.arm.clone(), arm.unread)).collect();
        let deleted = listed(&deleted)?;
        let so = match self.split.has_lost_histories() {
            false => "In the metrics from `turns` on these do not count.",
            true => {
                "That is more of one arm than of another, so of the metrics from `turns` on nothing can be \
                 compared, and none is shown."
            }
        };
        Some(format!("Deleted are the histories of sessions: {deleted}. {so}"))
    }
}

/// Arms with a number each; none of no arms.
fn listed(arms: &BTreeMap<String, u64>) -> Option<String> {
    let arms = arms.iter().map(|(arm, count)| format!("{arm} {count}"));
    let arms = arms.collect::<Vec<_>>().join(", ");
    (!arms.is_empty()).then_some(arms)
}
