--- Drift and recovery: an agent that forgets is caught, one that does not is left alone (RULES 51,
--- CTX-004 of 7.8).
local talk = require("tests.support.talk")

local TASK = "Add an export of the monthly sales to report.md and keep the parser as it is."

local EDIT = { path = "src/export.py", old_string = "pass", new_string = "return rows" }

--- What was said before the summary: the agent reads, writes and tests.
local function before(more)
  local edit = talk.write("src/export.py", 10, 190, { tool = "edit_file" })
  edit.args = ep.json.encode(EDIT)
  local messages = {
    { "u", 60, TASK },
    { "c", 20, tool = "read_file", args = '{"path":"src/parser.py"}' },
    { "r", 400, "def parse(rows): ..." },
    edit, { "r", 20, "edited" },
    { "a", 900, "The export reads the rows of the month; next come the headings of the report." },
    { "a", 20, "First the tests." },
    { "c", 20, tool = "bash", args = '{"command":"pytest tests/test_export.py"}' },
    { "r", 30, "2 passed" },
  }
  for _, message in ipairs(more or {}) do
    messages[#messages + 1] = message
  end
  return messages
end

--- Plays messages after a summary, and gives what is answered to each. A message is what the model
--- says, `{ call = tool, ... }` with its arguments and what comes of it, or `{ typed = text }`.
local function play(t, after, more)
  more = more or {}
  local job = talk.job(t, more.before or before(), 2000, { total = 1600 })
  t.eq(talk.ops(t, job)[1][1], "summarize")
  local memo, found, since, typed = job.memo, {}, 0, TASK
  local function observe(fields)
    since = since + 1
    fields.memo, fields.compressions = memo, more.compressions or 1
    fields.since_compaction, fields.intent, fields.replies = since, typed, more.replies or {}
    local seen = t.hook("observe", fields, more.options)
    if seen and (seen.drift or seen.ask) then
      found[#found + 1] = seen
    end
  end
  for _, one in ipairs(after) do
    if type(one) == "string" then
      observe({ entry = { speaker = "model", role = "assistant", text = one } })
    elseif one.typed then
      typed = one.typed
      observe({ entry = { speaker = "human", role = "user", text = one.typed } })
    else
      local arguments = ep.json.encode(one.args)
      local text = (one.says and one.says .. "\n" or "") .. one.call .. "(" .. arguments .. ")"
      observe({
        entry = { speaker = "model", role = "assistant", text = text, tool = one.call },
        actions = { { tool = one.call, arguments = arguments } },
      })
      observe({ entry = { speaker = "tool", role = "tool", text = one.result or "ok" } })
    end
  end
  return found, memo
end

--- What shows the drift, each time that it is seen.
local function triggers(t, after, more)
  local all = {}
  for at, seen in ipairs((play(t, after, more))) do
    all[at] = seen.drift and seen.drift.trigger or "asks"
  end
  return all
end

local function read(path)
  return { call = "read_file", args = { path = path }, result = "the text of " .. path }
end

local function run(command, result, says)
  return { call = "bash", args = { command = command }, result = result, says = says }
end

return {
  --- One that goes on with its work is left alone: it reads again what left its context, breaks new
  --- ground that a listing shows, runs the same tests, and says what it did.
  test_an_agent_that_goes_on_is_left_alone = function(t)
    local edit = { path = "src/export.py", old_string = "rows", new_string = "x" }
    t.eq(triggers(t, {
      read("src/parser.py"),
      run("ls docs", "outline.txt\nglossary.txt"),
      read("docs/outline.txt"),
      { call = "edit_file", args = edit },
      run("pytest tests/test_export.py", "3 passed"),
    }), {})
  end,

  test_one_that_finishes_its_work_is_left_alone = function(t)
    t.eq(triggers(t, {
      { call = "write_file", args = { path = "report.md", content = "# Sales\n" } },
      run("pytest", "3 passed"),
      "Done: report.md holds the export of the monthly sales.",
    }), {})
  end,

  -- "does the agent ask a clarifying question at once"
  test_a_clarifying_question_at_once = function(t)
    local seen = play(t, { "What would you like me to work on? Which file should I change?" })[1]
    t.eq(seen.drift, {
      trigger = "a clarifying question",
      intent = TASK,
      action = "What would you like me to work on? Which file should I change?",
    })
    t.eq({ seen.recall, seen.max_tokens, seen.level, seen.warn }, { TASK, 500, "soft" })
    t.eq(triggers(t, { "何をすればよいですか？" }), { "a clarifying question" })
  end,

  --- Who only tells it to go on says nothing of what it is there for.
  test_the_intent_is_what_was_said_before = function(t)
    local seen = play(t, { { typed = "go on" }, "What would you like me to work on?" })[1]
    t.eq({ seen.drift.intent, seen.recall }, { TASK, TASK })
  end,

  --- Not at once, not in the middle of the work, not for the first time, or an offer at the end of
  --- a longer answer: no drift.
  test_questions_that_are_none = function(t)
    t.eq(triggers(t, { read("src/parser.py"), "Which heading should it have?" }), {})
    local told = { typed = "Look at the headings once more, they are wrong." }
    t.eq(triggers(t, { told, "Which ones?" }), {})
    local asked = before({ { "u", 20, "Now the second table, please." } })
    t.eq(triggers(t, { "Which table do you mean?" }, { before = asked }), {})
    local habit = before({ { "a", 20, "Which month?" }, { "c", 20, tool = "bash", args = "{}" } })
    habit[#habit + 1] = { "r", 20 }
    t.eq(triggers(t, { "And which year?" }, { before = habit }), {})
    t.eq(triggers(t, { "The export is written. It reads each month once. Tests pass. More?" }), {})
  end,

  --- What it is there for nobody asks in the middle of the work, at once or later.
  test_what_to_do_at_all = function(t)
    local file = read("src/parser.py")
    t.eq(triggers(t, { file, "What should I do next?" }), { "a clarifying question" })
    for _, asks in ipairs({
      "Sorry, could you remind me what exactly I should do with this repository?",
      "Can you remind me of the task?",
      "Could you tell me which project we are working on and what the goal is?",
      "Was genau soll ich tun?",
    }) do
      t.eq(triggers(t, { file, file, asks }), { "a clarifying question" }, asks)
    end
    for _, asks in ipairs({
      "Can you tell me what port the service uses?",
      "I see what I should do next. Shall I begin with the headings?",
    }) do
      t.eq(triggers(t, { file, file, asks }), {}, asks)
    end
    local wrote = { call = "write_file", args = { path = "report.md", content = "# Sales\n" } }
    t.eq(triggers(t, { file, wrote, "report.md is there. What should I do next?" }), {})
  end,

  --- A person who says to go on gives no new task: who asks for one has forgotten it.
  test_go_on_is_no_new_task = function(t)
    local more = before({ { "u", 5, "go on" } })
    local asks = { "What should I go on with?" }
    t.eq(triggers(t, asks, { before = more }), { "a clarifying question" })
    more = before({ { "u", 5, "Good, and the next one, please?" } })
    t.eq(triggers(t, asks, { before = more }), { "a clarifying question" })
  end,

  -- "is it progress": what was written once is written again
  test_what_was_done_is_done_again = function(t)
    local again = { call = "edit_file", args = EDIT }
    t.eq(triggers(t, { again }), { "no progress" })
    -- Another edit of the same file is none, nor is the same command.
    local other = { path = "src/export.py", old_string = "a", new_string = "b" }
    other = { call = "edit_file", args = other }
    t.eq(triggers(t, { other, run("pytest tests/test_export.py") }), {})
  end,

  --- An edit that failed may be tried again.
  test_what_failed_is_tried_again = function(t)
    local messages = before()
    messages[4].input.ok = false
    t.eq(triggers(t, { { call = "edit_file", args = EDIT } }, { before = messages }), {})
  end,

  test_the_same_call_with_the_same_result = function(t)
    local options = { drift_messages = 20 }
    local all = {}
    for at = 1, 4 do
      all[at] = run("pytest tests/test_export.py", "2 passed")
    end
    t.eq(triggers(t, all, { options = options }), {})
    all[5] = all[1]
    t.eq(triggers(t, all, { options = options }), { "no progress" })
    -- Who waits for something sees it change, at last.
    all[3] = run("pytest tests/test_export.py", "3 passed")
    t.eq(triggers(t, all, { options = options }), {})
  end,

  --- Who was told to do something again and again does what was asked for.
  test_what_was_ordered_is_done_again_and_again = function(t)
    local all = {}
    for at = 1, 6 do
      all[at] = run("pytest tests/test_export.py", "2 passed")
    end
    local function found(order)
      local options = { drift_messages = 20 }
      return triggers(t, all, { before = before({ { "u", 20, order } }), options = options })
    end
    t.eq(found("Run the test 10 times each time I say go, and count the failures."), {})
    t.eq(found("Watch the deployment every minute and tell me when it is ready."), {})
    t.eq(found("Führe den Test alle 5 Minuten aus."), {})
    t.eq(found("Please poll the queue, and watch what comes out of it."), {})
    t.eq(found("Run the test of the export and mend it."), { "no progress" })
    -- What is built may be called so.
    t.eq(found("Add a monitor to the poll loop of the watch command."), { "no progress" })
  end,

  -- "Repeating a call counts against the exploring that is normal, also when calls are interleaved"
  test_the_same_calls_in_turn = function(t)
    local tests, file = run("pytest tests/test_export.py", "2 passed"), read("src/parser.py")
    local rounds = { tests, file, tests, file, tests }
    t.eq(triggers(t, rounds), {})
    rounds[#rounds + 1] = file
    t.eq(triggers(t, rounds), { "no progress" })
    -- What is new in between is counted against it, and an edit makes a new start.
    local other = { call = "edit_file", args = { path = "src/export.py", old_string = "b" } }
    t.eq(triggers(t, { tests, file, tests, other, file, tests, file, tests }), {})
    local new = { read("docs/a.txt"), read("docs/b.txt"), read("docs/c.txt") }
    t.eq(triggers(t, { tests, file, new[1], tests, file, new[2], tests, new[3], file }), {})
  end,

  --- What was explored before all that is repeated is none of it.
  test_what_came_before_the_first_repeated_call = function(t)
    local listing = run("ls leases", "lease_10.txt")
    local all = { read("docs/a.txt"), read("docs/b.txt"), read("docs/c.txt"), read("docs/d.txt") }
    for _ = 1, 4 do
      all[#all + 1] = listing
    end
    t.eq(triggers(t, all), {})
    all[#all + 1] = listing
    t.eq(triggers(t, all), { "no progress" })
    -- What is explored in between counts.
    table.insert(all, 6, read("docs/e.txt"))
    table.insert(all, 8, read("docs/f.txt"))
    table.insert(all, 10, read("docs/g.txt"))
    t.eq(triggers(t, all), {})
  end,

  --- A person who only says to go on takes nothing of what is looked at.
  test_saying_to_go_on_counts_for_nothing = function(t)
    local all = {}
    for at = 1, 5 do
      all[#all + 1] = run("ls leases", "lease_10.txt")
      all[#all + 1] = { typed = "ok, next" }
      all[#all + 1] = at < 4 and { typed = "go on" } or nil
    end
    t.eq(triggers(t, all, { options = { drift_messages = 9 } }), { "no progress" })
    t.eq(triggers(t, all, { options = { drift_messages = 8 } }), {})
  end,

  --- Calls whose results stay in the prompt are the same calls behind the next summary.
  test_repeating_goes_on_over_a_summary = function(t)
    local job = talk.job(t, before(), 2000, { total = 1600 })
    t.eq(talk.ops(t, job)[1][1], "summarize")
    local call = { "c", 20, tool = "bash", args = '{"command":"ls leases"}' }
    local key = call.tool .. "(" .. call.args .. ")"
    local function with(stays)
      local messages = before(not stays and { call, { "r", 5, "lease_10.txt" } } or {})
      messages[#messages + 1] = { "a", 900, "I go on." }
      for _ = 1, stays and 3 or 0 do
        messages[#messages + 1], messages[#messages + 2] = call, { "r", 5, "lease_10.txt" }
      end
      local again = talk.job(t, messages, 2000, { total = 1600 })
      again.memo, again.compressions = { drift = ep.json.decode(ep.json.encode(job.memo.drift)) }, 1
      again.memo.drift.results = { [ep.hash(key)] = "lease_10.txt" }
      t.eq(talk.ops(t, again)[1][1], "summarize")
      local anchor = again.memo.drift
      return { anchor.compression, anchor.explored, anchor.repeated }
    end
    t.eq(with(true), { 2, 1, 2 })
    t.eq(with(false), { 2, 0, 0 })
  end,

  --- An edit may be taken back and made again, but not for ever; and so one that fails.
  test_edits_that_undo_each_other = function(t)
    local function edit(old, new)
      local args = { path = "report.md", old_string = old, new_string = new }
      return { call = "edit_file", args = args, result = "edited" }
    end
    local one, other, all = edit("id", "number"), edit("number", "id"), {}
    for _ = 1, 3 do
      all[#all + 1], all[#all + 2] = one, other
    end
    t.eq(triggers(t, all), {})
    all[#all + 1], all[#all + 2] = one, other
    t.eq(triggers(t, all), { "no progress" })
    -- Who tries it with another one each time goes on.
    local honest = {}
    for at = 1, 5 do
      honest[#honest + 1], honest[#honest + 2] = edit("id", "number" .. at), run("pytest", "1 failed")
    end
    t.eq(triggers(t, honest), {})
  end,

  -- "does it declare itself done without the deliverable"
  test_done_without_the_deliverable = function(t)
    t.eq(triggers(t, { "All done, the task is complete." }), { "done without the deliverable" })
    t.eq(triggers(t, { "Die Aufgabe ist erledigt." }), { "done without the deliverable" })
    t.eq(triggers(t, { "Not done yet, the report comes next." }, {
      before = before({ talk.write("report.md", 5, 30), { "r", 5 } }),
    }), {})
    -- Who looked for it knows of it; one that a command makes is there.
    t.eq(triggers(t, { run("python src/export.py > report.md", ""), "Done." }), {})
    t.eq(triggers(t, { run("python src/export.py", "12 rows read\nsaved out/report.md"), "Done." }), {})
    t.eq(triggers(t, { run("python src/export.py", "cannot open report.md"), "Done." }), {
      "done without the deliverable",
    })
    -- What is not to be touched is named, too; what was asked for is written behind the summary.
    local messages = before()
    messages[1][3] = "Add an export of the monthly sales to report.md. Do not change config.toml."
    local file = { call = "write_file", args = { path = "report.md", content = "# Sales" } }
    t.eq(triggers(t, { file, "Done." }, { before = messages }), {})
    t.eq(triggers(t, { "Done." }, { before = messages }), { "done without the deliverable" })
  end,

  --- A file that is asked for in so many words is missed, whatever else was written.
  test_done_with_half_of_what_was_asked_for = function(t)
    local messages = before({ talk.write("src/export.py", 5, 30), { "r", 5 } })
    messages[1][3] = "Put the export into src/export.py and its text into docs/guide.md."
    t.eq(triggers(t, { "All done." }, { before = messages }), { "done without the deliverable" })
    messages[1][3] = "Put the export into src/export.py; docs/guide.md says how."
    t.eq(triggers(t, { "All done." }, { before = messages }), {})
  end,

  --- Who tells at length of something that is complete has not declared the work done, and an agent
  --- that calls no tools may write in other ways.
  test_done_is_declared_in_a_few_words = function(t)
    local tells = "The list is complete. " .. ("It holds every month of the year so far. "):rep(20)
    t.eq(triggers(t, { tells }), {})
    local talks = {
      { "u", 60, TASK }, { "a", 1000 }, { "u", 30, "The output of the command is empty." },
      { "a", 400 }, { "u", 20, "It printed three lines." }, { "a", 60 },
    }
    t.eq(triggers(t, { "The script is complete." }, { before = talks }), {})
  end,

  --- Without a file that the intent names, nobody can tell.
  test_done_where_no_file_is_named = function(t)
    local messages = before()
    messages[1][3] = "Tell me how the parser reads the monthly sales, step by step."
    t.eq(triggers(t, { "Done: it reads them row by row." }, { before = messages }), {})
  end,

  -- "does the action match it": three in a row that nothing in the conversation explains
  test_actions_that_nothing_explains = function(t)
    local strange = {
      { call = "write_file", says = "Let me build a weather widget.",
        args = { path = "widgets/weather/forecast.html", content = "<div>" } },
      run("npm install leaflet chartjs", "added 12 packages: leaflet chartjs"),
      { call = "write_file", args = { path = "widgets/weather/style.css", content = "body {}" } },
    }
    t.eq(triggers(t, { strange[1], strange[2] }), {})
    t.eq(triggers(t, strange), { "an action that does not match the intent" })
    -- One that finds the way back has not forgotten.
    t.eq(triggers(t, { strange[1], strange[2], read("src/export.py"), strange[3] }), {})
    -- Nor has one that was told to.
    local told = { typed = "Leave that; build a weather forecast widget with leaflet and chartjs." }
    t.eq(triggers(t, { told, strange[1], strange[2], strange[3] }), {})
  end,

  --- Only the first messages behind a summary that was made are looked at, and drift is told once.
  test_what_is_looked_at = function(t)
    local asks = "Which file should I change?"
    t.eq(triggers(t, { asks }, { compressions = 0 }), {}, "the plan came to nothing")
    t.eq(triggers(t, { asks, asks, "All done." }), { "a clarifying question" })
    t.eq(triggers(t, { asks }, { options = { drift_messages = 0 } }), {})
    local _, memo = play(t, { asks })
    t.eq(memo.drift, nil)
  end,

  --- A model may be asked first; it has the last word.
  test_a_model_confirms = function(t)
    local asks, options = { "Which file should I change?" }, { ask_drift = true }
    local seen = play(t, asks, { options = options })[1]
    t.eq(seen.ask.id, "drift")
    t.ok(seen.ask.user:find(TASK, 1, true) and seen.ask.user:find(asks[1], 1, true), seen.ask.user)
    local function with(reply)
      return triggers(t, asks, { options = options, replies = { drift = reply } })
    end
    t.eq(with("Yes."), { "a clarifying question" })
    t.eq(with("No, it asks for the name of a new file."), {})
  end,

  --- What is known of the conversation fits in the notes of a session.
  test_notes_stay_small = function(t)
    local messages = before()
    for at = 1, 300 do
      messages[#messages + 1] = { "a", 5, ("word" .. at .. " "):rep(3) .. ("q" .. at * 7919) }
    end
    local _, memo = play(t, {}, { before = messages })
    t.ok(#ep.json.encode(memo) < 40000, #ep.json.encode(memo))
  end,
}
