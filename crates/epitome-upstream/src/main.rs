//! The scripted provider as a program, for shells and other languages.
//!
//! Invariant: it prints its address once it listens, and nothing else. Started by the scripts in
//! `tests/clients` and by hand.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use epitome_upstream::{Script, Upstream};

/// A scripted provider: Anthropic Messages, OpenAI Chat and Responses, Ollama.
///
/// `POST /__script` gives it another script, `GET /__log` reads what arrived as JSON lines,
/// `DELETE /__log` forgets it.
#[derive(Parser)]
#[command(after_help = "Example:\n  epitome-upstream --listen 127.0.0.1:9911 --script \
    '{\"turns\":[{\"calls\":[{\"name\":\"Read\",\"input\":{\"file_path\":\"a.txt\"}}]}],\"repeat\":3}'")]
struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The script, as JSON.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    script: String,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            drop(writeln!(io::stderr(), "epitome-upstream: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    let script: Script = serde_json::from_str(&args.script)?;
    let upstream = Upstream::start_at(args.listen, script)?;
    let mut out = io::stdout();
    writeln!(out, "{}", upstream.url())?;
    out.flush()?;
    upstream.wait();
    Ok(())
}
