--- Trust: how far a model of some size can be relied on, and how that is said (RULES 23). Used by
--- `ollm` and `staged`, whose option `model_billions` it reads; each has a formula of its own.
local models = require("models")
local thousands = require("numbers").thousands

local trust = {}

--- By size of the model, `from` so many billions of parameters: its factor.
local FACTORS = {
  { from = 70, factor = 0.95 },
  { from = 30, factor = 0.85 },
  { from = 13, factor = 0.70 },
  { from = 7, factor = 0.50 },
  { from = 0, factor = 0.30 },
}

--- By score: a word and a sign.
local GRADES = {
  { from = 0.85, level = "high", sign = "🟢" },
  { from = 0.60, level = "medium", sign = "🟡" },
  { from = 0.40, level = "low", sign = "🟠" },
  { from = 0.00, level = "critical", sign = "🔴" },
}

--- The first row that begins no higher than a value.
---@generic Row
---@param rows Row[]
---@param value number
---@return Row
function trust.row(rows, value)
  for _, one in ipairs(rows) do
    if value >= one.from then
      return one
    end
  end
  return rows[#rows]
end

--- Decimal fractions have no exact value: 0.7 × 0.7 must not fall short of 0.49.
---@param score number
---@return number
local function exact(score)
  return math.floor(score * 1e9 + 0.5) / 1e9
end

--- The size of a job's model, in billions of parameters.
---@param job Common
---@return number
function trust.billions(job)
  local stated = job.options.model_billions
  return stated > 0 and stated or models.billions(job.model.name, job.model.billions)
end

--- How far it can be relied on before anything is compressed, 0 to 1.
---@param job Common
---@return number
function trust.factor(job)
  return trust.row(FACTORS, trust.billions(job)).factor
end

--- How far it can be relied on, 0 to 1, where so much is left of that after its compressions.
---@param job Common
---@param left number 0 to 1
---@return number
function trust.score(job, left)
  local confidence = job.options.weigh_confidence and job.confidence or 1
  return exact(trust.factor(job) * left * confidence)
end

--- What a user should know once a model has been through as many compressions as it bears: the same
--- words from then on, so that whoever shows them once shows no others.
---@param job Common
---@param compressions integer
---@param bears integer
---@param beside string|nil what else is advised
---@return string|nil
function trust.advice(job, compressions, bears, beside)
  if compressions < bears then
    return nil
  end
  return string.format(
    "%s has been through the %d compressions that are advised at most for its size%s. Go on if it"
      .. " goes well; start anew at signs of invention; or use a larger model.",
    job.model.name or "This model",
    bears,
    beside or ""
  )
end

--- The warning that goes with a compression that is about to be made: said once, by the one that
--- reaches what the model bears.
---@param job PlanJob
---@param advice fun(compressions: integer): string|nil
---@return Order|nil
function trust.warning(job, advice)
  local text = advice(job.compressions + 1)
  return text and not advice(job.compressions) and { op = "warn", text = text } or nil
end

--- Level and status line for a score.
---@param job StatusJob
---@param score number
---@param advice string|nil
---@return Status
function trust.status(job, score, advice)
  local grade = trust.row(GRADES, score)
  local text = string.format(
    "Context: %s/%s  %s %d%%  (%d %s)",
    thousands(job.tokens.total),
    thousands(job.model.limit),
    grade.sign,
    math.floor(exact(score * 100)),
    job.compressions,
    job.compressions == 1 and "compression" or "compressions"
  )
  local low = grade.level == "critical"
  return { level = grade.level, low = low, score = score, text = text, advice = advice }
end

return trust
