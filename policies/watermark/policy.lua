--- @api 2
--- A mark ends a task (RULES 35 to 41): tool calls and their results before it leave the prompt,
--- and the talk stays, word for word.
---
--- Hooks only; what they decide by stands in the modules of this folder. Those that are missing
--- here are answered by the policies behind, and so is whatever the window forces where nothing is
--- marked. `job.memo` holds what leads to the next mark: `due` why a plan was asked for, `boundary`
--- the hash of the text that began a task, `from` and `messages` what the automatic marks count,
--- `marked` and `lost` whether there was a watermark and that it is gone was said.
local boundary = require("boundary")
local marks = require("marks")
local net = require("net")
local pruning = require("pruning")

---@type Policy
local policy = {
  doc = "A mark ends a task: tool traffic before it leaves, the talk stays.",
  options = require("options"),
}

--- What is said where the watermark is not in the conversation (RULES 35, 36).
local LOST = "the watermark is not in this conversation; "
local ANEW, UNCHANGED = "the last mark in it counts", "nothing is changed"

--- What is said where a tool asked for a mark and no call of one is there.
local NOT_FOUND = "no call of %s with its result is in this conversation behind the watermark; nothing is changed"

---@param job ToolResultJob
---@return ToolResultAnswer|nil
function policy.tool_result(job)
  return job.options.keep_results and { how = "keep" } or nil
end

--- Whether the conversation has grown so far since the last mark that one is set.
---@param job TriggerJob
local function has_grown(job)
  local opt, memo = job.options, job.memo
  local grown = job.tokens.conversation - (memo.from or 0)
  return opt.auto_mark_tokens > 0 and grown >= opt.auto_mark_tokens
    or opt.auto_mark_messages > 0 and (memo.messages or 0) >= opt.auto_mark_messages
end

--- Why there is something to do: `call` for a tool that marks, `task` for a new task, `here` for a
--- mark that is set at the newest message, `lost` for a watermark that has to be said to be gone.
---@param job TriggerJob
---@return string|nil why, string|nil reason
local function due(job)
  local memo, asked = job.memo, job.requested_by
  local tool = marks.among(job.new_results, job.options)
  if asked == "user" then
    return "here", "the user asked for it"
  elseif tool or asked then
    return "call", (tool or asked) .. " marks the end of a task"
  elseif memo.boundary then
    return "task", "a new task began"
  elseif has_grown(job) then
    return "here", "the conversation has grown since the last mark"
  elseif memo.marked and not memo.lost and not job.watermark then
    return "lost", "the watermark is gone"
  end
  return nil, nil
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  local memo = job.memo
  if job.watermark then
    memo.marked, memo.lost = true, nil
  end
  -- After a mark, growth is counted from what it left.
  if memo.from == "next" then
    memo.from = job.tokens.conversation
  end
  local why, reason = due(job)
  memo.due, memo.lost = why, memo.lost or why == "lost" or nil
  local behind = ep.next(job)
  if type(behind) == "table" and behind.level == "hard" then
    return behind
  end
  return why ~= nil and { level = "asked", reason = reason }
end

--- Whether the prompt would still be too large with so much less in it: more than the window takes,
--- or than a policy in front of this one wants.
---@param job PlanJob
---@param saved integer
local function is_forced(job, saved)
  local most = job.cause == "soft" and job.target or job.max_tokens
  return job.tokens.total - saved > most
end

--- The orders for a mark: what leaves before it, and where that is not enough, a checkpoint.
---@param job PlanJob
---@param mark integer|nil
---@return Order[] ops
local function orders(job, mark)
  local ops, saved = {}, 0
  if mark then
    ops[1], saved = pruning.of(job.entries, mark, job.options, 1)
  end
  if is_forced(job, saved) then
    local checkpoint, from = net.of(job, mark)
    ops = { checkpoint }
    ops[#ops + 1] = mark and pruning.of(job.entries, mark, job.options, from) or nil
  end
  return ops
end

---@param job PlanJob
---@return Orders|nil
function policy.plan(job)
  local memo = job.memo
  local was_said, called = memo.lost and memo.due ~= "lost", memo.due == "call"
  local mark, tool = marks.latest(job, memo)
  memo.due, memo.boundary, memo.from, memo.messages = nil, nil, "next", nil
  if not mark and not job.watermark and is_forced(job, 0) then
    return nil
  end
  local ops = orders(job, mark)
  -- What is marked now is there; what was marked before is told of once.
  if mark then
    memo.marked, memo.lost = true, nil
  elseif job.watermark_lost then
    memo.lost = true
  end
  if job.watermark_lost and not was_said then
    ops[#ops + 1] = { op = "warn", text = mark and LOST .. ANEW or LOST .. UNCHANGED }
  end
  if called and not mark then
    local tools = "`" .. table.concat(job.options.tools, "` or `") .. "`"
    ops[#ops + 1] = { op = "warn", text = string.format(NOT_FOUND, tools) }
  end
  local reason = mark and "a task ended" or nil
  return { ops = ops, watermark = mark, watermark_tool = tool, reason = reason }
end

---@param job ObserveJob
---@return Observe|Ask|nil
function policy.observe(job)
  local memo, entry = job.memo, job.entry
  if entry.role == "user" and entry.speaker == "human" then
    local begins, ask = boundary.of(job)
    if ask then
      return { ask = ask }
    elseif begins then
      memo.boundary = ep.hash(entry:text())
    end
  end
  if job.options.auto_mark_messages > 0 then
    memo.messages = (memo.messages or 0) + 1
  end
  return nil
end

return policy
