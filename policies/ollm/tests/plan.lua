--- What: the model's old exchanges into one checkpoint, old ones merged for it, the user's messages
--- last (RULES 21, 22).
local SYSTEM = 500

--- The columns of a conversation: `u` a message of the user, `a` one of the assistant, `c` a call
--- with its result; each with its tokens, and `!` where it is pinned.
local function columns(text)
  local entries = {
    count = 0, role = {}, speaker = {}, tokens = {}, sent = {}, exchange = {}, pinned = {},
    tools = {}, checkpoint = {},
  }
  local exchange = 0
  local function add(role, speaker, tokens, pinned, tools)
    local at = entries.count + 1
    entries.count = at
    entries.role[at], entries.speaker[at] = role, speaker
    entries.tokens[at], entries.sent[at] = tokens, tokens
    entries.exchange[at], entries.pinned[at] = exchange, pinned
    entries.tools[at], entries.checkpoint[at] = tools, 0
  end
  add("system", "harness", SYSTEM, true, false)
  for kind, size, pin in text:gmatch("(%a)(%d+)(!?)") do
    local tokens = tonumber(size)
    exchange = exchange + 1
    if kind == "u" then
      add("user", "human", tokens, pin == "!", false)
    elseif kind == "a" then
      add("assistant", "model", tokens, pin == "!", false)
    else
      add("assistant", "model", math.floor(tokens / 4), pin == "!", true)
      add("tool", "tool", tokens - math.floor(tokens / 4), pin == "!", true)
    end
  end
  return entries
end

--- A job with this conversation and these checkpoints (`{ level, age, tokens }`), with the budgets
--- that the policy gives it.
local function job_of(t, text, checkpoints, more)
  local job = { model = { size = 16384, limit = 6800 }, cause = "soft" }
  for key, value in pairs(more or {}) do
    job[key] = value
  end
  job.entries, job.checkpoints = columns(text), {}
  local taken, said = 0, 0
  for at, one in ipairs(checkpoints or {}) do
    local id = "c" .. at
    job.checkpoints[at] = { id = id, level = one[1], age = one[2], tokens = one[3] }
    taken = taken + one[3]
  end
  for at = 2, job.entries.count do
    said = said + job.entries.sent[at]
  end
  local total = SYSTEM + taken + said
  job.tokens = { total = total, system = SYSTEM, checkpoints = taken, conversation = said }
  job.budgets = t.hook("budgets", { model = job.model, tokens = job.tokens })
  job.target, job.max_tokens = job.budgets.target, job.budgets.hard
  return job
end

local function check(t, text, checkpoints, more, expected)
  local options = more and more.options
  if more then
    more.options = nil
  end
  local ops = {}
  for _, op in ipairs(t.hook("plan", job_of(t, text, checkpoints, more), options).ops) do
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
  test_old_exchanges_of_the_model_become_one_checkpoint = function(t)
    -- The recent part of 1890 tokens holds the last three; the user's message stays.
    check(t, "u100 c1000 a500 u100 c1200 c880 c400 u100! a500", nil, nil, {
      { op = "summarize", entries = { 3, 4, 5, 7, 8 }, target = 1350 },
    })
  end,

  test_a_checkpoint_takes_half_of_what_it_stands_for_at_most = function(t)
    check(t, "u100! c900 c1400 c400", nil, nil, {
      { op = "summarize", entries = { 3, 4 }, target = 450 },
    })
    -- 1900 and a stride of 1575 are four fifths of 4343, so 1957 of 6300 are left.
    check(t, "u100! c4500 c1400 c400", nil, nil, {
      { op = "summarize", entries = { 3, 4 }, target = 1957 },
    })
  end,

  --- RULES 22: 50 to 70 % leave, whatever the window.
  test_in_a_larger_window_a_checkpoint_is_larger = function(t)
    local model = { size = 131072, limit = 111411 }
    check(t, "u100! c50000 c20000 c20000", nil, { model = model }, {
      { op = "summarize", entries = { 3, 4, 5, 6 }, target = 34321 },
    })
  end,

  test_the_newest_exchange_stays_however_large = function(t)
    check(t, "u100! c1500 c4000", nil, nil, {
      { op = "summarize", entries = { 3, 4 } },
    })
  end,

  test_pinned_exchanges_stay = function(t)
    check(t, "u100! c2000! c2000 c800", nil, nil, {
      { op = "summarize", entries = { 5, 6 }, target = 707 },
    })
  end,

  test_what_is_not_worth_it_is_left_alone = function(t)
    check(t, "u100! c200 c1800", nil, nil, {})
  end,

  test_truncating_needs_no_summary = function(t)
    local options = { compression_strategy = "truncate" }
    check(t, "u100! c3000 c1500", nil, { options = options }, {
      { op = "drop", entries = { 3, 4 } },
    })
  end,

  --- 40 % of 6300 are 2520: beside a new one of 1000 the two old ones take 1600.
  test_above_the_share_old_ones_are_merged = function(t)
    check(t, "u100! c2000 c1300 c100", { { 1, 7, 800 }, { 1, 6, 800 } }, nil, {
      { op = "merge", checkpoints = { "c1", "c2" }, target = 400, to = 0 },
      { op = "summarize", entries = { 3, 4 }, target = 1000 },
    })
  end,

  --- Of 300 that were merged before nothing is lost: 300 and 40 % of 800 are more than 400.
  test_what_was_merged_takes_others_in = function(t)
    check(t, "u100! c3000 c1300 c100", { { 0, 7, 300 }, { 1, 6, 800 } }, nil, {
      { op = "merge", checkpoints = { "c1", "c2" }, target = 400, to = 0 },
      { op = "summarize", target = 1500 },
    })
  end,

  --- The old one comes down to 1200, which leaves 1320.
  test_a_new_one_gives_way_to_the_share = function(t)
    check(t, "u100! c4000 c700", { { 3, 0, 2000 } }, nil, {
      { op = "summarize", entries = { 3, 4 }, target = 1320 },
    })
  end,

  test_the_newest_15_messages_of_the_user_always_stay = function(t)
    local users = ("u250 "):rep(15)
    check(t, users .. "c1200 c1700", nil, nil, {
      { op = "summarize", entries = { 17, 18 }, target = 360 },
    })
    check(t, users .. "c1200 u20! c1700", nil, nil, {
      { op = "summarize", entries = { 2, 17, 18 }, target = 435 },
    })
  end,

  test_older_ones_are_folded_where_the_room_cannot_hold_them = function(t)
    check(t, ("u250 "):rep(20) .. "u20! a1700", nil, nil, {
      { op = "summarize_user", entries = { 2, 3, 4, 5, 6, 7 }, target = 450 },
    })
    -- It is not worth it where the next one would be due at once.
    check(t, ("u250 "):rep(17) .. "u20! a1700", nil, nil, {})
    check(t, ("u50 "):rep(25) .. "c3000 u20! a1700", nil, nil, { { op = "summarize" } })
  end,

  --- A person whose answer leaves is told in a line what it was, so that roles go on to alternate: in a
  --- sentence of the answer, as it stands there, or not at all.
  test_a_line_stands_for_an_answer_that_leaves = function(t)
    local job = job_of(t, "u100 c500 a1500 u100 a900 u100! a500")
    local function line(answer)
      local said = {}
      for place = 1, job.entries.count do
        said[place] = answer
      end
      job.entries.text = said
      local ops = t.hook("plan", job).ops
      t.eq({ ops[1].op, ops[1].entries }, { "summarize", { 3, 4, 5 } })
      t.eq({ #ops, ops[2].op, ops[2].after, ops[2].role }, { 2, "insert", 2, "assistant" })
      return ops[2].text
    end
    local answered = "I answered that."
    for answer, expected in pairs({
      ["Sure, let me look.\n\n**It cannot parse** `null` there [1]. I went on."] = "It cannot parse null there .",
      ["**Do not merge.** The branch looks fine otherwise."] = "Do not merge. The branch looks fine otherwise.",
      ["Not yet. We can drop it once all have moved."] = "Not yet. We can drop it once all have moved.",
      ["The first run failed with a timeout. I fixed it, and all tests pass."] = "I fixed it, and all tests pass.",
      ["Let me check whether the build fails. All 120 tests pass."] = "All 120 tests pass.",
      ["It worked at first. Then the deploy failed on staging."] = "Then the deploy failed on staging.",
      ["The bug is in `__init__.py`: it breaks when n < 0 or arr[0] is None."] = answered,
      ["As said in e12, see 613b92bc for all of the rest."] = answered,
      ["<thinking>a secret plan here</thinking>The answer is forty two."] = "The answer is forty two.",
      ["| a | b |\n| 1 | 2 |\nThe second row counts here."] = "The second row counts here.",
    }) do
      t.eq(line(answer), expected, answer)
    end
    -- What a summary holds is not known when it is planned, so the line does not depend on one.
    local said = {}
    for place = 1, job.entries.count do
      said[place] = "See `__init__.py` and arr[0] there."
    end
    job.entries.text = said
    local ops = t.hook("plan", job, { compression_strategy = "truncate" }).ops
    t.eq({ #ops, ops[1].op, ops[2].text }, { 2, "drop", answered })
    -- Work without a word.
    for place = 1, job.entries.count do
      said[place] = "```\n1\n```"
    end
    ops = t.hook("plan", job).ops
    t.eq({ #ops, ops[2].text }, { 2, "I worked on that." })
  end,

  test_who_compresses_earlier_gets_more_room = function(t)
    local job = job_of(t, ("u150 "):rep(20) .. "u20! a250")
    local function folds()
      for _, op in ipairs(t.hook("plan", job).ops) do
        if op.op == "summarize_user" then
          return true
        end
      end
      return false
    end
    t.eq(folds(), false)
    job.budgets.soft = math.floor(job.budgets.soft * 0.7)
    t.eq(folds(), true)
  end,

  test_class_1_starts_over = function(t)
    check(t, "u100! c3000 c1500", nil, { model = { size = 4096, limit = 3481 } }, {
      { op = "rollover", target = 400 },
    })
  end,

  test_an_emergency_needs_enough = function(t)
    check(t, "u100! c3000 c3000", nil, { cause = "hard" }, { { op = "summarize" } })
    check(t, "u5000! u200! a900", nil, { cause = "hard" }, { { op = "fit" } })
  end,

  --- Of 6800, 95 % are 6460. A checkpoint of 840 would leave 6540; one of 400 leaves 6100. Where the
  --- recent part is large, it leaves as well.
  test_an_emergency_goes_as_far_as_it_must = function(t)
    local users = ("u280 "):rep(15)
    check(t, "c2800 " .. users .. "a1000", nil, { cause = "hard" }, {
      { op = "summarize", entries = { 2, 3 }, target = 400 },
    })
    check(t, "c900 " .. users .. "c800 c700 a60", nil, { cause = "hard" }, {
      { op = "summarize", entries = { 2, 3, 19, 20, 21, 22 }, target = 720 },
    })
  end,

  --- 500, 15 × 370, 60 and 360 are 6470; 15 × 410 would be 600 more, so that the oldest leave, as many
  --- as it takes.
  test_the_oldest_of_the_newest_15_are_folded_where_the_window_cannot_hold_them = function(t)
    local function talk(tokens)
      return "c1200 " .. ("u" .. tokens .. " "):rep(15) .. "a60"
    end
    check(t, talk(370), nil, { cause = "hard" }, {
      { op = "summarize", entries = { 2, 3 }, target = 360 },
    })
    check(t, talk(410), nil, { cause = "hard" }, {
      { op = "summarize", entries = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 } },
    })
  end,

  --- Beside 15 messages of 300 a compression of 900 frees less than a fifth of 6160. Once it may; behind
  --- a checkpoint the oldest of the messages leave.
  test_no_compression_after_the_other_frees_next_to_nothing = function(t)
    local users = ("u300 "):rep(15)
    check(t, users .. "c900 a60", nil, nil, {
      { op = "summarize", entries = { 17, 18 }, target = 270 },
    })
    local job = job_of(t, users .. "c900 a60", { { 3, 0, 700 } })
    local ops = t.hook("plan", job).ops
    t.eq({ ops[1].op, ops[1].entries[1] }, { "summarize_user", 2 })
    t.ok(#ops[1].entries < 12, #ops[1].entries)
  end,

  test_it_starts_over_where_the_newest_message_has_no_room = function(t)
    local ops = t.hook("plan", job_of(t, "c1200 u6500", nil, { cause = "hard" })).ops
    t.eq({ #ops, ops[1].op, ops[1].target, ops[2].op }, { 2, "rollover", 400, "warn" })
    for _, words in ipairs({ "starts over", "7,360 tokens", "the limit is 6,800" }) do
      t.ok(ops[2].text:find(words, 1, true), words)
    end
  end,

  --- So the host says that a budget was set: nothing is done before it is reached.
  test_a_budget_is_filled = function(t)
    local job = job_of(t, "u5000 u200! a1300", nil, { cause = "hard" })
    job.budgets.soft = job.budgets.hard
    t.eq(t.hook("plan", job).ops, { { op = "fit" } })
  end,

  test_a_restore_point_is_made_first = function(t)
    local function snapshot(total, cause, options)
      local job = job_of(t, "u100! c" .. total - 700 .. " a100", nil, { cause = cause })
      return t.hook("plan", job, options).snapshot
    end
    t.eq(snapshot(5440, "soft"), true)
    t.eq(snapshot(5439, "soft"), false)
    t.eq(snapshot(2000, "manual"), true)
    t.eq(snapshot(6000, "soft", { snapshots_auto = false }), false)
  end,
}
