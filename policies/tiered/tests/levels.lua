--- When: levels and thresholds (RULES 50, 53).

local function level(t, total, limit)
  local job = { model = { limit = limit or 10000 }, tokens = { total = total } }
  job.used = total / job.model.limit
  return t.hook("status", job).level
end

--- What `trigger` answers to a prompt of so many tokens under a limit of 10000.
local function answer(t, total, more)
  local job = { cause = "turn", model = { limit = 10000 }, tokens = { total = total } }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  job.budgets = t.hook("budgets", { model = job.model })
  local found = t.hook("trigger", job)
  return found and found.level or false
end

return {
  -- "< 25 % green, < 50 % yellow, < 75 % orange, < 85 % red, else critical"
  test_levels = function(t)
    for total, expected in pairs({
      [0] = "green", [2499] = "green", [2500] = "yellow", [4999] = "yellow", [5000] = "orange",
      [7499] = "orange", [7500] = "red", [8499] = "red", [8500] = "critical", [12000] = "critical",
    }) do
      t.eq(level(t, total), expected, total)
    end
  end,

  -- "over 50 %", "over 75 %", "over 85 % (hard)"
  test_thresholds = function(t)
    t.eq(answer(t, 5000, { workspace = true }), false)
    t.eq(answer(t, 5001, { workspace = true }), "soft")
    t.eq(answer(t, 7501), "soft")
    t.eq(answer(t, 8500), "soft")
    t.eq(answer(t, 8501), "hard")
    t.eq(answer(t, 100, { cause = "overflow" }), "hard")
  end,

  --- The first two stages are tried again when the prompt has grown by a twentieth of the limit.
  test_the_first_stages_rest = function(t)
    local function tried(total, at)
      return answer(t, total, { workspace = true, memo = { tried = at } })
    end
    t.eq(tried(5600, 5200), false)
    t.eq(tried(5700, 5200), "soft")
    t.eq(tried(5100, 5200), "soft")
    t.eq(tried(7600, 7550), "soft")
  end,

  --- Where nothing can be on disk, and no large result is whole, there is nothing to try.
  test_the_first_stages_need_something = function(t)
    t.eq(answer(t, 5001), false)
    t.eq(answer(t, 5001, { memo = { whole = true } }), "soft")
    t.eq(answer(t, 7501), "soft")
  end,

  test_a_summary_that_brought_too_little_rests = function(t)
    t.eq(answer(t, 7900, { stalled_at = 7600, memo = { tried = 7600 } }), false)
    t.eq(answer(t, 7980, { stalled_at = 7600, memo = { tried = 7600 } }), "soft")
    t.eq(answer(t, 8600, { stalled_at = 8550, memo = { tried = 8550 } }), false)
    t.eq(answer(t, 9001, { stalled_at = 8900, memo = { tried = 8900 } }), "hard")
    -- What stalled below was no summary.
    t.eq(answer(t, 7600, { stalled_at = 7400 }), "soft")
  end,

  --- What a summary left lasts a quarter of the limit, whatever it left, unless the window is full.
  test_a_summary_lasts = function(t)
    local function due(total, compressions)
      local memo = { left = { size = 5200, before = 1 }, tried = total }
      return answer(t, total, { compressions = compressions, memo = memo })
    end
    t.eq({ due(7600, 2), due(7699, 2), due(7700, 2), due(8501, 2) }, { false, false, "soft", "hard" })
    -- One that was planned and not made, or was undone, left nothing.
    t.eq(due(7600, 1), "soft")
  end,

  -- "`compress` typed in a chat"
  test_compress_and_context_status_are_typed = function(t)
    t.eq(answer(t, 100, { cause = "manual" }), "asked")
    t.eq(answer(t, 100, { requested_by = "user" }), "asked")
    local memo = {}
    local function type(text)
      return t.hook("observe", {
        entry = { speaker = "human", role = "user", text = text },
        model = { limit = 10000 },
        tokens = { total = 5234 },
        memo = memo,
      })
    end
    t.eq(type("Please compress the images"), nil)
    t.eq(answer(t, 100, { memo = memo }), false)
    t.eq(type(" Compress\n"), nil)
    t.eq(answer(t, 100, { memo = memo }), "asked")
    t.eq(answer(t, 100, { memo = memo }), false)
    t.eq(type("/context status"), { report = true })
  end,

  --- What was found again comes back with a compression of its own where it would wait for one; it
  --- is tried again when the prompt has grown.
  test_what_was_found_again_comes_back = function(t)
    local memo = {}
    t.eq(answer(t, 3000, { recall_pending = true, memo = memo }), "asked")
    t.eq(memo, { bring = true, waited = 3000 })
    t.eq(answer(t, 3400, { recall_pending = true, memo = memo }), false)
    t.eq(answer(t, 3500, { recall_pending = true, memo = memo }), "asked")
    t.eq(answer(t, 3600, { memo = memo }), false)
    t.eq(memo, {})
  end,

  --- What is planned while nothing is due is planned in advance, from 70 % on.
  test_a_summary_is_planned_in_advance = function(t)
    local memo = {}
    t.eq({ answer(t, 7000, { memo = memo }), memo.ahead }, { false, nil })
    t.eq({ answer(t, 7001, { memo = memo }), memo.ahead }, { false, true })
    t.eq({ answer(t, 7501, { memo = memo }), memo.ahead }, { "soft", nil })
  end,

  test_the_bounds_are_shares_of_the_limit = function(t)
    local large = t.hook("budgets", { model = { limit = 32000 } })
    t.eq(large, {
      warn = 24000, ahead = 22400, soft = 16000, hard = 31000, target = 16000, reserve = 1000,
    })
    local small = t.hook("budgets", { model = { limit = 4000 } })
    t.eq({ small.hard, small.reserve }, { 3500, 500 })
  end,
}
