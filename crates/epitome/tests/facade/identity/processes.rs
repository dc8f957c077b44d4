//! The same where several processes serve the conversations by turns, each with what it remembers.

use std::sync::Arc;

use epitome::{MemoryLog, RecordStore, SessionArchive};
#[cfg(feature = "postgres")]
use epitome::{PostgresAddress, PostgresLog};
#[cfg(feature = "postgres")]
use epitome_testkit::PostgresServer;
use epitome_testkit::conversations;
use proptest::prelude::*;
#[cfg(feature = "postgres")]
use proptest::test_runner::TestRunner;

use super::{check, clients, steps};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: conversations(48) / 2, max_shrink_iters: 2000, ..ProptestConfig::default()
    })]

    /// Each of the processes remembers what it knew when it was asked last.
    #[test]
    fn each_conversation_is_as_it_is_alone_whichever_process_serves_it(
        clients in clients(), steps in steps()
    ) {
        check(&clients, &steps, || {
            let log = Arc::new(MemoryLog::default());
            let open = || Arc::new(RecordStore::over(log.clone())) as Arc<dyn SessionArchive>;
            vec![open(), open(), open()]
        });
    }
}

#[cfg(feature = "postgres")]
#[test]
fn each_conversation_is_as_it_is_alone_in_a_database() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let config = ProptestConfig {
        cases: conversations(96) / 32,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let checked = runner.run(&(clients(), steps()), |(clients, steps)| {
        check(&clients, &steps, || {
            let address = server.new_database().unwrap();
            let open = || -> Arc<dyn SessionArchive> {
                let address = PostgresAddress::parse(&address).unwrap();
                Arc::new(RecordStore::over(PostgresLog::open(address).unwrap()))
            };
            vec![open(), open()]
        });
        Ok(())
    });
    checked.unwrap();
}
