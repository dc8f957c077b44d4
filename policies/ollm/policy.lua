--- @api 2
--- OLLM's way (RULES 19 to 25): compress when the conversation fills its part of the room, into
--- checkpoints that age and become one; what the user wrote stays.
---
--- Hooks only; what they decide by stands in the modules of this folder. Those that are missing
--- here (`tool_result` among them) are answered by the built-in policy. `job.memo` holds what the plan
--- in the making leaves to checkpoints: `checkpoints`, in tokens, and whether they are `forced` down.
local ageing = require("ageing")
local budget = require("budget")
local classes = require("classes")
local compression = require("compression")
local decisions = require("decisions")
local occasion = require("occasion")
local reliability = require("reliability")
local share = require("numbers").share
local summarisation = require("summarisation")
local thousands = require("numbers").thousands

---@type Policy
local policy = {
  doc = "Compresses into checkpoints that age and become one; what the user wrote stays.",
  options = require("options"),
}

---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local class, bounds = classes.of(job), budget.of(job)
  bounds.class, bounds.strategy, bounds.system = class.class, class.strategy, class.system
  return bounds
end

--- What would be due, were compression enabled. Only a request that brings a reply is looked at:
--- it is the first that is heard after a complete message of the assistant was added. One that is
--- repeated or amended is not, unless the window forces it. What the provider has cached has no say.
---@param job TriggerJob
---@return Due|nil
local function due(job)
  local alarm = budget.alarm(job)
  if alarm or job.cause == "overflow" then
    return { level = "hard", reason = alarm or "the provider refused it" }
  elseif job.cause == "manual" then
    return { level = "soft", reason = "asked for" }
  elseif job.new_model_message and job.tokens.total >= budget.held(job).soft and not occasion.is_resting(job) then
    return { level = "soft", reason = "the conversation fills its part of the room" }
  end
  return nil
end

---@param job TriggerJob
---@return boolean|Due|Passed
function policy.trigger(job)
  return occasion.of(job, due(job))
end

--- Starts over, and says what it did not come down to.
---@param job PlanJob
---@param size integer
---@return Order[]
local function starting_over(job, size)
  local text = string.format(
    "The conversation starts over with one summary: %s tokens would be left even if all but the newest"
      .. " messages became small, and the limit is %s.",
    thousands(size),
    thousands(job.model.limit)
  )
  return { ageing.rollover(job.tokens.conversation), { op = "warn", text = text } }
end

--- Whether an emergency ends with a compression to this size: the one that goes furthest may leave
--- all that there is room for, so that the newest words of the user stay.
---@param job PlanJob
---@param ops Order[]
---@param size integer
---@param is_last boolean
local function is_enough(job, ops, size, is_last)
  return size < share(job.model.limit, job.options.emergency_at)
    or is_last and #ops > 0 and size <= job.max_tokens
end

--- How far an emergency goes, step by step: as any compression does; checkpoints come down as far as they
--- must; the oldest of the user's newest messages are folded, where the window cannot hold them all.
local STEPS = {
  { forced = false, overflow = false },
  { forced = true, overflow = false },
  { forced = false, overflow = true },
  { forced = true, overflow = true },
}

--- The operations and why. In an emergency a compression goes as far as it must; where the furthest
--- is not enough, what is over the limit starts over, and the rest is met in the kernel's own way. A
--- budget that somebody set, which has no bound below it, is met in that way at once: it is filled.
---@param job PlanJob
---@return Order[] ops, string reason
local function orders(job)
  job.memo.checkpoints, job.memo.forced = nil, nil
  local held = budget.held(job)
  if held.soft >= held.hard then
    return { { op = "fit" } }, "a budget that is set is filled"
  elseif classes.of(job).strategy == "rollover" then
    return { ageing.rollover(job.tokens.conversation) }, "a window of class 1 starts over"
  end
  local size = 0
  for _, step in ipairs(STEPS) do
    local ops, most
    ops, size, most = compression.of(job, step.forced, step.overflow)
    if job.cause ~= "hard" or is_enough(job, ops, size, step.forced) then
      job.memo.checkpoints, job.memo.forced = most, step.forced or nil
      return ops, step.forced and "emergency" or "what the model did before the recent part"
    end
  end
  if budget.alarm(job) == "rollover" then
    return starting_over(job, size), "nothing less is enough"
  end
  return { { op = "fit" } }, "emergency"
end

---@param job PlanJob
---@return Orders
function policy.plan(job)
  local ops, reason = orders(job)
  ops[#ops + 1] = #ops > 0 and reliability.warning(job) or nil
  return { ops = ops, reason = reason, snapshot = occasion.is_saved(job) }
end

---@param job AgeJob
---@return Ageing[]
function policy.age(job)
  return ageing.steps(job.checkpoints, {
    most = job.memo.checkpoints or budget.held(job).checkpoints,
    room = budget.room(job),
    class = classes.of(job),
    forced = job.memo.forced,
  })
end

---@param job GoalsJob
---@return Found[]
function policy.goals(job)
  return job.options.classify_decisions and decisions.of(job) or {}
end

---@param job SummaryPromptJob
---@return SummaryPrompt|nil
function policy.summary_prompt(job)
  return summarisation.prompt(job, ep.next(job))
end

---@param job StatusJob
---@return Status
function policy.status(job)
  return reliability.status(job)
end

return policy
