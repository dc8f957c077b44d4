--- The five stop hooks are declared, and what declares them serves for others (RULES 53).
local stopping = require("stopping")
local stops = require("stops")

--- What stop hooks of one place make of an answer, and what is said.
local function through(list, answer)
  return stopping.through(list, "plan", {}, answer or {})
end

local function fails(says)
  return { says = says, holds = function() return false end }
end

local function stop(more)
  local all = { id = "T-1", level = "SOFT", at = "plan", when = function() return true end }
  all.act = function(_, answer)
    return { (answer[1] or "") .. "act" }
  end
  all.fallback = function(_, answer, failed)
    return { (answer[1] or "") .. "fallback:" .. failed }
  end
  for key, value in pairs(more or {}) do
    all[key] = value
  end
  return all
end

return {
  test_the_five = function(t)
    local all = {}
    for at, one in ipairs(stops) do
      all[at] = one.id .. " " .. one.level .. " " .. one.at
    end
    t.eq(all, {
      "CTX-001 SOFT tool_result", "CTX-002 GATE plan", "CTX-003 GATE plan", "CTX-004 SOFT observe",
      "CTX-005 HARD plan",
    })
  end,

  -- "SOFT (warn and go on), GATE (checks decide the way on or the fallback), HARD (act at once)"
  test_levels = function(t)
    local answer, said = through({ stop() })
    t.eq({ answer, said }, { { "act" }, {} })
    answer, said = through({ stop({ checks = { fails("it is so") } }) })
    t.eq(answer, { "fallback:it is so" })
    t.eq(said, { { level = "soft", text = "T-1: it is so" } })
    answer, said = through({ stop({ level = "GATE", checks = { fails("it is so") } }) })
    t.eq({ answer, said }, { { "fallback:it is so" }, {} })
    answer, said = through({ stop({ level = "HARD", checks = { fails("it is so") } }) })
    t.eq({ answer, said }, { { "act" }, {} })
  end,

  test_one_that_is_hard_goes_first_and_ends_it = function(t)
    t.eq(through({ stop(), stop({ level = "HARD" }), stop() }), { "act" })
    t.eq(through({ stop(), stop() }), { "actact" })
    t.eq(through({ stop({ at = "observe" }) }, { "as it was" }), { "as it was" })
    local never = stop({ when = function() return false end })
    t.eq(through({ never }, { "as it was" }), { "as it was" })
  end,

  test_what_is_said_can_be_worded = function(t)
    local function said(more)
      more.checks = { fails("it is so") }
      return select(2, through({ stop(more) }))
    end
    local function warn(_, failed)
      return "look: " .. failed
    end
    local text = "T-1: look: it is so"
    t.eq(said({ warn = warn }), { { level = "soft", text = text } })
    t.eq(said({ level = "GATE", warn = warn }), { { level = "gate", text = text } })
    t.eq(said({ warn = false }), {})
  end,

  --- A policy of a team gets the hooks that its stop hooks need, and no others.
  test_a_team_adds_its_own = function(t)
    local team = stopping.add({ extends = "tiered" }, { stop(), stop({ at = "tool_result" }) })
    t.eq({ team.plan ~= nil, team.tool_result ~= nil, team.observe ~= nil }, { true, true, true })
    team = stopping.add({ extends = "tiered" }, { stop({ at = "observe" }) })
    t.eq({ team.plan ~= nil, team.tool_result ~= nil, team.observe ~= nil }, { false, false, true })
  end,
}
