--- Nothing is ever done.
return {
  test_nothing_is_compressed = function(t)
    for _, cause in ipairs({ "turn", "manual", "overflow", "idle" }) do
      local job = { model = { limit = 100 }, tokens = { total = 1000 }, cause = cause }
      t.eq(t.hook("trigger", job), false)
    end
  end,

  test_nothing_is_made_smaller = function(t)
    local entry = { id = 3, role = "tool", speaker = "tool", tool = "read", tokens = 100000 }
    t.eq(t.hook("tool_result", { model = { limit = 100 }, entry = entry }), { how = "keep" })
  end,
}
