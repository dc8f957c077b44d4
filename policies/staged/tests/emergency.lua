--- The emergency: the stages where they are enough, else the ladder (RULES 32, 12), and a plan's
--- validation, which names tokens, limit and overage (RULES 31).
local talk = require("tests.support.talk")

local function orders(t, words, more)
  more = more or {}
  more.cause = "hard"
  return t.hook("plan", talk.job(t, words, more), more.options)
end

--- What is told of a plan that leaves too much, beside the line for what is not answered any more.
local function overage(left)
  local thousands = require("numbers").thousands
  left = left + ep.count("I worked on that.") + 4
  return ("the stages would leave %s tokens of 9,444, %s too many"):format(
    thousands(left), thousands(left - 9444))
end

return {
  test_the_stages_come_first = function(t)
    local ops = orders(t, "u100 x11000 u10 a10 u10 a10 u10").ops
    t.eq({ #ops, ops[1].op, ops[2].op }, { 2, "summarize", "insert" })
  end,

  -- 9444 are the system prompt and three quarters of what it leaves.
  test_then_results_among_the_newest_messages_become_digests = function(t)
    local answer = orders(t, "u1000 x5000 u10 x4000 x5000")
    local ops = answer.ops
    t.eq(answer.reason, overage(12010))
    t.eq({ #ops, ops[1].op, ops[1].entries, ops[2].op }, { 3, "summarize", { 3, 4 }, "insert" })
    t.eq(ops[3], { op = "replace", entry = 7, how = "digest", target = 750 })
  end,

  -- RULES 12: what calls wrote and what is on disk as written, before anything else leaves.
  test_then_what_is_on_disk_becomes_a_line = function(t)
    local input = { call = 2, tool = "write", path = "a.rs", tokens = 4000 }
    input.persisted, input.ok = true, true
    local inputs = { [6] = { input } }
    local words = "u1000 x5000 u10 a8000 x1000"
    local ops = orders(t, words, { inputs = inputs }).ops
    t.eq(ops[#ops], {
      op = "replace",
      entry = 6,
      how = "truncate_input",
      call = 2,
      text = "(4000 tokens, written to a.rs)",
    })
    for _, name in ipairs({ "persisted", "ok" }) do
      input[name] = false
      ops = orders(t, words, { inputs = inputs }).ops
      t.ok(ops[#ops].how ~= "truncate_input", name)
      input[name] = true
    end
  end,

  test_then_fewer_of_the_newest_messages_stay = function(t)
    local ops = orders(t, "u1000 x5000 u10 a4000 a10 a10 a4900").ops
    t.eq({ #ops, ops[1].op, ops[1].entries }, { 2, "summarize", { 3, 4, 6 } })
  end,

  -- The newest exchange stays, as do its calls with their results.
  test_then_older_messages_of_the_user_are_folded = function(t)
    local answer = orders(t, "u5000 u3600 x4000 u10 a10 u10 a10 u10")
    local op = answer.ops[1]
    t.eq({ op.op, op.entries, op.level }, { "summarize", { 2, 4, 5, 7, 9 }, 1 })
    -- Beside the lines for the two answers, whatever a token is.
    t.ok(op.target > 1650 and op.target <= 1737, op.target)
  end,

  test_where_all_that_is_not_enough_the_ladder_follows = function(t)
    local answer = orders(t, "u9000! x4000 u10 a10 u10 a10 u10")
    t.eq(answer.ops, { { op = "fit" } })
    t.eq(answer.reason, overage(10750))
    t.eq(orders(t, "u12000! a900").ops, { { op = "fit" } })
  end,

  -- RULES 32: decisions may look at the model. 7B after three compressions: 0.5 × 0.9³ = 0.3645.
  test_a_model_that_cannot_be_relied_on_may_start_over = function(t)
    local function op(compressions, name)
      local more = { compressions = compressions, options = { start_over_below = 0.4 } }
      more.model = { name = name, size = 16384, limit = 13926 }
      return orders(t, "u12000! a900", more).ops[1]
    end
    t.eq(op(2, "llama3:7b").op, "fit")
    local over = op(3, "llama3:7b")
    t.eq({ over.op, over.target }, { "rollover", 400 })
    t.eq(op(3, "llama3:70b").op, "fit")
  end,
}
