--- How a model is asked for a checkpoint: by its level, in sections where the class wants them
--- (RULES 22, 25).

--- How the policies behind have it asked.
local function behind(style)
  local user = "Sum up:\n\n{conversation}\n\nNot to be lost:\n{must_keep}\n"
  return { style = style, user = user, max_tokens = 780 }
end

--- How a model is asked for a checkpoint of this level, in a window of this size.
local function ask(t, level, size, options, style)
  local model = { size = size, limit = math.floor(size * 0.85) }
  local job = { op = "age", level = level, max_tokens = 780, model = model }
  return t.hook("summary_prompt", job, options, behind(style or "extend"))
end

--- What each level keeps, and what it leaves to others.
local KEEPS = {
  [3] = { "key decisions", "code that is still needed", "technical detail" },
  [2] = { "main points", "code by file and function" },
  [1] = { "critical information", "no code" },
  [0] = { "essential context" },
}

return {
  test_each_level_says_what_it_keeps = function(t)
    for level, words in pairs(KEEPS) do
      for other = 0, 3 do
        local user = ask(t, other, 16384).user
        for _, word in ipairs(words) do
          t.eq(user:find(word, 1, true) ~= nil, other == level, word)
        end
      end
    end
  end,

  test_the_question_is_that_of_the_policies_behind = function(t)
    local prompt = ask(t, 3, 16384)
    t.eq({ prompt.style, prompt.max_tokens, prompt.sections }, { "extend", 780, nil })
    t.ok(prompt.user:find(behind().user, 1, true) == 1, prompt.user)
    t.eq(ask(t, 3, 65536, nil, "none"), behind("none"))
  end,

  test_a_structured_class_wants_sections = function(t)
    for size, is_structured in pairs({ [16384] = false, [16385] = true, [65536] = true }) do
      local prompt = ask(t, 3, size)
      t.eq(prompt.sections and prompt.sections[1], is_structured and "## Decisions" or nil)
      for _, heading in ipairs(prompt.sections or {}) do
        t.ok(prompt.user:find(heading, 1, true), heading)
      end
      t.eq(ask(t, 0, size).sections, nil)
      t.eq(ask(t, 3, size, { class_strategy = false }).sections, nil)
    end
  end,
}
