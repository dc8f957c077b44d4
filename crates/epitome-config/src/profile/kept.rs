//! The lines that a profile and its policies keep of a conversation that lies there.
//!
//! Invariant: what is kept is what a compression of the same messages would keep; no model is asked.
//! Called by reports; a compression asks its own policies.

use std::sync::Arc;

use epitome_extensions::problem::ConfigError;
use epitome_extract::KeepRules;
use epitome_kernel::types::hook::{Common, FactsJob};
use epitome_kernel::types::{Entry, Role};
use epitome_kernel::{Policy, PolicyChain, TokenCounter};
use epitome_plan::{SpokenTexts, covered};

use super::Profile;

impl Profile {
    /// The lines that stay word for word, those among them that its policies find in these messages.
    ///
    /// # Errors
    ///
    /// As [`Profile::load`].
    pub fn keep_in(
        &self,
        said: &[Entry],
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<KeepRules, ConfigError> {
        let said: Vec<_> = said.iter().filter(|entry| entry.role != Role::System).collect();
        let mut policies = self.load(counter)?.current();
        policies.push(Arc::new(self.built_in()) as Arc<dyn Policy>);
        let chain = PolicyChain::new(policies, Default::default());
        let texts = SpokenTexts(&said);
        let common = Common { mode: self.mode().map(str::to_owned), ..Common::default() };
        let job = FactsJob { common, covered: covered(&said), texts: &texts };
        let found = chain.ask().facts(&job).ok().flatten();
        Ok(self.keep().naming(found.unwrap_or_default()))
    }
}
