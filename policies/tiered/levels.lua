--- Levels: how full the window is, in a word (RULES 50).
local share = require("numbers").share

local levels = {}

--- From the least to the most: the option that says where the next one begins, a sign, and what the
--- level means.
local LEVELS = {
  { name = "green", ends = "prepare_at", sign = "🟢", means = "nothing to do" },
  { name = "yellow", ends = "truncate_at", sign = "🟡", means = "prepare" },
  {
    name = "orange",
    ends = "summarize_at",
    sign = "🟠",
    means = "large results are offloaded and persisted inputs truncated",
  },
  { name = "red", ends = "handover_at", sign = "🔴", means = "older messages are summarised" },
  { name = "critical", sign = "⛔", means = "a checkpoint is made; start a fresh session from it" },
}

---@class Level
---@field name string
---@field sign string
---@field means string

--- The level of a prompt that takes this share of the limit.
---@param used number
---@param opt table
---@return Level
function levels.of(used, opt)
  for _, level in ipairs(LEVELS) do
    if level.ends and used < opt[level.ends] then
      return level
    end
  end
  return LEVELS[#LEVELS]
end

--- Whether a size is over a threshold.
---@param size integer
---@param job Common
---@param threshold "ahead_at"|"truncate_at"|"summarize_at"|"handover_at"
---@return boolean
function levels.over(size, job, threshold)
  return size > share(job.model.limit, job.options[threshold])
end

return levels
