--- Ageing: how checkpoints grow smaller as they grow older, until they become one (RULES 22). Used
--- by `ollm` and `staged`.
---
--- In one compression a checkpoint comes down by its age, or because all of them exceed their room,
--- and by one level at most. What stood at the lowest level before may be merged. Pure arithmetic over
--- a list of checkpoints, so that `plan` can ask beforehand what `age` will do.
local sizes = require("sizes")

local ageing = {}

--- The age at which a checkpoint comes to a level.
local FROM_AGE = { [2] = 3, [1] = 6 }

local DETAILED, COMPACT, MERGED = sizes.DETAILED, sizes.COMPACT, sizes.MERGED

--- What bounds the checkpoints of a conversation.
---@class CheckpointRoom
---@field most integer the most that all of them may take
---@field room integer what the limit leaves beside system prompt and tools
---@field class Class
---@field forced boolean|nil whether one may come down several levels at once

--- A checkpoint that a compression adds.
---@class NewCheckpoint
---@field wish integer what it may take; 0 where there is none
---@field least integer the least to which it gives way
---@field level integer

--- Starts over with one ultra-compact summary of so many tokens.
---@param original integer
---@return Rollover
function ageing.rollover(original)
  return { op = "rollover", target = (sizes.new(original, MERGED, 0)) }
end

--- The level of a checkpoint of this age.
local function level_at(age, patience)
  for level = COMPACT, DETAILED - 1 do
    if age >= FROM_AGE[level] * patience then
      return level
    end
  end
  return DETAILED
end

--- Checkpoints on their way down. `all`, oldest first: `was` is the level before this compression.
---@class Ladder
---@field total integer
---@field all table[]
---@field bounds CheckpointRoom
local Ladder = {}
Ladder.__index = Ladder

---@param checkpoints Standing[]
---@param bounds CheckpointRoom
---@return Ladder
local function ladder(checkpoints, bounds)
  local self = setmetatable({ total = 0, all = {}, bounds = bounds }, Ladder)
  for at, one in ipairs(checkpoints) do
    local copy = { id = one.id, age = one.age, was = one.level, level = one.level }
    copy.tokens, copy.is_stepped = one.tokens, false
    self.all[at], self.total = copy, self.total + one.tokens
  end
  return self
end

function Ladder:exceeds()
  return self.total > self.bounds.most
end

--- Brings one down to a level.
function Ladder:lower(one, level)
  local tokens = sizes.lowered(one.tokens, level, self.bounds.room)
  self.total = self.total - one.tokens + tokens
  one.level, one.tokens, one.is_stepped = level, tokens, true
end

--- Brings one a level down, unless it has come down in this compression.
function Ladder:step(one, least)
  if one.age > 0 and one.level > least and (self.bounds.forced or not one.is_stepped) then
    self:lower(one, one.level - 1)
    return true
  end
  return false
end

--- By age: each comes nearer to the level of its age.
function Ladder:by_age()
  for _, one in ipairs(self.all) do
    if level_at(one.age, self.bounds.class.patience or 1) < one.level then
      self:step(one, COMPACT)
    end
  end
end

--- By number: the oldest come down where more than so many are detailed.
function Ladder:by_number(most)
  local detailed = {}
  for _, one in ipairs(self.all) do
    detailed[#detailed + 1] = one.level == DETAILED and one or nil
  end
  for at = 1, #detailed - most do
    self:step(detailed[at], COMPACT)
  end
end

--- By room: the oldest come down while all of them exceed it; again and again where they are forced.
function Ladder:by_room()
  repeat
    local moved = false
    for _, one in ipairs(self.all) do
      if self:exceeds() and self:step(one, COMPACT) then
        moved = true
      end
    end
  until not moved or not self.bounds.forced
end

--- The checkpoints a compression further, as far as each comes by itself without being merged.
---@param checkpoints Standing[]
---@param bounds CheckpointRoom
---@return Ladder
local function aged(checkpoints, bounds)
  local all = ladder(checkpoints, bounds)
  all:by_age()
  if bounds.class.detailed then
    all:by_number(bounds.class.detailed)
  end
  all:by_room()
  return all
end

--- Whether a checkpoint may become part of a merged one: it stood at the lowest level before.
local function is_mergeable(one, forced)
  return one.age > 0 and (one.was <= COMPACT or forced and one.level <= COMPACT)
end

--- Which checkpoints are written anew, smaller, and how small. Where what `plan` merged was not
--- enough, or it merged nothing, those at the lowest level come down to a merged one's size.
---@param checkpoints Standing[]
---@param bounds CheckpointRoom
---@return Ageing[]
function ageing.steps(checkpoints, bounds)
  local all, steps = aged(checkpoints, bounds), {}
  for _, one in ipairs(all.all) do
    if all:exceeds() and one.level > MERGED and is_mergeable(one, bounds.forced) then
      all:lower(one, MERGED)
    end
    if one.is_stepped then
      steps[#steps + 1] = { checkpoint = one.id, to = one.level, target = one.tokens }
    end
  end
  return steps
end

--- Makes one of those that may be merged. One alone is left to `steps`.
---@param all Ladder
---@return Merge|nil
local function merge(all)
  local ids, merged, joining = {}, 0, 0
  for _, one in ipairs(all.all) do
    if is_mergeable(one, all.bounds.forced) then
      ids[#ids + 1] = one.id
      merged = merged + (one.level == MERGED and one.tokens or 0)
      joining = joining + (one.level > MERGED and one.tokens or 0)
    end
  end
  if joining == 0 then
    return nil
  end
  local target = sizes.merged(merged, joining, all.bounds.room)
  all.total = all.total - merged - joining + target
  return #ids > 1 and { op = "merge", checkpoints = ids, target = target, to = MERGED } or nil
end

--- The checkpoints as they stand after a compression: a compression older, with the new one.
---@param checkpoints Standing[]
---@param new NewCheckpoint
---@return Standing[]
local function with_new(checkpoints, new)
  local all = {}
  for at, one in ipairs(checkpoints) do
    all[at] = { id = one.id, level = one.level, age = one.age + 1, tokens = one.tokens }
  end
  if new.wish > 0 then
    all[#all + 1] = { id = "", level = new.level, age = 0, tokens = new.wish }
  end
  return all
end

--- What all checkpoints come to with a new one, what that may take, and the order to merge old ones.
--- Old ones come down first, then those at the lowest level merge, then the new one gives way.
---@param checkpoints Standing[]
---@param new NewCheckpoint
---@param bounds CheckpointRoom
---@return integer total, integer target, Merge|nil merge
function ageing.making_room(checkpoints, new, bounds)
  local all = aged(with_new(checkpoints, new), bounds)
  local order = all:exceeds() and merge(all) or nil
  local excess = math.max(all.total - bounds.most, 0)
  local target = math.max(new.wish - excess, math.min(new.wish, new.least))
  return all.total - new.wish + target, target, order
end

return ageing
