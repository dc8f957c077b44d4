--- Emergency (RULES 42): "At 80 % emergency trimming without a model: oldest tool results to
--- digests, then oldest turns, until under 50 %."
local talk = require("tests.support.talk")

local function check(t, words, limit, more, expected)
  more = more or {}
  more.cause = more.cause or "hard"
  local job, ops = talk.job(t, words, limit, more), {}
  for at, op in ipairs(t.hook("plan", job).ops) do
    ops[at] = { op.op, op.entries or { op.entry }, op.target, op.how or op.level }
  end
  t.eq(ops, expected)
  return job
end

return {
  --- 6600 of 8000: it takes all three results to come below 4000, and two of the others.
  test_the_oldest_results_become_digests = function(t)
    check(t, "u100 x2000 x2000 x1000 u600 a700 u100!", 8000, nil, {
      { "replace", { 4 }, 300, "digest" },
      { "replace", { 6 }, 300, "digest" },
      { "replace", { 8 }, 150, "digest" },
    })
    check(t, "u100 x4000 x1200 x100 u500 a500 u100!", 8000, nil, {
      { "replace", { 4 }, 600, "digest" },
      { "replace", { 6 }, 180, "digest" },
    })
  end,

  --- 6500 of 8000: digests bring it to 5700, and the first turns to 3600.
  test_then_the_oldest_turns_become_a_few_lines = function(t)
    local job = check(t, "u200 a2500 x1000 u1500 a1000 u200!", 8000, nil, {
      { "summarize", { 2, 3 }, 675, 1 },
      { "replace", { 5 }, 150, "digest" },
    })
    t.eq(job.memo.trimming, true)
  end,

  --- A line of what was answered takes room as well: with it the first turn alone is not enough.
  test_lines_of_what_was_answered_are_counted = function(t)
    local asked = "It must be fast."
    local answered = "It reads the list of all the files twice, and so it is slow."
    local texts = { [2] = asked, [3] = answered }
    check(t, "u200 a2500 x1000 u1600 a1000 u200!", 8000, { texts = texts }, {
      { "summarize", { 3, 4, 5 }, 875, 1 },
      { "insert", {} },
    })
    check(t, "u200 a2500 x1000 u1610 a1000 u200!", 8000, { texts = texts }, {
      { "summarize", { 3, 4, 5, 6 }, 1277, 1 },
      { "insert", {} },
    })
  end,

  --- Nothing is asked of a model then.
  test_no_model_is_asked = function(t)
    local job = { op = "summarize", max_tokens = 300, memo = { trimming = true } }
    t.eq(t.hook("summary_prompt", job).style, "none")
    job = check(t, "u400 a800 x1200 a800 u300 a400 u100!", 8000, { cause = "soft" }, {
      { "summarize", { 2, 3, 4, 5, 6 }, 800 },
    })
    t.eq(job.memo.trimming, nil)
  end,

  test_what_is_protected_and_the_latest_stay = function(t)
    local texts = { [2] = "It must be fast." }
    check(t, "u200 x1500! a3400 x600 a100 u100!", 7500, { texts = texts }, {
      { "summarize", { 5 }, 850, 1 },
    })
  end,

  --- What an earlier summary stands for goes into the new one whole.
  test_a_summary_goes_with_the_oldest_turn = function(t)
    check(t, "u400* a800* a900 a4000 u900 a300 u100!", 8000, { checkpoint = 300 }, {
      { "summarize", { 2, 3, 4, 5 }, 1300, 1 },
    })
  end,

  --- Unless it takes more, but for what the model has not seen yet.
  test_at_last_the_latest_are_trimmed = function(t)
    check(t, "u400 a100 x7000 u200!", 8000, nil, { { "replace", { 5 }, 1050, "digest" } })
  end,

  test_where_that_is_not_enough_the_kernel_fits_it = function(t)
    check(t, "u400 a100 x7400! u200!", 8000, nil, { { "fit", {} } })
  end,
}
