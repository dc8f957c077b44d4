--- What: everything but what is protected and the latest three messages, in one pass (RULES 42).
local talk = require("tests.support.talk")

--- The operations under a limit, each as `{ op, its messages, target }`, a line as `{ op, the message before
--- it, text }`.
local function ops_of(t, job, options)
  local ops = {}
  for at, op in ipairs(t.hook("plan", job, options).ops) do
    ops[at] = { op.op, op.entries or { op.entry or op.after }, op.target or op.text }
  end
  return ops
end

local function check(t, words, limit, more, expected)
  t.eq(ops_of(t, talk.job(t, words, limit, more), more and more.options), expected)
end

return {
  -- "in one pass, everything but ... and the latest 3 messages"
  test_everything_but_the_latest_three_messages = function(t)
    check(t, "u400 a800 x1200 a800 u300 a400 u100!", 8000, nil, {
      { "summarize", { 2, 3, 4, 5, 6 }, 800 },
    })
    check(t, "u400 a800 x1200 a800 u300 a400 u100!", 8000, { options = { keep_messages = 1 } }, {
      { "summarize", { 2, 3, 4, 5, 6, 7, 8 }, 975 },
    })
  end,

  --- Behind another question the first of the latest would be read as the answer to that.
  test_an_answer_stays_with_its_question = function(t)
    check(t, "u400 a800 x1200 a800 u300 a400 u100!", 8000, { options = { keep_messages = 2 } }, {
      { "summarize", { 2, 3, 4, 5, 6 }, 800 },
    })
  end,

  --- The first of the latest three is a result: its call stays with it (RULES 4).
  test_exchanges_stay_whole = function(t)
    check(t, "u400 a2400 x1000 a400 u100!", 8000, nil, { { "summarize", { 2, 3 }, 700 } })
  end,

  --- The one before stood for messages 2 and 3 in 300 tokens; the new one stands for all.
  test_a_summary_takes_the_one_before_into_itself = function(t)
    check(t, "u400* a800* a900 x1800 u100 a200 u100!", 6000, { checkpoint = 300 }, {
      { "summarize", { 2, 3, 4, 5, 6 }, 750 },
    })
  end,

  test_a_summary_alone_is_not_written_anew = function(t)
    check(t, "u400* a800* u100 a200 u100!", 1000, { checkpoint = 300, cause = "manual" }, {})
  end,

  -- "constraints and requirements given by the user", "personas"
  test_what_the_user_demands_stays = function(t)
    local function covers(texts, options)
      local job = talk.job(t, "u50 u50 a900 u50 a900 u50 a100 u100!", 4000, { texts = texts })
      return ops_of(t, job, options)[1][2]
    end
    t.eq(covers({}), { 2, 3, 4, 5, 6 })
    t.eq(covers({ [3] = "Never touch the public API." }), { 2, 4, 5, 6 })
    t.eq(covers({ [5] = "Requirements: it has to run offline." }), { 2, 3, 4, 6 })
    t.eq(covers({ [2] = "You are a careful reviewer.", [5] = "Please don't push." }), { 3, 4, 6 })
    t.eq(covers({ [3] = "Die Schnittstelle darf nicht brechen." }), { 2, 4, 5, 6 })
    -- Nobody but the user gives any.
    t.eq(covers({ [4] = "You must never do that." }), { 2, 3, 4, 5, 6 })
    t.eq(covers({ [3] = "Keep it blue." }, { protect = { "(?i)^keep" } }), { 2, 4, 5, 6 })
  end,

  --- 20 % of 4000 are 800: the task has them first, then the newest, and the rest goes into the
  --- summary.
  test_demands_have_their_share = function(t)
    -- What a line takes, whatever a token is.
    local line = ep.count("a says 3") + 4
    local texts = { [2] = "It must be fast.", [4] = "And must be small.", [5] = "And must fit." }
    check(t, "u400 a900 u300 u300 a900 u50 a100 u100!", 5000, { texts = texts }, {
      { "summarize", { 3, 6 }, 400 - 2 * line },
      { "insert", { 2 }, "a says 3" },
      { "insert", { 5 }, "a says 6" },
    })
    check(t, "u400 a900 u300 u300 a900 u50 a100 u100!", 4000, { texts = texts }, {
      { "summarize", { 3, 4, 6 }, 350 - 2 * line },
      { "insert", { 2 }, "a says 3" },
      { "insert", { 5 }, "a says 6" },
    })
    check(t, "u900 a900 u300 u300 a900 u50 a100 u100!", 4000, { texts = texts }, {
      { "summarize", { 2, 3, 6 }, 450 - line },
      { "insert", { 5 }, "a says 6" },
    })
  end,

  test_pins_and_system_prompts_stay = function(t)
    check(t, "u400 a800! x1200! a800 u300 a400 u100!", 10000, { cause = "manual" }, {
      { "summarize", { 2, 6 }, 300 },
    })
  end,

  --- Nor do samples crowd out the talk: they leave without a word, unless one stands beside them.
  test_rows_of_queries_are_not_summed_up = function(t)
    local call, rows = 'run_sql({"query": "sales"})', "1,000 rows; some of them, by their number:\n1: n"
    local function ops(texts)
      local job = talk.job(t, "u400 x800 a1200 x800 u100 a100 u100!", 6000, { texts = texts })
      return ops_of(t, job)
    end
    t.eq(ops({ [3] = call, [4] = rows }), {
      { "summarize", { 2, 5, 6, 7 }, 600 }, { "drop", { 3, 4 } },
    })
    t.eq(ops({ [3] = "I look.\n" .. call, [4] = rows })[1][2], { 2, 3, 4, 5, 6, 7 })
    t.eq(ops({ [3] = call, [4] = "ERROR: no such table" })[1][2], { 2, 3, 4, 5, 6, 7 })
  end,

  --- What stands for a message that was pinned since is not taken apart.
  test_a_summary_of_something_pinned_stays = function(t)
    check(t, "u400* a800!* a900 x1800 u100 a200 u100!", 6000, { checkpoint = 300 }, {
      { "summarize", { 4, 5, 6 }, 675 },
    })
  end,

  test_what_is_not_worth_it_is_left_alone = function(t)
    check(t, "u150 x3000 a800 u100!", 8000, nil, {})
  end,

  --- 35 % of 8000 are 2800, and 2300 stay.
  test_a_summary_gives_way_to_what_stays = function(t)
    check(t, "a4000 u1000 a1000 u200!", 8000, nil, { { "summarize", { 2 }, 500 } })
  end,

  test_a_budget_that_was_set_is_filled = function(t)
    local more = { is_set = true, cause = "hard" }
    check(t, "u400 a3800 u400 a1400 u300 a400 u100!", 4000, more, {
      { "summarize", { 2, 3, 4, 5 }, 3100 },
    })
    more = { is_set = true, cause = "hard" }
    check(t, "u400 a800 u300 a4000 u100!", 4000, more, { { "fit", {} } })
  end,

  -- "key decisions, unresolved issues and current task state"
  test_a_model_is_asked_for_what_a_summary_keeps = function(t)
    local prompt = t.hook("summary_prompt", { op = "summarize", max_tokens = 300, memo = {} })
    t.eq(prompt.sections, { "Key decisions", "Unresolved issues", "Current state" })
    t.eq(prompt.max_tokens, 300)
    for _, heading in ipairs(prompt.sections) do
      t.ok(prompt.user:find("\n" .. heading .. "\n", 1, true), heading)
    end
    t.ok(prompt.user:find("{must_keep}", 1, true) and prompt.user:find("{conversation}", 1, true))
  end,

  -- "begins `[SUMMARY]: ` and stands first"
  test_a_summary_begins_with_its_word_and_stands_first = function(t)
    for _, job in ipairs({ {}, { in_store = true }, { in_store = true, in_files = true } }) do
      job.part = "checkpoint"
      local rendered = t.hook("render", job)
      t.eq({ rendered.text:sub(1, 11), rendered.place }, { "[SUMMARY]: ", "front" })
    end
    t.ok(t.hook("render", { part = "checkpoint", in_store = true }).text:find("recall {id}", 1, true))
    t.eq(t.hook("render", { part = "placeholder" }), nil)
  end,
}
