//! Chores of the workspace, run as `cargo xtask CHORE`.
//!
//! Invariant: a chore only reads; what it finds goes to stderr, one line each, and the exit code
//! says whether it found anything. Called by people and by `.ci/run`.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

mod tidy;

const USAGE: &str = "usage: cargo xtask tidy    checks what the compiler does not: arrows between \
                     crates, sizes, layout, words, links";

fn main() -> anyhow::Result<ExitCode> {
    let chores: Vec<String> = env::args().skip(1).collect();
    let mut stderr = io::stderr().lock();
    if chores != ["tidy"] {
        writeln!(stderr, "{USAGE}")?;
        return Ok(ExitCode::from(2));
    }
    let findings = tidy::run()?;
    for finding in &findings {
        writeln!(stderr, "{finding}")?;
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
