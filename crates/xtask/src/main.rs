//! Chores of the workspace, run as `cargo xtask CHORE`.
//!
//! Invariant: a check only reads; what it finds goes to stderr, one line each, and the exit code
//! says whether it found anything. Called by people, and the checks by `.ci/run`.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

mod answers;
mod chart;
mod figures;
mod light;
mod tidy;
mod train;

const USAGE: &str = "\
usage: cargo xtask tidy    checks what the compiler does not: arrows between crates, sizes, layout,
                           words, links
       cargo xtask light   checks what a host compiles that takes the library without its features
       cargo xtask figures CASES OTHERS [PROGRAM]
                           compares the shipped policies on prepared cases, and writes the tables
                           and the chart of the manual; no weight was chosen on OTHERS
       cargo xtask answers CASES --model ADDRESS [--questions N] [--ratio R] [--window TOKENS]
                           [--kept FILE] [--program EPITOME]
                           asks a model behind llama.cpp's server what prepared cases ask, from whole,
                           compressed and truncated prompts: N questions of chats, and the next
                           calls of a quarter as many agents
       cargo xtask train-brief DATA
                           fits the weights of the brief style to parsed sentences in CoNLL-U";

fn main() -> anyhow::Result<ExitCode> {
    let chores: Vec<String> = env::args().skip(1).collect();
    let mut stderr = io::stderr().lock();
    match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => {}
        ["light"] => {
            let findings = light::run()?;
            findings.iter().try_for_each(|finding| writeln!(stderr, "{finding}"))?;
            return Ok(ExitCode::from(u8::from(!findings.is_empty())));
        }
        ["figures", cases, others] => {
            return figures::run(cases, others, None).map(|()| ExitCode::SUCCESS);
        }
        ["figures", cases, others, program] => {
            return figures::run(cases, others, Some(program)).map(|()| ExitCode::SUCCESS);
        }
        ["train-brief", data] => {
            let report = train::run(data)?;
            report.iter().try_for_each(|line| writeln!(stderr, "{line}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        ["answers", ref arguments @ ..] if !arguments.is_empty() => {
            drop(stderr);
            return answers::run(arguments).map(|()| ExitCode::SUCCESS);
        }
        _ => {
            writeln!(stderr, "{USAGE}")?;
            return Ok(ExitCode::from(2));
        }
    }
    let findings = tidy::run()?;
    for finding in &findings {
        writeln!(stderr, "{finding}")?;
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
