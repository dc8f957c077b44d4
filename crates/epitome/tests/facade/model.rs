//! Checkpoints that a language model writes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use epitome::types::hook::{
    AgeOrder, Line, Merge, MessageNumber, OpRequest, Orders, Purpose, Rejected, Seconded,
    Summarize, SummarizeUserOp, SummaryPrompt, VerifyAnswer,
};
use epitome::types::{Event, EventKind};
use epitome::{
    Answer, CompressionTarget, HookInterrupt, HookResult, Job, LanguageModel, LiveRequest,
    MemoryStore, ModelError, ModelLimitHit, ModelQuestion, NextPolicies, Profile, Prompt,
    SessionAdmin,
};
use epitome_testkit::{ScriptedModel, now};

use crate::host::{bytes, conversation};
use crate::talk::{By, Talk, builder, errors, text, texts};

const WORDED: &str = "Keep:\n{must_keep}\nTold:\n{conversation}";

fn worded() -> Answer {
    let user = WORDED.to_owned();
    let system = Some("You sum up.".to_owned());
    Answer::SummaryPrompt(SummaryPrompt {
        model: None,
        style: Line::Separate,
        system,
        user,
        max_tokens: None,
        sections: None,
        beside: None,
        rest: None,
    })
}

/// Has the model write the checkpoints.
pub(crate) fn asks(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    Ok(matches!(job, Job::SummaryPrompt(_)).then(worded))
}

/// Has the model write, and judges what it wrote.
pub(crate) fn judging(
    verdict: VerifyAnswer,
) -> impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> {
    move |job, _| {
        Ok(match job {
            Job::SummaryPrompt(_) => Some(worded()),
            Job::Verify(_) => Some(Answer::Verify(verdict.clone())),
            _ => None,
        })
    }
}

/// A talk that fills half of its window.
fn talk(
    model: &ScriptedModel,
    policy: impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> + Send + Sync + 'static,
) -> Talk {
    let mut talk = Talk::new(builder(2000).model(model.clone()).policy(By("asks", policy)));
    talk.say("user", "Never touch src/main.rs, it is frozen.");
    talk.chat(20);
    talk
}

#[test]
fn a_policy_words_the_question_and_the_model_answers() {
    let model = ScriptedModel::saying(&["All was said. src/main.rs stays."]);
    let mut talk = talk(&model, asks);
    let prompt = talk.compressed();
    assert_eq!(errors(&prompt), [""; 0]);
    let summary = texts(&prompt).into_iter().find(|one| one.contains("src/main.rs stays."));
    assert!(summary.is_some(), "{}", text(&prompt));
    let asked = model.asked();
    assert_eq!(asked.len(), 1);
    let ModelQuestion { system, user, max_tokens, .. } = &asked[0];
    assert_eq!(system.as_deref(), Some("You sum up."));
    // What the user orders stands in the prompt already, in the state of the work.
    assert!(user.starts_with("Keep:\n- word0\n- word1\n"), "{user}");
    assert!(text(&prompt).contains("- Never touch src/main.rs, it is frozen."));
    assert!(user.contains("\nTold:\nuser: Never touch src/main.rs, it is frozen.\n\nuser: Q"));
    assert!(user.contains("\n\nassistant: Answer 0: word0"));
    // What stays in the prompt needs not be told.
    assert!(!user.contains("Answer 19") && text(&prompt).contains("Answer 19"));
    assert!(max_tokens.is_some_and(|most| most > 100 && most < 2000), "{max_tokens:?}");
}

/// Has no model asked.
fn never(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    let (style, user) = (Line::None, String::new());
    let none = SummaryPrompt {
        model: None,
        style,
        system: None,
        user,
        max_tokens: None,
        sections: None,
        beside: None,
        rest: None,
    };
    Ok(matches!(job, Job::SummaryPrompt(_)).then_some(Answer::SummaryPrompt(none)))
}

#[test]
fn no_model_is_asked_where_a_policy_says_so() {
    let model = ScriptedModel::saying(&["I was asked."]);
    let prompt = talk(&model, never).compressed();
    assert!(!text(&prompt).contains("I was asked."));
    assert_eq!((model.asked(), errors(&prompt)), (vec![], vec![]));
}

/// Has the model of this name asked before the others.
fn asking(name: &'static str) -> impl Fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer> {
    move |job, _| {
        let Answer::SummaryPrompt(prompt) = worded() else { return Ok(None) };
        let Job::SummaryPrompt(job) = job else { return Ok(None) };
        assert_eq!(job.common.talk.models, ["large", "small"]);
        let model = Some(name.to_owned());
        Ok(Some(Answer::SummaryPrompt(SummaryPrompt { model, ..prompt })))
    }
}

/// A model under a name of its own.
#[derive(Clone)]
struct Named(&'static str, ScriptedModel);

#[async_trait]
impl LanguageModel for Named {
    fn name(&self) -> &str {
        self.0
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        self.1.complete(ask).await
    }
}

/// The prompt of a talk with a large and a small model, of which a policy chooses one.
fn chosen(name: &'static str, small: &ScriptedModel) -> Prompt {
    let large = Named("large", ScriptedModel::saying(&["The large one wrote."]));
    let small = Named("small", small.clone());
    let builder = builder(2000).model(large).model(small);
    let mut talk = Talk::new(builder.policy(By("asks", asking(name))));
    talk.chat(20);
    talk.compressed()
}

#[test]
fn a_policy_says_which_model_writes() {
    let small = || ScriptedModel::saying(&["The small one wrote."]);
    for (name, wrote) in [("small", "The small one wrote."), ("large", "The large one wrote.")] {
        let prompt = chosen(name, &small());
        assert!(text(&prompt).contains(wrote), "{name}: {}", text(&prompt));
        assert_eq!(errors(&prompt), [""; 0]);
    }
    // One that fails leaves the others to write.
    let prompt = chosen("small", &ScriptedModel::failing("it is down"));
    assert!(text(&prompt).contains("The large one wrote."), "{}", text(&prompt));
    // One that is not there is told, and the first writes.
    let prompt = chosen("tiny", &small());
    assert!(text(&prompt).contains("The large one wrote."), "{}", text(&prompt));
    let told = errors(&prompt).join("\n");
    assert!(told.contains("there is no model `tiny`; `job.models` has `large`, `small`"), "{told}");
}

/// Where no policy has an opinion the built-in one words the question, and what the model forgot is
/// added.
#[test]
fn a_model_is_enough() {
    let model = ScriptedModel::saying(&["Much was said, and src/main.rs is frozen."]);
    let prompt = talk(&model, |_, _| Ok(None)).compressed();
    assert_eq!(errors(&prompt), [""; 0]);
    let said = text(&prompt);
    let beside =
        "Much was said, and src/main.rs is frozen.\\nIn the words of the conversation:\\nUser:";
    assert!(said.contains(beside), "{said}");
    let asked = model.asked();
    assert!(asked[0].user.contains("\n\nuser: Never touch src/main.rs, it is frozen.\n\nuser: Q"));
    assert!(asked[0].user.contains("- word0\n- word1\n") && asked[0].within.is_some());
}

/// Has the model write the checkpoints, and what room it leaves filled.
fn filled(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    let Answer::SummaryPrompt(prompt) = worded() else { return Ok(None) };
    let rest = Some("As it was said:".to_owned());
    let filled = Answer::SummaryPrompt(SummaryPrompt { rest, ..prompt });
    Ok(matches!(job, Job::SummaryPrompt(_)).then_some(filled))
}

/// A model that says little leaves room, which is filled with what was said; without a word for it
/// the room stays empty.
#[test]
fn what_room_a_model_leaves_is_filled_where_a_policy_says_so() {
    let said = "Much was said, and src/main.rs is frozen.";
    let model = || ScriptedModel::saying(&[said]);
    let bare = text(&talk(&model(), asks).compressed());
    let filled = text(&talk(&model(), filled).compressed());
    assert!(bare.contains(said) && filled.contains(said), "{bare}\n{filled}");
    assert!(filled.contains("As it was said:\\n"), "{filled}");
    assert!(filled.len() > bare.len() + 400, "{} {}", filled.len(), bare.len());
}

#[test]
fn the_next_model_is_asked_where_one_fails() {
    let sorry = "I'm sorry, but I can't help with that.";
    let (one, other) = (ScriptedModel::saying(&[sorry]), ScriptedModel::saying(&["All was said."]));
    let builder = builder(2000).model(one).model(other.clone()).policy(By("asks", asks));
    let mut talk = Talk::new(builder);
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(text(&prompt).contains("All was said."));
    let expected = format!("summarisation: summariser 1 gave up: `scripted` refused: “{sorry}”");
    assert_eq!(errors(&prompt), [expected]);
    assert_eq!(other.asked().len(), 1);
}

#[test]
fn what_comes_to_nothing_is_written_without_a_model() {
    let alone = text(&talk(&ScriptedModel::saying(&[]), never).compressed());
    let check = |model: ScriptedModel,
                 policy: fn(&Job<'_>, &NextPolicies<'_>) -> HookResult<Answer>,
                 asked,
                 why: &str| {
        let prompt = talk(&model, policy).compressed();
        assert_eq!(text(&prompt), alone);
        let expected = format!("summarisation: summariser 1 gave up: {why}");
        assert_eq!(errors(&prompt), [expected]);
        assert_eq!(model.asked().len(), asked, "{why}");
    };
    let down = "the model `scripted` did not answer: it is down";
    check(ScriptedModel::failing("it is down"), asks, 1, down);
    check(ScriptedModel::saying(&[" \n"]), asks, 1, "`scripted` wrote nothing");
    let long = "word ".repeat(3000);
    let most = {
        let model = ScriptedModel::saying(&["Short."]);
        talk(&model, asks).compressed();
        model.asked()[0].max_tokens.unwrap()
    };
    let why = format!("`scripted` writes more than {most} tokens");
    check(ScriptedModel::saying(&[&long]), asks, 2, &why);
    let reject = |job: &Job<'_>, rest: &NextPolicies<'_>| {
        judging(VerifyAnswer::Reject(Rejected { reject: "it is dull".to_owned() }))(job, rest)
    };
    check(ScriptedModel::saying(&["Dull."]), reject, 1, "a policy did not take it: it is dull");
    let no =
        |job: &Job<'_>, rest: &NextPolicies<'_>| judging(VerifyAnswer::Plain(false))(job, rest);
    check(ScriptedModel::saying(&["Dull."]), no, 1, "a policy did not take it");
    let sections = |job: &Job<'_>, _: &NextPolicies<'_>| match (job, worded()) {
        (Job::SummaryPrompt(_), Answer::SummaryPrompt(prompt)) => {
            let sections = Some(vec!["## Done".to_owned(), "## Open".to_owned()]);
            Ok(Some(Answer::SummaryPrompt(SummaryPrompt { sections, ..prompt })))
        }
        _ => Ok(None),
    };
    check(ScriptedModel::saying(&["## Done\nAll."]), sections, 1, "`scripted` left out `## Open`");
}

#[test]
fn what_is_too_long_is_asked_for_again_smaller() {
    let model = ScriptedModel::saying(&[&"long ".repeat(2000), "Short enough."]);
    let prompt = talk(&model, asks).compressed();
    assert!(text(&prompt).contains("Short enough."));
    assert_eq!(errors(&prompt), [""; 0]);
    let most: Vec<_> = model.asked().iter().map(|ask| ask.max_tokens.unwrap()).collect();
    assert_eq!(most.len(), 2);
    assert_eq!(most[1], most[0] * most[0] / 2000);
}

#[test]
fn a_policy_adds_to_a_summary_and_doubts_it() {
    let journal = Arc::new(MemoryStore::new());
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = shown.clone();
    let policy = By("asks", move |job: &Job<'_>, rest: &NextPolicies<'_>| {
        if let Job::Verify(job) = job {
            let covered =
                (1..=job.covered.count).map(|at| job.texts.text(MessageNumber(at)).unwrap());
            let facts = job.must_keep.clone();
            let shown = (facts, job.candidate.clone(), job.tokens, covered.collect::<Vec<_>>());
            seen.lock().unwrap().push(shown);
        }
        let append = Some("Mind src/main.rs.".to_owned());
        judging(VerifyAnswer::Second(Seconded { append, confidence: Some(0.25) }))(job, rest)
    });
    let model = ScriptedModel::saying(&["Nothing was said of stage_one."]);
    let builder = builder(2000).model(model).policy(policy);
    let mut talk = Talk::of(builder, &journal);
    talk.say("user", "Never touch src/main.rs. Mind stage_one.");
    talk.say("assistant", "I mind stage_one.");
    talk.chat(20);
    let prompt = talk.compressed();
    // Under a heading, so that it is told from what the model wrote.
    let said = "Nothing was said of stage_one.\\nAlso said:\\nMind src/main.rs.";
    assert!(text(&prompt).contains(said), "{}", text(&prompt));
    let history = SessionAdmin::new(journal, Profile::default()).history(Some("talk")).unwrap();
    assert_eq!(history.in_force().unwrap().outcome.confidence, 0.25);
    let shown = shown.lock().unwrap();
    let facts: Vec<_> = shown[0].0.iter().map(|fact| (fact.text.as_str(), fact.found)).collect();
    // What the user forbids stands in the state of the work.
    assert_eq!(facts[..2], [("stage_one", true), ("word0", false)]);
    assert_eq!((&*shown[0].1, shown[0].2), ("Nothing was said of stage_one.", 5));
    assert_eq!(shown[0].3[1], "I mind stage_one.");
}

#[test]
fn the_policies_are_told_what_a_summary_is_for() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let places = |from: u32, to: u32| (from..=to).map(MessageNumber).collect();
    let policy = By("asks", move |job: &Job<'_>, _: &NextPolicies<'_>| {
        let ops = match job {
            Job::SummaryPrompt(job) => {
                seen.lock().unwrap().push((job.op, job.level, job.covered.count));
                return Ok(Some(worded()));
            }
            Job::Plan(job) => match job.common.compressions {
                0 => vec![
                    OpRequest::Summarize(Summarize {
                        entries: places(2, 9),
                        target: 60,
                        level: None,
                    }),
                    OpRequest::Summarize(Summarize {
                        entries: places(10, 19),
                        target: 60,
                        level: Some(2),
                    }),
                    OpRequest::SummarizeUser(SummarizeUserOp {
                        entries: places(20, 21),
                        target: 30,
                    }),
                ],
                1 => {
                    let (checkpoint, to) = (job.checkpoints[0].id.clone(), 1);
                    vec![OpRequest::Age(AgeOrder { checkpoint, to, target: 20 })]
                }
                _ => {
                    let checkpoints = job.checkpoints[..2].iter().map(|one| one.id.clone());
                    let checkpoints = checkpoints.collect();
                    vec![OpRequest::Merge(Merge { checkpoints, target: 30, to: None })]
                }
            },
            _ => return Ok(None),
        };
        Ok(Some(Answer::Plan(Orders { ops, ..Orders::default() })))
    });
    let long = "This is what was said, in so many words that it may be written smaller yet.";
    let model = ScriptedModel::saying(&[long, long, "Folded.", "Aged.", "Merged."]);
    let mut talk = Talk::new(builder(3000).model(model).policy(policy));
    talk.chat(20);
    let mut prompts = Vec::new();
    for _ in 0..3 {
        let prompt = talk.compressed();
        assert_eq!(errors(&prompt), [""; 0]);
        prompts.push(text(&prompt));
        talk.chat(1);
    }
    let expected = [
        (Purpose::Summarize, Some(3), 8),
        (Purpose::Summarize, Some(2), 10),
        (Purpose::SummarizeUser, Some(3), 2),
        (Purpose::Age, Some(1), 8),
        (Purpose::Merge, Some(0), 18),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    assert!(prompts[0].contains("Folded."));
    assert!(prompts[1].contains("Folded.") && prompts[1].contains("Aged."));
    // What a model wrote of parts stands for the whole; nobody is asked.
    assert!(!prompts[2].contains("Merged.") && prompts[2].contains("Aged."));
}

#[test]
fn a_single_conversation_is_written_by_the_model_too() {
    let input = bytes(&conversation(20));
    let compress = |builder: epitome::CompressorBuilder| {
        let builder = builder.target(CompressionTarget::Tokens(600));
        let compressed = now(builder.build().compress(&input)).unwrap();
        (String::from_utf8(compressed.bytes).unwrap(), compressed.report.warnings)
    };
    let model = ScriptedModel::saying(&["Twenty stages were read."]);
    let (prompt, warnings) = compress(builder(8000).model(model).policy(By("asks", asks)));
    assert!(prompt.contains("Twenty stages were read.") && warnings.is_empty(), "{warnings:?}");
    let model = ScriptedModel::failing("it is down");
    let (prompt, warnings) = compress(builder(8000).model(model).policy(By("asks", asks)));
    assert!(prompt.contains("src/stage_3.rs"));
    let expected = "summariser 1 gave up: the model `scripted` did not answer: it is down";
    assert_eq!(warnings, [expected]);
}

/// A policy may ask the model itself before it answers.
#[test]
fn a_policy_asks_the_model_what_it_does_not_know() {
    let asking = |job: &Job<'_>, _: &NextPolicies<'_>| match job {
        Job::Status(job) => match job.common.replies.get("mood") {
            Some(mood) => {
                let text = Some(mood.clone());
                Ok(Some(Answer::Status(epitome::types::hook::Status { text, ..<_>::default() })))
            }
            None => {
                let (id, user) = ("mood".to_owned(), "How is it?".to_owned());
                let max_tokens = Some(5);
                Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                    id,
                    user,
                    max_tokens,
                    ..ModelQuestion::default()
                })))
            }
        },
        _ => Ok(None),
    };
    let model = ScriptedModel::saying(&["fine"]);
    let mut talk = Talk::new(builder(2000).model(model.clone()).policy(By("asks", asking)));
    talk.chat(1);
    let prompt = talk.prompt();
    assert_eq!(prompt.status.and_then(|status| status.text).as_deref(), Some("fine"));
    assert_eq!(model.asked().len(), 1);
    let mut talk = Talk::new(builder(2000).policy(By("asks", asking)));
    talk.chat(1);
    let prompt = talk.prompt();
    assert_eq!(prompt.status, None);
    let expected = "asks: `status`: it asks `mood`: there is no model to ask; grant one, or decide \
                    without";
    assert_eq!(errors(&prompt), [expected]);
}

/// Markers in what the model sums up count as in its replies, and goals steer the next summary
/// (RULES 57).
#[test]
fn what_a_summary_says_of_goals_is_taken_up() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let policy = move |job: &Job<'_>, rest: &NextPolicies<'_>| {
        if let Job::SummaryPrompt(job) = job {
            seen.lock().unwrap().push(job.goals.active().map(|goal| goal.text.clone()));
        }
        asks(job, rest)
    };
    let first = "[GOAL] Read all stages\nMuch was said.";
    let model = ScriptedModel::saying(&[first, "More was said."]);
    let mut talk = talk(&model, policy);
    let prompt = talk.compressed();
    assert_eq!(errors(&prompt), [""; 0]);
    let updated = |event: &Event| matches!(event.what, EventKind::GoalUpdated { .. });
    assert!(prompt.events.iter().any(updated), "{:?}", prompt.events);
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(text(&prompt).contains("Goal: Read all stages"), "{}", text(&prompt));
    assert_eq!(*told.lock().unwrap(), [None, Some("Read all stages".to_owned())]);
}

/// A model that thinks behind a conversation, for longer than its answer may be.
#[derive(Clone, Default)]
struct Thinks(Arc<Mutex<Vec<ModelQuestion>>>);

#[async_trait::async_trait]
impl LanguageModel for Thinks {
    fn name(&self) -> &str {
        "thinks"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        self.0.lock().unwrap().push(ask.clone());
        match &ask.after {
            None => Ok("All was said.".to_owned()),
            Some(_) => {
                let (model, cause) = (self.name().to_owned(), "it was cut off".to_owned());
                Err(ModelError { model, cause, lack: ModelLimitHit::Thoughts })
            }
        }
    }

    fn extends(&self, _: &LiveRequest) -> bool {
        true
    }
}

#[test]
fn whoever_only_thinks_behind_the_conversation_is_asked_by_itself() {
    let model = Thinks::default();
    let extends = |job: &Job<'_>, rest: &NextPolicies<'_>| {
        let Some(Answer::SummaryPrompt(prompt)) = asks(job, rest)? else { return Ok(None) };
        Ok(Some(Answer::SummaryPrompt(SummaryPrompt { style: Line::Extend, ..prompt })))
    };
    let mut talk = Talk::new(builder(2000).model(model.clone()).policy(By("asks", extends)));
    talk.chat(20);
    let prompt = talk.compressed();
    assert!(text(&prompt).contains("All was said.") && errors(&prompt).is_empty());
    let asked = model.0.lock().unwrap();
    let [behind, alone] = &asked[..] else { panic!("asked {} times", asked.len()) };
    assert!(behind.after.is_some() && alone.after.is_none());
    // For as much.
    assert!(behind.max_tokens.is_some() && behind.max_tokens == alone.max_tokens);
}
