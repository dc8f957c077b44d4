//! A session that is looked at, and the way back from its pages.

use epitome::{SessionAdmin, SessionTimeline};
use maud::{Markup, html};

use crate::address::SessionLink;
use crate::visit::PageVisit;

/// A session that is looked at.
pub(crate) struct SessionView<'v> {
    pub(crate) visit: &'v PageVisit<'v>,
    pub(crate) admin: SessionAdmin,
    pub(crate) link: SessionLink,
    pub(crate) timeline: SessionTimeline,
}

/// The way back.
pub(crate) fn crumbs(link: &SessionLink, here: Option<&str>) -> Markup {
    html! {
        nav.crumbs aria-label="Where this is" {
            a href="/" { "Sessions" }
            @if let Some(here) = here {
                a href=(link.to("")) { "Session" }
                span { (here) }
            }
        }
    }
}
