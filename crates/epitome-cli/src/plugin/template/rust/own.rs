//! Digests what the tool `TOOL` gives: its ends stay, and every line that tells of a failure.

use epitome_plugin::text::{shape, unsaid};
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// Digests what the tool gives.
pub(crate) struct Own;

impl Plugin for Own {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("NAME", "0.1.0").with_digest()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if job.tool != "TOOL" {
            return Ok(None);
        }
        let ends = job.number("ends", 3) as usize;
        let lines: Vec<&str> = job.text.lines().collect();
        let (mut said, mut left) = (Vec::new(), 0);
        for (at, line) in lines.iter().enumerate() {
            if at < ends || at + ends >= lines.len() || shape::fails(line) {
                said.extend(note(&mut left));
                said.push((*line).to_owned());
            } else {
                left += 1;
            }
        }
        said.extend(note(&mut left));
        let text = said.join("\n");
        let left = unsaid(job.text, &text);
        let fits = job.size(&text) <= job.most;
        Ok(fits.then_some(DigestOutput { text, kind: "NAME".into(), left }))
    }
}

/// What is not the result's own stands in brackets, so that the model knows.
fn note(left: &mut usize) -> Option<String> {
    let lines = std::mem::take(left);
    (lines > 0).then(|| format!("[… {lines} lines]"))
}
