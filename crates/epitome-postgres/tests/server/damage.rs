//! Damage costs the record that it is in, and nothing else.

use std::sync::Arc;

use epitome_kernel::types::{
    Actor, ContentId, GoalChange, HistoryHash, RecordedAction, SessionAction,
};
use epitome_kernel::{AppendBatch, Eviction, Journal, MessageRecord, OriginalStore, StoredText};
use epitome_postgres::PostgresLog;
use epitome_store::{
    FallbackStore, MemoryStore, RecordStore, SessionArchive, StoreNews, TransferMode,
    TransferStore, transfer,
};
use epitome_testkit::PostgresServer;
use postgres::Client;

use crate::cuts::turn;
use crate::shared::{client, open};

const SCOPE: &str = "local/default";

/// Turns of each session.
const TURNS: u32 = 5;

type SharedStore = RecordStore<Arc<PostgresLog>>;

/// Three sessions, and what the scope keeps beside them.
fn filled(server: &PostgresServer) -> Arc<PostgresLog> {
    let log = Arc::new(open(server, "postgres"));
    let store = RecordStore::over(Arc::clone(&log));
    for session in ["one", "two", "three"] {
        let mut after = HistoryHash::default();
        for place in 0..TURNS {
            let batch = turn(session, after, place);
            after = batch.said[0].chain;
            store.append(SCOPE, session, &batch).unwrap();
        }
        let text = format!("Ship it to {session}.");
        let (act, by) =
            (SessionAction::Goal(GoalChange::Next { text: text.clone() }.into()), Actor::User);
        store.act(SCOPE, session, &[RecordedAction { at: "now".into(), by, act }]).unwrap();
        store.append(SCOPE, session, &turn(session, after, TURNS)).unwrap();
        let (id, source) = (ContentId::for_text(&text), "e0 user".to_owned());
        let blobs = vec![StoredText { id, source, text }];
        store.keep(SCOPE, &Eviction { blobs, ..Eviction::default() }).unwrap();
    }
    for about in ["a model", "another"] {
        store.learn(SCOPE, about, "{}").unwrap();
    }
    let keep = "CREATE TABLE kept_record AS SELECT * FROM epitome_record;
        CREATE TABLE kept_line AS SELECT * FROM epitome_line;
        CREATE TABLE kept_blob AS SELECT * FROM epitome_blob";
    client(server, "postgres").batch_execute(keep).unwrap();
    log
}

/// Has the tables be as they were.
fn restored(admin: &mut Client) {
    let restore =
        "DELETE FROM epitome_record; INSERT INTO epitome_record SELECT * FROM kept_record;
        UPDATE epitome_line line SET seq = kept.seq, sum = kept.sum
            FROM kept_line kept WHERE kept.scope = line.scope AND kept.id = line.id;
        DELETE FROM epitome_blob; INSERT INTO epitome_blob OVERRIDING SYSTEM VALUE
            SELECT * FROM kept_blob";
    admin.batch_execute(restore).unwrap();
}

fn history(store: &SharedStore, session: &str) -> Vec<MessageRecord> {
    let head = store.branches(SCOPE, session).unwrap().last().unwrap().head;
    store.history(SCOPE, session, head, 0, 99).unwrap()
}

/// Damages the session `two`, or what is kept outside of sessions, and looks at what is left.
#[track_caller]
fn check(log: &Arc<PostgresLog>, admin: &mut Client, damage: &str) {
    let of = "(SELECT id FROM epitome_line WHERE name = 'two')";
    restored(admin);
    let sound = RecordStore::over(Arc::clone(log));
    let [one, two, three] = ["one", "two", "three"].map(|name| history(&sound, name));
    admin.batch_execute(&damage.replace("$LINE", of)).unwrap();

    let store = RecordStore::over(Arc::clone(log));
    assert_ne!(store.verify(false).unwrap(), [], "{damage}");
    assert_eq!(store.sessions(SCOPE, 0, 9, true).unwrap().len(), 3, "{damage}");
    assert_eq!(history(&store, "one"), one, "{damage}");
    assert_eq!(history(&store, "three"), three, "{damage}");
    let left = history(&store, "two");
    let lost = two.iter().zip(&left).filter(|(was, is)| was != is).count();
    assert!(left.len() == two.len() && lost <= 1, "{damage}: {left:#?}");
    let acts = store.acts(SCOPE, "two").unwrap().len();
    let lessons = store.lessons(SCOPE).unwrap().len();
    assert!(lost + 1 - acts + 2 - lessons <= 1, "{damage}: {lost} {acts} {lessons}");

    // What is copied is all but that, and the copy is not damaged.
    let copy = MemoryStore::new();
    let report = transfer(&store, &copy, TransferMode::Add, &mut |_| {}).unwrap();
    assert_eq!(report.differ, Vec::<String>::new(), "{damage}");
    assert!(lost == 0 || !report.missing.is_empty(), "{damage}");
    let said = |name: &str| copy.session_copy(SCOPE, name).unwrap().said;
    assert_eq!(said("one").len(), one.len());
    let kept = said("two").into_iter().filter(|it| it.said.bytes.is_some()).count();
    assert_eq!(kept, two.len() - lost, "{damage}");

    // A conversation goes on where it was.
    let live = FallbackStore::over(RecordStore::over(Arc::clone(log)));
    let end = left.last().unwrap().chain;
    for session in ["one", "two"] {
        let after = if session == "two" { end } else { one.last().unwrap().chain };
        live.append(SCOPE, session, &turn(session, after, TURNS + 1)).unwrap();
    }
    assert_eq!(live.outage(), None, "{damage}");
    let news = live.news();
    let is_told = |news: &StoreNews| matches!(news, StoreNews::Damaged(_));
    assert!(news.iter().all(is_told) && news.len() <= 2, "{damage}: {news:?}");
    assert_eq!(history(&store, "two").len(), two.len() + 1, "{damage}");
}

#[test]
fn one_record_is_lost_and_nothing_else() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let log = filled(&server);
    let mut admin = client(&server, "postgres");
    let count = "SELECT count(*) FROM epitome_record WHERE line =
        (SELECT id FROM epitome_line WHERE name = 'two')";
    let count: i64 = admin.query_one(count, &[]).unwrap().get(0);
    for seq in 1..=count {
        let only = format!("WHERE line = $LINE AND seq = {seq}");
        check(&log, &mut admin, &format!("UPDATE epitome_record SET body = '{{}}' {only}"));
        let flipped = "set_byte(sum, 0, 255 - get_byte(sum, 0))";
        check(&log, &mut admin, &format!("UPDATE epitome_record SET sum = {flipped} {only}"));
        check(&log, &mut admin, &format!("UPDATE epitome_record SET sum = '\\x00' {only}"));
        if seq < count {
            check(&log, &mut admin, &format!("DELETE FROM epitome_record {only}"));
        }
    }
    let scope_line = "line = (SELECT id FROM epitome_line WHERE name = '')";
    for seq in 1..=5 {
        let only = format!("WHERE {scope_line} AND seq = {seq}");
        check(&log, &mut admin, &format!("UPDATE epitome_record SET body = '{{}}' {only}"));
        check(&log, &mut admin, &format!("UPDATE epitome_record SET sum = '\\x00' {only}"));
    }
    let blob = "UPDATE epitome_blob SET bytes = '\\x2278' WHERE line = $LINE AND id =
        (SELECT id FROM epitome_blob WHERE line = $LINE ORDER BY place LIMIT 1)";
    check(&log, &mut admin, blob);
    check(&log, &mut admin, &blob.replace("bytes = '\\x2278'", "id = '\\x00'"));
}

/// What is copied is what was kept: an original that is not is named, and is in no copy.
#[test]
fn a_copy_makes_no_damage_valid() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let log = filled(&server);
    let damage =
        "UPDATE epitome_blob SET bytes = replace(encode(bytes, 'escape'), 'two', 'six')::bytea
        WHERE source IS NOT NULL";
    client(&server, "postgres").batch_execute(damage).unwrap();
    let (store, copy) = (RecordStore::over(log), MemoryStore::new());
    let id = ContentId::for_text("Ship it to two.");
    let wrong = store.original(SCOPE, &id.to_string()).unwrap_err().to_string();
    assert!(wrong.contains("is not what was kept"), "{wrong}");
    let report = transfer(&store, &copy, TransferMode::Add, &mut |_| {}).unwrap();
    assert_eq!(report.missing, ["local/default: the text of e0 user"]);
    assert_eq!(report.differ, Vec::<String>::new());
    let kept = copy.kept_outside(SCOPE).unwrap().originals;
    let texts: Vec<_> = kept.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["Ship it to one.", "Ship it to three."]);
}

/// The newest record is gone, which no other tells: the line itself does.
#[test]
fn a_line_that_was_cut_is_told_and_goes_on() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let log = filled(&server);
    let cut = "DELETE FROM epitome_record WHERE (line, seq) IN
        (SELECT line, max(seq) FROM epitome_record GROUP BY line)";
    client(&server, "postgres").batch_execute(cut).unwrap();
    let store = RecordStore::over(Arc::clone(&log));
    let found = store.verify(false).unwrap();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().all(|it| it.what.contains("ends with another record")), "{found:?}");
    let live = FallbackStore::over(RecordStore::over(log));
    let end = history(&store, "one").last().unwrap().chain;
    live.append(SCOPE, "one", &turn("one", end, TURNS)).unwrap();
    assert_eq!((live.outage(), live.news().len()), (None, 2));
    assert_eq!(history(&store, "one").len(), TURNS as usize + 1);
}

/// The tables are put back to an earlier state below a process that knows more.
#[test]
fn a_line_that_went_back_is_told_and_gets_what_was_decided() {
    let Some(server) = PostgresServer::start().unwrap() else { return };
    let log = filled(&server);
    let live = FallbackStore::over(RecordStore::over(Arc::clone(&log)));
    let store = RecordStore::over(log);
    let mut said = history(&store, "one");
    for place in 0..3 {
        let batch = turn("one", said.last().unwrap().chain, TURNS + 1 + place);
        live.append(SCOPE, "one", &batch).unwrap();
        said.extend(batch.said);
    }
    let (act, by) =
        (SessionAction::Goal(GoalChange::Next { text: "Late.".into() }.into()), Actor::User);
    live.act(SCOPE, "one", &[RecordedAction { at: "now".into(), by, act }]).unwrap();
    live.learn(SCOPE, "a third", "{}").unwrap();
    restored(&mut client(&server, "postgres"));

    // What the client does: it looks how much is known, and brings the rest.
    let chains: Vec<HistoryHash> = said.iter().map(|it| it.chain).collect();
    let known = live.find_deepest(SCOPE, "one", &chains).unwrap().unwrap();
    assert_eq!(known, TURNS as usize);
    let after = turn("one", chains[known], TURNS + 1);
    live.append(SCOPE, "one", &AppendBatch { said: said[known + 1..].to_vec(), ..after }).unwrap();
    assert_eq!(live.outage(), None);
    let told: Vec<String> = live.news().into_iter().map(|it| format!("{it:?}")).collect();
    assert!(told.iter().any(|it| it.contains("`one` of local/default went back")), "{told:?}");
    assert!(told.len() <= 2, "{told:?}");
    let store = RecordStore::over(open(&server, "postgres"));
    assert_eq!(store.acts(SCOPE, "one").unwrap().len(), 2);
    assert_eq!(live.lessons(SCOPE).unwrap().len(), 3);
    let head = store.branches(SCOPE, "one").unwrap().last().unwrap().head;
    assert_eq!(store.history(SCOPE, "one", head, 0, 99).unwrap(), said);
    assert_eq!(store.verify(false).unwrap(), []);
}
