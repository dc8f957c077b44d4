--- Trimming: what is done in an emergency, without a model (RULES 42). The oldest tool results
--- become digests; where that is not enough, the oldest turns become a few lines.
local accounts = require("accounts")
local protection = require("protection")
local share = require("numbers").share
local summary = require("summary")

local trimming = {}

--- The least that a digest takes, its marker included, and what a message takes beside it.
local LEAST, FRAME = 80, 8

--- What may be trimmed, oldest first: runs of messages that leave together, and the digests of
--- their results.
---@class Turn
---@field places integer[]
---@field digests Order[]
---@field saved integer what the digests save

---@param job PlanJob
---@param place integer
---@return Order|nil digest, integer saved
local function digest_of(job, place)
  local entries = job.entries
  local sent = entries.sent[place]
  local is_result = entries.tools[place] and entries.speaker[place] == "tool"
  local target = math.max(share(sent, job.options.trim_share), LEAST)
  local saved = sent - target - FRAME
  if not is_result or saved <= 0 or (entries:text(place) or "") == "" then
    return nil, 0
  end
  return { op = "replace", entry = place, how = "digest", target = target }, saved
end

---@param job PlanJob
---@param latest integer how many of the latest messages stay
---@return Turn[]
local function turns(job, latest)
  local entries, stays, all, one, number = job.entries, protection.of(job, latest), {}, nil, nil
  for place = 1, entries.count do
    if not stays[place] then
      if entries.exchange[place] ~= number then
        number, one = entries.exchange[place], { places = {}, digests = {}, saved = 0 }
        all[#all + 1] = one
      end
      one.places[#one.places + 1] = place
      local digest, saved = digest_of(job, place)
      one.digests[#one.digests + 1] = digest
      one.saved = one.saved + saved
    end
  end
  return all
end

--- Digests of the oldest results, no more than it takes, and the size that is left.
---@param all Turn[]
---@param size integer
---@param below integer
---@return Order[] ops, integer size
local function digesting(all, size, below)
  local ops = {}
  for _, turn in ipairs(all) do
    if size < below then
      break
    end
    for _, digest in ipairs(turn.digests) do
      ops[#ops + 1] = digest
    end
    size = size - turn.saved
  end
  return ops, size
end

--- The last of some turns that a checkpoint stands for, in part or whole: 0 where there is none.
---@param job PlanJob
---@param all Turn[]
---@return integer
local function last_covered(job, all)
  for at = #all, 1, -1 do
    for _, place in ipairs(all[at].places) do
      if job.entries.checkpoint[place] > 0 then
        return at
      end
    end
  end
  return 0
end

--- The same where the oldest turns become one checkpoint: as few as it takes, beside digests of
--- all that are left.
---@param job PlanJob
---@param all Turn[]
---@param size integer with all digests
---@param below integer
---@return Order[] ops, integer size
local function folding(job, all, size, below)
  local ops, places, seen = {}, {}, {}
  local freed, target, now, from = 0, 0, size, 1
  -- What stands for turns now goes with the first of them, and so do all that it stands for.
  local last = math.max(last_covered(job, all), 1)
  -- What is said of answers that leave takes room as well: it is made once all else would do.
  local lines, said
  while from <= #all and (from <= last or now + (said or 0) >= below) do
    local turn = all[from]
    for _, place in ipairs(turn.places) do
      places[#places + 1] = place
    end
    size = size + turn.saved
    freed = freed + summary.weigh(job, turn.places, seen)
    target = summary.target(freed, job.options)
    now = size - freed + target
    lines, said = nil, nil
    if from >= last and (now < below or from == #all) then
      lines, said = accounts.of(job, accounts.leaving(job.entries, places))
    end
    from = from + 1
  end
  if #places > 0 then
    ops[1] = { op = "summarize", entries = places, target = target, level = 1 }
    for _, line in ipairs(lines) do
      ops[#ops + 1] = line
    end
    now = now + said
  end
  for at = from, #all do
    for _, digest in ipairs(all[at].digests) do
      ops[#ops + 1] = digest
    end
  end
  return ops, now
end

--- The same where so many of the latest messages stay.
---@param job PlanJob
---@param latest integer
---@param below integer
---@return Order[] ops, integer size
local function keeping(job, latest, below)
  local all = turns(job, latest)
  local ops, size = digesting(all, job.tokens.total, below)
  if size < below then
    return ops, size
  end
  return folding(job, all, size, below)
end

--- The operations, and the size that the prompt comes to by them. Where it is not enough to trim
--- what is old, the latest messages are trimmed as well; what the model has not seen yet stays.
---@param job PlanJob
---@return Order[] ops, integer size
function trimming.of(job)
  local below = share(job.model.limit, job.options.trim_to)
  local ops, size = keeping(job, job.options.keep_messages, below)
  if size < below then
    return ops, size
  end
  return keeping(job, 0, below)
end

return trimming
