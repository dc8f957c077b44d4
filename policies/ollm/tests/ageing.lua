--- Ageing: levels by age, targets, and what happens above the share (RULES 22).
local function checkpoint(id, level, age, tokens)
  return { id = id, level = level, age = age, tokens = tokens }
end

--- Asks which checkpoints age in a window where none must, or with this much for checkpoints. Its
--- room is that of a window of 8K, for which the targets are said.
local function ask(t, checkpoints, most, more)
  more = more or {}
  return t.hook("age", {
    model = { size = more.size or 16384, limit = more.limit or 6463 },
    checkpoints = checkpoints,
    budgets = { checkpoints = most or 100000 },
    memo = { forced = more.forced },
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

  test_targets_grow_with_the_window = function(t)
    local aged = ask(t, { checkpoint("a", 3, 3, 9000) }, nil, { limit = 4 * 6463 })
    t.eq(aged, { { checkpoint = "a", to = 2, target = 4800 } })
  end,

  --- None comes down two levels in one compression, whatever its age, but in an emergency.
  test_above_the_share_the_oldest_come_down_first = function(t)
    local three = {
      checkpoint("a", 3, 2, 2000),
      checkpoint("b", 3, 1, 2000),
      checkpoint("c", 3, 0, 2000),
    }
    local a, b = { checkpoint = "a", to = 2, target = 1200 }, { checkpoint = "b", to = 2, target = 1200 }
    t.eq(ask(t, three, 6000), {})
    t.eq(ask(t, three, 5999), { a })
    t.eq(ask(t, three, 5200), { a })
    t.eq(ask(t, three, 5199), { a, b })
    t.eq(ask(t, three, 1000), { a, b })
    t.eq(ask(t, { checkpoint("a", 3, 9, 2000) }, 1000), { a })
    t.eq(ask(t, three, 3700, { forced = true }), {
      { checkpoint = "a", to = 1, target = 600 },
      { checkpoint = "b", to = 1, target = 600 },
    })
  end,

  --- What stood at the lowest level before comes to a merged one's size where `plan` merged nothing.
  test_the_lowest_come_to_the_size_of_a_merged_one = function(t)
    local two = { checkpoint("a", 1, 7, 800), checkpoint("b", 2, 2, 1000) }
    t.eq(ask(t, two, 900), {
      { checkpoint = "a", to = 0, target = 320 },
      { checkpoint = "b", to = 1, target = 500 },
    })
  end,

  test_class_2_keeps_two_detailed = function(t)
    local three = {
      checkpoint("a", 3, 2, 1000),
      checkpoint("b", 3, 1, 1000),
      checkpoint("c", 3, 0, 1000),
    }
    t.eq(ask(t, three, nil, { size = 8192 }), { { checkpoint = "a", to = 2, target = 600 } })
  end,

  test_class_5_is_patient = function(t)
    t.eq(ask(t, { checkpoint("a", 3, 5, 2000) }, nil, { size = 131072 }), {})
    local aged = ask(t, { checkpoint("a", 3, 6, 2000) }, nil, { size = 131072 })
    t.eq(aged, { { checkpoint = "a", to = 2, target = 1200 } })
  end,
}
