--- The second stage: how detailed the new checkpoint is, how large, and what makes room for it
--- (RULES 27, 28). A conversation that has nothing to compress is told why.
local checkpoints = require("checkpoints")
local classes = require("classes")
local room = require("room")
local share = require("numbers").share
local sizes = require("sizes")
local talk = require("talk")

local preparation = {}

--- The operations, the size that the prompt comes to by them, and why they are made or not.
---@class Prepared
---@field ops Order[]
---@field size integer
---@field reason string
---@field checkpoints integer|nil what all checkpoints may take
---@field is_crowded boolean|nil whether they find too little room

--- The level of a checkpoint that stands for so many tokens: the more there are, the less it says
--- of each.
---@param tokens integer
---@param opt table
---@return integer
function preparation.level(tokens, opt)
  if tokens > opt.compact_above then
    return 1
  end
  return tokens > opt.moderate_above and 2 or sizes.DETAILED
end

--- Nothing is done.
---@param job PlanJob
---@param reason string
---@return Prepared
local function nothing(job, reason)
  return { ops = {}, size = job.tokens.total, reason = "nothing to compress: " .. reason }
end

--- How checkpoints are made.
---@param job PlanJob
---@param class Class
---@param forced boolean
---@return Making
local function making(job, class, forced)
  return {
    room = room.beside(job),
    class = class,
    forced = forced,
    level = function(tokens)
      return preparation.level(tokens, job.options)
    end,
    most = function(kept)
      return room.checkpoints(job, kept)
    end,
  }
end

--- What becomes of what the model did, and of as few of these messages of people as it takes.
---@param job PlanJob
---@param found Identified
---@param asked Exchange[]
---@param forced boolean whether checkpoints may come down several levels at once
---@return Prepared
function preparation.of(job, found, asked, forced)
  local _, tokens = talk.places(found.work)
  if #found.work == 0 and #asked == 0 then
    return nothing(job, "the model did nothing before the newest messages")
  end
  local old = { work = found.work, asked = asked, tokens = job.tokens.conversation }
  local one = checkpoints.of(job, old, making(job, classes.of(job), forced))
  if one.freed - one.target < share(job.tokens.total, job.options.minimum_gain) then
    return nothing(job, string.format("%d tokens are not worth it", tokens))
  end
  return {
    ops = checkpoints.orders(one),
    size = job.tokens.system + job.tokens.tools + one.checkpoints + one.kept,
    reason = string.format("%d tokens of the model's before the newest messages", tokens),
    checkpoints = one.most,
    is_crowded = checkpoints.is_crowded(one),
  }
end

return preparation
