//! What would have left the sessions that were held out, with how far that is on a terminal.
//!
//! Invariant: no model is asked, and nothing is recorded but what a shadow came to. Called by whoever shows
//! or writes figures that are read from histories.

use std::cell::{Cell, RefCell};

use epitome::{
    ExperimentConfig, HeldOutSession, ShadowReplay, ShadowSession, UnitFigures, collect_histories,
    shadow_profile,
};
use epitome_lab::ProfileShadow;

use super::flags::OpenExperiments;
use crate::fault::CliError;
use crate::screen::{Screen, To};
use crate::settings::permitted;
use crate::text::{counted, plain};

/// The units of an experiment with all that is known of them.
pub(super) fn units(
    open: &OpenExperiments,
    name: &str,
    experiment: &ExperimentConfig,
) -> Result<Vec<UnitFigures>, CliError> {
    // One of another project may not be configured here.
    let profile = shadow_profile(experiment).filter(|it| open.config.profile(it).is_ok());
    let shadow = profile.map(|profile| ShownShadow::new(open, profile));
    let shadow = shadow.transpose()?;
    let replay = shadow.as_ref().map(|shadow| shadow as &dyn ShadowReplay);
    let units = collect_histories(&*open.store, &open.tenant, name, replay);
    if let Some(shadow) = &shadow {
        // Nobody is left to tell where that fails.
        drop(shadow.screen.borrow_mut().clear());
    }
    units.map_err(|error| CliError::of_store(&error))
}

/// Replays sessions under a profile, and says how many it has replayed.
struct ShownShadow {
    profile: String,
    inner: ProfileShadow,
    screen: RefCell<Screen>,
    done: Cell<u64>,
}

impl ShownShadow {
    fn new(open: &OpenExperiments, profile: &str) -> Result<Self, CliError> {
        let made = permitted(open.config.profile(profile)?)?;
        let inner = ProfileShadow::new(made).map_err(CliError::internal)?;
        let screen = RefCell::new(Screen::new(To::Err, true));
        Ok(Self { profile: profile.to_owned(), inner, screen, done: Cell::new(0) })
    }
}

impl ShadowReplay for ShownShadow {
    fn mark(&self) -> String {
        self.inner.mark()
    }

    fn replay(&self, session: &HeldOutSession) -> Result<ShadowSession, String> {
        let mut screen = self.screen.borrow_mut();
        if screen.is_due() {
            let done = counted(self.done.get(), "session");
            let line = format!("held out: {done} replayed under `{}`", plain(&self.profile));
            drop(screen.draw(&[line]));
        }
        self.done.set(self.done.get() + 1);
        self.inner.replay(session)
    }
}
