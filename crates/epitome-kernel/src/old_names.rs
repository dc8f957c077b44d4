//! The names by which one policy or native plugin reads jobs and answers hooks.
//!
//! Invariant: only [`RENAMED`] says what was renamed. Each old name that its author uses is reported
//! once. Called by the hosts of policies and of plugins, which write the warning.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use epitome_types::hook::{NameKind, OLD_API, RENAMED, RenamedName};

/// Returns the rename of an old key or word of the configuration, if `known` has the new name and
/// lacks the old one. The configuration has no api: both names are always accepted.
pub fn renamed_key(
    kind: NameKind,
    old: &str,
    known: impl Fn(&str) -> bool,
) -> Option<&'static RenamedName> {
    let name = RENAMED.iter().find(|name| name.kind == kind && name.old == old)?;
    (!known(old) && known(name.new)).then_some(name)
}

/// Returns the new name of an old one, if it is among the known names.
pub fn new_name(old: &str, mut known: impl FnMut(&str) -> bool) -> Option<&'static str> {
    RENAMED.iter().find(|name| name.old == old && known(name.new)).map(|name| name.new)
}

/// The names that one policy or plugin may use, with the old ones that were reported.
#[derive(Debug)]
pub struct ApiNames {
    is_old: bool,
    reported: Mutex<BTreeSet<[&'static str; 2]>>,
}

impl ApiNames {
    /// Returns the names of a policy that was written for this api.
    pub fn new(api: u32) -> Self {
        Self { is_old: api <= OLD_API, reported: Mutex::default() }
    }

    /// Returns whether the old names may be used.
    pub fn is_old(&self) -> bool {
        self.is_old
    }

    /// Returns the rename of an old name, if `known` has the new name and lacks the old one.
    pub fn renamed(
        &self,
        kind: NameKind,
        old: &str,
        known: impl Fn(&str) -> bool,
    ) -> Option<&'static RenamedName> {
        let name = self.of_kind(kind).find(|name| name.old == old)?;
        (!known(old) && known(name.new)).then_some(name)
    }

    /// Returns the name that a new name had, or the new name if the author uses no other.
    pub fn old_name<'n>(&self, kind: NameKind, new: &'n str) -> &'n str
    where
        'static: 'n,
    {
        self.of_kind(kind).find(|name| name.new == new).map_or(new, |name| name.old)
    }

    /// Returns the renames of a table with these fields, or these keys.
    pub fn in_table<F>(
        &self,
        kind: NameKind,
        has: F,
    ) -> impl Iterator<Item = &'static RenamedName> + use<F>
    where
        F: Fn(&str) -> bool,
    {
        self.of_kind(kind).filter(move |name| has(name.new) && !has(name.old))
    }

    /// Records that an old name was used. Returns whether its author must be warned, which is the
    /// case the first time.
    pub fn is_first_use(&self, name: &RenamedName) -> bool {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert([name.old, name.new])
    }

    fn of_kind(&self, kind: NameKind) -> impl Iterator<Item = &'static RenamedName> + use<> {
        let is_old = self.is_old;
        RENAMED.iter().filter(move |name| is_old && name.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_is_reported_once() {
        let names = ApiNames::new(1);
        let name = names.renamed(NameKind::Field, "with", |name| name == "text").unwrap();
        assert_eq!(name.to_string(), "`with` is called `text` since api 2");
        assert_eq!([names.is_first_use(name), names.is_first_use(name)], [true, false]);
    }

    #[test]
    fn a_name_that_is_still_known_was_not_renamed() {
        let names = ApiNames::new(1);
        let known = |name: &str| ["with", "text"].contains(&name);
        assert_eq!(names.renamed(NameKind::Field, "with", known), None);
        assert_eq!(names.renamed(NameKind::Word, "with", |name| name == "text"), None);
        assert_eq!(names.in_table(NameKind::Field, known).count(), 0);
    }

    #[test]
    fn the_old_names_end_with_api_1() {
        let names = ApiNames::new(2);
        assert_eq!(names.renamed(NameKind::Field, "with", |name| name == "text"), None);
        assert_eq!(names.old_name(NameKind::Word, "placeholder"), "placeholder");
    }
}
