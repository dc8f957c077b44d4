//! Augments of a session: loaded and unloaded by patterns (RULES 40).
//!
//! Invariant: what was chosen is recorded, and what that brings with it follows from the files as
//! they are now, so that an edit holds at once.

use epitome_types::SessionAction;
use epitome_workspace::augments::{ActiveAugments, AugmentLibrary};
use serde::Serialize;

use super::SessionControls;
use crate::error::AdminError;
use crate::records::chosen;

/// What loading or unloading did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AugmentChange {
    /// The session.
    pub session: String,
    /// What is active that was not, in the order in which it is to be read.
    pub loaded: Vec<LoadedAugment>,
    /// The names of what was active and is not.
    pub unloaded: Vec<String>,
    /// What stays active although it was to go.
    pub kept: Vec<KeptAugment>,
    /// The names of all that is active now.
    pub active: Vec<String>,
    /// What else there is to say: files that cannot be used, patterns that meant nothing.
    pub notes: Vec<String>,
}

/// An augment that was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadedAugment {
    /// `group/name`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub text: String,
}

/// An augment that stays active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptAugment {
    /// `group/name`.
    pub name: String,
    /// Why.
    pub because: String,
}

/// The augments that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AugmentList {
    /// All that can be used, by name.
    pub augments: Vec<ListedAugment>,
    /// What is wrong with others.
    pub notes: Vec<String>,
}

/// An augment that there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedAugment {
    /// `group/name`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The file.
    pub path: String,
    /// What has to be there too.
    pub requires: Vec<String>,
    /// Whether it is always active.
    pub pinned: bool,
    /// Whether it is active in the session.
    pub active: bool,
}

impl SessionControls {
    /// Activates what patterns mean, with all that it requires.
    ///
    /// # Errors
    ///
    /// For a pattern that means none, and where one cannot be used; then nothing was activated. Or
    /// as [`SessionControls::session`], or when the journal cannot be written.
    pub fn activate(
        &self,
        session: Option<&str>,
        patterns: &[String],
    ) -> Result<AugmentChange, AdminError> {
        let session = self.addressed(session)?;
        let library = self.augments.read();
        let before = chosen(&session.acts()?);
        let mut acts = Vec::new();
        let mut now = before.clone();
        for pattern in patterns {
            for name in library.named(pattern)? {
                library.needed(name)?;
                if !now.iter().any(|known| known == name) {
                    now.push(name.to_owned());
                    acts.push(SessionAction::Augment { name: name.to_owned(), active: true });
                }
            }
        }
        self.act(&session, acts)?;
        Ok(switched(session.info.name, &library.active(&before), &library.active(&now)))
    }

    /// Deactivates what patterns mean of what is active. A pattern that means nothing there is
    /// no error: the agent ends a task with it, whatever was loaded (RULES 35).
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`], or when the journal cannot be written.
    pub fn deactivate(
        &self,
        session: Option<&str>,
        patterns: &[String],
        tool: &str,
    ) -> Result<AugmentChange, AdminError> {
        let session = self.addressed(session)?;
        let library = self.augments.read();
        let before = chosen(&session.acts()?);
        let active = library.active(&before);
        let known = active.augments.iter().map(|one| one.augment.name.as_str());
        let known: Vec<&str> = known.chain(before.iter().map(String::as_str)).collect();
        let meant = |pattern: &String| {
            let names = known.iter().filter(|name| AugmentLibrary::means(pattern, name));
            names.copied().collect::<Vec<_>>()
        };
        let meant: Vec<_> = patterns.iter().map(|pattern| (pattern, meant(pattern))).collect();
        let gone = |name: &&String| meant.iter().any(|(_, names)| names.contains(&name.as_str()));
        let (gone, now): (Vec<&String>, Vec<&String>) = before.iter().partition(gone);
        let off = |name: &String| SessionAction::Augment { name: name.clone(), active: false };
        let ask = SessionAction::Ask { tool: tool.to_owned() };
        self.act(&session, gone.into_iter().map(off).chain([ask]).collect())?;
        let now: Vec<String> = now.into_iter().cloned().collect();
        let after = library.active(&now);
        let mut switched = switched(session.info.name, &active, &after);
        for (pattern, names) in meant {
            if names.is_empty() {
                switched.notes.push(format!("nothing that is active is called `{pattern}`"));
            }
            for one in names.iter().filter_map(|name| after.get(name)) {
                let because = match one.by {
                    Some(by) => format!("{by} requires it"),
                    None => "it is pinned in its file".to_owned(),
                };
                let kept = KeptAugment { name: one.augment.name.clone(), because };
                if !switched.kept.contains(&kept) {
                    switched.kept.push(kept);
                }
            }
        }
        Ok(switched)
    }

    /// The augments that there are, and which are active in a session; where there is no session
    /// yet, which would be.
    ///
    /// # Errors
    ///
    /// As [`SessionControls::session`], but that no session need be there.
    pub fn list(&self, session: Option<&str>) -> Result<AugmentList, AdminError> {
        let library = self.augments.read();
        let chosen = match self.addressed(session) {
            Ok(addressed) => chosen(&addressed.acts()?),
            Err(AdminError::NoSessions) => Vec::new(),
            Err(error) => return Err(error),
        };
        let active = library.active(&chosen);
        let augments = library.augments().map(|augment| ListedAugment {
            name: augment.name.clone(),
            title: augment.title.clone(),
            path: augment.path.display().to_string(),
            requires: augment.requires.iter().map(|(name, _)| name.clone()).collect(),
            pinned: augment.pinned,
            active: active.get(&augment.name).is_some(),
        });
        let mut notes: Vec<String> = library.errors().iter().map(ToString::to_string).collect();
        let more = active.errors.iter().map(ToString::to_string);
        notes.extend(more.filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        Ok(AugmentList { augments: augments.collect(), notes })
    }
}

/// The difference between what was active and what is.
fn switched(
    session: String,
    before: &ActiveAugments<'_>,
    after: &ActiveAugments<'_>,
) -> AugmentChange {
    let names = |active: &ActiveAugments<'_>| -> Vec<String> {
        active.augments.iter().map(|one| one.augment.name.clone()).collect()
    };
    let loaded = after.augments.iter().filter(|one| before.get(&one.augment.name).is_none());
    let loaded = loaded.map(|one| LoadedAugment {
        name: one.augment.name.clone(),
        title: one.augment.title.clone(),
        text: one.augment.text.clone(),
    });
    AugmentChange {
        session,
        loaded: loaded.collect(),
        unloaded: names(before).into_iter().filter(|name| after.get(name).is_none()).collect(),
        kept: Vec::new(),
        active: names(after),
        notes: after.errors.iter().map(ToString::to_string).collect(),
    }
}
