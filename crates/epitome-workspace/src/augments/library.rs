//! What augments there are, which a pattern means, and which are active.
//!
//! Invariant: pure; the same files and the same choice give the same texts in the same order, and
//! an augment never stands before one that it requires.

use std::collections::BTreeMap;

use super::error::{AugmentError, AugmentFault};
use super::text::Augment;

/// So many names are offered for one that is not there.
const NEAR: usize = 3;

/// All augments that were found. A file that cannot be used takes its own name and no other with
/// it.
#[derive(Clone, Debug, Default)]
pub struct AugmentLibrary {
    all: BTreeMap<String, Result<Augment, AugmentError>>,
    /// What is wrong and has no name.
    besides: Vec<AugmentError>,
}

/// What is active of a library.
#[derive(Clone, Debug, Default)]
pub struct ActiveAugments<'a> {
    /// In the order in which they are read: pinned ones first, then as they were chosen.
    pub augments: Vec<ActiveAugment<'a>>,
    /// What was chosen or pinned and cannot be used.
    pub errors: Vec<AugmentError>,
}

/// An active augment, and why it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAugment<'a> {
    /// It.
    pub augment: &'a Augment,
    /// The first that requires it; none where it was chosen or is pinned.
    pub by: Option<&'a str>,
}

impl AugmentLibrary {
    /// A library of these. Of two with one name the first is taken.
    pub fn new(
        found: impl IntoIterator<Item = (String, Result<Augment, AugmentError>)>,
        besides: Vec<AugmentError>,
    ) -> Self {
        let mut all = BTreeMap::new();
        for (name, augment) in found {
            all.entry(name).or_insert(augment);
        }
        Self { all, besides }
    }

    /// The augments that can be used, by name.
    pub fn augments(&self) -> impl Iterator<Item = &Augment> {
        self.all.values().filter_map(|augment| augment.as_ref().ok())
    }

    /// All that is wrong with any of them: files that cannot be used, and requirements that come
    /// to nothing.
    pub fn errors(&self) -> Vec<AugmentError> {
        let of_files = self.all.values().filter_map(|augment| augment.as_ref().err().cloned());
        let mut errors: Vec<_> = self.besides.iter().cloned().chain(of_files).collect();
        for augment in self.augments() {
            errors.extend(self.required(augment).err().filter(|error| !errors.contains(error)));
        }
        errors
    }

    /// The names that a pattern means: `group/name`, with `*` for any letters and `?` for one.
    ///
    /// # Errors
    ///
    /// Where it means none, or the only one that it means cannot be used.
    pub fn named(&self, pattern: &str) -> Result<Vec<&str>, AugmentError> {
        let pattern = pattern.trim();
        if let Some(augment) = self.all.get(pattern) {
            return augment.as_ref().map(|one| vec![one.name.as_str()]).map_err(Clone::clone);
        }
        let names: Vec<_> = self
            .augments()
            .map(|augment| augment.name.as_str())
            .filter(|name| matches(pattern, name))
            .collect();
        match names.is_empty() {
            true => Err(self.unknown(pattern)),
            false => Ok(names),
        }
    }

    /// What is active once these were chosen: they, the pinned ones, and all that they require.
    pub fn active(&self, chosen: &[String]) -> ActiveAugments<'_> {
        let mut active = ActiveAugments::default();
        let pinned = self.augments().filter(|augment| augment.pinned).map(|one| one.name.as_str());
        for name in pinned.chain(chosen.iter().map(String::as_str)) {
            match self.needed(name) {
                Ok(needed) => needed.into_iter().for_each(|one| active.add(one)),
                Err(error) if !active.errors.contains(&error) => active.errors.push(error),
                Err(_) => {}
            }
        }
        active
    }

    /// An augment with what it requires, each behind what it requires itself.
    ///
    /// # Errors
    ///
    /// Where it or one of these is not there or cannot be used, and where they require each other.
    pub fn needed(&self, name: &str) -> Result<Vec<ActiveAugment<'_>>, AugmentError> {
        match self.all.get(name) {
            Some(Ok(augment)) => self.required(augment),
            Some(Err(error)) => Err(error.clone()),
            None => Err(self.unknown(name)),
        }
    }

    /// Whether a pattern means a name.
    pub fn means(pattern: &str, name: &str) -> bool {
        matches(pattern.trim(), name)
    }

    fn required<'a>(
        &'a self,
        augment: &'a Augment,
    ) -> Result<Vec<ActiveAugment<'a>>, AugmentError> {
        let (mut done, mut way) = (Vec::new(), Vec::new());
        self.visit(augment, None, &mut way, &mut done)?;
        Ok(done)
    }

    fn visit<'a>(
        &'a self,
        augment: &'a Augment,
        by: Option<&'a str>,
        way: &mut Vec<&'a str>,
        done: &mut Vec<ActiveAugment<'a>>,
    ) -> Result<(), AugmentError> {
        if done.iter().any(|one| one.augment.name == augment.name) {
            return Ok(());
        }
        way.push(&augment.name);
        for (name, line) in &augment.requires {
            let wrong = |fault| AugmentError::of(&augment.path, Some(*line), fault);
            if let Some(from) = way.iter().position(|one| one == name) {
                let circle = way[from..].iter().copied().chain([name.as_str()]);
                let circle = circle.map(str::to_owned).collect();
                return Err(wrong(AugmentFault::Circle(circle)));
            }
            match self.all.get(name) {
                Some(Ok(next)) => self.visit(next, Some(&augment.name), way, done)?,
                Some(Err(error)) => return Err(error.clone()),
                None => {
                    let (missing, near) = (name.clone(), self.near(name));
                    return Err(wrong(AugmentFault::Missing { missing, near }));
                }
            }
        }
        way.pop();
        done.push(ActiveAugment { augment, by });
        Ok(())
    }

    fn unknown(&self, pattern: &str) -> AugmentError {
        let (pattern, near) = (pattern.to_owned(), self.near(pattern));
        AugmentError { file: None, line: None, fault: AugmentFault::Unknown { pattern, near } }
    }

    /// The names that share most with another: its name, its group, the longest beginning.
    fn near(&self, name: &str) -> Vec<String> {
        let (group, bare) = name.split_once('/').unwrap_or((name, name));
        let shared = |other: &str| {
            let (of_group, of_bare) = other.split_once('/').unwrap_or_default();
            let begins = other.chars().zip(name.chars()).take_while(|(one, two)| one == two);
            (of_bare == bare, of_group == group, begins.count())
        };
        let mut names: Vec<_> = self.augments().map(|augment| augment.name.clone()).collect();
        names.sort_by_cached_key(|other| std::cmp::Reverse(shared(other)));
        names.truncate(NEAR);
        names
    }
}

impl<'a> ActiveAugments<'a> {
    /// What is chosen itself needs no other reason.
    fn add(&mut self, needed: ActiveAugment<'a>) {
        match self.augments.iter_mut().find(|one| one.augment.name == needed.augment.name) {
            Some(known) => known.by = known.by.and(needed.by),
            None => self.augments.push(needed),
        }
    }

    /// The active augment of this name.
    pub fn get(&self, name: &str) -> Option<&ActiveAugment<'a>> {
        self.augments.iter().find(|one| one.augment.name == name)
    }
}

/// Whether a name is meant by a pattern, in time that grows with both lengths at most.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // What of the pattern can have been read when so much of the name was.
    let mut at: Vec<bool> = vec![false; pattern.len() + 1];
    at[0] = true;
    let skip = |at: &mut Vec<bool>| {
        for (place, letter) in pattern.iter().enumerate() {
            at[place + 1] |= at[place] && *letter == '*';
        }
    };
    skip(&mut at);
    for letter in name {
        let mut next = vec![false; pattern.len() + 1];
        for (place, expected) in pattern.iter().enumerate().filter(|(place, _)| at[*place]) {
            match expected {
                '*' => next[place] = true,
                expected => next[place + 1] = *expected == '?' || *expected == letter,
            }
        }
        at = next;
        skip(&mut at);
    }
    at[pattern.len()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A library of `name` or `name: what it requires`, where `!` pins.
    fn library(lines: &[&str]) -> AugmentLibrary {
        let found = lines.iter().map(|line| {
            let (name, requires) = line.split_once(':').unwrap_or((line, ""));
            let pinned = name.ends_with('!');
            let name = name.trim_end_matches('!');
            let text = format!("---\nrequires: [{requires}]\npinned: {pinned}\n---\nOf {name}.");
            (name.to_owned(), Augment::read(name, Path::new(&format!("{name}.md")), &text))
        });
        AugmentLibrary::new(found, Vec::new())
    }

    #[track_caller]
    fn check(lines: &[&str], chosen: &[&str], expected: &[&str]) {
        let library = library(lines);
        let chosen: Vec<_> = chosen.iter().map(|name| (*name).to_owned()).collect();
        let active = library.active(&chosen);
        let found = active.augments.iter().map(|one| match one.by {
            Some(by) => format!("{} for {by}", one.augment.name),
            None => one.augment.name.clone(),
        });
        let errors = active.errors.iter().map(ToString::to_string);
        assert_eq!(found.chain(errors).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn requirements_stand_before_what_requires_them() {
        // RULES 40: optional `requires`, pinned ones always active.
        let all = ["a/one: b/base", "a/two: a/one, b/base", "b/base", "z/house!", "z/rest"];
        check(&all, &[], &["z/house"]);
        let two = ["z/house", "b/base for a/one", "a/one for a/two", "a/two"];
        check(&all, &["a/two"], &two);
        let both = ["z/house", "z/rest", "b/base for a/one", "a/one", "a/two"];
        check(&all, &["z/rest", "a/one", "a/two", "z/rest"], &both);
        check(&all, &["a/one", "b/base"], &["z/house", "b/base", "a/one"]);
    }

    #[test]
    fn what_cannot_be_used_takes_no_other_with_it() {
        let all = ["a/one: a/two", "a/two: a/one", "a/lost: b/gone", "b/base", "b/worse: bad"];
        check(
            &all,
            &["b/base", "a/one", "a/lost", "x"],
            &[
                "b/base",
                "a/two.md:2: requires itself: a/one → a/two → a/one; take one of these out",
                "a/lost.md:2: requires `b/gone`, which is not there; there is b/base, a/lost, a/one",
                "no augment is called `x`; there is a/lost, a/one, a/two",
            ],
        );
        let errors: Vec<_> = library(&all).errors().iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors[0].starts_with("b/worse.md:2: `bad` is no name like"), "{errors:?}");
        check(
            &[],
            &["x"],
            &["no augment is called `x`; there are none: put one at augments/GROUP/NAME.md"],
        );
    }

    #[test]
    fn patterns_mean_names() {
        // RULES 40: globs like `refactoring/*`.
        let library = library(&["refactoring/big", "refactoring/small", "tests/small", "x/b: y"]);
        let named = |pattern: &str| library.named(pattern).map_err(|error| error.to_string());
        assert_eq!(named("refactoring/*").unwrap(), ["refactoring/big", "refactoring/small"]);
        assert_eq!(named(" */small").unwrap(), ["refactoring/small", "tests/small"]);
        assert_eq!(named("tests/smal?").unwrap(), ["tests/small"]);
        assert_eq!(named("*").unwrap().len(), 3);
        assert_eq!(named("tests/small").unwrap(), ["tests/small"]);
        let near = named("small").unwrap_err();
        assert!(
            near.contains("there is refactoring/small, tests/small,")
                || near.contains("tests/small, refactoring/small"),
            "{near}"
        );
        assert!(named("x/b").unwrap_err().starts_with("x/b.md:2: "), "its own mistake is told");
        assert!(named("").is_err() && named("refactoring").is_err());
        // No pattern takes longer than it is long.
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
        assert!(matches(&"*a".repeat(50), &"a".repeat(50)));
    }

    #[test]
    fn of_two_with_one_name_the_first_is_taken() {
        let read = |text| ("a/b".to_owned(), Augment::read("a/b", Path::new("f"), text));
        let library = AugmentLibrary::new([read("first"), read("second")], Vec::new());
        let texts: Vec<_> = library.augments().map(|augment| &*augment.text).collect();
        assert_eq!(texts, ["first"]);
    }
}
