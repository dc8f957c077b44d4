//! What a policy orders, made over several compressions.

use std::ops::RangeInclusive;
use std::sync::Arc;

use epitome::types::hook::{
    AgeOrder, Ageing, Drop, Fit, FitOp, Handover, How, Insert, Merge, MessageNumber, OpRequest,
    Orders, PinOrder, Replace, Rollover, Summarize, SummarizeUserOp, Warn, WriteFile,
};
use epitome::types::{EventKind, Role, SkipReason};
use epitome::{Answer, CompressionTarget, HookResult, Job, MemoryStore, NextPolicies};
use epitome_testkit::now;
use serde_json::{Value, json};

use crate::host::{bytes, conversation};
use crate::talk::{By, Talk, builder, errors, is_valid, names, text, texts, with};

fn ordered(ops: Vec<OpRequest>) -> Option<Answer> {
    Some(Answer::Plan(Orders { ops, reason: Some("it was time".to_owned()), ..Orders::default() }))
}

pub(crate) fn places(from: u32, to: u32) -> Vec<MessageNumber> {
    (from..=to).map(MessageNumber).collect()
}

/// Orders of every kind over three compressions, the second with ageing.
fn plans(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    let answer = match job {
        Job::Plan(job) => match job.common.compressions {
            0 => ordered(vec![
                OpRequest::Summarize(Summarize { entries: places(2, 7), target: 60, level: None }),
                OpRequest::Summarize(Summarize {
                    entries: places(8, 11),
                    target: 50,
                    level: Some(2),
                }),
                OpRequest::SummarizeUser(SummarizeUserOp {
                    entries: vec![MessageNumber(12), MessageNumber(14)],
                    target: 60,
                }),
                OpRequest::Drop(Drop { entries: places(16, 17) }),
                OpRequest::Replace(Replace {
                    entry: MessageNumber(19),
                    how: How::Mask,
                    text: Some("The file is gone.".to_owned()),
                    target: None,
                    call: None,
                }),
                OpRequest::Replace(Replace {
                    entry: MessageNumber(21),
                    how: How::Cut,
                    text: None,
                    target: Some(40),
                    call: None,
                }),
                OpRequest::Insert(Insert {
                    after: MessageNumber(21),
                    role: Role::User,
                    text: "A note of the team.".to_owned(),
                }),
                OpRequest::Pin(PinOrder { entries: vec![MessageNumber(13)] }),
                OpRequest::Warn(Warn { text: "It is getting long.".to_owned() }),
            ]),
            1 => {
                let checkpoints: Vec<_> =
                    job.checkpoints.iter().map(|one| one.id.clone()).collect();
                let checkpoint = checkpoints[2].clone();
                ordered(vec![
                    OpRequest::Merge(Merge {
                        checkpoints: checkpoints[..2].to_vec(),
                        target: 50,
                        to: None,
                    }),
                    OpRequest::Age(AgeOrder { checkpoint, to: 1, target: 35 }),
                ])
            }
            _ => ordered(vec![OpRequest::Rollover(Rollover { target: 80 })]),
        },
        // The merged checkpoint is written smaller in the same compression.
        Job::Age(job) if job.common.compressions == 1 => {
            let merged = job.checkpoints.iter().find(|one| one.level == 0);
            let aged = merged.map(|one| Ageing { checkpoint: one.id.clone(), to: 0, target: 30 });
            Some(Answer::Age(aged.into_iter().collect()))
        }
        _ => None,
    };
    Ok(answer)
}

#[test]
fn a_plan_is_made_as_it_was_ordered() {
    let journal = Arc::new(MemoryStore::new());
    let mut talk = Talk::of(with(4000, plans), &journal);
    talk.say("system", "You mend parsers.");
    talk.chat(8);
    talk.read(&"first ".repeat(200));
    talk.read(&(0..100).map(|line| format!("line {line}\n")).collect::<String>());
    talk.say("user", "Is it done?");
    let first = talk.compressed();
    assert_eq!(errors(&first), [""; 0]);
    let said = text(&first);
    let all = texts(&first);
    assert!(is_valid(&first), "{said}");
    assert!(said.contains("The file is gone.") && !said.contains("first first"));
    assert!(said.contains("line 0") && said.contains("line 99") && !said.contains("line 50\\n"));
    assert!(said.contains("A note of the team."));
    assert!(!said.contains("Answer 7:") && said.contains("Answer 5:"), "{said}");
    let happened = names(&first.events);
    for expected in ["policy-warning", "compressed", "pinned", "auto-snapshot-created"] {
        assert!(happened.iter().any(|name| name == expected), "{expected} of {happened:?}");
    }
    let ops = first.events.iter().find_map(|event| match &event.what {
        EventKind::Compressed { ops, .. } => Some(ops.clone()),
        _ => None,
    });
    assert!(ops.unwrap().iter().all(|op| op.policy == "team" && op.hook == "plan"));
    talk.say("assistant", "It is done.");
    talk.say("user", "Go on.");

    let second = talk.compressed();
    assert_eq!(errors(&second), [""; 0]);
    let happened = names(&second.events);
    for expected in ["checkpoint-merged", "checkpoint-aged"] {
        assert!(happened.iter().any(|name| name == expected), "{expected} of {happened:?}");
    }
    assert!(second.by[1].checkpoints < first.by[1].checkpoints);
    // What was not touched stays as the first compression left it.
    let kept =
        |all: &[String]| all.iter().filter(|one| one.contains("A note of the team.")).count();
    assert_eq!((kept(&texts(&second)), kept(&all)), (1, 1));
    assert!(text(&second).contains("The file is gone.") && is_valid(&second));

    talk.say("assistant", "I go on.");
    talk.say("user", "And on.");
    let third = talk.compressed();
    assert_eq!(errors(&third), [""; 0]);
    // All but the system prompt, what is pinned and what was typed last is one checkpoint.
    assert!(is_valid(&third) && third.tokens[1] < second.tokens[1]);
    assert!(text(&third).contains("Answer 5:") && !text(&third).contains("The file is gone."));
    // Another process sends the same.
    let mut again = Talk::of(builder(4000), &journal);
    assert_eq!(text(&again.prompt()), text(&third));
}

#[test]
fn an_order_that_cannot_be_carried_out_is_told_and_the_built_in_plan_is_made() {
    let check = |order: fn() -> OpRequest, expected: &str| {
        let mut talk = Talk::new(with(1000, move |job, _| {
            Ok(matches!(job, Job::Plan(_)).then(|| ordered(vec![order()])).flatten())
        }));
        talk.chat(30);
        let prompt = talk.prompt();
        assert_eq!(errors(&prompt), [format!("preparation: team: {expected}")]);
        let mut plain = Talk::new(builder(1000));
        plain.chat(30);
        assert_eq!(text(&prompt), text(&plain.prompt()));
    };
    check(
        || OpRequest::Drop(Drop { entries: places(60, 61) }),
        "no message 61; `job.entries` has 1 to 60",
    );
    check(
        || OpRequest::Age(AgeOrder { checkpoint: "c0ffee".to_owned(), to: 1, target: 9 }),
        "no checkpoint `c0ffee` stands in the prompt; there is none",
    );
    check(
        || OpRequest::Summarize(Summarize { entries: places(2, 3), target: 9, level: Some(7) }),
        "no level 7; there is 3 (detailed), 2 (moderate), 1 (compact), 0 (merged)",
    );
}

/// Who ordered the plan that was made, of two policies that order this, one behind the other.
#[track_caller]
fn made_by(
    first: fn() -> Vec<OpRequest>,
    second: fn() -> Vec<OpRequest>,
) -> (Vec<String>, Vec<String>) {
    let plan = |ops: fn() -> Vec<OpRequest>| {
        move |job: &Job<'_>, _: &NextPolicies<'_>| {
            Ok(matches!(job, Job::Plan(_)).then(|| ordered(ops())).flatten())
        }
    };
    let builder = builder(1000).policy(By("first", plan(first))).policy(By("second", plan(second)));
    let mut talk = Talk::new(builder);
    talk.chat(30);
    let prompt = talk.prompt();
    assert!(prompt.tokens[1] <= 1000 && is_valid(&prompt));
    let ops = prompt.events.iter().filter_map(|event| match &event.what {
        EventKind::Compressed { ops, .. } => Some(ops),
        _ => None,
    });
    let mut policies: Vec<_> = ops.flatten().map(|op| op.policy.clone()).collect();
    policies.dedup();
    let said = errors(&prompt);
    // It is said once.
    talk.chat(30);
    assert!(errors(&talk.prompt()).iter().all(|error| !said.contains(error)));
    (policies, said)
}

#[test]
fn where_a_plan_comes_to_nothing_the_next_policy_answers_and_is_credited() {
    let check =
        |first: fn() -> Vec<OpRequest>, second: fn() -> Vec<OpRequest>, by: &str, told: &[&str]| {
            let (policies, said) = made_by(first, second);
            assert_eq!(
                (policies, said),
                (vec![by.to_owned()], told.iter().map(ToString::to_string).collect())
            );
        };
    let little = || vec![OpRequest::Drop(Drop { entries: places(1, 2) })];
    let wrong = || vec![OpRequest::Drop(Drop { entries: places(500, 501) })];
    let nothing = Vec::new;
    let good = || vec![OpRequest::Drop(Drop { entries: places(1, 50) })];
    const LITTLE: &str = "checkpoint_creation: first: what it orders does not come to 875 tokens \
                          with all that people demanded and the profile keeps";
    const WRONG: &str = "preparation: first: no message 500; `job.entries` has 1 to 60";
    check(good, little, "first", &[]);
    check(little, good, "second", &[LITTLE]);
    check(wrong, good, "second", &[WRONG]);
    check(nothing, good, "second", &[]);
    let also = WRONG.replace("first", "second");
    check(little, wrong, "builtin", &[LITTLE, &also]);
}

/// A refused plan of a single conversation, too.
#[test]
fn a_report_credits_whoever_made_the_plan() {
    let wrong = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let ops = || vec![OpRequest::Drop(Drop { entries: places(500, 501) })];
        Ok(matches!(job, Job::Plan(_)).then(|| ordered(ops())).flatten())
    };
    let builder = with(2000, wrong).target(CompressionTarget::Tokens(300));
    let report = now(builder.build().compress(&bytes(&conversation(12)))).unwrap().report;
    assert!(report.after.tokens <= 300);
    assert!(!report.ops.is_empty() && report.ops.iter().all(|op| op.policy == "builtin"));
    let told: Vec<_> = report.warnings.iter().filter(|one| one.contains("no message")).collect();
    assert!(matches!(told[..], [one] if one.starts_with("team: no message 500;")), "{told:?}");
}

#[test]
fn nothing_ordered_is_nothing_done() {
    let nothing = |job: &Job<'_>, _: &NextPolicies<'_>| {
        Ok(matches!(job, Job::Plan(_)).then(|| ordered(Vec::new())).flatten())
    };
    let mut talk = Talk::new(with(1000, nothing));
    talk.chat(10);
    let prompt = talk.compressed();
    let skipped = EventKind::CompressionSkipped { reason: SkipReason::NothingToCompress };
    assert!(prompt.epoch.is_none() && prompt.events.iter().any(|event| event.what == skipped));
    // The window forces it all the same.
    talk.chat(20);
    assert!(talk.prompt().tokens[1] <= 1000);
}

/// What only sessions do is told where a single conversation is compressed.
#[test]
fn a_single_conversation_writes_no_files_for_its_policies() {
    let archives = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let Job::Plan(_) = job else { return Ok(None) };
        let name = "archive/talk_full.md".to_owned();
        let export = OpRequest::WriteFile(WriteFile { name, text: None, append: None });
        let ops =
            vec![OpRequest::Fit(Fit::default()), export, OpRequest::Handover(Handover::default())];
        Ok(ordered(ops))
    };
    let builder = with(2000, archives).target(CompressionTarget::Tokens(300));
    let compressed = now(builder.build().compress(&bytes(&conversation(12)))).unwrap();
    assert!(compressed.report.after.tokens <= 300);
    let expected = [
        "`archive/talk_full.md` is not written: only a session writes files for its policies",
        "a policy recommends a fresh session",
    ];
    assert_eq!(compressed.report.warnings, expected);
}

/// A fit that leaves messages alone, by their places.
fn fits_around(
    places: RangeInclusive<u32>,
) -> impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> {
    move |job, _| {
        let keep = Some(places.clone().map(MessageNumber).collect());
        let fit = Fit { keep, ..Fit::default() };
        Ok(matches!(job, Job::Plan(_)).then(|| ordered(vec![OpRequest::Fit(fit)])).flatten())
    }
}

/// What a fit leaves alone stays whole in this plan, of a live conversation and of one that stands by
/// itself, and is pinned for no other.
#[test]
fn a_fit_leaves_alone_what_it_is_told_to() {
    let word = "word3 ".repeat(20);
    let stays = [format!("Question 3: {word}"), format!("Answer 3: {word}")];
    let mut talk = Talk::new(with(2000, fits_around(7..=8)));
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(is_valid(&prompt) && stays.iter().all(|one| texts(&prompt).contains(one)));
    assert!(!texts(&prompt).iter().any(|one| one.starts_with("Question 2: ")));
    let mut plain = Talk::new(with(2000, fits_around(40..=40)));
    plain.chat(20);
    assert!(!plain.compressed().bytes.is_empty());
    assert!(!texts(&plain.prompt()).contains(&stays[0]));
    let input = conversation(20);
    let alone = with(2000, fits_around(7..=8)).build();
    let sent = now(alone.compress(&bytes(&input))).unwrap().bytes;
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    let sent = sent.as_array().unwrap();
    assert!(sent.len() < 60 && [6, 7].iter().all(|at| sent.contains(&input[*at])), "{sent:?}");
}

/// A fit that masks a message and adds another to what stays.
fn fits_and(also: Vec<FitOp>) -> impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> {
    move |job, _| {
        let fit = Fit { also: Some(also.clone()), ..Fit::default() };
        Ok(matches!(job, Job::Plan(_)).then(|| ordered(vec![OpRequest::Fit(fit)])).flatten())
    }
}

fn masked(place: u32) -> FitOp {
    FitOp::Replace(Replace {
        entry: MessageNumber(place),
        how: How::Mask,
        text: Some("[masked]".to_owned()),
        target: None,
        call: None,
    })
}

/// What is done beside a fit is done to what stays, and the room that it frees is filled.
#[test]
fn what_is_done_beside_a_fit_makes_room_for_more() {
    let compressed = |also: Vec<FitOp>| {
        let mut talk = Talk::new(with(2000, fits_and(also)));
        talk.chat(20);
        talk.compressed()
    };
    let stays = |prompt: &epitome::Prompt| {
        texts(prompt).iter().filter(|one| one.starts_with("Answer ")).count()
    };
    let plain = compressed(Vec::new());
    // Answers of the talk, the newest among them; those that leave with the others are passed over.
    let also = compressed((8..=19).map(|at| masked(2 * at)).collect());
    assert!(is_valid(&also) && also.tokens[1] <= 2000, "{:?}", also.tokens);
    let count = texts(&also).iter().filter(|one| *one == "[masked]").count();
    assert!(count > 0, "{}", text(&also));
    assert!(count + stays(&also) > stays(&plain), "{} and {}", text(&also), text(&plain));
    let note = Insert {
        after: MessageNumber(36),
        role: Role::User,
        text: "A note of the team.".to_owned(),
    };
    let noted = compressed(vec![FitOp::Insert(note)]);
    assert!(
        texts(&noted).iter().any(|one| one.contains("A note of the team.")),
        "{}",
        text(&noted)
    );
    assert!(noted.tokens[1] <= 2000);
}

/// What is not there cannot be masked: those behind decide.
#[test]
fn what_is_wrong_beside_a_fit_is_told_and_passed_over() {
    let mut talk = Talk::new(with(2000, fits_and(vec![masked(500)])));
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(prompt.epoch.is_some());
    assert!(
        errors(&prompt).iter().any(|one| one.contains("no message 500")),
        "{:?}",
        errors(&prompt)
    );
}

/// More than a quarter of the limit is not left alone: of it the newest messages are.
#[test]
fn a_fit_leaves_no_more_alone_than_a_policy_may_pin() {
    let mut talk = Talk::new(with(2000, fits_around(1..=28)));
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(is_valid(&prompt) && prompt.tokens[1] <= 2000, "{:?}", prompt.tokens);
    let told = prompt.events.iter().any(|event| {
        matches!(&event.what,
        EventKind::AnswerBounded { what, given, .. } if what == "fit.keep" && *given <= 500)
    });
    assert!(told, "{:?}", prompt.events);
    let newest = format!("Question 13: {}", "word13 ".repeat(20));
    assert!(texts(&prompt).contains(&newest), "{}", text(&prompt));
}

/// A message that is to stay and is not there is a mistake, which is told.
#[test]
fn a_fit_that_leaves_alone_what_is_not_there_is_passed_over() {
    let mut talk = Talk::new(with(2000, fits_around(999..=999)));
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(is_valid(&prompt) && prompt.tokens[1] <= 2000, "{:?}", prompt.tokens);
    let told = prompt.events.iter().any(|event| {
        matches!(&event.what,
        EventKind::CompressionError { cause, .. } if cause.starts_with("team: no message 999"))
    });
    assert!(told, "{:?}", prompt.events);
}

/// A plan that a provider would refuse leaves the conversation to the policies behind it.
#[test]
fn a_plan_that_would_be_refused_is_passed_over() {
    let drops = |job: &Job<'_>, _: &NextPolicies<'_>| {
        let order = OpRequest::Drop(Drop { entries: places(1, 1) });
        Ok(matches!(job, Job::Plan(_)).then(|| ordered(vec![order])).flatten())
    };
    let word = "row of the table ".repeat(80);
    let call = |id: &str| {
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {}}]})
    };
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": word});
    let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": word}, call("t1"),
        {"role": "user", "content": [result("t1"), {"type": "text", "text": "keep port 443"}]},
        call("t2"), {"role": "user", "content": [result("t2")]}]});
    let compressor = with(900, drops).target(CompressionTarget::Tokens(900)).build();
    let sent = now(compressor.compress(request.to_string().as_bytes())).unwrap();
    let told = sent.report.warnings.join("\n");
    assert!(told.contains("team: ") && told.contains("the first message must be"), "{told}");
    let sent: Value = serde_json::from_slice(&sent.bytes).unwrap();
    assert_eq!(sent["messages"][0]["role"], "user");
    assert!(sent.to_string().contains("keep port 443"));
}
