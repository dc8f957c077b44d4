--- Sizes of checkpoints (RULES 22). Used by `ollm` and `staged`.
---
--- A checkpoint is as large as what it stands for and its level allow, in any window: the targets are
--- those of a window of 8K and grow with it.
local share = require("numbers").share

local sizes = {}

--- The room beside the system prompt of the window that the targets are said for, in tokens.
local ROOM = 6463

--- By level. `target`: tokens in a window of 8K. `least`, `most`: the shares of what it stands for
--- that a new one takes. `of_present`: the most of its size that stays when it comes to that level.
local LEVELS = {
  [3] = { target = 2000, least = 0.30, most = 0.50 },
  [2] = { target = 1200, least = 0.30, most = 0.40, of_present = 0.60 },
  [1] = { target = 800, least = 0.30, most = 0.30, of_present = 0.50 },
  [0] = { target = 400, least = 0.00, most = 0.30, of_present = 0.40 },
}

--- The levels that there are.
sizes.DETAILED, sizes.COMPACT, sizes.MERGED = 3, 1, 0

--- A level's target in a window with this room.
---@param level integer
---@param room integer what the limit leaves beside system prompt and tools
---@param own integer|nil the target in a window of 8K, where it is not the level's
---@return integer
function sizes.target(level, room, own)
  return share(own or LEVELS[level].target, math.max(1, room / ROOM))
end

--- What a new checkpoint may take, and the least to which it gives way.
---@param original integer tokens that it stands for
---@param level integer
---@param room integer
---@param own integer|nil the target in a window of 8K, where it is not the level's
---@return integer wish, integer least
function sizes.new(original, level, room, own)
  local row = LEVELS[level]
  local least, most = share(original, row.least), share(original, row.most)
  return math.max(math.min(sizes.target(level, room, own), most), least), least
end

--- What a checkpoint of so many tokens takes when it comes down to a level.
---@param present integer
---@param level integer
---@param room integer
---@return integer
function sizes.lowered(present, level, room)
  local most = share(present, LEVELS[level].of_present)
  return math.max(math.min(sizes.target(level, room), most), 1)
end

--- What one checkpoint takes that stands for a merged one and others: what is merged stays as large.
---@param merged integer tokens of what was merged before
---@param joining integer tokens of the others
---@param room integer
---@return integer
function sizes.merged(merged, joining, room)
  local most = merged + share(joining, LEVELS[sizes.MERGED].of_present)
  return math.max(math.min(sizes.target(sizes.MERGED, room), most), 1)
end

return sizes
