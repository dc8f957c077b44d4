--- The intent: what a session is for, which is never lost (RULES 48, 54).
---
--- It is what a person said last that says more than to go on. That message, the one that opened
--- the conversation, and what else people said stay as they are while there is room for them.
local share = require("numbers").share

local intent = {}

--- The most words of a text that only says to go on.
local GO_ON = 3

--- Whether a text of a person says more than to go on.
---@param text string
---@return boolean
function intent.is_stated(text)
  local _, count = text:gsub("%S+", "")
  return count > GO_ON or #text > 60
end

--- Where it is said: the message that opens the conversation, and the newest that says something.
---@param entries Columns
---@return integer|nil first, integer|nil newest
function intent.places(entries)
  local first, newest = nil, nil
  for place = 1, entries.count do
    if entries.role[place] == "user" and entries.speaker[place] == "human" then
      first = first or place
      if intent.is_stated(entries:text(place) or "") then
        newest = place
      end
    end
  end
  return first, newest or first
end

--- What it is, in the person's words; empty where nobody said any.
---@param job PlanJob
---@return string
function intent.of(job)
  local _, newest = intent.places(job.entries)
  return newest and job.entries:text(newest) or ""
end

--- The messages that stay for it, as far as there is room: the newest that says something, the one
--- that opens the conversation, and what else people said, the newest first.
---@param job PlanJob
---@return table<integer, boolean>
function intent.kept(job)
  local entries, kept = job.entries, {}
  local room = share(job.model.limit, job.options.intent_share)
  local function keep(place)
    local tokens = entries.sent[place]
    if tokens > 0 and not kept[place] and not entries.tools[place] and tokens <= room then
      kept[place], room = true, room - tokens
    end
  end
  local first, newest = intent.places(entries)
  if newest then
    keep(newest)
    keep(first)
  end
  for place = entries.count, 1, -1 do
    if entries.role[place] == "user" and entries.speaker[place] == "human" then
      keep(place)
    end
  end
  return kept
end

return intent
