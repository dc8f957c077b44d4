//! Slips in what flows from one place to another: results, arguments and operands.
//!
//! Invariant: each is named with its line, and what is meant so passes.

use super::tests::{check, right, wrong};

#[test]
fn hooks_with_a_colon_are_named() {
    let colon = "hook `budgets` is declared with `:`, so the job is `self` and `job` is nothing: \
                 write `.` before `budgets`";
    check(
        "local policy = {}\nfunction policy:budgets(job)\n  return { soft = job.tokens.total }\nend\nreturn policy",
        &[&format!("policy.lua:3: {colon}")],
    );
    for body in [
        "function policy:budgets() return { soft = self.tokens.total } end",
        "function policy:budgets(job) return { soft = 3 } end",
        "function policy:budgets(job) job = job or self return { soft = job.tokens.total } end",
        "function policy.budgets(job) return { soft = job.tokens.total } end",
    ] {
        check(&format!("local policy = {{}}\n{body}\nreturn policy"), &[]);
    }
}

#[test]
fn functions_and_texts_have_no_items() {
    wrong(
        "facts",
        "local f = {}\nfor i = 1, job.covered.count do\nf[i] = job.covered.text[i]\nend\nreturn f",
        "5: `job.covered.text` is a method: `job.covered:text(place)` gives the text",
    );
    wrong("budgets", "local x = ep.count[1]", "3: `ep.count` is a function and no list");
    wrong("budgets", "local x = job.session[1]", "3: `job.session` is a text and no list");
    right("budgets", "local x = job.session:sub(1, 1)");
}

#[test]
fn results_of_searches_are_known() {
    let list = "expected a list";
    for (result, shown) in [
        ("t:match('x.*')", "t.match()"),
        ("string.match(t, 'x')", "string.match()"),
        ("t:upper()", "t.upper()"),
        ("string.format('%s', t)", "string.format()"),
        ("t:find('x')", "t.find()"),
        ("ep.re.match('x', t)", "ep.re.match()"),
    ] {
        let body = format!("local t = job.covered:text(1) or ''\nreturn {result}");
        wrong("facts", &body, &format!("4: `facts` answers `{shown}`: {list}"));
        let plain =
            format!("local t = job.covered:text(1) or ''\nlocal x = {result}\nreturn {{ t }}");
        right("facts", &plain);
    }
    let found = "expected a table with `kind`, `text`";
    wrong(
        "goals",
        "local f = {}\nfor x in job.text:gmatch('Goal: (%S+)') do f[#f + 1] = x end\nreturn f",
        &format!("4: `goals` answers `[...] = x`: {found}"),
    );
    wrong(
        "goals",
        "return ep.re.all('x', job.text)",
        &format!("3: `goals` answers `ep.re.all()`: each item: {found}"),
    );
    right("facts", "return ep.re.all('x', job.covered:text(1) or '')");
    right(
        "goals",
        "local f = ep.re.all('x', job.text)\nfor i, x in f do f[i] = { kind = 'goal', text = x } end\nreturn f",
    );
    right("budgets", "for at in job.session:gmatch('()x') do return { soft = at } end");
    right("budgets", "local at = job.session:match('()x')\nreturn { soft = at }");
    right(
        "budgets",
        "local from, to, word = job.session:find('(x)')\nreturn { soft = to, strategy = word }",
    );
    wrong(
        "budgets",
        "return job.session:find('x') == true and { soft = 3 }",
        "3: `job.session.find()` is a number and no boolean",
    );
    wrong(
        "budgets",
        "local x = type(job.memo.x) == 'strng'",
        "3: `type()` is never `strng`; did you mean `string`?",
    );
}

#[test]
fn roles_are_words() {
    let known = "there are `system`, `user`, `assistant`, `tool`";
    wrong(
        "observe",
        "return { pin = job.entry.role == 'human' }",
        &format!("3: `job.entry.role` is never `human`; {known}"),
    );
    wrong(
        "facts",
        "for i = 1, job.covered.count do print(job.covered.role[i] == 'model') end",
        &format!("3: `job.covered.role[...]` is never `model`; {known}"),
    );
    right("observe", "return { pin = job.entry.role == 'user' }");
}

#[test]
fn operands_of_other_types_are_named() {
    wrong(
        "observe",
        "return { pin = job.entry.tokens > '300' }",
        "3: `job.entry.tokens` is a number and `\"300\"` a text, and neither is greater; write `300`",
    );
    wrong(
        "observe",
        "return { pin = job.entry:text():match('%d+') > 300 }",
        "3: `300` is a number and `job.entry.text().match()` a text, and neither is greater; `tonumber` reads a number",
    );
    wrong(
        "observe",
        "local x = job.entry.error + 1",
        "3: `job.entry.error` is a boolean and no number",
    );
    wrong("observe", "local x = {}\nlocal y = x + 1", "4: `x` is a table and no number");
    wrong("observe", "local n = 0\nn += job.tokens", "4: `job.tokens` is a table and no number");
    wrong(
        "observe",
        "local s = ''\ns ..= job.entry.error",
        "4: `job.entry.error` is a boolean and no text",
    );
    wrong(
        "observe",
        "local s = 'tokens: ' + job.entry.tokens",
        "3: `\"tokens: \"` is a text and no number; `..` joins texts",
    );
    right("observe", "local x = '3' + job.entry.tokens, job.session < 'x', '0x10' * 2");
    right(
        "observe",
        "local x = setmetatable({}, { __add = function() return 1 end })\nlocal y = x + 1",
    );
    right("observe", "local n = tonumber(job.entry:text())\nreturn { pin = n ~= nil and n > 3 }");
    check(
        "local function more(a, b) if type(b) == 'string' then b = 3 end return a > b end\n\
         return { observe = function(job) return { pin = more(job.entry.tokens, 'x') } end }",
        &[],
    );
}

#[test]
fn arguments_of_the_language_are_looked_at() {
    let text = "expected a text: `f.text` is one";
    for body in [
        "for _, f in ipairs(job.must_keep) do\nif not job.candidate:find(f) then return false end end",
        "for _, f in job.must_keep do\nif not job.candidate:find(f, 1, true) then return false end end",
    ] {
        wrong("verify", body, &format!("4: `job.candidate.find` is given `pattern = f`: {text}"));
    }
    check(
        "local function has(it, f) return it.candidate:find(f, 1, true) ~= nil end\n\
         return { verify = function(job) return has(job, job.must_keep[1]) end }",
        &[&format!("policy.lua:2: `it.candidate.find` is given `pattern = f`: {text}")],
    );
    wrong("goals", "local x = table.concat(job.goals, ', ')", "3: `job.goals` is no list");
    wrong(
        "goals",
        "local x = table.concat(job.goals.goals, ', ')",
        "3: `table.concat` is given `job.goals.goals`, a list of tables: it joins texts",
    );
    wrong(
        "goals",
        "local list = {}\nlist[1] = { kind = 'goal' }\nlocal x = table.concat(list)",
        "5: `table.concat` is given `list`, a list of tables: it joins texts",
    );
    wrong(
        "goals",
        "local x = job.text:find()",
        "3: `job.text.find` is given 0 arguments: it takes (pattern, from, plain)",
    );
    wrong(
        "goals",
        "for _, x in ipairs(job.text) do end",
        "3: `ipairs` is given `list = job.text`: expected a table",
    );
    wrong(
        "goals",
        "local x = math.floor(job.tokens)",
        "3: `math.floor` is given `number = job.tokens`: expected a number",
    );
    right("goals", "local x = table.concat({ job.text, 3 }, ', ')\nlocal y = job.text:find(3)");
    right(
        "goals",
        "local x = job.text:gsub('%w', { a = 'b' }):gsub('x', function(it) return it end)",
    );
    right("goals", "local x = job.text:sub(2):rep(3)\nfor k, v in pairs(job.goals) do end");
    check(
        "local function has(text, f) if type(f) == 'table' then f = f.text end return text:find(f) end\n\
         return { verify = function(job) return has(job.candidate, job.must_keep[1]) ~= nil end }",
        &[],
    );
}

#[test]
fn answers_that_are_lost_are_named() {
    let lost = "and `budgets` returns nothing: return the answer";
    wrong("budgets", "local b = ep.next(job)\nb.soft = 3", &format!("4: `b` is changed, {lost}"));
    wrong(
        "budgets",
        "local b = ep.next(job)\nif not b then return nil end\nb.soft = 3",
        &format!("5: `b` is changed, {lost}"),
    );
    wrong("budgets", "local b = {}\nb.soft = 3", &format!("3: `b` is made, {lost}"));
    wrong(
        "plan",
        "local a = ep.next(job)\ntable.insert(a.ops, { op = 'fit' })",
        "4: `a.ops` is changed, and `plan` returns nothing: return the answer",
    );
    right("budgets", "local b = ep.next(job)\nif not b then return end\nb.soft = 3\nreturn b");
    right("budgets", "local b = ep.next(job)\njob.memo.soft = b and b.soft");
    right("budgets", "local b = { soft = 3 }\njob.memo.last = b");
}
