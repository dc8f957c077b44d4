//! A check of policies: whether those that are not shipped may run, and do.

use epitome::ExtensionOrigin;

use super::{DoctorFinding, Patient};
use crate::policy::checked;

/// Which policies there are beside the shipped ones, and what keeps them from being asked.
pub(super) fn policies(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "policies";
    let mut policies = patient.config.policies();
    policies.retain(|policy| policy.origin() != ExtensionOrigin::Shipped);
    let (mut sound, mut findings) = (Vec::new(), Vec::new());
    for policy in &policies {
        let name = policy.name();
        let checked = checked(&patient.config, policy);
        if checked.problems.is_empty() {
            sound.push(format!("`{name}` ({})", policy.origin()));
        }
        findings.extend(checked.problems.iter().map(|problem| match problem.split_once("; ") {
            Some((found, remedy)) if !checked.trusted => DoctorFinding::warn(ABOUT, found, remedy),
            _ => {
                let remedy =
                    format!("correct it, until `epitome policy check {name}` finds nothing");
                DoctorFinding::fail(ABOUT, problem, remedy)
            }
        }));
    }
    if policies.is_empty() || !sound.is_empty() {
        let own = if sound.is_empty() { String::new() } else { sound.join(", ") + " beside " };
        findings.insert(0, DoctorFinding::ok(ABOUT, own + "the shipped ones"));
    }
    findings
}
