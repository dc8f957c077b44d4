--- @api 1
--- Never compresses: the baseline that shows what a conversation takes as it is.
---@type Policy
local policy = { doc = "Never compresses." }

---@param job ArriveJob
---@return Arrive
function policy.arrive(job)
  return { how = "keep" }
end

---@param job TriggerJob
---@return boolean|Due
function policy.trigger(job)
  return false
end

return policy
