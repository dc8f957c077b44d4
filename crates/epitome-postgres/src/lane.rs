//! A connection, and how it is made again.
//!
//! Invariant: a lane waits for a server that is being started again, but never longer than it is given;
//! nothing that changes something is sent twice by it. Used by one thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use epitome_kernel::StoreError;
use epitome_store::UNREACHABLE;
use postgres::error::SqlState;
use postgres::{Client, NoTls, config::SslMode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{PostgresAddress, told};
use crate::connection::Connection;
use crate::deadline::Deadline;

/// How long is waited before the first further try; twice as long before each one behind it.
const PAUSE: Duration = Duration::from_millis(40);

/// The connections of all lanes that nobody uses at the moment.
pub(crate) type IdleConnections = Arc<Mutex<Vec<Connection>>>;

/// A connection to a server: one that another lane left, or a new one where there is none.
pub(crate) struct Lane {
    address: PostgresAddress,
    idle: IdleConnections,
    connection: Option<Connection>,
}

/// Why a call came to nothing.
pub(crate) enum LaneError {
    /// The connection was lost, or none could be made: nothing is known of what was sent.
    Lost(String),
    /// The server refused.
    Refused(String),
}

impl Lane {
    pub(crate) fn new(address: PostgresAddress, idle: IdleConnections) -> Self {
        Self { address, idle, connection: None }
    }

    /// Leaves the connection to whichever lane is next: a server may have no place for one of each.
    pub(crate) fn rest(&mut self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.connection.take());
    }

    /// A connection that was left, and is still open.
    fn left(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.client.is_closed());
        idle.pop()
    }

    /// Does something once, over a connection that is there by then.
    pub(crate) fn once<T>(
        &mut self,
        until: Deadline,
        work: impl FnOnce(&mut Connection) -> Result<T, postgres::Error>,
    ) -> Result<T, LaneError> {
        let connection = self.connected(until)?;
        let done = work(connection);
        let is_lost = connection.client.is_closed();
        done.map_err(|error| {
            let is_lost = is_lost || is_passing(&error);
            if is_lost {
                self.connection = None;
            }
            let what = told(&error);
            if is_lost { LaneError::Lost(what) } else { LaneError::Refused(granted(what, &error)) }
        })
    }

    /// Does what may be done twice, again where the connection is lost meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`]: `what` is not possible where the server refuses; or it is not there in time.
    pub(crate) fn again<T>(
        &mut self,
        until: Deadline,
        what: &'static str,
        mut work: impl FnMut(&mut Connection) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        let mut pause = PAUSE;
        loop {
            let was_there = self.connection.is_some();
            match self.once(until, &mut work) {
                // One that was there may have ended long ago, while nothing was asked.
                Err(LaneError::Lost(_)) if was_there => continue,
                Err(LaneError::Lost(_)) if until.leaves(pause) => sleep(pause),
                done => return done.map_err(|error| self.broken(what, error)),
            }
            pause *= 2;
        }
    }

    /// What the store says of a failure: `what` where the server refused.
    pub(crate) fn broken(&self, what: &'static str, error: LaneError) -> StoreError {
        let (what, cause) = match error {
            LaneError::Lost(cause) => (UNREACHABLE, cause),
            LaneError::Refused(cause) => (what, cause),
        };
        StoreError::Broken { path: self.address.to_string(), what, cause }
    }

    /// The connection; a new one where there is none, or where the last one ended.
    fn connected(&mut self, until: Deadline) -> Result<&mut Connection, LaneError> {
        let mut pause = PAUSE;
        let open = self.connection.take().filter(|connection| !connection.client.is_closed());
        let mut open = open.or_else(|| self.left());
        let connection = loop {
            if let Some(connection) = open {
                break connection;
            }
            match connect(&self.address) {
                Ok(client) => break Connection::new(client),
                Err(LaneError::Lost(_)) if until.leaves(pause) => sleep(pause),
                Err(error) => return Err(error),
            }
            pause *= 2;
            // Where the server has no place for one more, another lane is done with its own soon.
            open = self.left();
        };
        Ok(self.connection.insert(connection))
    }
}

/// Whether a server says that it is not there for a while: it is being stopped or started, or has no
/// place for another connection.
fn is_passing(error: &postgres::Error) -> bool {
    match error.code() {
        None => true,
        Some(code) => {
            let passing = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::T_R_DEADLOCK_DETECTED,
            ];
            passing.contains(code) || code.code().starts_with("08")
        }
    }
}

fn connect(address: &PostgresAddress) -> Result<Client, LaneError> {
    let config = address.config();
    let made = match config.get_ssl_mode() {
        SslMode::Disable => config.connect(NoTls),
        _ => config.connect(MakeRustlsConnect::new(tls(address).map_err(LaneError::Refused)?)),
    };
    made.map_err(|error| {
        let is_lost = is_passing(&error) && !is_tls(&error);
        let what = told(&error);
        if is_lost { LaneError::Lost(what) } else { LaneError::Refused(advised(what, &error)) }
    })
}

/// What a role lacks that may not do something, and who gives it.
fn granted(what: String, error: &postgres::Error) -> String {
    if error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return what;
    }
    if what.contains("row-level security") {
        return format!("{what}; it belongs to another team: name one of your own as `tenant`");
    }
    let lacks = match what.split_once(" table ").map(|(_, table)| table) {
        Some("epitome_schema") => "SELECT ON epitome_schema".to_owned(),
        Some(table) => format!("SELECT, INSERT, UPDATE, DELETE ON {table}"),
        None => match what.split_once(" sequence ") {
            Some((_, sequence)) => format!("USAGE ON SEQUENCE {sequence}"),
            None => return what,
        },
    };
    format!("{what}; the owner of the tables allows it with `GRANT {lacks} TO ROLE`")
}

/// Whether it is the certificate that is not taken.
fn is_tls(error: &postgres::Error) -> bool {
    told(error).contains("certificate")
}

fn advised(what: String, error: &postgres::Error) -> String {
    match is_tls(error) {
        true => format!(
            "{what}; name the file of its authority with `?sslrootcert=FILE`, or go without \
             encryption with `?sslmode=disable`"
        ),
        false => what,
    }
}

/// Encryption by the authorities of this machine, and by those that the address names.
fn tls(address: &PostgresAddress) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match address.roots() {
        Some(file) => {
            let shown = file.display();
            let read = CertificateDer::pem_file_iter(file);
            let read = read.map_err(|error| format!("`sslrootcert` {shown}: {error}"))?;
            for certificate in read {
                let certificate =
                    certificate.map_err(|error| format!("`sslrootcert` {shown}: {error}"))?;
                roots
                    .add(certificate)
                    .map_err(|error| format!("`sslrootcert` {shown}: {error}"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = rustls::crypto::ring::default_provider().into();
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
