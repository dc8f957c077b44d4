--- Ageing: levels by age, targets, and what happens above the share (RULES 22).
local function checkpoint(id, level, age, tokens)
  return { id = id, level = level, age = age, tokens = tokens }
end

--- Asks which checkpoints age in a window where none must, or with this much for checkpoints.
local function ask(t, checkpoints, most, size)
  return t.hook("age", {
    model = { size = size or 16384, limit = 13926 },
    checkpoints = checkpoints,
    budgets = { checkpoints = most or 100000 },
  })
end

return {
  --- The first compression makes number 1; with compression 4 its age is 3, with 7 it is 6.
  test_checkpoint_1_comes_down_with_compressions_4_and_7 = function(t)
    local level, tokens, steps = 3, 2000, {}
    for compression = 2, 9 do
      local aged = ask(t, { checkpoint("one", level, compression - 1, tokens) })
      for _, step in ipairs(aged) do
        level, tokens = step.to, step.target
        steps[#steps + 1] = { compression, step.to, step.target }
      end
    end
    t.eq(steps, { { 4, 2, 1200 }, { 7, 1, 600 } })
  end,

  test_a_step_aims_at_its_share_or_the_target_of_the_level = function(t)
    local function target(level, age, tokens)
      return ask(t, { checkpoint("a", level, age, tokens) })[1].target
    end
    t.eq({ target(3, 3, 1000), target(3, 3, 2000), target(3, 3, 3000) }, { 600, 1200, 1200 })
    t.eq({ target(2, 6, 1000), target(2, 6, 1600), target(2, 6, 2000) }, { 500, 800, 800 })
  end,

  test_merged_and_young_ones_stay = function(t)
    t.eq(ask(t, { checkpoint("a", 0, 20, 400), checkpoint("b", 3, 2, 2000) }), {})
  end,

  test_above_the_share_the_oldest_come_down_first = function(t)
    local three = {
      checkpoint("a", 3, 2, 2000),
      checkpoint("b", 3, 1, 2000),
      checkpoint("c", 3, 0, 2000),
    }
    t.eq(ask(t, three, 6000), {})
    t.eq(ask(t, three, 5999), { { checkpoint = "a", to = 2, target = 1200 } })
    t.eq(ask(t, three, 5000), { { checkpoint = "a", to = 1, target = 800 } })
    t.eq(ask(t, three, 4000), {
      { checkpoint = "a", to = 1, target = 800 },
      { checkpoint = "b", to = 2, target = 1200 },
    })
    t.eq(ask(t, three, 3000), {
      { checkpoint = "a", to = 0, target = 400 },
      { checkpoint = "b", to = 0, target = 400 },
    })
  end,

  test_class_2_keeps_two_detailed = function(t)
    local three = {
      checkpoint("a", 3, 2, 1000),
      checkpoint("b", 3, 1, 1000),
      checkpoint("c", 3, 0, 1000),
    }
    t.eq(ask(t, three, nil, 8192), { { checkpoint = "a", to = 2, target = 600 } })
  end,

  test_class_5_is_patient = function(t)
    t.eq(ask(t, { checkpoint("a", 3, 5, 2000) }, nil, 131072), {})
    local aged = ask(t, { checkpoint("a", 3, 6, 2000) }, nil, 131072)
    t.eq(aged, { { checkpoint = "a", to = 2, target = 1200 } })
  end,
}
