//! What is wrong with a policy by its text alone.
//!
//! Invariant: nothing of the policy runs, and it is judged by the same declarations that jobs are
//! made by and answers are read by. Where a value cannot be known, nothing is said of it. Called by
//! hosts that show authors their mistakes.

mod braces;
mod calls;
mod certain;
mod code;
mod declarations;
mod fit;
mod hooks;
mod infer;
mod kind;
mod language;
mod library;
mod links;
mod lower;
mod lua_pattern;
#[cfg(test)]
mod meant;
mod mistake;
mod operands;
mod patterns;
mod program;
mod signature;
#[cfg(test)]
mod slips;
mod stores;
#[cfg(test)]
mod tests;
mod uses;

use std::thread;

use epitome_kernel::ApiNames;
use serde_json::{Map, Value as Json};

pub use self::mistake::PolicyMistake;
use crate::declared::{API_VERSION, check_header};
use crate::files::{GenerationFiles, POLICY};
use crate::source::FoundPolicy;

/// The stack that a policy is read on, in bytes: as deep as the machine lets a text be nested.
const STACK: usize = 256 << 20;

/// Names the mistakes in the text of a policy: names that nothing has, answers that no hook takes,
/// calls with what they do not take, patterns that are none. `options` are the values of its options, where they are known.
///
/// Nothing is said of a policy that cannot be read: loading it says why.
pub fn examine(found: &FoundPolicy, options: Option<&Map<String, Json>>) -> Vec<PolicyMistake> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let examined = thread.spawn_scoped(scope, || examined(found, options));
        examined.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
    })
}

fn examined(found: &FoundPolicy, options: Option<&Map<String, Json>>) -> Vec<PolicyMistake> {
    let Ok(files) = GenerationFiles::new(found.clone()) else { return Vec::new() };
    let Ok(Some(policy)) = files.policy() else { return Vec::new() };
    let header = check_header(&policy.text);
    let names = ApiNames::new(*header.as_ref().unwrap_or(&API_VERSION));
    let mut mistakes: Vec<PolicyMistake> = header
        .err()
        .map(|what| {
            let what = what.strip_prefix(&format!("{POLICY}:1: ")).unwrap_or(&what).to_owned();
            PolicyMistake { file: POLICY.to_owned(), line: 1, what }
        })
        .into_iter()
        .collect();
    let Some((code, modules)) = program::read(&files, &policy) else { return mistakes };
    let mut inference = infer::Inference::new(&code, &modules, &names, options);
    links::link(&mut inference);
    let mut found = declarations::check(&inference);
    found.extend(hooks::check(&inference));
    found.extend(uses::check(&inference));
    found.extend(calls::check(&inference, &modules));
    found.extend(patterns::check(&inference));
    mistakes.extend(mistake::named(&code, found));
    mistakes
}
