--- Whether a person's message begins a new task (RULES 39), and what is noted of a message.

local TEXT = "Next task: write the docs."

--- What `observe` answers to a message, and what it notes.
local function observe(t, more, options)
  local job = { entry = { role = "user", speaker = "human", text = TEXT }, memo = {} }
  for key, value in pairs(more) do
    job[key] = value
  end
  return t.hook("observe", job, options), job.memo
end

return {
  -- "marks at task boundaries that a policy ... detects"
  test_a_pattern_tells_a_new_task = function(t)
    local options = { boundaries = { "^never$", "(?i)^next task\\b" } }
    local _, memo = observe(t, {}, options)
    t.eq(memo, { boundary = ep.hash(TEXT) })
    for _, entry in ipairs({
      { role = "user", speaker = "human", text = "And the next task list?" },
      { role = "assistant", speaker = "model", text = TEXT },
      { role = "user", speaker = "tool", text = TEXT },
    }) do
      _, memo = observe(t, { entry = entry }, options)
      t.eq(memo, {})
    end
    _, memo = observe(t, {})
    t.eq(memo, {})
  end,

  -- "... or the model asked by it"
  test_a_model_is_asked = function(t)
    local options, before = { ask_boundary = true }, "Fix the 100% flaky test."
    local asked = observe(t, { typed = before }, options)
    t.eq(asked.ask.id, "boundary")
    t.ok(asked.ask.user:find(before, 1, true) and asked.ask.user:find(TEXT, 1, true))
    local replies = { yes = true, ["Yes."] = true, ['"yes"'] = true, no = false, ["No, yes"] = false }
    for reply, begins in pairs(replies) do
      local _, memo = observe(t, { typed = before, replies = { boundary = reply } }, options)
      t.eq(memo.boundary ~= nil, begins, reply)
    end
    -- The first message begins nothing, and what a pattern tells is not asked.
    t.eq(observe(t, {}, options), nil)
    options.boundaries = { "^Next task" }
    t.eq(observe(t, { typed = before }, options), nil)
  end,

  test_messages_are_counted_for_automatic_marks = function(t)
    local _, memo = observe(t, {}, { auto_mark_messages = 9 })
    _, memo = observe(t, { memo = memo }, { auto_mark_messages = 9 })
    t.eq(memo, { messages = 2 })
  end,
}
