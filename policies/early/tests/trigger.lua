--- When: from 50 % of the limit on, in an emergency from 80 % on (RULES 42).

--- What `trigger` answers to a prompt of so many tokens under a limit of 8000.
local function answer(t, total, more)
  local job = { cause = "turn", model = { limit = 8000 }, tokens = { total = total } }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  job.budgets = t.hook("budgets", { model = job.model })
  return t.hook("trigger", job)
end

local function level(t, total, more)
  local found = answer(t, total, more)
  return found and found.level or false
end

return {
  -- "At 50 % of the limit summarise"
  test_half_of_the_limit_is_summarised = function(t)
    t.eq(level(t, 3999), false)
    t.eq(level(t, 4000), "soft")
    t.eq(level(t, 6399), "soft")
  end,

  -- "At 80 % emergency trimming"
  test_four_fifths_are_an_emergency = function(t)
    t.eq(level(t, 6400), "hard")
    t.eq(level(t, 6400, { stalled_at = 6400 }), "hard")
    t.eq(level(t, 100, { cause = "overflow" }), "hard")
  end,

  test_what_is_asked_for_is_done = function(t)
    t.eq(level(t, 100, { cause = "manual" }), "soft")
  end,

  test_what_brought_too_little_rests = function(t)
    t.eq(level(t, 4399, { stalled_at = 4000 }), false)
    t.eq(level(t, 4400, { stalled_at = 4000 }), "soft")
  end,

  -- A reserve of 1000; in a small window it is less.
  test_the_bounds_are_shares_of_the_limit = function(t)
    local large = t.hook("budgets", { model = { limit = 32000 } })
    t.eq(large, { ahead = 12800, soft = 16000, hard = 31000, target = 11200, reserve = 1000 })
    local small = t.hook("budgets", { model = { limit = 4000 } })
    t.eq({ small.soft, small.hard, small.reserve }, { 2000, 3500, 500 })
  end,
}
