--- The budget: what is available, and the sizes of the prompt that follow (RULES 19, 20).
local SYSTEM = 500

--- The bounds under a limit of 6800, as tokens of the conversation beside these checkpoints.
local function check(t, checkpoints, available, trigger)
  local total = 0
  for _, tokens in ipairs(checkpoints) do
    total = total + tokens
  end
  local bounds = t.hook("budgets", {
    model = { size = 8000, limit = 6800 },
    tokens = { system = SYSTEM, checkpoints = total },
  })
  t.eq(6800 - SYSTEM - total, available)
  t.eq(bounds.soft - SYSTEM - total, trigger)
  t.eq(bounds.warn - SYSTEM - total, math.floor(available * 0.7))
end

return {
  test_a_budget_shrinks_with_each_checkpoint = function(t)
    check(t, {}, 6300, 5040)
    check(t, { 3400 }, 2900, 2320)
    check(t, { 1500, 2000 }, 2800, 2240)
    check(t, { 800, 1200, 1800 }, 2500, 2000)
  end,

  test_tools_count_as_system = function(t)
    local bounds = t.hook("budgets", {
      model = { limit = 6800 },
      tokens = { system = 300, tools = 200 },
    })
    t.eq(bounds.soft, 500 + 5040)
  end,

  test_checkpoints_and_the_recent_part_have_their_share = function(t)
    local bounds = t.hook("budgets", { model = { limit = 6800 }, tokens = { system = SYSTEM } })
    t.eq({ bounds.checkpoints, bounds.keep_recent }, { 2520, 1890 })
    t.eq({ bounds.hard, bounds.reserve }, { 6800, 0 })
  end,

  test_above_16k_the_recent_part_grows_with_the_window = function(t)
    local function recent(model, options, checkpoints)
      local tokens = { system = SYSTEM, checkpoints = checkpoints or 0 }
      return t.hook("budgets", { model = model, tokens = tokens }, options).keep_recent
    end
    t.eq(recent({ size = 16384, limit = 13926 }), 2048)
    t.eq(recent({ limit = 16384 }), 2048)
    -- A quarter of 27,352, of 108,300, and of what checkpoints leave.
    t.eq(recent({ size = 32768, limit = 27852 }), 6838)
    t.eq(recent({ size = 128000, limit = 108800 }), 27075)
    t.eq(recent({ size = 32768, limit = 27852 }, nil, 10000), 4338)
    t.eq(recent({ size = 32768, limit = 27852 }, { preserve_recent_large = 0 }), 2048)
    t.eq(recent({ size = 32768, limit = 27852 }, { preserve_recent = 8000 }), 8000)
  end,

  test_the_share_of_checkpoints_is_an_option = function(t)
    local job = { model = { limit = 6800 }, tokens = { system = SYSTEM } }
    t.eq(t.hook("budgets", job, { checkpoint_share = 0.2 }).checkpoints, 1260)
    t.eq(t.hook("budgets", job).checkpoints, 2520)
  end,

  test_a_system_prompt_may_exceed_the_limit = function(t)
    local bounds = t.hook("budgets", { model = { limit = 1000 }, tokens = { system = 1200 } })
    t.eq({ bounds.soft, bounds.checkpoints, bounds.keep_recent }, { 1200, 0, 0 })
  end,
}
