//! Who writes summaries, as a profile names them, and the models among them ready to be asked.
//!
//! Invariant: a model is asked only where the user named it (never a project), at the one address
//! that the name leads to. Named by the configuration, connected by hosts.

mod price;
mod table;
mod unaided;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use epitome_kernel::LanguageModel;
use epitome_model::{
    EndpointError, ModelCalls, ModelClient, ModelEndpoint, ModelSpec, OwnCalls, SpecError,
    Transport,
};
use epitome_types::TokenUsage;

use crate::profile::Profile;
pub use price::{Price, PriceError, Prices, Quote};
pub(crate) use table::KnownModel;
pub use table::{ModelTable, ModelTableError, UnknownModel};
pub use unaided::{OwnCompaction, UnaidedClient, UnaidedPrompt};

/// The one who needs no model, and the model that a conversation is with, as they are named.
const EXTRACTIVE: &str = "extractive";
const TALKING: &str = "talking";

/// Who writes summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummarizerSpec {
    /// The extractor, which asks no model and cannot fail.
    Extractive,
    /// The model that the conversation is with, where the host is the one who talks with it
    /// (RULES 21); nobody elsewhere.
    Talking,
    /// A model.
    Model(ModelSpec),
}

impl FromStr for SummarizerSpec {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        match name {
            EXTRACTIVE => Ok(Self::Extractive),
            TALKING => Ok(Self::Talking),
            _ => name.parse().map(Self::Model),
        }
    }
}

impl fmt::Display for SummarizerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extractive => f.write_str(EXTRACTIVE),
            Self::Talking => f.write_str(TALKING),
            Self::Model(spec) => spec.fmt(f),
        }
    }
}

/// Models that are ready to be asked, in their order.
#[derive(Clone, Default)]
pub(crate) struct Models {
    pub(crate) all: Vec<Arc<dyn LanguageModel>>,
    /// The one among them that the conversation is with.
    talking: Option<Arc<dyn LanguageModel>>,
    /// What they were asked for.
    calls: Arc<OwnCalls>,
}

impl Models {
    /// Has this model in the place of the one that the conversation was with; gives whether that
    /// was one of them.
    pub(crate) fn talk_with(&mut self, client: &ModelClient) -> bool {
        let Some(before) = &self.talking else { return false };
        let now: Arc<dyn LanguageModel> = Arc::new(client.clone());
        let its = self.all.iter_mut().filter(|one| Arc::ptr_eq(one, before));
        let replaced = its.map(|one| *one = now.clone()).count();
        self.talking = Some(now);
        replaced > 0
    }
}

impl From<Vec<Arc<dyn LanguageModel>>> for Models {
    fn from(all: Vec<Arc<dyn LanguageModel>>) -> Self {
        Self { all, ..Self::default() }
    }
}

impl PartialEq for Models {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<dyn LanguageModel>, _)| Arc::ptr_eq(one, other);
        self.all.len() == other.all.len() && self.all.iter().zip(&other.all).all(same)
    }
}

/// Their names.
impl fmt::Display for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.all.iter().map(|model| format!("`{}`", model.name())).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter().map(|model| model.name())).finish()
    }
}

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
        let calls = Arc::new(OwnCalls::default());
        let ready = |client: ModelClient| -> Arc<dyn LanguageModel> {
            Arc::new(client.signatures(self.signatures.clone()).counted(calls.clone()))
        };
        let talking = talking.cloned().map(ready);
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
        self.models = Models { all, talking, calls };
        Ok(self)
    }

    /// The models that are ready to be asked; none before [`Profile::connected`].
    pub fn models(&self) -> &[Arc<dyn LanguageModel>] {
        &self.models.all
    }

    /// What these were asked for as yet, by any session of this profile and its clones.
    pub fn own_calls(&self) -> Vec<ModelCalls> {
        self.models.calls.all()
    }

    /// Those that came since.
    pub fn own_calls_since(&self, before: &[ModelCalls]) -> Vec<ModelCalls> {
        let mut calls = self.own_calls();
        for call in &mut calls {
            let same = |one: &&ModelCalls| one.model == call.model && one.unpaid == call.unpaid;
            if let Some(known) = before.iter().find(same) {
                call.sum = call.sum.since(known.sum);
            }
        }
        calls
    }

    /// What own calls cost: in tokens of input that are not cached, and in US dollars where the
    /// price of the model is known; nothing on a server of one's own.
    pub fn cost_of(&self, call: &ModelCalls) -> (f64, Option<f64>) {
        let ModelCalls { model, unpaid, sum } = call;
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
