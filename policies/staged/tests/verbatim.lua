--- What stands word for word in which mode (RULES 29), with a model and without one.
local talk = require("tests.support.talk")

local CODE = "```rust\nfn main() {}\n```"

--- What was said, and a summary that holds nothing of it.
local SAID = {
  "human: Goal: a parser that never panics",
  "model: [DECISION] Use nom - LOCKED\nHere it is:\n" .. CODE,
  "tool: running 3 tests\nerror[E0308]: mismatched types\ntest result: 3 passed",
  "model: I looked again. We decided to keep the lexer. The rest follows.",
}

local DECISIONS = "- We decided to keep the lexer.\n- [DECISION] Use nom - LOCKED"

--- What is added to a summary in a mode.
local function added(t, mode, more)
  local job = {
    mode = mode,
    candidate = "A summary.",
    must_keep = {},
    covered = talk.covered(SAID),
    max_tokens = 400,
  }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  local answer = t.hook("verify", job)
  return answer ~= true and answer.append or nil
end

--- The messages that are compressed: of the exchanges 3 to 6 those that do not stay.
local function compressed(t, mode, texts, options)
  local more = { mode = mode, texts = texts, options = options }
  local job = talk.job(t, "u10 a900 a300 x400 a300 u10 a10 u10 a10 u10", more)
  return t.hook("plan", job, options).ops[1].entries
end

return {
  -- RULES 29: decisions always; code in developer and debugger, goals in planning, errors in
  -- debugger.
  test_each_mode_adds_what_a_summary_left_out = function(t)
    local opening = "Word for word:\n"
    t.eq(added(t, nil), opening .. DECISIONS)
    t.eq(added(t, "assistant"), opening .. DECISIONS)
    t.eq(added(t, "user"), opening .. DECISIONS)
    t.eq(added(t, "developer"), opening .. DECISIONS .. "\n" .. CODE)
    t.eq(added(t, "planning"), opening .. DECISIONS .. "\n- Goal: a parser that never panics")
    t.eq(
      added(t, "debugger"),
      opening .. DECISIONS .. "\n- error[E0308]: mismatched types\n" .. CODE
    )
  end,

  test_what_the_summary_says_is_not_added = function(t)
    local candidate = "It says: [DECISION] Use nom - LOCKED. We decided to keep the lexer."
    t.eq(added(t, nil, { candidate = candidate }), nil)
    t.eq(added(t, "developer", { candidate = candidate }), "Word for word:\n" .. CODE)
  end,

  -- Lines come before facts, and facts before code.
  test_code_is_the_first_to_go_where_there_is_little_room = function(t)
    local facts = { { text = "src/lexer.rs", found = false } }
    local lines = "Word for word:\n" .. DECISIONS .. "\nAlso:\n- src/lexer.rs"
    local more = { must_keep = facts }
    t.eq(added(t, "developer", more), lines .. "\nWord for word:\n" .. CODE)
    more.max_tokens = ep.count("A summary.") + ep.count(lines) + 8
    t.eq(added(t, "developer", more), lines)
    t.eq(added(t, "developer", { max_tokens = 12 }), nil)
  end,

  -- Without a model, too: what holds it stays in its place, the newest first, within a share of the
  -- limit: a tenth of 13926 here.
  test_exchanges_that_hold_it_stay = function(t)
    local texts = { [4] = "So:\n" .. CODE, [6] = "Error: no such file", [7] = "Decision: go on" }
    t.eq(compressed(t, nil, {}), { 3, 4, 5, 6, 7 })
    t.eq(compressed(t, nil, texts), { 3, 4, 5, 6 })
    t.eq(compressed(t, "developer", texts), { 3, 5, 6 })
    t.eq(compressed(t, "debugger", texts), { 3 })
    t.eq(compressed(t, "planning", texts), { 3, 4, 5, 6 })
    -- 696: the decision and the code, with no room for the error between them.
    t.eq(compressed(t, "debugger", texts, { verbatim_share = 0.05 }), { 3, 5, 6 })
    t.eq(compressed(t, "debugger", texts, { verbatim_share = 0 }), { 3, 4, 5, 6, 7 })
    -- Only what a person or the model says is code or a decision.
    t.eq(compressed(t, "developer", { [6] = "Decision: none\n" .. CODE }), { 3, 4, 5, 6, 7 })
  end,
}
