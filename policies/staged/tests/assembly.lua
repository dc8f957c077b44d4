--- The system prompt, where it is Epitome's to make (RULES 33, 25, 56).

--- The parts under a class, by name, and their names in order.
local function parts(t, class, mode, makings, options)
  local sizes = { 4096, 8192, 16384, 32768, 65536 }
  local job = {
    part = "system",
    mode = mode,
    model = { size = sizes[class], limit = sizes[class] },
    system = makings or { goal = "", augments = {}, tools = {} },
  }
  local answer = t.hook("render", job, options)
  local byname, names = {}, {}
  for at, part in ipairs(answer and answer.parts or {}) do
    byname[part.name], names[at] = part.text, part.name
  end
  return byname, names
end

local FULL = {
  goal = "Goal: Ship the parser (high).",
  augments = {
    { name = "rust/style", title = "Style", text = "No unwrap." },
    { name = "rust/tests", title = "Tests", text = "One for each rule." },
  },
  tools = { "read_file", "run%s" },
  instructions = "Answer in English.",
}

return {
  -- RULES 33: core mandates, active goal, skills and augments, sanity checks, tool notes, the
  -- team's own instructions.
  test_the_parts_stand_in_their_order = function(t)
    local texts, names = parts(t, 3, "developer", FULL)
    t.eq(names, { "core", "goal", "augments", "sanity", "tools", "instructions" })
    t.eq(texts.goal:sub(1, #FULL.goal), FULL.goal)
    t.eq(texts.augments, "## Style\n\nNo unwrap.\n\n## Tests\n\nOne for each rule.")
    t.ok(texts.tools:find("read_file, run%s", 1, true), texts.tools)
    t.eq(texts.instructions, "Answer in English.")
  end,

  test_sanity_checks_are_for_classes_1_and_2 = function(t)
    for class = 1, 5 do
      t.eq(parts(t, class).sanity ~= "", class <= 2, class)
    end
  end,

  test_mode_and_class_make_the_core = function(t)
    for _, mode in ipairs({ "developer", "planning", "debugger", "assistant", "user" }) do
      for class = 2, 5 do
        local core = parts(t, class, mode).core
        t.eq(core, ep.prompt("system-class-" .. class):gsub("%s+$", "")
          .. "\n\n" .. ep.prompt("system-" .. mode):gsub("%s+$", ""))
      end
      -- A text for both takes their place.
      t.eq(parts(t, 1, mode).core, (ep.prompt("system-" .. mode .. "-1"):gsub("%s+$", "")))
    end
    t.eq(parts(t, 3).core, parts(t, 3, "assistant").core)
    t.eq(parts(t, 3, "no-such-mode").core, parts(t, 3, "assistant").core)
  end,

  -- RULES 56: the markers are explained in a few lines, unless that is turned off.
  test_markers_are_explained = function(t)
    local goal = parts(t, 3).goal
    for _, marker in ipairs({ "[GOAL]", "[CHECKPOINT]", "[DECISION]", "[ARTIFACT]", "[NEXT]" }) do
      t.ok(goal:find(marker, 1, true), marker)
    end
    t.eq(parts(t, 3, nil, nil, { goals_teach = false }).goal, "")
    t.eq(parts(t, 3, nil, FULL, { goals_teach = false }).goal, FULL.goal)
  end,

  test_without_tools_nothing_is_said_of_them = function(t)
    t.eq(parts(t, 3).tools, "")
  end,

  -- RULES 25: 200, 500, 1000, 1500 tokens.
  test_what_is_shipped_leaves_room_in_every_class = function(t)
    local tools = { goal = "", augments = {}, tools = { "read_file", "write_file", "run" } }
    for class, most in ipairs({ 130, 350, 500, 600, 600 }) do
      for _, mode in ipairs({ "developer", "planning", "debugger", "assistant", "user" }) do
        local size = 0
        for _, text in pairs((parts(t, class, mode, tools))) do
          size = size + ep.count(text)
        end
        t.ok(size <= most, string.format("class %d, %s: %d", class, mode, size))
      end
    end
  end,

  test_it_can_be_left_to_the_host = function(t)
    t.eq(select(2, parts(t, 3, nil, FULL, { system_prompt = false })), {})
    t.eq(t.hook("render", { part = "placeholder" }), nil)
    t.eq(t.hook("render", { part = "checkpoint" }), nil)
  end,
}
