--- Size classes: bounds, prompt budgets, strategies (RULES 25).
local function check(t, model, class, strategy, system)
  local bounds = t.hook("budgets", { model = model, tokens = { system = 100 } })
  t.eq({ bounds.class, bounds.strategy, bounds.system }, { class, strategy, system })
end

return {
  test_a_class_is_a_label_of_the_size = function(t)
    check(t, { size = 2048, limit = 1740 }, 1, "rollover", 200)
    check(t, { size = 4096, limit = 3481 }, 1, "rollover", 200)
    check(t, { size = 4097, limit = 3482 }, 2, "smart", 500)
    check(t, { size = 8192, limit = 6963 }, 2, "smart", 500)
    check(t, { size = 16384, limit = 13926 }, 3, "progressive", 1000)
    check(t, { size = 32768, limit = 27852 }, 4, "structured", 1500)
    check(t, { size = 32769, limit = 27853 }, 5, "structured", 1500)
    check(t, { size = 131072, limit = 111411 }, 5, "structured", 1500)
  end,

  test_without_a_size_the_limit_counts = function(t)
    check(t, { limit = 4096 }, 1, "rollover", 200)
    check(t, { limit = 200000 }, 5, "structured", 1500)
  end,

  test_the_model_table_may_list_the_sizes = function(t)
    local model = { size = 16384, limit = 16384, sizes = { 8192, 16384 } }
    t.eq(t.hook("budgets", { model = model }, {}).class, 5)
    t.eq(t.hook("budgets", { model = model }, { sizes = { 16384, 32768 } }).class, 1)
  end,

  test_a_list_of_sizes_makes_classes_of_its_places = function(t)
    local options = { sizes = { 8192, 16384, 32768, 65536, 131072 } }
    for class, size in ipairs(options.sizes) do
      local bounds = t.hook("budgets", { model = { size = size, limit = size } }, options)
      t.eq(bounds.class, class)
    end
    local other = t.hook("budgets", { model = { size = 4000, limit = 4000 } }, options)
    t.eq(other.class, 1)
  end,

  test_classes_need_not_choose = function(t)
    local job = { model = { size = 4096, limit = 3481 } }
    local bounds = t.hook("budgets", job, { class_strategy = false })
    t.eq({ bounds.class, bounds.strategy }, { 1, "progressive" })
  end,
}
