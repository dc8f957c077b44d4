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

--- The operations, the size that the prompt comes to by them, and what all checkpoints may take. What
--- the model did before the recent part leaves. Where checkpoints find too little room even so, older
--- messages of the user leave, and then the recent part is smaller. Nothing where the gain is not
--- worth a compression; in the emergency that is forced anything is.
---@param job PlanJob
---@param forced boolean
---@return Order[] ops, integer size, integer|nil most
function compression.of(job, forced)
  local how, one = making(job, forced), nil
  for _, part in ipairs(RECENT) do
    one = checkpoints.of(job, selection.old(job, share(job.budgets.keep_recent, part)), how)
    if not checkpoints.is_crowded(one) then
      break
    end
  end
  if #one.places == 0 or one.freed - one.target < least(job, one, forced) then
    return {}, job.tokens.total
  end
  local size = job.tokens.system + job.tokens.tools + one.checkpoints + one.kept
  return checkpoints.orders(one), size, one.most
end

return compression
