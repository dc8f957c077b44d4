//! `epitome policy check`: whether policies can be used, with file and line where not.
//!
//! Invariant: a policy that may not run is not run to find out, and no hook is ever run; one line for
//! everything that is wrong, and exit code 6.

use std::path::Path;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use epitome::lua::{self, PolicyMistake};
use epitome::{
    Config, ConfigError, ConfigProblem, Policy, PolicyDeclaration, PolicyRef, TokenCounter,
    VocabularyCounter,
};
use serde::Serialize;

use super::choice::{PolicyArgs, none};
use crate::fault::CliError;
use crate::files;
use crate::journal;
use crate::text::on_one_line;

/// Checks policies: whether they may run, their Lua, hooks and options, and what they extend
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy check ollm")]
pub(crate) struct Args {
    #[command(flatten)]
    choice: PolicyArgs,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// What was found of a policy.
pub(crate) struct CheckedPolicy {
    pub(crate) trusted: bool,
    pub(crate) declared: Option<PolicyDeclaration>,
    pub(crate) problems: Vec<String>,
}

#[derive(Serialize)]
struct PolicyReport<'a> {
    policy: &'a str,
    problems: Vec<String>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let chosen = args.choice.find()?;
    let mut said = Vec::new();
    for policy in &chosen.policies {
        let checked = checked(&chosen.config, policy);
        if !args.json {
            show(policy.name(), &checked, args.quiet)?;
        }
        said.push(PolicyReport { policy: policy.name(), problems: checked.problems });
    }
    if args.json {
        journal::json(&said)?;
    } else if said.is_empty() && !args.quiet {
        none();
    }
    let wrong: Vec<_> = said.iter().filter(|one| !one.problems.is_empty()).collect();
    match &wrong[..] {
        [] => Ok(()),
        [one] => Err(CliError::found(format!("`{}` cannot be used", one.policy))),
        _ => Err(CliError::found(format!("{} policies cannot be used", wrong.len()))),
    }
}

/// What is wrong with a policy, and what it says it is.
pub(crate) fn checked(config: &Config, policy: &PolicyRef) -> CheckedPolicy {
    let mut checked = CheckedPolicy { trusted: true, declared: None, problems: Vec::new() };
    let profile = match config.profile_of_policy(policy.name()) {
        Ok(profile) => profile,
        Err(error) => {
            checked.problems = problems(error);
            return checked;
        }
    };
    if let Some(refusal) = profile.refusal(policy) {
        checked.trusted = false;
        checked.problems.push(refusal.to_string());
        return checked;
    }
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    let mut options = None;
    match profile.load(&counter) {
        Ok(loaded) => {
            let own = loaded.lua().find(|one| one.name() == policy.name());
            let current = own.map(|one| one.current().0);
            checked.declared = current.as_ref().map(|one| one.declared().clone());
            options = current.map(|one| one.options().clone());
            checked.problems.extend(loaded.left_out().iter().map(ToString::to_string));
            // Another one of its name answers, which makes this one no better.
            let folder = policy.folder().map(|folder| folder.display().to_string());
            let own =
                |one: &&ConfigProblem| folder.as_ref().is_some_and(|it| one.place.starts_with(it));
            let passed = loaded.passed_over().iter().filter(own);
            checked.problems.extend(passed.map(ToString::to_string));
        }
        Err(error) => checked.problems = problems(error),
    }
    let mistakes = lua::examine(policy.found(), options.as_ref());
    let own: Vec<String> = mistakes.iter().map(|one| placed(policy, one)).collect();
    // What keeps a policy from being loaded is often one of them.
    checked
        .problems
        .retain(|problem| !mistakes.iter().zip(&own).any(|(it, said)| is_said(problem, it, said)));
    checked.problems.splice(0..0, own);
    checked
}

/// A mistake with the whole path of its file.
fn placed(policy: &PolicyRef, mistake: &PolicyMistake) -> String {
    let Some(folder) = policy.folder() else { return mistake.to_string() };
    // A library stands beside the policy.
    let is_own = folder.join(&mistake.file).is_file();
    let above = if is_own {
        Some(folder)
    } else {
        folder.parent().filter(|above| above.join(&mistake.file).is_file())
    };
    let file = above.unwrap_or(Path::new("")).join(&mistake.file);
    format!("{}:{}: {}", file.display(), mistake.line, mistake.what)
}

/// Whether a mistake says what keeps a policy from being loaded: of the same line, or the same where
/// no line is known.
fn is_said(problem: &str, mistake: &PolicyMistake, said: &str) -> bool {
    let line = said.strip_suffix(&mistake.what).unwrap_or(said);
    let reason = mistake.what.rsplit("`: ").next().unwrap_or(&mistake.what);
    problem.starts_with(line) || (problem.contains("policy.lua: ") && problem.ends_with(reason))
}

/// Everything that an error names.
fn problems(error: ConfigError) -> Vec<String> {
    match error {
        ConfigError::Invalid(problems) => problems.iter().map(ToString::to_string).collect(),
        error => vec![error.to_string()],
    }
}

fn show(name: &str, checked: &CheckedPolicy, quiet: bool) -> Result<(), CliError> {
    let style = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
    files::to_stdout(|out| {
        let (ok, fail) = (style(AnsiColor::Green), style(AnsiColor::Red));
        for problem in &checked.problems {
            writeln!(out, "{fail}fail{fail:#}  {name:9} {}", on_one_line(problem))?;
        }
        match &checked.declared {
            Some(declared) if checked.problems.is_empty() && !quiet => {
                let hooks = match &declared.hooks[..] {
                    [] => "no hooks".to_owned(),
                    hooks => hooks.join(", "),
                };
                writeln!(out, "{ok}ok{ok:#}    {name:9} {hooks}")
            }
            _ => Ok(()),
        }
    })
}
