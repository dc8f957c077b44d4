--- The last stage: whether what was made is good enough (SPEC 4.1, 4.6).
---
--- What is sent is checked by the kernel. Here a plan is checked before it is made, and a summary
--- before it is taken.
local thousands = require("numbers").thousands

local validation = {}

--- What opens the facts that a summary forgot.
local FORGOTTEN = "Also: "

--- The most that a compression may leave, so that the next one is not due at once.
---@param job PlanJob
---@return integer
local function most(job)
  return math.min(job.most, job.budgets.soft)
end

--- Whether a prompt of this size can stay.
---@param job PlanJob
---@param size integer
---@return boolean
function validation.holds(job, size)
  return size <= most(job)
end

--- By how much a prompt of this size is too large, in words.
---@param job PlanJob
---@param size integer
---@return string
function validation.overage(job, size)
  local limit = most(job)
  return string.format(
    "the stages would leave %s tokens of %s, %s too many",
    thousands(size),
    thousands(limit),
    thousands(size - limit)
  )
end

--- What is made of a summary: what it forgot is added, as far as there is room. One that holds too
--- little even so is not taken. No opinion where it forgot nothing.
---@param job VerifyJob
---@param room integer what the summary may take
---@return Rejected|Seconded|nil
function validation.of(job, room)
  local missing, held = {}, 0
  local left = room - ep.count(job.candidate) - ep.count(FORGOTTEN) - 1
  for _, fact in ipairs(job.must_keep) do
    local size = ep.count(fact.text) + 1
    if fact.found then
      held = held + 1
    elseif size <= left then
      missing[#missing + 1] = fact.text
      left, held = left - size, held + 1
    end
  end
  if held < #job.must_keep * job.opt.keep_facts then
    return { reject = string.format("it holds %d of %d facts", held, #job.must_keep) }
  elseif #missing == 0 then
    return nil
  end
  return { append = FORGOTTEN .. table.concat(missing, "; ") }
end

return validation
