--- What the window forces beside marks.
local talk = require("tests.support.talk")

--- The operations in a window that takes so many tokens and wants half of it, as `{ op, first, last
--- message, target }`.
local function check(t, words, most, more, expected)
  local job = talk.job(words, more)
  job.cause, job.max_tokens, job.target = job.cause or "hard", most, most / 2
  local orders = t.hook("plan", job, { keep_at_most = 0.5 })
  local ops = {}
  for at, op in ipairs(orders and orders.ops or {}) do
    ops[at] = { op.op, op.entries[1], op.entries[#op.entries], op.target }
  end
  t.eq(ops, expected)
end

return {
  test_without_a_mark_the_policies_behind_decide = function(t)
    local job = talk.job("u10 x1000 u10", { cause = "hard", max_tokens = 900, target = 500 })
    t.eq(t.hook("plan", job), nil)
    job.cause = "manual"
    t.eq(t.hook("plan", job), nil)
  end,

  test_a_mark_that_is_enough_is_all = function(t)
    check(t, "u10 x1000 a50 m40 u10", 600, { cause = "hard" }, { { "clear_tools", 3, 4 } })
  end,

  --- Of 1000 less 100 for the system prompt the newest take up to the half, the rest is the
  --- checkpoint's.
  test_a_checkpoint_stands_for_the_oldest_below_the_watermark = function(t)
    local words = "u600 x400 a600 m40 u600 a700 x400 u10"
    check(t, words, 2000, { cause = "hard", watermark = 6 }, { { "summarize", 2, 9, 490 } })
  end,

  --- The checkpoint stands for the first, and calls behind it leave none the less.
  test_a_mark_that_is_not_enough_is_taken_with_a_checkpoint = function(t)
    local words = "u3000 x400 a2000 x400 a100 m40 u10"
    check(t, words, 3000, { cause = "hard" }, { { "summarize", 2, 5, 1150 }, { "clear_tools", 6, 7 } })
  end,

  --- Behind another question an answer would be read as the answer to that.
  test_an_answer_leaves_with_its_question = function(t)
    local more = { watermark = 2, cause = "hard" }
    check(t, "u600 x400 u600 a100 u10", 1500, more, { { "summarize", 2, 6, 640 } })
    check(t, "u600 x400 u100 a100 u10", 1200, more, { { "summarize", 2, 4, 290 } })
    -- The very newest stays.
    check(t, "u600 x400 u600 a100", 1500, more, { { "summarize", 2, 5, 550 } })
  end,

  test_the_newest_stays_however_large = function(t)
    check(t, "u600 a600 m40 u600 x800", 1900, { cause = "hard", watermark = 4 }, {
      { "summarize", 2, 6, 50 },
    })
  end,

  test_what_is_pinned_is_not_covered = function(t)
    local job = talk.job("u3000 a900! a2000 m40 u10", { cause = "hard", watermark = 5 })
    job.max_tokens, job.target, job.floor = 4000, 2000, 1000
    t.eq(t.hook("plan", job).ops[1].entries, { 2, 4 })
  end,

  test_no_room_for_a_checkpoint_leaves_it_to_the_kernel = function(t)
    local job = talk.job("u3000 a900 m40 u10", { cause = "hard", watermark = 4 })
    job.max_tokens, job.target, job.floor = 1000, 500, 600
    t.eq(t.hook("plan", job).ops, {})
  end,
}
