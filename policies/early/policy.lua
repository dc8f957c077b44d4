--- @api 2
--- Early and in one pass (RULES 42 to 45): from half of the limit on, one summary stands for
--- everything but what is protected and the latest messages; tool results are digested before they
--- are first sent.
---
--- Hooks only; what they decide by stands in the modules of this folder. `job.memo.trimming` says
--- that the plan in the making is an emergency, for which no model is asked.
local digests = require("digests")
local log = require("log")
local occasion = require("occasion")
local share = require("numbers").share
local summary = require("summary")
local trimming = require("trimming")

---@type Policy
local policy = {
  doc = "From half of the limit on, one summary in one pass; tool results are digested on arrival.",
  options = require("options"),
}

---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local limit, opt = job.model.limit, job.options
  local reserve = math.min(opt.reserve, share(limit, opt.reserve_share))
  return {
    ahead = share(limit, opt.ahead_at),
    soft = share(limit, opt.summarize_at),
    hard = limit - reserve,
    target = share(limit, opt.summarize_to),
    reserve = reserve,
  }
end

--- Digests are this policy's (RULES 43). What is too large for the window in spite of them, or with
--- digests switched off, is for the policies behind to move out of the prompt.
---@param job ToolResultJob
---@return ToolResultAnswer
function policy.tool_result(job)
  local digest = job.options.verbosity ~= "debug" and digests.of(job) or nil
  if digest then
    return { how = "digest", text = digest }
  end
  local behind = ep.next(job)
  return behind and behind.how == "offload" and behind or { how = "keep" }
end

--- Whether so much of the limit is in use that messages are trimmed (RULES 42).
---@param job TriggerJob|PlanJob
local function is_emergency(job)
  return job.tokens.total >= share(job.model.limit, job.options.trim_at)
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  local emergency = is_emergency(job)
  if emergency or job.cause == "overflow" then
    return { level = "hard", reason = emergency and "emergency" or "the provider refused it" }
  elseif job.cause == "manual" then
    return { level = "soft", reason = "asked for" }
  elseif job.tokens.total >= job.budgets.soft and not occasion.is_resting(job) then
    return { level = "soft", reason = "the conversation fills its share of the limit" }
  end
  return false
end

--- A budget that somebody set has no bound below it: it is filled, and nothing is an emergency.
---@param job PlanJob
---@return Orders
function policy.plan(job)
  local is_set = job.budgets.soft >= job.budgets.hard
  local is_trimmed = job.cause == "hard" and not is_set and is_emergency(job)
  job.memo.trimming = is_trimmed or nil
  local ops, size
  if is_trimmed then
    ops, size = trimming.of(job)
  else
    ops, size = summary.of(job, is_set)
  end
  if job.cause == "hard" and size > job.max_tokens then
    return { ops = { { op = "fit" } }, reason = "nothing less is enough" }
  end
  return { ops = ops, reason = is_trimmed and "emergency" or "one summary of what is older" }
end

---@param job SummaryPromptJob
---@return SummaryPrompt
function policy.summary_prompt(job)
  return {
    --- In an emergency nobody is waited for: what a model wrote before is enough.
    style = job.memo.trimming and "none" or "separate",
    user = ep.prompt("summary"),
    max_tokens = job.max_tokens,
    sections = { "Key decisions", "Unresolved issues", "Current state" },
    rest = (ep.prompt("rest"):gsub("%s+$", "")),
  }
end

--- A summary begins with a fixed word (RULES 42), and names the way back where there is one.
---@param job RenderJob
---@return string
local function label(job)
  if job.in_files then
    return "[SUMMARY]: .epitome/offloaded/{id}.md"
  end
  return job.in_store and "[SUMMARY]: epitome recall {id}" or "[SUMMARY]: "
end

--- A summary stands first, behind the system prompt.
---@param job RenderJob
---@return Render|nil
function policy.render(job)
  return job.part == "checkpoint" and { text = label(job), place = "front" } or nil
end

--- The session log gets a block for each action, where there is a folder to write it in.
---@param job EventJob
---@return Noted|nil
function policy.on_event(job)
  local block = job.workspace and job.options.session_log and log.block(job) or nil
  return block and { write_file = { name = log.NAME, text = block, append = true } } or nil
end

return policy
