--- Reliability: how far a model of some size can be relied on after so many summaries (RULES 30).
local trust = require("trust")

local bearing = {}

--- What is left of it after each compression.
local LEFT = 0.9

--- By size of the model, `up_to` so many billions of parameters: after how many compressions it is
--- warned of.
local BEARS = {
  { up_to = 3, compressions = 3 },
  { up_to = 7, compressions = 5 },
  { up_to = 13, compressions = 7 },
  { up_to = math.huge, compressions = 10 },
}

--- How far it can be relied on, 0 to 1.
---@param job Common
---@return number
function bearing.score(job)
  return trust.score(job, LEFT ^ job.compressions)
end

--- What a user should know after so many compressions, where that is as many as the model bears.
---@param job Common
---@param compressions integer
---@return string|nil
local function advice(job, compressions)
  local billions = trust.billions(job)
  for _, row in ipairs(BEARS) do
    if billions <= row.up_to then
      return trust.advice(job, compressions, row.compressions)
    end
  end
end

--- The warning that goes with the compression that reaches what the model bears.
---@param job PlanJob
---@return Order|nil
function bearing.warning(job)
  return trust.warning(job, function(compressions)
    return advice(job, compressions)
  end)
end

--- Level, score, status line and advice.
---@param job StatusJob
---@return Status
function bearing.status(job)
  return trust.status(job, bearing.score(job), advice(job, job.compressions))
end

return bearing
