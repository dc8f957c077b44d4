--- When: after a complete message of the assistant, in an emergency, never twice for nothing
--- (RULES 20).
local LIMIT, SOFT = 6800, 5540

local function ask(t, total, more)
  local job = {
    model = { limit = LIMIT },
    tokens = { total = total, system = 500, conversation = total - 500 },
    cause = "turn",
    new_model_message = true,
    budgets = { soft = SOFT, hard = LIMIT },
  }
  local options = nil
  for key, value in pairs(more or {}) do
    if key == "options" then
      options = value
    else
      job[key] = value
    end
  end
  return t.hook("trigger", job, options)
end

local function check(t, total, more, level, reason)
  local due = ask(t, total, more)
  if not level then
    t.eq(due, false)
    return
  end
  t.eq(due.level, level)
  if reason then
    t.eq(due.reason, reason)
  end
end

return {
  test_levels_of_use = function(t)
    check(t, SOFT - 1, nil, nil)
    check(t, SOFT, nil, "soft")
    check(t, 6459, nil, "soft")
    check(t, 6460, nil, "hard", "emergency")
    check(t, 6799, nil, "hard", "emergency")
    check(t, 6800, nil, "hard", "rollover")
  end,

  test_only_a_reply_is_looked_at_but_for_an_emergency = function(t)
    check(t, 6000, { new_model_message = false }, nil)
    check(t, 6460, { new_model_message = false }, "hard")
  end,

  test_what_brought_too_little_rests = function(t)
    check(t, 6000, { stalled_at = 5800 }, nil)
    check(t, 6100, { stalled_at = 5800 }, "soft")
    check(t, 6460, { stalled_at = 6400 }, "hard")
  end,

  test_what_is_asked_for_is_done = function(t)
    check(t, 1000, { cause = "manual", new_model_message = false }, "soft")
    check(t, 1000, { cause = "overflow", new_model_message = false }, "hard")
    check(t, 1000, { cause = "idle" }, nil)
  end,

  test_it_can_be_switched_off = function(t)
    local options = { compression_enabled = false }
    t.eq(ask(t, 6000, { options = options }), { skip = "disabled" })
    check(t, 1000, { options = options }, nil)
  end,
}
