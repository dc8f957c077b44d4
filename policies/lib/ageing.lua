--- Ageing: how checkpoints grow smaller as they grow older, until they become one (RULES 22).
---
--- A checkpoint ages by its age, and before its time where all of them exceed their share. Pure
--- arithmetic over a list of checkpoints, so that `plan` can ask beforehand what `age` will do.
local share = require("numbers").share

local ageing = {}

--- `level` 0 is merged. `target`: the most tokens at that level. `of_original`: the most of what a
--- new checkpoint stands for that it takes. `of_present`: the most of what a checkpoint takes when
--- it comes to that level. `from_age`: the age at which it comes there.
local LEVELS = {
  [3] = { target = 2000, of_original = 0.50 },
  [2] = { target = 1200, of_original = 0.40, of_present = 0.60, from_age = 3 },
  [1] = { target = 800, of_original = 0.30, of_present = 0.50, from_age = 6 },
  [0] = { target = 400, of_present = 0.40 },
}

local DETAILED, OLDEST, MERGED = 3, 1, 0

--- The level of what is most detailed, and of what several became.
ageing.DETAILED, ageing.MERGED = DETAILED, MERGED

--- The most that the smallest takes.
ageing.SMALLEST = LEVELS[MERGED].target

--- The most that a new checkpoint takes in the place of so many tokens.
---@param original integer
---@param level integer
---@param most integer|nil the target, where it is not the level's
---@return integer
function ageing.new_target(original, level, most)
  local row = LEVELS[level]
  return math.min(most or row.target, share(original, row.of_original))
end

--- A new checkpoint's target where `excess` is too much: it gives way, if not beyond what it would
--- come to with age.
---@param target integer
---@param excess integer
---@return integer
local function yielding(target, excess)
  return math.max(target - math.max(excess, 0), math.min(target, LEVELS[OLDEST].target))
end

--- Starts over with one ultra-compact summary.
---@return Rollover
function ageing.rollover()
  return { op = "rollover", target = ageing.SMALLEST }
end

--- The most that a checkpoint of so many tokens takes when it comes to a level.
local function target_at(level, tokens)
  return math.max(math.min(LEVELS[level].target, share(tokens, LEVELS[level].of_present)), 1)
end

--- The level that a checkpoint of this age is at.
local function level_at(age, patience)
  for level = OLDEST, DETAILED - 1 do
    if age >= LEVELS[level].from_age * patience then
      return level
    end
  end
  return DETAILED
end

--- Checkpoints as they are to be written anew.
local Draft = {}
Draft.__index = Draft

local function draft(checkpoints)
  local self = setmetatable({ steps = {}, total = 0, list = {} }, Draft)
  for at, checkpoint in ipairs(checkpoints) do
    self.list[at] = {
      id = checkpoint.id,
      level = checkpoint.level,
      age = checkpoint.age,
      tokens = checkpoint.tokens,
      present = checkpoint.tokens,
    }
    self.total = self.total + checkpoint.tokens
  end
  return self
end

--- Brings one of them to a level; the step starts from its present size, whatever was planned.
function Draft:lower(one, level)
  local target = target_at(level, one.present)
  self.total = self.total - one.tokens + target
  one.level, one.tokens = level, target
  self.steps[one.id] = { checkpoint = one.id, to = level, target = target }
end

--- Those that are older than the compression at hand.
function Draft:old()
  local old = {}
  for _, one in ipairs(self.list) do
    if one.age > 0 then
      old[#old + 1] = one
    end
  end
  return old
end

--- By age: each comes to the level of its age.
function Draft:by_age(patience)
  for _, one in ipairs(self.list) do
    local level = level_at(one.age, patience)
    if level < one.level then
      self:lower(one, level)
    end
  end
end

--- By number: no more than so many stay detailed.
function Draft:by_number(most)
  local detailed = {}
  for _, one in ipairs(self.list) do
    if one.level == DETAILED then
      detailed[#detailed + 1] = one
    end
  end
  for at = 1, #detailed - most do
    self:lower(detailed[at], DETAILED - 1)
  end
end

--- By share: the oldest of these come down, each as far as it must, until all fit.
function Draft:by_share(list, least, most)
  for _, one in ipairs(list) do
    while self.total > most and one.level > least do
      self:lower(one, one.level - 1)
    end
  end
end

--- Ages checkpoints, oldest first, as far as each can by itself without being merged. No more than
--- `most` tokens may remain.
local function aged(checkpoints, most, class)
  local all = draft(checkpoints)
  all:by_age(class.patience or 1)
  if class.detailed then
    all:by_number(class.detailed)
  end
  all:by_share(all:old(), OLDEST, most)
  return all
end

--- Which checkpoints are written anew, smaller, and how small. Where even that leaves too much,
--- the oldest come down to a merged one's size, each by itself. New ones stay as they are.
---@param checkpoints Standing[]
---@param most integer
---@param class Class
---@return Ageing[]
function ageing.steps(checkpoints, most, class)
  local all = aged(checkpoints, most, class)
  all:by_share(all:old(), MERGED, most)
  local steps = {}
  for _, one in ipairs(all.list) do
    steps[#steps + 1] = all.steps[one.id]
  end
  return steps
end

--- Makes one of old checkpoints: the order, and what all come to with it. Nothing where there are
--- not several.
---@param checkpoints Standing[]
---@param most integer
---@param class Class
---@param every boolean whether all old ones take part, or those at the lowest level by then
---@return Merge|nil merge, integer total
local function merge_of(checkpoints, most, class, every)
  local all = aged(checkpoints, most, class)
  local ids, present, planned = {}, 0, 0
  for _, one in ipairs(all:old()) do
    if every or one.level <= OLDEST then
      ids[#ids + 1] = one.id
      present, planned = present + one.present, planned + one.tokens
    end
  end
  if #ids < 2 then
    return nil, all.total
  end
  local target = target_at(MERGED, present)
  local merge = { op = "merge", checkpoints = ids, target = target, to = MERGED }
  return merge, all.total - planned + target
end

--- The checkpoints as they stand after a compression, with a new one where there is one.
---@param checkpoints Standing[]
---@param new integer its size, 0 for none
---@param level integer
---@return Standing[]
local function with_new(checkpoints, new, level)
  local all = {}
  for at, one in ipairs(checkpoints) do
    all[at] = { id = one.id, level = one.level, age = one.age + 1, tokens = one.tokens }
  end
  if new > 0 then
    all[#all + 1] = { id = "", level = level, age = 0, tokens = new }
  end
  return all
end

--- What all checkpoints come to with a new one that may take `wish`, what it may really take, and
--- the order to merge old ones where there is too little room: for the checkpoints themselves, or
--- for the conversation beside them.
---@param job PlanJob
---@param wish integer
---@param level integer
---@param class Class
---@param is_crowded fun(total: integer): boolean whether they leave the conversation too little
---@return integer total, integer target, Merge|nil merge
function ageing.making_room(job, wish, level, class, is_crowded)
  local most, all = job.budgets.checkpoints, with_new(job.checkpoints, wish, level)
  local total, merge = aged(all, most, class).total, nil
  local crowded = is_crowded(total)
  if crowded or total > most then
    merge, total = merge_of(all, most, class, crowded)
  end
  local target = yielding(wish, total - most)
  return total - wish + target, target, merge
end

return ageing
