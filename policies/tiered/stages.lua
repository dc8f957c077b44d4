--- The stages of a plan: what each leaves, and what it orders (RULES 46 to 49).
---
--- The stop hooks decide which of them are gone through; each is given what the ones before made of
--- the prompt.
local accounts = require("accounts")
local drift = require("drift")
local intents = require("intent")
local levels = require("levels")
local offloading = require("offloading")
local summary = require("summary")
local truncation = require("truncation")

local stages = {}

--- A text that is made shorter, in a message.
---@class Step
---@field place integer
---@field op Order
---@field saved integer

--- A plan in the making.
---@class Work
---@field size integer what the prompt comes to
---@field last integer the last message that is old enough for the first two stages
---@field steps Step[] what the first two stages do
---@field spent boolean whether these were gone through
---@field summarize Order|nil
---@field covers table<integer, boolean> what that stands for
---@field lines Insert[] what says that an answer is among it
---@field whole boolean whether the kernel is to make it fit in its own way
---@field handover boolean whether a fresh session is recommended

--- What there is before anything is done. Old are the messages before the newest, and what a person
--- asked for by hand starts at once.
---@param job PlanJob
---@return Work
function stages.begin(job)
  job.memo.is_set = job.budgets.soft >= job.budgets.hard or nil
  return {
    size = job.tokens.total,
    last = math.max(job.entries.count - job.options.keep_messages, 0),
    steps = {},
    spent = false,
    summarize = nil,
    covers = {},
    lines = {},
    whole = false,
    handover = false,
  }
end

--- The threshold of a plan: one that is made in advance of a summary is over that one's sooner.
---@param job PlanJob
---@param threshold "truncate_at"|"summarize_at"|"handover_at"
---@return "truncate_at"|"summarize_at"|"handover_at"|"ahead_at"
local function met(job, threshold)
  local is_ahead = job.cause == "soft" and job.memo.ahead
  return is_ahead and threshold == "summarize_at" and "ahead_at" or threshold
end

--- Whether the prompt as it is made so far is over a threshold. What somebody asked for is.
---@param job PlanJob
---@param work Work
---@param threshold "truncate_at"|"summarize_at"|"handover_at"
---@return boolean
function stages.over(job, work, threshold)
  if job.cause == "manual" and threshold ~= "handover_at" then
    return job.memo.bring or work.size > job.target
  end
  local is_set = job.cause == "hard" and job.tokens.total > job.max_tokens
  return levels.over(work.size, job, met(job, threshold))
    or is_set and threshold ~= "handover_at" and work.size > job.max_tokens
end

--- Adds steps to a plan.
---@param work Work
---@param steps Step[]
---@return Work
local function with(work, steps)
  for _, step in ipairs(steps) do
    work.steps[#work.steps + 1] = step
    work.size = work.size - step.saved
  end
  return work
end

--- Stage 1 for what stayed whole on arrival, and is old now.
---@param job PlanJob
---@param work Work
---@return Work
function stages.offload(job, work)
  return with(work, offloading.of(job, work.last))
end

--- Stage 2.
---@param job PlanJob
---@param work Work
---@return Work
function stages.truncate(job, work)
  work.spent = true
  return with(work, truncation.of(job, work.last))
end

--- Stage 3. What the stages before did to messages that leave now is not done.
---@param job PlanJob
---@param work Work
---@return Work
function stages.summarize(job, work)
  local opt, wanted = job.options, math.min(job.target, job.max_tokens)
  if job.memo.bring then
    wanted = math.min(wanted, job.tokens.total - 2 * opt.drift_excerpts)
  end
  local covers, freed, is_new = summary.covers(job, wanted - job.floor)
  if not is_new then
    work.whole = job.cause == "hard"
    return work
  end
  for _, place in ipairs(covers) do
    work.covers[place] = true
  end
  local size = job.tokens.total - freed
  for _, step in ipairs(work.steps) do
    size = size - (work.covers[step.place] and 0 or step.saved)
  end
  -- Behind what a person asked and the summary roles go on to alternate.
  local lines, said = accounts.of(job, accounts.leaving(job.entries, covers))
  work.lines, size = lines, size + said
  local target = summary.target(job, wanted - size, freed, size)
  work.summarize = { op = "summarize", entries = covers, target = target }
  work.size = size + target
  work.whole = job.cause == "hard" and work.size > job.max_tokens
  job.memo.saved = math.max(freed - target, 0)
  job.memo.intent = ep.clip(intents.of(job), 400)
  job.memo.stated = intents.stated(job)
  job.memo.artifacts = summary.artifacts(job)
  job.memo.drift = opt.drift_messages > 0 and drift.anchor(job, job.memo.intent, work.covers) or nil
  return work
end

--- Over 85 %: a checkpoint, and the advice to start afresh from it. That is given once for each.
---@param job PlanJob
---@param work Work
---@return Work
function stages.checkpoint(job, work)
  work = stages.summarize(job, work)
  work.handover = job.memo.handed ~= job.compressions
  job.memo.handed = job.compressions
  return work
end

--- A session's name as that of a file.
---@param session string
local function file_name(session)
  local name = session:gsub("[^%w._-]+", "-"):gsub("^[.-]+", ""):sub(1, 80)
  return name ~= "" and name or "session"
end

--- The orders that a plan comes to: the archive before anything else. Every compression begins with
--- a restore point.
---@param job PlanJob
---@param work Work
---@return Orders
function stages.orders(job, work)
  local ops, shortens = {}, false
  if (work.summarize or work.whole) and job.workspace then
    job.memo.archive = "archive/" .. file_name(job.session) .. "_full.md"
    ops[1] = { op = "write_file", name = job.memo.archive }
  end
  for _, step in ipairs(work.whole and {} or work.steps) do
    if not work.covers[step.place] then
      ops[#ops + 1], shortens = step.op, true
    end
  end
  ops[#ops + 1] = work.whole and { op = "fit" } or work.summarize
  for _, line in ipairs(work.whole and {} or work.lines) do
    ops[#ops + 1] = line
  end
  ops[#ops + 1] = work.handover and { op = "handover" } or nil
  local reason = work.whole and "nothing less is enough"
    or work.summarize and "older messages became a summary"
    or shortens and "old results and inputs were truncated"
    or nil
  return { ops = ops, snapshot = true, reason = reason }
end

return stages
