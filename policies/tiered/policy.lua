--- @api 2
--- In tiers (RULES 46 to 54): large results are offloaded as they come; over half of the limit
--- inputs that are on disk are truncated; over three quarters a structured summary is made, with an
--- archive first; over 85 % a checkpoint, from which a fresh session should start. After a summary
--- the agent is watched: one that forgot what it is there for is given the original back.
---
--- Hooks only; which stage is gone through stands in `stops.lua`, as stop hooks, what each does in
--- the modules of this folder, what is told in `prompts`. `job.memo` holds what `summary.lua`,
--- `drift.lua` and `lib/stopping.lua` say that they keep there, and
---
--- - `tried`: the size at which the first two stages were tried last
--- - `whole`: that a large result stayed whole
--- - `asked`: that a person typed `compress`
--- - `bring`, `waited`: that a compression is made for what was found again, and at which size one
---   was tried last
--- - `handed`: after how many compressions a fresh session was recommended
--- - `left`: what the last summary that was planned leaves, and how many compressions there were before
--- - `ahead`: that nothing is due, so that what is planned is planned in advance
local drift = require("drift")
local levels = require("levels")
local report = require("report")
local share = require("numbers").share
local stages = require("stages")
local stopping = require("stopping")
local stops = require("stops")
local summary = require("summary")
local wording = require("wording")

---@type Policy
local policy = {
  doc = "In tiers: offload, truncate what is on disk, summarise, hand over; with stop hooks.",
  options = require("options"),
}

---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local limit, opt = job.model.limit, job.options
  local reserve = math.min(opt.reserve, share(limit, opt.reserve_share))
  return {
    warn = share(limit, opt.summarize_at),
    ahead = share(limit, math.min(opt.ahead_at, opt.summarize_at)),
    soft = share(limit, opt.truncate_at),
    hard = limit - reserve,
    target = share(limit, opt.summarize_to),
    reserve = reserve,
  }
end

--- Stage 1. What is not too large is left to the policies behind.
---@param job ToolResultJob
---@return ToolResultAnswer|nil
function policy.tool_result(job)
  local none = {}
  local answer, said = stopping.through(stops, "tool_result", job, none)
  job.memo.whole = job.memo.whole or answer.how == "keep" or nil
  stopping.keep(job, said)
  return answer ~= none and answer or nil
end

--- Whether a summary brought too little, and the prompt has hardly grown since.
---@param job TriggerJob
local function is_resting(job)
  local at = job.stalled_at
  return at ~= nil and levels.over(at, job, "summarize_at")
    and job.tokens.total < at * (1 + job.options.minimum_gain)
end

--- Whether the last summary still lasts: the next one is due when the prompt has grown from one threshold
--- to the other, wherever that one ended.
---@param job TriggerJob
local function is_lasting(job)
  local left, opt = job.memo.left, job.options
  local grows = share(job.model.limit, opt.summarize_at - opt.summarize_to)
  return left ~= nil and left.before ~= job.compressions and job.tokens.total < left.size + grows
end

--- Whether the first two stages may find something: a file that holds what was written, or a result
--- that stayed whole; and were not tried not long ago.
---@param job TriggerJob
local function is_worth_trying(job)
  local at, total = job.memo.tried, job.tokens.total
  return (job.workspace or job.memo.whole == true)
    and not (at and total >= at and total < at + share(job.model.limit, job.options.retry_after))
end

--- Whether what was found again waits for a compression, and none was tried for it lately.
---@param job TriggerJob
local function brings_back(job)
  local memo, total = job.memo, job.tokens.total
  local at = memo.waited
  if not job.recall_pending or at and total < at + share(job.model.limit, job.options.retry_after) then
    return false
  end
  memo.waited = total
  return true
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  local total, asked = job.tokens.total, job.memo.asked
  job.memo.asked, job.memo.bring = nil, brings_back(job) or nil
  job.memo.waited = job.recall_pending and job.memo.waited or nil
  job.memo.ahead = nil
  if job.cause == "overflow" then
    return { level = "hard", reason = "the provider refused it" }
  elseif total > job.budgets.hard then
    return { level = "hard", reason = "the window forces it" }
  elseif levels.over(total, job, "handover_at") and not is_resting(job) then
    return { level = "hard", reason = "the window is nearly full" }
  elseif asked or job.requested_by or job.cause == "manual" then
    return { level = "asked", reason = "asked for" }
  elseif job.memo.bring then
    return { level = "asked", reason = "what was said of the intent comes back" }
  elseif levels.over(total, job, "summarize_at") and not (is_resting(job) or is_lasting(job)) then
    return { level = "soft", reason = "three quarters of the limit are in use" }
  elseif levels.over(total, job, "truncate_at") and is_worth_trying(job) then
    return { level = "soft", reason = "half of the limit is in use" }
  end
  job.memo.ahead = levels.over(total, job, "ahead_at") or nil
  return false
end

---@param job PlanJob
---@return Orders
function policy.plan(job)
  local work = stages.begin(job)
  if stages.over(job, work, "truncate_at") and not levels.over(work.size, job, "handover_at") then
    work = stages.offload(job, work)
    job.memo.whole = job.memo.whole and #work.steps == 0 or nil
  end
  local said
  work, said = stopping.through(stops, "plan", job, work)
  -- A budget that somebody set has no bound below it: it is filled.
  work.whole = work.whole or job.budgets.soft >= job.budgets.hard
  job.memo.tried = work.size
  if work.summarize and not job.memo.ahead then
    job.memo.left = { size = work.size, before = job.compressions }
  end
  return stopping.in_plan(stages.orders(job, work), said)
end

---@param job SummaryPromptJob
---@return SummaryPrompt
function policy.summary_prompt(job)
  return summary.prompt(job)
end

---@param job VerifyJob
---@return boolean|Rejected|Seconded
function policy.verify(job)
  return summary.verify(job)
end

--- What a person types to have it done: `compress`, or `context status`.
---@param job ObserveJob
---@param seen Observe
local function obey(job, seen)
  local typed = job.entry.speaker == "human" and job.entry:text():lower():match("^%s*/?(.-)%s*$")
  if typed == "compress" then
    job.memo.asked = true
  elseif typed == "context status" then
    seen.report = true
  end
end

---@param job ObserveJob
---@return Observe|Asking|nil
function policy.observe(job)
  local seen, ask = {}, nil
  if drift.is_watched(job) then
    seen.drift, ask = drift.of(job)
  end
  if ask then
    return { ask = ask }
  end
  obey(job, seen)
  local answer, said = stopping.through(stops, "observe", job, seen)
  return stopping.in_observe(job, answer, said)
end

---@param job RenderJob
---@return Render|nil
function policy.render(job)
  return wording.of(job)
end

---@param job StatusJob
---@return Status
function policy.status(job)
  return report.of(job)
end

return policy
