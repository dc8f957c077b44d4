//! A check of plugins: whether those that are not shipped may run, and start.

use epitome::plugin::host::{ProcessConfinement, confinement};
use epitome::{ExtensionOrigin, PluginForm, PluginRef};

use super::{DoctorFinding, Patient};
use crate::plugin::{CheckedPlugin, checked};

/// Which plugins there are beside the shipped ones, and what keeps them from being asked.
pub(super) fn plugins(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "plugins";
    let is_shipped = |plugin: &PluginRef| plugin.origin() == ExtensionOrigin::Shipped;
    let mut plugins = patient.config.plugins();
    plugins.retain(|(_, found)| !found.as_ref().is_ok_and(is_shipped));
    let (mut sound, mut findings) = (Vec::new(), Vec::new());
    for found in &plugins {
        let (name, plugin) = found;
        let CheckedPlugin { untrusted, problems, .. } = checked(&patient.config, plugin);
        if let (true, Ok(plugin)) = (problems.is_empty(), plugin) {
            sound.push(format!("`{name}` ({})", plugin.origin()));
        }
        findings.extend(problems.iter().map(|problem| match problem.split_once("; ") {
            Some((found, remedy)) if untrusted => DoctorFinding::warn(ABOUT, found, remedy),
            _ => {
                let remedy =
                    format!("correct it, until `epitome plugin check {name}` finds nothing");
                DoctorFinding::fail(ABOUT, problem, remedy)
            }
        }));
    }
    if plugins.is_empty() || !sound.is_empty() {
        let own = if sound.is_empty() { String::new() } else { sound.join(", ") + " beside " };
        findings.insert(0, DoctorFinding::ok(ABOUT, own + "the shipped ones"));
    }
    let is_program = |(_, plugin): &(String, Result<PluginRef, _>)| {
        plugin.as_ref().is_ok_and(|plugin| plugin.form() == PluginForm::Program)
    };
    if plugins.iter().any(is_program) {
        findings.extend(unconfined(ABOUT));
    }
    findings
}

/// What programs are not kept from here.
fn unconfined(about: &'static str) -> Option<DoctorFinding> {
    let what = match confinement() {
        ProcessConfinement { files: true, network: true } => return None,
        ProcessConfinement { files: true, network: false } => "from the network",
        ProcessConfinement { files: false, network: true } => "from writing files",
        ProcessConfinement { files: false, network: false } => {
            "from writing files and from the network"
        }
    };
    let found = format!("this system does not keep plugins that are programs {what}");
    Some(DoctorFinding::warn(about, found, "plugins that are modules reach nothing on any system"))
}
