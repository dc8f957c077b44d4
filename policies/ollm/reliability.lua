--- Reliability: how far a conversation can be trusted after so many summaries (SPEC 3.5).
local models = require("models")
local thousands = require("numbers").thousands

local reliability = {}

--- By size of the model, `from` so many billions of parameters: its factor.
local FACTORS = {
  { from = 70, factor = 0.95 },
  { from = 30, factor = 0.85 },
  { from = 13, factor = 0.70 },
  { from = 7, factor = 0.50 },
  { from = 0, factor = 0.30 },
}

--- By size of the model: how many compressions it bears, and what each is expected to save.
local ADVICE = {
  { from = 70, compressions = 7, reduction = "70–90 %" },
  { from = 13, compressions = 5, reduction = "60–80 %" },
  { from = 0, compressions = 3, reduction = "50–70 %" },
}

--- What a compression costs, and what is left after many.
local LOSS, LEAST = 0.15, 0.30

--- By score: a word and a sign.
local GRADES = {
  { from = 0.85, level = "high", sign = "🟢" },
  { from = 0.60, level = "medium", sign = "🟡" },
  { from = 0.40, level = "low", sign = "🟠" },
  { from = 0.00, level = "critical", sign = "🔴" },
}

--- The first row that begins no higher than a value.
local function row(rows, value)
  for _, one in ipairs(rows) do
    if value >= one.from then
      return one
    end
  end
  return rows[#rows]
end

--- Decimal fractions have no exact value: 0.7 × 0.7 must not fall short of 0.49.
local function exact(score)
  return math.floor(score * 1e9 + 0.5) / 1e9
end

---@param job Common
---@return number
local function billions(job)
  local stated = job.opt.model_billions
  return stated > 0 and stated or models.billions(job.model.name)
end

--- How far it can be relied on, 0 to 1.
---@param job Common
---@return number
function reliability.score(job)
  local factor = row(FACTORS, billions(job)).factor
  local confidence = job.opt.weigh_confidence and job.confidence or 1
  return exact(factor * math.max(1 - LOSS * job.compressions, LEAST) * confidence)
end

--- What a user should know once a model has been through as many compressions as it bears.
local function advice(job)
  local known = row(ADVICE, billions(job))
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
  local score = reliability.score(job)
  local grade = row(GRADES, score)
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
  return { level = grade.level, low = low, score = score, text = text, advice = advice(job) }
end

return reliability
