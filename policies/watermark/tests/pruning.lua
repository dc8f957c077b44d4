--- What leaves before the mark, and what stays (RULES 36, 37, 39, 41).
local talk = require("tests.support.talk")

--- What leaves, and by which operation.
local function check(t, words, more, op, leaving)
  local options = more and more.options
  if more then
    more.options = nil
  end
  local ops = t.hook("plan", talk.job(words, more), options).ops
  t.eq(#ops, leaving and 1 or 0)
  t.eq(ops[1], leaving and { op = op, entries = leaving } or nil)
end

--- 100 messages of 500 tokens of which half is tool traffic: 80 before the mark, each of the exchanges
--- two of them; then 20 more.
local function hundred()
  local words = {}
  for at = 1, 25 do
    words[at] = at == 21 and "u500 m1000 a500" or "u500 x1000 a500"
  end
  return talk.job(table.concat(words, " "))
end

return {
  -- "tool_use and tool_result blocks before the message that holds the watermark are removed; text
  -- stays", "other roles and everything from the mark on stay as they are"
  test_tool_exchanges_before_the_mark_are_stripped = function(t)
    check(t, "u10 x100 a30 u10 x80 m40 u10 x60 a5", nil, "clear_tools", { 3, 4, 7, 8 })
  end,

  test_nothing_before_the_mark_leaves_nothing = function(t)
    check(t, "u10 m40 u10 x60", nil, "clear_tools", nil)
  end,

  test_what_is_pinned_stays = function(t)
    check(t, "u10 x100! x80 m40", nil, "clear_tools", { 5, 6 })
  end,

  -- What a checkpoint stands for has left already.
  test_what_left_is_not_taken_again = function(t)
    local job = talk.job("u10 x100 x80 m40")
    for _, place in ipairs({ 2, 3, 4 }) do
      job.entries.sent[place], job.entries.checkpoint[place] = 0, 1
    end
    t.eq(t.hook("plan", job).ops, { { op = "clear_tools", entries = { 5, 6 } } })
  end,

  -- "keep the last N tool exchanges before the mark whole"
  test_the_last_exchanges_may_stay = function(t)
    local words = "u10 x100 a10 x80 a10 x60 m40"
    check(t, words, { options = { keep_exchanges = 1 } }, "clear_tools", { 3, 4, 6, 7 })
    check(t, words, { options = { keep_exchanges = 2 } }, "clear_tools", { 3, 4 })
    check(t, words, { options = { keep_exchanges = 3 } }, "clear_tools", nil)
    -- They are the last before each mark: the next one lets them go.
    local more = { options = { keep_exchanges = 1 }, watermark = 8 }
    check(t, "u10 x100 x80 a10 m40 x60 m40", more, "clear_tools", { 3, 4, 5, 6, 8, 9 })
  end,

  -- "exchanges that a policy ... names as anchors stay whole"
  test_patterns_name_anchors = function(t)
    local function anchored(pattern, more)
      more.options = { anchors = { "^never$", pattern } }
      check(t, "u10 x100 x80 m40", more, "clear_tools", { 5, 6 })
    end
    anchored("^plan_", { names = { [3] = { "plan_write" }, [4] = { "plan_write" } } })
    anchored("(?i)adr-[0-9]+", { texts = { [4] = "Written: adr-12" } })
    anchored("ledger", { texts = { [3] = 'read({"path":"src/ledger.rs"})' } })
  end,

  -- "... or the model names"
  test_the_model_names_anchors = function(t)
    local words, said = "u10 x100 x80 m40", "[ANCHOR] The schema, for later."
    local function worded(place, text, word, leaving)
      check(t, words, {
        texts = { [place] = text },
        options = { anchor_word = word },
      }, "clear_tools", leaving)
    end
    worded(3, said, nil, { 5, 6 })
    worded(3, said, "", { 3, 4, 5, 6 })
    worded(3, "KEEP this", "KEEP", { 5, 6 })
    -- A tool's result has no say in it.
    worded(4, said, nil, { 3, 4, 5, 6 })
    -- A reply that leads to the call is a message of its own with some providers.
    words = "u10 a10 x100 x80 m40"
    worded(3, said, nil, { 6, 7 })
  end,

  -- "`slice`: the talk before the mark goes too"
  test_slicing_takes_the_talk_but_for_its_opening = function(t)
    local slice = function(more)
      more = more or {}
      more.options = { slice = true, keep_exchanges = more.keep }
      more.keep = nil
      return more
    end
    check(t, "u10 x100 a30 u10 x80 m40 u10", slice(), "drop", { 3, 4, 5, 6, 7, 8 })
    check(t, "u10 x100 a30 u10! x80 m40 u10", slice(), "drop", { 3, 4, 5, 7, 8 })
    check(t, "u10 x100 a30 u10 x80 m40", slice({ keep = 1 }), "drop", { 3, 4, 5, 6 })
    -- Reasoning stays beside the call that it led to, and leaves with one that leaves.
    check(t, "u10 r5 x100 a30 u10 r5 m40 u10", slice(), "drop", { 3, 4, 5, 6, 7 })
  end,

  -- "about 80 % saved instead of 40": the same 100 messages, but for the one that opens them.
  test_slicing_saves_80_percent = function(t)
    local job = hundred()
    local saved = 0
    for _, place in ipairs(t.hook("plan", job, { slice = true }).ops[1].entries) do
      saved = saved + job.entries.sent[place]
    end
    local share = saved / (job.tokens.total - 100)
    t.ok(share >= 0.78 and share <= 0.82, share)
  end,

  -- "100 messages of 500 tokens of which half is tool traffic, mark at message 80: 40 % saved"
  test_the_figure_of_40_percent = function(t)
    local job = hundred()
    local orders = t.hook("plan", job)
    t.eq(orders.watermark, 83)
    local saved = 0
    for _, place in ipairs(orders.ops[1].entries) do
      t.ok(job.entries.tools[place], "only tool traffic leaves")
      saved = saved + job.entries.sent[place]
    end
    t.eq(saved / (job.tokens.total - 100), 0.4)
  end,
}
