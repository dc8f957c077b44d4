//! The page for people, in a real Chromium.
//!
//! Chromium is driven over its debugging pipe by the few lines in `chromium`: that takes no further
//! package, where a client library takes a hundred. Where there is no Chromium these tests say so and have
//! nothing to do, or fail where `EPITOME_CHROMIUM=required`.

mod chromium;
mod page;
mod tab;
mod trial;
