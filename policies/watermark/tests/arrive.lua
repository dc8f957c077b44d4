--- Tool results behind the mark stay as they are (RULES 36).
return {
  test_results_are_kept = function(t)
    local job = { entry = { tool = "read", tokens = 99999 }, model = { limit = 8000 } }
    t.eq(t.hook("tool_result", job), { how = "keep" })
    t.eq(t.hook("tool_result", job, { keep_results = false }), nil)
  end,
}
