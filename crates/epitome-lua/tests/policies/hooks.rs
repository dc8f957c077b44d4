//! What hooks are given, and what becomes of their answers.

use epitome_kernel::{HookInterrupt, HookResult, Job, ModelQuestion};
use epitome_types::hook::*;
use epitome_types::{Goals, Role};
use serde_json::json;

use crate::support::*;

/// What a `trigger` with this body answers, beside what went wrong.
fn trigger(body: &str) -> (HookResult<TriggerAnswer>, String) {
    let chain = chain(&[load("one", &format!("return {{ trigger = function(job) {body} end }}"))]);
    let reply = chain.ask().reply(&Job::Trigger(&trigger_job()));
    let errors: Vec<String> = reply.notes.errors.iter().map(ToString::to_string).collect();
    let reply = reply.of_job::<TriggerJob>();
    (reply.result.map_err(HookInterrupt::Ask), errors.join("\n"))
}

fn due(reason: &str) -> TriggerAnswer {
    TriggerAnswer::Compress(Due {
        level: Strength::Soft,
        target: Some(1000),
        reason: Some(reason.to_owned()),
    })
}

/// The reason that a `trigger` gives: the value of an expression over the job.
#[track_caller]
fn check(expression: &str, expected: &str) {
    let body =
        format!("return {{ level = 'soft', target = 1000, reason = tostring({expression}) }}");
    assert_eq!(trigger(&body), (Ok(Some(due(expected))), String::new()), "{expression}");
}

#[test]
fn a_job_says_what_it_says() {
    check("job.session", "s");
    check("job.seed + job.floor", "107");
    check("job.cause", "turn");
    check("job.budgets.soft", "4000");
    check("job.budgets.hard", "nil");
    check("job.stalled_at", "nil");
    check("job.model.stated", "false");
    check("next(job.replies)", "nil");
}

#[test]
fn an_answer_may_be_no_opinion() {
    assert_eq!(trigger(""), (Ok(None), String::new()));
    assert_eq!(trigger("return false").0, Ok(Some(TriggerAnswer::Wait(false))));
}

#[test]
fn a_job_can_only_be_read() {
    for body in
        ["job.floor = 1", "job.budgets.soft = 1", "job.replies.a = 'x'", "rawset(job, 1, 1)"]
    {
        let (opinion, error) = trigger(body);
        assert_eq!(opinion, Ok(None));
        assert!(error.ends_with("policy.lua:2: attempt to modify a readonly table"), "{error}");
    }
}

#[test]
fn names_that_no_job_has_are_mistakes() {
    let said = |body| trigger(body).1;
    assert_eq!(
        said("return job.cuase"),
        "one: `trigger`: policy.lua:2: job has no `cuase`; did you mean `cause`?",
    );
    assert_eq!(
        said("return job.budgets.sotf"),
        "one: `trigger`: policy.lua:2: job.budgets has no `sotf`; did you mean `soft`?",
    );
    assert_eq!(
        said("return job.options.soft"),
        "one: `trigger`: policy.lua:2: job.options has no `soft`",
    );
}

#[test]
fn options_are_in_the_job() {
    let text = "return {
        options = { share = { type = 'number', default = 0.5 }, word = { type = 'string', default = 'a' } },
        trigger = function(job)
            return { level = 'soft', target = job.floor * job.options.share, reason = job.options.word }
        end,
    }";
    let policy = load_with(&patient(), &found("one", text), json!({"word": "b"})).unwrap();
    assert_eq!(policy.options()["share"], 0.5);
    let chain = chain(&[policy.into()]);
    let answer = chain.ask().trigger(&trigger_job()).unwrap().unwrap();
    let reason = Some("b".to_owned());
    let expected = Due { level: Strength::Soft, target: Some(50), reason };
    assert_eq!(answer, TriggerAnswer::Compress(expected));
}

#[test]
fn the_policies_behind_are_asked_through_next() {
    let over = "return { budgets = function(job)
        local budgets = ep.next(job)
        budgets.soft = budgets.soft + 1
        return budgets
    end }";
    let under = "return { budgets = function(job) return { soft = 10, hard = 20 } end }";
    let chain = chain(&[load("over", over), load("under", under)]);
    let answer = chain.ask().budgets(&BudgetsJob { common: Common::default() });
    let expected = Budgets { soft: Some(11), hard: Some(20), ..Budgets::default() };
    assert_eq!(answer, Ok(Some(expected)));
}

#[test]
fn next_takes_the_job_and_nothing_else() {
    let (_, error) = trigger("return ep.next({ floor = 1 })");
    assert_eq!(
        error,
        "one: `trigger`: policy.lua:2: ep.next takes the job that the hook was given; change the \
         answer instead",
    );
    assert_eq!(trigger("return ep.next(job)"), (Ok(None), String::new()));
    assert_eq!(trigger("return ep.next()"), (Ok(None), String::new()));
}

#[test]
fn a_model_may_be_asked_first() {
    let text = "return { trigger = function(job)
        if not job.replies.size then
            return { ask = { id = 'size', user = 'How large?', max_tokens = 5 } }
        end
        return { level = 'soft', reason = job.replies.size }
    end }";
    let over = "return { trigger = function(job) return ep.next(job) end }";
    let chain = chain(&[load("over", over), load("asking", text)]);
    let mut job = trigger_job();
    let (id, user) = ("size".to_owned(), "How large?".to_owned());
    let ask = ModelQuestion { id, user, max_tokens: Some(5), ..ModelQuestion::default() };
    assert_eq!(chain.ask().trigger(&job), Err(HookInterrupt::Ask(Box::new(ask))));
    job.common.replies.insert("size".to_owned(), "large".to_owned());
    let reply = chain.ask().reply(&Job::Trigger(&job)).of_job::<TriggerJob>();
    assert_eq!(reply.notes.errors, []);
    let answer = reply.result.unwrap();
    assert!(
        matches!(answer, Some(TriggerAnswer::Compress(due)) if due.reason.as_deref() == Some("large"))
    );
}

#[test]
fn a_memo_lasts_from_call_to_call() {
    let text = "return { trigger = function(job)
        job.memo.seen = (job.memo.seen or 0) + 1
        if job.memo.seen == 2 then error('second') end
        return job.memo.seen > 2 and { level = 'soft' } or false
    end }";
    let chain = chain(&[load("counting", text)]);
    let ask = || chain.ask().trigger(&trigger_job()).unwrap();
    assert_eq!(ask(), Some(TriggerAnswer::Wait(false)));
    assert_eq!(chain.memos()["counting"], r#"{"seen":1}"#);
    // What a hook that failed noted is not kept.
    assert_eq!((ask(), ask()), (None, None));
    assert_eq!(chain.memos()["counting"], r#"{"seen":1}"#);
}

#[test]
fn a_memo_that_is_not_touched_is_not_written() {
    let chain = chain(&[load("silent", "return { trigger = function() return false end }")]);
    chain.ask().trigger(&trigger_job()).unwrap();
    assert!(chain.memos().is_empty());
}

#[test]
fn a_memo_is_small() {
    let (opinion, error) = trigger("job.memo.log = ('x'):rep(300000) return false");
    assert_eq!(opinion, Ok(None));
    let expected = "noted 300010 bytes in `job.memo`: at most 262144 are kept";
    assert!(error.ends_with(expected), "{error}");
}

struct Said(Vec<&'static str>);

impl MessageTexts for Said {
    fn text(&self, place: MessageNumber) -> Option<String> {
        self.0.get(place.0.checked_sub(1)? as usize).map(|text| (*text).to_owned())
    }
}

#[test]
fn texts_are_read_where_they_are_wanted() {
    let text = "local kept
    return {
        plan = function(job)
            local entries = job.entries
            if not kept then kept = entries.text end
            local told = entries:text(1) .. '|' .. entries:head(2, 1) .. '|' .. tostring(entries:text(9))
            return { ops = { { op = 'drop', entries = { entries.count } } }, reason = told }
        end,
        tool_result = function(job)
            return { how = 'mask', text = job.entry:head(1) .. '|' .. #job.entry:text() }
        end,
        budgets = function(job)
            return { strategy = kept(nil, 1) }
        end,
    }";
    let policy = load("reading", text);
    let chain = chain(&[policy]);
    let said = Said(vec!["one", "two\nlines"]);
    let entries = Columns { count: 2, tokens: vec![1, 2], ..Columns::default() };
    let job = plan_job(entries, &said);
    let orders = chain.ask().plan(&job).unwrap().unwrap();
    assert_eq!(orders.reason.as_deref(), Some("one|two|nil"));
    assert_eq!(orders.ops, [OpRequest::Drop(Drop { entries: vec![MessageNumber(2)] })]);

    let entry = Arriving::default();
    let (original, file, text) = (String::new(), None, "first\nsecond");
    let job = ToolResultJob { common: Common::default(), entry, original, file, text };
    let arrive = chain.ask().tool_result(&job).unwrap().unwrap();
    assert_eq!((arrive.how, arrive.text.as_deref()), (Way::Mask, Some("first|12")));

    // A text is not there any more when the hook has ended.
    let job = BudgetsJob { common: Common::default() };
    let reply = chain.ask().reply(&Job::Budgets(&job));
    assert_eq!(reply.result, Ok(None));
    assert!(reply.notes.errors[0].what.contains("destructed"));
}

#[test]
fn what_calls_wrote_and_what_a_summary_covers_is_told() {
    let text = "return {
        plan = function(job)
            local ops = {}
            for at, inputs in ipairs(job.entries.inputs) do
                for _, one in ipairs(inputs) do
                    local text = one.tool .. ' ' .. one.path
                    ops[#ops + 1] = { op = 'replace', entry = at, call = one.call,
                        how = 'truncate_input', text = text }
                end
            end
            ops[#ops + 1] = { op = 'write_file', name = 'log.md', append = true }
            ops[#ops + 1] = { op = 'handover' }
            return { ops = ops, reason = job.entries.inputs[1][1] and 'x' }
        end,
        summary_prompt = function(job)
            local said = job.covered:text(2) .. '|' .. job.covered:head(1, 1)
            local who = job.covered.role[2] .. ' ' .. job.covered.count .. ' ' .. job.level
            return { style = 'separate', user = said .. '|' .. who }
        end,
        verify = function(job) return job.covered:text(3) == nil and job.level == 3 end,
    }";
    let chain = chain(&[load("told", text)]);
    let said = Said(vec!["one\nmore", "two"]);
    let (tool, path) = ("write".to_owned(), "a.rs".to_owned());
    let input = Input { call: 2, tool, path, ..Input::default() };
    let inputs = vec![Vec::new(), vec![input]];
    let entries = Columns { count: 2, inputs, ..Columns::default() };
    let orders = chain.ask().plan(&plan_job(entries, &said)).unwrap().unwrap();
    let (how, text) = (How::TruncateInput, Some("write a.rs".to_owned()));
    let replace = Replace { entry: MessageNumber(2), how, text, target: None, call: Some(2) };
    let export = WriteFile { name: "log.md".to_owned(), text: None, append: Some(true) };
    let handover = OpRequest::Handover(Handover::default());
    assert_eq!(orders.ops, [OpRequest::Replace(replace), OpRequest::WriteFile(export), handover]);

    let (op, level, texts) = (Purpose::Summarize, Some(3), &said);
    let covered = || Covered {
        count: 2,
        role: vec![Role::User.into(), Role::Tool.into()],
        ..Covered::default()
    };
    let (common, goals) = (Common::default(), Goals::default());
    let (must_keep, max_tokens, covers) = (Vec::new(), 9, covered());
    let job = SummaryPromptJob {
        common,
        op,
        level,
        covered: covers,
        must_keep,
        goals,
        focus: None,
        max_tokens,
        texts,
    };
    let prompt = chain.ask().summary_prompt(&job).unwrap().unwrap();
    assert_eq!(prompt.user, "two|one|tool 2 3");
    let (common, candidate, must_keep) = (Common::default(), String::new(), Vec::new());
    let covered = covered();
    let (tokens, max_tokens) = (1, 9);
    let job =
        VerifyJob { common, op, level, covered, candidate, must_keep, tokens, max_tokens, texts };
    assert_eq!(chain.ask().verify(&job), Ok(Some(VerifyAnswer::Plain(true))));
}
