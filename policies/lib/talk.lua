--- The talk: the exchanges of a conversation, and whose they are. Used by all who keep a part of it.
---
--- An exchange stays or leaves whole, so one in which a person wrote counts as a person's.
local talk = {}

--- An exchange that stands in the prompt in its own place.
---@class Exchange
---@field number integer
---@field places integer[]
---@field tokens integer
---@field pinned boolean
---@field person boolean

--- The exchanges of the conversation, oldest first, without what left earlier and system prompts.
---@param entries Columns
---@return Exchange[]
function talk.exchanges(entries)
  local all, one = {}, nil
  for place = 1, entries.count do
    if entries.sent[place] > 0 and entries.role[place] ~= "system" then
      if not one or one.number ~= entries.exchange[place] then
        one = { number = entries.exchange[place], places = {}, tokens = 0, pinned = false }
        all[#all + 1] = one
      end
      one.places[#one.places + 1] = place
      one.tokens = one.tokens + entries.sent[place]
      one.pinned = one.pinned or entries.pinned[place]
      local typed = entries.role[place] == "user" and entries.speaker[place] == "human"
      one.person = one.person or typed
    end
  end
  return all
end

--- The message of a person that the one at a place answers: the one right before it.
---@param entries Columns
---@param place integer
---@return integer|nil
function talk.question(entries, place)
  local before = place - 1
  local is_asked = before > 0 and entries.role[before] == "user" and entries.speaker[before] == "human"
  return is_asked and entries.role[place] == "assistant" and before or nil
end

--- The places of exchanges, in order, and the tokens that they take.
---@param list Exchange[]
---@return integer[] places, integer tokens
function talk.places(list)
  local places, tokens = {}, 0
  for _, one in ipairs(list) do
    tokens = tokens + one.tokens
    for _, place in ipairs(one.places) do
      places[#places + 1] = place
    end
  end
  return places, tokens
end

--- A list of exchanges with the first so many of another, in the order of the conversation.
---@param list Exchange[]
---@param others Exchange[]
---@param count integer
---@return Exchange[]
function talk.joined(list, others, count)
  local all = {}
  for _, one in ipairs(list) do
    all[#all + 1] = one
  end
  for at = 1, count do
    all[#all + 1] = others[at]
  end
  table.sort(all, function(left, right)
    return left.number < right.number
  end)
  return all
end

return talk
