--- Reliability: how far a conversation can be trusted after so many summaries (RULES 23).
local trust = require("trust")

local reliability = {}

--- By size of the model: how many compressions it bears, and what each is expected to save.
local ADVICE = {
  { from = 70, compressions = 7, reduction = "70–90 %" },
  { from = 13, compressions = 5, reduction = "60–80 %" },
  { from = 0, compressions = 3, reduction = "50–70 %" },
}

--- What a compression costs, and what is left after many.
local LOSS, LEAST = 0.15, 0.30

--- What a user should know after so many compressions, where that is as many as are advised.
---@param job Common
---@param compressions integer
---@return string|nil
local function advice(job, compressions)
  local known = trust.row(ADVICE, trust.billions(job))
  local saving = ", each saving " .. known.reduction
  return trust.advice(job, compressions, known.compressions, saving)
end

--- The warning that goes with the compression that is the last one advised.
---@param job PlanJob
---@return Order|nil
function reliability.warning(job)
  return trust.warning(job, function(compressions)
    return advice(job, compressions)
  end)
end

--- Level, score, status line and advice.
---@param job StatusJob
---@return Status
function reliability.status(job)
  local score = trust.score(job, math.max(1 - LOSS * job.compressions, LEAST))
  return trust.status(job, score, advice(job, job.compressions))
end

return reliability
