//! The models that a profile names, ready to be asked, and what their calls cost.
//!
//! Invariant: a model is asked only where the user named it, at the one address that the name leads to.
//! Connected by hosts.

use std::sync::Arc;

use epitome_kernel::LanguageModel;
use epitome_model::{EndpointError, ModelCalls, ModelClient, ModelEndpoint, Transport};
use epitome_types::TokenUsage;

use super::Profile;
use crate::models::{Models, SummarizerSpec};

impl Profile {
    /// Who writes its summaries, in the order in which they are asked.
    pub fn summarizers(&self) -> &[SummarizerSpec] {
        &self.scribes
    }

    /// With the models among those that it names, asked over this transport. `var` reads a variable
    /// of the environment, for addresses and keys. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// When a key is missing, or an address is none.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// # mod epitome { pub use epitome_config::{Config, ConfigSources}; pub use epitome_model as model; }
    /// use epitome::{Config, ConfigSources, model::HttpTransport};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "[profile.default]\nsummarizers = ['ollama:llama3.2:3b', 'extractive']\n";
    /// let config = Config::load(ConfigSources::default().text("epitome.toml".as_ref(), text))?;
    /// let transport = Arc::new(HttpTransport::new()?);
    /// let profile = config.profile_in_use()?.connected(transport, |name| std::env::var(name).ok())?;
    /// assert_eq!(profile.models()[0].name(), "ollama:llama3.2:3b");
    /// # Ok(())
    /// # }
    /// ```
    pub fn connected(
        self,
        transport: Arc<dyn Transport>,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        self.connected_with(None, transport, var)
    }

    /// The same in a host that talks with a model itself: it is the one that `talking` names.
    ///
    /// # Errors
    ///
    /// As [`Profile::connected`].
    pub fn connected_with(
        mut self,
        talking: Option<&ModelClient>,
        transport: Arc<dyn Transport>,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        let mut models = Models::default();
        let calls = Arc::clone(&models.calls);
        let mut ready = |client: ModelClient| {
            models.ready(client.signatures(self.signatures.clone()).counted(calls.clone()))
        };
        let talking = talking.cloned().map(&mut ready);
        let mut all = Vec::new();
        for scribe in &self.scribes {
            match scribe {
                SummarizerSpec::Extractive => {}
                SummarizerSpec::Talking => all.extend(talking.clone()),
                SummarizerSpec::Model(spec) => {
                    let endpoint = ModelEndpoint::of(spec.clone(), &var)?;
                    all.push(ready(ModelClient::new(endpoint, transport.clone())));
                }
            }
        }
        self.models = Models { all, talking, ..models };
        Ok(self)
    }

    /// The models that are ready to be asked; none before [`Profile::connected`].
    pub fn models(&self) -> &[Arc<dyn LanguageModel>] {
        &self.models.all
    }

    /// What these were asked for as yet, by each session of this profile and its clones.
    pub fn own_calls(&self) -> Vec<ModelCalls> {
        self.models.calls.all()
    }

    /// Those that came since.
    pub fn own_calls_since(&self, before: &[ModelCalls]) -> Vec<ModelCalls> {
        let mut calls = self.own_calls();
        for call in &mut calls {
            let same = |one: &&ModelCalls| {
                (&one.model, one.unpaid, &one.session) == (&call.model, call.unpaid, &call.session)
            };
            if let Some(known) = before.iter().find(same) {
                call.sum = call.sum.since(known.sum);
            }
        }
        calls
    }

    /// What own calls cost: in tokens of input that are not cached, and in US dollars where the
    /// price of the model is known; nothing on a server of one's own.
    pub fn cost_of(&self, call: &ModelCalls) -> (f64, Option<f64>) {
        let ModelCalls { model, unpaid, sum, .. } = call;
        if *unpaid {
            return (0.0, Some(0.0));
        }
        let (cache, model) = (self.cache_prices(Some(model), false), Some(model.as_str()));
        let TokenUsage { input, cache_read, cache_written, output } = sum.usage;
        let units = input as f64
            + cache_read as f64 * cache.read
            + cache_written as f64 * cache.write
            + output as f64 * self.prices().output(model);
        // The size of each prompt is not known; it is not a long one.
        let dollars = self.prices().of(model).map(|quote| quote.price.of(0, units));
        (units, dollars)
    }

    /// Whether it names a model by itself.
    pub fn names_models(&self) -> bool {
        self.scribes.iter().any(|scribe| matches!(scribe, SummarizerSpec::Model(_)))
    }
}
