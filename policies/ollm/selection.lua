--- Selection: which exchanges are old enough to leave, and whose they are (RULES 21).
---
--- What a person wrote stays as it is; what the model did, with its calls and their results,
--- leaves.
local talk = require("talk")

local selection = {}

--- Where the preserved recent part begins. The newest exchange is always in it; of the others,
--- pinned ones do not end it.
---@param all Exchange[]
---@param room integer
---@return integer
local function recent_from(all, room)
  local from, sum = #all, 0
  for at = #all, 1, -1 do
    sum = sum + all[at].tokens
    if at < #all and sum > room and not all[at].pinned then
      break
    end
    from = at
  end
  return from
end

--- What the model did before the recent part, and what the user wrote before it and before the newest
--- messages that stay.
---@param job PlanJob
---@param room integer of the recent part
---@param users integer how many of the newest messages of the user stay
---@return Old
function selection.old(job, room, users)
  local all = talk.exchanges(job.entries)
  local from, newer = recent_from(all, room), 0
  for _, one in ipairs(all) do
    newer = newer + (one.person and 1 or 0)
  end
  local old = { work = {}, asked = {}, tokens = job.tokens.conversation }
  for at = 1, from - 1 do
    local one = all[at]
    newer = newer - (one.person and 1 or 0)
    if one.person and not one.pinned and newer >= users then
      old.asked[#old.asked + 1] = one
    elseif not one.person and not one.pinned then
      old.work[#old.work + 1] = one
    end
  end
  return old
end

return selection
