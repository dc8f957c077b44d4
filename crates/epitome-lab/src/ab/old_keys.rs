//! Figures of a comparison in JSON, each under its name today and under the one that it had before.
//!
//! Invariant: both keys hold the same figure; a record that has the old key alone is read too. The
//! old keys end with 0.2. Called where rows and means are written and records are read.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A share of the constraints of people.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ConstraintKeys {
    constraints: Option<f64>,
    directives: Option<f64>,
}

pub(super) fn constraints<S: Serializer>(figure: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    ConstraintKeys { constraints: *figure, directives: *figure }.serialize(out)
}

pub(super) fn read_constraints<'de, D>(from: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    let keys = ConstraintKeys::deserialize(from)?;
    Ok(keys.constraints.or(keys.directives))
}

/// A share of the names with the words around them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ContextKeys {
    in_context: Option<f64>,
    spanned: Option<f64>,
}

pub(super) fn in_context<S: Serializer>(figure: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    ContextKeys { in_context: *figure, spanned: *figure }.serialize(out)
}

pub(super) fn read_in_context<'de, D>(from: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    let keys = ContextKeys::deserialize(from)?;
    Ok(keys.in_context.or(keys.spanned))
}

/// The number of constraints that a share is of.
pub(super) mod number_of_constraints {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct NumberKeys {
        n_constraints: Option<usize>,
        n_directives: Option<usize>,
    }

    pub(in super::super) fn serialize<S>(number: &usize, out: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
    {
        let number = Some(*number);
        NumberKeys { n_constraints: number, n_directives: number }.serialize(out)
    }

    pub(in super::super) fn deserialize<'de, D>(from: D) -> Result<usize, D::Error>
    where
        D: Deserializer<'de>,
    {
        let keys = NumberKeys::deserialize(from)?;
        Ok(keys.n_constraints.or(keys.n_directives).unwrap_or_default())
    }
}

/// Writes the score with what one search finds.
pub(super) fn score_recall<T, S>(figure: &T, out: S) -> Result<S::Ok, S::Error>
where
    T: Serialize,
    S: Serializer,
{
    #[derive(Serialize)]
    struct RecallKeys<'a, T> {
        score_recall: &'a T,
        score_search: &'a T,
    }
    RecallKeys { score_recall: figure, score_search: figure }.serialize(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::score::EvalScore;
    use super::super::summary::{MeanInterval, ScoreMeans, StrategyMeans};

    #[test]
    fn figures_stand_under_both_keys() {
        let score = EvalScore {
            n_constraints: 3,
            constraints: Some(0.5),
            in_context: Some(0.25),
            ..EvalScore::default()
        };
        let scores = ScoreMeans {
            constraints: score.constraints,
            in_context: score.in_context,
            score_recall: Some(MeanInterval { mean: 0.75, interval: None }),
            ..ScoreMeans::default()
        };
        let means = StrategyMeans { scores, ..StrategyMeans::default() };
        let check = |json: &Json, pairs: &[[&str; 2]]| {
            for [new, old] in pairs {
                assert!(!json[*new].is_null(), "{new}");
                assert_eq!(json[*new], json[*old], "{new}");
            }
        };
        let shares = [["constraints", "directives"], ["in_context", "spanned"]];
        let row = serde_json::to_value(&score).unwrap();
        check(&row, &shares);
        check(&row, &[["n_constraints", "n_directives"]]);
        let row = serde_json::to_value(&means).unwrap();
        check(&row, &shares);
        check(&row, &[["score_recall", "score_search"]]);
    }

    /// `--resume` reads records of earlier versions.
    #[test]
    fn records_with_either_key_are_read() {
        let score = EvalScore {
            n: 4,
            n_constraints: 3,
            constraints: Some(0.5),
            in_context: Some(0.25),
            ..EvalScore::default()
        };
        let mut record = serde_json::to_value(&score).unwrap();
        assert_eq!(serde_json::from_value::<EvalScore>(record.clone()).unwrap(), score);
        let old = record.as_object_mut().unwrap();
        for key in ["n_constraints", "constraints", "in_context"] {
            old.remove(key);
        }
        assert_eq!(serde_json::from_value::<EvalScore>(record).unwrap(), score);
        let none = json!({ "n": 0, "n_far": 0, "n_directives": 0, "constraints": null });
        assert_eq!(serde_json::from_value::<EvalScore>(none).unwrap(), EvalScore::default());
    }
}
