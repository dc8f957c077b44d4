//! `epitome run`: one client, with a proxy of its own before it.
//!
//! Invariant: what is told to the client is told to its process alone, so nothing is left to put
//! back, however it ends. Its address begins with a token that nobody else knows, and without it
//! the proxy answers nobody. The proxy listens before the client starts; the client's exit code is
//! ours.

mod child;
mod clients;
mod closing;
mod codex;
mod opencode;
mod status_line;
mod way;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use epitome::{Config, ProxyConfig};
use epitome_proxy::PathToken;

use crate::fault::{self, CliError};
use crate::proxy::{self, ProxyFlags, StartOverrides};
use crate::serve;
use child::{Child, ClientExit};
pub(crate) use opencode::read as json_with_comments;
use way::{ClientApi, PROXY, Surroundings, Way};

/// The log, in the user's data folder.
const LOG: &str = "run.log";

/// How long what is recorded may take once the client has ended.
const FINISH: Duration = Duration::from_secs(5);

/// The largest file of a client's settings that is read, in bytes.
const MOST: u64 = 4 << 20;

/// Runs one client with the proxy before it: for this process only, nothing is installed
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome run -- claude\n  epitome run --context-size 64000 -- codex exec \
                        'mend the parser'"
)]
pub(crate) struct Args {
    /// The client and its arguments, behind `--`
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<OsString>,
    /// Runs the client without the proxy where that cannot start
    #[arg(long)]
    or_direct: bool,
    /// Leaves out the tools that the client's agent is given: to end a task, to recall, to pin
    #[arg(long)]
    no_mcp: bool,
    /// Leaves the status line of Claude Code as its user set it
    #[arg(long)]
    no_statusline: bool,
    #[command(flatten)]
    proxy: ProxyFlags,
}

/// The machine.
struct LocalMachine {
    folder: PathBuf,
}

impl Surroundings for LocalMachine {
    fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok()
    }

    fn file(&self, path: &Path) -> Option<String> {
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        let bytes = crate::files::read(Some(path), MOST.max(size)).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Runs the verb. What the client ends with is the answer, not a fault.
pub(crate) fn run(args: &Args) -> Result<ClientExit, CliError> {
    let folder = env::current_dir()
        .map_err(|error| CliError::unreadable(format!("the current folder: {error}")))?;
    let machine = LocalMachine { folder };
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<_> = words.iter().map(ToString::to_string).collect();
    // clap asks for one at least.
    let (program, arguments) =
        words.split_first().ok_or_else(|| CliError::usage("no client given"))?;
    if program.starts_with('-') {
        return Err(CliError::usage(unknown(program)));
    }
    match proxied(args, &machine, program, arguments) {
        Ok(ended) => Ok(ended),
        Err(fault) if args.or_direct && !fault.is_of_the_client() => {
            fault::warn(&format!("{}; {program} runs without the proxy", fault.line()));
            direct(args)
        }
        Err(fault) => Err(fault),
    }
}

/// A flag that `run` does not know, where the client should stand.
fn unknown(flag: &str) -> String {
    let known = <Args as clap::Args>::augment_args(clap::Command::new("run"));
    let known = known.get_arguments().filter_map(|flag| flag.get_long());
    let known = known.map(|flag| format!("`--{flag}`")).collect::<Vec<_>>().join(", ");
    format!("`run` has no flag `{flag}`; it has {known}, and the client stands behind `--`")
}

/// Runs the client before a proxy, or past one that would see nothing of it.
fn proxied(
    args: &Args,
    machine: &LocalMachine,
    program: &str,
    arguments: &[String],
) -> Result<ClientExit, CliError> {
    let way = clients::way(program, arguments, machine).map_err(CliError::unreadable)?;
    if let Some(why) = &way.past {
        fault::warn(&format!("{why}: it runs as if `epitome run` were not there"));
        return direct(args);
    }
    let config = args.proxy.config(|sources| sources)?;
    let table = table(&config, &args.proxy, &way);
    let log = config.data().map(|data| data.join(LOG));
    if let Some(log) = &log
        && let Err(error) = proxy::to_file(&args.proxy, log)
    {
        fault::warn(&format!("{}; this run is not logged", error.line()));
    }
    let given = StartOverrides {
        workspace: Some(&machine.folder),
        no_mcp: args.no_mcp,
        store_flag: args.proxy.flag(),
        ..StartOverrides::default()
    };
    let project = table.workspace.as_deref().unwrap_or(&machine.folder);
    let line = || status_line::command(&config, &args.proxy, project);
    let line = (!args.no_statusline).then(line).flatten();
    let shown = way.client_settings(line.as_deref());
    let runtime = proxy::runtime()?;
    let settings = proxy::prepared(&config, &table, &given, runtime.handle());
    let mut settings = settings.map_err(CliError::at_start)?;
    settings.listen.set_port(0);
    settings.ledger.terms.compacts_in = way.compacts_in;
    let token = proxy::drawn().map_err(|error| CliError::internal(error).at_start())?;
    settings.access.path_token = Some(PathToken::new(&token));
    runtime.block_on(async {
        let running = serve::started(settings).await.map_err(CliError::at_start)?;
        let proxy = format!("http://{}/{token}", running.address());
        if !args.proxy.quiet {
            let page = proxy::page_address(&config, running.page_address(), false);
            let page = page.unwrap_or_else(|| format!("{proxy}/status"));
            fault::note(&format!("what it does is shown at {page} while it runs"));
        }
        let here = |text: &str| text.replace(PROXY, &proxy);
        let mut client = Child::of(&args.command);
        let tools = if args.no_mcp { &[][..] } else { &way.mcp };
        let arguments = way.arguments.iter().chain(&shown).chain(tools);
        client.before(arguments.map(|argument| here(argument)));
        client.variables(way.variables.iter().map(|(name, value)| (*name, here(value))));
        let ended = client.run().await;
        let figures = running.figures().snapshot();
        running.stop(FINISH).await;
        if !args.proxy.quiet && ended.is_ok() {
            // A workspace of its own is a project of its own, whatever folder this is.
            let elsewhere = if table.workspace.is_some() { " --everywhere" } else { "" };
            closing::say(&figures, &format!("{}{elsewhere}", args.proxy.flag()));
        }
        ended
    })
}

/// Runs the client as if nothing were there.
fn direct(args: &Args) -> Result<ClientExit, CliError> {
    proxy::runtime()?.block_on(Child::of(&args.command).run())
}

/// Where requests go: where the client sent them until now, unless a flag says otherwise.
fn table(config: &Config, flags: &ProxyFlags, way: &Way) -> ProxyConfig {
    let mut table = config.proxy().clone();
    let keys = [
        (ClientApi::Anthropic, "--anthropic-upstream", &mut table.anthropic_upstream),
        (ClientApi::OpenAi, "--openai-upstream", &mut table.openai_upstream),
        (ClientApi::Ollama, "--ollama-upstream", &mut table.ollama_upstream),
    ];
    for (api, flag, key) in keys {
        if let Some((_, address)) = way.upstreams.get(&api)
            && !flags.upstream(flag)
        {
            key.clone_from(address);
        }
    }
    table
}
