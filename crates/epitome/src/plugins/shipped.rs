//! The plugins that come with the program.
//!
//! Invariant: an explicit list; nothing registers itself. Called by the shelves.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use epitome_digest_diffs::Diffs;
use epitome_digest_html::Html;
use epitome_digest_json::Json;
use epitome_digest_listings::Listings;
use epitome_digest_logs::Logs;
use epitome_digest_search::Search;
use epitome_digest_source::Source;
use epitome_digest_tables::Tables;
use epitome_plugin::Plugin;

use super::text::Text;

/// A plugin, by the name that it gives itself.
type Named = (Cow<'static, str>, Arc<dyn Plugin>);

/// All of them.
static SHIPPED: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let all: Vec<Arc<dyn Plugin>> = vec![
        Arc::new(Json),
        Arc::new(Tables),
        Arc::new(Diffs),
        Arc::new(Html),
        Arc::new(Search),
        Arc::new(Listings),
        Arc::new(Logs),
        Arc::new(Source),
        Arc::new(Text::default()),
    ];
    all.into_iter().map(|plugin| (plugin.about().name, plugin)).collect()
});

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| &**name)
}

/// The one of a name.
pub(super) fn plugin(name: &str) -> Option<Arc<dyn Plugin>> {
    let (_, plugin) = SHIPPED.iter().find(|(known, _)| known == name)?;
    Some(Arc::clone(plugin))
}
