--- The second stage: what stays of the arguments of calls that wrote or edited files (RULES 47).
---
--- Only what is on disk as it was written is truncated: then nothing is lost but a copy.
local calls = require("calls")
local templates = require("templates")
local texts = require("texts")

local truncation = {}

--- What the other arguments of a truncated call take, and what frames it, in tokens.
local FRAME = 40

--- The most characters of what was written that an account quotes.
local QUOTED = 60

--- A call that wrote or edited a file, in its message.
---@class Writing
---@field place integer
---@field input Input

--- The large calls among the first messages that are still in the prompt, the oldest first.
---@param job PlanJob
---@param last integer the last of these messages
---@return Writing[]
function truncation.large(job, last)
  local entries, found = job.entries, {}
  for place = 1, last do
    if entries.sent[place] > 0 and not entries.pinned[place] then
      for _, input in ipairs(entries.inputs[place] or {}) do
        if input.tokens > job.options.truncate_above then
          found[#found + 1] = { place = place, input = input }
        end
      end
    end
  end
  return found
end

--- The longest text among values, however deep.
---@param value any
---@return string
local function longest(value)
  if type(value) ~= "table" then
    return type(value) == "string" and value or ""
  end
  local best = ""
  for _, inner in pairs(value) do
    local text = longest(inner)
    if #text > #best or #text == #best and text < best then
      best = text
    end
  end
  return best
end

--- What was written, in a line: how long it is, and how it begins.
---@param job PlanJob
---@param one Writing
---@return string
local function account(job, one)
  local entries = job.entries
  local text, names = entries:text(one.place) or "", entries.names[one.place]
  local arguments = calls.arguments(text, names, one.input.call)
  local written = longest(arguments and ep.json.decode(arguments))
  local first = ep.re.match("(?m)^\\s*(\\S.*?)\\s*$", written)
  if not first then
    return ep.prompt("truncated-unread"):gsub("%s+$", "")
  end
  local _, breaks = written:gsub("\n", "")
  local lines = written:sub(-1) == "\n" and breaks or breaks + 1
  return templates.fill("truncated-account", {
    lines = lines,
    first = texts.clipped(first, QUOTED),
  })
end

--- What stands in the place of what was written.
---@param job PlanJob
---@param one Writing
---@return string
function truncation.text(job, one)
  local input = one.input
  return templates.fill("truncated", {
    tool = input.tool,
    tokens = input.tokens,
    path = input.path,
    account = account(job, one),
    status = input.ok and "succeeded" or "no success was reported",
  })
end

--- Orders for the large calls of which what they wrote is on disk as written, where it is shorter.
---@param job PlanJob
---@param last integer
---@return Step[]
function truncation.of(job, last)
  local steps = {}
  for _, one in ipairs(truncation.large(job, last)) do
    local text = one.input.persisted and truncation.text(job, one) or nil
    local saved = text and one.input.tokens - ep.count(text) - FRAME or 0
    if text and saved > 0 then
      steps[#steps + 1] = { place = one.place, saved = saved, op = {
        op = "replace",
        entry = one.place,
        how = "truncate_input",
        call = one.input.call,
        text = text,
      } }
    end
  end
  return steps
end

return truncation
