--- Reliability and the status line (RULES 23).
local function ask(t, name, compressions, options)
  return t.hook("status", {
    model = { name = name, limit = 6800 },
    tokens = { total = 5234 },
    compressions = compressions,
    confidence = 0.5,
    used = 5234 / 6800,
  }, options)
end

local function check(t, name, compressions, score, level)
  local status = ask(t, name, compressions)
  t.eq({ status.score, status.level }, { score, level })
end

return {
  test_the_status_line = function(t)
    t.eq(ask(t, "llama3:70b", 2).text, "Context: 5,234/6,800  🟡 66%  (2 compressions)")
    t.eq(ask(t, "llama3:70b", 1).text, "Context: 5,234/6,800  🟡 80%  (1 compression)")
    t.eq(ask(t, "llama3:70b", 0).text, "Context: 5,234/6,800  🟢 95%  (0 compressions)")
  end,

  test_a_score_falls_with_every_compression = function(t)
    check(t, "llama3:70b", 0, 0.95, "high")
    check(t, "llama3:70b", 2, 0.665, "medium")
    check(t, "llama3:70b", 4, 0.38, "critical")
    check(t, "llama3:70b", 5, 0.285, "critical")
    check(t, "llama3:70b", 9, 0.285, "critical")
    check(t, "qwen:30b", 0, 0.85, "high")
    check(t, "qwen:30b", 1, 0.7225, "medium")
    check(t, "llama2:13b", 1, 0.595, "low")
    check(t, "llama2:13b", 2, 0.49, "low")
    check(t, "llama3:7b", 0, 0.5, "low")
    check(t, "llama3.2:3b", 0, 0.3, "critical")
    check(t, "unknown", 0, 0.5, "low")
  end,

  test_percentages_are_rounded_down = function(t)
    -- 0.7 times 0.7 is a little less than 0.49 in binary.
    t.ok(ask(t, "llama2:13b", 2).text:find("49%", 1, true))
  end,

  test_confidence_counts_where_it_is_asked_for = function(t)
    t.eq(ask(t, "llama3:70b", 0, { weigh_confidence = true }).score, 0.475)
  end,

  test_a_model_that_does_not_say_its_size_can_be_told_apart = function(t)
    t.eq(ask(t, "our-model", 0, { model_billions = 70 }).score, 0.95)
  end,

  test_advice_names_the_model_the_count_and_three_ways_out = function(t)
    for name, most in pairs({ ["llama3:7b"] = 3, ["llama2:13b"] = 5, ["llama3:70b"] = 7 }) do
      t.eq(ask(t, name, most - 1).advice, nil)
      local advice = ask(t, name, most).advice
      for _, word in ipairs({ name, tostring(most), "Go on", "start anew", "larger model" }) do
        t.ok(advice:find(word, 1, true), word)
      end
    end
  end,

  test_advice_says_what_compressions_of_the_size_save = function(t)
    for name, expected in pairs({
      ["llama3:7b"] = { 3, "50–70 %" },
      ["llama2:13b"] = { 5, "60–80 %" },
      ["qwen:30b"] = { 5, "60–80 %" },
      ["llama3:70b"] = { 7, "70–90 %" },
    }) do
      local advice = ask(t, name, expected[1]).advice
      t.ok(advice:find("each saving " .. expected[2], 1, true), advice)
    end
  end,

  -- Said by the compression that reaches the figure, and by no other.
  test_a_host_is_told_when_the_advised_number_is_reached = function(t)
    local function warning(name, compressions)
      local entries = {
        count = 3, role = { "assistant", "user", "assistant" },
        speaker = { "model", "human", "model" },
        tokens = { 4000, 50, 1000 }, sent = { 4000, 50, 1000 }, exchange = { 1, 2, 3 },
        pinned = { false, false, false },
      }
      local tokens = { total = 5050, system = 0, tools = 0, checkpoints = 0, conversation = 5050 }
      local job = { model = { name = name, size = 16384, limit = 6800 }, tokens = tokens }
      job.cause, job.entries, job.checkpoints, job.compressions = "soft", entries, {}, compressions
      job.budgets = t.hook("budgets", { model = job.model, tokens = tokens })
      job.target, job.max_tokens = job.budgets.target, job.budgets.hard
      local ops = t.hook("plan", job).ops
      t.eq(ops[1].op, "summarize")
      return ops[2] and ops[2].op == "warn" and ops[2].text or nil
    end
    for name, most in pairs({ ["llama3:7b"] = 3, ["llama2:13b"] = 5, ["llama3:70b"] = 7 }) do
      t.eq(warning(name, most - 2), nil, name)
      t.eq(warning(name, most - 1), ask(t, name, most).advice, name)
      t.eq(warning(name, most), nil, name)
    end
  end,
}
