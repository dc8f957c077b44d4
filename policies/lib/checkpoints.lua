--- Checkpoints: what becomes of a conversation when exchanges leave (RULES 21, 22). Used by `ollm` and
--- `staged`.
---
--- One new checkpoint stands for them, a line for each answer among them, and older checkpoints make
--- room. Where they find too little, messages of people leave, too.
local accounts = require("accounts")
local ageing = require("ageing")
local sizes = require("sizes")
local talk = require("talk")

local checkpoints = {}

--- What may leave, and how large it all is.
---@class Old
---@field work Exchange[] what the model did
---@field asked Exchange[] what people wrote, as far as it may leave
---@field tokens integer of the whole talk, lines that stand for answers among it

--- How checkpoints are made.
---@class Making
---@field room integer what the limit leaves beside system prompt and tools
---@field class Class
---@field level fun(tokens: integer): integer how detailed one is that stands for so many tokens
---@field most fun(kept: integer): integer what all of them may take beside so much of the talk
---@field own integer|nil the target of level 3 in a window of 8K, where it is not the level's
---@field forced boolean whether they may come down several levels at once
---@field drops boolean|nil whether what leaves gets no checkpoint

--- A compression in the making. Sizes are tokens.
---@class Compression
---@field work integer how many exchanges of the model leave
---@field places integer[] the messages that leave
---@field accounts Insert[] the lines that stand for answers among them
---@field level integer of the new checkpoint
---@field target integer what that may take; 0 where there is none
---@field checkpoints integer what all of them come to
---@field merge Merge|nil
---@field kept integer what stays of the talk
---@field freed integer what leaves of it
---@field most integer what all checkpoints may take

--- What becomes of a conversation when the first so many of what people wrote leave with the rest.
---@param job PlanJob
---@param old Old
---@param count integer
---@param how Making
---@return Compression
local function made(job, old, count, how)
  local leaving = talk.joined(old.work, old.asked, count)
  local places, freed = talk.places(leaving)
  local lines, said = accounts.of(job, accounts.leaving(job.entries, places))
  local kept, level, wish, least = old.tokens - freed + said, how.level(freed), 0, 0
  if not how.drops then
    wish, least = sizes.new(freed, level, how.room, how.own)
    least = how.forced and math.min(least, sizes.target(sizes.MERGED, how.room)) or least
  end
  local most = how.most(kept)
  local new = { wish = wish, least = least, level = level }
  local bounds = { most = most, room = how.room, class = how.class, forced = how.forced }
  local total, target, merge = ageing.making_room(job.checkpoints, new, bounds)
  return {
    work = #old.work,
    places = places,
    accounts = lines,
    level = level,
    target = target,
    checkpoints = total,
    merge = merge,
    kept = kept,
    freed = freed - said,
    most = most,
  }
end

--- Whether they find too little room.
---@param one Compression
function checkpoints.is_crowded(one)
  return one.checkpoints > one.most
end

--- What becomes of a conversation when the model's old work leaves, and as few messages of people as
--- it takes to have room for checkpoints; all that may leave where that is not enough.
---@param job PlanJob
---@param old Old
---@param how Making
---@return Compression
function checkpoints.of(job, old, how)
  local few, many = 0, #old.asked
  local all = made(job, old, many, how)
  if many == 0 or checkpoints.is_crowded(all) then
    return all
  end
  while many > few do
    local middle = (few + many) // 2
    if checkpoints.is_crowded(made(job, old, middle, how)) then
      few = middle + 1
    else
      many = middle
    end
  end
  return made(job, old, many, how)
end

--- The operations of a compression.
---@param one Compression
---@return Order[]
function checkpoints.orders(one)
  local ops = { one.merge }
  if one.target > 0 then
    local op = one.work > 0 and "summarize" or "summarize_user"
    ops[#ops + 1] = { op = op, entries = one.places, target = one.target }
    ops[#ops].level = one.work > 0 and one.level or nil
  elseif #one.places > 0 then
    ops[#ops + 1] = { op = "drop", entries = one.places }
  end
  for _, line in ipairs(one.accounts) do
    ops[#ops + 1] = line
  end
  return ops
end

return checkpoints
