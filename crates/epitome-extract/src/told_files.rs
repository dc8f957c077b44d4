//! Which spellings of paths name one file.
//!
//! Invariant: a path is told by as much as tells it apart. What is said in full may be said shorter,
//! by its last parts (two at least), where no other path ends with these; where another one does,
//! they name no file but whatever is meant by them.

use std::cmp::Ordering;

/// The files that a conversation names, each by the longest spelling of it.
pub(crate) struct ToldFiles<'t> {
    /// By their parts from the last to the first: what ends with a path stands right behind it.
    names: Vec<&'t str>,
}

impl<'t> ToldFiles<'t> {
    /// The files that these spellings name.
    pub(crate) fn from_spellings(spellings: impl Iterator<Item = &'t str>) -> Self {
        let mut all: Vec<&str> = spellings.collect();
        all.sort_unstable_by(|one, other| from_the_end(one, other));
        all.dedup();
        // Behind each stand the longer ones: up to where, and whether there is one longest.
        let mut longer_end = vec![0; all.len()];
        let mut is_one_file = vec![true; all.len()];
        for at in (0..all.len()).rev() {
            let mut end = at + 1;
            while end < all.len() && is_longer(all[end], all[at]) {
                is_one_file[at] = end == at + 1 && is_one_file[end];
                end = longer_end[end];
            }
            longer_end[at] = end;
        }
        let is_shorthand = |at: usize| is_one_file[at] && longer_end[at] > at + 1;
        let names = (0..all.len()).filter(|at| !is_shorthand(*at)).map(|at| all[at]).collect();
        Self { names }
    }

    /// The longest spelling of each file.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &'t str> {
        self.names.iter().copied()
    }

    /// The same, each told by as few of its last parts as tell it apart, two at least.
    pub(crate) fn short_names(&self) -> impl Iterator<Item = &'t str> {
        self.names.iter().enumerate().map(|(at, name)| {
            let mut ends = name.rmatch_indices('/').skip(1).map(|(slash, _)| &name[slash + 1..]);
            ends.find(|end| self.meant_by(end) == Some(at)).unwrap_or(name)
        })
    }

    /// The place of the file that a spelling means: the one that it spells, or the only one that ends so.
    fn meant_by(&self, spelled: &str) -> Option<usize> {
        let at = self.names.partition_point(|name| from_the_end(name, spelled).is_lt());
        let ends_so = |at: usize| self.names.get(at).is_some_and(|name| is_longer(name, spelled));
        let is_said = self.names.get(at) == Some(&spelled);
        (is_said || ends_so(at) && !ends_so(at + 1)).then_some(at)
    }

    /// The places of the files that a spelling names: the one that it means, and those that it ends with.
    pub(crate) fn named_by(&self, spelled: &str) -> impl Iterator<Item = usize> {
        let own = self.meant_by(spelled);
        let ends = spelled.match_indices('/').map(|(slash, _)| &spelled[slash + 1..]);
        let ends = ends.filter(|end| end.contains('/'));
        let known = |end: &str| self.names.binary_search_by(|name| from_the_end(name, end)).ok();
        own.into_iter().chain(ends.filter_map(known))
    }
}

/// Whether a path is another one with parts before it that this leaves out.
fn is_longer(path: &str, short: &str) -> bool {
    let before = path.strip_suffix(short);
    short.contains('/') && before.is_some_and(|before| before.ends_with('/'))
}

/// Compares paths from their ends, a slash before all else.
fn from_the_end(one: &str, other: &str) -> Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    one.bytes().rev().map(key).cmp(other.bytes().rev().map(key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files<'t>(spellings: &[&'t str]) -> Vec<&'t str> {
        ToldFiles::from_spellings(spellings.iter().copied()).names().collect()
    }

    #[test]
    fn one_file_is_known_by_its_longest_spelling() {
        assert_eq!(files(&["src/lib.rs", "/srv/app/src/lib.rs"]), ["/srv/app/src/lib.rs"]);
        assert_eq!(files(&["app/src/lib.rs", "src/lib.rs", "src/lib.rs"]), ["app/src/lib.rs"]);
        assert_eq!(files(&["lib.rs", "src/lib.rs"]), ["lib.rs", "src/lib.rs"]);
    }

    #[test]
    fn files_of_one_name_are_told_apart() {
        let said = ["packages/web/src/index.ts", "packages/api/src/index.ts", "src/index.ts"];
        let files = ToldFiles::from_spellings(said.into_iter());
        let names: Vec<&str> = files.names().collect();
        let named = |spelled| files.named_by(spelled).map(|at| names[at]).collect::<Vec<_>>();
        assert_eq!(names, [said[2], said[0], said[1]]);
        assert_eq!(named("src/index.ts"), ["src/index.ts"]);
        assert_eq!(named("web/src/index.ts"), ["packages/web/src/index.ts", "src/index.ts"]);
        assert_eq!(
            named("/r/packages/api/src/index.ts"),
            ["packages/api/src/index.ts", "src/index.ts",]
        );
        assert!(named("lib/index.ts").is_empty());
        assert!(named("index.ts").is_empty());
    }

    #[test]
    fn a_file_is_told_by_as_few_parts_as_tell_it_apart() {
        let said = [
            "/srv/web/src/index.ts",
            "/srv/api/src/index.ts",
            "/srv/api/lib/a.ts",
            "b.ts",
            "~/c.md",
        ];
        let files = ToldFiles::from_spellings(said.into_iter());
        let mut names: Vec<&str> = files.short_names().collect();
        names.sort_unstable();
        assert_eq!(names, ["api/src/index.ts", "b.ts", "lib/a.ts", "web/src/index.ts", "~/c.md"]);
        // Whoever says the whole name says the short one.
        let short = ToldFiles::from_spellings(names.into_iter());
        assert!(said.iter().all(|name| short.named_by(name).count() == 1));
    }

    #[test]
    fn a_rooted_path_is_no_end_of_another_one() {
        assert_eq!(files(&["/etc/hosts", "docker/etc/hosts"]).len(), 2);
        let files = ToldFiles::from_spellings(["/etc/hosts"].into_iter());
        assert_eq!(files.named_by("etc/hosts").collect::<Vec<_>>(), [0]);
        assert_eq!(files.named_by("docker/etc/hosts").count(), 0);
    }

    proptest! {
        #[test]
        fn it_says_what_comparing_all_with_all_says(
            said in proptest::collection::vec("[a-b/.]{1,7}", 0..12),
            asked in "[a-b/.]{1,7}",
        ) {
            let files = ToldFiles::from_spellings(said.iter().map(|one| &**one));
            let ends = |path: &str, short: &str| is_longer(path, short);
            let longest = |short: &str| {
                let longer = said.iter().filter(|path| ends(path, short));
                let mut longest: Vec<&str> = longer
                    .filter(|path| !said.iter().any(|other| ends(other, path)))
                    .map(|path| &**path)
                    .collect();
                longest.sort_unstable();
                longest.dedup();
                longest
            };
            let mut facts: Vec<&str> =
                said.iter().map(|one| &**one).filter(|one| longest(one).len() != 1).collect();
            facts.sort_unstable();
            facts.dedup();
            let mut names: Vec<&str> = files.names().collect();
            let mut named: Vec<&str> = files.named_by(&asked).map(|at| names[at]).collect();
            names.sort_unstable();
            named.sort_unstable();
            prop_assert_eq!(&names, &facts);
            let is_named = |fact: &&str| {
                *fact == asked || ends(&asked, fact)
                    || !facts.contains(&&*asked) && longest(&asked) == [*fact]
            };
            let expected: Vec<&str> = facts.iter().copied().filter(|fact| is_named(fact)).collect();
            prop_assert_eq!(named, expected);
        }
    }
}
