//! A store that cannot be written, or read: every request is answered and stays within its window,
//! prompts keep their beginnings, and it is said once.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;

use epitome_upstream::{Record, Script};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::agent::{Agent, Api, calls};
use super::faults::eventually;
use super::serving::{Serving, as_guest};
use super::sessions::breaks;
use crate::program::Ran;

/// Tokens; some rounds of the agent fill it.
const LIMIT: u64 = 16_000;
/// Rounds of calls that the model asks for.
const ROUNDS: u64 = 11;
/// What the log says of an outage.
pub(super) const SAID: &str = "nothing of this is kept over a restart";

pub(super) fn serving(store: &'static str) -> Serving {
    let script = Script::agent(ROUNDS, calls());
    Serving::on_store(script, &["--prompt-limit", &LIMIT.to_string()], Some(store))
}

pub(super) fn agent(api: Api) -> Agent {
    Agent::new(api, "Find out why the deployment fails.").with_id()
}

/// Rounds of an agent, each of them answered with a prompt within the window.
#[track_caller]
pub(super) fn rounds(agent: &mut Agent, serving: &Serving, most: usize) {
    for round in 0..most {
        let answer = agent.send(serving, agent.request().to_string().into_bytes());
        let said = || format!("round {round}: {}", serving.said());
        assert_eq!(answer.header("x-epitome-skip"), None, "{}", said());
        let tokens = answer.header("x-epitome-tokens").unwrap_or_default();
        let sent = tokens.split_once('/').and_then(|(_, sent)| sent.parse::<u64>().ok());
        assert!(sent.is_some_and(|sent| sent <= LIMIT), "{tokens} in {}", said());
        if !agent.take(&answer) {
            return;
        }
    }
}

pub(super) fn count(serving: &Serving, words: &str) -> usize {
    serving.said().lines().filter(|line| line.contains(words)).count()
}

/// A line with these words is in the log, which may come behind the answer, and there is one of them.
#[track_caller]
pub(super) fn check_said_once(serving: &Serving, words: &str) {
    eventually(words, || count(serving, words) > 0);
    assert_eq!(count(serving, words), 1, "{}", serving.said());
}

/// Between compressions each prompt begins with the one before it.
#[track_caller]
pub(super) fn check_prefixes(api: Api, serving: &Serving, prompts: &[Record]) {
    let (broken, compressions) = (breaks(api, prompts), count(serving, "compressed ("));
    assert!(compressions >= 2, "{compressions} compressions: {}", serving.said());
    assert!(broken <= compressions, "{broken} of {compressions}: {}", serving.said());
}

/// The ids that prompts say how to recall.
fn named(prompts: &[Record]) -> Vec<String> {
    let mut ids = Vec::new();
    for prompt in prompts {
        let text = String::from_utf8_lossy(&prompt.raw).into_owned();
        for (at, words) in text.match_indices("epitome recall ") {
            let rest = &text[at + words.len()..];
            let id: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            if id.len() == 8 && !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

/// Whatever a prompt says how to recall is there.
#[track_caller]
fn check_addresses(serving: &Serving, prompts: &[Record], store: &str) -> usize {
    let ids = named(prompts);
    for id in &ids {
        let ran = serving.place.run(["recall", id, "--store", store]);
        assert_eq!(ran.code, 0, "recall {id}: {}{}", ran.text(), ran.err);
    }
    ids.len()
}

/// Holds the files of the proxy to so many bytes each; nothing holds them without any.
pub(super) fn hold(serving: &Serving, most: Option<u64>) {
    let pid = Pid::from_raw(serving.pid().try_into().unwrap());
    let limit = Rlimit { current: most, maximum: None };
    prlimit(pid, Resource::Fsize, limit).unwrap();
}

/// A folder that cannot be made stands for whatever keeps a file from being opened at the start.
#[test]
fn a_store_that_cannot_be_opened_stops_nobody() {
    for api in [Api::Anthropic, Api::Chat] {
        let serving = serving("/dev/null/s.db");
        let mut one = agent(api);
        rounds(&mut one, &serving, usize::MAX);
        check_prefixes(api, &serving, &serving.prompts());
        check_said_once(&serving, "nothing of them is kept");
        let outage = &serving.status()["store"];
        assert_eq!(outage["writable"], false, "{outage}");
        assert!(
            outage["cause"].as_str().is_some_and(|it| it.contains("/dev/null/s.db")),
            "{outage}"
        );
    }
}

#[test]
fn a_store_that_runs_full_stops_no_compression_and_is_used_again() {
    for api in [Api::Anthropic, Api::Chat] {
        let mut serving = serving("s.db");
        let mut one = agent(api);
        rounds(&mut one, &serving, 3);
        assert!(check_addresses(&serving, &serving.prompts(), "s.db") > 0);
        hold(&serving, Some(64 << 10));
        rounds(&mut one, &serving, usize::MAX);
        check_prefixes(api, &serving, &serving.prompts());
        check_said_once(&serving, SAID);
        let outage = &serving.status()["store"];
        assert_eq!(outage["writable"], false, "{outage}");
        assert!(outage["cause"].as_str().is_some_and(|it| it.contains("s.db")), "{outage}");
        check_addresses(&serving, &serving.prompts(), "s.db");

        // Another conversation during the outage, and one behind it.
        let mut other = Agent::new(api, "Tell me why the cluster of rowan forgets its leases.");
        serving.upstream.clear();
        rounds(&mut other, &serving, 2);
        hold(&serving, None);
        let known = serving.sessions().len();
        let mut third = Agent::new(api, "Look after the invoices of the north.");
        rounds(&mut third, &serving, 4);
        assert_eq!(serving.sessions().len(), known + 1);
        check_said_once(&serving, "can be written again");
        assert_eq!(serving.status()["store"]["writable"], true);
        rounds(&mut other, &serving, 2);
        check_said_once(&serving, SAID);

        // What was said meanwhile is recorded with the next request behind a restart.
        serving.stop();
        serving.go_on();
        one.say("Is that all?");
        rounds(&mut one, &serving, usize::MAX);
        let verified = serving.place.run(["session", "verify", "--store", "s.db"]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.err);
        check_addresses(&serving, &serving.prompts(), "s.db");
    }
}

/// Overwrites the store in place: the proxy has these very files open.
///
/// No write is under way meanwhile. One that was would end with an index of its own making, from
/// which its connection goes on without reading anything of the damage.
fn damage_in_place(serving: &Serving) {
    let paths = ["s.db", "s.db-wal", "s.db-shm"].map(|name| serving.place.path(name));
    let connection = rusqlite::Connection::open(&paths[0]).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    // Opened before the lock is taken: closing one of these files would give the lock away.
    let mut files = paths.map(|path| OpenOptions::new().write(true).open(path).unwrap());
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    for file in &mut files {
        let length = file.metadata().unwrap().len();
        file.write_all(&vec![0x5a; length.try_into().unwrap()]).unwrap();
    }
    drop(files);
    // Its end would read the damage as a log, and make an index of gigabytes from that.
    std::mem::forget(connection);
}

#[test]
fn a_store_that_is_damaged_meanwhile_stops_no_compression() {
    for api in [Api::Anthropic, Api::Ollama] {
        let serving = serving("s.db");
        let mut one = agent(api);
        rounds(&mut one, &serving, 5);
        damage_in_place(&serving);
        rounds(&mut one, &serving, usize::MAX);
        let mut other = Agent::new(api, "Tell me why the cluster of rowan forgets its leases.");
        let first = serving.prompts().len();
        rounds(&mut other, &serving, usize::MAX);
        let prompts = serving.prompts();
        check_prefixes(api, &serving, &prompts[..first]);
        check_prefixes(api, &serving, &prompts[first..]);
        check_said_once(&serving, SAID);
        assert!(named(&prompts[first..]).is_empty(), "{:?}", named(&prompts[first..]));
    }
}

#[test]
fn a_store_with_damaged_pages_stops_no_compression() {
    let api = Api::Chat;
    let mut serving = serving("s.db");
    let mut one = agent(api);
    rounds(&mut one, &serving, 6);
    serving.stop();
    let mut bytes = serving.place.read("s.db");
    // The tables are known, and what was recorded last is not.
    let page = 4096;
    let from = bytes.len() / page * 2 / 3 * page;
    bytes[from..].fill(0x5a);
    serving.place.write("s.db", bytes);
    serving.go_on();
    rounds(&mut one, &serving, usize::MAX);
    let first = serving.prompts().len();
    let mut other = Agent::new(api, "Tell me why the cluster of rowan forgets its leases.");
    rounds(&mut other, &serving, usize::MAX);
    check_prefixes(api, &serving, &serving.prompts()[first..]);
    check_said_once(&serving, SAID);
}

/// A store, written and then forbidden to its user.
fn forbidden(serving: &mut Serving) {
    serving.stop();
    let set = |name: &str, mode| {
        let path = serving.place.path(name);
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    // Its user's own folder is not: only the store's.
    set("", 0o777);
    set("locked/s.db", 0o444);
    set("locked", 0o555);
    serving.is_guest = true;
    serving.go_on();
}

#[test]
fn a_store_that_is_read_only_is_named_at_start_and_stops_no_compression() {
    for api in [Api::Anthropic, Api::Responses] {
        let mut serving = serving("locked/s.db");
        let mut one = agent(api);
        rounds(&mut one, &serving, 5);
        let ids = named(&serving.prompts());
        forbidden(&mut serving);
        check_said_once(&serving, "locked/s.db` is read-only");
        serving.upstream.clear();
        rounds(&mut one, &serving, usize::MAX);
        let first = serving.prompts().len();
        let mut other = Agent::new(api, "Tell me why the cluster of rowan forgets its leases.");
        rounds(&mut other, &serving, usize::MAX);
        let prompts = serving.prompts();
        let compressions = count(&serving, "compressed (");
        assert!(compressions >= 2, "{}", serving.said());
        let broken = breaks(api, &prompts[..first]) + breaks(api, &prompts[first..]);
        assert!(broken <= compressions, "{broken} of {compressions}: {}", serving.said());
        check_said_once(&serving, SAID);
        // What was kept before is found, and nothing is named that was not kept.
        let later = named(&prompts);
        assert!(later.iter().all(|id| ids.contains(id)), "{later:?} of {ids:?}");
    }
}

/// Whatever is started on such a store says so in a line, and what to do.
#[test]
fn every_verb_that_lives_on_a_store_names_one_that_is_read_only() {
    let mut serving = serving("locked/s.db");
    rounds(&mut agent(Api::Chat), &serving, 1);
    forbidden(&mut serving);
    std::fs::create_dir(serving.place.path("home")).unwrap();
    std::fs::set_permissions(serving.place.path("home"), Permissions::from_mode(0o777)).unwrap();
    let upstream = serving.upstream.url();
    let model = format!("openai:gpt-4o@{upstream}/v1");
    for args in [
        &["run", "--openai-upstream", &upstream, "--store", "locked/s.db", "--", "true"][..],
        &["chat", "--model", &model, "--store", "locked/s.db"],
        &["mcp", "--store", "locked/s.db"],
    ] {
        let mut command = serving.place.command(args);
        as_guest(&mut command);
        command.env("HOME", serving.place.path("home"));
        let ran = Ran::of(command, b"");
        let line: Vec<_> = ran.err.lines().filter(|line| line.contains("is read-only")).collect();
        assert_eq!(line.len(), 1, "{args:?}: {}", ran.err);
        for words in ["locked/s.db", "start again", "--store"] {
            assert!(line[0].contains(words), "{args:?}: {}", ran.err);
        }
    }
}
