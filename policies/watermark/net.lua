--- The net: what is done where the window forces more than a mark does.
---
--- What the marks took out stays out, and one checkpoint stands for the oldest messages. That is
--- made from what was said, so it says what those exchanges came to as well.
local exchanges = require("exchanges")
local share = require("numbers").share
local talk = require("talk")

local net = {}

--- Of the exchanges, oldest first, how many are too many, and what the others take. The newest stay,
--- up to so many tokens, the very newest in any case; an answer not without its question, since behind
--- another one it would be read as the answer to that.
local function cut(entries, all, most)
  local kept = 0
  for at = #all, 1, -1 do
    local size = all[at].pinned and 0 or all[at].lean
    if at < #all and kept + size > most then
      local behind = all[at + 1]
      if at + 1 == #all or behind.pinned or not talk.question(entries, behind.places[1]) then
        return at, kept
      end
      return at + 1, kept - behind.lean
    end
    kept = kept + size
  end
  return 0, kept
end

--- The order for a checkpoint, and the first place behind what it stands for. No order where there
--- is no room for one, or nothing that it could stand for.
---@param job PlanJob
---@param mark integer|nil the message before which calls and results leave in the same plan
---@return Order|nil order, integer place
function net.of(job, mark)
  local entries = job.entries
  local all = exchanges.before(entries, entries.count + 1)
  for _, one in ipairs(all) do
    one.lean = one.places[1] < (mark or 0) and one.lean or one.sent
  end
  local room = math.min(job.target, job.max_tokens) - job.floor
  local last, kept = cut(entries, all, share(room, job.options.keep_at_most))
  local covers = {}
  for at = 1, last do
    if not all[at].pinned then
      covers[#covers + 1] = all[at]
    end
  end
  if #covers == 0 or room <= kept then
    return nil, 1
  end
  local places = exchanges.places(covers)
  local order = { op = "summarize", entries = places, target = room - kept }
  return order, all[last].places[#all[last].places] + 1
end

return net
