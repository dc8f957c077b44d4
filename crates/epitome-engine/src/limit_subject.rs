//! What a lesson about the size of prompts holds for.

use std::sync::Arc;

use epitome_admin::learned;
use epitome_config::scope::of_no_project;

/// Whom a prompt is for, and who counted it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LimitSubject {
    /// Where its session is.
    pub(crate) scope: Arc<str>,
    /// Where what is learned is kept: a model is no other in another project.
    pub(crate) shelf: Arc<str>,
    pub(crate) key: Arc<str>,
}

impl LimitSubject {
    pub(crate) fn new(scope: &str, format: &str, model: Option<&str>, counter: &str) -> Self {
        let key = learned::key(format, model, counter);
        Self { scope: scope.into(), shelf: of_no_project(scope).into(), key: key.into() }
    }
}
