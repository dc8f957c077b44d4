//! Who writes summaries, as a profile names them, and the models among them ready to be asked.
//!
//! Invariant: a model is asked only where the user named it (never a project), at the one address
//! that the name leads to. Named by the configuration, connected by hosts.

mod price;
mod table;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use epitome_kernel::LanguageModel;
use epitome_model::{ModelClient, ModelSpec, OwnCalls, SpecError};

pub use price::{Price, PriceError, Prices, Quote};
pub use table::{KnownModel, ModelTable, ModelTableError, UnknownModel};

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
pub struct Models {
    /// All of them.
    pub all: Vec<Arc<dyn LanguageModel>>,
    /// The one among them that the conversation is with.
    pub(crate) talking: Option<Arc<dyn LanguageModel>>,
    /// What they were asked for.
    pub(crate) calls: Arc<OwnCalls>,
    /// Those of them that tell apart on whose behalf they are asked.
    pub(crate) clients: Vec<(Arc<dyn LanguageModel>, ModelClient)>,
}

impl Models {
    /// Takes up a client; gives it as a model.
    pub(crate) fn ready(&mut self, client: ModelClient) -> Arc<dyn LanguageModel> {
        let model: Arc<dyn LanguageModel> = Arc::new(client.clone());
        self.clients.push((Arc::clone(&model), client));
        model
    }

    /// Their names, in their order.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|model| model.name().to_owned()).collect()
    }

    /// The same as a session in a scope asks them.
    #[must_use]
    pub fn on_behalf(&self, scope: &str, session: &str) -> Self {
        let own = |model: &Arc<dyn LanguageModel>| -> Arc<dyn LanguageModel> {
            let known = self.clients.iter().find(|(known, _)| Arc::ptr_eq(known, model));
            match known {
                Some((_, client)) => Arc::new(client.clone().on_behalf(scope, session)),
                None => Arc::clone(model),
            }
        };
        Self { all: self.all.iter().map(own).collect(), ..self.clone() }
    }

    /// Has this model in the place of the one that the conversation was with; gives whether that
    /// was one of them.
    pub fn talk_with(&mut self, client: &ModelClient) -> bool {
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
