--- The summary: everything but what stays becomes one checkpoint, in one pass (SPEC 6.1).
local protection = require("protection")
local share = require("numbers").share

local summary = {}

--- What these places take in the prompt: messages that stand there themselves, and the checkpoints
--- that stand for others, each once; and whether there are any of the former.
---@param job PlanJob
---@param places integer[]
---@param seen table<integer, boolean> the checkpoints that were counted before
---@return integer tokens, boolean is_new
function summary.weigh(job, places, seen)
  local entries, tokens, is_new = job.entries, 0, false
  for _, place in ipairs(places) do
    local number = entries.checkpoint[place]
    tokens = tokens + entries.sent[place]
    is_new = is_new or number == 0 and entries.sent[place] > 0
    if number > 0 and not seen[number] then
      seen[number] = true
      tokens = tokens + job.checkpoints[number].tokens
    end
  end
  return tokens, is_new
end

--- What a summary of so many tokens may take.
---@param freed integer
---@param opt table
---@return integer
function summary.target(freed, opt)
  return math.max(share(freed, opt.summary_share), opt.summary_least)
end

--- The operations, and the size that the prompt comes to by them. A summary that is made before
--- stands for nothing of its own: the new one stands for all that it stood for.
---@param job PlanJob
---@param is_set boolean whether the size to come to is to be filled
---@return Order[] ops, integer size
function summary.of(job, is_set)
  local opt, total, places = job.opt, job.tokens.total, {}
  local stays = protection.of(job, opt.keep_messages)
  for place = 1, job.entries.count do
    if not stays[place] then
      places[#places + 1] = place
    end
  end
  local freed, is_new = summary.weigh(job, places, {})
  local room = job.target - (total - freed)
  local target = is_set and room or math.min(summary.target(freed, opt), room)
  target = math.max(target, opt.summary_least)
  if not is_new or freed - target < share(total, opt.minimum_gain) then
    return {}, total
  end
  local ops = { { op = "summarize", entries = places, target = target } }
  return ops, total - freed + target
end

return summary
