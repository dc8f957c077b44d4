--- @api 2
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

--- What comes down with the size that a compression waits for, so that it is worth one: what it
--- shrinks to, and what stays.
local SCALED = { "soft", "target", "checkpoints", "keep_recent" }

--- How large the prompt may grow. `ep.next(job)` is what `BASE` answers, of which the rest stays.
---@param job BudgetsJob
---@return Budgets
function policy.budgets(job)
  local bounds = ep.next(job)
  for _, name in ipairs(SCALED) do
    bounds[name] = bounds[name] and math.floor(bounds[name] * job.options.compress_from)
  end
  return bounds
end

return policy
