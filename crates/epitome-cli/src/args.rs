//! The verbs, and what becomes of arguments that make none.
//!
//! Invariant: help and version are data and go to standard output; everything else that is wrong
//! with the arguments is one line and exit code 2. Called by `main`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::fault::CliError;
use crate::spoken::Verbosity;
use crate::{
    ab, chat, checkpoint, completions, compress, config, diff, doctor, experiment, files, goal,
    mcp, pin, plugin, policy, recall, replay, run, savings, scan, serve, session, snapshot, status,
    statusline, store_verb, text, top, trust,
};

/// Keeps long conversations with language models inside the context window.
#[derive(Parser)]
#[command(name = "epitome", version, arg_required_else_help = true)]
#[command(
    after_help = "Example:\n  epitome compress --ratio 4 --output smaller.json session.jsonl"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    Run(Box<run::Args>),
    Serve(Box<serve::Args>),
    Mcp(mcp::Args),
    Chat(Box<chat::Args>),
    #[command(visible_alias = "compact")]
    Compress(Box<compress::Args>),
    Replay(Box<replay::Args>),
    Scan(scan::Args),
    #[command(visible_alias = "compare")]
    Ab(Box<ab::Args>),
    Recall(recall::Args),
    Diff(diff::Args),
    Status(status::Args),
    Top(top::Args),
    Savings(savings::Args),
    Experiment(experiment::Args),
    Statusline(statusline::Args),
    Session(session::Args),
    Store(store_verb::Args),
    Snapshot(snapshot::Args),
    Checkpoint(checkpoint::Args),
    Pin(pin::PinArgs),
    Unpin(pin::UnpinArgs),
    Goal(goal::Args),
    Policy(policy::Args),
    Plugin(plugin::Args),
    Trust(trust::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// The command as it is declared, with all of its verbs.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// What the arguments come to.
pub(crate) struct Parsed {
    /// The verb; `None` where they asked for help and got it.
    pub(crate) verb: Option<Verb>,
    /// How much policies say meanwhile.
    pub(crate) verbosity: Verbosity,
}

/// What the arguments of this process come to.
///
/// # Errors
///
/// When they make no sense; the line says why, and what was meant if that is clear.
pub(crate) fn parse() -> Result<Parsed, CliError> {
    let error = match parsed(std::env::args_os()) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let help = error.render();
            files::to_stdout(|out| write!(out, "{}", help.ansi()))?;
            Ok(Parsed { verb: None, verbosity: Verbosity::Usual })
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let road = road(&error.render().to_string());
            Err(CliError::usage(format!("no verb given; `{road} --help` lists them")))
        }
        _ => Err(CliError::usage(one_line(&error.render().to_string()))),
    }
}

fn parsed(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(args)?;
    let verbosity = Verbosity::of(&matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok(Parsed { verb: Some(cli.verb), verbosity })
}

/// The command that help is about: `epitome session`.
fn road(help: &str) -> String {
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("epitome");
    let words = usage.split(' ').take_while(|word| !word.starts_with(['<', '[']));
    words.collect::<Vec<_>>().join(" ")
}

/// What clap says in paragraphs: the complaint, and its tip where there is one.
fn one_line(rendered: &str) -> String {
    let mut paragraphs = rendered.split("\n\n").map(text::on_one_line);
    let complaint = paragraphs.next().unwrap_or_default();
    let complaint = complaint.strip_prefix("error: ").unwrap_or(&complaint);
    match paragraphs.find_map(|line| line.strip_prefix("tip: ").map(str::to_owned)) {
        Some(tip) => format!("{complaint}; {tip}"),
        None => format!("{complaint}; see `epitome --help`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much policies say with these arguments.
    #[track_caller]
    fn check_verbosity(line: &str, expected: Verbosity) {
        let args = line.split(' ').map(OsString::from);
        let found = parsed(args).map_err(|error| error.to_string()).unwrap().verbosity;
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_value_is_no_flag() {
        check_verbosity("epitome recall x", Verbosity::Usual);
        check_verbosity("epitome recall -q x", Verbosity::Quiet);
        check_verbosity("epitome recall --verbose x", Verbosity::Verbose);
        check_verbosity("epitome session list -q", Verbosity::Quiet);
        check_verbosity("epitome recall -requeued", Verbosity::Usual);
        check_verbosity("epitome recall -- -q", Verbosity::Usual);
    }

    #[test]
    fn the_arguments_are_declared_soundly() {
        Cli::command().debug_assert();
    }

    /// What has no verbs of its own shows an example that begins with its own name.
    fn check_example(command: &clap::Command, road: &str) {
        let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        for verb in verbs {
            let road = format!("{road} {}", verb.get_name());
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("Example:\n  {road}")), "{road}: {help}");
            check_example(verb, &road);
        }
    }

    #[test]
    fn every_verb_shows_an_example() {
        check_example(&Cli::command(), "epitome");
    }

    #[test]
    fn help_names_its_command() {
        assert_eq!(road("About\n\nUsage: epitome session <COMMAND>\n\n"), "epitome session");
        assert_eq!(road("Usage: epitome [OPTIONS] <X>"), "epitome");
    }

    #[test]
    fn complaints_are_one_line() {
        let check = |rendered: &str, line: &str| assert_eq!(one_line(rendered), line);
        check("error: no\n\nUsage: epitome", "no; see `epitome --help`");
        check("error: not:\n  <A>\n\n  tip: try\n\nUsage: x", "not: <A>; try");
    }
}
