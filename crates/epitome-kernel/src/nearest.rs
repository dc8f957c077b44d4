//! The name that someone may have meant.
//!
//! Invariant: pure; a name too far off is not offered. Called wherever a name is not known: by the
//! stores, the configuration and the loader of policies.

/// The name that is nearest to `wanted`, of those not too far from it; the first of equals.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = wanted.chars().count().max(3) / 3;
    names
        .into_iter()
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, name)| *distance <= allowed || begins(wanted, name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn begins(wanted: &str, name: &str) -> bool {
    wanted.len() >= 3 && name.starts_with(wanted)
}

/// Characters to add, drop, change or swap with their neighbour to make one of the other.
fn distance(a: &str, b: &str) -> usize {
    let [a, b]: [Vec<char>; 2] = [a, b].map(|text| text.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (line, from) in a.iter().enumerate() {
        let mut row = vec![line + 1];
        for (column, to) in b.iter().enumerate() {
            let changed = rows[line][column] + usize::from(from != to);
            let mut least = changed.min(rows[line][column + 1] + 1).min(row[column] + 1);
            if line > 0 && column > 0 && a[line - 1] == *to && *from == b[column - 1] {
                least = least.min(rows[line - 1][column - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(wanted, names.iter().copied()), expected, "{wanted} of {names:?}");
    }

    #[test]
    fn slips_are_understood() {
        check("mian", &["other", "main"], Some("main"));
        check("maim", &["other", "main"], Some("main"));
        check("refactor-parsr", &["refactor-parser", "refactor"], Some("refactor-parser"));
    }

    #[test]
    fn a_beginning_is_understood() {
        check("2f81", &["a", "2f81c07e-long-name"], Some("2f81c07e-long-name"));
        check("2f", &["2f81c07e-long-name"], None);
    }

    #[test]
    fn what_is_far_off_is_not_offered() {
        check("alpha", &["omega", "beta"], None);
        check("x", &[], None);
    }
}
