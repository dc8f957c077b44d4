--- When a plan is asked for (RULES 35, 39), and what a mark does not wait for.

--- What is due at this point of a conversation.
local function due(t, more, options)
  local job = {
    cause = "turn",
    tokens = { total = 5000, conversation = 4000 },
    budgets = { soft = 160000, hard = 199000, target = 100000 },
    memo = {},
  }
  for key, value in pairs(more) do
    job[key] = value
  end
  local said = t.hook("trigger", job, options)
  return said and said.level, said and said.reason, job.memo
end

return {
  -- "without it the call in the history is enough"
  test_a_tool_that_marks_was_answered = function(t)
    t.eq(due(t, {}), false)
    t.eq(due(t, { new_results = { "read", "list" } }), false)
    local level, reason = due(t, { new_results = { "read", "mcp__e__deactivate_augments" } })
    t.eq(level, "asked")
    t.eq(reason, "mcp__e__deactivate_augments marks the end of a task")
  end,

  -- "the tool also sets a pending flag that the next request resolves"
  test_somebody_asked = function(t)
    local level, reason, memo = due(t, { cause = "manual", requested_by = "compress_to_checkpoint" })
    t.eq({ level, reason }, { "asked", "compress_to_checkpoint marks the end of a task" })
    t.eq(memo.due, "call")
    level, reason, memo = due(t, { cause = "manual", requested_by = "user" })
    t.eq({ level, reason }, { "asked", "the user asked for it" })
    t.eq(memo.due, "here")
  end,

  -- "automatic marks at a conversation length"
  test_a_conversation_that_has_grown = function(t)
    local options = { auto_mark_tokens = 4000 }
    local level, _, memo = due(t, {}, options)
    t.eq({ level, memo.due }, { "asked", "here" })
    t.eq(due(t, {}, { auto_mark_tokens = 4001 }), false)
    t.eq(due(t, { memo = { from = 1 } }, options), false)
    -- After a mark it is counted from what that left.
    level, _, memo = due(t, { memo = { from = "next" } }, options)
    t.eq({ level, memo.from }, { false, 4000 })
  end,

  test_a_conversation_of_many_messages = function(t)
    local options = { auto_mark_messages = 3 }
    t.eq(due(t, { memo = { messages = 2 } }, options), false)
    t.eq(due(t, { memo = { messages = 3 } }, options), "asked")
    t.eq(due(t, { memo = { messages = 3 } }), false)
  end,

  test_a_new_task = function(t)
    t.eq(due(t, { memo = { boundary = "0123456789abcdef" } }), "asked")
  end,

  -- "Watermark not in this conversation: say so"
  test_a_watermark_that_is_gone_is_told_of_once = function(t)
    local level, _, memo = due(t, { watermark = 7 })
    t.eq({ level, memo.marked }, { false, true })
    level, _, memo = due(t, { memo = memo })
    t.eq({ level, memo.due, memo.lost }, { "asked", "lost", true })
    t.eq(due(t, { memo = memo }), false)
    -- It may come back with its branch, and be gone again.
    level, _, memo = due(t, { memo = memo, watermark = 7 })
    t.eq({ level, memo.lost }, { false, nil })
    t.eq(due(t, { memo = memo }), "asked")
  end,
}
