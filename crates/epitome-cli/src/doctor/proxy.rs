//! Checks of where requests go: upstreams that cannot be reached, and addresses that clients were
//! told once and where nobody listens any longer.
//!
//! Invariant: nothing but a connection is tried, and only to addresses that the user set.

use std::env;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use epitome::{Config, ConfigSources};
use epitome_proxy::UpstreamUrl;
use serde_json::Value;

use super::{DoctorFinding, Patient};
use crate::{files, serve};

/// How long an upstream may take to be reached.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a port of this machine may take to answer.
const NEAR: Duration = Duration::from_millis(500);

/// The largest file of a client's settings that is read, in bytes.
const MOST: u64 = 4 << 20;

/// Variables that tell clients where to send requests.
const VARIABLES: [&str; 6] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_BASE",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OLLAMA_HOST",
    "OLLAMA_API_BASE",
];

/// Keys of clients' settings that tell the same.
const KEYS: [&str; 7] = [
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "baseURL",
    "baseUrl",
    "base_url",
    "openai_base_url",
    "api_base",
];

/// Settings of clients, in the user's folder and in that of a project.
const OWN: [&str; 5] = [
    ".claude/settings.json",
    ".codex/config.toml",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".qwen/settings.json",
];
const OF_PROJECT: [&str; 5] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    "opencode.json",
    "opencode.jsonc",
];

/// Whether the proxy can listen where it is told to.
pub(super) fn address(patient: &Patient) -> Vec<DoctorFinding> {
    let Err(error) = serve::listen(&patient.config) else { return Vec::new() };
    let remedy = "correct it in your epitome.toml, or take it out";
    vec![DoctorFinding::fail("config", error.line(), remedy)]
}

/// Whether the upstreams that the user named can be reached.
pub(super) fn upstreams(patient: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "upstream";
    let Ok(usual) = Config::load(ConfigSources::default()) else { return Vec::new() };
    let (usual, table) = (usual.proxy(), patient.config.proxy());
    let keys = [
        ("anthropic_upstream", &table.anthropic_upstream, &usual.anthropic_upstream),
        ("openai_upstream", &table.openai_upstream, &usual.openai_upstream),
        ("ollama_upstream", &table.ollama_upstream, &usual.ollama_upstream),
    ];
    let of = |(key, address, usual): (&str, &String, &String)| {
        let what = format!("proxy.{key}, {address},");
        if address == usual || address.is_empty() {
            return None;
        }
        if let Err(error) = address.parse::<UpstreamUrl>() {
            let remedy = "correct it in your epitome.toml, or take it out";
            return Some(DoctorFinding::fail(ABOUT, format!("proxy.{key}: {error}"), remedy));
        }
        Some(match reached(address) {
            Ok(()) => DoctorFinding::ok(ABOUT, format!("{what} can be reached")),
            Err(why) => {
                let remedy =
                    "start what listens there, or correct the address in your epitome.toml";
                DoctorFinding::fail(ABOUT, format!("{what} cannot be reached: {why}"), remedy)
            }
        })
    };
    keys.into_iter().filter_map(of).collect()
}

/// Whether clients were told to send requests to a port of this machine where nobody listens.
pub(super) fn stale(_: &Patient) -> Vec<DoctorFinding> {
    const ABOUT: &str = "client";
    let set = VARIABLES.iter().filter_map(|name| {
        let remedy = format!("unset {name}, or run the client with `epitome run -- CMD`");
        Some((format!("the variable {name}"), env::var(name).ok()?, remedy))
    });
    let home = env::var_os("HOME").map(PathBuf::from);
    let own = OWN.iter().filter_map(|file| Some(home.as_ref()?.join(file)));
    let files: Vec<_> = own.chain(OF_PROJECT.iter().map(PathBuf::from)).collect();
    let written = files.iter().flat_map(|file| {
        let name = file.display().to_string();
        addresses(file).into_iter().map(move |(key, address)| {
            (format!("{key} in {name}"), address, format!("take {key} out of {name}"))
        })
    });
    let dead = set.chain(written).filter_map(|(place, address, remedy)| {
        let port = near(&address)?;
        let answers = TcpStream::connect_timeout(&port, NEAR).is_ok();
        let found = format!("{place} sends requests to {address}, where nobody listens");
        (!answers).then(|| DoctorFinding::fail(ABOUT, found, remedy))
    });
    dead.collect()
}

/// The addresses that a file of settings says, with their keys.
fn addresses(path: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if !path.is_file() {
        return found;
    }
    let bytes = files::read(Some(path), MOST).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    // A file that cannot be read as what it is called is its client's affair.
    let settings = match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => toml::from_str(&text).ok(),
        _ => crate::run::json_with_comments(&text).ok(),
    };
    collect(&settings.unwrap_or_default(), &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str() {
                    Some(text) if KEYS.contains(&&**key) => {
                        found.push((key.clone(), text.to_owned()))
                    }
                    _ => collect(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

/// The port of this machine that an address names; of another machine none.
fn near(address: &str) -> Option<SocketAddr> {
    let (host, port) = host_and_port(address)?;
    let ip = match host {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        _ => host.trim_matches(['[', ']']).parse().ok()?,
    };
    ip.is_loopback().then(|| SocketAddr::new(ip, port))
}

/// Whether somebody listens at an address.
fn reached(address: &str) -> Result<(), String> {
    let (host, port) = host_and_port(address).ok_or("it names no host")?;
    let host = host.trim_matches(['[', ']']).to_owned();
    let (tell, told) = mpsc::channel();
    // Looking a name up has no limit of its own; a thread that hangs in it ends with the program.
    thread::spawn(move || {
        let found = (host, port).to_socket_addrs().and_then(|mut all| {
            let Some(first) = all.next() else { return Err(std::io::ErrorKind::NotFound.into()) };
            TcpStream::connect_timeout(&first, PATIENCE).map(drop)
        });
        drop(tell.send(found));
    });
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(files::cause(&error)),
        Err(_) => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
    }
}

fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = address.trim().split_once("://").unwrap_or(("", address.trim()));
    let host = rest.split(['/', '?']).next()?;
    let usual = match scheme {
        "https" => 443,
        "http" => 80,
        _ => 11434,
    };
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() => Some((name, port.parse().ok()?)),
        _ => Some((host, usual)).filter(|(host, _)| !host.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_of_this_machine_are_near() {
        let check = |address: &str, port: Option<&str>| {
            assert_eq!(near(address).map(|port| port.to_string()).as_deref(), port, "{address}");
        };
        check("http://127.0.0.1:8787", Some("127.0.0.1:8787"));
        check("http://localhost:8787/v1", Some("127.0.0.1:8787"));
        check("http://[::1]:9/", Some("[::1]:9"));
        check("127.0.0.1:11434", Some("127.0.0.1:11434"));
        check("http://127.0.0.1", Some("127.0.0.1:80"));
        check("https://api.example.com", None);
        check("http://192.0.2.1:80", None);
        check("", None);
    }

    #[test]
    fn addresses_are_found_wherever_they_stand() {
        let settings = serde_json::json!({"env": {"ANTHROPIC_BASE_URL": "a", "OTHER": "x"},
            "provider": {"p": {"options": {"baseURL": "b"}}}, "list": [{"base_url": "c"}]});
        let mut found = Vec::new();
        collect(&settings, &mut found);
        let mut found: Vec<_> = found.into_iter().map(|(_, address)| address).collect();
        found.sort();
        assert_eq!(found, ["a", "b", "c"]);
    }
}
