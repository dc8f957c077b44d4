--- Status: how full the window is, what was done about it, and what to do (RULES 50).
local levels = require("levels")
local templates = require("templates")
local thousands = require("numbers").thousands

local report = {}

--- What things are called that make a prompt smaller.
local WHAT = {
  compression = "summary",
  offload = "result offloaded",
  digest = "result digested",
  truncation = "input truncated",
}

--- What to do at a level.
---@param level Level
local function advice(level)
  return ep.re.match("(?m)^" .. level.name .. ": (.+)$", ep.prompt("advice"))
end

--- The status line.
---@param total integer
---@param limit integer
---@param opt table
---@return string line, Level level
function report.line(total, limit, opt)
  local used = limit > 0 and total / limit or 0
  local level = levels.of(used, opt)
  local line = string.format(
    "Context: %s/%s  %s %s %d%%",
    thousands(total),
    thousands(limit),
    level.sign,
    level.name,
    math.floor(used * 100)
  )
  return line, level
end

--- What was done and when, as the rows of a table.
---@param history Past[]
local function rows(history)
  local lines = {}
  for at, past in ipairs(history) do
    local what = WHAT[past.what] or past.what
    lines[at] = string.format("| %s | %s | %s |", past.at, what, thousands(past.saved))
  end
  return #lines > 0 and table.concat(lines, "\n") or "| – | nothing so far | 0 |"
end

--- The report.
---@param job StatusJob
---@param level Level
local function text(job, level)
  local done, tokens = job.done, job.tokens
  local summaries, digested = done.summaries, done.digested
  return templates.fill("report", {
    time = job.now,
    total = thousands(tokens.total),
    limit = thousands(job.model.limit),
    percent = math.floor(job.used * 100),
    sign = level.sign,
    level = level.name,
    meaning = level.means,
    offloaded = done.offloaded.count,
    offloaded_saved = thousands(done.offloaded.saved),
    truncated = done.truncated.count,
    truncated_saved = thousands(done.truncated.saved),
    digested = digested.count,
    digested_saved = thousands(digested.saved),
    summaries = summaries.count,
    summaries_saved = thousands(summaries.saved),
    advice = advice(level),
    history = rows(job.history),
  })
end

--- Level, status line, advice, and the report where somebody wants to read it.
---@param job StatusJob
---@return Status
function report.of(job)
  local line, level = report.line(job.tokens.total, job.model.limit, job.options)
  return {
    level = level.name,
    text = line,
    advice = level.name ~= "green" and advice(level) or nil,
    report = job.report and text(job, level) or nil,
  }
end

return report
