--- The status report (RULES 50).

local function status(t, report)
  return t.hook("status", {
    now = "2026-01-02T03:04:05Z",
    model = { limit = 10000 },
    tokens = { total = 8600 },
    used = 0.86,
    report = report,
    done = {
      offloaded = { count = 2, saved = 31000 },
      truncated = { count = 3, saved = 1200 },
      digested = { count = 1, saved = 700 },
      summaries = { count = 1, saved = 4000 },
    },
    history = {
      { at = "2026-01-02T01:00:00Z", what = "offload", saved = 15500 },
      { at = "2026-01-02T02:00:00Z", what = "truncation", saved = 1200 },
      { at = "2026-01-02T03:00:00Z", what = "compression", saved = 4000 },
    },
  })
end

return {
  test_the_line = function(t)
    local found = status(t, false)
    t.eq({ found.level, found.text, found.advice, found.report }, {
      "critical",
      "Context: 8,600/10,000  ⛔ critical 86%",
      "Start a fresh session from the last checkpoint.",
    })
    local fresh = t.hook("status", { model = { limit = 100 }, tokens = { total = 10 }, used = 0.1 })
    t.eq(fresh.advice, nil)
  end,

  -- "time, usage, level, results offloaded and inputs truncated with tokens saved, summaries made,
  -- a recommendation, and the compression history as a table (time, type, tokens saved)"
  test_the_report = function(t)
    t.eq(status(t, true).report, [[
# Context status

- Time: 2026-01-02T03:04:05Z
- Usage: 8,600 of 10,000 tokens, 86 %
- Level: ⛔ critical: a checkpoint is made; start a fresh session from it
- Results offloaded: 2, 31,000 tokens saved
- Results digested: 1, 700 tokens saved
- Inputs truncated: 3, 1,200 tokens saved
- Summaries made: 1, 4,000 tokens saved
- Recommendation: Start a fresh session from the last checkpoint.

## Compression history

| time | type | tokens saved |
| --- | --- | ---: |
| 2026-01-02T01:00:00Z | result offloaded | 15,500 |
| 2026-01-02T02:00:00Z | input truncated | 1,200 |
| 2026-01-02T03:00:00Z | summary | 4,000 |]])
  end,

  test_a_report_of_nothing = function(t)
    local job = { model = { limit = 100 }, tokens = { total = 10 }, used = 0.1, report = true }
    local found = t.hook("status", job).report
    t.ok(found:find("- Recommendation: Go on.", 1, true), found)
    t.ok(found:find("| – | nothing so far | 0 |", 1, true), found)
  end,
}
