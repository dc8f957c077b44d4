-- Hostile policies, each behind a line `--# HOOK NAME EVENT`: the body of that hook, and the event
-- that tells of it; `-` where nothing need be told. `load` is the whole file behind the first line.

--# budgets never_ends policy-error
while true do end
--# tool_result guards_its_loop policy-error
while true do pcall(function() while true do end end) end
--# observe loops_in_a_coroutine policy-error
coroutine.wrap(function() while true do end end)()
--# goals rests_in_a_long_text policy-error
return ('x'):rep(1e9)
--# facts fills_tables policy-error
local all = {}
while true do all[#all + 1] = { all, #all } end
--# trigger loops_in_repeat policy-error
repeat local x = 1 until x == 2
--# plan loops_in_goto policy-error
local function a() return 1 end
while a() do end
--# age grows_a_text policy-error
local text = "x"
while true do text = text .. text end
--# summary_prompt never_asks policy-error
while true do end
--# verify never_judges policy-error
for i = 1, math.huge do local _ = i end
--# render recurses policy-error
local function f() return 1 + f() end
return { text = f() }
--# status never_says policy-error
while true do end
--# on_event never_hears policy-error
while true do end
--# recall never_ranks -
while true do end
--# trigger backtracks policy-error
return string.find(('a'):rep(1e5), '.-.-.-.-b')
--# observe takes_a_long_pattern policy-error
return { warn = string.find(('a'):rep(1e5), ('a'):rep(1e5)) }
--# goals doubles_by_gsub policy-error
local text = "x"
while true do text = text:gsub(".", "%0%0") end
--# render formats_wide policy-error
return { text = string.format("%99999d", 1) }
--# budgets concatenates policy-error
local all = {}
for i = 1, 1e6 do all[i] = ('x'):rep(1000) end
return { soft = #table.concat(all) }
--# trigger sorts_without_order policy-error
local list = {}
for i = 1, 1e5 do list[i] = i % 7 end
table.sort(list, function() return true end)
error("sorted")
--# plan sorts_for_ever policy-error
table.sort({ 3, 2, 1 }, function() while true do end end)
--# status nests_coroutines policy-error
local function f() return coroutine.wrap(f)() end
return { text = f() }
--# trigger yields policy-error
coroutine.yield(1)
error("went on")
--# observe answers_a_coroutine policy-error
return coroutine.create(function() end)
--# goals asks_for_a_huge_pattern policy-error
return ep.re.all("(\\w{1000}){1000}", job.text)
--# tool_result decodes_a_pit policy-error
assert(ep.json.decode(("["):rep(1e6)))
--# observe encodes_a_circle policy-error
local t = {}
t.t = t
return { warn = ep.json.encode(t) }
--# plan counts_much policy-error
while true do ep.count(('some words '):rep(1e5)) end
--# budgets asks_those_behind_for_ever policy-error
while true do ep.next(job) end
--# status unpacks_much policy-error
return { text = select('#', unpack({}, 1, 1e8)) }
--# render prints_itself policy-error
local t = {}
setmetatable(t, { __tostring = function(self) return tostring(self) end })
return { text = tostring(t) }
--# on_event notes_much policy-error
for i = 1, 1e5 do job.memo["n" .. i] = ('x'):rep(200) end
--# observe notes_a_circle policy-error
job.memo.self = job.memo
--# status notes_a_function policy-error
job.memo.f = function() end
--# trigger writes_to_the_job policy-error
job.tokens.total = 0
return true
--# plan writes_raw_to_the_job policy-error
rawset(job, "target", 0)
return ep.next(job)
--# goals unlocks_the_job policy-error
setmetatable(job, {})
--# facts changes_texts policy-error
job.covered.text = function() return "nothing" end
--# budgets runs_a_program policy-error
os.execute("touch escaped")
--# trigger opens_a_file policy-error
io.open("escaped", "w"):write("x")
--# observe requires_above policy-error
return require("../../../epitome")
--# goals requires_the_root policy-error
return require("/etc/passwd")
--# plan looks_into_frames policy-error
return debug.getinfo(1)
--# status loads_bytes policy-error
return load("\27Lua")()
--# render dumps_code policy-error
return { text = string.dump(function() end) }
--# budgets changes_all_texts policy-error
getmetatable("").__index = function() return function() return 1 end end
--# trigger takes_the_environment policy-error
return getfenv(0)
--# tool_result sets_an_environment policy-error
setfenv(1, {})
--# observe makes_a_global policy-error
escaped = true
--# goals sets_a_raw_global policy-error
rawset(_G, "ep", nil)
--# facts takes_rep_away policy-error
string.rep = nil
--# plan takes_next_away policy-error
ep.next = nil
--# age looks_into_packages policy-error
return package.loaded
--# status collects_garbage policy-error
collectgarbage("stop")
--# render makes_a_proxy policy-error
return { text = tostring(newproxy(true)) }
--# on_event loads_a_string policy-error
loadstring("x = 1")()
--# trigger does_a_file policy-error
dofile("/etc/passwd")
--# summary_prompt reads_beside policy-error
return { style = "none", user = ep.prompt("../../../secret") }
--# plan opens_the_kernel policy-error
getmetatable(ep).__index = nil
--# budgets errs_with_an_endless_text policy-error
error(setmetatable({}, { __tostring = function() while true do end end }))
--# trigger errs_with_a_table policy-error
error({})
--# observe errs_with_nothing policy-error
error(nil)
--# plan handles_for_ever policy-error
xpcall(function() error("x") end, function() while true do end end)
error("handled")
--# status errs_while_it_errs policy-error
error(setmetatable({}, { __tostring = function() error("again") end }))
--# goals errs_at_length policy-error
error(('x'):rep(1e7))
--# budgets answers_a_word policy-error
return "all"
--# budgets answers_less_than_nothing policy-error
return { soft = -1 }
--# budgets answers_no_number policy-error
return { soft = 0 / 0 }
--# budgets answers_infinity policy-error
return { hard = math.huge, soft = 1e308 }
--# budgets answers_more_than_the_limit answer-bounded
return { hard = 2 ^ 50, soft = 2 ^ 50, target = 2 ^ 50 }
--# budgets leaves_no_room answer-bounded
return { hard = 0, soft = 0, target = 0, reserve = job.model.limit }
--# budgets answers_without_end -
return setmetatable({}, { __index = function(t) return t end, __pairs = function() while true do end end })
--# plan answers_a_circle policy-error
local ops = {}
ops[1] = { op = "drop", entries = ops }
return { ops = ops }
--# tool_result burns policy-error
return { how = "burn" }
--# tool_result empties -
return { how = "digest", text = "" }
--# tool_result answers_more_than_it_got -
return { how = "offload", text = ('more and more '):rep(1e5) }
--# tool_result masks_everything -
return { how = "mask", text = "[gone]" }
--# observe pins_by_a_number policy-error
return { pin = 1 }
--# observe pins_everything -
return { pin = true }
--# observe looks_for_much -
return { recall = ('importer '):rep(1e5), max_tokens = 1e9 }
--# observe warns_at_length -
return { warn = ('w '):rep(1e5), level = "hard" }
--# goals finds_ten_thousand -
local all = {}
for i = 1, 1e4 do all[i] = { kind = "goal", text = "Goal " .. i } end
return all
--# goals finds_another_kind policy-error
return { { kind = "empire", text = "x" } }
--# goals locks_long_texts -
return { { kind = "decision", state = "locked", text = ('never '):rep(1e5) } }
--# facts finds_every_line answer-bounded
local all = {}
for place = 1, job.covered.count do
  for line in (job.covered:text(place) or ""):gmatch("[^\n]+") do all[#all + 1] = line end
end
return all
--# facts finds_what_nobody_said -
return { ('nobody said this '):rep(1e4) }
--# facts finds_numbers policy-error
return { 1, {}, true }
--# trigger says_yes policy-error
return "yes"
--# trigger forces_each_time -
return { level = "hard", target = 1 }
--# trigger never_compresses -
return false
--# trigger passes_for_no_reason policy-error
return { skip = "lazy" }
--# plan orders_nothing -
return { ops = {} }
--# plan drops_everything -
local all = {}
for place = 1, job.entries.count do all[place] = place end
return { ops = { { op = "drop", entries = all } } }
--# plan pins_everything -
local all = {}
for place = 1, job.entries.count do all[place] = place end
return { ops = { { op = "pin", entries = all } } }
--# plan orders_without_end policy-error
local ops = {}
while true do ops[#ops + 1] = { op = "drop", entries = { 1 } } end
--# plan orders_much -
local ops = {}
for i = 1, 1e4 do ops[i] = { op = "warn", text = "again" } end
return { ops = ops }
--# plan counts_from_minus_one policy-error
return { ops = { { op = "drop", entries = { -1 } } } }
--# plan starts_over_in_nothing -
return { ops = { { op = "rollover", target = 0 } } }
--# plan inserts_a_book -
return { ops = { { op = "insert", after = 1, role = "user", text = ('a book '):rep(1e5) } } }
--# plan does_all_twice -
local op = { op = "replace", entry = 2, how = "cut", target = 1 }
return { ops = { op, op, { op = "drop", entries = { 2 } } } }
--# plan writes_outside -
return { ops = { { op = "fit" }, { op = "write_file", name = "../escaped", text = "x" } } }
--# age ages_what_is_not_there -
return { { checkpoint = "ffffffff", to = 0, target = 1 } }
--# age ages_beyond policy-error
return { { checkpoint = 7, to = "x", target = {} } }
--# summary_prompt leaves_the_talk_out -
return { style = "separate", user = "" }
--# summary_prompt asks_at_length -
return { style = "separate", user = ('{conversation} '):rep(2000), max_tokens = 1e9 }
--# verify refuses_all -
return { reject = ('no '):rep(1e5) }
--# verify adds_a_book -
return { append = ('a book '):rep(1e5), confidence = 0 / 0 }
--# render says_nothing -
return { text = "" }
--# render says_a_book -
return { text = ('a book '):rep(1e4), place = "front", role = "assistant" }
--# status scores_no_number -
return { score = 0 / 0, low = true, text = ('x'):rep(1e5), report = ('x'):rep(1e5) }
--# on_event writes_above -
return { write_file = { name = "../../escaped", text = "x" } }
--# recall names_one_twice -
return { order = { 1, 1 } }
--# recall names_what_is_not_there -
return { order = { 0, 99 } }
--# recall names_no_number -
return { order = { 0 / 0 } }
--# recall leaves_all_out -
local all = {}
for place in ipairs(job.passages) do all[place] = place end
return { leave_out = all }
--# recall answers_its_own_text -
return { order = { "the secret word is swordfish" }, text = "swordfish" }
--# recall grows -
local all = {}
while true do all[#all + 1] = ('x'):rep(1e4) .. #all end
--# recall errs -
error("no order")
--# trigger asks_for_ever policy-error
return { ask = { id = "q" .. #job.now .. job.messages, user = "Again?" } }
--# observe changes_its_mind -
job.memo.n = (job.memo.n or 0) + 1
return { pin = job.memo.n % 2 == 0, warn = "time " .. job.memo.n }
--# trigger prints_without_end policy-error
while true do print(('x'):rep(1000)) end
--# status logs_without_end policy-error
while true do ep.log("info", "x") end
--# load is_no_lua refused
return {{{{{
--# load nests_deep refused
return 
--# load loops refused
while true do end
--# load grows refused
local t = {}
while true do t[#t + 1] = ('x'):rep(1e5) .. #t end
--# load returns_nothing refused
local x = 1
--# load returns_a_hook_that_is_none refused
return { trigger = 7 }
--# load returns_an_unknown_hook refused
return { exfiltrate = function() end }
--# load requires_in_a_circle refused
return require("one")
--# load declares_wrong_options refused
return { options = { share = { type = "number", default = 0 / 0, min = 1, max = -1 } } }
--# load declares_endless_options refused
local all = {}
while true do all["o" .. #all] = { type = "string", default = "" } all[#all + 1] = 1 end
--# load extends_itself refused
return { extends = "hostile" }
--# load is_bytes refused
BYTES
