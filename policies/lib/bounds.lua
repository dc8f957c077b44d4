--- Bounds: what was answered to `budgets`, and what a policy keeps to of its own. Used by `ollm` and
--- `staged`.
local bounds = {}

--- The bounds that hold: what whoever answered `budgets` in front of a policy left out is its own.
---@param job PlanJob|TriggerJob
---@param own Budgets
---@return Budgets
function bounds.held(job, own)
  local held = {}
  for name, bound in pairs(own) do
    held[name] = bound
  end
  for name, bound in pairs(job.budgets) do
    held[name] = bound
  end
  return held
end

return bounds
