//! The command `epitome`: arguments to calls, answers to output and exit codes.
//!
//! Invariant: it decides nothing about conversations; data goes to standard output, text for
//! people to standard error, and every fault is one line and an exit code.

mod args;
mod bar;
mod clock;
mod completions;
mod compress;
mod fault;
mod files;
mod flags;
mod late;
mod plan;
mod recall;
mod report;
mod text;

use std::process::ExitCode;

use args::Verb;

fn main() -> ExitCode {
    let done = args::parse().and_then(|verb| match verb {
        Some(Verb::Compress(args)) => compress::run(&args),
        Some(Verb::Recall(args)) => recall::run(&args),
        Some(Verb::Completions(args)) => completions::run(&args),
        None => Ok(()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fault.report(),
    }
}
