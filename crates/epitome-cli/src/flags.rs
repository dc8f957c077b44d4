//! Flags that several verbs share, and the values that flags take.
//!
//! Invariant: a value that is refused says what would be taken.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use epitome::{ConfigSources, Format, SummarizerSpec, SummaryStyle, known_store};

use crate::settings::{self, ProfileFlags};

/// What `session export --format json` writes: OLLM's form, with all that it leaves out.
const EXPORTED: &str = "epitome";

/// Where things are kept, and how much is said.
#[derive(Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) profile: ProfileFlags,
    /// The session's name in the journal; recall reaches all sessions of the profile
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Says nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Says more
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// A store, as `--store` names it.
pub(crate) fn store(text: &str) -> Result<PathBuf, String> {
    // An address that is none is named where it is opened, which shows no password; here it would be
    // repeated as it was typed.
    known_store(text).map(|()| PathBuf::from(text))
}

/// A name that something is given: any text but none.
pub(crate) fn given_name(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it is empty; expected a name".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// A span of time: `12h`, `7d`, `4w`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let seconds = text.char_indices().next_back().and_then(|(at, unit)| {
        let hours = match unit {
            'h' => 1,
            'd' => 24,
            'w' => 168,
            _ => return None,
        };
        text[..at].parse::<u64>().ok()?.checked_mul(hours)?.checked_mul(3_600)
    });
    let span = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    span.ok_or_else(|| "expected hours, days or weeks, such as 12h, 7d or 4w".to_owned())
}

/// How large a prompt the provider takes. The older names, `--window`, `--size` and `--limit`, go on
/// working.
#[derive(Clone, Args)]
pub(crate) struct WindowFlags {
    /// The model whose window holds, by the model table; `--context-size` may choose one of its
    /// sizes
    #[arg(id = "window", long = "window-of", alias = "window", value_name = "MODEL")]
    model: Option<String>,
    /// The context size chosen, in tokens; the prompt may take the profile's share of it
    #[arg(long, alias = "size", value_name = "N")]
    #[arg(value_parser = number, allow_negative_numbers = true)]
    context_size: Option<u64>,
    /// The largest prompt that the provider accepts, in tokens
    #[arg(long, alias = "limit", value_name = "N")]
    #[arg(value_parser = number, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["context_size", "window"])]
    prompt_limit: Option<u64>,
}

impl WindowFlags {
    /// Whether none of them is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.model.is_none() && self.context_size.is_none() && self.prompt_limit.is_none()
    }

    /// States the window of the profile.
    pub(crate) fn set(&self, sources: ConfigSources) -> ConfigSources {
        let sources = settings::text(sources, "--window-of", "window", self.model.as_deref());
        let sources =
            settings::number(sources, "--context-size", "context_size", self.context_size);
        settings::number(sources, "--prompt-limit", "prompt_limit", self.prompt_limit)
    }
}

/// How a conversation is read, and what becomes of a recording.
#[derive(clap::Args)]
pub(crate) struct ReadingFlags {
    /// The input's format: auto, anthropic, openai, responses, ollama, claude-code, codex, ollm, pi, swe-agent or epitome
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = format)]
    pub(crate) format: FormatFlag,
    /// The format that a recording is written in: anthropic, openai, responses or ollama [default: the nearer one]
    #[arg(long, value_name = "FORMAT", value_parser = provider_format)]
    pub(crate) to: Option<Format>,
    /// The largest input that is read, in bytes: 1000000, 512M or 1G
    #[arg(long, value_name = "N", default_value = "256M", value_parser = size)]
    pub(crate) max_input: u64,
}

/// How a summary is made, in place of what the profile says.
#[derive(Args)]
pub(crate) struct SummaryFlags {
    /// Messages at the end to leave alone
    #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
    keep_recent: Option<u64>,
    /// The mode that policies are told of: developer, planning, whatever they know
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    #[command(flatten)]
    style: StyleFlags,
}

/// How summaries are worded, in place of what the profile says.
#[derive(Args)]
pub(crate) struct StyleFlags {
    /// How summaries are worded: in the words that were said, or in shortened prose
    #[arg(long, value_enum)]
    style: Option<StyleFlag>,
}

impl SummaryFlags {
    /// Sets the options of the profile.
    pub(crate) fn set(&self, sources: ConfigSources) -> ConfigSources {
        let key = "options.default.compress.keep_recent_messages";
        let sources = settings::number(sources, "--keep-recent", key, self.keep_recent);
        let sources = settings::text(sources, "--mode", "mode", self.mode.as_deref());
        self.style.set(sources)
    }
}

impl StyleFlags {
    /// Sets the option of the profile.
    pub(crate) fn set(&self, sources: ConfigSources) -> ConfigSources {
        let style = self.style.map(|style| match style {
            StyleFlag::Verbatim => "verbatim",
            StyleFlag::Brief => "brief",
        });
        settings::text(sources, "--style", "options.default.compress.style", style)
    }
}

/// The value of `--style`.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum StyleFlag {
    Verbatim,
    Brief,
}

impl From<StyleFlag> for SummaryStyle {
    fn from(flag: StyleFlag) -> Self {
        match flag {
            StyleFlag::Verbatim => SummaryStyle::Verbatim,
            StyleFlag::Brief => SummaryStyle::Brief,
        }
    }
}

/// The value of `--format`: a format, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FormatFlag(pub(crate) Option<Format>);

/// Reads `--format`.
pub(crate) fn format(name: &str) -> Result<FormatFlag, String> {
    match name {
        "auto" => Ok(FormatFlag(None)),
        _ => known(name).map(|format| FormatFlag(Some(format))),
    }
}

/// Reads `--to`.
pub(crate) fn provider_format(name: &str) -> Result<Format, String> {
    let providers = || Format::PROVIDERS.map(|format| format!("`{format}`")).join(", ");
    let why = match name.parse::<Format>() {
        Ok(format) if !format.is_recording() => return Ok(format),
        Ok(format) => format!("{format} is a recording; "),
        Err(_) => String::new(),
    };
    Err(format!("{why}there is {}", providers()))
}

fn known(name: &str) -> Result<Format, String> {
    if name == EXPORTED {
        return Ok(Format::Ollm);
    }
    name.parse().map_err(|_| format!("there is `auto`, {}", names()))
}

fn names() -> String {
    let all = Format::ALL.map(|format| format!("`{format}`")).join(", ");
    format!("{all}, `{EXPORTED}`")
}

/// Who writes summaries, in place of whom the profile names.
#[derive(Args)]
pub(crate) struct SummarizerFlags {
    /// Who writes summaries: a model (ollama:NAME, openai:NAME@URL, anthropic:NAME), or extractive,
    /// which asks none; given more than once, the next one where one fails [default: as configured,
    /// or extractive]
    #[arg(long = "summarizer", value_name = "MODEL", value_parser = summarizer)]
    summarizers: Vec<String>,
}

impl SummarizerFlags {
    /// Names them for the profile.
    pub(crate) fn set(&self, sources: ConfigSources) -> ConfigSources {
        match &self.summarizers[..] {
            [] => sources,
            named => sources.flag_of_profile("--summarizer", "summarizers", named.to_vec()),
        }
    }
}

/// Reads `--summarizer`.
fn summarizer(name: &str) -> Result<String, String> {
    let scribe =
        name.parse::<SummarizerSpec>().map_err(|error| format!("{error}, or `extractive`"))?;
    Ok(scribe.to_string())
}

/// Reads a number of tokens, characters, bytes or messages.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// Reads `--ratio`.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio: &f64| ratio.is_finite() && *ratio >= 1.0);
    ratio.ok_or_else(|| "expected a number from 1 on, 4 for a quarter".to_owned())
}

/// Reads a number of bytes: digits, and `K`, `M` or `G` for powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches("iB").trim_end_matches('B');
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a number of bytes, like 1000000, 512M or 1G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_or_refused_with_those_there_are() {
        assert_eq!(format("auto"), Ok(FormatFlag(None)));
        assert_eq!(format("claude-code"), Ok(FormatFlag(Some(Format::ClaudeCode))));
        assert_eq!(format("epitome"), Ok(FormatFlag(Some(Format::Ollm))));
        assert!(format("gemini").is_err_and(|line| line.contains("`swe-agent`")));
        assert_eq!(provider_format("openai"), Ok(Format::OpenAi));
        assert!(provider_format("pi").is_err_and(|line| line.contains("`anthropic`")));
    }

    #[test]
    fn sizes_take_units() {
        for (text, bytes) in
            [("0", 0), ("17", 17), ("1K", 1024), ("2MiB", 2 << 20), ("3g", 3 << 30), ("5B", 5)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ratios_shrink() {
        assert_eq!((ratio("4"), ratio("1.000")), (Ok(4.0), Ok(1.0)));
        for text in ["0.5", "0", "-4", "inf", "NaN", "x"] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }
}
