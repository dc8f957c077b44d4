--- The occasion: whether a compression that is due is made, and what is made before it. Used by
--- `ollm`, `staged` and `early`, whose options of these names it reads.
local share = require("numbers").share

local occasion = {}

--- Whether a compression brought too little, and the prompt has hardly grown since.
---@param job TriggerJob
---@return boolean
function occasion.is_resting(job)
  return job.stalled_at ~= nil and job.tokens.total < job.stalled_at * (1 + job.options.minimum_gain)
end

--- The answer to `trigger`: what is due, unless compression is switched off.
---@param job TriggerJob
---@param due Due|nil
---@return boolean|Due|Passed
function occasion.of(job, due)
  if due and not job.options.compression_enabled then
    return { skip = "disabled" }
  end
  return due or false
end

--- Whether a restore point is asked for first (RULES 24). The kernel makes one by itself unless the
--- profile says otherwise.
---@param job PlanJob
---@return boolean
function occasion.is_saved(job)
  local opt = job.options
  local filled = job.tokens.total >= share(job.model.limit, opt.snapshots_threshold)
  return opt.snapshots_auto and (filled or job.cause == "manual")
end

return occasion
