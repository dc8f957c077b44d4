//! Where a server is, as a URL says it.
//!
//! Invariant: a password is never shown. Pure, but for the file of certificates that it may name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::Config;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a server may leave what was sent unacknowledged.
const SILENCE: Duration = Duration::from_secs(8);

/// After so long without a word the network is asked whether the server is there; so often, so far apart.
const QUIET: Duration = Duration::from_secs(5);
const PROBE: Duration = Duration::from_secs(1);
const PROBES: u32 = 3;

/// The address of a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require`.
#[derive(Clone)]
pub struct PostgresAddress {
    config: Config,
    /// The authorities that a server's certificate may be from, beside those of the machine.
    roots: Option<PathBuf>,
    shown: String,
}

/// Why a URL is none of a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{shown}` is no address of a database: {cause}; expected \
     `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `?sslmode=require` or \
     `?sslrootcert=FILE` behind it where needed"
)]
pub struct AddressError {
    /// The URL, without its password.
    pub shown: String,
    /// What is wrong with it.
    pub cause: String,
}

impl PostgresAddress {
    /// Whether a text is the URL of a database, well or ill: one that lacks a slash is no path.
    pub fn is_one(text: &str) -> bool {
        let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        scheme.is_some_and(|scheme| scheme == "postgres" || scheme == "postgresql")
    }

    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// [`AddressError`] where it is none, or names something that is not known.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let shown = shown(url);
        let fault = |cause: String| AddressError { shown: shown.clone(), cause };
        if !Self::is_one(url) || !url.contains("://") {
            return Err(fault("it does not begin with `postgres://`".to_owned()));
        }
        let (url, roots) = without_own(url);
        let mut config: Config =
            url.parse().map_err(|error: postgres::Error| fault(told(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(fault("it names no host".to_owned()));
        }
        if config.get_application_name().is_none() {
            config.application_name("epitome");
        }
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE);
        // A server that is gone once it has taken a statement would be waited for, for two hours else.
        config.keepalives_idle(QUIET).keepalives_interval(PROBE).keepalives_retries(PROBES);
        Ok(Self { config, roots, shown })
    }

    /// How connections are made.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The file of authorities, where one is named.
    pub(crate) fn roots(&self) -> Option<&Path> {
        self.roots.as_deref()
    }
}

/// Without its password.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({})", self.shown)
    }
}

/// What a failure says, with its cause.
pub(crate) fn told(error: &postgres::Error) -> String {
    if let Some(of_server) = error.as_db_error() {
        let hint = of_server.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        return format!("{}{hint}", of_server.message());
    }
    let mut told = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !told.contains(&more) {
            told = format!("{told}: {more}");
        }
        cause = error.source();
    }
    told
}

/// A URL as it may be shown: whatever stands between the user's name and the host is left out, and what
/// is behind a question mark with it.
fn shown(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        // Where its parts begin is anybody's guess, so all that may be a password is left out.
        let (scheme, rest) = url.split_once(':').unwrap_or_default();
        let slash = if rest.starts_with('/') { "/" } else { "" };
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        return format!("{scheme}:{slash}{}", place.trim_start_matches('/'));
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

/// A URL without what only we read of it: the file of authorities. The modes that verify a certificate
/// become the one that asks for one, since it is always verified.
fn without_own(url: &str) -> (String, Option<PathBuf>) {
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (mut roots, mut kept) = (None, Vec::new());
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", file)) => roots = Some(PathBuf::from(decoded(file))),
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(pair),
        }
    }
    match kept.is_empty() {
        true => (place.to_owned(), roots),
        false => (format!("{place}?{}", kept.join("&")), roots),
    }
}

/// A text whose bytes may be written as `%2F`.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let check = |url: &str, expected: &str| {
            assert_eq!(shown(url), expected);
            if let Ok(address) = PostgresAddress::parse(url) {
                assert_eq!(
                    (address.to_string(), format!("{address:?}").contains("secret")),
                    (expected.to_owned(), false)
                );
            }
        };
        check("postgres://team:secret@db.example/notes", "postgres://team@db.example/notes");
        check("postgres://team:se@cret@db/notes?password=secret", "postgres://team@db/notes");
        check("postgresql://db:5433/notes", "postgresql://db:5433/notes");
        check("postgres://db", "postgres://db");
        check("postgres:/team:secret@db/notes?a=secret", "postgres:/db/notes");
        check("postgres:team:secret@db", "postgres:db");
        check("postgres:/notes", "postgres:/notes");
    }

    #[test]
    fn addresses_that_are_none() {
        let check = |url: &str, expected: &str| {
            let error = PostgresAddress::parse(url).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        };
        check("mysql://team:secret@db/notes", "does not begin with `postgres://`");
        check("postgres:///notes", "names no host");
        check("postgres:/team:secret@db/notes", "does not begin with `postgres://`");
        check("postgresql:notes", "does not begin with `postgres://`");
        check("postgres://db/notes?sslmod=require", "sslmod");
        check("postgres://team:secret@db:port/notes", "is no address of a database");
    }

    #[test]
    fn what_only_we_read_is_taken_out() {
        let check = |url: &str, expected: &str, roots: Option<&str>| {
            assert_eq!(without_own(url), (expected.to_owned(), roots.map(PathBuf::from)));
        };
        check("postgres://db/n", "postgres://db/n", None);
        check("postgres://db/n?sslmode=verify-full", "postgres://db/n?sslmode=require", None);
        check("postgres://db/n?sslrootcert=%2Fca%20s.pem", "postgres://db/n", Some("/ca s.pem"));
        check("postgres://db/n?a=b&sslrootcert=c&d=e", "postgres://db/n?a=b&d=e", Some("c"));
    }
}
