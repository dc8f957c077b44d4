//! What a process and all that it started have used, as the system accounts for it.
//!
//! Invariant: a figure is of the whole tree, and time of children that ended stays in it. Used by
//! `target`.

use std::fs;

use super::Fault;

/// Milliseconds of a tick in which the system accounts for time; a hundred a second on all Linux.
const TICK: f64 = 10.0;

/// What `/proc/ID/stat` says.
struct Stat {
    parent: u32,
    /// Of its own, and of its children that ended.
    ticks: f64,
}

/// Milliseconds of the processor that they used so far.
pub(super) fn used(root: u32) -> Result<f64, Fault> {
    let mut ticks = 0.0;
    for id in under(root)? {
        // One that ended since it was listed is in its parent's figure.
        ticks += stat(id).map_or(0.0, |stat| stat.ticks);
    }
    Ok(ticks * TICK)
}

/// Megabytes of memory that they hold; what several share counts for each.
pub(super) fn resident(root: u32) -> Result<f64, Fault> {
    let mut kilobytes = 0.0;
    for id in under(root)? {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        kilobytes += line
            .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
            .unwrap_or_default();
    }
    Ok(kilobytes / 1024.0)
}

/// A process and all below it.
fn under(root: u32) -> Result<Vec<u32>, Fault> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let id = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        parents.extend(id.and_then(|id| Some((id, stat(id)?.parent))));
    }
    if !parents.iter().any(|(id, _)| *id == root) {
        return Err(format!("process {root} has ended").into());
    }
    let (mut tree, mut next) = (vec![root], 0);
    while let Some(&above) = tree.get(next) {
        tree.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(id, _)| id));
        next += 1;
    }
    Ok(tree)
}

/// `None` of a process that is not there.
fn stat(id: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before may hold spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().flat_map(|field| field.parse::<f64>()).sum();
    Some(Stat { parent: fields.get(1)?.parse().ok()?, ticks })
}
