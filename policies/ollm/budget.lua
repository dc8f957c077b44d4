--- The budget: how much of the limit is there for the conversation (RULES 19).
local bounds = require("bounds")
local share = require("numbers").share

local budget = {}

--- What the limit leaves beside system prompt and tools.
---@param job Common
---@return integer
function budget.room(job)
  return math.max(job.model.limit - job.tokens.system - job.tokens.tools, 0)
end

--- What it leaves to the conversation when checkpoints take so much.
---@param job Common
---@param checkpoints integer
---@return integer
function budget.available(job, checkpoints)
  return math.max(budget.room(job) - checkpoints, 0)
end

--- The context size above which the recent part grows with the window.
local GROWS_ABOVE = 16384

--- What stays of the newest messages: a fixed part, in a small window less than that, and in a large
--- one a share of what is available.
---@param job Common
---@param available integer
---@return integer
local function recent(job, available)
  local opt = job.options
  local small = math.min(opt.preserve_recent, share(available, opt.preserve_recent_share))
  if (job.model.size or job.model.limit) <= GROWS_ABOVE then
    return small
  end
  return math.max(small, share(available, opt.preserve_recent_large))
end

--- The bounds of a job, as sizes of the whole prompt. What triggers is the conversation beside its
--- own part of the room, so the bounds move with system prompt and checkpoints.
---@param job Common
---@return Budgets
function budget.of(job)
  local opt, tokens = job.options, job.tokens
  local available = budget.available(job, tokens.checkpoints)
  local fixed = tokens.system + tokens.tools + tokens.checkpoints
  return {
    warn = fixed + share(available, opt.inform_at),
    ahead = fixed + share(available, opt.ahead_at),
    soft = fixed + share(available, opt.compress_at),
    hard = job.model.limit - math.min(opt.reserve, job.model.limit),
    target = fixed + share(available, opt.fold_to),
    reserve = opt.reserve,
    checkpoints = share(budget.room(job), opt.checkpoint_share),
    keep_recent = recent(job, available),
  }
end

--- The bounds that hold, here and in front of this policy.
---@param job PlanJob|TriggerJob
---@return Budgets
function budget.held(job)
  return bounds.held(job, budget.of(job))
end

--- The least part of the room between two compressions that is reckoned with.
local LEAST_LEFT = 0.01

--- The part of the room between two compressions that is left by whoever lowered `soft` in front of
--- this policy; 1 where nobody did.
---@param job PlanJob
---@return number
function budget.left(job)
  local fixed = job.tokens.system + job.tokens.tools + job.tokens.checkpoints
  local own = budget.of(job).soft - fixed
  if own <= 0 then
    return 1
  end
  return math.min(math.max((budget.held(job).soft - fixed) / own, LEAST_LEFT), 1)
end

--- What checkpoints may take beside so much of the talk: their share of the room, and no more than
--- leaves the stride free that is to lie between two compressions. Below 0 where the talk alone takes
--- of that.
---@param job PlanJob
---@param kept integer
---@return integer
function budget.checkpoints(job, kept)
  local room, opt = budget.room(job), job.options
  local filled = kept + share(room, opt.stride)
  local free = room - share(filled, 1 / (opt.compress_at * budget.left(job)))
  return math.min(budget.held(job).checkpoints, free)
end

--- How far the limit is used up: to an emergency, to the last, or so that there is no need to worry.
---@param job Common
---@return "emergency"|"rollover"|nil
function budget.alarm(job)
  local used, limit, opt = job.tokens.total, job.model.limit, job.options
  if used >= share(limit, opt.rollover_at) then
    return "rollover"
  end
  return used >= share(limit, opt.emergency_at) and "emergency" or nil
end

return budget
