//! The records of conversations in PostgreSQL: one journal for any number of processes and machines.
//!
//! [`PostgresLog`] fills the port of a store, [`RecordLog`](epitome_store::RecordLog); what records mean
//! is [`RecordStore`]'s, as over any other log. Every statement names its scope, and no state is kept in
//! a connection, so a pooler may stand before the server.
//!
//! Invariant: what a call says it wrote is committed. An append stands or falls as a whole, in one
//! statement that holds only where its line ends as expected; where the connection is lost in the middle
//! of one, the line itself tells whether it is there.

mod address;
mod connection;
mod deadline;
mod lane;
mod lanes;
mod log;
mod schema;
mod statement;

use epitome_store::RecordStore;

pub use self::address::{AddressError, PostgresAddress};
pub use self::log::PostgresLog;

/// A store of sessions in PostgreSQL.
pub type PostgresStore = RecordStore<PostgresLog>;
