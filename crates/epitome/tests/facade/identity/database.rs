//! The same of two processes on one database.

use std::sync::{Arc, OnceLock};

use epitome::{PostgresAddress, PostgresLog, PostgresStore, SessionArchive};
use epitome_testkit::{PostgresServer, conversations};
use proptest::prelude::*;

use super::{check, clients, steps};

/// The server of all cases, which ends with the program.
static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig {
        cases: conversations(96) / 32, max_shrink_iters: 100, ..ProptestConfig::default()
    })]

    #[test]
    fn each_conversation_is_as_it_is_alone_in_a_database(clients in clients(), steps in steps()) {
        let server = SERVER.get_or_init(|| PostgresServer::start().unwrap());
        let Some(server) = server else { return Ok(()) };
        check(&clients, &steps, || {
            let address = server.new_database().unwrap();
            let open = || {
                let log = PostgresLog::open(PostgresAddress::parse(&address).unwrap()).unwrap();
                Arc::new(PostgresStore::over(log)) as Arc<dyn SessionArchive>
            };
            vec![open(), open()]
        });
    }
}
