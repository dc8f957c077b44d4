//! `epitome policy check` on policies with mistakes, and on those that are shown to people.

use crate::pages::{ROOT, fenced, pages};
use crate::policy::{TEAM, brought, done};
use crate::program::Place;

/// A policy with a mistake in each of its hooks, and one in a module.
const PLANTED: &str = "--- @api 2
local talk = require('talk')
local policy = { extends = 'ollm' }

function policy.budgets(job)
  local budgets = ep.next(job)
  if job.mode == 'debugger' then
    budgets.sotf = math.floor(job.model.limit * 0.9)
  end
  return budgets
end

function policy.trigger(job)
  local tokens = job.tokens
  if tokens.totl > job.options.budgit then
    return { level = 'now' }
  end
  job.cause = os.time()
  return ep.next('trigger')
end

function policy.plan(job)
  local ops = {}
  ops[#ops + 1] = { op = 'fit', most = 'many' }
  return { ops = ops, reason = talk.raeson(job) }
end

function policy.observ(job)
  return nil
end

function policy.tool_result(job)
  return { how = 'shrink', text = job.entry:text() }
end

function policy.verify(job)
  return { append = 'Also: ' .. #job.must_keep, confidence = 'high' }
end

return policy
";

const TALK: &str = "local talk = {}
function talk.reason(job)
  return ep.clip('because of ' .. job.cause)
end
return talk
";

#[test]
fn mistakes_are_named_with_file_and_line_and_no_hook_runs() {
    let place = Place::new();
    done(&place, "policy new team -q");
    place.write(TEAM, PLANTED);
    place.write(".epitome/policies/team/talk.lua", TALK);
    let ran = place.run(["policy", "check", "team", "--json"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    let said: serde_json::Value = serde_json::from_str(ran.text()).unwrap();
    let problems = said[0]["problems"].as_array().unwrap();
    let problems: Vec<&str> = problems
        .iter()
        .map(|line| line.as_str().unwrap().rsplit_once("team/").unwrap().1)
        .collect();
    assert_eq!(
        problems,
        [
            "policy.lua:8: `budgets` has no `sotf`; did you mean `soft`?",
            "policy.lua:15: `tokens` has no `totl`; did you mean `total`?",
            "policy.lua:16: `trigger` answers `level = \"now\"`: no such word; there are `soft`, `hard`, \
             `asked`",
            "policy.lua:18: `job` can only be read, as all of a job: `job.memo` is there for notes, a local \
             variable for what is worked out",
            "policy.lua:18: there is no global `os`; there is no clock: `job.now` says when the request came",
            "policy.lua:19: `ep.next` is given `\"trigger\"`: expected the job that the hook is given",
            "policy.lua:24: `plan` answers `ops[...].most = \"many\"`: no such field; it is called \
             `max_tokens` since api 2",
            "policy.lua:25: `talk` has no `raeson`; did you mean `reason`?",
            "policy.lua:28: there is no hook `observ`; did you mean `observe`?",
            "policy.lua:33: `tool_result` answers `how = \"shrink\"`: no such word; there are `keep`, `digest`, \
             `offload`, `mask`",
            "policy.lua:37: `verify` answers `confidence = \"high\"`: expected a number",
            "talk.lua:3: `ep.clip` is given 1 argument: it takes (text, tokens)",
        ]
    );
    // Once it can be loaded, its options are known as well.
    place.write(TEAM, PLANTED.replace("policy.observ(", "policy.observe("));
    let ran = place.run(["policy", "check", "team"]);
    assert!(
        ran.text().contains("policy.lua:15: there is no option `budgit`; there are no options")
    );
}

#[test]
fn policies_that_are_shown_to_people_have_none() {
    let place = Place::new();
    for name in ["default", "early", "none", "ollm", "staged", "tiered", "truncate", "watermark"] {
        done(&place, &format!("policy check {name}"));
        let extended = format!("--- @api 2\nreturn {{ extends = '{name}' }}");
        brought(&place, &format!("as_{name}"), &extended);
    }
    let mut shown = 0;
    for page in pages() {
        let whole = fenced(&page.text, "lua").into_iter().filter(|it| it.starts_with("--- @api"));
        for (at, text) in whole.enumerate() {
            brought(&place, &format!("shown_{shown}_{at}"), text);
            shown += 1;
        }
    }
    assert!(shown > 0);
    done(&place, "policy new fresh -q");
    place.run(["trust", "-q", ".epitome/policies"]);
    done(&place, "policy check");
    let sample = format!("{ROOT}/examples/team-policy/policies/team");
    place.run(["trust", "-q", &sample]);
    done(&place, &format!("policy check {sample}"));
}
