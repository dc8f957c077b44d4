//! The command `epitome`: arguments to calls, answers to output and exit codes.
//!
//! Invariant: it decides nothing about conversations; data goes to standard output, text for
//! people to standard error, and every fault is one line and an exit code.

mod ab;
mod args;
mod arm_table;
mod bar;
mod cassette;
mod catch_up;
mod chat;
mod checkpoint;
mod clock;
mod columns;
mod completions;
mod compress;
mod compression_table;
mod config;
mod diff;
mod doctor;
mod events;
mod experiment;
mod fault;
mod figure;
mod files;
mod flags;
mod goal;
mod hints;
mod journal;
mod lazy_store;
mod lost;
mod mcp;
mod outputs;
mod pin;
mod plan;
mod plugin;
mod policy;
mod proxy;
mod recall;
mod recording;
mod replay;
mod report;
mod run;
mod savings;
mod scan;
mod screen;
mod serve;
mod session;
mod settings;
mod shell;
mod snapshot;
mod spoken;
mod status;
mod statusline;
mod store;
mod store_key;
mod store_verb;
mod stores;
mod table;
mod text;
mod top;
mod trust;

use std::process::ExitCode;

use args::Verb;
use spoken::Verbosity;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let parsed = args::parse().inspect(|parsed| {
        if parsed.verbosity == Verbosity::Quiet {
            fault::be_quiet();
        }
        // Those log in their own way.
        if !matches!(parsed.verb, Some(Verb::Run(_) | Verb::Serve(_))) {
            spoken::begin(parsed.verbosity);
        }
    });
    let done = parsed.and_then(|parsed| match parsed.verb {
        Some(Verb::Run(args)) => run::run(&args).map(|ended| code = ended.into()),
        Some(Verb::Serve(args)) => serve::run(&args),
        Some(Verb::Mcp(args)) => mcp::run(&args),
        Some(Verb::Chat(args)) => chat::run(&args).map(|ended| code = ended),
        Some(Verb::Compress(args)) => compress::run(&args),
        Some(Verb::Replay(args)) => replay::run(&args),
        Some(Verb::Scan(args)) => scan::run(&args),
        Some(Verb::Ab(args)) => ab::run(&args),
        Some(Verb::Recall(args)) => recall::run(&args),
        Some(Verb::Diff(args)) => diff::run(&args),
        Some(Verb::Status(args)) => status::run(&args),
        Some(Verb::Savings(args)) => savings::run(&args),
        Some(Verb::Experiment(args)) => experiment::run(&args),
        Some(Verb::Statusline(args)) => statusline::run(args),
        Some(Verb::Top(args)) => top::run(&args),
        Some(Verb::Session(args)) => session::run(&args),
        Some(Verb::Store(args)) => store_verb::run(&args),
        Some(Verb::Snapshot(args)) => snapshot::run(&args),
        Some(Verb::Checkpoint(args)) => checkpoint::run(&args),
        Some(Verb::Pin(args)) => pin::pin(&args),
        Some(Verb::Unpin(args)) => pin::unpin(&args),
        Some(Verb::Goal(args)) => goal::run(&args),
        Some(Verb::Policy(args)) => policy::run(&args),
        Some(Verb::Plugin(args)) => plugin::run(&args),
        Some(Verb::Trust(args)) => trust::run(&args),
        Some(Verb::Config(args)) => config::run(&args),
        Some(Verb::Doctor(args)) => doctor::run(&args),
        Some(Verb::Completions(args)) => completions::run(&args, args::command()),
        None => Ok(()),
    });
    match done {
        Ok(()) => code,
        Err(fault) => fault.report(),
    }
}
