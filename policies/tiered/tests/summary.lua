--- The structured summary, and what is made of what a model writes (RULES 48, 54).
local talk = require("tests.support.talk")

local SECTIONS = {
  "## Session intent", "## Artifacts", "## Key decisions", "## Progress", "## Critical facts",
  "## Next steps", "## Recovery references",
}

--- A summary that says something under each heading but this.
local function summary(without, said)
  local lines = {}
  for _, heading in ipairs(SECTIONS) do
    lines[#lines + 1] = heading .. "\n\n" .. (heading == without and "" or said or "something")
  end
  return table.concat(lines, "\n\n")
end

local function verify(t, candidate, more)
  local job = { candidate = candidate, tokens = 100, max_tokens = 400, memo = {} }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  return t.hook("verify", job)
end

return {
  -- "session intent (critical), artifacts (name, path, status), key decisions with rationale,
  -- progress (phase, completed, remaining), critical facts, next steps, recovery references"
  test_what_a_model_is_asked_for = function(t)
    local memo = {
      intent = "Write the notes.",
      artifacts = { { path = "docs/notes.md", status = "on disk as written" } },
    }
    local prompt = t.hook("summary_prompt", { op = "summarize", max_tokens = 400, memo = memo })
    t.eq(prompt.sections, SECTIONS)
    t.eq({ prompt.style, prompt.max_tokens }, { "separate", 400 })
    for _, piece in ipairs({
      "{conversation}", "{must_keep}", "critical and must not be lost:\nWrite the notes.\n",
      "- docs/notes.md (on disk as written)", "no more than 400 tokens", "each with its reason",
      "the phase of the work, what is done and what remains", "## Recovery references",
    }) do
      t.ok(prompt.user:find(piece, 1, true), piece)
    end
  end,

  --- There is no room for sections in a small one; the intent is not lost all the same.
  test_a_small_summary_has_no_sections = function(t)
    local memo = { intent = "Write the notes." }
    local prompt = t.hook("summary_prompt", { op = "summarize", max_tokens = 399, memo = memo })
    t.eq(prompt.sections, nil)
    t.ok(prompt.user:find("must not be lost:\nWrite the notes.\n", 1, true), prompt.user)
    t.ok(not prompt.user:find("##", 1, true), prompt.user)
    t.eq(verify(t, "The notes are begun.", { max_tokens = 399 }), true)
  end,

  --- An active goal is what the session is for.
  test_a_goal_is_the_intent = function(t)
    local goals = { goals = { { text = "Release 2.0.", status = "active" } } }
    local memo = { intent = "Write the notes." }
    local prompt = t.hook("summary_prompt", { goals = goals, memo = memo, max_tokens = 900 })
    t.ok(prompt.user:find("must not be lost:\nRelease 2.0.\n", 1, true), prompt.user)
    t.ok(prompt.user:find("Files that were written:\n- none\n", 1, true), prompt.user)
  end,

  -- "never lose the intent"
  test_a_summary_without_the_intent_is_not_taken = function(t)
    t.eq(verify(t, summary()), true)
    local expected = { reject = "the intent of the session is missing" }
    t.eq(verify(t, summary("## Session intent")), expected)
    t.eq(verify(t, "It went well."), expected)
  end,

  -- "verify after": files and facts that are missing are added, as far as there is room
  test_what_it_forgot_is_added = function(t)
    local artifacts = {
      { path = "a.md", status = "on disk as written" }, { path = "b.md", status = "changed since" },
    }
    local more = {
      memo = { artifacts = artifacts },
      must_keep = { { text = "port 8080", found = false }, { text = "x = 1", found = true } },
    }
    local added = { append = "Also: b.md (changed since); port 8080" }
    t.eq(verify(t, summary(nil, "a.md"), more), added)
    more.tokens = 399
    t.eq(verify(t, summary(nil, "a.md"), more), true)
  end,

  -- "the objective as first stated and as revised, and the current request, two fields"
  test_objective_and_request_are_fields = function(t)
    local messages = {
      { "u", 50, "Please write an importer for the price lists of\nall suppliers." },
      { "a", 600 }, { "u", 20, "Add a column for the currency." }, { "a", 600 },
      { "u", 20, "Change of plan: read the lists from the web shop." }, { "a", 600 },
      { "u", 20, "Now document the settings of the web shop." }, { "a", 300 },
      { "u", 5, "good, and the next?" }, { "a", 10 },
    }
    local function fields(goals, options)
      local job = talk.job(t, messages, 2600, { cause = "hard", total = 2500 })
      t.hook("plan", job, options)
      local asked = { memo = job.memo, max_tokens = 500, goals = goals or { goals = {} } }
      t.hook("summary_prompt", asked, options)
      local said = summary(nil, "All that matters.")
      return verify(t, said, { memo = job.memo }).append
    end
    local first = "Objective, as first stated: Please write an importer for the price lists of all"
      .. " suppliers.\n"
    local request = "Current request: Now document the settings of the web shop."
    t.eq(fields(), first .. "Objective, as revised: Change of plan: read the lists from the web"
      .. " shop.\n" .. request)
    t.eq(fields(nil, { revised_by = {} }), first .. request)
    -- An active goal is the objective, with what it was when it was set.
    local goal = { text = "Import from the shop.", objective = "Import price lists.", status = "active" }
    t.eq(fields({ goals = { goal } }), "Objective, as first stated: Import price lists.\n"
      .. "Objective, as revised: Import from the shop.\n" .. request)
    goal.objective = goal.text
    t.eq(fields({ goals = { goal } }), "Objective, as first stated: Import from the shop.\n" .. request)
  end,

  --- Each is quoted as far as there is room, the objective before the request, and what is one is said
  --- once.
  test_fields_have_their_room = function(t)
    local stated = { first = "Write the notes.", request = "Write the notes." }
    local function append(more)
      return verify(t, summary(), more).append
    end
    t.eq(append({ memo = { stated = stated } }),
      "Objective, as first stated: Write the notes.")
    t.eq(verify(t, summary(), { max_tokens = 105, memo = { stated = stated } }), true)
  end,

  --- Each file is listed once, with what became of it last.
  test_files_and_their_status = function(t)
    local messages = {
      { "u", 50, "Please write the three files." },
      talk.write("a.md", 2, 300, { ok = false }), { "r", 20 },
      talk.write("b.md", 2, 300), { "r", 20 },
      talk.write("c.md", 2, 300, { persisted = false }), { "r", 20 },
      talk.write("a.md", 2, 300), { "r", 20 },
      { "a", 600 }, { "a", 10 }, { "a", 10 }, { "a", 10 }, { "a", 10 }, { "a", 10 }, { "a", 10 },
    }
    local function listed(workspace, options)
      local more = { cause = "hard", total = 1900, workspace = workspace }
      local job = talk.job(t, messages, 2200, more)
      t.hook("plan", job, options)
      local all = {}
      for at, one in ipairs(job.memo.artifacts) do
        all[at] = one.path .. " " .. one.status
      end
      return table.concat(all, ", ")
    end
    t.eq(listed(true), "b.md on disk as written, c.md changed since, a.md on disk as written")
    t.eq(listed(false), "b.md written, c.md written, a.md written")
    t.eq(listed(true, { artifacts = 1 }), "a.md on disk as written")
  end,

  -- "id, time, tokens saved"; "never assume that something is still in context"
  test_a_summary_says_what_it_is = function(t)
    local job = { part = "checkpoint", in_store = true, time = "2026-01-02T03:04:05Z" }
    job.memo = { saved = 1400 }
    t.eq(t.hook("render", job).text, "[Summary {id}, 2026-01-02T03:04:05Z: {messages} messages,"
      .. " about 1400 tokens saved; as they were said: epitome recall {id}. Never assume that"
      .. " something is still in context: what you do not see here, look up.]")
    job.in_files = true
    t.ok(t.hook("render", job).text:find("said: .epitome/offloaded/{id}.md. Never", 1, true))
    -- "recovery references": the archive that the conversation was written to is one.
    job.memo.archive = "archive/talk_full.md"
    local archive = "{id}.md; all of it: .epitome/archive/talk_full.md. Never"
    t.ok(t.hook("render", job).text:find(archive, 1, true))
    job.in_files, job.in_store = false, false
    t.ok(not t.hook("render", job).text:find("recall", 1, true), "no way back is named")
  end,

  --- In little room the way back is all that it says.
  test_a_small_summary_says_less_of_itself = function(t)
    local job = { part = "checkpoint", in_store = true }
    t.eq(t.hook("render", job).short, nil)
    -- Where a budget is set, and each word takes the room of another.
    job.memo = { is_set = true }
    local said = t.hook("render", job)
    t.eq({ said.short, said.share }, { "[Summary: epitome recall {id}]", 0.05 })
    job.in_store = false
    t.eq(t.hook("render", job).short, "[Summary]")
    job.part = "reference"
    t.eq(t.hook("render", job).short, nil)
  end,

  --- The clock has no say: a recording without times states none.
  test_a_summary_states_no_time_that_nobody_told = function(t)
    local job = { part = "checkpoint", in_store = true, now = "2026-01-02T03:04:05Z" }
    t.ok(t.hook("render", job).text:find("[Summary {id}: {messages} messages,", 1, true))
    job.in_store = false
    t.ok(t.hook("render", job).text:find("[Summary: {messages} messages,", 1, true))
  end,

  test_what_left_names_the_way_back = function(t)
    local pieces = { reference = "{tokens} tokens: ", placeholder = "[{call}: {tokens} tokens, " }
    for part, piece in pairs(pieces) do
      local text = t.hook("render", { part = part, in_store = true }).text
      t.ok(text:find(piece .. "epitome recall {id}]", 1, true), text)
      text = t.hook("render", { part = part }).text
      t.ok(text:find("left out]", 1, true) and not text:find("{id}", 1, true), text)
    end
    t.eq(t.hook("render", { part = "state", in_store = true }).text, "[State of the work]")
  end,

  -- "also a sentence in the model's instructions"
  test_the_rule_is_in_the_instructions = function(t)
    local system = {
      instructions = "Be brief.", goal = "Goal: Release.",
      augments = { { name = "team/style", title = "Style", text = "No tabs." } },
    }
    local parts = t.hook("render", { part = "system", system = system }).parts
    local said = {}
    for at, part in ipairs(parts) do
      said[at] = part.name .. ": " .. part.text
    end
    t.eq(said, {
      "instructions: Be brief.", "goal: Goal: Release.", "team/style: ## Style\n\nNo tabs.",
      "context: Never assume that something is still in context: what you do not see here, look"
        .. " up.",
    })
  end,
}
