//! Bringing the search up to what was said since it was last used.
//!
//! Invariant: a search works whether or not this does: a store that cannot be written is searched
//! as it is. Called by the verbs that search.

use std::io;

use epitome::SessionAdmin;

use crate::fault;
use crate::screen::{Screen, To};
use crate::text::counted;

/// Adds to the search what it does not know yet; says how far it is where somebody looks.
pub(crate) fn catch_up(keeper: &SessionAdmin, quiet: bool) {
    let mut screen = Screen::new(To::Err, !quiet);
    let mut shown: io::Result<()> = Ok(());
    let added = keeper.index_new_entries(|done| {
        if screen.is_due() {
            shown = screen.draw(&[format!("made {} findable", counted(done, "message"))]);
        }
    });
    // Nobody is left to tell when the terminal is gone.
    drop(shown.and_then(|()| screen.clear()));
    if let Err(error) = added
        && !quiet
    {
        fault::note(&format!("searching what was made findable before, since {error}"));
    }
}
