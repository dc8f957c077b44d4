//! `epitome recall`: everything that left a prompt comes back.

use serde_json::Value;

use crate::conversation::{all, bare, turns};
use crate::measure::{count, messages, readable, texts};
use crate::program::Place;

/// A place with a store `s.db` that holds what left `body`; and what is left of it.
fn compressed(body: &Value, ratio: &str) -> (Place, Value, Value) {
    let place = Place::new();
    let args = ["compress", "--ratio", ratio, "--store", "s.db", "--report", "report.json"];
    let out = place.feed(args, body.to_string().as_bytes()).silent();
    let report = place.read_json("report.json");
    (place, serde_json::from_slice(&out).unwrap(), report)
}

/// What is printed. Where that is a list of messages it is said how each comes back, and else nothing is.
fn recall(place: &Place, args: &[&str]) -> Vec<u8> {
    let ran = place.run([&["recall", "--store", "s.db"], args].concat());
    if let Some(told) = ran.err.strip_prefix("epitome: note: each line begins a message; ") {
        assert!(told.starts_with("`epitome recall --store s.db ID`"), "{told}");
        return ran.out;
    }
    ran.silent()
}

/// What is found. Where that is nothing it is said; else no more is than which words nothing holds.
fn search(place: &Place, most: &str, query: &str) -> Vec<Value> {
    found(place, &["--max-tokens", most, "--json", "--", query])
}

fn found(place: &Place, args: &[&str]) -> Vec<Value> {
    let ran = place.run([&["recall", "--store", "s.db"], args].concat());
    let found = ran.json().as_array().unwrap().clone();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let notes = ran.err.lines().filter(|line| line.starts_with("epitome: note: nothing "));
    let (notes, lines) = (notes.count(), ran.err.lines().count());
    assert!(notes == lines && lines <= 1 && (lines == 1 || !found.is_empty()), "{}", ran.err);
    found
}

fn contents(found: &[Value]) -> String {
    found.iter().map(|excerpt| excerpt["content"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Each text that is no longer in the prompt is, word for word, in an original that the report
/// names.
#[test]
fn originals_are_complete() {
    for (name, before) in all(24) {
        let (place, after, report) = compressed(&before, "8");
        let ids = |key: &str| report[key].as_array().unwrap().iter().map(|item| &item["id"]);
        let ids = ids("checkpoints").chain(ids("offloaded"));
        let originals = ids.map(|id| recall(&place, &["--id", id.as_str().unwrap()]));
        let originals = String::from_utf8(originals.collect::<Vec<_>>().join(&b"\n"[..])).unwrap();
        let lists = report["checkpoints"].as_array().unwrap().iter().map(|item| {
            let id = item["id"].as_str().unwrap();
            place.run(["recall", "--store", "s.db", "--id", id]).err
        });
        let told = lists.filter(|told| told.contains("each line begins a message")).count();
        assert!(told > 0, "{name}: of no list it is said how a message comes back whole");
        let prompt = readable(&after);
        let left: Vec<_> = messages(&before).iter().flat_map(texts).collect();
        let left: Vec<_> = left.iter().filter(|text| !prompt.contains(*text)).collect();
        assert!(left.len() > 40, "{name}: only {} texts left", left.len());
        for text in left {
            assert!(originals.contains(text), "{name}: {text}");
        }
    }
}

#[test]
fn facts_that_left_are_found() {
    for (name, before) in all(24) {
        let (place, after, _) = compressed(&before, "8");
        let prompt = readable(&after);
        let mut asked = 0;
        for (at, turn) in turns(24).enumerate() {
            let fact = format!("invoice_{at}_5 = post(ledger, amount={}", at * 31 + 5);
            assert!(turn.result.contains(&fact));
            if prompt.contains(&fact) {
                continue;
            }
            asked += 1;
            let found = search(&place, "1000", &format!("what was the amount of invoice_{at}_5?"));
            assert!(contents(&found).contains(&fact), "{name}: {fact} in {found:?}");
        }
        assert!(asked > 5, "{name}: {asked}");
    }
}

#[test]
fn queries_that_are_empty_or_endless_are_told_in_a_line() {
    let (place, ..) = compressed(&bare(24), "8");
    for query in ["", "  \n"] {
        let ran = place.run(["recall", "--store", "s.db", query]);
        assert_eq!((ran.code, ran.text()), (0, ""), "{}", ran.err);
        assert!(ran.err.contains("nothing found: the query is empty; "), "{}", ran.err);
    }
    let words: String = (0..300).map(|n| format!("qwx{n}zyx ")).collect();
    for query in ["q".repeat(100_000), words] {
        let ran = place.run(["recall", "--store", "s.db", &query]);
        assert_eq!((ran.code, ran.text()), (0, ""), "{}", ran.err);
        assert!(ran.err.contains("nothing on `q") && ran.err.len() < 400, "{}", ran.err);
        let ran = place.run(["recall", "--store", "s.db", "--id", &query]);
        assert!(ran.code == 3 && ran.err.len() < 400, "{}", ran.err);
    }
}

#[test]
fn excerpts_fit_the_tokens_allowed_and_name_their_source() {
    let (place, ..) = compressed(&bare(24), "8");
    for most in ["0", "30", "200", "1000"] {
        let found = search(&place, most, "invoice ledger retries timeout stage");
        let tokens: u64 =
            found.iter().map(|excerpt| count(excerpt["content"].as_str().unwrap())).sum();
        assert!(tokens <= most.parse().unwrap(), "{tokens} of {most}");
        assert_eq!(found.is_empty(), most == "0", "{most}");
        for excerpt in &found {
            let keys: Vec<_> = excerpt.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["id", "content", "source", "speaker", "entry"]);
            let id = excerpt["id"].as_str().unwrap();
            let original = String::from_utf8(recall(&place, &["--id", id])).unwrap();
            let source = excerpt["source"].as_str().unwrap();
            assert!(source.starts_with('e'), "{source}");
            // Calls and JSON are found as rows of their fields: the words are those of the original.
            let text = excerpt["content"].as_str().unwrap();
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                assert!(original.contains(word), "{word} of {text} in {original}");
            }
        }
    }
}

#[test]
fn an_original_comes_back_whole_or_by_lines() {
    let (place, after, report) = compressed(&bare(24), "8");
    let id = report["checkpoints"][0]["id"].as_str().unwrap();
    let whole = recall(&place, &["--id", id]);
    let text = String::from_utf8(whole.clone()).unwrap();
    assert_eq!(recall(&place, &["--id", &id[..8]]), whole, "a beginning is enough");
    let label = format!("epitome recall {}", &id[..8]);
    assert!(readable(&after).contains(&label), "the prompt says how");
    assert_eq!(recall(&place, &[&id[..8]]), whole, "and that is how");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let check = |range: &str, expected: &[&str]| {
        let found = recall(&place, &["--id", id, "--lines", range]);
        assert_eq!(String::from_utf8(found).unwrap(), expected.concat(), "{range}");
    };
    check("2", &lines[1..2]);
    check("2-5", &lines[1..5]);
    check("4-", &lines[3..]);
    check("1-99999", &lines);
    check("99999", &[]);
    let json = recall(&place, &["--id", id, "--json"]);
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json[0]["content"], text);
}

#[test]
fn any_query_is_a_query() {
    let (place, ..) = compressed(&bare(12), "8");
    for query in
        ["", " ", "\n", "a\nb\tc", "'; drop table passage; --", "\"(NEAR* AND", "--json", "-x"]
    {
        search(&place, "50", query);
    }
    for query in ["-x y", "- retries", "--max-tokens 3 of them"] {
        found(&place, &["--json", query]);
    }
    assert_eq!(search(&place, "500", "zyzzyva quokka"), [Value::Null; 0]);
}

/// Nonsense is not answered with what happens to be there, and a slip is told from it.
#[test]
fn what_is_not_there_is_said_not_to_be() {
    let (place, ..) = compressed(&bare(24), "8");
    for query in
        ["flurb", "zyzzyva of the quokka", "src/nowhere/flurb.rs", "\"ledger invoice_3_5\""]
    {
        assert_eq!(recall(&place, &["-q", "--json", "--", query]), b"[]\n", "{query}");
    }
    let ran = place.run(["recall", "--store", "s.db", "ledgre"]);
    assert_eq!((ran.code, ran.text()), (0, ""));
    assert!(
        ran.err.starts_with("epitome: note: nothing on `ledgre`; near: `ledger`"),
        "{}",
        ran.err
    );
    let ran = place.run(["recall", "--store", "s.db", "--json", "zyzzyva"]);
    assert_eq!((ran.code, ran.text()), (0, "[]\n"));
    assert_eq!(ran.err, "epitome: note: nothing on `zyzzyva`\n");
    for (store, code) in [("s.db", 0), ("none.db", 3)] {
        let ran = place.run(["recall", "--store", store, "0123abcd"]);
        assert_eq!(ran.code, code);
        let said =
            "no original with the id `0123abcd` in the sessions that are read here; `--everywhere`";
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let asked =
        "please tell me again what exactly the amount of invoice_3_5 was, I forgot about it";
    assert!(contents(&search(&place, "1000", asked)).contains("invoice_3_5"));
    let phrase = search(&place, "1000", "\"invoice_3_5 = post(ledger\"");
    assert!(!phrase.is_empty());
    for found in &phrase {
        assert!(
            found["content"].as_str().unwrap().contains("invoice_3_5 = post(ledger"),
            "{found}"
        );
    }
}

/// Nonsense with one word in it that somebody said is a search for that word, however long it is.
#[test]
fn one_known_word_of_a_question_brings_no_more_than_what_says_it() {
    let place = Place::new();
    let said = |at: usize| match at {
        7 => "The heron nests in the third chimney.".to_owned(),
        _ => format!("Stage {at} of the build is done, and number {} waits.", at + 1),
    };
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let body: Vec<_> =
        (0..20).map(|at| serde_json::json!({"role": role(at), "content": said(at)})).collect();
    place.write("talk.json", Value::from(body).to_string());
    place.run(["session", "import", "talk.json", "--store", "s.db"]).silent();
    for asked in ["heron", "flurb zork quokka blib zyzzyva nargle heron wozzle"] {
        let found = search(&place, "1000", asked);
        let found: Vec<_> = found.iter().map(|it| it["content"].as_str().unwrap()).collect();
        assert_eq!(found, [said(7)], "{asked}");
    }
    // A word that many passages say answers none that nothing says, and all of these are named.
    let ran = place.run(["recall", "--store", "s.db", "--json", "flurb zork of the stage quokka"]);
    assert_eq!(ran.text(), "[]\n");
    let missed = "epitome: note: nothing on `flurb`; nothing on `zork`; nothing on `quokka`\n";
    assert_eq!(ran.err, missed);
    let ran = place.run(["recall", "--store", "s.db", "hreon chimney"]);
    assert!(ran.text().contains("third chimney"), "{}", ran.text());
    assert_eq!(ran.err, "epitome: note: nothing on `hreon`; near: `heron`\n");
    // What says two of its words answers it, and what was said around that counts, too.
    let asked = "do you still know which bird it was that nests in that chimney of ours";
    assert!(search(&place, "1000", asked).len() > 1);
}

/// A long text is cut into passages somewhere; what is quoted is found all the same.
#[test]
fn a_phrase_is_found_where_its_text_was_cut() {
    let place = Place::new();
    let line = |at: usize| format!("entry {at} of the log was written by worker number {}", at * 7);
    let log: Vec<String> = (0..120).map(line).collect();
    let body = serde_json::json!([{"role": "user", "content": log.join("\n")}]);
    place.write("log.json", body.to_string());
    place.run(["session", "import", "log.json", "--store", "s.db"]).silent();
    for at in 0..119_usize {
        let phrase = format!("\"worker number {} entry {} of\"", at * 7, at + 1);
        let found = contents(&search(&place, "1000", &phrase));
        assert!(found.contains(&format!("{}\n{}", line(at), line(at + 1))), "{phrase}: {found}");
    }
}

/// Whatever the report says is lost comes back by the command that it prints.
#[test]
fn what_was_lost_is_named_and_comes_back_as_printed() {
    let (place, _, report) = compressed(&bare(24), "30");
    let kept = &report["must_keep"];
    let lost = kept["lost"].as_array().unwrap();
    let gone = |kind: &str| kept[kind][1].as_u64().unwrap() - kept[kind][0].as_u64().unwrap();
    let all: u64 = ["constraints", "paths", "errors", "identifiers"].map(gone).iter().sum();
    assert!(all > 0 && lost.len() as u64 == all, "{kept}");
    for fact in lost.iter().step_by(lost.len().div_ceil(12)) {
        let command = fact["recall"].as_str().unwrap_or_else(|| panic!("no way back: {fact}"));
        let original = place.run(command.strip_prefix("epitome ").unwrap().split(' ')).silent();
        let text = fact["text"].as_str().unwrap();
        assert!(String::from_utf8(original).unwrap().contains(text), "{fact}");
    }
    let body = bare(24).to_string();
    let args = ["compress", "--ratio", "30", "--report", "bare.json"];
    place.feed(args, body.as_bytes());
    let report = place.read_json("bare.json");
    let lost = report["must_keep"]["lost"].as_array().unwrap();
    assert!(!lost.is_empty() && lost.iter().all(|fact| fact["recall"].is_null()));
}

#[test]
fn text_for_people_says_where_it_is_from() {
    let (place, ..) = compressed(&bare(24), "8");
    let out = String::from_utf8(recall(&place, &["--max-tokens", "300", "invoice_3_5"])).unwrap();
    let (head, content) = out.split_once('\n').unwrap();
    let (id, source) = head.split_once("  ").unwrap();
    assert!(id.len() == 8 && source.starts_with('e'), "{head}");
    assert!(content.contains("invoice_3_5"), "{content}");
}

#[test]
fn where_nothing_left_nothing_is_found() {
    let place = Place::new();
    place.feed(["compress", "--store", "s.db", "--ratio", "4"], b"[]").silent();
    assert_eq!(found(&place, &["--json", "anything"]), [Value::Null; 0]);
    let ran = place.run(["recall", "--store", "s.db", "anything"]);
    assert_eq!((ran.code, ran.text()), (0, ""));
    assert_eq!(ran.err, "epitome: note: nothing on `anything`\n");
}

/// The name of a session is a label: a search reaches all that its profile keeps.
#[test]
fn all_sessions_of_a_profile_are_searched() {
    let place = Place::new();
    let input = bare(24).to_string();
    let args = ["compress", "--ratio", "8", "--store", "s.db", "--session", "mine"];
    place.feed(args, input.as_bytes()).silent();
    let found = recall(&place, &["--json", "invoice_3_5"]);
    assert!(String::from_utf8(found.clone()).unwrap().contains("invoice_3_5"));
    assert_eq!(recall(&place, &["--json", "--session", "yours", "invoice_3_5"]), found);
}

#[test]
fn one_store_holds_many_conversations() {
    let place = Place::new();
    for count in [12, 24] {
        let args = ["compress", "--ratio", "8", "--store", "s.db"];
        let input = bare(count).to_string();
        let first = place.feed(args, input.as_bytes()).silent();
        assert_eq!(place.feed(args, input.as_bytes()).silent(), first, "twice is no harm");
    }
    let found = contents(&search(&place, "400", "invoice_20_5"));
    assert_eq!(found.matches("invoice_20_5 ").count(), 1, "kept once: {found}");
}

#[test]
fn the_usual_store_is_in_the_data_folder() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".local/share/epitome")).unwrap();
    let args = ["compress", "--ratio", "8", "--store", ".local/share/epitome/epitome.db"];
    place.feed(args, bare(24).to_string().as_bytes()).silent();
    let found = place.run(["recall", "--json", "invoice_3_5"]).json();
    assert!(!found.as_array().unwrap().is_empty());
}
