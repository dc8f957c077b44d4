//! The last step before bytes are handed out: they keep their provider's rules and the budget.
//!
//! Invariant: a result breaks no rule that its input kept. Called by the compressor, after every
//! compression.

use epitome_types::{Budget, BudgetUnit, Edit};
use epitome_wire::{RequestDocument, RuleViolation, validate};

use crate::error::Error;

/// The rules that a document breaks as it came in.
pub(crate) fn broken(document: &RequestDocument<'_>) -> Vec<RuleViolation> {
    document.violations()
}

/// The document with its edits made. Without any there is nothing to check.
pub(crate) fn outgoing(
    document: &RequestDocument<'_>,
    edits: Vec<Edit>,
    budget: Budget,
) -> Result<Vec<u8>, Error> {
    let is_changed = !edits.is_empty();
    let layout = document.layout(&edits).map_err(Error::Edit)?;
    // What they say may be as large as what comes of it.
    drop(edits);
    let bytes = document.laid_out(&layout);
    drop(layout);
    let bytes = if is_changed { checked(document, bytes)? } else { bytes };
    let size = bytes.len() as u64;
    if budget.unit == BudgetUnit::Bytes && size > budget.most {
        return Err(Error::Overrun { budget, size });
    }
    Ok(bytes)
}

/// What a document became, where that breaks no rule which the document kept.
pub(crate) fn checked(document: &RequestDocument<'_>, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let Err(found) = validate(document.format(), &bytes) else { return Ok(bytes) };
    let added = added(found, &broken(document));
    if added.is_empty() { Ok(bytes) } else { Err(Error::Invalid(added)) }
}

/// The violations of those hazards that are broken more often than before; places move, so they
/// cannot be compared.
fn added(found: Vec<RuleViolation>, known: &[RuleViolation]) -> Vec<RuleViolation> {
    let count =
        |all: &[RuleViolation], hazard| all.iter().filter(|one| one.hazard == hazard).count();
    let more: Vec<_> =
        found.iter().map(|one| count(&found, one.hazard) > count(known, one.hazard)).collect();
    found.into_iter().zip(more).filter_map(|(one, more)| more.then_some(one)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: &[u8], found: &[u8], added_ones: &[u8]) {
        let violations = |hazards: &[u8]| -> Vec<_> {
            let of = |(at, hazard): (usize, &u8)| RuleViolation {
                hazard: *hazard,
                at: format!("messages[{at}]"),
                message: String::new(),
            };
            hazards.iter().enumerate().map(of).collect()
        };
        let added = added(violations(found), &violations(known));
        let hazards: Vec<_> = added.iter().map(|one| one.hazard).collect();
        assert_eq!(hazards, added_ones, "{known:?} {found:?}");
    }

    #[test]
    fn only_new_violations_count() {
        check(&[], &[], &[]);
        check(&[6], &[6], &[]);
        check(&[6, 1], &[1], &[]);
        check(&[6], &[6, 1], &[1]);
        check(&[1], &[1, 1], &[1, 1]);
    }
}
