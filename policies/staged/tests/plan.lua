--- What is compressed, at which level, and what makes room for it (RULES 26, 27, 25).
local talk = require("tests.support.talk")

local function orders(t, words, more)
  return t.hook("plan", talk.job(t, words, more), more and more.options)
end

--- What becomes of a conversation: the fields of each operation.
local function check(t, words, more, expected)
  local ops = {}
  for _, op in ipairs(orders(t, words, more).ops) do
    ops[#ops + 1] = op.op ~= "insert" and op or nil
  end
  for at, op in ipairs(expected) do
    for key, value in pairs(op) do
      t.eq(ops[at] and ops[at][key], value, key)
    end
  end
  t.eq(#ops, #expected)
end

return {
  -- RULES 27: the last 5 messages stay; of the rest, what the assistant did.
  test_the_newest_five_messages_and_the_users_stay = function(t)
    check(t, "u100 x1000 a500 u100 x600 u100 a300 u100 x400", nil, {
      { op = "summarize", entries = { 3, 4, 5, 7, 8 } },
    })
    check(t, "u100 x1000 a500 u100 a500 u100 a500 u100", nil, {
      { op = "summarize", entries = { 3, 4, 5 } },
    })
  end,

  -- RULES 4: the fifth from behind is a result, so its call stays, too.
  test_an_exchange_stays_whole = function(t)
    check(t, "u100 a900 y900 u100 a100 u100", nil, { { op = "summarize", entries = { 3 } } })
    check(t, "u100 a900 x900 u100 a100 u100 a100", nil, { { op = "summarize", entries = { 3 } } })
  end,

  test_another_number_of_messages = function(t)
    local options = { keep_messages = 1 }
    check(t, "u100 x1000 a900 a300", { options = options }, {
      { op = "summarize", entries = { 3, 4, 5 } },
    })
  end,

  test_what_is_pinned_stays = function(t)
    check(t, "u100 x1000! a900 u10 a10 u10 a10 u10", nil, { { entries = { 5 } } })
  end,

  -- RULES 27, 22: the level from the tokens to compress, its target, what of the original leaves; of
  -- much of it no more than 70 %.
  test_the_level_follows_the_tokens_to_compress = function(t)
    local tail = " u10 a10 u10 a10 u10"
    for tokens, expected in pairs({
      [1000] = { 3, 500 },
      [2000] = { 3, 1000 },
      [2001] = { 2, 800 },
      [3000] = { 2, 1200 },
      [3001] = { 1, 900 },
      [9000] = { 1, 2700 },
    }) do
      local op = orders(t, "u10 a" .. tokens .. tail).ops[1]
      t.eq({ op.level, op.target }, expected, tokens)
    end
  end,

  -- RULES 26: nothing to compress is a result with a reason.
  test_nothing_to_compress_is_said_with_its_reason = function(t)
    for words, reason in pairs({
      ["u3000 a200 u200 a200"] = "nothing to compress: the model did nothing before the newest"
        .. " messages",
      ["u9000 a300 u10 a10 u10 a10 u10"] = "nothing to compress: 300 tokens are not worth it",
    }) do
      local answer = orders(t, words)
      t.eq({ answer.ops, answer.reason }, { {}, reason })
    end
  end,

  -- RULES 19: 40 % of (13926 − 500) are 5370. What stood at the lowest level becomes one.
  test_above_their_share_old_checkpoints_become_one = function(t)
    local more = { checkpoints = { { 1, 9, 2500 }, { 1, 8, 2500 }, { 2, 1, 500 } } }
    check(t, "u100 a2000 u10 a10 u10 a10 u10", more, {
      { op = "merge", checkpoints = { "c1", "c2" }, target = 830, to = 0 },
      { op = "summarize", target = 1000, level = 3 },
    })
  end,

  -- What people wrote leaves too little room for as much again: checkpoints are as small as they
  -- become, and less of the newest messages stays.
  test_a_crowded_window_merges_and_keeps_less = function(t)
    local more = { checkpoints = { { 1, 3, 700 }, { 1, 2, 700 }, { 2, 1, 700 } } }
    check(t, "u6500 a2500 u10 a10 u10 a10 u10", more, {
      { op = "merge", checkpoints = { "c1", "c2" }, target = 560 },
      { op = "summarize", entries = { 3, 5, 7 }, target = 756, level = 2 },
    })
  end,

  -- RULES 21: the newest 15 messages of people stay, older ones only where there is room.
  test_older_messages_of_people_are_folded = function(t)
    local users = ("u500 "):rep(17)
    check(t, users .. "a2000 u10 a10 u10 a10", nil, {
      { op = "summarize", entries = { 2, 3, 4, 5, 19, 21 }, target = 1203 },
    })
    check(t, ("u50 "):rep(30) .. "a9000 u10 a10 u10 a10 u10", nil, { { op = "summarize" } })
  end,

  -- RULES 34: 10 and more checkpoints in one conversation.
  test_ten_checkpoints_stand_beside_one_another = function(t)
    local more = { checkpoints = {}, model = { size = 65536, limit = 55705 } }
    for at = 1, 10 do
      more.checkpoints[at] = { 1, 11 - at, 800 }
    end
    check(t, "u100 a9000 u10 a10 u10 a10 u10", more, { { op = "summarize", level = 1 } })
  end,

  test_class_1_starts_over = function(t)
    local more = { model = { size = 4096, limit = 3481 } }
    check(t, "u100 x1900 a500", more, { { op = "rollover", target = 400 } })
    more.options = { class_strategy = false }
    check(t, "u100 a1900 u10 a10 u10 a10 u10", more, { { op = "summarize" } })
  end,

  test_class_2_keeps_two_detailed = function(t)
    local function aged(size)
      local list = {}
      for at = 1, 3 do
        list[at] = { id = "c" .. at, level = 3, age = 3 - at, tokens = 1000 }
      end
      local job = { model = { size = size, limit = size }, checkpoints = list, memo = {} }
      job.budgets = { checkpoints = 9000 }
      return t.hook("age", job)
    end
    t.eq(aged(8192), { { checkpoint = "c1", to = 2, target = 600 } })
    t.eq(aged(16384), {})
  end,

  -- RULES 29: a mode that has no text is named with the nearest that there is, once.
  test_an_unknown_mode_is_named_with_the_nearest = function(t)
    local memo = {}
    local function told(mode)
      local more = { mode = mode, memo = memo }
      local ops = orders(t, "u100 a2000 u10 a10 u10 a10 u10", more).ops
      return ops[#ops].op == "warn" and ops[#ops].text or nil
    end
    for _, mode in ipairs({ "developer", "planning", "debugger", "assistant", "user" }) do
      t.eq(told(mode), nil, mode)
    end
    t.eq(told(nil), nil)
    t.eq(
      told("devloper"),
      "There is no mode `devloper`; the nearest is `developer`. Summaries dwell on what the mode"
        .. " `assistant` says."
    )
    t.eq(told("devloper"), nil)
    t.ok(told("Plan"):find("there are `developer`, `planning`", 1, true))
    t.ok(told("plannig"):find("the nearest is `planning`", 1, true))
  end,

  test_a_restore_point_is_made_first = function(t)
    local function snapshot(tokens, cause, options)
      local more = { cause = cause, options = options }
      return orders(t, "u100! a" .. tokens - 700 .. " a100", more).snapshot
    end
    t.eq(snapshot(11141, "soft"), true) -- four fifths of 13926
    t.eq(snapshot(11139, "soft"), false)
    t.eq(snapshot(2000, "manual"), true)
    t.eq(snapshot(12000, "soft", { snapshots_auto = false }), false)
  end,
}
