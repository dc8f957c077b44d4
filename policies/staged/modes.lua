--- Modes: what there is to say where somebody asked for one that has no text (RULES 29).
local modes = {}

--- The mode where none was asked for, or one that has no text.
modes.USUAL = "assistant"

--- The modes that are shipped; a team adds its own with a text in `prompts`.
local SHIPPED = { "developer", "planning", "debugger", "assistant", "user" }

--- The most letters in which a slip differs from the name that was meant.
local SLIP = 3

--- Whether there is a text for a mode.
---@param mode string
---@return boolean
local function is_known(mode)
  return (pcall(ep.prompt, "mode-" .. mode))
end

--- In how many letters two names differ: left out, put in, or another one.
---@param one string
---@param other string
---@return integer
local function distance(one, other)
  local row = {}
  for at = 0, #other do
    row[at] = at
  end
  for at = 1, #one do
    local before = row[0]
    row[0] = at
    for to = 1, #other do
      local same = one:byte(at) == other:byte(to)
      before, row[to] = row[to], math.min(row[to] + 1, row[to - 1] + 1, before + (same and 0 or 1))
    end
  end
  return row[#other]
end

--- The shipped mode that is spelled most like this one, if any is.
---@param mode string
---@return string|nil
local function nearest(mode)
  local found, least = nil, SLIP + 1
  for _, name in ipairs(SHIPPED) do
    local far = distance(mode:lower(), name)
    if far < least then
      found, least = name, far
    end
  end
  return found
end

--- The warning that goes with the first compression in a mode that has no text.
---@param job PlanJob
---@return Order|nil
function modes.warning(job)
  local mode, memo = job.mode, job.memo
  if not mode or memo.unknown_mode == mode or is_known(mode) then
    return nil
  end
  memo.unknown_mode = mode
  local meant = nearest(mode)
  local there = meant and "the nearest is `" .. meant .. "`"
    or "there are `" .. table.concat(SHIPPED, "`, `") .. "`"
  return {
    op = "warn",
    text = string.format(
      "There is no mode `%s`; %s. Summaries dwell on what the mode `%s` says.",
      mode,
      there,
      modes.USUAL
    ),
  }
end

return modes
