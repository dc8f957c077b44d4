--- The emergency: the stages where they are enough, else the ladder (SPEC 4.7, 2.12), and a plan's
--- validation, which names tokens, limit and overage (SPEC 4.6).
local talk = require("tests.support.talk")

local function orders(t, words, more)
  more = more or {}
  more.cause = "hard"
  return t.hook("plan", talk.job(t, words, more), more.options)
end

return {
  test_the_stages_come_first = function(t)
    local ops = orders(t, "u100 x11000 u10 a10 u10 a10 u10").ops
    t.eq({ #ops, ops[1].op }, { 1, "summarize" })
  end,

  test_where_they_are_not_enough_the_ladder_follows = function(t)
    -- 9442 are the system prompt and 75 % of what it leaves; 800 stand for the 4000.
    local answer = orders(t, "u8500 x4000 u10 a10 u10 a10 u10")
    t.eq(answer.ops, { { op = "fit" } })
    t.eq(answer.reason, "the stages would leave 9,850 tokens of 9,444, 406 too many")
    answer = orders(t, "u12000 a900")
    t.eq(answer.ops, { { op = "fit" } })
  end,

  -- SPEC 4.7: decisions may look at the model. 7B after three compressions: 0.5 × 0.9³ = 0.3645.
  test_a_model_that_cannot_be_relied_on_may_start_over = function(t)
    local function op(compressions, name)
      local more = { compressions = compressions, options = { start_over_below = 0.4 } }
      more.model = { name = name, size = 16384, limit = 13926 }
      return orders(t, "u12000 a900", more).ops[1]
    end
    t.eq(op(2, "llama3:7b").op, "fit")
    local over = op(3, "llama3:7b")
    t.eq({ over.op, over.target }, { "rollover", 400 })
    t.eq(op(3, "llama3:70b").op, "fit")
  end,
}
