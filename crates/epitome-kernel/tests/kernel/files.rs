//! Copies of files in a conversation: which count, and what no plan may do to them.

use epitome_kernel::types::{
    BudgetUnit, Checkpoint, CheckpointLevel, CheckpointPlacement, ContentId, EntryId, Op, PartId,
    Plan, ReplaceMethod,
};
use epitome_kernel::{FreezeReason, PinReason, PlanFault, SizeGauge, Thread, ThreadSizes, apply};
use epitome_testkit::{Chat, FixedCounter, chat};

/// A file with so many lines that begin like this.
fn file(name: &str, lines: usize) -> String {
    (0..lines).map(|at| format!("{name} line {at}\n")).collect()
}

fn pastes(chat: Chat, path: &str, body: &str) -> Chat {
    chat.user(&format!("See {path}:\n{body}Thanks.")).holding(path, body)
}

fn returns(chat: Chat, path: &str, body: &str) -> Chat {
    chat.assistant(&format!("{path}\n{body}")).holding(path, body)
}

/// The entries that hold copies which count.
#[track_caller]
fn check(chat: Chat, kept: &[u32]) -> Thread {
    let thread = Thread::new(chat.user("And?").entries(), &[]);
    let pinned =
        thread.entries().iter().filter(|entry| thread.pinned(entry.id) == Some(PinReason::File));
    assert_eq!(pinned.map(|entry| entry.id.0).collect::<Vec<_>>(), kept);
    thread
}

#[test]
fn the_newest_copy_of_a_path_counts() {
    let (old, new) = (file("old", 20), file("new", 18));
    check(pastes(pastes(chat(), "a.py", &old), "b.py", &old), &[0, 1]);
    check(pastes(pastes(chat(), "a.py", &old), "a.py", &new), &[1]);
    check(returns(pastes(chat(), "a.py", &old), "a.py", &new), &[1]);
    check(returns(pastes(chat(), "src/a.py", &old), "a.py", &old), &[1]);
    check(returns(pastes(chat(), "src/a.py", &old), "lib/a.py", &old), &[0, 1]);
    check(pastes(chat().user("Hello.").assistant("Yes?"), "a.py", &old), &[2]);
}

#[test]
fn an_excerpt_stands_beside_the_file_until_a_newer_one_comes() {
    let (all, few) = (file("a", 40), file("b", 12));
    let talk = returns(pastes(chat(), "a.py", &all), "a.py", &few);
    check(talk.clone(), &[0, 1]);
    // The same lines again take its place, and the next whole copy that of both.
    check(returns(talk.clone(), "a.py", &few), &[0, 2]);
    check(pastes(talk, "a.py", &file("c", 39)), &[2]);
}

#[test]
fn a_changed_part_of_a_file_stands_beside_it() {
    let all = file("a", 40);
    let changed = |lines: std::ops::Range<usize>| -> String {
        let line = |at| format!("a {} {at}\n", if at % 3 == 1 { "row" } else { "line" });
        lines.map(line).collect()
    };
    let then = |part: &str| returns(pastes(chat(), "a.py", &all), "a.py", part);
    check(then(&changed(0..33)), &[0, 1]);
    check(then(&changed(5..40)), &[0, 1]);
    // What begins and ends as the file does had something taken out.
    check(then(&(changed(0..20) + &changed(28..40))), &[1]);
    check(then(&changed(0..40)), &[1]);
}

#[test]
fn a_copy_that_nobody_names_is_known_by_its_lines() {
    let (one, changed) = (file("one", 20), file("one", 19) + "a new line\n");
    let other = file("other", 20);
    let gives = |chat: Chat, body: &str| chat.user(&format!("{body}Ok?")).holding_unnamed(body);
    let writes = |chat: Chat, body: &str| chat.assistant(body).holding_unnamed(body);
    check(gives(chat(), &one), &[0]);
    check(gives(gives(chat(), &one), &other), &[0, 1]);
    check(writes(gives(chat(), &one), &changed), &[1]);
    // A name may come later.
    check(returns(gives(chat(), &one), "a.py", &changed), &[1]);
    check(writes(pastes(chat(), "a.py", &one), &changed), &[1]);
    // What a model shows by itself is an example until it comes again.
    check(writes(chat().user("Show me."), &one), &[]);
    check(writes(writes(chat().user("Show me."), &one).user("Change it."), &changed), &[3]);
}

/// A script that reads a ledger, in words of its own for what it sums up.
fn script(subject: &str, indent: &str) -> String {
    let step = |at: usize| {
        format!(
            "def {subject}_step_{at}(ledger):\n{indent}{subject}_total = ledger.balance({at})\n\
             {indent}return {subject}_total\n"
        )
    };
    let fixed = "import decimal, pathlib, logging\nparser = argparse.ArgumentParser(prog='sums')\n";
    fixed.to_owned() + &(0..6).map(step).collect::<String>()
}

#[test]
fn what_a_model_words_anew_is_the_file_that_it_was_given() {
    let renamed = |text: &str| text.replace("ledger", "book").replace("return", "yield");
    let gives = |chat: Chat, body: &str| chat.user(&format!("{body}Ok?")).holding_unnamed(body);
    let writes = |chat: Chat, body: &str| chat.assistant(body).holding_unnamed(body);
    let given = script("sales", "    ");
    check(writes(gives(chat(), &given), &renamed(&given)), &[1]);
    check(writes(pastes(chat(), "a.py", &given), &renamed(&given)), &[1]);
    check(writes(gives(chat(), &given), &script("visit", "    ")), &[0]);
}

#[test]
fn what_is_said_under_the_name_of_a_file_takes_its_place_only_if_it_goes_on_from_it() {
    let given = script("sales", "    ");
    let output: String =
        (0..20).map(|at| format!("main.py:{at}: E501 too wide ({at})\n")).collect();
    check(pastes(pastes(chat(), "main.py", &given), "main.py", &output), &[0, 1]);
    check(returns(pastes(chat(), "main.py", &given), "main.py", &output), &[0, 1]);
    let next = script("visit", "    ").replace("ledger", "counter").replace("balance", "count");
    check(pastes(pastes(chat(), "main.py", &given), "main.py", &next), &[0, 1]);
    // Most of it may change under its own name.
    let changed: String = given.lines().take(8).map(|line| format!("{line}\n")).collect();
    let changed =
        changed + &next.lines().skip(8).map(|line| format!("{line}\n")).collect::<String>();
    check(returns(pastes(chat(), "main.py", &given), "main.py", &changed), &[1]);
}

#[test]
fn a_version_that_leaves_lines_out_stands_beside_the_file() {
    let given = script("sales", "    ");
    let lines: Vec<&str> = given.lines().collect();
    let part = |middle: &str, from: usize| {
        format!("{}\n{middle}\n{}\n", lines[..from].join("\n"), lines[from + 4..].join("\n"))
    };
    for middle in
        ["# same as above", "# other functions here", "# (Rest unverändert)", "# and so on"]
    {
        check(returns(pastes(chat(), "main.py", &given), "main.py", &part(middle, 10)), &[0, 1]);
    }
    // What is changed beside that does not make it whole.
    let changed = part("# the rest as before", 10).replace("logging", "logging, sys");
    check(returns(pastes(chat(), "main.py", &given), "main.py", &changed), &[0, 1]);
    // An answer may break off.
    let begun = lines[..16].join("\n") + "\n";
    check(returns(pastes(chat(), "main.py", &given), "main.py", &begun), &[0, 1]);
    let shorter = part("    total = 0", 10);
    check(returns(pastes(chat(), "main.py", &given), "main.py", &shorter), &[1]);
}

#[test]
fn a_new_version_leaves_a_file_alone_that_is_like_the_old_one() {
    let config = |place: &str| {
        let own = |at: usize| format!("{place}_host_{at}: {place}-{at}.internal\n");
        let all = |at: usize| format!("option_{at}_of_service: {at}\n");
        (0..10).map(all).collect::<String>() + &(0..3).map(own).collect::<String>()
    };
    let (staging, prod) = (config("staging"), config("production"));
    let both = pastes(pastes(chat(), "config.yaml", &staging), "prod/config.yaml", &prod);
    check(both.clone(), &[0, 1]);
    let changed = staging.replace("option_3_of_service: 3", "option_3_of_service: 30");
    check(both.assistant(&changed).holding_unnamed(&changed), &[1, 2]);
}

#[test]
fn texts_that_one_person_gives_without_a_name_may_be_two() {
    let gives = |chat: Chat, body: &str| chat.user(&format!("{body}Ok?")).holding_unnamed(body);
    let half = file("one", 20) + &file("two", 14);
    check(gives(gives(chat(), &file("one", 20)), &half), &[0, 1]);
    check(gives(gives(chat(), &file("one", 20)), &(file("one", 19) + "a new line\n")), &[1]);
    // In one message they are two, however alike they are.
    let (a, b) = (file("one", 20), file("one", 19) + "another line\n");
    let both = chat().user(&format!("{a}And:\n{b}Ok?")).holding_unnamed(&a).holding_unnamed(&b);
    let thread = check(both, &[0]);
    assert!(thread.restated(thread.entries().len()).texts.is_empty());
}

fn covering(covers: &[u32], text: &str) -> Plan {
    let checkpoint = Checkpoint {
        id: ContentId::for_text(text),
        covers: covers.iter().copied().map(EntryId).collect(),
        text: text.to_owned(),
        level: CheckpointLevel::Detailed,
        stand: CheckpointPlacement::default(),
        model: None,
    };
    Plan { ops: vec![Op::Summarize(checkpoint)], reason: "too large".to_owned() }
}

/// What the kernel refuses of a plan, if it does.
fn fault(thread: &Thread, plan: &Plan) -> Option<PlanFault> {
    let gauge = SizeGauge { counter: &FixedCounter::Quarters, unit: BudgetUnit::Tokens };
    let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
    apply(thread, &sizes, plan).err().map(|error| error.fault)
}

#[test]
fn a_file_leaves_by_its_name_alone() {
    let talk = pastes(chat(), "src/a.py", &file("a", 40)).assistant("Seen.");
    let thread = check(talk, &[0]);
    let refused = PlanFault::Pinned { entry: EntryId(0), pin: PinReason::File };
    assert_eq!(fault(&thread, &covering(&[0], "They talked.")), Some(refused.clone()));
    assert_eq!(fault(&thread, &covering(&[0], "They talked of src/a.py.")), None);
    let drop = Op::Drop { entries: vec![EntryId(0)] };
    let drop = Plan { ops: vec![drop], reason: String::new() };
    // That holds where it may leave, too.
    let loose = thread.letting_go(&[EntryId(0)]);
    assert_eq!(loose.pinned(EntryId(0)), None);
    assert_eq!(fault(&loose, &drop), Some(refused.clone()));
    assert_eq!(fault(&loose, &covering(&[0], "They talked.")), Some(refused));
}

#[test]
fn what_stands_beside_a_file_may_be_in_other_words() {
    let body = file("a", 40);
    let long = "It is a long story. ".repeat(50);
    let talk = chat().user(&format!("{long}\n{body}")).holding("a.py", &body);
    let thread = check(talk, &[0]);
    let part = PartId { entry: EntryId(0), part: 0 };
    assert_eq!(thread.frozen(part), Some(FreezeReason::Pinned(PinReason::File)));
    let with = |with: String| {
        let op = Op::Replace { part, with, how: ReplaceMethod::Cut };
        fault(&thread, &Plan { ops: vec![op], reason: String::new() })
    };
    assert_eq!(with(format!("A story.\n{body}")), None);
    let refused = PlanFault::Pinned { entry: EntryId(0), pin: PinReason::File };
    assert_eq!(with(format!("A story.\n{}", file("a", 39))), Some(refused));
}

#[test]
fn older_copies_leave_a_message_that_stays() {
    let (old, other) = (file("an old and rather long", 20), file("other", 20));
    let both = format!("See a.py:\n{old}And b.py:\n{other}Thanks.");
    let talk = chat().user(&both).holding("a.py", &old).holding("b.py", &other).assistant("Seen.");
    let thread = check(pastes(talk, "a.py", &file("a new and rather long", 20)), &[0, 2]);
    let left = thread.restated(thread.entries().len());
    let [text] = &left.texts[..] else { panic!("{:?}", left.texts) };
    assert_eq!(text.part, PartId { entry: EntryId(0), part: 0 });
    let with = "See a.py:\n(older than the copy of a.py further down)\nAnd b.py:\n";
    assert_eq!(text.with, format!("{with}{other}Thanks."));
    let op = Op::Replace { part: text.part, with: text.with.clone(), how: ReplaceMethod::Cut };
    assert_eq!(fault(&thread, &Plan { ops: vec![op], reason: String::new() }), None);
}
