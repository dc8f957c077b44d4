--- Which message holds the watermark (RULES 35, 38, 39).
local talk = require("tests.support.talk")

--- Where the mark is found in a conversation, and what leaves.
local function check(t, words, more, mark, leaving)
  local options = more and more.options
  if more then
    more.options = nil
  end
  local orders = t.hook("plan", talk.job(words, more), options)
  t.eq(orders.watermark, mark, "the mark")
  t.eq(orders.ops[1] and orders.ops[1].entries, leaving, "what leaves")
end

return {
  -- "A mark is a call of a checkpoint tool that has its result"
  test_a_call_with_its_result_is_a_mark = function(t)
    check(t, "u10 x100 m40 u10", nil, 5, { 3, 4 })
  end,

  -- "... that has its result"
  test_a_call_without_a_result_is_none = function(t)
    check(t, "u10 x100 o40 u10", nil, nil, nil)
    check(t, "u10 m40 x100 o40 u10", nil, 3, nil)
  end,

  -- "`deactivate_augments`, `compress_to_checkpoint`, any name the policy lists"
  test_the_tools_are_an_option = function(t)
    local called = function(name)
      return { names = { [5] = { name }, [6] = { name } } }
    end
    check(t, "u10 x100 m40 u10", called("compress_to_checkpoint"), 5, { 3, 4 })
    check(t, "u10 x100 m40 u10", called("finish_task"), nil, nil)
    local more = called("finish_task")
    more.options = { tools = { "finish_task" } }
    check(t, "u10 x100 m40 u10", more, 5, { 3, 4 })
  end,

  -- "MCP prefixes `mcp__x__` allowed"
  test_the_prefix_of_a_server_is_allowed = function(t)
    local found = function(name)
      local job = talk.job("u10 x100 m40 u10", { names = { [5] = { name }, [6] = { name } } })
      return t.hook("plan", job).watermark == 5
    end
    t.ok(found("mcp__epitome__deactivate_augments"))
    t.ok(found("mcp__my_server__compress_to_checkpoint"))
    for _, other in ipairs({
      "mcp____deactivate_augments",
      "mcp__deactivate_augments",
      "epitome__deactivate_augments",
      "mcp__epitome__deactivate_augments_now",
      "not_deactivate_augments",
    }) do
      t.ok(not found(other), other)
    end
  end,

  -- "even if it changed nothing"
  test_what_the_result_says_does_not_matter = function(t)
    check(t, "u10 x100 m40 u10", { texts = { [6] = "error: nothing is active" } }, 5, { 3, 4 })
  end,

  -- "the *last* such call becomes the watermark"
  test_the_last_mark_wins = function(t)
    check(t, "u10 x100 m40 u10 x80 m40 u10", nil, 10, { 3, 4, 5, 6, 8, 9 })
  end,

  -- "Looking only behind the current watermark"
  test_a_mark_is_looked_for_behind_the_watermark = function(t)
    check(t, "u10 x100 m40 u10 x80 u10", { watermark = 5 }, nil, nil)
    check(t, "u10 x100 m40 u10 x80 m40", { watermark = 5 }, 10, { 3, 4, 5, 6, 8, 9 })
  end,

  -- "from the start if there is none, or if its id is no longer in the conversation"
  test_a_lost_watermark_lets_the_search_begin_anew = function(t)
    local orders = t.hook("plan", talk.job("u10 x100 m40 u10", { watermark_lost = true }))
    t.eq(orders.watermark, 5)
    t.eq(orders.ops[2], {
      op = "warn",
      text = "the watermark is not in this conversation; the last mark in it counts",
    })
  end,

  -- "None found: nothing changes." "Watermark not in this conversation: say so, change nothing."
  test_nothing_marked_changes_nothing = function(t)
    t.eq(t.hook("plan", talk.job("u10 x100 a20 u10")), { ops = {} })
    local lost = talk.job("u10 x100 a20 u10", { watermark_lost = true })
    t.eq(t.hook("plan", lost), {
      ops = {
        {
          op = "warn",
          text = "the watermark is not in this conversation; nothing is changed",
        },
      },
    })
    -- Once is enough.
    lost.memo = { lost = true }
    t.eq(t.hook("plan", lost).ops, {})
  end,

  --- A tool that asked for a mark of which no call is there: that is said in so many words.
  test_a_tool_whose_call_is_not_found_is_told_of = function(t)
    local function ops(words, due, more)
      more = more or {}
      more.memo = { due = due }
      return t.hook("plan", talk.job(words, more)).ops
    end
    t.eq(ops("u10 x100 o40 u10", "call"), {
      {
        op = "warn",
        text = "no call of `deactivate_augments` or `compress_to_checkpoint` with its result is in"
          .. " this conversation behind the watermark; nothing is changed",
      },
    })
    t.eq(#ops("u10 m40 x100 u10", "call", { watermark = 3 }), 1)
    t.eq(ops("u10 x100 m40 u10", "call")[1].op, "clear_tools")
    t.eq(#ops("u10 x100 m40 u10", "call"), 1)
    t.eq(ops("u10 x100 a20 u10", "task"), {})
  end,

  -- "parallel calls ... follow 11": the exchange of the mark stays.
  test_a_mark_among_other_calls_keeps_them = function(t)
    check(t, "u10 x100 p40 u10 x10", nil, 5, { 3, 4 })
  end,

  -- "Analytics per ... tool"
  test_the_tool_that_marked_is_named = function(t)
    local by = function(memo)
      return t.hook("plan", talk.job("u10 x100 p40 u10 x10", { memo = memo })).watermark_tool
    end
    t.eq(by(), "deactivate_augments")
    t.eq(by({ due = "here" }), nil)
  end,

  -- "server tools ... follow 11": the provider's result stands in the same message.
  test_a_mark_that_the_provider_ran = function(t)
    local twice = { "mcp__e__deactivate_augments", "mcp__e__deactivate_augments" }
    check(t, "u10 x100 o40 u10", { names = { [5] = twice } }, 5, { 3, 4 })
    check(t, "u10 x100 o40 u10", { names = { [5] = { twice[1] } } }, nil, nil)
  end,

  -- "marks on `activate_augments` (off)"
  test_activating_marks_where_that_is_asked_for = function(t)
    local more = function(options)
      local names = { "mcp__epitome__activate_augments" }
      return { names = { [5] = names, [6] = names }, options = options }
    end
    check(t, "u10 x100 m40 u10", more(), nil, nil)
    check(t, "u10 x100 m40 u10", more({ mark_on_activate = true }), 5, { 3, 4 })
  end,

  -- What the user asks for by hand falls where the conversation is.
  test_the_user_marks_the_newest_message = function(t)
    check(t, "u10 x100 a20 u10", { memo = { due = "here" } }, 6, { 3, 4 })
    check(t, "u10 x100 m40 u10 x80", { memo = { due = "here" } }, 9, { 3, 4, 5, 6 })
    check(t, "u10 x100", { memo = { due = "here" }, watermark = 4 }, nil, nil)
  end,

  -- "marks at task boundaries that a policy ... detects"
  test_a_new_task_marks_its_message = function(t)
    local texts = { [5] = "Next task: the docs." }
    local memo = { due = "task", boundary = ep.hash(texts[5]) }
    check(t, "u10 x100 u10 x80", { texts = texts, memo = memo }, 5, { 3, 4 })
    -- A call behind it is later.
    check(t, "u10 x100 u10 x80 m10", { texts = texts, memo = memo }, 8, { 3, 4, 6, 7 })
    -- What was taken back is no boundary any more.
    check(t, "u10 x100 u10 x80", { memo = memo }, nil, nil)
  end,
}
