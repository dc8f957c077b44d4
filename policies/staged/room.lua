--- The room: what there is for conversation and checkpoints, and the bounds that follow (RULES 28).
local bounds = require("bounds")
local classes = require("classes")
local share = require("numbers").share

local room = {}

--- What system prompt and tools take.
---@param job Common
---@return integer
local function system(job)
  return job.tokens.system + job.tokens.tools
end

--- What is kept free for the answer.
---@param job Common
---@return integer
local function reserve(job)
  local opt, limit = job.options, job.model.limit
  return math.min(opt.reserve, share(limit, opt.reserve_share))
end

--- What the limit leaves to conversation and checkpoints. The system prompt takes what its class
--- allows it, or what it really takes where that is more.
---@param job Common
---@return integer
local function left(job)
  local taken = math.max(classes.of(job).system, system(job)) + reserve(job)
  return math.max(job.model.limit - taken, 0)
end

--- The size of a prompt in which conversation and checkpoints take a share of their room.
---@param job Common
---@param part number 0 to 1
---@return integer
function room.filled(job, part)
  return system(job) + share(left(job), part)
end

--- What the limit leaves beside system prompt and tools.
---@param job Common
---@return integer
function room.beside(job)
  return math.max(job.model.limit - system(job), 0)
end

--- What checkpoints may take beside so much of the talk: their share of the room, and no more than
--- leaves the stride free that is to lie between two compressions. Below 0 where the talk alone takes
--- of that.
---@param job PlanJob
---@param kept integer
---@return integer
function room.checkpoints(job, kept)
  local opt = job.options
  local filled = math.min(room.filled(job, opt.compress_at), room.held(job).soft)
  local free = filled - share(left(job), opt.stride) - system(job) - kept
  return math.min(room.held(job).checkpoints, free)
end

--- The bounds of a job, as sizes of the whole prompt.
---@param job Common
---@return Budgets
function room.bounds(job)
  local opt, class = job.options, classes.of(job)
  return {
    warn = room.filled(job, opt.inform_at),
    ahead = room.filled(job, opt.ahead_at),
    soft = room.filled(job, opt.compress_at),
    hard = job.model.limit - reserve(job),
    target = room.filled(job, opt.emergency_to),
    reserve = reserve(job),
    checkpoints = share(room.beside(job), opt.checkpoint_share),
    system = class.system,
    class = class.class,
    strategy = class.strategy,
  }
end

--- The bounds that hold, here and in front of this policy.
---@param job PlanJob|TriggerJob
---@return Budgets
function room.held(job)
  return bounds.held(job, room.bounds(job))
end

return room
