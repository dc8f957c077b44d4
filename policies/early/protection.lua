--- Protection: which messages stay as they are (RULES 42).
---
--- System prompts and tool schemas are the kernel's to keep, and goals stand in the state of the
--- work, which is stated anew with each summary. Left to this policy are personas, the constraints
--- and requirements of the user, the session log where it was read, and the latest messages. What
--- a summary stands for already does not come back.
local log = require("log")
local share = require("numbers").share
local talk = require("talk")

local protection = {}

--- The longest beginning of a message that patterns are tried on, in bytes.
local MOST_TEXT = 64 * 1024

---@param text string
---@param patterns string[]
local function is_matched(text, patterns)
  for _, pattern in ipairs(patterns) do
    if ep.re.find(pattern, text) then
      return true
    end
  end
  return false
end

--- Whether what a person typed in a message has to stay.
---@param entries Columns
---@param place integer
---@param opt table
local function is_stating(entries, place, opt)
  if entries.role[place] ~= "user" or entries.speaker[place] ~= "human" then
    return false
  end
  local text = (entries:text(place) or ""):sub(1, MOST_TEXT)
  return is_matched(text, opt.personas) or is_matched(text, opt.protect)
end

--- The messages in which a person may state something, in the order in which they claim the room
--- for that: the one that opens the conversation, which sets the task, then the newest first.
---@param entries Columns
---@return integer[]
local function claiming(entries)
  local places = {}
  for place = 1, entries.count do
    if entries.role[place] == "user" and entries.speaker[place] == "human" then
      places[1] = place
      break
    end
  end
  for place = entries.count, (places[1] or entries.count) + 1, -1 do
    places[#places + 1] = place
  end
  return places
end

--- The exchange in which the session log was read last, by its number.
---@param entries Columns
---@return integer|nil
local function reading_log(entries)
  for place = entries.count, 1, -1 do
    local is_call = entries.tools[place] and entries.speaker[place] == "model"
    if is_call and (entries:text(place) or ""):find(log.NAME, 1, true) then
      return entries.exchange[place]
    end
  end
  return nil
end

--- The messages that stay, by their places. Exchanges stay whole, and so do summaries that stand
--- for a message that was pinned since.
---@param job PlanJob
---@param latest integer how many of the latest messages do
---@return table<integer, boolean>
function protection.of(job, latest)
  local entries, opt = job.entries, job.options
  local exchanges, checkpoints, stays, logged = {}, {}, {}, reading_log(entries)
  local first = entries.count - latest + 1
  -- An answer stays with its question: behind another one it would be read as the answer to that.
  first = talk.question(entries, first) or first
  for place = 1, entries.count do
    local is_latest = place >= first or entries.exchange[place] == logged
    if is_latest or entries.pinned[place] or entries.role[place] == "system" then
      exchanges[entries.exchange[place]] = true
      checkpoints[entries.checkpoint[place]] = true
    end
  end
  local room = share(job.model.limit, opt.protect_share)
  for _, place in ipairs(claiming(entries)) do
    local free = not exchanges[entries.exchange[place]] and entries.checkpoint[place] == 0
    local size = entries.sent[place]
    if free and size > 0 and size <= room and is_stating(entries, place, opt) then
      exchanges[entries.exchange[place]], room = true, room - size
    end
  end
  checkpoints[0] = nil
  for place = 1, entries.count do
    local kept = exchanges[entries.exchange[place]] or checkpoints[entries.checkpoint[place]]
    stays[place] = kept or false
  end
  return stays
end

return protection
