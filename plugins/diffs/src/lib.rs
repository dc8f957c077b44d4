//! Digests unified diffs: every changed line of small hunks, both ends of large ones.
//!
//! Files that nobody wrote, such as lock files, become counts; unchanged lines and what git says
//! twice of a file go first; of long runs of added or removed lines the ends stay, and between
//! them what is declared. Lines that tell of conflicts stay whatever the room.
//!
//! Invariant: a shown line is the diff's own; what is not stands in `[… ]`.

mod diff;
mod files;
mod render;

use epitome_plugin::text::outline::passages;
use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

use diff::{DiffRow, DiffRowKind, DiffSection, ParsedDiff};
use render::{DETAILS, render};

/// What the digest calls itself.
const KIND: &str = "diff";
/// Among so many first lines a generated file says that it is.
const SAYS: usize = 10;

/// Digests unified diffs.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffDigester;

impl Plugin for DiffDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("diffs", "1")
            .with_doc("unified diffs: small hunks whole, long ones and generated files as counts")
            .with_digest()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if shape::reads_file(job) && !job.arguments.contains("git ") {
            return Ok(None);
        }
        Ok(ParsedDiff::read(job.text).and_then(|diff| digest(job, &diff)))
    }
}

fn digest(job: &DigestInput<'_>, diff: &ParsedDiff<'_>) -> Option<DigestOutput> {
    let mut generated: Vec<bool> =
        diff.sections.iter().map(|section| is_generated(diff, section, job.arguments)).collect();
    let all = diff.sections.iter().zip(&generated).all(|(section, is)| *is || !section.is_file);
    if all {
        generated.fill(false);
    }
    let fits = |text: &str| text.len() < job.text.len() && job.size(text) <= job.most;
    let mut forms = DETAILS.iter().map(|detail| render(diff, *detail, &generated));
    let Some(rendered) = forms.find(|rendered| fits(&rendered.text)) else {
        return files::digest(job, diff);
    };
    let left = passages(job.text, rendered.left.into_iter());
    Some(DigestOutput { text: rendered.text, kind: KIND.into(), left })
}

/// Whether a program wrote the file, and the call did not ask for it.
fn is_generated(diff: &ParsedDiff<'_>, section: &DiffSection, arguments: &str) -> bool {
    let rows = &diff.rows[section.rows.clone()];
    let path = rows.first().filter(|_| section.is_file).map(DiffRow::path).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || arguments.contains(name) {
        return false;
    }
    let added = rows
        .iter()
        .filter(|row| matches!(row.what, DiffRowKind::Added | DiffRowKind::Same))
        .take(SAYS);
    let says =
        |row: &DiffRow<'_>| row.text.contains("@generated") || row.text.contains("DO NOT EDIT");
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || FOLDERS.iter().any(|folder| path.split('/').any(|part| part == *folder))
        || added.into_iter().any(says)
}

const NAMES: &[&str] = &["go.sum", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml"];

const ENDINGS: &[&str] =
    &[".lock", ".min.js", ".min.css", ".map", ".snap", ".pb.go", "_pb2.py", ".generated.ts"];

const FOLDERS: &[&str] = &["dist", "node_modules", "vendor", "__snapshots__"];
