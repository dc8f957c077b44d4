--- The size of a model, read from its name (RULES 30).
local models = require("models")

return {
  test_a_name_says_how_large_its_model_is = function(t)
    for name, billions in pairs({
      ["llama3:7b"] = 7,
      ["qwen2.5:0.5b"] = 0.5,
      ["mixtral:8x7b"] = 56,
      ["llama3.2:3b"] = 3,
      ["Meta-Llama-3-70B-Instruct"] = 70,
      ["qwen3-30b-a3b"] = 30,
      ["smollm:135m"] = 0.135,
      ["gpt-4o"] = 7,
    }) do
      t.eq(models.billions(name), billions, name)
    end
    t.eq(models.billions(nil), 7)
  end,
}
