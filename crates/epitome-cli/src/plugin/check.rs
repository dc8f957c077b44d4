//! `epitome plugin check`: whether plugins start, are what they say, and keep the laws of digests.
//!
//! Invariant: a plugin that may not run is not run to find out; one line for everything that is
//! wrong, which says where it failed, and exit code 6.

use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use epitome::plugin::conformance::{
    self, ConformanceFinding, ConformanceReport, ConformanceSample,
};
use epitome::plugin::host::HostedPlugin;
use epitome::plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};
use epitome::{Config, ConfigError, PluginRef};
use serde::Serialize;
use serde_json::Value;

use super::choice::{PluginArgs, none};
use crate::fault::CliError;
use crate::files;
use crate::journal;
use crate::text::{counted, on_one_line};

/// With so many findings no further sample is tried.
const ENOUGH: usize = 5;

/// The newest lines of a log that are shown.
const LOG: usize = 10;

/// The folder of a plugin's own sample texts.
const SAMPLES: &str = "samples";

/// The largest of them that is read, in bytes.
const MOST: u64 = 16 << 20;

/// Checks plugins: whether they may run, their manifest, their hello, and digests of sample texts
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome plugin check json")]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PluginArgs,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// What was found of a plugin.
#[derive(Default)]
pub(crate) struct CheckedPlugin {
    /// Whether it was not run, since nobody trusts it.
    pub(crate) untrusted: bool,
    pub(crate) problems: Vec<String>,
    /// What it wrote to its log, the newest lines.
    log: Vec<String>,
    /// The kinds of sample texts that it digested.
    kinds: Vec<String>,
    hooks: Vec<String>,
}

#[derive(Serialize)]
struct PluginReport<'a> {
    plugin: &'a str,
    problems: Vec<String>,
    log: Vec<String>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let chosen = args.choice.find()?;
    let mut said = Vec::new();
    for found in &chosen.plugins {
        let checked = tried(&chosen.config, &found.1)?;
        if !args.json {
            show(&found.0, &checked, args.quiet)?;
        }
        let CheckedPlugin { problems, log, .. } = checked;
        said.push(PluginReport { plugin: &found.0, problems, log });
    }
    if args.json {
        journal::json(&said)?;
    } else if said.is_empty() && !args.quiet {
        none();
    }
    let wrong: Vec<_> = said.iter().filter(|one| !one.problems.is_empty()).collect();
    match &wrong[..] {
        [] => Ok(()),
        [one] => Err(CliError::found(format!("`{}` cannot be used", one.plugin))),
        _ => Err(CliError::found(format!(
            "{} cannot be used",
            counted(wrong.len() as u64, "plugin")
        ))),
    }
}

/// What keeps a plugin from being used; its program is started for its hello and no more.
pub(crate) fn checked(config: &Config, found: &Result<PluginRef, ConfigError>) -> CheckedPlugin {
    greeted(config, found, |_, _| ConformanceReport::default())
}

/// The same, and what is wrong with its digests of sample texts: its own, and some that suit every
/// plugin.
fn tried(
    config: &Config,
    found: &Result<PluginRef, ConfigError>,
) -> Result<CheckedPlugin, CliError> {
    let folder = found.as_ref().ok().and_then(PluginRef::folder);
    let own = folder.map_or(Ok(Vec::new()), own_samples)?;
    Ok(greeted(config, found, |plugin, options| {
        let others = conformance::usual().into_iter().chain(conformance::odd());
        let set = |mut sample: ConformanceSample| {
            sample.options = options.clone();
            sample
        };
        let mut all = ConformanceReport::default();
        for sample in own.iter().cloned().chain(others).map(set) {
            let mut report = conformance::check(plugin, &[sample]);
            report.findings.retain(|finding| !all.findings.contains(finding));
            all.findings.append(&mut report.findings);
            all.made.append(&mut report.made);
            if all.findings.len() >= ENOUGH {
                break;
            }
        }
        all
    }))
}

/// The texts in the folder of a plugin: what the tools gave that the files are called by.
fn own_samples(folder: &Path) -> Result<Vec<ConformanceSample>, CliError> {
    let Ok(entries) = std::fs::read_dir(folder.join(SAMPLES)) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let sample = |path: &PathBuf| {
        let no_text = |_| CliError::unreadable(format!("{}: is no text in UTF-8", path.display()));
        let text = String::from_utf8(files::read(Some(path), MOST)?).map_err(no_text)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let tool = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(ConformanceSample::new(format!("{SAMPLES}/{name}"), text).of(tool.into_owned(), ""))
    };
    paths.iter().map(sample).collect()
}

fn greeted(
    config: &Config,
    found: &Result<PluginRef, ConfigError>,
    check: impl Fn(&dyn Plugin, &Value) -> ConformanceReport,
) -> CheckedPlugin {
    let mut checked = CheckedPlugin::default();
    let plugin = match found {
        Ok(plugin) => plugin,
        Err(ConfigError::Invalid(problems)) => {
            checked.problems.extend(problems.iter().map(ToString::to_string));
            return checked;
        }
        Err(error) => {
            checked.problems.push(error.to_string());
            return checked;
        }
    };
    if let Some(refusal) = config.plugin_refusal(plugin) {
        checked.untrusted = true;
        checked.problems.push(refusal.to_string());
        return checked;
    }
    let options = Value::Object(plugin.options());
    let report = match (plugin.code(), config.hosted_plugin(plugin)) {
        (Some(code), _) => check(&*code, &options),
        (None, Some(hosted)) => match hosted.hello() {
            Ok(about) => {
                checked.problems.extend(contradictions(plugin, &about));
                let greeted = Greeted { hosted: &*hosted, about };
                let report = check(&greeted, &options);
                checked.log = hosted.log();
                report
            }
            Err(error) => {
                checked.problems.push(error.to_string());
                checked.log = hosted.log();
                return checked;
            }
        },
        (None, None) => ConformanceReport::default(),
    };
    let place = plugin.place();
    let problem = |finding: &ConformanceFinding| format!("{place}: {finding}");
    checked.problems.extend(report.findings.iter().map(problem));
    checked.kinds = report.made.into_iter().map(|made| made.kind).collect();
    checked.kinds.sort();
    checked.kinds.dedup();
    checked.hooks = plugin.about().hooks.into_iter().map(Into::into).collect();
    checked
}

/// In what a program's hello is not what its manifest says.
fn contradictions(plugin: &PluginRef, hello: &PluginInfo) -> Vec<String> {
    let (place, said) = (plugin.place(), plugin.about());
    let mut wrong = Vec::new();
    if hello.name != said.name {
        let (name, folder) = (&hello.name, &said.name);
        wrong.push(format!(
            "{place}: hello: its name is `{name}`; expected `{folder}`, its folder's"
        ));
    }
    if said.digest && !hello.digest {
        wrong.push(format!("{place}: hello: names no feature \"digest\", which `provides` does"));
    }
    let missing = said.hooks.iter().filter(|hook| !hello.hooks.contains(hook));
    wrong.extend(missing.map(|hook| {
        format!("{place}: hello: does not name the hook `{hook}`, which `hooks` does")
    }));
    wrong
}

/// A plugin that said hello.
struct Greeted<'a> {
    hosted: &'a dyn HostedPlugin,
    about: PluginInfo,
}

impl Plugin for Greeted<'_> {
    fn about(&self) -> PluginInfo {
        self.about.clone()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        self.hosted.digest(job)
    }

    fn hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        self.hosted.hook(hook, job, options)
    }
}

fn show(name: &str, checked: &CheckedPlugin, quiet: bool) -> Result<(), CliError> {
    let style = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
    files::to_stdout(|out| {
        let (ok, fail) = (style(AnsiColor::Green), style(AnsiColor::Red));
        for problem in &checked.problems {
            writeln!(out, "{fail}fail{fail:#}  {name:9} {}", on_one_line(problem))?;
        }
        if !checked.problems.is_empty() {
            let newest = checked.log.iter().skip(checked.log.len().saturating_sub(LOG));
            return newest
                .map(|line| on_one_line(line))
                .try_for_each(|line| writeln!(out, "log   {name:9} {line}"));
        }
        if quiet {
            return Ok(());
        }
        let mut does: Vec<_> = checked.hooks.iter().map(|hook| format!("hook {hook}")).collect();
        match &checked.kinds[..] {
            [] if does.is_empty() => does.push("digests none of the sample texts".to_owned()),
            [] => {}
            kinds => does.insert(0, format!("digests {}", kinds.join(", "))),
        }
        writeln!(out, "{ok}ok{ok:#}    {name:9} {}", does.join("; "))
    })
}
