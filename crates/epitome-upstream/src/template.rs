//! The chat template of a model, which refuses roles that it does not know how to write.
//!
//! Invariant: it is rendered as servers do, by a template engine, and refuses in its own words. Called by
//! the server.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::Value;

use crate::refusal::Refusal;

/// What the model reads of a request.
pub(crate) fn rendered(template: &str, body: &Value) -> Result<String, Refusal> {
    let mut templates = Environment::new();
    templates.set_trim_blocks(true);
    templates.set_lstrip_blocks(true);
    templates.set_unknown_method_callback(unknown_method_callback);
    templates.add_function("raise_exception", |why: String| -> Result<(), Error> {
        Err(Error::new(ErrorKind::InvalidOperation, why))
    });
    templates.add_function("strftime_now", |_: String, _: Kwargs| "26 Jul 2024");
    let refused = |error: Error| {
        Refusal::new(format!("Jinja Exception: {}", error.detail().unwrap_or("no such template")))
    };
    let context = minijinja::context! {
        messages => &body["messages"],
        tools => &body["tools"],
        bos_token => "<s>",
        eos_token => "</s>",
        add_generation_prompt => true,
    };
    templates.render_str(template, context).map_err(refused)
}
