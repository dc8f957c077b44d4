--- The first stage: which messages are compressed (SPEC 4.2).
---
--- The newest messages stay, and what people wrote; what the model did before, with its calls and
--- their results, is compressed. An exchange of which one message is among the newest stays whole.
local talk = require("talk")

local identification = {}

--- What was found. `tokens`: of the whole conversation, as it is sent.
---@class Identified
---@field work Exchange[]
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
  local work = {}
  for at = 1, #all - newest(all, messages) do
    if not all[at].person and not all[at].pinned then
      work[#work + 1] = all[at]
    end
  end
  return { work = work, tokens = tokens }
end

return identification
