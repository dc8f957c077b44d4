--- A compression: what the model did becomes one checkpoint, and older ones make room for it
--- (SPEC 3.3).
local ageing = require("ageing")
local budget = require("budget")
local classes = require("classes")
local selection = require("selection")
local share = require("numbers").share

local compression = {}

--- Older messages of the user that must be folded, since the room cannot hold them otherwise.
---@param asked Exchange[]
---@param kept integer the conversation that would stay
---@param available integer
---@param opt table
---@return Exchange[]
local function unaffordable(asked, kept, available, opt)
  local fold = {}
  if kept > share(available, opt.inform_at) then
    for _, one in ipairs(asked) do
      if kept <= share(available, opt.fold_to) then
        break
      end
      fold[#fold + 1] = one
      kept = kept - one.tokens
    end
  end
  return fold
end

--- The checkpoints as they stand after this compression, with a new one where there is one.
---@param job PlanJob
---@param new integer its size, 0 for none
---@return Standing[]
local function with_new(job, new)
  local all = {}
  for at, one in ipairs(job.checkpoints) do
    all[at] = { id = one.id, level = one.level, age = one.age + 1, tokens = one.tokens }
  end
  if new > 0 then
    all[#all + 1] = { id = "", level = ageing.NEW, age = 0, tokens = new }
  end
  return all
end

--- What the model did before the recent part: the places, the tokens that they take, and what a
--- checkpoint of them may take. Nothing where that would hardly be a gain.
---@param job PlanJob
---@param work Exchange[]
---@return integer[] places, integer freed, integer target
local function worthwhile(job, work)
  local places, freed = selection.places(work)
  local target = 0
  if job.opt.compression_strategy == "summarize" then
    target = math.min(ageing.new_target(freed, job.opt), job.budgets.checkpoints)
  end
  if freed - target < share(job.tokens.total, job.opt.minimum_gain) then
    return {}, 0, 0
  end
  return places, freed, target
end

--- The operations, and the size that the prompt comes to by them.
---@param job PlanJob
---@return Order[] ops, integer size
function compression.of(job)
  local opt, most = job.opt, job.budgets.checkpoints
  local work, asked, kept =
    selection.old(job.entries, job.budgets.keep_recent, opt.preserve_users)
  local places, freed, wish = worthwhile(job, work)
  kept = kept - freed

  local checkpoints, merge = ageing.foresee(with_new(job, wish), most, classes.of(job))
  local target = ageing.yielding(wish, checkpoints - most)
  checkpoints = checkpoints - wish + target

  local ops = { merge }
  if target > 0 then
    ops[#ops + 1] = { op = "summarize", entries = places, target = target, level = ageing.NEW }
  elseif #places > 0 then
    ops[#ops + 1] = { op = "drop", entries = places }
  end

  local available = budget.available(job, checkpoints)
  places, freed = selection.places(unaffordable(asked, kept, available, opt))
  if #places > 0 then
    target = ageing.new_target(freed, opt)
    ops[#ops + 1] = { op = "fold_user", entries = places, target = target }
    kept, checkpoints = kept - freed, checkpoints + target
  end
  return ops, job.tokens.system + job.tokens.tools + checkpoints + kept
end

return compression
