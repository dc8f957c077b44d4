--- The first stage: which messages are compressed (SPEC 4.2).
---
--- The newest messages stay, and what people wrote; what the model did before, with its calls and
--- their results, is compressed. An exchange of which one message is among the newest stays whole.
local talk = require("talk")

local identification = {}

--- What was found, without what is pinned. `tokens`: of the whole conversation, as it is sent.
---@class Identified
---@field work Exchange[] what the model did before the newest messages
---@field asked Exchange[] what people wrote before them
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

---@param entries Columns
---@param messages integer how many stay
---@return Identified
function identification.of(entries, messages)
  local all = talk.exchanges(entries)
  local _, tokens = talk.places(all)
  local found = { work = {}, asked = {}, newest = {}, tokens = tokens }
  local last = #all - newest(all, messages)
  for at, one in ipairs(all) do
    local list = at > last and found.newest or one.person and found.asked or found.work
    if not one.pinned then
      list[#list + 1] = one
    end
  end
  return found
end

return identification
