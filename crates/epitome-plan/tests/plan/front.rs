//! Checkpoints at the front and in the assistant's role (RULES 11).

use epitome_kernel::types::hook::OpRequest;
use epitome_kernel::types::{CheckpointPlacement, Op, Plan, Role};
use epitome_kernel::{Summarizer, Thread};
use epitome_plan::{CompressOptions, PlannedCompression};
use epitome_testkit::{Chat, Script, ScriptedSummarizer, chat};

use crate::assembly::{PLENTY, checkpoints, insert, make, summarize};
use crate::help::{
    assert_recorded, assert_sound, compressed, lines, options, run, session, texts, tokens,
};

const STATE: &str = "Goal: mend the parser.";

fn ground(chat: Chat, stand: CheckpointPlacement) -> (Thread, CompressOptions) {
    let state = Some(STATE.to_owned());
    (Thread::new(chat.entries(), &[]), CompressOptions { stand, state, ..options() })
}

#[track_caller]
fn done<'t>(
    ground: &'t (Thread, CompressOptions),
    standing: &Plan,
    ops: Vec<OpRequest>,
) -> Box<PlannedCompression<'t>> {
    let summarizer = ScriptedSummarizer::new(Script::Fill);
    let summarizers: [&dyn Summarizer; 1] = [&summarizer];
    let done = compressed(make(ground, PLENTY, standing, ops, &summarizers));
    assert_sound(&ground.0, &done.view);
    assert_recorded(&ground.0, &done);
    done
}

#[test]
fn the_front_is_behind_the_system_prompt_oldest_first() {
    let ground = ground(session(), CheckpointPlacement { front: true, assistant: false });
    let later = done(&ground, &Plan::default(), vec![summarize(8, 14, 150), insert(26, "a note")]);
    let done = done(&ground, &later.plan, vec![summarize(2, 8, 150)]);
    let [older, newer] = checkpoints(&done.plan)[..] else { panic!("{:?}", done.plan) };
    assert!(older.stand.front && newer.stand.front);
    let texts = texts(&done.view);
    let system = ground.0.entries()[0].readable();
    assert_eq!(&texts[..4], [&*system, &older.text, &newer.text, STATE]);
    assert_eq!(texts[4], ground.0.entries()[1].readable());
    assert!(texts.iter().skip(5).any(|text| text == "a note"), "notes stay where they stood");
}

#[test]
fn the_kernels_own_way_puts_it_there_too() {
    let front = CheckpointPlacement { front: true, assistant: true };
    let ground = ground(session(), front);
    let done = compressed(run(&ground.0, &ground.1, tokens(500), &Script::Fill));
    assert_sound(&ground.0, &done.view);
    let entries = done.view.entries();
    assert_eq!(checkpoints(&done.plan)[0].stand, front);
    assert_eq!((entries[1].role, entries[2].role), (Role::Assistant, Role::User));
    assert_eq!(entries[2].readable(), STATE);
}

/// Whether the assistant says the checkpoints.
#[track_caller]
fn check_assistant(ground: &(Thread, CompressOptions), ops: Vec<OpRequest>, expected: &[bool]) {
    let done = done(ground, &Plan::default(), ops);
    let said: Vec<_> = checkpoints(&done.plan).into_iter().map(|one| one.stand.assistant).collect();
    assert_eq!(said, expected);
    let last = done.view.entries().pop().expect("a message");
    assert!(last.role != Role::Assistant || last.parts[0].body == ground_last(&ground.0));
}

fn ground_last(thread: &Thread) -> epitome_kernel::types::PartBody {
    thread.entries().last().expect("a message").parts[0].body.clone()
}

#[test]
fn the_assistant_never_has_the_last_word_that_it_did_not_say() {
    let assistant = CheckpointPlacement { front: false, assistant: true };
    let ends = |talk: Chat| ground(talk, assistant);
    let working = chat().user("Read them.").assistant(&lines(9)).assistant(&lines(9));
    check_assistant(&ends(working.clone().user("Go on.")), vec![summarize(1, 3, 60)], &[true]);
    let read = |talk: Chat| talk.call("read", "{}").result(&lines(20));
    let one = chat().user("Read.");
    check_assistant(&ends(read(one.clone())), vec![summarize(1, 3, 60)], &[false]);
    let two = read(read(one));
    check_assistant(
        &ends(two.clone()),
        vec![summarize(1, 3, 60), summarize(3, 5, 60)],
        &[false, false],
    );
    check_assistant(&ends(two), vec![summarize(1, 3, 60)], &[true]);
    let front = ground(session(), CheckpointPlacement { front: true, assistant: true });
    check_assistant(&front, vec![summarize(2, 8, 150)], &[true]);
}

#[test]
fn what_was_recorded_before_stands_as_it_did() {
    let ground = ground(session(), CheckpointPlacement::default());
    let plan = done(&ground, &Plan::default(), vec![summarize(2, 8, 150)]).plan;
    assert!(
        matches!(&plan.ops[0], Op::Summarize(one) if one.stand == CheckpointPlacement::default())
    );
}
