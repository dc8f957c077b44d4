--- @api 2
--- A redesign in stages (RULES 26 to 34): identification, preparation, summarisation, checkpoint
--- creation, context update, validation. The conversation's mode says what its summaries dwell on,
--- and the model's size how far they can be relied on.
---
--- Hooks only; what they decide by stands in the modules of this folder and in `lib`, what a model
--- is told in `prompts`. Those that are missing here (`tool_result` among them) are answered by the
--- built-in policy. `job.memo` holds what the plan in the making leaves to checkpoints: `checkpoints`,
--- in tokens, and whether they are `forced` down; and the `unknown_mode` that was warned of last.
local ageing = require("ageing")
local assembly = require("assembly")
local bearing = require("bearing")
local classes = require("classes")
local emergency = require("emergency")
local identification = require("identification")
local modes = require("modes")
local occasion = require("occasion")
local preparation = require("preparation")
local room = require("room")
local summarisation = require("summarisation")
local validation = require("validation")

---@type Policy
local policy = {
  doc = "Compresses in stages, by the conversation's mode and the model's size.",
  options = require("options"),
}

---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  return room.bounds(job)
end

--- What would be due, were compression enabled.
---@param job TriggerJob
---@return Due|nil
local function due(job)
  if job.cause == "overflow" then
    return { level = "hard", reason = "the provider refused it" }
  elseif job.tokens.total > room.held(job).hard then
    return { level = "hard", reason = "emergency" }
  elseif job.requested_by or job.cause == "manual" then
    return { level = "asked", reason = "asked for" }
  elseif job.tokens.total > room.held(job).soft and not occasion.is_resting(job) then
    return { level = "soft", reason = "conversation and checkpoints fill their part of the room" }
  end
  return nil
end

---@param job TriggerJob
---@return boolean|Due|Passed
function policy.trigger(job)
  return occasion.of(job, due(job))
end

--- What the stages make of it. Where checkpoints find too little room, fewer of the newest messages
--- stay; an emergency has rungs of its own before that.
---@param job PlanJob
---@return Prepared
local function in_stages(job)
  local keep, prepared = job.options.keep_messages, nil
  repeat
    local found = identification.of(job, keep)
    prepared = preparation.of(job, found, found.older, false)
    keep = keep - 2
  until keep < 1 or job.cause == "hard" or not prepared.is_crowded
  return prepared
end

--- The operations and why. A budget that somebody set has no bound below it: it is filled.
---@param job PlanJob
---@return Order[] ops, string reason
local function orders(job)
  job.memo.checkpoints, job.memo.forced = nil, nil
  local held = room.held(job)
  if held.soft >= held.hard then
    return { { op = "fit" } }, "a budget that is set is filled"
  elseif classes.of(job).strategy == "rollover" then
    return { ageing.rollover(job.tokens.conversation) }, "a window of class 1 starts over"
  end
  local prepared = in_stages(job)
  local is_forced = job.cause == "hard" and not validation.holds(job, prepared.size)
  if is_forced then
    prepared = emergency.of(job, prepared.size)
  end
  job.memo.checkpoints, job.memo.forced = prepared.checkpoints, is_forced or nil
  return prepared.ops, prepared.reason
end

---@param job PlanJob
---@return Orders
function policy.plan(job)
  local ops, reason = orders(job)
  if #ops > 0 then
    ops[#ops + 1] = bearing.warning(job)
    ops[#ops + 1] = modes.warning(job)
  end
  return { ops = ops, reason = reason, snapshot = occasion.is_saved(job) }
end

---@param job AgeJob
---@return Ageing[]
function policy.age(job)
  return ageing.steps(job.checkpoints, {
    most = job.memo.checkpoints or room.held(job).checkpoints,
    room = room.beside(job),
    class = classes.of(job),
    forced = job.memo.forced,
  })
end

---@param job SummaryPromptJob
---@return SummaryPrompt
function policy.summary_prompt(job)
  return summarisation.prompt(job)
end

---@param job VerifyJob
---@return boolean|Rejected|Seconded
function policy.verify(job)
  return validation.of(job)
end

--- A system prompt is put together where it is Epitome's; all other texts are worded by the
--- policies behind.
---@param job RenderJob
---@return Render|nil
function policy.render(job)
  local is_made = job.part == "system" and job.options.system_prompt
  return is_made and { parts = assembly.parts(job) } or nil
end

---@param job StatusJob
---@return Status
function policy.status(job)
  return bearing.status(job)
end

return policy
