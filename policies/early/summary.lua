--- The summary: everything but what stays becomes one checkpoint, in one pass (RULES 42).
local accounts = require("accounts")
local protection = require("protection")
local rows = require("digests.rows")
local share = require("numbers").share

local summary = {}

--- What the kernel adds to a digest, and a message to its text, in tokens.
local MARKER = 50

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

--- Whether a message says nothing but a call, or is a result that shows rows.
---@param entries Columns
---@param place integer
---@param most integer tokens of the largest digest
local function is_sample(entries, place, most)
  if not entries.tools[place] or entries.sent[place] > most then
    return false
  end
  local text, name = entries:text(place) or "", entries.names[place][1]
  if entries.speaker[place] == "tool" then
    return text:find(rows.SAMPLE, 1, true) ~= nil
  end
  return name ~= nil and text:sub(1, #name + 1) == name .. "("
end

--- What the summary is made from, and what leaves without a word: exchanges that only show rows of
--- a query. What they were good for is in the talk, and they would crowd it out.
---@param job PlanJob
---@param stays table<integer, boolean>
---@return integer[] covers, integer[] samples
local function parted(job, stays)
  local entries, covers, samples, said = job.entries, {}, {}, {}
  local most = job.options.digest_most + MARKER
  for place = 1, entries.count do
    local number = entries.exchange[place]
    said[number] = said[number] or entries.checkpoint[place] > 0
      or not is_sample(entries, place, most)
  end
  for place = 1, entries.count do
    local list = said[entries.exchange[place]] and covers or samples
    if not stays[place] then
      list[#list + 1] = place
    end
  end
  return covers, samples
end

--- The operations, and the size that the prompt comes to by them. A summary that is made before
--- stands for nothing of its own: the new one stands for all that it stood for.
---@param job PlanJob
---@param is_set boolean whether the size to come to is to be filled
---@return Order[] ops, integer size
function summary.of(job, is_set)
  local opt, total = job.options, job.tokens.total
  local covers, samples = parted(job, protection.of(job, opt.keep_messages))
  local freed, is_new = summary.weigh(job, covers, {})
  local lines, said = accounts.of(job, accounts.leaving(job.entries, covers, samples))
  total = total + said - summary.weigh(job, samples, {})
  local room = job.target - (total - freed)
  local target = is_set and room or math.min(summary.target(freed, opt), room)
  target = math.max(target, opt.summary_least)
  local left = total - freed + target
  if not is_new or job.tokens.total - left < share(job.tokens.total, opt.minimum_gain) then
    return {}, job.tokens.total
  end
  local ops = { { op = "summarize", entries = covers, target = target } }
  ops[2] = #samples > 0 and { op = "drop", entries = samples } or nil
  for _, line in ipairs(lines) do
    ops[#ops + 1] = line
  end
  return ops, left
end

return summary
