--- When (RULES 28, 6).
local SOFT, HARD = 4475, 5800

local function ask(t, total, more, options)
  local job = {
    model = { limit = 6800 },
    tokens = { total = total, system = 500, conversation = total - 500 },
    cause = "turn",
    budgets = { soft = SOFT, hard = HARD },
  }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  return t.hook("trigger", job, options)
end

local function check(t, total, more, level)
  local due = ask(t, total, more)
  t.eq(due and due.level or false, level)
end

return {
  -- RULES 28: "exceed".
  test_it_begins_above_the_bound = function(t)
    check(t, SOFT, nil, false)
    check(t, SOFT + 1, nil, "soft")
    check(t, HARD, nil, "soft")
    check(t, HARD + 1, nil, "hard")
  end,

  test_what_brought_too_little_rests = function(t)
    check(t, 5000, { stalled_at = 4800 }, false)
    check(t, 5279, { stalled_at = 4800 }, false)
    check(t, 5281, { stalled_at = 4800 }, "soft")
    check(t, HARD + 1, { stalled_at = HARD }, "hard")
  end,

  test_what_is_asked_for_is_done = function(t)
    check(t, 1000, { cause = "manual" }, "asked")
    check(t, 1000, { requested_by = "compress_to_checkpoint" }, "asked")
    check(t, 1000, { cause = "overflow" }, "hard")
    check(t, 1000, { cause = "idle" }, false)
  end,

  test_it_can_be_switched_off = function(t)
    local options = { compression_enabled = false }
    t.eq(ask(t, 6000, nil, options), { skip = "disabled" })
    t.eq(ask(t, 1000, nil, options), false)
  end,
}
