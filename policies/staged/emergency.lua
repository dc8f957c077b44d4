--- What is done where the stages would leave too much (SPEC 4.7).
---
--- The kernel's ladder comes down to the target, in the order of its option `compress.ladder`. A
--- model that can hardly be relied on any longer starts over, where the options say so.
local ageing = require("ageing")
local reliability = require("reliability")
local validation = require("validation")

local emergency = {}

---@param job PlanJob
---@param size integer what the stages would leave
---@return Order[] ops, string reason
function emergency.of(job, size)
  local over = validation.overage(job, size)
  if reliability.score(job) < job.opt.start_over_below then
    return { ageing.rollover() }, over .. "; the model starts over"
  end
  return { { op = "fit" } }, over
end

return emergency
