//! The laws of digests, tried on texts: for a plugin's own tests and for whoever installs one.
//!
//! What a host can check in passing it checks at each call ([`crate::check`]). This is the rest:
//! the same job gives the same bytes, what tells of a failure stays as it is, and no text is too odd.
//!
//! Invariant: a law names the sample, the bound and the words that broke it. Called by tests of
//! plugins and by the command.

mod samples;

use std::borrow::Cow;
use std::fmt;

use rustc_hash::FxHashSet;
use serde_json::Value;

pub use self::samples::{odd, usual};
use crate::text::{kind, shape};
use crate::{DigestInput, Plugin, PluginInfo, check, own_words};

/// Digests are asked for that take a half, a fifth and a twentieth.
const BOUNDS: [u64; 3] = [2, 5, 20];
/// What must stay is looked for where it takes at most a third of the room.
const ROOM: u64 = 3;
/// From this share of lines with a time or a level on a text tells of failures line by line.
const STAMPED: f64 = 0.3;

/// A text to try a plugin on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ConformanceSample {
    /// What findings call it.
    pub name: Cow<'static, str>,
    /// The tool that gave it.
    pub tool: Cow<'static, str>,
    /// The arguments of the call.
    pub arguments: Cow<'static, str>,
    /// The text.
    pub text: String,
    /// What the profile sets for the plugin.
    pub options: Value,
    /// Lines, or parts of them, that every digest with room for them has to hold.
    pub keeps: Vec<String>,
}

impl ConformanceSample {
    /// A text that an unnamed tool gave.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), ..Self::default() }
    }

    /// The same as the result of a call.
    #[must_use]
    pub fn of(
        mut self,
        tool: impl Into<Cow<'static, str>>,
        arguments: impl Into<Cow<'static, str>>,
    ) -> Self {
        (self.tool, self.arguments) = (tool.into(), arguments.into());
        self
    }

    /// The same with something that has to stay.
    #[must_use]
    pub fn keeping(mut self, piece: impl Into<String>) -> Self {
        self.keeps.push(piece.into());
        self
    }
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ConformanceReport {
    /// The laws that were broken; a plugin that conforms has none.
    pub findings: Vec<ConformanceFinding>,
    /// The digests that were made.
    pub made: Vec<SampleDigest>,
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConformanceFinding {
    /// By the digest of this sample; empty where it is about the plugin itself.
    pub sample: String,
    /// What was found and what was expected.
    pub what: String,
}

impl fmt::Display for ConformanceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sample.is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "sample `{}`: {}", self.sample, self.what)
    }
}

/// A digest that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleDigest {
    /// Of this sample.
    pub sample: String,
    /// What the plugin took it for.
    pub kind: String,
    /// The size of the sample, in bytes.
    pub from: usize,
    /// The size of its digest, in bytes.
    pub to: usize,
}

/// Tries a plugin on samples; see [`usual`] and [`odd`] for some that suit every plugin.
#[must_use]
pub fn check(plugin: &dyn Plugin, samples: &[ConformanceSample]) -> ConformanceReport {
    let mut report = ConformanceReport::default();
    let about = plugin.about();
    report.findings.extend(
        about_itself(&about)
            .into_iter()
            .map(|what| ConformanceFinding { sample: String::new(), what }),
    );
    for sample in samples.iter().filter(|_| about.digest) {
        for part in BOUNDS {
            trial(plugin, sample, part, &mut report);
        }
    }
    report
}

/// The trial of a sample at a bound: one part of so many.
fn trial(
    plugin: &dyn Plugin,
    sample: &ConformanceSample,
    part: u64,
    report: &mut ConformanceReport,
) {
    let size = |text: &str| (text.len() as u64).div_ceil(4);
    let most = size(&sample.text) / part;
    let job = DigestInput::new(&sample.text, most, &size)
        .of(&sample.tool, &sample.arguments)
        .with(&sample.options);
    let mut find = |what: String| {
        let what = format!("in {most} of {} tokens: {what}", size(&sample.text));
        report.findings.push(ConformanceFinding { sample: sample.name.to_string(), what });
    };
    let asked = || check::unless_it_panics(|| plugin.digest(&job));
    let digested = match asked() {
        Ok(Some(digested)) => digested,
        Ok(None) => return,
        Err(failed) => return find(format!("it failed: {failed}")),
    };
    if asked().as_ref() != Ok(&Some(digested.clone())) {
        find("asked again, it answered otherwise".to_owned());
    }
    let taken = size(&digested.text);
    if taken > most {
        find(format!("its digest takes {taken}"));
    }
    if let Err(what) = check::fits(&sample.text, &digested) {
        find(what);
    }
    if let Err(what) = own_words::check(&sample.text, &digested.text) {
        find(what);
    }
    let musts = musts(sample);
    if musts.iter().map(|must| size(must)).sum::<u64>() <= most / ROOM {
        for must in musts.iter().filter(|must| !digested.text.contains(&***must)) {
            find(format!("its digest does not hold `{must}`"));
        }
    }
    if part == BOUNDS[1] {
        report.made.push(SampleDigest {
            sample: sample.name.to_string(),
            kind: digested.kind.into(),
            from: sample.text.len(),
            to: digested.text.len(),
        });
    }
}

/// What the digest has to hold: what the sample says, and of logs and test runs each line that tells
/// of a failure and is the first of its kind.
fn musts(sample: &ConformanceSample) -> Vec<Cow<'_, str>> {
    let mut out: Vec<Cow<'_, str>> = sample.keeps.iter().map(|keep| keep.into()).collect();
    let lines: Vec<Cow<'_, str>> =
        shape::lines(&sample.text).map(|line| shape::plain(&sample.text[line])).collect();
    let stamped = lines.iter().filter(|line| shape::is_stamped(line)).count();
    if !lines.is_empty() && stamped as f64 >= lines.len() as f64 * STAMPED {
        let mut kinds = FxHashSet::default();
        let first = |line: &Cow<'_, str>| shape::fails(line) && kinds.insert(kind::of(line).0);
        out.extend(lines.into_iter().filter(first));
    }
    out
}

fn about_itself(about: &PluginInfo) -> Vec<String> {
    let mut out = Vec::new();
    if !is_name(&about.name) {
        out.push(format!(
            "its name is `{}`, expected small letters, digits and `-`, a letter first",
            about.name
        ));
    }
    if about.version.trim().is_empty() {
        out.push("it has no version".to_owned());
    }
    if !about.digest && about.hooks.is_empty() {
        out.push("it provides neither digests nor hooks".to_owned());
    }
    out
}

/// Whether a plugin may be called that.
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DigestOutput, PluginFailure};

    /// Answers as its function says.
    struct Made(fn(&DigestInput<'_>) -> Option<String>);

    impl Plugin for Made {
        fn about(&self) -> PluginInfo {
            PluginInfo::new("made", "1").with_digest()
        }

        fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
            let text = (self.0)(job);
            Ok(text.map(|text| DigestOutput { text, kind: "made".into(), left: Vec::new() }))
        }
    }

    const AT_HALF: &str = "sample `log`: in 167 of 334 tokens: ";

    fn check(plugin: fn(&DigestInput<'_>) -> Option<String>, expected: &[&str]) {
        let lines = (0..40).map(|n| format!("2024-01-01 12:00:{n} INFO step {n}\n"));
        let text = lines.collect::<String>() + "2024-01-01 12:01:00 ERROR disk gone\n";
        let sample = ConformanceSample::new("log", text).keeping("step 7\n");
        let report = super::check(&Made(plugin), &[sample]);
        let found = report.findings.iter().map(ToString::to_string);
        let found: Vec<String> =
            found.filter_map(|text| Some(text.strip_prefix(AT_HALF)?.to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_that_answers_nothing_conforms() {
        check(|_| None, &[]);
    }

    #[test]
    fn what_breaks_a_law_is_named() {
        check(|_| Some("step 7\n2024-01-01 12:01:00 ERROR disk gone".into()), &[]);
        check(
            |_| Some("step 7\nERROR in the disk".into()),
            &[
                "`in` stands in its digest and not in the \
                 text: mark what is not the text's own as `[… in]`",
                "its digest does not hold `2024-01-01 \
                 12:01:00 ERROR disk gone`",
            ],
        );
        check(|job| Some(job.text.into()), &["its digest takes 334"]);
        check(|_| panic!("as it was told"), &["it failed: it panicked; tell its author"]);
    }

    #[test]
    fn samples_of_all_kinds_are_at_hand() {
        let samples: Vec<ConformanceSample> = usual().into_iter().chain(odd()).collect();
        assert!(samples.len() > 20, "{}", samples.len());
        for sample in &samples {
            for keep in &sample.keeps {
                assert_eq!(sample.text.matches(&**keep).count(), 1, "{}: {keep}", sample.name);
            }
        }
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name("json") && is_name("team-2"));
        assert!(!is_name("") && !is_name("2team") && !is_name("a/b") && !is_name("Ä"));
    }
}
