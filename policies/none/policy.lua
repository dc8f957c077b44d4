--- @api 2
--- Never compresses: the baseline that shows what a conversation takes as it is.
---@type Policy
local policy = { doc = "Never compresses." }

---@param job ToolResultJob
---@return ToolResultAnswer
function policy.tool_result(job)
  return { how = "keep" }
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  return false
end

return policy
