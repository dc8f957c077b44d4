--- The oldest exchanges go until the newest fit.
local NOTE = "[Earlier messages are left out.]"

--- What the note takes as a message.
local ROOM = ep.count(NOTE) + 4

--- A system prompt, a question, and calls with their results; the last question is pinned.
local function columns(sent)
  return {
    count = 8,
    role = { "system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool" },
    speaker = { "harness", "human", "model", "tool", "model", "human", "model", "tool" },
    tokens = { 50, 100, 20, 80, 100, 100, 20, 80 },
    sent = sent or { 50, 100, 20, 80, 100, 100, 20, 80 },
    exchange = { 0, 1, 2, 2, 3, 4, 5, 5 },
    pinned = { true, false, false, false, false, true, false, false },
    tools = { false, false, true, true, false, false, true, true },
    checkpoint = { 0, 0, 0, 0, 0, 0, 0, 0 },
  }
end

local function plan(t, total, most, sent, cause)
  return t.hook("plan", {
    tokens = { total = total },
    entries = columns(sent),
    max_tokens = most,
    target = 250 + ROOM,
    cause = cause or "hard",
  }).ops
end

return {
  test_it_waits_for_the_window = function(t)
    local function trigger(total, cause)
      local job = { tokens = { total = total }, budgets = { hard = 500 }, cause = cause or "turn" }
      local due = t.hook("trigger", job)
      return due and due.level
    end
    t.eq(trigger(500), false)
    t.eq(trigger(501), "hard")
    t.eq(trigger(10, "overflow"), "hard")
    t.eq(trigger(10, "manual"), "soft")
  end,

  test_whole_exchanges_leave_until_the_rest_fits = function(t)
    local ops = plan(t, 550, 450 + ROOM)
    t.eq(ops[1], { op = "drop", entries = { 2 } })
    t.eq(ops[2], { op = "insert", after = 2, role = "user", text = NOTE })
    t.eq(plan(t, 550, 449 + ROOM)[1].entries, { 2, 3, 4 })
  end,

  test_pinned_ones_stay = function(t)
    local ops = plan(t, 550, 60)
    t.eq(ops[1].entries, { 2, 3, 4, 5, 7, 8 })
    -- The note leads what stays, whatever leaves behind that.
    t.eq(ops[2].after, 5)
  end,

  test_the_note_stands_there_once = function(t)
    local ops = plan(t, 450, 400, { 50, 0, 20, 80, 100, 100, 20, 80 })
    t.eq(ops, { { op = "drop", entries = { 3, 4 } } })
  end,

  test_nothing_leaves_that_fits = function(t)
    t.eq(plan(t, 550, 1000), {})
    t.eq(plan(t, 550, 1000, nil, "manual")[1].entries, { 2, 3, 4, 5 })
  end,
}
