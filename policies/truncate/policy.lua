--- @api 2
--- Drops the oldest exchanges until the newest fit: the baseline that everybody knows.
---@type Policy
local policy = { doc = "Drops the oldest exchanges until the newest fit." }

--- Stands where messages left. What stays may begin with the assistant; a conversation may not.
local NOTE = "[Earlier messages are left out.]"

--- What a message takes beside its text, in tokens.
local MESSAGE = 4

---@param job ToolResultJob
---@return ToolResultAnswer
function policy.tool_result(job)
  return { how = "keep" }
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  if job.cause == "manual" then
    return { level = "soft", reason = "asked for" }
  elseif job.cause == "overflow" or job.tokens.total > job.budgets.hard then
    return { level = "hard", reason = "the window forces it" }
  end
  return false
end

--- Whether messages left earlier: then the note stands there already.
---@param entries Columns
local function has_left(entries)
  for place = 1, entries.count do
    if entries.sent[place] == 0 then
      return true
    end
  end
  return false
end

--- The oldest messages that must leave to save so many tokens, in whole exchanges.
---@param entries Columns
---@param excess integer
---@return integer[]
local function oldest(entries, excess)
  local gone, exchange = {}, nil
  for place = 1, entries.count do
    if excess <= 0 and entries.exchange[place] ~= exchange then
      break
    end
    if entries.sent[place] > 0 and not entries.pinned[place] then
      gone[#gone + 1] = place
      excess = excess - entries.sent[place]
      exchange = entries.exchange[place]
    end
  end
  return gone
end

--- The last of the messages that leave before the first that stays: there the note leads.
---@param entries Columns
---@param gone integer[]
---@return integer?
local function before_first(entries, gone)
  local leaves, last = {}, nil
  for _, place in ipairs(gone) do
    leaves[place] = true
  end
  for place = 1, entries.count do
    if leaves[place] then
      last = place
    elseif entries.role[place] ~= "system" then
      break
    end
  end
  return last
end

---@param job PlanJob
---@return Orders
function policy.plan(job)
  local entries = job.entries
  local most = job.cause == "manual" and job.target or job.max_tokens
  local gone = oldest(entries, job.tokens.total + ep.count(NOTE) + MESSAGE - most)
  if #gone == 0 then
    return { ops = {}, reason = "nothing can leave" }
  end
  local ops = { { op = "drop", entries = gone } }
  local after = before_first(entries, gone)
  if after and not has_left(entries) then
    ops[#ops + 1] = { op = "insert", after = after, role = "user", text = NOTE }
  end
  return { ops = ops, reason = "the newest messages that fit" }
end

return policy
