-- Run by `epitome policy test team`, and before a change of the policy is taken up.
return {
  test_a_large_result_is_offloaded = function(t)
    local answer = t.hook("tool_result", { entry = { tool = "read", tokens = 2001 } })
    t.eq(answer, { how = "offload", max_tokens = 300 })
  end,

  test_all_else_is_left_to_others = function(t)
    local keep = { how = "keep" }
    t.eq(t.hook("tool_result", { entry = { tool = "read", tokens = 2000 } }, {}, keep), keep)
  end,
}
