//! A proxy on a store that is encrypted: what it sends is what it would send without a key, and no file
//! of its store holds what was said.

use epitome_upstream::Script;

use super::agent::{Agent, Api, calls};
use super::outage::{check_prefixes, rounds};
use super::serving::Serving;
use crate::program::Place;
use crate::sealed::readable;

/// What is said, called and answered in these conversations.
const SAID: [&str; 6] =
    ["deployment", "billing service", "out of memory", "LeaseError", "rowan", "read_log"];

/// Rounds of calls that the model asks for.
const ROUNDS: u64 = 11;

fn serving(args: &[&str]) -> Serving {
    let args = [&["--prompt-limit", "16000"], args].concat();
    Serving::start(Script::agent(ROUNDS, calls()), &args)
}

fn agent(api: Api) -> Agent {
    Agent::new(api, "Find out why the deployment fails.").with_id()
}

#[test]
fn a_conversation_is_kept_and_cannot_be_read_in_its_files() {
    let keys = Place::new();
    keys.run(["store", "key", "-q", "store.key"]).silent();
    let key = keys.path("store.key").display().to_string();
    for api in [Api::Anthropic, Api::Chat] {
        let plain = serving(&[]);
        let mut serving = serving(&["--store-key-file", &key]);
        let (mut one, mut other) = (agent(api), agent(api));
        rounds(&mut one, &serving, 5);
        rounds(&mut other, &plain, 5);
        assert_eq!(readable(&serving.place, &SAID), [""; 0], "while it is in use");
        assert!(!readable(&plain.place, &SAID).is_empty(), "without a key it can be read");

        // It is killed, and goes on as if nothing had happened.
        serving.kill();
        assert_eq!(readable(&serving.place, &SAID), [""; 0], "behind a crash");
        serving.go_on();
        rounds(&mut one, &serving, usize::MAX);
        rounds(&mut other, &plain, usize::MAX);
        check_prefixes(api, &serving, &serving.prompts());
        let sent = |of: &Serving| of.prompts().iter().map(|it| it.raw.clone()).collect::<Vec<_>>();
        assert!(sent(&serving) == sent(&plain), "a key changes a prompt");
        serving.stop();
        assert_eq!(readable(&serving.place, &SAID), [""; 0], "closed");

        let run = |args: &[&str]| {
            let all = [args, &["--store", "s.db", "--store-key-file", &key]].concat();
            serving.place.run(all)
        };
        assert_eq!(run(&["session", "verify"]).code, 0);
        let found = run(&["recall", "--json", "LeaseError rowan"]);
        assert!(found.text().contains("rowan"), "{}{}", found.text(), found.err);
        assert_eq!(readable(&serving.place, &SAID), [""; 0], "looked at");
    }
}

#[test]
fn a_proxy_does_not_begin_on_a_store_whose_key_it_does_not_have() {
    let keys = Place::new();
    for name in ["store.key", "other.key"] {
        keys.run(["store", "key", "-q", name]).silent();
    }
    let key = keys.path("store.key").display().to_string();
    let other = keys.path("other.key").display().to_string();
    let mut serving = serving(&["--store-key-file", &key]);
    rounds(&mut agent(Api::Chat), &serving, 2);
    serving.stop();
    for args in [&["--store-key-file", &other][..], &[]] {
        let all = [&["serve", "--listen", "127.0.0.1:0", "--store", "s.db"], args].concat();
        let ran = serving.place.run(all);
        assert_eq!((ran.code, ran.text()), (3, ""), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains("store_key_file"), "{}", ran.err);
    }
}
