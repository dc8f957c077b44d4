--- Reliability: how far a conversation can be trusted after so many summaries (SPEC 3.5).
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

--- Level, score, status line and advice.
---@param job StatusJob
---@return Status
function reliability.status(job)
  local known = trust.row(ADVICE, trust.billions(job))
  local saving = ", each saving " .. known.reduction
  local score = trust.score(job, math.max(1 - LOSS * job.compressions, LEAST))
  return trust.status(job, score, trust.advice(job, job.compressions, known.compressions, saving))
end

return reliability
