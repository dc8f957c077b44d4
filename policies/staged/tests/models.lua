--- What a model's name says of it comes to the same in every policy (RULES 30, 23).
local trust = require("trust")

local function check(t, name, billions, factor)
  local job = { model = { name = name }, options = { model_billions = 0 } }
  t.eq({ trust.billions(job), trust.factor(job) }, { billions, factor }, name)
end

return {
  test_size_and_factor_of_a_name = function(t)
    check(t, "llama3:7b", 7, 0.50)
    check(t, "qwen2.5:0.5b", 0.5, 0.30)
    check(t, "mixtral:8x7b", 56, 0.85)
    check(t, "llama3.2:3b", 3, 0.30)
    check(t, "llama3:70b", 70, 0.95)
    check(t, "llama3:69b", 69, 0.85)
    check(t, "qwen:30b", 30, 0.85)
    check(t, "gemma2:27b", 27, 0.70)
    check(t, "llama2:13b", 13, 0.70)
    check(t, "phi3:12b", 12, 0.50)
    check(t, "claude", 7, 0.50)
    check(t, nil, 7, 0.50)
  end,

  test_the_model_table_says_what_a_name_does_not = function(t)
    local function billions(name, listed, stated)
      local model = { name = name, billions = listed }
      return trust.billions({ model = model, options = { model_billions = stated or 0 } })
    end
    t.eq(billions("claude", 70), 70)
    t.eq(billions("llama3.2:1b", 3), 1)
    t.eq(billions("claude", 70, 30), 30)
  end,
}
