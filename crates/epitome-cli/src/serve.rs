//! `epitome serve`: the proxy, until it is stopped.
//!
//! Invariant: its address goes to standard output once it listens, everything else to standard
//! error. Asked to stop it finishes what runs; asked again it ends at once.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process;

use epitome::{Config, ProxyConfig};
use epitome_proxy::{AccessToken, Proxy, ProxyError, ProxySettings, RunningProxy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault::{self, CliError};
use crate::proxy::{self, FINISH, ProxyFlags, StartOverrides};
use crate::{files, settings};

/// The largest file of tokens that is read, in bytes.
const MOST: u64 = 1 << 20;

/// How the process ends that is asked a second time, as shells say it of an interrupt.
const INTERRUPTED: i32 = 130;

/// Runs the proxy until it is stopped, with a page that shows what it does
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome serve --listen 127.0.0.1:8787\n\nThen, for each client:\n  \
                  ANTHROPIC_BASE_URL=http://127.0.0.1:8787/to/anthropic claude"
)]
pub(crate) struct Args {
    /// Where it listens; port 0 takes a free one [default: as configured, or 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The tokens that clients show where others can reach the address, one a line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    proxy: ProxyFlags,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.proxy.config(|sources| {
        let sources = match &args.listen {
            Some(listen) => sources.flag("--listen", "proxy.listen", listen.as_str()),
            None => sources,
        };
        settings::path(sources, "--token-file", "proxy.token_file", args.token_file.as_deref())
    })?;
    let table = config.proxy();
    proxy::to_stderr(&args.proxy);
    raise_open_files();
    let runtime = proxy::runtime()?;
    let mut settings = proxy::prepared(
        &config,
        table,
        &StartOverrides {
            goes_on: true,
            tokens: tokens_of(table)?,
            store_flag: args.proxy.flag(),
            ..StartOverrides::default()
        },
        runtime.handle(),
    )?;
    settings.listen = listen(&config)?;
    let upstreams = settings.upstreams.clone();
    runtime.block_on(async {
        let mut asked = asked().map_err(CliError::internal)?;
        let running = started(settings).await?;
        let address = running.address();
        files::line_to_stdout(&format!("http://{address}\n"))
            .map_err(|error| CliError::usage(format!("standard output: {error}")))?;
        if !args.proxy.quiet {
            let to = [
                ("anthropic", &upstreams.anthropic),
                ("openai", &upstreams.openai),
                ("ollama", &upstreams.ollama),
            ];
            let to: Vec<_> = to
                .into_iter()
                .filter_map(|(api, url)| Some(format!("{api} to {}", url.as_ref()?)))
                .collect();
            fault::note(&format!("requests go on: {}", to.join(", ")));
            let page = proxy::page_address(&config, address, table.token_file.is_some());
            let page = page.unwrap_or_else(|| format!("http://{address}/status"));
            fault::note(&format!(
                "point a client at it: ANTHROPIC_BASE_URL=http://{address}/to/anthropic, \
                 OPENAI_BASE_URL=http://{address}/to/openai/v1, \
                 OLLAMA_HOST=http://{address}/to/ollama; what it does is shown at {page}"
            ));
        }
        until_asked(&mut asked).await;
        if !args.proxy.quiet {
            fault::note("finishing what runs; once more to end at once");
        }
        tokio::select! {
            () = running.stop(FINISH) => {}
            () = until_asked(&mut asked) => process::exit(INTERRUPTED),
        }
        Ok(())
    })
}

/// Lets the process open as many files as it may: each request takes two connections. Where that
/// is not allowed, fewer requests are served at once.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if let Err(error) = raised {
        tracing::debug!(%error, "the number of open files stays as it is");
    }
}

/// Starts it, or says why not.
pub(crate) async fn started(settings: ProxySettings) -> Result<RunningProxy, CliError> {
    Proxy::bind(settings).await.map_err(|error| match error {
        ProxyError::Open { .. } | ProxyError::NoUpstream | ProxyError::Dump { .. } => {
            CliError::usage(error)
        }
        _ => CliError::unavailable(error),
    })
}

/// The signals that ask a process to end.
fn asked() -> io::Result<[Signal; 3]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ])
}

async fn until_asked([interrupt, terminate, hangup]: &mut [Signal; 3]) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// The address that it listens on.
pub(crate) fn listen(config: &Config) -> Result<SocketAddr, CliError> {
    let listen = &config.proxy().listen;
    listen.parse().map_err(|_| {
        let place = settings::place(config, "proxy.listen");
        let line =
            format!("{place}: `{listen}` is no address; expected something like 127.0.0.1:8787");
        match place.starts_with("--") {
            true => CliError::usage(line),
            false => CliError::unreadable(line),
        }
    })
}

fn tokens_of(table: &ProxyConfig) -> Result<Option<Vec<AccessToken>>, CliError> {
    table.token_file.as_deref().map(tokens).transpose()
}

fn tokens(path: &Path) -> Result<Vec<AccessToken>, CliError> {
    let name = path.display();
    let text = String::from_utf8(files::read(Some(path), MOST)?)
        .map_err(|_| CliError::unreadable(format!("{name}: is no text in UTF-8")))?;
    let tokens = AccessToken::read(&text)
        .map_err(|error| CliError::unreadable(format!("{name}: {error}")))?;
    match tokens.is_empty() {
        true => Err(CliError::unreadable(format!("{name}: holds no token; expected one a line"))),
        false => Ok(tokens),
    }
}
