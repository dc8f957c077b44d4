--- A compression: what the model did becomes one checkpoint, and older ones make room for it
--- (RULES 21).
local ageing = require("ageing")
local budget = require("budget")
local classes = require("classes")
local selection = require("selection")
local share = require("numbers").share
local talk = require("talk")

local compression = {}

--- The level of a new checkpoint.
local NEW = ageing.DETAILED

--- How far a compression goes.
---@class Reach
---@field recent integer the most that the recent part takes
---@field summary integer the most that a new checkpoint takes
---@field gain integer the least that is worth it

--- As far as the options say, and what is tried where that leaves too much, the least first: a
--- checkpoint as small as a merged one, then no more of the recent part than the newest exchange.
---@param job PlanJob
---@return Reach[]
function compression.reaches(job)
  local recent, summary = job.budgets.keep_recent, job.options.summary_max_tokens
  local small = math.min(summary, ageing.SMALLEST)
  return {
    { recent = recent, summary = summary, gain = share(job.tokens.total, job.options.minimum_gain) },
    { recent = recent, summary = small, gain = 1 },
    { recent = 0, summary = small, gain = 1 },
  }
end

--- What leaves with these exchanges, and what a checkpoint of them may take: 0 where none is made.
--- Nothing where the gain is not worth a compression.
---@param job PlanJob
---@param list Exchange[]
---@param reach Reach
---@return integer[] places, integer freed, integer target
local function leaving(job, list, reach)
  local places, freed = talk.places(list)
  local target = 0
  if job.options.compression_strategy == "summarize" then
    target = ageing.new_target(freed, NEW, reach.summary)
    target = math.min(target, job.budgets.checkpoints)
  end
  if freed - target < reach.gain then
    return {}, 0, 0
  end
  return places, freed, target
end

--- Adds what becomes of messages that leave.
---@param ops Order[]
---@param op "summarize"|"summarize_user"
---@param places integer[]
---@param target integer
local function add(ops, op, places, target)
  if target > 0 then
    ops[#ops + 1] = { op = op, entries = places, target = target }
  elseif #places > 0 then
    ops[#ops + 1] = { op = "drop", entries = places }
  end
end

--- Whether a conversation of this size would soon have to be compressed again.
---@param job PlanJob
---@param kept integer
---@param checkpoints integer
local function is_crowded(job, kept, checkpoints)
  return kept > share(budget.available(job, checkpoints), job.options.keep_at_most * budget.left(job))
end

--- The oldest of these messages of the user without which no more than `most` tokens are kept.
---@param asked Exchange[]
---@param kept integer
---@param most integer
---@return Exchange[]
local function beyond(asked, kept, most)
  local list = {}
  for _, one in ipairs(asked) do
    if kept <= most then
      break
    end
    list[#list + 1] = one
    kept = kept - one.tokens
  end
  return list
end

--- The operations, and the size that the prompt comes to by them. What the model did before the
--- recent part leaves. Where that leaves too little room, checkpoints are merged; and where that is
--- not enough, older messages of the user are folded.
---@param job PlanJob
---@param reach Reach
---@return Order[] ops, integer size
function compression.of(job, reach)
  local opt = job.options
  local work, asked, kept = selection.old(job.entries, reach.recent, opt.preserve_users)

  local places, freed, wish = leaving(job, work, reach)
  kept = kept - freed
  local class = classes.of(job)
  local checkpoints, target, merge = ageing.making_room(job, wish, NEW, class, function(total)
    return is_crowded(job, kept, total)
  end)
  local ops = { merge }
  add(ops, "summarize", places, target)

  if is_crowded(job, kept, checkpoints) then
    local most = share(budget.available(job, checkpoints), opt.fold_to * budget.left(job))
    places, freed, target = leaving(job, beyond(asked, kept, most), reach)
    add(ops, "summarize_user", places, target)
    kept, checkpoints = kept - freed, checkpoints + target
  end
  return ops, job.tokens.system + job.tokens.tools + checkpoints + kept
end

return compression
