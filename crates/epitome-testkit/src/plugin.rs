//! A well-behaved plugin, in both forms: in a program of its own and compiled in.

use epitome_plugin::text::{outline, shape};
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};
use serde_json::{Value, json};

/// Keeps the lines of a result from the first on, as far as there is room.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstLines;

impl Plugin for FirstLines {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("first-lines", "1")
            .with_doc("Keeps the first lines of any text.")
            .with_digest()
            .with_hook("trigger")
            .with_option("lines", 1000, "lines that are kept at most")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        let lines: Vec<_> = shape::lines(job.text).collect();
        let most = usize::try_from(job.number("lines", 1000)).unwrap_or(usize::MAX);
        let said = |count: usize| {
            let end = lines[..count].last().map_or(0, |line| line.end);
            let left = outline::counted(lines.len() - count, "lines");
            (format!("{}\n[… {left}]", &job.text[..end]), end)
        };
        let fits = |count: &usize| job.size(&said(*count).0) <= job.most;
        let Some(count) = (1..=most.min(lines.len())).take_while(fits).last() else {
            return Ok(None);
        };
        let (text, end) = said(count);
        let left = outline::passages(job.text, std::iter::once(end..job.text.len()));
        Ok(Some(DigestOutput { text, kind: "first lines".into(), left }))
    }

    fn hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        match job.get("fail") {
            Some(_) => {
                Err(PluginFailure::new("it was told to fail").with_remedy("tell it otherwise"))
            }
            None => Ok(Some(json!({ "hook": hook, "options": options }))),
        }
    }
}
