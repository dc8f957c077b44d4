//! A check of plugins: whether those that are not shipped may run, and start.

use epitome::{Origin, PluginRef};

use super::{Finding, Patient};
use crate::plugin::{Checked, checked};

/// Which plugins there are beside the shipped ones, and what keeps them from being asked.
pub(super) fn plugins(patient: &Patient) -> Vec<Finding> {
    const ABOUT: &str = "plugins";
    let is_shipped = |plugin: &PluginRef| plugin.origin() == Origin::Shipped;
    let mut plugins = patient.config.plugins();
    plugins.retain(|(_, found)| !found.as_ref().is_ok_and(is_shipped));
    let (mut sound, mut findings) = (Vec::new(), Vec::new());
    for found in &plugins {
        let (name, plugin) = found;
        let Checked { untrusted, problems, .. } = checked(&patient.config, plugin);
        if let (true, Ok(plugin)) = (problems.is_empty(), plugin) {
            sound.push(format!("`{name}` ({})", plugin.origin()));
        }
        findings.extend(problems.iter().map(|problem| match problem.split_once("; ") {
            Some((found, remedy)) if untrusted => Finding::warn(ABOUT, found, remedy),
            _ => {
                let remedy =
                    format!("correct it, until `epitome plugin check {name}` finds nothing");
                Finding::fail(ABOUT, problem, remedy)
            }
        }));
    }
    if plugins.is_empty() || !sound.is_empty() {
        let own = if sound.is_empty() { String::new() } else { sound.join(", ") + " beside " };
        findings.insert(0, Finding::ok(ABOUT, own + "the shipped ones"));
    }
    findings
}
