--- The first stage: which messages are compressed (RULES 27).
---
--- The newest messages stay, and what people wrote; what the model did before, with its calls and
--- their results, is compressed. An exchange of which one message is among the newest stays whole,
--- and so do some that hold what has to stand word for word.
local talk = require("talk")
local verbatim = require("verbatim")

local identification = {}

--- What was found, without what is pinned. `tokens`: of the whole conversation, as it is sent.
---@class Identified
---@field work Exchange[] what the model did before the newest messages
---@field asked Exchange[] what people wrote before them
---@field older Exchange[] what they wrote of that before their newest messages
---@field newest Exchange[]
---@field tokens integer

--- How many exchanges at the end hold so many messages.
---@param all Exchange[]
---@param messages integer
---@return integer
local function newest(all, messages)
  local count = 0
  while count < #all and messages > 0 do
    messages = messages - #all[#all - count].places
    count = count + 1
  end
  return count
end

--- Those that do not stay.
---@param work Exchange[]
---@param stays table<integer, boolean>
---@return Exchange[]
local function without(work, stays)
  local list = {}
  for _, one in ipairs(work) do
    list[#list + 1] = not stays[one.number] and one or nil
  end
  return list
end

---@param job PlanJob
---@param messages integer how many stay
---@param is_emergency boolean|nil whether what has to stand word for word leaves with the rest
---@return Identified
function identification.of(job, messages, is_emergency)
  local all = talk.exchanges(job.entries)
  local _, tokens = talk.places(all)
  local found = { work = {}, asked = {}, older = {}, newest = {}, tokens = tokens }
  local last = #all - newest(all, messages)
  for at, one in ipairs(all) do
    local list = at > last and found.newest or one.person and found.asked or found.work
    if not one.pinned then
      list[#list + 1] = one
    end
  end
  local newer = 0
  for _, one in ipairs(found.newest) do
    newer = newer + (one.person and 1 or 0)
  end
  for at = 1, #found.asked - math.max(job.options.preserve_users - newer, 0) do
    found.older[at] = found.asked[at]
  end
  if not is_emergency then
    found.work = without(found.work, verbatim.staying(job, found.work))
  end
  return found
end

return identification
