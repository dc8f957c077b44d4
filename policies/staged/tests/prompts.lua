--- How a model is asked for a summary, and what is made of its answer (RULES 29, 22, 25).
local talk = require("tests.support.talk")

--- What a model is told for the summary of a level, in a window of this size.
local function ask(t, level, mode, more)
  local job = {
    op = "summarize",
    mode = mode,
    level = level,
    covered = talk.covered({}),
    max_tokens = 780,
    model = { size = 16384, limit = 13926 },
    memo = {},
  }
  local options = nil
  for key, value in pairs(more or {}) do
    if key == "options" then
      options = value
    else
      job[key] = value
    end
  end
  return t.hook("summary_prompt", job, options), job.memo
end

--- Whether all these words stand in a text.
local function has(t, text, words)
  for _, word in ipairs(words) do
    t.ok(text:lower():find(word, 1, true), word .. " in " .. text)
  end
end

local FOCUS = {
  developer = { "code", "path", "technical decision", "error", "debug", "implementation" },
  planning = { "goal", "architecture", "trade-off", "next step" },
  debugger = { "symptom", "stack trace", "step", "root cause", "attempted" },
  assistant = { "key decision", "important context", "prefer", "flow" },
}

local VERBATIM = {
  developer = "keep code that is still needed word for word",
  planning = "keep goals word for word",
  debugger = "keep error messages and the code in which the fault lies word for word",
}

return {
  test_a_mode_says_what_a_summary_dwells_on = function(t)
    for mode, words in pairs(FOCUS) do
      local system = ask(t, 3, mode).system
      has(t, system, words)
      for other, line in pairs(VERBATIM) do
        t.eq(system:lower():find(line, 1, true) ~= nil, other == mode, mode .. ": " .. line)
      end
    end
  end,

  test_decisions_stand_word_for_word_at_every_level = function(t)
    for level = 0, 3 do
      has(t, ask(t, level).system, { "decision", "word for word" })
    end
  end,

  -- The base text of the level plus the focus of the mode.
  test_base_and_focus_are_put_together = function(t)
    for level = 0, 3 do
      local expected = ep.prompt("level-" .. level):gsub("%s+$", "") .. "\n\n"
        .. ep.prompt("mode-planning"):gsub("%s+$", "") .. "\n\n{goals}"
      t.eq(ask(t, level, "planning").system, expected)
    end
    has(t, ep.prompt("level-3"), { "code", "technical detail" })
    has(t, ep.prompt("level-2"), { "main points", "by file and name" })
    has(t, ep.prompt("level-1"), { "critical", "no code" })
    has(t, ep.prompt("level-0"), { "essential context" })
  end,

  test_without_a_mode_it_is_the_assistants = function(t)
    local usual = ask(t, 3, "assistant").system
    t.eq(ask(t, 3).system, usual)
    t.eq(ask(t, 3, "no-such-mode").system, usual)
  end,

  -- A change of mode keeps all state: only the focus is another one.
  test_another_mode_in_mid_conversation = function(t)
    local first, memo = ask(t, 2, "planning")
    local second = ask(t, 2, "debugger", { memo = memo })
    for at, asked in pairs({ planning = first, debugger = second }) do
      has(t, asked.system, { ep.prompt("level-2"):lower():sub(1, -2), FOCUS[at][1] })
    end
    t.eq(memo, {})
  end,

  test_the_mode_user_has_the_teams_own_words = function(t)
    has(t, ask(t, 3, "user").system, { "in their words" })
    local system = ask(t, 3, "user", { options = { focus = "Recipes and weights." } }).system
    has(t, system, { "recipes and weights." })
    t.eq(system:find(ep.prompt("mode-user"), 1, true), nil)
  end,

  test_the_request_names_the_room_and_leaves_places_for_the_host = function(t)
    local asked = ask(t, 3)
    has(t, asked.user, { "780 tokens", "{conversation}", "{must_keep}" })
    t.eq(asked.max_tokens, 780)
    -- What has to stand word for word has room, too, up to a quarter.
    local line = "[DECISION] Use nom - LOCKED"
    local function wanted(text)
      local covered = talk.covered({ "model: " .. text })
      return tonumber(ask(t, 3, nil, { covered = covered }).user:match("(%d+) tokens"))
    end
    t.eq(wanted(line), 780 - ep.count(line) - 1)
    local lines = {}
    for at = 1, 40 do
      lines[at] = "[DECISION] Use library " .. at .. " - LOCKED"
    end
    t.eq(wanted(table.concat(lines, "\n")), 780 - 195)
  end,

  -- RULES 25: classes 4 and 5 want sections, decisions apart.
  test_large_classes_want_sections = function(t)
    local large = { model = { size = 32768, limit = 27852 } }
    local asked = ask(t, 1, nil, large)
    t.eq(asked.sections, { "## Decisions", "## State", "## Files", "## Next steps" })
    has(t, asked.user, { "## decisions" })
    t.eq(ask(t, 1).sections, nil)
    t.eq(ask(t, 0, nil, large).sections, nil)
    large.options = { class_strategy = false }
    t.eq(ask(t, 1, nil, large).sections, nil)
  end,

  -- RULES 56: an active goal steers what is kept; it stands behind level and mode.
  test_goals_have_their_place = function(t)
    t.ok(ask(t, 3).system:find("\n\n{goals}$"))
  end,

  test_what_a_summary_forgot_is_added_where_there_is_room = function(t)
    local function verify(facts, room, options)
      local list = {}
      for at, text in ipairs(facts) do
        local extracted = text:sub(1, 2) ~= "!!"
        list[at] = { text = text:gsub("^!+", ""), found = text:sub(1, 1) ~= "!", extracted = extracted }
      end
      local job = { candidate = "A summary.", must_keep = list, max_tokens = room }
      job.covered = talk.covered({})
      return t.hook("verify", job, options)
    end
    t.eq(verify({}, 100), true)
    t.eq(verify({ "a", "b" }, 100), true)
    t.eq(verify({ "a", "!src/b.rs", "!No new files." }, 100), {
      append = "- src/b.rs\n- No new files.",
    })
    -- One token less than the first of them needs.
    local room = ep.count("A summary.") + ep.count("- src/b.rs") + 1
    t.eq(verify({ "a", "!src/b.rs" }, room), true)
    t.eq(verify({ "a", "!src/b.rs" }, room + 1), { append = "- src/b.rs" })
    local reject = "it holds 1 of 3 facts, and without a model it would be 3"
    t.eq(verify({ "a", "!src/b.rs", "!src/c.rs" }, room).reject, reject)
    -- An extract would hold no more.
    t.eq(verify({ "a", "!!src/b.rs", "!!src/c.rs" }, room), true)
    t.eq(verify({ "a", "!src/b.rs", "!src/c.rs" }, room, { keep_facts = 0.3 }), true)
  end,
}
