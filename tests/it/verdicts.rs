//! `epitome policy test` and `epitome policy dev`: conversations that are played under a policy, and what
//! of them is wrong.

#![expect(clippy::disallowed_methods, reason = "it says how long something takes")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::policy::{TEAM, done, edit};
use crate::program::Place;
use crate::tutorial::examples;

/// Keeps what says a statement of SQL, and takes out as little of the rest as makes the prompt fit: so
/// each of the next turns is too large again.
const TOO_LITTLE: &str = "--- @api 2
local policy = { extends = 'default' }

function policy.plan(job)
  local entries, gone, over = job.entries, {}, job.tokens.total - job.max_tokens
  for place = 2, entries.count do
    local is_free = entries.sent[place] > 0 and not entries.pinned[place]
    if over > 0 and is_free and not ep.re.find([[(?i)\\bselect\\b]], entries:text(place)) then
      gone[#gone + 1] = place
      over = over - entries.sent[place]
    end
  end
  return { ops = { { op = 'drop', entries = gone } }, reason = 'all but SQL' }
end

return policy
";

/// Keeps what says a statement of SQL, and tears results from their calls: no such plan is made.
const TORN: &str = "--- @api 2
local policy = { extends = 'default' }

function policy.plan(job)
  local entries, gone = job.entries, {}
  for place = 2, entries.count - 4 do
    if entries.role[place] == 'tool' and not ep.re.find([[(?i)\\bselect\\b]], entries:text(place)) then
      gone[#gone + 1] = place
    end
  end
  return { ops = { { op = 'drop', entries = gone } }, reason = 'all but SQL' }
end

return policy
";

/// What is wrong with each conversation under a policy, by its name.
#[track_caller]
fn faults(text: &str) -> Vec<(String, Vec<String>)> {
    let place = Place::new();
    done(&place, "policy new team -q");
    place.write(TEAM, text);
    std::fs::remove_dir_all(place.path(".epitome/policies/team/tests")).unwrap();
    done(&place, "policy check team");
    let ran = place.run(["policy", "test", "team", "--json"]);
    assert_eq!(ran.code, 6, "{}{}", ran.text(), ran.err);
    let replays = ran.json()[0]["replays"].take();
    let faults = |replay: &Value| {
        let faults = replay["faults"].as_array().unwrap().iter();
        let name = replay["conversation"].as_str().unwrap().to_owned();
        (name, faults.map(|fault| fault.as_str().unwrap().to_owned()).collect())
    };
    replays.as_array().unwrap().iter().map(faults).collect()
}

#[test]
fn a_plan_that_is_due_again_at_every_turn_fails() {
    let all = faults(TOO_LITTLE);
    let of = |name: &str| &all.iter().find(|(known, _)| known == name).unwrap().1;
    for name in ["chat", "agent"] {
        let [row, cost] = &of(name)[..] else { panic!("{name}: {all:?}") };
        assert!(row.contains("the 4th request in a row that is compressed"), "{row}");
        assert!(row.contains("as `job.target` says"), "{row}");
        assert!(cost.contains("times those of `none`"), "{cost}");
    }
    let times = of("chat")[1].split("cost ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(times.parse::<f64>().unwrap() > 2.0, "{times}");
}

#[test]
fn a_plan_that_another_takes_the_place_of_fails() {
    let all = faults(TORN);
    for name in ["agent", "tight", "marks"] {
        let (_, faults) = all.iter().find(|(known, _)| known == name).unwrap();
        let rule = "breaks the rule that a call and its result go together";
        assert!(faults[0].starts_with("turn ") && faults[0].contains(rule), "{name}: {faults:?}");
        assert!(faults[0].contains(": team: op 1 of the plan"), "{name}: {faults:?}");
    }
}

/// By the same measure, whoever wrote them.
/// Bounds that a policy leaves out are those of the policy that it extends, whose plan goes by them.
#[test]
fn bounds_that_are_left_out_are_those_of_the_base() {
    for base in ["ollm", "staged", "default"] {
        let place = examples();
        let policy = format!(
            "--- @api 2\nlocal policy = {{ extends = '{base}', doc = 'Other bounds.' }}\n\n\
             function policy.budgets(job)\n  local limit = job.model.limit\n  return {{ soft = \
             math.floor(limit * 0.66), hard = math.floor(limit * 0.8) }}\nend\n\nreturn policy\n"
        );
        std::fs::create_dir_all(place.path(".epitome/policies/team")).unwrap();
        place.write(".epitome/policies/team/policy.lua", policy);
        place.run(["trust", "--author", ".epitome/policies/team"]);
        let ran = place.run(["policy", "test", "team"]);
        assert_eq!(ran.code, 0, "{base}: {}{}", ran.text(), ran.err);
    }
    let place = examples();
    place.write(
        "epitome.toml",
        "default_profile = 't'\n[profile.t]\ninherits = 'ollm'\n\
         budgets.0 = { soft = 0.0, target = 0.0, checkpoints = 0.0 }\n",
    );
    let args = ["replay", "--context-size", "8192", "examples/transcripts/debugging-session.jsonl"];
    let told = place.run(args);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!told.text().contains("expected a finite number"), "{}", told.text());
}

#[test]
fn shipped_policies_are_judged_like_all_others() {
    let place = Place::new();
    for name in ["default", "early", "none", "ollm", "staged", "tiered", "watermark"] {
        done(&place, &format!("policy test {name} -q"));
    }
    // It is there to be compared with, and what is wrong with it is named.
    let ran = place.run(["policy", "test", "truncate", "-q"]);
    assert_eq!(ran.code, 6);
    assert!(ran.text().contains("in a row that is compressed"), "{}", ran.text());
    assert!(!ran.text().contains("exceed the limit"), "{}", ran.text());
}

/// The tests of a policy that play conversations: what they are told holds, and models say what the
/// test says for them.
#[test]
fn tests_play_conversations() {
    let place = Place::new();
    done(&place, "policy new team --from ollm -q");
    edit(
        &place,
        "return policy\n",
        "
function policy.observe(job)
  if job.entry.speaker ~= 'human' then return nil end
  local said = job.replies.done
  if not said then return { ask = { id = 'done', user = job.entry:text() } } end
  return said == 'yes' and { warn = 'done in ' .. (job.mode or 'no') .. ' mode' } or nil
end

return policy
",
    );
    let talk = crate::conversation::bare(30).to_string();
    place.write(".epitome/policies/team/tests/talk.json", talk);
    place.write(
        ".epitome/policies/team/tests/budgets.lua",
        "return {
  test_a_file = function(t)
    local played = t.replay('talk.json', { prompt_limit = 3000 })
    t.eq(played.turns, 61)
    t.eq(played.limit, 3000)
    t.ok(played.compressions > 0 and played.largest <= 3000)
    t.eq(played.asked, 0)
  end,
  test_one_that_is_made_up = function(t)
    local asked = 0
    t.reply('done', function(ask) asked = asked + 1 return 'yes' end)
    t.reply('summary', 'What was done: all parts.')
    local options = { compress_from = 0.5 }
    local early = t.replay('agent', { context_size = 12000, options = options, mode = 'debugger' })
    local late = t.replay('agent', { context_size = 12000 })
    t.ok(asked > 0 and early.asked >= asked / 2, 'asked ' .. asked)
    t.ok(early.compressions >= late.compressions)
    t.ok(early.cost > 0 and early.cost < 1 and early.kept > 0 and early.kept <= 1)
    t.ok(early.prompt:find('Never push to main.', 1, true))
    t.eq(early.discarded, {})
  end,
  test_what_must_stay = function(t)
    local played = t.replay('agent', { prompt_limit = 12000, keep = { 'E0[0-9]{3}' } })
    t.ok(played.prompt:find('E0037', 1, true), 'E0037 is gone')
  end,
  test_none = function(t) t.replay('agnet') end,
  test_no_setting = function(t) t.replay('agent', { limit = 3 }) end,
  test_no_option = function(t) t.replay('agent', { options = { compress_form = 1 } }) end,
}
",
    );
    let ran = place.run(["policy", "test", "team", "--json"]);
    let tests = ran.json()[0]["tests"].take();
    let failures = tests.as_array().unwrap().iter().filter_map(|test| test["failure"].as_str());
    assert_eq!(
        failures.collect::<Vec<_>>(),
        [
            "tests/budgets.lua:26: there is no recording `agnet`; expected a file in `tests`, or `chat`, \
             `agent`, `tight`, `marks`",
            "tests/budgets.lua:27: the settings of t.replay: `limit = 3`: no such field; it is called \
             `prompt_limit` since api 2",
            "tests/budgets.lua:28: t.replay, `compress_form`: unknown key `options.team.compress_form`; did \
             you mean `compress_from`?",
        ]
    );
}

/// A fit that clears the tools of what stays, and one that is told what it cannot do.
#[test]
fn a_fit_composes_with_what_is_done_beside_it() {
    let place = Place::new();
    done(&place, "policy new team -q");
    std::fs::remove_dir_all(place.path(".epitome/policies/team/tests")).unwrap();
    let fit = "--- @api 2
local policy = { extends = 'default' }

function policy.plan(job)
  local tools = {}
  for place = 1, job.entries.count - 8 do
    if job.entries.tools[place] then tools[#tools + 1] = place end
  end
  local also = { { op = 'clear_tools', entries = tools } }
  return { ops = { { op = 'fit', also = also } }, reason = 'less' }
end

return policy
";
    place.write(TEAM, fit);
    done(&place, "policy check team");
    let ran = done(&place, "policy test team");
    assert!(ran.text().contains("replay of tight"), "{}", ran.text());
    let traced = place.run(["policy", "dev", "team", "agent", "--once"]);
    assert!(traced.text().contains("also [{op clear_tools"), "{}", traced.text());
    place.write(TEAM, fit.replace("'clear_tools'", "'rollover'"));
    let ran = place.run(["policy", "check", "team"]);
    let word = "no such `op`; there are `replace`, `drop`, `clear_tools`, `insert`";
    assert!(ran.text().contains(word), "{}", ran.text());
}

/// What `policy dev` says once: who decided what, what it comes to beside others, and what is wrong.
#[test]
fn a_policy_is_tried_with_its_mistakes_tests_and_a_conversation() {
    let place = Place::new();
    done(&place, "policy new team --from ollm -q");
    let sound = done(&place, "policy dev team --once");
    let text = sound.text();
    assert!(text.contains("budgets        team → "), "{text}");
    assert!(text.contains("trigger        ollm → level soft"), "{text}");
    for row in ["team  ", "ollm  ", "none  "] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
    }
    assert!(text.contains("2 of 2 tests passed; tried in "), "{text}");

    edit(
        &place,
        "  local bounds = ep.next(job)\n",
        "  local bounds = ep.next(job)\n  print('at', bounds.soft)\n",
    );
    edit(&place, "* job.options.compress_from)", "* job.options.compress_from) + 1");
    let ran = place.run(["policy", "dev", "team", "tight", "--once"]);
    assert_eq!(ran.code, 6);
    assert!(ran.err.contains("policy team (policy.lua:"), "{}", ran.err);
    let test = "fail  tests/budgets.lua:8 test_a_compression_is_considered_earlier: expected ";
    assert!(ran.text().contains(test), "{}", ran.text());

    place.write(
        TEAM,
        "--- @api 2\nreturn {\n  trigger = function(job) return job.tokns.total > 3 end,\n}\n",
    );
    let ran = place.run(["policy", "dev", "team", "--once"]);
    assert_eq!(ran.code, 6);
    let mistake = "policy.lua:3: the job of `trigger` has no `tokns`; did you mean `tokens`?";
    assert!(ran.text().contains(mistake), "{}", ran.text());
    place.write(TEAM, "--- @api 2\nreturn {\n");
    let ran = place.run(["policy", "dev", "team", "--once"]);
    assert_eq!(ran.code, 6);
    assert!(ran.text().contains("policy.lua:3:"), "{}", ran.text());
}

/// `policy dev` that goes on, and what it says.
struct Trying {
    child: Child,
    said: mpsc::Receiver<String>,
}

impl Trying {
    fn start(place: &Place, line: &str) -> Self {
        let mut command = place.command(line.split(' '));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, said) = mpsc::channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                lines.for_each(|line| tell.send(line).unwrap_or_default());
            });
        }
        Self { child, said }
    }

    /// Waits until all of this is said, in any order: it comes on two streams. Returns what was said.
    fn until(&self, wanted: &[&str]) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let is_said = |lines: &[String], text: &str| lines.iter().any(|line| line.contains(text));
        while !wanted.iter().all(|text| is_said(&lines, text)) {
            let line = self.said.recv_timeout(Duration::from_secs(60));
            lines.push(line.unwrap_or_else(|_| panic!("no {wanted:?}: {lines:#?}")));
        }
        lines
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A save is enough to have it tried again, a broken one too.
#[test]
fn a_policy_is_tried_again_whenever_it_is_saved() {
    let place = Place::new();
    done(&place, "policy new team -q");
    let trying = Trying::start(&place, "policy dev team chat");
    trying.until(&["tests passed", "waits until `team` or its configuration is saved"]);
    edit(&place, "return policy\n", "return policy.\n");
    trying.until(&["policy.lua:", "waits until"]);
    edit(&place, "return policy.\n", "print('mended')\nreturn policy\n");
    trying.until(&["mended", "tests passed", "waits until"]);
    // What the profile says in a few lines is half of it.
    place.write("epitome.toml", "[profile.team]\nkeep = 3\n");
    trying.until(&["epitome.toml:", "waits until"]);
    place.write("epitome.toml", "[profile.team]\nkeep = ['E[0-9]+']\n");
    trying.until(&["tests passed", "waits until"]);
    trying.end();
}

/// What the files say is tried once, however it is written, and an unfinished save is no mistake.
#[test]
fn what_is_saved_as_it_was_is_not_tried_again() {
    let place = Place::new();
    done(&place, "policy new team -q");
    let trying = Trying::start(&place, "policy dev team chat");
    trying.until(&["tests passed", "waits until"]);
    let text = std::fs::read_to_string(place.path(TEAM)).unwrap();
    place.write(TEAM, &text);
    // An editor that begins with an empty file and writes the rest a little later.
    place.write(TEAM, "");
    std::thread::sleep(Duration::from_millis(150));
    place.write(TEAM, &text);
    std::thread::sleep(Duration::from_millis(800));
    place.write(TEAM, text.replace("return policy\n", "print('changed')\nreturn policy\n"));
    let said = trying.until(&["changed", "tests passed", "waits until"]);
    let count = |what: &str| said.iter().filter(|line| line.contains(what)).count();
    assert_eq!((count("tests passed"), count("fail")), (1, 0), "{said:#?}");
    trying.end();
}

/// Of two saves that follow each other at once the newer one is told.
#[test]
fn a_save_takes_the_place_of_what_is_played() {
    let place = examples();
    done(&place, "policy new team --from ollm -q");
    let recording = "examples/transcripts/debugging-session.jsonl";
    let trying = Trying::start(&place, &format!("policy dev team {recording} --context-size 8192"));
    trying.until(&["tests passed", "waits until"]);
    edit(&place, "return policy\n", "print('first')\nreturn policy\n");
    trying.until(&["turn 1 "]);
    edit(&place, "print('first')", "print('second')");
    let said = trying.until(&["second", "tests passed", "waits until"]);
    assert!(said.iter().any(|line| line.contains("saved again meanwhile")), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.contains("tests passed")).count(), 1, "{said:#?}");
    trying.end();
}

/// From a save to the result on the shipped recording; `--nocapture` shows how long that takes.
#[test]
fn a_save_is_answered_at_once() {
    let place = examples();
    done(&place, "policy new team --from ollm -q");
    let recording = "examples/transcripts/debugging-session.jsonl";
    let trying = Trying::start(&place, &format!("policy dev team {recording} --context-size 8192"));
    trying.until(&["tests passed", "waits until"]);
    let took = ["one", "two", "three"].map(|word| {
        let began = Instant::now();
        edit(&place, "return policy\n", &format!("print('{word}')\nreturn policy\n"));
        trying.until(&[word, "tests passed", "waits until"]);
        began.elapsed()
    });
    trying.end();
    let best = took.into_iter().min().unwrap();
    #[expect(clippy::print_stdout, reason = "it is measured to be read")]
    {
        println!("from save to result: {} ms", best.as_millis());
    }
}
