//! The verbs, and what becomes of arguments that make none.
//!
//! Invariant: help and version are data and go to standard output; everything else that is wrong
//! with the arguments is one line and exit code 2. Called by `main`.

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::fault::Fault;
use crate::{
    ab, chat, completions, compress, config, diff, doctor, files, goal, mcp, pin, plugin, policy,
    recall, replay, run, scan, serve, session, snapshot, status, text, trust,
};

/// Keeps long conversations with language models inside the context window.
#[derive(Parser)]
#[command(name = "epitome", version, arg_required_else_help = true)]
#[command(
    after_help = "Example:\n  epitome compress --ratio 4 --output smaller.json session.jsonl"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    Run(Box<run::Args>),
    Serve(Box<serve::Args>),
    Mcp(mcp::Args),
    Chat(Box<chat::Args>),
    Compress(Box<compress::Args>),
    Replay(Box<replay::Args>),
    Scan(scan::Args),
    Ab(Box<ab::Args>),
    Recall(recall::Args),
    Diff(diff::Args),
    Status(status::Args),
    Session(session::Args),
    Snapshot(snapshot::Args),
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

/// The verb that the arguments name; `None` where they asked for help and got it.
///
/// # Errors
///
/// When they make no sense; the line says why, and what was meant if that is clear.
pub(crate) fn parse() -> Result<Option<Verb>, Fault> {
    let error = match Cli::try_parse() {
        Ok(cli) => return Ok(Some(cli.verb)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let help = error.render();
            files::to_stdout(|out| write!(out, "{}", help.ansi()))?;
            Ok(None)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let road = road(&error.render().to_string());
            Err(Fault::usage(format!("no verb given; `{road} --help` lists them")))
        }
        _ => Err(Fault::usage(one_line(&error.render().to_string()))),
    }
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
    use clap::CommandFactory;

    use super::*;

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
