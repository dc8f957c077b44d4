//! A connection with the statements that it knows.
//!
//! Invariant: whatever is asked is whole by itself. What a connection remembers makes it faster, and
//! nothing rests on that: behind a pooler the next statement may meet a server process that knows
//! nothing, or another statement by the same name. Those that are remembered take values of other types
//! each, so that none is carried out in the place of another. Called by the lanes.

use std::collections::HashMap;

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Error, Row, Statement};

use crate::statement::Place;

/// A connection to a server.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// What was asked there, by its text; from the second time on it is parsed already.
    known: HashMap<String, Option<Statement>>,
    /// Whether there is a pooler in between.
    is_pooled: bool,
}

impl Connection {
    /// A connection that knows nothing yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, known: HashMap::new(), is_pooled: false }
    }

    /// Asks for rows.
    ///
    /// # Errors
    ///
    /// What the server says, or that it was lost.
    pub(crate) fn ask(&mut self, text: &str, places: &[Place<'_>]) -> Result<Vec<Row>, Error> {
        self.client.query_typed(text, places)
    }

    /// The same with one of the statements of every turn, which the server parses once for a connection:
    /// when it is asked a second time, so that whoever asks once waits once.
    ///
    /// # Errors
    ///
    /// What the server says, or that it was lost.
    pub(crate) fn ask_again(
        &mut self,
        text: &str,
        places: &[Place<'_>],
    ) -> Result<Vec<Row>, Error> {
        if !self.is_pooled {
            let values: Vec<&(dyn ToSql + Sync)> = places.iter().map(|(value, _)| *value).collect();
            let Some(known) = self.known(text, places).transpose() else {
                return self.ask(text, places);
            };
            match known.and_then(|statement| self.client.query(&statement, &values)) {
                // It was not carried out.
                Err(error) if is_of_another(&error) => {
                    self.is_pooled = true;
                    self.known.clear();
                }
                done => return done,
            }
        }
        self.ask(text, places)
    }

    /// A statement that is parsed there; none of one that is asked for the first time.
    fn known(&mut self, text: &str, places: &[Place<'_>]) -> Result<Option<Statement>, Error> {
        let known = match self.known.get(text) {
            Some(None) => {
                let types: Vec<Type> = places.iter().map(|(_, of)| of.clone()).collect();
                Some(self.client.prepare_typed(text, &types)?)
            }
            Some(known) => return Ok(known.clone()),
            None => None,
        };
        self.known.insert(text.to_owned(), known.clone());
        Ok(known)
    }
}

/// Whether the server process that was met does not know the statement, or knows another one by its name.
fn is_of_another(error: &Error) -> bool {
    let codes = [
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::DUPLICATE_PSTATEMENT,
        SqlState::PROTOCOL_VIOLATION,
        SqlState::DATATYPE_MISMATCH,
        SqlState::INVALID_BINARY_REPRESENTATION,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}

#[cfg(test)]
mod tests {
    use epitome_testkit::PostgresServer;
    use postgres::{Client, NoTls};

    use super::*;

    /// As behind a pooler: what was parsed is gone, or somebody else's.
    #[test]
    fn what_the_server_forgot_is_sent_whole() {
        let Some(server) = PostgresServer::start().unwrap() else { return };
        let address = server.new_database().unwrap();
        for before in
            ["DEALLOCATE ALL", "DEALLOCATE ALL; PREPARE s0 AS SELECT 7; PREPARE s1 AS SELECT 7"]
        {
            let mut connection = Connection::new(Client::connect(&address, NoTls).unwrap());
            let mut sum = |one: i64, other: i64| -> i64 {
                let places: [Place<'_>; 2] = [(&one, Type::INT8), (&other, Type::INT8)];
                let rows = connection.ask_again("SELECT $1 + $2", &places).unwrap();
                connection.client.batch_execute(before).unwrap_or_default();
                rows[0].get(0)
            };
            assert_eq!([sum(1, 2), sum(2, 2), sum(2, 3)], [3, 4, 5], "{before}");
            assert!(connection.is_pooled, "{before}");
        }
    }
}
