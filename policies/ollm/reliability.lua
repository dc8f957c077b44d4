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

--- How far it can be relied on, 0 to 1.
---@param job Common
---@return number
function reliability.score(job)
  local confidence = job.opt.weigh_confidence and job.confidence or 1
  local left = math.max(1 - LOSS * job.compressions, LEAST)
  return trust.exact(trust.factor(job) * left * confidence)
end

--- What a user should know once a model has been through as many compressions as it bears.
local function advice(job)
  local known = trust.row(ADVICE, trust.billions(job))
  if job.compressions < known.compressions then
    return nil
  end
  return string.format(
    "%s has been through %d compressions; for its size %d are advised, each saving %s. Go on if it"
      .. " goes well; start anew at signs of invention; or use a larger model.",
    job.model.name or "This model",
    job.compressions,
    known.compressions,
    known.reduction
  )
end

--- Level, score, status line and advice.
---@param job StatusJob
---@return Status
function reliability.status(job)
  return trust.status(job, reliability.score(job), advice(job))
end

return reliability
