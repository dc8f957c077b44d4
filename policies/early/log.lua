--- The session log: `.epitome/SESSION_LOG.md` in the client's folder gets a block for each action
--- (RULES 44). It is written for people; what reads it back stays in the prompt as it is.
local thousands = require("numbers").thousands

local log = {}

log.NAME = "SESSION_LOG.md"

--- What a compression is called; one that is made in an emergency is trimming.
local SUMMARY, TRIMMING = "summary", "emergency trim"

--- The events that are an action on one tool result, and what each is called.
local RESULTS = {
  ["tool-result-digested"] = "digest",
  ["tool-result-offloaded"] = "offload",
}

--- So many tokens of the limit: `4,200 / 8,000 (52.5%)`.
---@param tokens integer
---@param limit integer
---@return string
local function usage(tokens, limit)
  local percent = 100 * tokens / math.max(limit, 1)
  return string.format("%s / %s (%.1f%%)", thousands(tokens), thousands(limit), percent)
end

--- How many messages became how many summaries in a compression: ` (12 messages → 1 summary)`.
---@param event any
---@return string
local function became(event)
  local messages, summaries = 0, 0
  for _, op in ipairs(event.ops or {}) do
    if op.op == "summarize" then
      messages, summaries = messages + #op.entries, summaries + 1
    end
  end
  if summaries == 0 then
    return ""
  end
  local many, made = messages == 1 and "message" or "messages", summaries == 1 and "summary" or "summaries"
  return string.format(" (%d %s → %d %s)", messages, many, summaries, made)
end

--- The block of an action that brought the prompt from one size to another.
---@param job EventJob
---@param action string
---@param before integer
---@param after integer
---@return string
local function block(job, action, before, after)
  local saved, limit = math.max(before - after, 0), job.model.limit
  local percent = math.floor(100 * saved / math.max(before, 1) + 0.5)
  return table.concat({
    string.format("## %s: %s", job.event.at, action),
    "",
    "- Before: " .. usage(before, limit),
    "- After: " .. usage(after, limit),
    string.format("- Messages: %d", job.messages),
    string.format("- Summaries: %d%s", job.compressions, became(job.event)),
    string.format("- Savings: %s tokens (%d%% reduction)", thousands(saved), percent),
    "",
  }, "\n")
end

--- The block for an event; `nil` where it is no action. A result is weighed with the prompt that
--- it stands in.
---@param job EventJob
---@return string|nil
function log.block(job)
  local event = job.event
  if event.event == "compressed" then
    local action = job.memo.trimming and TRIMMING or SUMMARY
    return block(job, action, event.tokens_before, event.tokens_after)
  end
  local action, now = RESULTS[event.event], job.tokens.total
  return action and block(job, action .. " of " .. event.tool, now + event.saved, now) or nil
end

return log
