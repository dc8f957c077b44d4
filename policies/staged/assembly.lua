--- The system prompt, where it is Epitome's to make (RULES 33): core mandates, the active goal,
--- augments, sanity checks in classes 1 and 2, notes on tools, the team's own instructions.
---
--- All of it stands in `prompts`: `system-class-N` and `system-MODE` make the core mandates, and
--- `system-MODE-N` takes the place of both; so do `system-sanity-N` and its like of `system-sanity`.
local classes = require("classes")
local modes = require("modes")

local assembly = {}

--- The largest class whose models are told to look again before they answer.
local CHECKED = 2

--- The text of a prompt, where there is one.
---@param name string
---@return string|nil
local function text_of(name)
  local is_known, text = pcall(ep.prompt, name)
  return is_known and (text:gsub("%s+$", "")) or nil
end

--- The text of a part, for the class where it has one of its own.
---@param name string
---@param class integer
---@return string|nil
local function worded(name, class)
  return text_of(name .. "-" .. class) or text_of(name)
end

--- Texts that are there, an empty line between two.
---@param ... string|nil
---@return string
local function joined(...)
  local texts = {}
  for at = 1, select("#", ...) do
    local text = select(at, ...)
    if text and text ~= "" then
      texts[#texts + 1] = text
    end
  end
  return table.concat(texts, "\n\n")
end

--- What the model is there for, as mode and class say.
---@param mode string
---@param class integer
---@return string
local function core(mode, class)
  local own = text_of("system-" .. mode .. "-" .. class)
  return own or joined(
    text_of("system-class-" .. class),
    text_of("system-" .. mode) or text_of("system-" .. modes.USUAL)
  )
end

--- The active augments, each whole under its title.
---@param augments Loaded[]
---@return string
local function loaded(augments)
  local texts = {}
  for at, augment in ipairs(augments) do
    texts[at] = "## " .. augment.title .. "\n\n" .. augment.text
  end
  return table.concat(texts, "\n\n")
end

--- Notes on the tools that there are.
---@param tools string[]
---@param class integer
---@return string
local function notes(tools, class)
  if #tools == 0 then
    return ""
  end
  local names = table.concat(tools, ", "):gsub("%%", "%%%%")
  return (worded("system-tools", class) or ""):gsub("{tools}", names)
end

--- The parts, in their order; those that say nothing are left out by whoever asks.
---@param job RenderJob
---@return Section[]
function assembly.parts(job)
  local class, makings = classes.of(job).class, job.system
  local markers = job.options.goals_teach and worded("system-markers", class) or nil
  return {
    { name = "core", text = core(job.mode or modes.USUAL, class) },
    { name = "goal", text = joined(makings.goal, markers) },
    { name = "augments", text = loaded(makings.augments) },
    { name = "sanity", text = class <= CHECKED and worded("system-sanity", class) or "" },
    { name = "tools", text = notes(makings.tools, class) },
    { name = "instructions", text = makings.instructions or "" },
  }
end

return assembly
