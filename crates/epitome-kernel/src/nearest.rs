//! The name that someone may have meant.
//!
//! Invariant: pure; a name too far off is not offered. Called wherever a name is not known.

/// The name that is nearest to `wanted`, of those not too far from it; the first of equals.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = wanted.chars().count().max(3) / 3;
    names
        .into_iter()
        .filter(|name| wanted.len().max(name.len()) <= 4 * LONGEST)
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, name)| *distance <= allowed || begins(wanted, name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// No word has more letters, and no name four times as many: nobody mistypes that.
const LONGEST: usize = 64;

/// The words that are near to `wanted`, the nearest first and of equals the first, at most so many.
/// A word of five letters may differ in two: what is offered is a hint.
pub fn nearest_words<'a>(wanted: &str, words: &[&'a str], most: usize) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let length = wanted.chars().count();
    if length > LONGEST {
        return Vec::new();
    }
    let allowed = (length * 2 / 5).clamp(1, 3);
    let letters = letters(&wanted);
    let mut near: Vec<(usize, &str)> = words
        .iter()
        .filter(|word| word.len() <= 4 * LONGEST)
        .filter_map(|&word| {
            let lower = word.to_lowercase();
            let apart = lower.chars().count().abs_diff(length);
            let other = (self::letters(&lower) ^ letters).count_ones() as usize;
            if begins(&wanted, &lower) {
                return Some((apart.min(allowed), word));
            }
            let is_near = length >= 3 && apart <= allowed && other <= 2 * allowed;
            let distance = is_near.then(|| distance(&wanted, &lower))?;
            (distance <= allowed).then_some((distance, word))
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    let mut offered: Vec<&str> = Vec::new();
    for (_, word) in near {
        let same = |known: &&str| known.to_lowercase() == word.to_lowercase();
        if offered.len() < most && !offered.iter().any(same) {
            offered.push(word);
        }
    }
    offered
}

/// Which letters a word has, one bit for each of a class.
fn letters(word: &str) -> u32 {
    word.chars().fold(0, |letters, c| letters | 1 << (c as u32 % 32))
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
        check(&"a".repeat(20_000), &["a", &"a".repeat(19_999)], None);
        check("2f81", &["a", "2f81c07e-long-name"], Some("2f81c07e-long-name"));
        check("2f", &["2f81c07e-long-name"], None);
    }

    #[test]
    fn near_words_are_offered() {
        let words = ["flush", "the", "blurb", "Flurbs", "flurry"];
        assert_eq!(nearest_words("flurb", &words, 3), ["blurb", "Flurbs", "flush"]);
        assert_eq!(nearest_words("quokka", &words, 3), [""; 0]);
        assert_eq!(nearest_words("", &words, 3), [""; 0]);
    }

    #[test]
    fn what_is_far_off_is_not_offered() {
        check("alpha", &["omega", "beta"], None);
        check("x", &[], None);
    }
}
