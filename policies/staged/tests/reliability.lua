--- Reliability, and when a model is warned of (RULES 30).
local talk = require("tests.support.talk")

local function ask(t, name, compressions, options)
  local model = { name = name, limit = 6800 }
  local job = { model = model, tokens = { total = 5234 }, compressions = compressions }
  job.confidence, job.used = 0.5, 5234 / 6800
  return t.hook("status", job, options)
end

local function check(t, name, compressions, score, level)
  local status = ask(t, name, compressions)
  t.eq({ status.score, status.level }, { score, level })
end

--- The warning that the next compression says.
local function warning(t, name, compressions)
  local words = "u100 a2000 u10 a10 u10 a10 u10"
  local model = { name = name, size = 16384, limit = 13926 }
  local ops = t.hook("plan", talk.job(t, words, { model = model, compressions = compressions })).ops
  t.eq(ops[1].op, "summarize")
  return ops[#ops].op == "warn" and ops[#ops].text or nil
end

return {
  -- model_factor × 0.9 ^ compressions; the factors are those of RULES 23.
  test_a_tenth_is_lost_with_every_compression = function(t)
    check(t, "llama3:70b", 0, 0.95, "high")
    check(t, "llama3:70b", 1, 0.855, "high")
    check(t, "llama3:70b", 2, 0.7695, "medium")
    check(t, "llama3:70b", 10, 0.331244518, "critical")
    check(t, "mixtral:8x7b", 0, 0.85, "high")
    check(t, "llama2:13b", 0, 0.7, "medium")
    check(t, "llama2:13b", 1, 0.63, "medium")
    check(t, "llama2:13b", 2, 0.567, "low")
    check(t, "llama3:7b", 2, 0.405, "low")
    check(t, "llama3:7b", 3, 0.3645, "critical")
    check(t, "llama3.2:3b", 0, 0.3, "critical")
    check(t, "qwen2.5:0.5b", 0, 0.3, "critical")
    check(t, "unknown", 0, 0.5, "low")
  end,

  test_the_status_line = function(t)
    t.eq(ask(t, "llama3:70b", 2).text, "Context: 5,234/6,800  🟡 76%  (2 compressions)")
    t.eq(ask(t, "llama3:70b", 2).low, false)
    t.eq(ask(t, "llama3:7b", 3).low, true)
  end,

  -- 3 up to 3B, 5 up to 7B, 7 up to 13B, else 10.
  test_a_model_is_warned_of_after_what_it_bears = function(t)
    for name, most in pairs({
      ["qwen2.5:0.5b"] = 3,
      ["llama3.2:3b"] = 3,
      ["phi3:3.8b"] = 5,
      ["llama3:7b"] = 5,
      ["unknown"] = 5,
      ["llama3:8b"] = 7,
      ["llama2:13b"] = 7,
      ["phi4:14b"] = 10,
      ["mixtral:8x7b"] = 10,
    }) do
      t.eq(ask(t, name, most - 1).advice, nil, name)
      local advice = ask(t, name, most).advice
      for _, word in ipairs({ name, tostring(most), "Go on", "start anew", "larger model" }) do
        t.ok(advice:find(word, 1, true), word)
      end
      -- The host is told once, by the compression that reaches it.
      t.eq(warning(t, name, most - 2), nil, name)
      t.eq(warning(t, name, most - 1), advice, name)
      t.eq(warning(t, name, most), nil, name)
    end
  end,

  test_a_model_may_be_said_to_be_larger = function(t)
    t.eq(ask(t, "our-model", 0, { model_billions = 70 }).score, 0.95)
    t.eq(ask(t, "our-model", 9, { model_billions = 70 }).advice, nil)
  end,

  test_confidence_counts_where_it_is_asked_for = function(t)
    t.eq(ask(t, "llama3:70b", 0, { weigh_confidence = true }).score, 0.475)
  end,

  -- A model swap keeps what was compressed: another factor, the same count.
  test_another_model_goes_on_with_the_same_compressions = function(t)
    t.eq(ask(t, "llama3:7b", 4).score, 0.32805)
    t.eq(ask(t, "llama3:70b", 4).score, 0.623295)
  end,
}
