//! Policies of api 1 decide as before: hooks, jobs and answers keep their old names.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_kernel::{Job, Policy};
use epitome_lua::{Generation, PolicySource};
use epitome_types::hook::{
    Arriving, Columns, Common, Covered, EventJob, Fit, MessageNumber, MessageTexts, NameKind,
    ObserveJob, OpRequest, Purpose, RENAMED, RenamedName, RenderJob, SummaryPromptJob,
    ToolResultJob, Way, Wording,
};
use epitome_types::{Event, EventKind, Goals};
use serde_json::Value as Json;

use crate::spoken::spoken;
use crate::support::{chain, found, load, load_with, of_api, patient, plan_job, trigger_job};

fn load_old(text: &str) -> Arc<Generation> {
    Arc::new(load_with(&patient(), &of_api("old", 1, text), Json::Null).unwrap())
}

struct NoTexts;

impl MessageTexts for NoTexts {
    fn text(&self, _: MessageNumber) -> Option<String> {
        None
    }
}

fn tool_result_job() -> ToolResultJob<'static> {
    let (common, original, file) = (Common::default(), String::new(), None);
    ToolResultJob { common, entry: Arriving::default(), original, file, text: "first" }
}

fn render_job(part: Wording) -> RenderJob {
    let common = Common::default();
    RenderJob { common, part, system: None, time: None, in_store: true, in_files: false }
}

fn summary_prompt_job() -> SummaryPromptJob<'static> {
    SummaryPromptJob {
        common: Common::default(),
        op: Purpose::SummarizeUser,
        level: None,
        covered: Covered::default(),
        must_keep: Vec::new(),
        goals: Goals::default(),
        focus: None,
        max_tokens: 9,
        texts: &NoTexts,
    }
}

fn observe_job() -> ObserveJob<'static> {
    let (common, entry) = (Common::default(), Arriving::default());
    let (actions, intent, typed) = (Vec::new(), None, None);
    ObserveJob { common, entry, actions, intent, typed, since_compaction: 4, text: "" }
}

fn event_job(what: EventKind) -> EventJob {
    let (session, at) = ("s".to_owned(), String::new());
    EventJob { common: Common::default(), event: Event { session, at, tokens: [90, 40], what } }
}

#[test]
fn hooks_and_answers_have_their_old_names() {
    let old = load_old(
        "return { arrive = function(job) return { how = 'mask', with = 'gone', most = 7 } end }",
    );
    assert_eq!(old.declared().hooks, ["tool_result"]);
    assert_eq!(old.line("tool_result"), Some(2));
    let answer = chain(&[old]).ask().tool_result(&tool_result_job()).unwrap().unwrap();
    let said = (answer.how, answer.text.as_deref(), answer.max_tokens);
    assert_eq!(said, (Way::Mask, Some("gone"), Some(7)));
}

#[test]
fn jobs_have_their_old_names() {
    let old = load_old(
        "return {
            options = { share = { type = 'number', default = 0.5 } },
            trigger = function(job)
                local reason = (job.asked or 'nobody') .. ' ' .. tostring(job.stalled) .. ' '
                    .. job.opt.share .. ' ' .. job.options.share .. ' ' .. #job.answered
                return { level = 'soft', reason = reason }
            end,
        }",
    );
    let mut job = trigger_job();
    job.requested_by = Some("user".to_owned());
    let answer = format!("{:?}", chain(&[old]).ask().trigger(&job).unwrap().unwrap());
    assert!(answer.contains("\"user nil 0.5 0.5 0\""), "{answer}");
}

#[test]
fn operations_have_their_old_names() {
    let old = load_old(
        "return { plan = function(job)
            return { ops = {
                { op = 'strip', entries = { 1 } }, { op = 'fold_user', entries = { 2 }, target = 9 },
                { op = 'export', name = 'a.md' },
            }, mark = 1 }
        end }",
    );
    let answer = chain(&[old]).ask().plan(&plan_job(Columns::default(), &NoTexts));
    let answer = answer.unwrap().unwrap();
    let names: Vec<_> = answer.ops.iter().map(|op| serde_json::to_value(op).unwrap()).collect();
    let names: Vec<_> = names.iter().map(|op| op["op"].as_str().unwrap()).collect();
    assert_eq!(names, ["clear_tools", "summarize_user", "write_file"]);
    assert_eq!(answer.watermark, Some(MessageNumber(1)));
}

#[test]
fn words_of_jobs_are_the_old_ones() {
    let old = load_old(
        "return {
            render = function(job) return { text = job.part .. tostring(job.stored) } end,
            prompt = function(job) return { style = 'none', user = job.op } end,
        }",
    );
    let chain = chain(&[old]);
    let rendered = chain.ask().render(&render_job(Wording::Placeholder)).unwrap().unwrap();
    assert_eq!(rendered.text.as_deref(), Some("stubtrue"));
    assert_eq!(
        chain.ask().summary_prompt(&summary_prompt_job()).unwrap().unwrap().user,
        "fold_user"
    );
}

/// A policy reads and changes the answer of the next one by the old names.
#[test]
fn answers_of_others_have_their_old_names() {
    let new = "return {
        tool_result = function() return { how = 'mask', text = 'gone', max_tokens = 7 } end,
        plan = function() return { ops = { { op = 'fit', max_tokens = 9 } } } end,
    }";
    let old = load_old(
        "return {
            arrive = function(job)
                local answer = ep.next(job)
                answer.with, answer.most = answer.with .. '!', answer.most + 1
                return answer
            end,
            plan = function(job)
                local orders = ep.next(job)
                orders.ops[1].most = orders.ops[1].most * 2
                return orders
            end,
        }",
    );
    let chain = chain(&[old, load("new", new)]);
    let answer = chain.ask().tool_result(&tool_result_job()).unwrap().unwrap();
    assert_eq!((answer.text.as_deref(), answer.max_tokens), (Some("gone!"), Some(8)));
    let orders = chain.ask().plan(&plan_job(Columns::default(), &NoTexts)).unwrap().unwrap();
    let fit = Fit { max_tokens: Some(18), ..Fit::default() };
    assert_eq!(orders.ops, [OpRequest::Fit(fit)]);
}

#[test]
fn policies_of_today_have_the_new_names_alone() {
    let engine = patient();
    let loaded = load_with(&engine, &found("x", "return { arrive = print }"), Json::Null);
    let said = loaded.unwrap_err().to_string();
    assert!(said.contains("no hook `arrive`; it is called `tool_result` since api 2"), "{said}");
    let text = "return { tool_result = function() return { how = 'mask', with = 'gone' } end }";
    let chain = chain(&[load("x", text)]);
    let reply = chain.ask().reply(&Job::ToolResult(&tool_result_job()));
    let said = reply.notes.errors[0].to_string();
    assert!(
        said.ends_with("`with = \"gone\"`: no such field; it is called `text` since api 2"),
        "{said}"
    );
}

/// A policy of api 1 that uses every old name.
const EVERY_OLD_NAME: &str = "return {
    options = { share = { type = 'number', default = 0.5 } },
    arrive = function() return { how = 'mask', with = 'gone', most = 7 } end,
    prompt = function(job) return { style = 'none', user = job.op, max_tokens = job.most } end,
    trigger = function(job)
        local said = { tostring(job.mark), tostring(job.cache.forgone), tostring(job.asked),
            tostring(#job.answered), tostring(job.waiting), tostring(job.replied),
            tostring(job.stalled), tostring(job.opt.share) }
        return { level = 'soft', reason = table.concat(said, ' ') }
    end,
    observe = function(job) return { warn = tostring(job.since_epoch) } end,
    plan = function(job)
        return { ops = {
            { op = 'strip', entries = { 1 } }, { op = 'fold_user', entries = { 2 }, target = 9 },
            { op = 'export', name = 'a.md' },
        }, mark = 1, marked_by = 'mark', reason = tostring(job.mark_lost) }
    end,
    render = function(job)
        return { text = job.part .. ' ' .. tostring(job.stored) .. ' ' .. tostring(job.files) }
    end,
    on_event = function() return { export = { name = 'log.md', text = 'x' } } end,
}";

/// Asks the policy each of its hooks. Panics if one of them fails.
fn ask_every_hook(policy: &Arc<Generation>) {
    let chain = chain(&[Arc::clone(policy)]);
    let offloaded = EventKind::ContextWarning { percent: 80 };
    for job in [
        Job::ToolResult(&tool_result_job()),
        Job::SummaryPrompt(&summary_prompt_job()),
        Job::Trigger(&trigger_job()),
        Job::Observe(&observe_job()),
        Job::Plan(&plan_job(Columns::default(), &NoTexts)),
        Job::Render(&render_job(Wording::Placeholder)),
        Job::Event(&event_job(offloaded)),
    ] {
        let reply = chain.ask().reply(&job);
        assert!(reply.notes.errors.is_empty(), "{:?}", reply.notes.errors);
    }
}

/// The warning names the old name, the new one and the line of the policy. A word of a job is
/// compared by the policy itself, so nothing can see that it is used.
#[test]
fn each_old_name_is_warned_of_once() {
    let warnings = spoken(|| {
        let old = load_old(EVERY_OLD_NAME);
        ask_every_hook(&old);
        ask_every_hook(&old);
    });
    let mut times = BTreeMap::new();
    for warning in &warnings {
        assert!(warning.starts_with("WARN policy.lua:"), "{warning}");
        let (_, what) = warning.split_once(" `").unwrap();
        *times.entry(format!("`{what}")).or_insert(0) += 1;
    }
    let is_seen = |name: &&RenamedName| {
        matches!(name.kind, NameKind::Hook | NameKind::Field)
            || (name.kind == NameKind::Word && name.old != "stub")
    };
    let renamed = RENAMED.iter().filter(is_seen);
    let expected: BTreeMap<_, _> = renamed.map(|name| (name.to_string(), 1)).collect();
    assert_eq!(times, expected, "{warnings:#?}");
}

/// The options of the built-in policy, which hold new names, are read by the old ones. A policy of
/// api 2 has the new ones alone.
#[test]
fn options_have_their_old_names() {
    let keys = || RENAMED.iter().filter(|name| name.kind == NameKind::Key);
    let mut options = serde_json::Map::new();
    for (at, name) in keys().enumerate() {
        options.insert(name.new.to_owned(), at.into());
    }
    options.insert("ladder".to_owned(), serde_json::json!(["chunks", "fewer_recent"]));
    let reads: Vec<_> = keys().map(|name| format!("job.options.inner.{}", name.old)).collect();
    let text = format!(
        "return {{ options = 'default', trigger = function(job)
            local said = {{ {}, job.options.inner.ladder[2] }}
            return {{ level = 'soft', reason = table.concat(said, ' ') }}
        end }}",
        reads.join(", ")
    );
    let options = serde_json::json!({ "inner": options });
    let load = |api| load_with(&patient(), &of_api("x", api, &text), options.clone()).unwrap();
    let warnings = spoken(|| {
        let chain = chain(&[Arc::new(load(1))]);
        for _ in 0..2 {
            let answer = format!("{:?}", chain.ask().trigger(&trigger_job()).unwrap());
            let numbers: Vec<_> = (0..keys().count()).map(|at| at.to_string()).collect();
            assert!(answer.contains(&format!("{} smaller_tail", numbers.join(" "))), "{answer}");
        }
    });
    assert_eq!(warnings.len(), keys().count(), "{warnings:#?}");
    for name in keys() {
        let told = format!("`{}` is called `{}`", name.old, name.new);
        assert_eq!(warnings.iter().filter(|warning| warning.contains(&told)).count(), 1, "{told}");
    }
    let reply = chain(&[Arc::new(load(2))]).ask().reply(&Job::Trigger(&trigger_job()));
    let said = reply.notes.errors[0].to_string();
    assert!(said.contains("has no `arrive`; it is called `tool_results` since api 2"), "{said}");
}

#[test]
fn new_names_are_warned_of_in_no_api() {
    let text = "return { tool_result = function(job)
        return { how = 'mask', text = job.original, max_tokens = 7 }
    end }";
    let warnings = spoken(|| {
        for api in [1, 2] {
            let policy = load_with(&patient(), &of_api("x", api, text), Json::Null).unwrap();
            let chain = chain(&[Arc::new(policy)]);
            assert!(chain.ask().tool_result(&tool_result_job()).unwrap().is_some());
        }
    });
    assert_eq!(warnings, [""; 0]);
}

/// A policy of api 1 sees the event as it was, a policy of api 2 as it is.
#[test]
fn events_have_their_old_names_and_keys() {
    let text = "return { on_event = function(job)
        local event = job.event
        local said = { event.event, tostring(event.was), tostring(event.epoch),
            tostring(event.compaction), event.tokens[1], event.tokens[2],
            event.tokens_before, event.tokens_after }
        return { write_file = { name = 'log.md', text = table.concat(said, ' ') } }
    end }";
    let changed = EventKind::CompactionChanged { compaction: Some("c1".to_owned()) };
    for (api, name) in [(1, "epoch-changed"), (2, "compaction-changed")] {
        let policy = load_with(&patient(), &of_api("x", api, text), Json::Null).unwrap();
        let job = event_job(changed.clone());
        let reply = chain(&[Arc::new(policy)]).ask().reply(&Job::Event(&job));
        assert!(reply.notes.errors.is_empty(), "{:?}", reply.notes.errors);
        let said = reply.notes.files[0].export.text.as_deref();
        assert_eq!(said, Some(&*format!("{name} epoch-changed c1 c1 90 40 90 40")));
    }
}

/// The library of stop hooks takes the old name of the hook, which it gives to the policy.
#[test]
fn stop_hooks_have_the_old_name_of_their_place() {
    let stopping = include_str!("../../../../policies/lib/stopping.lua");
    let library = PolicySource::Embedded(vec![("stopping.lua", stopping)].leak());
    let mut found = of_api(
        "stops",
        1,
        "local stopping = require('stopping')
        return stopping.add({}, { {
            id = 'X-1', level = 'HARD', at = 'arrive', when = function() return true end,
            act = function() return { how = 'mask', with = 'gone' } end,
        } })",
    );
    found.libraries.push(library);
    let policy = load_with(&patient(), &found, Json::Null).unwrap();
    let answer = chain(&[Arc::new(policy)]).ask().tool_result(&tool_result_job());
    assert_eq!(answer.unwrap().unwrap().text.as_deref(), Some("gone"));
}
