//! The plugins that come with the program.
//!
//! Invariant: an explicit list; nothing registers itself. Called by the shelves.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use epitome_plugin::Plugin;

use super::text::TextPlugin;

/// A plugin, by the name that it gives itself.
type ShippedPlugin = (Cow<'static, str>, Arc<dyn Plugin>);

/// All of them.
static SHIPPED: LazyLock<Vec<ShippedPlugin>> = LazyLock::new(|| {
    let text: Arc<dyn Plugin> = Arc::new(TextPlugin::default());
    by_shape().into_iter().chain([text]).map(|plugin| (plugin.about().name, plugin)).collect()
});

/// Those that know texts by their shape, each in a package of its own.
#[cfg(feature = "plugins")]
fn by_shape() -> Vec<Arc<dyn Plugin>> {
    vec![
        Arc::new(epitome_digest_json::JsonDigester),
        Arc::new(epitome_digest_tables::TableDigester),
        Arc::new(epitome_digest_diffs::DiffDigester),
        Arc::new(epitome_digest_html::HtmlDigester),
        Arc::new(epitome_digest_search::SearchDigester),
        Arc::new(epitome_digest_listings::ListingDigester),
        Arc::new(epitome_digest_logs::LogDigester),
        Arc::new(epitome_digest_source::SourceDigester),
    ]
}

/// None of them is compiled in.
#[cfg(not(feature = "plugins"))]
fn by_shape() -> Vec<Arc<dyn Plugin>> {
    Vec::new()
}

/// Their names.
#[cfg(feature = "find")]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| &**name)
}

/// Tells whether there is one of this name.
#[cfg(feature = "find")]
pub fn is_shipped(name: &str) -> bool {
    SHIPPED.iter().any(|(known, _)| known == name)
}

/// The one of a name.
pub(super) fn plugin(name: &str) -> Option<Arc<dyn Plugin>> {
    let (_, plugin) = SHIPPED.iter().find(|(known, _)| known == name)?;
    Some(Arc::clone(plugin))
}
