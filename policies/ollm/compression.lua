--- A compression: what the model did becomes one checkpoint, and older ones make room for it
--- (RULES 21, 22).
local budget = require("budget")
local checkpoints = require("checkpoints")
local classes = require("classes")
local selection = require("selection")
local share = require("numbers").share
local sizes = require("sizes")

local compression = {}

--- The sizes of the recent part that are tried, the largest first; with the last no more stays of it
--- than the newest exchange.
local RECENT = { 1, 0.5, 0 }

--- How checkpoints are made.
---@param job PlanJob
---@param forced boolean
---@return Making
local function making(job, forced)
  return {
    room = budget.room(job),
    class = classes.of(job),
    own = job.options.summary_max_tokens,
    forced = forced,
    drops = job.options.compression_strategy == "truncate",
    level = function()
      return sizes.DETAILED
    end,
    most = function(kept)
      return budget.checkpoints(job, kept)
    end,
  }
end

--- The share of a prompt that is worth a compression which does not leave the stride free: the next one
--- would be due at once.
local WORTH = 0.10

--- The least that a compression must free.
---@param job PlanJob
---@param one Compression
---@param forced boolean
---@return integer
local function least(job, one, forced)
  if forced then
    return 1
  end
  local part = job.options.minimum_gain
  return share(job.tokens.total, checkpoints.is_crowded(one) and math.max(part, WORTH) or part)
end

--- The share of the conversation that a compression frees, but for the first one.
local FREED = 0.20

--- A compression in which so many of the newest messages of the user stay.
---@param job PlanJob
---@param how Making
---@param users integer
---@return Compression
local function keeping(job, how, users)
  local one
  for _, part in ipairs(RECENT) do
    one = checkpoints.of(job, selection.old(job, share(budget.held(job).keep_recent, part), users), how)
    if not checkpoints.is_crowded(one) then
      break
    end
  end
  return one
end

--- What a compression comes to beside what there is now: what leaves of talk and checkpoints.
---@param job PlanJob
---@param one Compression
---@return integer
local function freed(job, one)
  return job.tokens.conversation + job.tokens.checkpoints - one.kept - one.checkpoints
end

--- Whether the newest messages of the user, of which so many are to stay always, take so much that one
--- compression after the other would free next to nothing.
---@param job PlanJob
---@param one Compression
---@return boolean
local function is_stuck(job, one)
  local all = job.tokens.conversation + job.tokens.checkpoints
  return #job.checkpoints > 0 and checkpoints.is_crowded(one) and freed(job, one) < share(all, FREED)
end

--- The operations, the size that the prompt comes to by them, and what all checkpoints may take. What
--- the model did before the recent part leaves. Where checkpoints find too little room even so, older
--- messages of the user leave, and then the recent part is smaller. Those that are to stay always leave,
--- oldest first, only where a compression before this one has freed too little with them, or where they
--- `overflow` the window. Nothing where the gain is not worth a compression; in the emergency that is
--- forced anything is.
---@param job PlanJob
---@param forced boolean
---@param overflow boolean
---@return Order[] ops, integer size, integer|nil most
function compression.of(job, forced, overflow)
  local how = making(job, forced)
  local one = keeping(job, how, overflow and 0 or job.options.preserve_users)
  if not overflow and is_stuck(job, one) then
    one = keeping(job, how, 0)
  end
  if #one.places == 0 or one.freed - one.target < least(job, one, forced) then
    return {}, job.tokens.total
  end
  local size = job.tokens.system + job.tokens.tools + one.checkpoints + one.kept
  return checkpoints.orders(one), size, one.most
end

return compression
