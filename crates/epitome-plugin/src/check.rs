//! The one door through which a host asks any plugin.
//!
//! Invariant: no panic comes out, and a digest that does can stand in the place of the result: smaller
//! than it, within the bounds of the job, in its own words, and with places that are places of its text.
//! Called by hosts.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::text::outline::passages;
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure, own_words};

/// A plugin's digest, or `None` where it has none that is small enough. A panic of a plugin that is
/// compiled in is a failure like any other.
///
/// # Errors
///
/// What the plugin says, or what is wrong with its answer.
pub fn digest(
    plugin: &dyn Plugin,
    job: &DigestInput<'_>,
) -> Result<Option<DigestOutput>, PluginFailure> {
    let Some(mut digested) = unless_it_panics(|| plugin.digest(job))? else { return Ok(None) };
    let size = job.size(&digested.text);
    if size > job.most || size >= job.size(job.text) {
        return Ok(None);
    }
    fits(job.text, &digested).map_err(PluginFailure::new)?;
    own_words::check(job.text, &digested.text).map_err(PluginFailure::new)?;
    digested.left = passages(job.text, digested.left.into_iter());
    Ok(Some(digested))
}

/// A plugin's answer to a hook. What it may be is known to the host alone; but here too a panic is
/// a failure.
///
/// # Errors
///
/// What the plugin says.
pub fn hook(
    plugin: &dyn Plugin,
    hook: &str,
    job: &Value,
    options: &Value,
) -> Result<Option<Value>, PluginFailure> {
    unless_it_panics(|| plugin.hook(hook, job, options))
}

pub(crate) fn unless_it_panics<T>(
    ask: impl FnOnce() -> Result<T, PluginFailure>,
) -> Result<T, PluginFailure> {
    catch_unwind(AssertUnwindSafe(ask))
        .unwrap_or_else(|_| Err(PluginFailure::new("it panicked").with_remedy("tell its author")))
}

/// Whether a digest says something, and places what it leaves out in the text.
pub(crate) fn fits(text: &str, digested: &DigestOutput) -> Result<(), String> {
    if digested.text.trim().is_empty() {
        return Err("its digest is empty".to_owned());
    }
    if digested.kind.is_empty()
        || digested.kind.len() > 40
        || digested.kind.contains(|c: char| c.is_control())
    {
        return Err(format!("`kind` is a word or two, not {:?}", digested.kind));
    }
    let mut end = 0;
    for Range { start, end: next } in &digested.left {
        let is_place = *start <= *next && text.get(*start..*next).is_some();
        if !is_place {
            return Err(format!(
                "`left` holds {start}..{next}, which is no place in the {} bytes of the text, or \
                 parts a character",
                text.len()
            ));
        }
        if *start < end {
            return Err(format!("`left` holds {start}..{next} behind what ends at {end}"));
        }
        end = *next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PluginInfo;

    /// Answers with what it holds.
    struct Fixed(Option<DigestOutput>);

    impl Plugin for Fixed {
        fn about(&self) -> PluginInfo {
            PluginInfo::new("fixed", "1").with_digest()
        }

        fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
            assert!(job.text != "panic", "as it was told");
            Ok(self.0.clone())
        }

        fn hook(&self, _: &str, _: &Value, _: &Value) -> Result<Option<Value>, PluginFailure> {
            panic!("as it always does")
        }
    }

    fn check(text: &str, digest: &str, left: &[[usize; 2]], expected: Result<bool, &str>) {
        let left = left.iter().map(|[start, end]| *start..*end).collect();
        let answer = DigestOutput { text: digest.into(), kind: "fixed".into(), left };
        let size = |text: &str| text.len() as u64;
        let found = super::digest(&Fixed(Some(answer)), &DigestInput::new(text, 6, &size));
        let found = found.map(|digested| digested.is_some());
        assert_eq!(found, expected.map_err(PluginFailure::new), "{digest}");
    }

    #[test]
    fn a_digest_is_smaller_within_bounds_and_placed() {
        check("äeiou and more", "äeiou", &[[6, 14]], Ok(true));
        check("äeiou and more", "", &[], Err("its digest is empty"));
        check("äeiou and more", "äeiou a", &[], Ok(false));
        check("abcd", "abcd", &[], Ok(false));
        check(
            "äeiou and more",
            "äe",
            &[[1, 3]],
            Err("`left` holds 1..3, which is no place in the 15 bytes of the text, or parts a \
                 character"),
        );
        check(
            "äeiou and more",
            "äe",
            &[[3, 16]],
            Err("`left` holds 3..16, which is no place in the 15 bytes of the text, or parts a \
                 character"),
        );
        check(
            "äeiou and more",
            "äe",
            &[[4, 6], [5, 7]],
            Err("`left` holds 5..7 behind what ends at 6"),
        );
    }

    proptest! {
        #[test]
        fn whatever_is_answered_what_comes_out_fits(
            text in "[a-zäé\\n ]{0,900}",
            digest in "[a-z \\n]{0,6}",
            left in proptest::collection::vec((0_usize..1000, 0_usize..1000), 0..5),
        ) {
            let left = left.into_iter().map(|(start, end)| start..end).collect();
            let answer = DigestOutput { text: digest, kind: "fixed".into(), left };
            let size = |text: &str| text.len() as u64;
            let job = DigestInput::new(&text, 6, &size);
            if let Ok(Some(found)) = super::digest(&Fixed(Some(answer)), &job) {
                prop_assert!(found.text.len() <= 6 && found.text.len() < text.len());
                let mut end = 0;
                for place in found.left {
                    prop_assert!(end <= place.start && place.len() <= 600);
                    prop_assert!(text.get(place.clone()).is_some());
                    end = place.end;
                }
            }
        }
    }

    #[test]
    fn a_panic_is_a_failure() {
        let size = |text: &str| text.len() as u64;
        let failed = super::digest(&Fixed(None), &DigestInput::new("panic", 2, &size)).unwrap_err();
        assert_eq!(failed.to_string(), "it panicked; tell its author");
        let failed = super::hook(&Fixed(None), "trigger", &Value::Null, &Value::Null).unwrap_err();
        assert_eq!(failed.cause, "it panicked");
    }
}
