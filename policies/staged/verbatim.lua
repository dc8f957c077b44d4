--- What stands word for word, whatever becomes of the rest (RULES 29): code in the modes
--- `developer` and `debugger`, goals in `planning`, errors in `debugger`, decisions in every mode.
---
--- Where a model writes a summary, what it left out of this is added to it. Exchanges that hold
--- some of it, and are small, stay in their place: so the mode has its say where no model writes.
local share = require("numbers").share

local verbatim = {}

--- Which kinds a mode keeps, the first of them first; decisions come before all.
local KEPT = {
  developer = { "code" },
  planning = { "goals" },
  debugger = { "errors", "code" },
}

--- How each kind is found. `said`: only in what a person or the model said.
local KINDS = {
  decisions = {
    said = true,
    patterns = {
      "(?im)^[-*\\s]*(\\[DECISION\\] .+|(?:decision|decided|entscheidung): .+)$",
      "(?i)\\b((?:we|i)(?:['’]ve| have)? (?:decided|agreed|settled) [^.!?\\n]+[.!?]?)",
    },
  },
  goals = {
    said = true,
    patterns = { "(?im)^[-*\\s]*(\\[GOAL\\] .+|(?:goal|ziel): .+)$" },
  },
  errors = {
    patterns = {
      "(?m)^[^\\n]*(?:\\b[Ee]rror\\b|ERROR|FATAL|FAILED|panicked|Exception|Traceback)[^\\n]*$",
    },
  },
  code = { said = true, is_block = true, patterns = { "(?ms)^```[^\\n]*\\n.*?^```" } },
}

--- How many matches of a pattern are looked at in a message, and how long a line may be.
local MOST, LONGEST = 40, 400

--- The kinds that a mode keeps.
---@param mode string|nil
---@return string[]
local function kinds(mode)
  local all = { "decisions" }
  for _, kind in ipairs(KEPT[mode] or {}) do
    all[#all + 1] = kind
  end
  return all
end

--- What a message holds of a kind.
---@param kind table
---@param text string
---@param speaker string
---@return string[]
local function found(kind, text, speaker)
  local texts = {}
  if kind.said and speaker ~= "human" and speaker ~= "model" then
    return texts
  end
  for _, pattern in ipairs(kind.patterns) do
    for _, one in ipairs(ep.re.all(pattern, text, MOST)) do
      if kind.is_block or #one <= LONGEST then
        texts[#texts + 1] = kind.is_block and one or (one:gsub("^%s+", ""):gsub("%s+$", ""))
      end
    end
  end
  return texts
end

--- Something that has to stand as it was said.
---@class Verbatim
---@field text string
---@field is_block boolean whether it is code, which comes last

--- What of these messages has to stand word for word, in the order in which it claims its room:
--- lines before code, and of each kind the newest first.
---@param covered Covered
---@param mode string|nil
---@return Verbatim[]
function verbatim.of(covered, mode)
  local all, seen = {}, {}
  for _, name in ipairs(kinds(mode)) do
    local kind = KINDS[name]
    for place = covered.count, 1, -1 do
      for _, text in ipairs(found(kind, covered:text(place) or "", covered.speaker[place])) do
        if not seen[text] then
          seen[text] = true
          all[#all + 1] = { text = text, is_block = kind.is_block or false }
        end
      end
    end
  end
  return all
end

--- What these take in all, in tokens.
---@param pieces Verbatim[]
---@return integer
function verbatim.size(pieces)
  local size = 0
  for _, one in ipairs(pieces) do
    size = size + ep.count(one.text) + 1
  end
  return size
end

--- Whether a message holds something that has to stand word for word.
---@param text string
---@param speaker string
---@param mode string|nil
---@return boolean
local function holds(text, speaker, mode)
  for _, name in ipairs(kinds(mode)) do
    if #found(KINDS[name], text, speaker) > 0 then
      return true
    end
  end
  return false
end

--- The exchanges that stay in their place for what they hold: the newest, as far as their room
--- goes.
---@param job PlanJob
---@param work Exchange[]
---@return table<integer, boolean> by number
function verbatim.staying(job, work)
  local entries, stays = job.entries, {}
  local room = share(job.model.limit, job.options.verbatim_share)
  for at = #work, 1, -1 do
    local one = work[at]
    for _, place in ipairs(one.tokens <= room and one.places or {}) do
      local text = entries:text(place) or ""
      if not stays[one.number] and holds(text, entries.speaker[place], job.mode) then
        stays[one.number], room = true, room - one.tokens
      end
    end
  end
  return stays
end

return verbatim
