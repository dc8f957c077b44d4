--- The session log: a block for each action, with the figures of RULES 44.
local talk = require("tests.support.talk")

local AT = "2026-01-02T03:04:05Z"

--- What is written for an event.
local function export(t, event, more, options)
  event.at = event.at or AT
  local job = {
    event = event,
    model = { limit = 8000 },
    tokens = { total = 2800 },
    messages = 42,
    compressions = 1,
    workspace = true,
  }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  local noted = t.hook("on_event", job, options)
  return noted and noted.write_file
end

return {
  -- RULES 44: `4,200 / 8,000 (52.5%)`, `Savings: 1,400 tokens (33% reduction)`.
  test_a_summary_has_its_block = function(t)
    local event = { event = "compressed", tokens_before = 4200, tokens_after = 2800 }
    event.ops = { { op = "summarize", entries = { "e1", "e2", "e3" } }, { op = "state", entries = {} } }
    local written = export(t, event)
    t.eq({ written.name, written.append }, { "SESSION_LOG.md", true })
    t.eq(
      written.text,
      "## 2026-01-02T03:04:05Z: summary\n"
        .. "\n"
        .. "- Before: 4,200 / 8,000 (52.5%)\n"
        .. "- After: 2,800 / 8,000 (35.0%)\n"
        .. "- Messages: 42\n"
        .. "- Summaries: 1 (3 messages → 1 summary)\n"
        .. "- Savings: 1,400 tokens (33% reduction)\n"
    )
  end,

  test_an_emergency_trim_is_called_so = function(t)
    local event = { event = "compressed", tokens_before = 7000, tokens_after = 3900 }
    local text = export(t, event, { memo = { trimming = true } }).text
    t.ok(text:find(": emergency trim\n", 1, true), text)
    t.ok(text:find("Savings: 3,100 tokens (44% reduction)", 1, true), text)
  end,

  test_a_result_is_weighed_with_its_prompt = function(t)
    for name, action in pairs({
      ["tool-result-digested"] = "digest of run_sql",
      ["tool-result-offloaded"] = "offload of run_sql",
    }) do
      local text = export(t, { event = name, tool = "run_sql", saved = 1400 }).text
      t.ok(text:find(AT .. ": " .. action .. "\n", 1, true), text)
      t.ok(text:find("- Before: 4,200 / 8,000 (52.5%)\n- After: 2,800", 1, true), text)
    end
  end,

  test_nothing_else_is_noted = function(t)
    t.eq(export(t, { event = "context-warning", percent = 70, tokens_before = 1, tokens_after = 1 }), nil)
    local event = { event = "compressed", tokens_before = 4200, tokens_after = 2800 }
    t.eq(export(t, event, { workspace = false }), nil)
    t.eq(export(t, event, nil, { session_log = false }), nil)
  end,

  -- RULES 42, 44: it is never summarised.
  test_the_log_is_never_summarised = function(t)
    local function covers(texts)
      local job = talk.job(t, "u50 a900 x800 a900 x800 u50 a100 u100!", 4000, { texts = texts })
      return t.hook("plan", job).ops[1].entries
    end
    t.eq(covers({}), { 2, 3, 4, 5, 6, 7, 8 })
    local read = "read_file({\"path\":\".epitome/SESSION_LOG.md\"})"
    t.eq(covers({ [4] = read }), { 2, 3, 6, 7, 8 })
    -- What was read before is older than what the log says now.
    t.eq(covers({ [4] = read, [7] = read }), { 2, 3, 4, 5, 6 })
    local entry = { tool = "read_file", args = read, tokens = 5000, lines = 900, text = "# Log" }
    t.eq(t.hook("tool_result", { entry = entry, model = { limit = 8000 } }), { how = "keep" })
  end,
}
