--- What is done where the stages would leave too much (RULES 32, 12).
---
--- Each rung only until the prompt fits: checkpoints come down as far as they must; tool results among
--- the newest messages become digests, and what calls among them wrote to disk becomes a line; fewer of
--- those stay; all older messages of people are folded; then the kernel's ladder comes down to the
--- target, in the order of its option `compress.ladder`. A model that can hardly be relied on starts over before anybody's words are
--- folded, where the options say so.
local ageing = require("ageing")
local bearing = require("bearing")
local identification = require("identification")
local preparation = require("preparation")
local share = require("numbers").share
local talk = require("talk")
local validation = require("validation")

local emergency = {}

--- The least that a digest takes, and what frames it, in tokens.
local LEAST, FRAME = 80, 8

--- Adds the digest of a tool result, where it would be smaller.
---@param job PlanJob
---@param prepared Prepared
---@param place integer
local function digest(job, prepared, place)
  local entries, sent = job.entries, job.entries.sent[place]
  local target = math.max(share(sent, job.options.digest_share), LEAST)
  local is_result = entries.tools[place] and entries.speaker[place] == "tool"
  if is_result and sent > target + FRAME and (entries:text(place) or "") ~= "" then
    local op = { op = "replace", entry = place, how = "digest", target = target }
    prepared.ops[#prepared.ops + 1] = op
    prepared.size = prepared.size - sent + target + FRAME
  end
end

--- Adds what becomes of a message's calls that wrote a file, where what they wrote is on disk.
---@param job PlanJob
---@param prepared Prepared
---@param place integer
local function truncate(job, prepared, place)
  for _, input in ipairs(job.entries.inputs[place] or {}) do
    local with = string.format("(%d tokens, written to %s)", input.tokens, input.path)
    local left = ep.count(with) + ep.count(input.path) + FRAME
    if input.persisted and input.ok and input.tokens > left then
      local op = { op = "replace", entry = place, how = "truncate_input", text = with }
      op.call = input.call
      prepared.ops[#prepared.ops + 1] = op
      prepared.size = prepared.size - input.tokens + left
    end
  end
end

--- What the stages would do with this, and what becomes of results and written files among the
--- newest messages, the oldest first.
---@param job PlanJob
---@param found Identified
---@param asked Exchange[] what people wrote that may leave
---@param reason string
---@return Prepared
local function shortened(job, found, asked, reason)
  local prepared = preparation.of(job, found, asked, true)
  prepared.reason = reason
  for _, shorten in ipairs({ digest, truncate }) do
    for _, place in ipairs(talk.places(found.newest)) do
      if not validation.holds(job, prepared.size) then
        shorten(job, prepared, place)
      end
    end
  end
  return prepared
end

---@param job PlanJob
---@param size integer what the stages would leave
---@return Prepared
function emergency.of(job, size)
  local over = validation.overage(job, size)
  local keep, found, prepared = job.options.keep_messages, nil, nil
  repeat
    found = identification.of(job, keep, true)
    prepared = shortened(job, found, found.older, over)
    keep = keep - 1
  until keep < 1 or validation.holds(job, prepared.size)
  if validation.holds(job, prepared.size) then
    return prepared
  elseif bearing.score(job) < job.options.start_over_below then
    over = over .. "; the model starts over"
    local ops = { ageing.rollover(job.tokens.conversation) }
    return { ops = ops, size = job.target, reason = over }
  end
  prepared = shortened(job, found, found.asked, over)
  if validation.holds(job, prepared.size) then
    return prepared
  end
  return { ops = { { op = "fit" } }, size = job.target, reason = over }
end

return emergency
