--- The second stage: how detailed the new checkpoint is, how large, and what makes room for it
--- (RULES 27, 28). A conversation that has nothing to compress is told why.
local ageing = require("ageing")
local room = require("room")
local share = require("numbers").share
local talk = require("talk")

local preparation = {}

--- The operations, the size that the prompt comes to by them, and why they are made or not.
---@class Prepared
---@field ops Order[]
---@field size integer
---@field reason string

--- The level of a checkpoint that stands for so many tokens: the more there are, the less it says
--- of each.
---@param tokens integer
---@param opt table
---@return integer
function preparation.level(tokens, opt)
  if tokens > opt.compact_above then
    return 1
  end
  return tokens > opt.moderate_above and 2 or ageing.DETAILED
end

--- Nothing is done.
---@param job PlanJob
---@param reason string
---@return Prepared
local function nothing(job, reason)
  return { ops = {}, size = job.tokens.total, reason = "nothing to compress: " .. reason }
end

---@param job PlanJob
---@param found Identified
---@param class Class
---@return Prepared
function preparation.of(job, found, class)
  local opt, entries, tokens = job.options, talk.places(found.work)
  if #entries == 0 then
    return nothing(job, "the model did nothing before the newest messages")
  end
  local level = preparation.level(tokens, opt)
  local wish = math.min(ageing.new_target(tokens, level), job.budgets.checkpoints)
  if tokens - wish < share(job.tokens.total, opt.minimum_gain) then
    return nothing(job, string.format("%d tokens are not worth it", tokens))
  end
  local fixed = job.tokens.system + job.tokens.tools + found.tokens - tokens
  local most = room.filled(job, opt.keep_at_most)
  local checkpoints, target, merge = ageing.making_room(job, wish, level, class, function(total)
    return fixed + total > most
  end)
  local new = { op = "summarize", entries = entries, target = target, level = level }
  return {
    ops = { merge or new, merge and new },
    size = fixed + checkpoints,
    reason = string.format("%d tokens of the model's before the newest messages", tokens),
  }
end

return preparation
