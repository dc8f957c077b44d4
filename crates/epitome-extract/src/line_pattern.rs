//! Regular expressions over lines.
//!
//! Invariant: a host that reads no patterns compiles no engine for them. Read and asked by `keep`.

// Without the feature there is no pattern.
#[cfg(not(feature = "patterns"))]
use std::convert::Infallible as Regex;
use std::ops::Range;

#[cfg(feature = "patterns")]
use regex::Regex;

/// The bytes that one pattern may take once it is compiled.
#[cfg(feature = "patterns")]
const PATTERN_BYTES: usize = 1 << 20;

/// A regular expression in which `^` and `$` stand at the ends of lines.
#[derive(Clone, Debug)]
pub(crate) struct LinePattern(Regex);

#[cfg(feature = "patterns")]
impl LinePattern {
    /// Reads a pattern; or says in a line what is wrong with it.
    pub(crate) fn parse(pattern: &str) -> Result<Self, String> {
        let mut builder = regex::RegexBuilder::new(pattern);
        let built = builder.multi_line(true).size_limit(PATTERN_BYTES).build();
        built.map(Self).map_err(|error| {
            let text = error.to_string();
            let what = text.lines().last().unwrap_or_default().trim();
            what.trim_start_matches("error: ").to_owned()
        })
    }

    /// Where it matches.
    pub(crate) fn find_all(&self, text: &str) -> Vec<Range<usize>> {
        self.0.find_iter(text).map(|found| found.range()).collect()
    }
}

#[cfg(not(feature = "patterns"))]
impl LinePattern {
    /// Says that patterns need the feature.
    pub(crate) fn parse(_: &str) -> Result<Self, String> {
        Err("patterns need the feature `patterns`".to_owned())
    }

    /// Where it matches.
    pub(crate) fn find_all(&self, _: &str) -> Vec<Range<usize>> {
        match self.0 {}
    }
}
