--- @api 1
--- `NAME` decides as `BASE` does, but for the hooks that stand here. HOOKS.md of Epitome says what
--- hooks there are; an editor with lua-language-server knows them from `../types`.
local policy = {
  doc = "As BASE, but compresses earlier.",
  extends = "BASE",
  options = {
    compress_from = {
      type = "number",
      default = 0.9,
      min = 0,
      max = 1,
      doc = "A compression is considered from this share of the size that BASE waits for.",
    },
  },
}

--- How large the prompt may grow. `ep.next(job)` is what `BASE` answers; one number of that is
--- changed, the rest stays.
---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local bounds = ep.next(job)
  bounds.soft = math.floor(bounds.soft * job.opt.compress_from)
  return bounds
end

return policy
