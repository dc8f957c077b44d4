//! Mistakes of whoever takes a value for what it is not: a list, a text, a word.
//!
//! Invariant: each is named with its line, and what is meant so passes.

use super::tests::{check, right, wrong};

#[test]
fn lists_and_methods_are_told_from_what_holds_them() {
    let columns = "`job.entries` is no list, it has one for each property: `job.entries.role[i]` is of \
                   one message, `job.entries.count` how many there are";
    for body in ["for i = 1, #job.entries do print(i) end", "return job.entries[1]"] {
        wrong("plan", body, &format!("3: {columns}"));
    }
    wrong("plan", "for _, it in ipairs(job.entries) do print(it) end", &format!("3: {columns}"));
    wrong("plan", "return job.tokens[1]", "3: `job.tokens` is no list");
    right("plan", "for i = 1, #job.entries.role do print(job.entries.role[i]) end");
    right("age", "for i = 1, #job.checkpoints do print(job.checkpoints[i].id) end");
    let method = "3: `job.entry.text` is a method: `job.entry:text()` gives the text";
    for body in [
        "return job.entry.text:find('x') and { pin = true }",
        "return job.entry.text .. 'x' == 'yx' and { pin = true }",
        "local text = job.entry.text\nreturn text < 'x' and { pin = true }",
    ] {
        let method = match body.starts_with("local") {
            true => "4: `text` is a function and no text",
            false => method,
        };
        wrong("observe", body, method);
    }
    right("observe", "return job.entry:text():find('x') and { pin = true }");
}

#[test]
fn words_that_nobody_fills_are_named() {
    wrong(
        "summary_prompt",
        "return { style = 'separate', user = 'Sum up {conversatoin}' }",
        "3: `summary_prompt` answers `user`: nobody fills `{conversatoin}`; did you mean `{conversation}`?",
    );
    wrong(
        "render",
        "return { text = 'See {idd}.' }",
        "3: `render` answers `text`: nobody fills `{idd}`; did you mean `{id}`?",
    );
    right(
        "summary_prompt",
        "return { style = 'separate', user = '{conversation} {must_keep} as {\"a\": {b}}' }",
    );
    right("render", "return { text = ('{idd}'):gsub('{idd}', 'x') }");
    wrong(
        "summary_prompt",
        "return { style = 'separate', user = ep.prompt('nofile') }",
        "3: there is no `prompts/nofile.md`; there are no prompts",
    );
}

#[test]
fn speakers_are_words() {
    let people = "did you mean `human`?";
    wrong(
        "observe",
        "return job.entry.speaker == 'humn' and { pin = true }",
        &format!("3: `job.entry.speaker` is never `humn`; {people}"),
    );
    wrong(
        "plan",
        "for i = 1, job.entries.count do print(job.entries.speaker[i] == 'persn') end",
        "3: `job.entries.speaker[...]` is never `persn`; there are `human`, `model`, `tool`, `harness`",
    );
    right("goals", "return job.speaker == 'human' and {} or nil");
}

#[test]
fn goals_are_followed_in_their_own_hook() {
    let known = "there are `goals`, `decisions`";
    wrong("goals", "local x = job.goals.foo", &format!("3: `job.goals` has no `foo`; {known}"));
    wrong(
        "goals",
        "local x = job.goals.current.textt",
        &format!("3: `job.goals` has no `current`; {known}"),
    );
    wrong(
        "goals",
        "for _, goal in ipairs(job.goals.goals) do print(goal.textt) end",
        "3: `goal` has no `textt`; did you mean `text`?",
    );
    wrong("goals", "for _, goal in ipairs(job.goals) do end", "3: `job.goals` is no list");
    check(
        "local M = {}\nlocal function last(it) return it.goals.goals[1].txt end\n\
         function M.goals(job) return last(job) and {} end\nreturn M",
        &["policy.lua:3: `it.goals.goals[...]` has no `txt`; did you mean `text`?"],
    );
    right(
        "goals",
        "local goal = job.goals.goals[#job.goals.goals]\nreturn goal and goal.next[1] and {} or nil",
    );
    // A hook that the policy hands on may be called with anything.
    check(
        "local p = {}\nlocal function goals(job) return job.other and {} end\n\
         p.goals = goals\nlocal list = { goals }\n\
         function p.plan(job) for _, f in list do f({ other = 3 }) end end\nreturn p",
        &[],
    );
}

#[test]
fn lists_are_told_from_named_fields() {
    let fields = "expected named fields and no list; there are `order`, `leave_out`";
    for body in ["return { 1, 2 }", "return { [1] = 2 }", "return { job.passages[1].text }"] {
        wrong("recall", body, &format!("3: `recall` answers `{{...}}`: {fields}"));
    }
    let list = "local list = {}\nfor i = 1, #job.passages do";
    for body in ["list[#list + 1] = i", "table.insert(list, i)"] {
        let body = format!("{list} {body} end\nreturn list");
        wrong("recall", &body, &format!("4: `recall` answers `{{}}`: {fields}"));
    }
    wrong(
        "recall",
        "return job.passages",
        &format!("3: `recall` answers `job.passages`: {fields}"),
    );
    wrong(
        "recall",
        "return { order = job.passages }",
        "3: `recall` answers `order = job.passages`: each item: expected a whole number from 0 up",
    );
    wrong(
        "recall",
        "return { order = { first = 1 } }",
        "3: `recall` answers `order = {...}`: expected a list",
    );
    wrong(
        "budgets",
        "return job.tokens",
        "3: `budgets` answers `job.tokens`: it has `total`, and there is no such field; there are `warn`, \
         `ahead`, `soft`, `hard`, `target`, `reserve`, `checkpoints`, `keep_recent`, `system`, \
         `class`, `strategy`",
    );
    wrong(
        "plan",
        "return ep.next(job).ops",
        "3: `plan` answers `ep.next().ops`: expected named fields and no list; there are `ops`, \
         `snapshot`, `reason`, `watermark`, `watermark_tool`",
    );
    wrong(
        "facts",
        "local lines = {}\nlines[job.session] = 'x'\nreturn lines",
        "4: `facts` answers `{}`: expected a list",
    );
    right("facts", "local lines = { n = 1 }\nlines.n = nil\nlines[1] = 'x'\nreturn lines");
    right("recall", "return { order = { 1 }, leave_out = {} }");
    right("recall", "local t = { 1 }\nt[1] = nil\nt.order = { 2 }\nreturn t");
    right("recall", "local t = { 1 }\nt.order = { table.remove(t) }\nreturn t");
    right("recall", "return { job.memo.none }");
    right("status", "return job.budgets and nil");
    right("facts", "return job.memo.list or { 'a' }");
}

#[test]
fn what_is_added_to_an_answer_of_others_is_looked_at() {
    let fot = "`a.ops` gets `[...].op = \"fitt\"`: no such `op`; did you mean `fit`?";
    for put in [
        "table.insert(a.ops, { op = 'fitt' })",
        "table.insert(a.ops, 1, { op = 'fitt' })",
        "a.ops[#a.ops + 1] = { op = 'fitt' }",
        "a.ops[1] = { op = 'fitt' }",
    ] {
        for next in ["ep.next(job)", "ep.next(job) or { ops = {} }"] {
            let body = format!("local a = {next}\n{put}\nreturn a");
            wrong("plan", &body, &format!("4: {fot}"));
        }
    }
    wrong(
        "plan",
        "local a, put = ep.next(job), table.insert\nput(a.ops, { op = 'fitt' })\nreturn a",
        &format!("4: {fot}"),
    );
    wrong(
        "plan",
        "local ops = ep.next(job).ops\nops[#ops + 1] = { op = 'fit', mosst = 3 }\nreturn { ops = ops }",
        "4: `ops` gets `[...].mosst = 3`: no such field; there are `max_tokens`, \
         `keep_recent_share`, `keep_recent_messages`, `keep`, `also`",
    );
    wrong(
        "plan",
        "local a = ep.next(job)\na.ops[1] = 'fit'\nreturn a",
        "4: `a.ops` gets `[...] = \"fit\"`: expected a table whose `op` is `fit`, `summarize`, \
         `age`, `merge`, `summarize_user`, `replace`, `drop`, `clear_tools`, `insert`, \
         `rollover`, `pin`, `warn`, `write_file` or `handover`",
    );
    wrong(
        "plan",
        "local a = ep.next(job)\nfor _, op in ipairs(a.ops) do\nop.keep = 3\nend\nreturn a",
        "5: `op` gets `keep = 3`: expected a list",
    );
    wrong(
        "plan",
        "local a = ep.next(job)\na.ops[1].max_tokns = 3\nreturn a",
        "4: `a.ops[...]` has no `max_tokns`; did you mean `max_tokens`?",
    );
    check(
        "local function add(list, it) list[#list + 1] = it end\n\
         return { plan = function(job)\nlocal a = ep.next(job)\nadd(a.ops, { op = 'fitt' })\nreturn a end }",
        &["policy.lua:5: `list` gets `[...].op = \"fitt\"`: no such `op`; did you mean `fit`?"],
    );
    right("plan", "local a = ep.next(job)\na.ops[#a.ops + 1] = { op = 'fit' }\nreturn a");
    right("plan", "local a = ep.next(job)\na.ops[1].target = 3\na.ops[1] = nil\nreturn a");
    right("plan", "local a = ep.next(job)\na.note = 3\na.note = nil\nreturn a");
    right("plan", "local a = ep.next(job) or { ops = {} }\na.ops[1] = job.memo.op\nreturn a");
}

#[test]
fn values_are_compared_to_what_they_may_be() {
    wrong(
        "observe",
        "return { pin = job.entry.text == 'x' }",
        "3: `job.entry.text` is a method: `job.entry:text()` gives the text",
    );
    wrong(
        "observe",
        "return { pin = 'x' ~= job.entry.tool.find }",
        "3: `job.entry.tool.find` is a function and no text",
    );
    wrong("budgets", "local x = ep.count == 3", "3: `ep.count` is a function and no number");
    wrong(
        "observe",
        "local n = job.entry.tokens == '3'",
        "3: `job.entry.tokens` is a number and no text",
    );
    wrong("plan", "local n = job.entries == 3", "3: `job.entries` is a table and no number");
    right("observe", "return { pin = job.entry.text ~= nil and job.entry:text() == 'x' }");
    right("observe", "return { pin = job.entry.tool == 'x' or job.entry.tokens == 3 }");
    right("observe", "return { pin = (job.memo.x and 'y') == false }");
    check(
        "local function each(list, f) if f == 'all' then return list end return f(list) end\n\
         return { facts = function(job) return each({ 'a' }, function(it) return it end) end }",
        &[],
    );
}

#[test]
fn patterns_that_are_none_are_named() {
    let given = "is given a pattern that cannot be used";
    let regex = "`(a` is no regular expression: unclosed group";
    let lua =
        "`(%d+` is no pattern of Lua: a `(` is never closed; `%(` stands for the bracket itself";
    let name = "local x = job.session";
    for (body, line, called) in [
        ("ep.re.find('(a', 'x')", 3, "ep.re.find"),
        ("ep.re.all('(' .. 'a', 'x')", 3, "ep.re.all"),
        ("local re, p = ep.re, '(a'\nprint(re.match(p, 'x'))", 4, "re.match"),
        ("for _, p in ipairs({ 'b', '(a' }) do\nprint(ep.re.find(p, 'x')) end", 4, "ep.re.find"),
        (
            "for _, it in { { p = '(a' }, { p = 'b' } } do\nep.re.gsub(it.p, 'x', 'y') end",
            4,
            "ep.re.gsub",
        ),
    ] {
        wrong("budgets", body, &format!("{line}: `{called}` {given}: {regex}"));
    }
    for (body, called) in [
        ("string.find(x, '(%d+')", "string.find"),
        ("x:match('(%d+')", "x.match"),
        ("local y = x:gsub('(%d+', '')", "x.gsub"),
        ("for y in x:gmatch('(%d+') do end", "x.gmatch"),
        ("local y = job.memo.text:match('(%d+')", "job.memo.text.match"),
        ("x:find('(%d+', 1, false)", "x.find"),
    ] {
        let body = format!("{name}\n{body}");
        wrong("budgets", &body, &format!("4: `{called}` {given}: {lua}"));
    }
    wrong(
        "budgets",
        "ep.re.find(\"\\\\bok[\", 'x')",
        &format!(
            "3: `ep.re.find` {given}: `\\bok[` is no regular expression: unclosed character class"
        ),
    );
    wrong(
        "budgets",
        &format!("{name}\nx:find('[a')"),
        &format!(
            "4: `x.find` {given}: `[a` is no pattern of Lua: a `[` is never closed; `%[` stands for \
             the bracket itself"
        ),
    );
    right("budgets", "ep.re.find('(?i)\\\\b(a|b)\\\\s', 'x')");
    check(
        "local function has(text, p) return ep.re.find(p, text) ~= nil end\n\
         return { facts = function(job) return { has('x', '(a') and 'x' or has('x', 'b') and 'y' or nil } end }",
        &[&format!("policy.lua:2: `ep.re.find` {given}: {regex}")],
    );
    check(
        "local function has(text, p, plain)\nif plain then return text:find(p, 1, true) end\n\
         return ep.re.find(p, text) ~= nil end\n\
         return { facts = function(job) return { has('x', '(a', true) and 'x' or has('x', 'b') and 'y' or nil } end }",
        &[],
    );
    wrong(
        "plan",
        "for i = 1, job.entries.count do print(job.entries:text(i):match('(%d+')) end",
        &format!("3: `job.entries.text().match` {given}: {lua}"),
    );
    right("budgets", "('x'):find(':)')");
    right("budgets", "('x'):find('(%d+', 1, true)");
    right("budgets", "local x = job.memo\nif x.a then ('x'):find('(%d', 1, x.plain) end");
    right(
        "budgets",
        "local own = { match = function(self, text) return text end }\nlocal x = job.memo.x or own\nx:match('(%d')",
    );
    right(
        "budgets",
        "for _, p in ipairs({ '(', 'a' }) do if p ~= '(' then ep.re.find(p, 'x') end end",
    );
    right(
        "budgets",
        "for i, p in ipairs({ '(', 'a' }) do if i > 1 then ep.re.find(p, 'x') end end",
    );
}
