--- The budget, and classes (RULES 28, 19, 25).
local function bounds(t, model, system, tools, options)
  local job = { model = model, tokens = { system = system, tools = tools or 0 } }
  return t.hook("budgets", job, options)
end

--- The most that conversation and checkpoints may take beside this system prompt.
local function check(t, size, limit, system, expected)
  t.eq(bounds(t, { size = size, limit = limit }, system).soft - system, expected)
end

return {
  -- RULES 28: 75 % of (limit − max(prompt budget, actual system tokens) − 1000).
  test_three_quarters_of_what_the_limit_leaves = function(t)
    check(t, 4096, 3481, 100, 1710) -- 200 for the prompt of class 1
    check(t, 4096, 3481, 200, 1710)
    check(t, 4096, 3481, 500, 1485)
    check(t, 8000, 6800, 100, 3975) -- 500 for class 2
    check(t, 8000, 6800, 500, 3975)
    check(t, 8000, 6800, 1500, 3225)
    check(t, 16384, 13926, 0, 8944) -- 1000 for class 3
    check(t, 32768, 27852, 0, 19014) -- 1500 for class 4
    check(t, 131072, 111411, 1500, 81683) -- and for class 5
    check(t, 131072, 111411, 12000, 73808)
  end,

  test_tools_count_as_system_prompt = function(t)
    t.eq(bounds(t, { limit = 6800 }, 900, 600).soft, 1500 + 3225)
  end,

  -- RULES 28, 19: 40 % of (limit − system), without the reserve.
  test_checkpoints_have_their_share = function(t)
    t.eq(bounds(t, { limit = 6800 }, 500).checkpoints, 2520)
    t.eq(bounds(t, { limit = 6800 }, 300, 200).checkpoints, 2520)
  end,

  test_the_reserve_is_kept_free = function(t)
    local one = bounds(t, { limit = 6800 }, 500)
    t.eq({ one.hard, one.reserve }, { 5800, 1000 })
    one = bounds(t, { limit = 6800 }, 500, 0, { reserve = 2000 })
    t.eq({ one.hard, one.reserve, one.soft }, { 4800, 2000, 500 + 3225 })
    -- No more than half of a window that is hardly larger.
    one = bounds(t, { limit = 1200 }, 100)
    t.eq({ one.hard, one.reserve }, { 600, 600 })
  end,

  test_a_system_prompt_may_exceed_the_limit = function(t)
    local one = bounds(t, { limit = 3000 }, 3500)
    t.eq({ one.soft, one.checkpoints }, { 3500, 0 })
  end,

  -- RULES 25: class, prompt budget, strategy.
  test_classes = function(t)
    for size, expected in pairs({
      [4096] = { 1, 200, "rollover" },
      [4097] = { 2, 500, "smart" },
      [8192] = { 2, 500, "smart" },
      [16384] = { 3, 1000, "progressive" },
      [32768] = { 4, 1500, "structured" },
      [32769] = { 5, 1500, "structured" },
    }) do
      local one = bounds(t, { size = size, limit = size }, 0)
      t.eq({ one.class, one.system, one.strategy }, expected, size)
    end
    t.eq(bounds(t, { limit = 128000 }, 0).class, 5)
    t.eq(bounds(t, { size = 8192, limit = 8192 }, 0, 0, { sizes = { 8192, 16384 } }).class, 1)
  end,
}
